//! Two ranked lists become one. Pure: scores in, an order out.
//!
//! Every method gives a score of 0..1 (RRF: up to 2/61) that orders one list and means nothing across queries. Ties go to
//! the higher cosine, then to the smaller id, so runs repeat. Not for: telling whether a result is any good, which is
//! [`relevance`](super::relevance)'s question.

mod blend;
mod others;

pub use blend::DENSE_WEIGHT;
pub(super) use blend::{Blend, Gate, LOOKED_AT, gate, weight};
pub(super) use others::{RRF_UNIT, dbsf, rrf, weighted};

use crate::types::{ChunkId, Score};

/// A chunk that at least one leg found, with both legs' scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub id: ChunkId,
    /// Place in the lexical leg, from 1; `None` if it did not bring the chunk.
    pub lexical_rank: Option<usize>,
    /// 0 where no word matches.
    pub bm25: Score,
    pub dense_rank: Option<usize>,
    /// `None` where the chunk has no vector, or no vector was asked for.
    pub cosine: Option<Score>,
}

/// A candidate's place in the fused list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fused {
    pub candidate: Candidate,
    pub score: Score,
    /// What each leg brought to the score, before weights, 0..1.
    pub lexical: f32,
    pub dense: f32,
}

/// Sorts best first; ties go to the higher cosine, then to the smaller id. O(n log n).
fn sorted(mut fused: Vec<Fused>) -> Vec<Fused> {
    let cosine = |fused: &Fused| fused.candidate.cosine.unwrap_or(Score::NEG_INFINITY);
    fused.sort_unstable_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| cosine(b).total_cmp(&cosine(a)))
            .then_with(|| a.candidate.id.cmp(&b.candidate.id))
    });
    fused
}

/// `alpha · dense + (1 − alpha) · lexical`, sorted; both parts are 0..1.
fn convex(candidates: &[Candidate], alpha: f32, parts: impl Fn(&Candidate) -> (f32, f32)) -> Vec<Fused> {
    let fuse = |candidate: &Candidate| {
        let (lexical, dense) = parts(candidate);
        // Negative zero would sort below zero.
        let score = alpha * dense + (1.0 - alpha) * lexical + 0.0;
        Fused { candidate: *candidate, score, lexical, dense }
    };
    sorted(candidates.iter().map(fuse).collect())
}

#[cfg(test)]
mod tests;
