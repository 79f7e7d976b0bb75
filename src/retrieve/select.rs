//! From a fused list to the results: diversity, a cap for each source, the records loaded.
//!
//! Not for: scores or relevance, which are settled before.

use std::collections::HashMap;

use super::{Result, fuse::Fused, mmr::mmr};
use crate::{
    index::{ChunkRecord, Snapshot, vector},
    types::ChunkId,
};

/// How the results are chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub k: usize,
    /// Lambda of maximal marginal relevance.
    pub mmr: Option<f32>,
    pub per_source: Option<usize>,
}

/// What was chosen, best first, and how many chunks the index named but does not hold.
pub(super) struct Chosen {
    pub results: Vec<(Fused, ChunkRecord)>,
    pub lost: usize,
}

/// Chooses at most `k` of a list that is sorted best first. Loads as many records as are needed, `k` at a time.
pub(super) fn choose(snapshot: &Snapshot, fused: &[Fused], choice: Choice) -> Result<Chosen> {
    let order: Vec<Fused> = match choice.mmr {
        Some(lambda) => {
            // With a cap any candidate may be needed.
            let wanted = if choice.per_source.is_some() { fused.len() } else { choice.k };
            diverse(snapshot, fused, lambda, wanted)
        }
        None => fused.to_vec(),
    };
    let mut chosen = Chosen { results: Vec::with_capacity(choice.k.min(order.len())), lost: 0 };
    let mut of_source = HashMap::new();
    for batch in order.chunks(choice.k) {
        let ids: Vec<ChunkId> = batch.iter().map(|fused| fused.candidate.id).collect();
        for (fused, record) in batch.iter().zip(snapshot.chunks(&ids)?) {
            let Some(record) = record else {
                chosen.lost += 1;
                continue;
            };
            let count = of_source.entry(record.source).or_insert(0usize);
            if choice.per_source.is_some_and(|most| *count >= most) {
                continue;
            }
            *count += 1;
            chosen.results.push((*fused, record));
            if chosen.results.len() == choice.k {
                return Ok(chosen);
            }
        }
    }
    Ok(chosen)
}

/// Reorders by maximal marginal relevance. Scores are scaled to 0..1 by the best one; a chunk without a vector is like
/// none.
fn diverse(snapshot: &Snapshot, fused: &[Fused], lambda: f32, wanted: usize) -> Vec<Fused> {
    let best = fused.first().map_or(0.0, |fused| fused.score);
    let scores: Vec<f32> = fused.iter().map(|fused| if best > 0.0 { fused.score / best } else { 0.0 }).collect();
    let rows: Vec<Option<&[f32]>> = fused.iter().map(|fused| snapshot.vector(fused.candidate.id)).collect();
    let similarity = |i: usize, j: usize| match (rows[i], rows[j]) {
        (Some(a), Some(b)) if a.len() == b.len() => vector::dot(a, b),
        _ => 0.0,
    };
    mmr(&scores, lambda, wanted, similarity).into_iter().map(|i| fused[i]).collect()
}
