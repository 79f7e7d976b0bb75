//! One order of all candidates of a query, and what it rests on.
//!
//! Not for: what of it is shown, which is [`select`](super::select)'s.

use std::{
    collections::{BTreeSet, HashMap},
    time::Instant,
};

use super::{
    Fusion, Mode, Query, Result, Timings,
    fuse::{self, Blend, Candidate, DENSE_WEIGHT, Fused, Gate},
    plan::Plan,
    query::millis,
    relevance::{COVERAGE_OF, Calibration, Scale},
    search::{self, Found, Legs},
    select::Selected,
};
use crate::{
    index::{LexicalQuery, Snapshot},
    types::{ChunkId, Score},
};

/// One order of all candidates, and what it rests on.
pub(super) struct Ranking {
    pub found: Found,
    pub fused: Vec<Fused>,
    pub gate: Gate,
    /// Of the dense leg.
    pub weight: f32,
    pub scale: Scale,
    /// The first of the fused list, which lend the whole query their coverage, whatever reorders it later.
    leaders: Vec<ChunkId>,
    /// What a leg that is all there is adds to a score: 1, or what the first rank of both lists is worth to RRF.
    unit: f32,
}

/// Runs both legs `depth` candidates deep and makes one list of them.
pub(super) fn rank(
    legs: &Legs<'_>,
    words: &LexicalQuery,
    query: &Query,
    plan: &Plan,
    mode: Mode,
    depth: usize,
    timings: &mut Timings,
) -> Result<Ranking> {
    let begun = Instant::now();
    let snapshot = legs.snapshot;
    let found = legs.run(depth)?;
    // Where words do not rank they are still worth a look if somebody asks why.
    let words = (mode != Mode::Dense || query.explain).then_some(words);
    let candidates = search::complete(snapshot, words, &found)?;
    let gate = search::look(snapshot, &found, plan.identifier)?;
    timings.encode_ms += millis(found.encoding);
    timings.search_ms += millis(begun.elapsed().saturating_sub(found.encoding));

    let begun = Instant::now();
    let zero = found.vector.as_deref().map_or(0.0, |vector| search::zero(snapshot, vector));
    let (fused, weight) = order(&candidates, query, mode, gate, zero);
    let scale = match snapshot.space() {
        Some(space) if mode != Mode::Lexical => {
            Scale { trust: gate.trust, calibration: Calibration::of(&space.model, zero) }
        }
        _ => Scale::WORDS,
    };
    timings.fuse_ms += millis(begun.elapsed());
    let leaders = fused.iter().take(COVERAGE_OF).map(|fused| fused.candidate.id).collect();
    let unit = if (mode, query.fusion) == (Mode::Hybrid, Fusion::Rrf) { fuse::RRF_UNIT } else { 1.0 };
    Ok(Ranking { found, fused, gate, weight, scale, leaders, unit })
}

/// The fused list and the dense leg's weight in it.
fn order(candidates: &[Candidate], query: &Query, mode: Mode, gate: Gate, zero: Score) -> (Vec<Fused>, f32) {
    let alpha = query.alpha.unwrap_or(DENSE_WEIGHT);
    let blend = |weight: f32| (Blend { weight, zero }.fuse(candidates), weight);
    match (mode, query.fusion) {
        (Mode::Lexical, _) => blend(0.0),
        (Mode::Dense, _) => blend(1.0),
        (Mode::Hybrid, Fusion::Blend) => blend(fuse::weight(query.alpha, gate)),
        (Mode::Hybrid, Fusion::Rrf) => (fuse::rrf(candidates, alpha), alpha),
        (Mode::Hybrid, Fusion::Weighted) => (fuse::weighted(candidates, alpha), alpha),
        (Mode::Hybrid, Fusion::Dbsf) => (fuse::dbsf(candidates, alpha), alpha),
    }
}

impl Ranking {
    /// What each leg adds to the fused score of a candidate: lexical, dense. Their sum is that score.
    pub fn contributions(&self, fused: &Fused) -> (f32, f32) {
        (self.unit * (1.0 - self.weight) * fused.lexical, self.unit * self.weight * fused.dense)
    }

    /// Relevance of the query as a whole: the highest cosine of the dense leg with the highest coverage of the first
    /// results.
    pub fn relevance(&self, coverage: &Coverage) -> f32 {
        if self.fused.is_empty() {
            return 0.0;
        }
        let cosine = self.found.dense.first().map(|(_, cosine)| *cosine);
        self.scale.relevance(cosine, self.leaders.iter().map(|id| coverage.get(*id)).fold(0.0, f32::max))
    }
}

/// The share of the query's words that chunks hold.
pub(super) struct Coverage(HashMap<ChunkId, f32>);

impl Coverage {
    /// Of the first of a ranking and of the results, in one pass over the postings.
    pub fn of(snapshot: &Snapshot, words: &LexicalQuery, ranking: &Ranking, results: &[Selected]) -> Result<Self> {
        let ids: BTreeSet<ChunkId> =
            ranking.leaders.iter().copied().chain(results.iter().map(|result| result.chunk.id)).collect();
        let ids: Vec<ChunkId> = ids.into_iter().collect();
        let shares = snapshot.coverage(words, &ids)?;
        Ok(Self(ids.into_iter().zip(shares).collect()))
    }

    pub fn get(&self, id: ChunkId) -> f32 {
        self.0.get(&id).copied().unwrap_or(0.0)
    }
}
