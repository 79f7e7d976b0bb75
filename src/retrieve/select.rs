//! From a fused list to the results: diversity, copies as one, a cap for each source, the records loaded.
//!
//! Not for: scores or relevance, which are settled before.

use std::{borrow::Cow, collections::HashMap};

use super::{Result, fuse::Fused, mmr::mmr};
use crate::{
    index::{ChunkRecord, Snapshot, vector},
    types::ChunkId,
};

/// Diversity looks at so many of the first candidates: its cost is the square of them.
const DIVERSE_POOL: usize = 2_000;

/// How the results are chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub k: usize,
    /// Lambda of maximal marginal relevance.
    pub mmr: Option<f32>,
    pub per_source: Option<usize>,
}

/// A result, and the same chunk of sources that are copies of its own, at least so far.
pub(super) struct Selected {
    pub fused: Fused,
    pub chunk: ChunkRecord,
    pub copies: Vec<ChunkRecord>,
}

/// What was chosen.
#[derive(Default)]
pub(super) struct Chosen {
    /// Best first.
    pub results: Vec<Selected>,
    /// How many chunks the index named but does not hold.
    pub lost: usize,
    /// How many were passed over because their source had its share, or is a copy.
    pub capped: usize,
}

/// Chooses at most `k` of a list that is sorted best first. Loads as many records as are needed, `k` at a time.
pub(super) fn choose(snapshot: &Snapshot, fused: &[Fused], choice: Choice) -> Result<Chosen> {
    let order: Vec<Fused> = match choice.mmr {
        Some(lambda) => {
            // With a cap any candidate may be needed.
            let pool = fused.get(..DIVERSE_POOL).unwrap_or(fused);
            let wanted = if choice.per_source.is_some() { pool.len() } else { choice.k };
            diverse(snapshot, pool, lambda, wanted)
        }
        None => fused.to_vec(),
    };
    let mut chosen = Chosen::default();
    let mut of_source = HashMap::new();
    for batch in order.chunks(choice.k) {
        let ids: Vec<ChunkId> = batch.iter().map(|fused| fused.candidate.id).collect();
        for (fused, record) in batch.iter().zip(snapshot.chunks(&ids)?) {
            let Some(record) = record else {
                chosen.lost += 1;
                continue;
            };
            if let Some(first) = chosen.results.iter_mut().find(|first| is_copy(&record, &first.chunk)) {
                first.copies.push(record);
                chosen.capped += 1;
                continue;
            }
            let count = of_source.entry(record.source).or_insert(0usize);
            if choice.per_source.is_some_and(|most| *count >= most) {
                chosen.capped += 1;
                continue;
            }
            if chosen.results.len() == choice.k {
                return Ok(chosen);
            }
            *count += 1;
            chosen.results.push(Selected { fused: *fused, chunk: record, copies: Vec::new() });
        }
    }
    Ok(chosen)
}

/// Whether a chunk says the same as another at the same place of its source.
fn is_copy(chunk: &ChunkRecord, of: &ChunkRecord) -> bool {
    (chunk.ordinal, chunk.span) == (of.ordinal, of.span)
        && (&chunk.text, &chunk.context) == (&of.text, &of.context)
        && (&chunk.heading, &chunk.title) == (&of.heading, &of.title)
}

/// Reorders by maximal marginal relevance. Scores are scaled to 0..1 by the best one; a chunk without a vector is like
/// none.
fn diverse(snapshot: &Snapshot, fused: &[Fused], lambda: f32, wanted: usize) -> Vec<Fused> {
    let best = fused.first().map_or(0.0, |fused| fused.score);
    let scores: Vec<f32> = fused.iter().map(|fused| if best > 0.0 { fused.score / best } else { 0.0 }).collect();
    let rows: Vec<Option<Cow<'_, [f32]>>> = fused.iter().map(|fused| snapshot.vector(fused.candidate.id)).collect();
    let similarity = |i: usize, j: usize| match (&rows[i], &rows[j]) {
        (Some(a), Some(b)) if a.len() == b.len() => vector::dot(a, b),
        _ => 0.0,
    };
    mmr(&scores, lambda, wanted, similarity).into_iter().map(|i| fused[i]).collect()
}
