//! From a fused list to the results: diversity, copies and near-copies as one, a cap for each source, the records loaded.
//!
//! Not for: scores or relevance, which are settled before.

use std::{borrow::Cow, collections::HashMap};

use super::{
    Result,
    fuse::Fused,
    mmr::Mmr,
    shingles::{Shingles, Taken},
};
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
    /// Copies and near-copies of a result are results of their own.
    pub duplicates: bool,
}

/// A result, and what it stands for.
pub(super) struct Selected {
    pub fused: Fused,
    pub chunk: ChunkRecord,
    /// The same chunk of sources that are copies of its own, at least so far.
    pub copies: Vec<ChunkRecord>,
    /// Chunks that say nothing it does not say.
    pub duplicates: Vec<ChunkRecord>,
}

/// Why a candidate that was good enough is no result. It names the result that stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    Copy(ChunkId),
    Duplicate(ChunkId),
    /// Its source had its share.
    SourceFull,
}

/// What was chosen.
#[derive(Default)]
pub(super) struct Chosen {
    /// Best first.
    pub results: Vec<Selected>,
    /// How many chunks the index named but does not hold.
    pub lost: usize,
    /// What was passed over, in the order of the list.
    pub passed: Vec<(ChunkId, Passed)>,
}

/// Chooses at most `k` of a list that is sorted best first. Loads as many records as are needed, and one to see the end.
pub(super) fn choose(snapshot: &Snapshot, fused: &[Fused], choice: Choice) -> Result<Chosen> {
    match choice.mmr {
        Some(lambda) => {
            let pool = fused.get(..DIVERSE_POOL).unwrap_or(fused);
            let scores = scaled(pool);
            let rows: Vec<Option<Cow<'_, [f32]>>> =
                pool.iter().map(|fused| snapshot.vector(fused.candidate.id)).collect();
            // A chunk without a vector is like none.
            let similarity = |i: usize, j: usize| match (&rows[i], &rows[j]) {
                (Some(a), Some(b)) if a.len() == b.len() => vector::dot(a, b),
                _ => 0.0,
            };
            take(snapshot, Mmr::new(&scores, lambda, similarity).map(|at| pool[at]), choice)
        }
        None => take(snapshot, fused.iter().copied(), choice),
    }
}

/// Scores as shares of the best one.
fn scaled(fused: &[Fused]) -> Vec<f32> {
    let best = fused.first().map_or(0.0, |fused| fused.score);
    fused.iter().map(|fused| if best > 0.0 { fused.score / best } else { 0.0 }).collect()
}

/// Takes from an order until there are `k` results. A candidate that is passed over makes room for the next one. After the
/// last result the order is read on, a record at a time, as long as what comes is a copy of a result.
fn take(snapshot: &Snapshot, mut order: impl Iterator<Item = Fused>, choice: Choice) -> Result<Chosen> {
    let mut chosen = Chosen::default();
    let mut of_source = HashMap::new();
    let mut taken = Taken::default();
    loop {
        let batch: Vec<Fused> = order.by_ref().take(choice.k.saturating_sub(chosen.results.len()).max(1)).collect();
        if batch.is_empty() {
            return Ok(chosen);
        }
        let ids: Vec<ChunkId> = batch.iter().map(|fused| fused.candidate.id).collect();
        for (fused, record) in batch.iter().zip(snapshot.chunks(&ids)?) {
            let Some(record) = record else {
                chosen.lost += 1;
                continue;
            };
            let mut shingles = None;
            if !choice.duplicates {
                if let Some(first) = chosen.results.iter_mut().find(|first| is_copy(&record, &first.chunk)) {
                    chosen.passed.push((record.id, Passed::Copy(first.chunk.id)));
                    first.copies.push(record);
                    continue;
                }
                let own = shingles.insert(Shingles::of_chunk(&record));
                if let Some(at) = taken.holder(own) {
                    let first = &mut chosen.results[at];
                    chosen.passed.push((record.id, Passed::Duplicate(first.chunk.id)));
                    first.duplicates.push(record);
                    continue;
                }
            }
            let count = of_source.entry(record.source).or_insert(0usize);
            if choice.per_source.is_some_and(|most| *count >= most) {
                chosen.passed.push((record.id, Passed::SourceFull));
                continue;
            }
            if chosen.results.len() == choice.k {
                return Ok(chosen);
            }
            *count += 1;
            shingles.into_iter().for_each(|shingles| taken.add(shingles));
            chosen.results.push(Selected { fused: *fused, chunk: record, copies: Vec::new(), duplicates: Vec::new() });
        }
    }
}

/// Whether a chunk says the same as another at the same place of its source.
fn is_copy(chunk: &ChunkRecord, of: &ChunkRecord) -> bool {
    (chunk.ordinal, chunk.span) == (of.ordinal, of.span)
        && (&chunk.text, &chunk.context) == (&of.text, &of.context)
        && chunk.heading == of.heading
        && (chunk.title == of.title || [chunk, of].into_iter().all(is_called_as_its_file))
}

/// Whether the title is no more than the name of the file, which a copy of it need not have.
fn is_called_as_its_file(chunk: &ChunkRecord) -> bool {
    let letters =
        |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    let name = chunk.path.rsplit('/').next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    chunk.title.as_deref().is_none_or(|title| letters(title) == letters(stem))
}
