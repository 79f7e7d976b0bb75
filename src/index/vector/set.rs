//! All parts of one generation, looked up and searched as one.
//!
//! Useful for: everything a reader asks of vectors. Not for: changing them; a change is another set.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use super::{
    ask::Ask,
    input::{self, BadInput},
    kernels::{self, Kernels},
    metric::Metric,
    parallel::for_each_chunk,
    quant::Rotation,
    search::{Scratch, Search, Work},
    segment::Segment,
    tiers::{self, Size},
    tombstones::Tombstones,
};

/// All segments of one generation, searched as one. Cloning is cheap.
#[derive(Clone)]
pub struct Set {
    dim: usize,
    pub(super) metric: Metric,
    /// Of no dimension if no segment has codes.
    pub(super) rotation: Arc<Rotation>,
    parts: Arc<[(Segment, Tombstones)]>,
    live: usize,
    pub(super) kernels: &'static Kernels,
}

impl Default for Set {
    /// No rows, of no dimension.
    fn default() -> Self {
        Self::new(0, Vec::new())
    }
}

impl Set {
    /// All segments have dimension `dim`, and each part's tombstones were decoded for its segment; panics if not.
    pub fn new(dim: usize, parts: Vec<(Segment, Tombstones)>) -> Self {
        for (segment, dead) in &parts {
            assert_eq!(segment.dim(), dim, "dimension of a segment");
            assert!(dead.end() <= segment.len(), "tombstones of another segment");
        }
        let metric = parts.first().map_or_else(Metric::default, |(segment, _)| segment.metric());
        assert!(parts.iter().all(|(segment, _)| segment.metric() == metric), "segments of one metric");
        let coded = parts.iter().any(|(segment, _)| segment.codes().is_some());
        let rotation = Arc::new(Rotation::new(if coded { dim } else { 0 }));
        let live = parts.iter().map(|(segment, dead)| segment.len() - dead.len()).sum();
        Self { dim, metric, rotation, parts: parts.into(), live, kernels: kernels::best() }
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    pub fn parts(&self) -> &[(Segment, Tombstones)] {
        &self.parts
    }

    /// Live rows.
    pub fn len(&self) -> usize {
        self.live
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The `k` best live rows: (id, score), best first, ties to the smaller id. `filter`: sorted ids that are allowed. See
    /// [`search_with`](Self::search_with).
    pub fn search(&self, query: &[f32], k: usize, filter: Option<&[u64]>) -> Vec<(u64, f32)> {
        let mut hits = Vec::new();
        self.search_with(&mut Scratch::default(), query, &Search::new(k, filter), &mut hits);
        hits
    }

    /// Puts the best live rows into `hits`: (id, score), best first, ties to the smaller id.
    ///
    /// Scores are those of the rows, never estimates; one that is not a number is left out. Which rows are found depends on
    /// the [`Effort`](super::Effort); exact search does not depend on how rows are spread over parts. O(live rows × dim) where rows are
    /// scored, a fraction of it where codes are scanned. Memory: `k` and what is scored again, and a bit a row of the largest
    /// part if the filter is not small. Panics if `query` has not `dim` values, unless the set is empty;
    /// [`check_query`](Self::check_query) tells so beforehand.
    pub fn search_with(
        &self,
        scratch: &mut Scratch,
        query: &[f32],
        search: &Search<'_>,
        hits: &mut Vec<(u64, f32)>,
    ) -> Work {
        let mut work = Work::default();
        hits.clear();
        if self.is_empty() || search.k == 0 {
            return work;
        }
        assert_eq!(query.len(), self.dim, "dimension of the query");
        let most = search.filter.map_or(self.live, |ids| ids.len().min(self.live));
        scratch.best.reset(search.k, most);
        scratch.shortlist.reset(search.k, most);
        let mut ask = Ask { set: self, query, search, scratch, work: &mut work, is_rotated: false };
        for part in 0..self.parts.len() {
            ask.part(part);
        }
        ask.rescore();
        scratch.best.sorted_into(hits);
        work
    }

    /// Whether a query has as many values as rows have, and all of them finite: one that has others finds what scores are
    /// still numbers.
    pub fn check_query(&self, query: &[f32]) -> Result<(), BadInput> {
        input::check_query(self.dim, query)
    }

    /// Many searches at once, on so many threads (0: as many as there are cores): what [`search_with`](Self::search_with) finds
    /// for each of the queries, which stand one after the other. Panics if they are not whole.
    pub fn search_many(&self, queries: &[f32], search: &Search<'_>, threads: usize) -> Vec<Vec<(u64, f32)>> {
        let dim = self.dim.max(1);
        assert!(queries.len().is_multiple_of(dim), "queries of {dim} values");
        let mut found = vec![Vec::new(); queries.len() / dim];
        for_each_chunk(super::parallel::threads(threads), &mut found, 1, Scratch::default, |scratch, at, hits| {
            self.search_with(scratch, &queries[at * dim..][..dim], search, &mut hits[0]);
        });
        found
    }

    /// The live row of an id.
    pub fn vector(&self, id: u64) -> Option<Cow<'_, [f32]>> {
        let (part, row) = self.locate(id)?;
        Some(self.parts[part].0.row(row))
    }

    /// A live row of a text with this hash; of the first part and row that has one.
    pub fn vector_by_hash(&self, hash: &[u8; 16]) -> Option<Cow<'_, [f32]>> {
        let live =
            |(segment, dead): &(Segment, Tombstones)| segment.rows_with_hash(hash).find(|&row| !dead.contains(row));
        self.parts.iter().find_map(|part| Some(part.0.row(live(part)?)))
    }

    /// Where the live row of an id stands: (part, row).
    pub fn locate(&self, id: u64) -> Option<(usize, usize)> {
        let live = |(segment, dead): &(Segment, Tombstones)| segment.find_id(id).filter(|&row| !dead.contains(row));
        self.parts.iter().enumerate().find_map(|(index, part)| Some((index, live(part)?)))
    }

    /// Which parts are worth writing again as one: many of a like size, or one with many dead rows; `None` if none are.
    /// One merge a commit keeps a set to [`MAX_PARTS`](super::MAX_PARTS) parts. They need not be neighbours, and the order of
    /// parts has no meaning, so the merged one may stand anywhere.
    pub fn merge_candidates(&self) -> Option<BTreeSet<usize>> {
        let size =
            |(segment, dead): &(Segment, Tombstones)| Size { rows: segment.len(), live: segment.len() - dead.len() };
        tiers::candidates(&self.parts.iter().map(size).collect::<Vec<_>>())
    }

    #[cfg(test)]
    pub(super) fn with_kernels(self, kernels: &'static Kernels) -> Self {
        Self { kernels, ..self }
    }
}

#[cfg(test)]
mod tests;
