//! The first of the fused list, put in order by a model that reads query and passage together.
//!
//! What was judged stands before what was not. Without an answer in time the fused order stands, and a note says so. Not
//! for: relevance, which stays what the legs and their calibration say.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use super::{Result, fuse::Fused};
use crate::{
    index::{ChunkRecord, Snapshot},
    model::{self, Reranker},
    types::ChunkId,
};

/// So many of the fused list are judged. RETRIEVAL, section 7: the first 20.
pub const RERANKED: usize = 20;

/// Who reranks, and for how long at most.
#[derive(Clone)]
pub struct Rerank {
    pub reranker: Arc<dyn Reranker>,
    pub budget: Duration,
}

impl fmt::Debug for Rerank {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Rerank({}, {:?})", self.reranker.name(), self.budget)
    }
}

/// What the model made of one candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judgement {
    /// On the model's own scale.
    pub raw: f32,
    /// 0..1, in the same order.
    pub normalised: f32,
    /// The score the candidate had in the fused list.
    pub fused: f32,
}

/// What the model made of the first candidates; empty where it was not asked.
#[derive(Debug, Default)]
pub(super) struct Judged(HashMap<ChunkId, Judgement>);

/// Has the first [`RERANKED`] of a list judged. Errors: those of the index and the model; `Run` where it gives another
/// number of scores, or some that are no numbers.
pub(super) fn judge(
    snapshot: &Snapshot,
    rerank: &Rerank,
    query: &str,
    fused: &[Fused],
    notes: &mut Vec<String>,
) -> Result<Judged> {
    let ids: Vec<ChunkId> = fused.iter().take(RERANKED).map(|fused| fused.candidate.id).collect();
    let records: Vec<ChunkRecord> = snapshot.chunks(&ids)?.into_iter().flatten().collect();
    if records.is_empty() {
        return Ok(Judged::default());
    }
    let texts: Vec<String> = records.iter().map(passage).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let failed = |why: String| model::Error::Run { model: rerank.reranker.name(), why };
    let Some(scores) = rerank.reranker.rerank(query, &texts, rerank.budget)? else {
        notes.push(format!(
            "`{}` did not rerank within {} s: the order is that of the search",
            rerank.reranker.name(),
            rerank.budget.as_secs_f32()
        ));
        return Ok(Judged::default());
    };
    if scores.len() != texts.len() {
        return Err(failed(format!("it gave {} scores for {} passages", scores.len(), texts.len())).into());
    }
    if scores.iter().any(|score| !score.is_finite()) {
        return Err(failed("it gave a score that is no number".into()).into());
    }
    let shares = normalised(&scores);
    let judgements = records.iter().zip(scores).zip(shares);
    Ok(Judged(
        judgements.map(|((record, raw), normalised)| (record.id, Judgement { raw, normalised, fused: 0.0 })).collect(),
    ))
}

/// What the model reads of a chunk: as it was embedded, title and headings first.
fn passage(chunk: &ChunkRecord) -> String {
    let names: Vec<&str> =
        chunk.title.iter().chain(&chunk.heading).map(String::as_str).filter(|name| !name.is_empty()).collect();
    let parts = [names.join(" › "), chunk.context.clone(), chunk.text.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Probabilities as they are, logits through the logistic function: models give the one or the other.
fn normalised(scores: &[f32]) -> Vec<f32> {
    let probable = scores.iter().all(|score| (0.0..=1.0).contains(score));
    let share = |score: f32| if probable { score } else { 1.0 / (1.0 + (-score).exp()) };
    scores.iter().map(|&score| share(score)).collect()
}

impl Judged {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, id: ChunkId) -> Option<Judgement> {
        self.0.get(&id).copied()
    }

    /// Puts what was judged first, best first, with a score of 1 and its normalised one; the rest stays as it is. Ties keep
    /// the fused order.
    pub fn reorder(&mut self, fused: &mut [Fused]) {
        if self.is_empty() {
            return;
        }
        for fused in fused.iter_mut() {
            if let Some(judgement) = self.0.get_mut(&fused.candidate.id) {
                judgement.fused = fused.score;
                fused.score = 1.0 + judgement.normalised;
            }
        }
        let raw = |fused: &Fused| self.get(fused.candidate.id).map_or(f32::NEG_INFINITY, |judged| judged.raw);
        fused.sort_by(|a, b| raw(b).total_cmp(&raw(a)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieve::fuse::Candidate;

    fn fused(id: u64, score: f32) -> Fused {
        let candidate = Candidate { id: ChunkId(id), lexical_rank: None, bm25: 0.0, dense_rank: None, cosine: None };
        Fused { candidate, score, lexical: 0.0, dense: 0.0 }
    }

    #[test]
    fn what_is_judged_comes_first() {
        for (scores, want) in [
            ([0.1, 0.9, 0.5], [2, 3, 1, 4]),
            ([-8.0, -9.5, 3.0], [3, 1, 2, 4]),
            ([0.5, 0.5, 0.5], [1, 2, 3, 4]),
            ([40.0, 60.0, 50.0], [2, 3, 1, 4]),
        ] {
            let shares = normalised(&scores);
            let judged = |(at, raw): (usize, f32)| {
                (ChunkId(at as u64 + 1), Judgement { raw, normalised: shares[at], fused: 0.0 })
            };
            let mut judged = Judged(scores.into_iter().enumerate().map(judged).collect());
            let mut list = [fused(1, 0.8), fused(2, 0.7), fused(3, 0.6), fused(4, 0.5)];
            judged.reorder(&mut list);
            assert_eq!(list.map(|fused| fused.candidate.id.0), want, "{scores:?}");
            assert!(list.is_sorted_by(|a, b| a.score >= b.score), "{list:?}");
            assert_eq!(judged.get(ChunkId(2)).map(|judgement| judgement.fused), Some(0.7));
        }
    }
}
