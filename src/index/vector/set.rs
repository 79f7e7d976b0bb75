//! All parts of one generation, looked up and searched as one.
//!
//! Useful for: everything a reader asks of vectors. Not for: changing them; a change is another set.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    flat,
    kernels::{self, Kernels},
    segment::Segment,
    tiers::{self, Size},
    tombstones::Tombstones,
    top::Top,
};

/// All segments of one generation, searched as one. Cloning is cheap.
#[derive(Clone)]
pub struct Set {
    dim: usize,
    parts: Arc<[(Segment, Tombstones)]>,
    live: usize,
    kernels: &'static Kernels,
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
        let live = parts.iter().map(|(segment, dead)| segment.len() - dead.len()).sum();
        Self { dim, parts: parts.into(), live, kernels: kernels::best() }
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

    /// The `k` best live rows by dot product: (id, score), best first, ties to the smaller id. `filter`: sorted ids that
    /// are allowed. Exact.
    ///
    /// A score that is not a number is left out. The result does not depend on how rows are spread over parts. O(live rows
    /// × dim); with a filter of few ids O(ids × (dim + log rows)). Memory: `k`, and a bit a row of the largest part if the
    /// filter is not small. Panics if `query` has not `dim` values, unless the set is empty.
    pub fn search(&self, query: &[f32], k: usize, filter: Option<&[u64]>) -> Vec<(u64, f32)> {
        if self.is_empty() || k == 0 {
            return Vec::new();
        }
        assert_eq!(query.len(), self.dim, "dimension of the query");
        let most = filter.map_or(self.live, |ids| ids.len().min(self.live));
        let mut top = Top::new(k, most);
        for (segment, dead) in self.parts.iter() {
            flat::search(self.kernels, segment, dead, query, filter, &mut top);
        }
        top.into_sorted()
    }

    /// The live row of an id.
    pub fn vector(&self, id: u64) -> Option<&[f32]> {
        let (part, row) = self.locate(id)?;
        Some(self.parts[part].0.row(row))
    }

    /// A live row of a text with this hash; of the first part and row that has one.
    pub fn vector_by_hash(&self, hash: &[u8; 16]) -> Option<&[f32]> {
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
    /// Merging until it says `None` leaves at most [`MAX_PARTS`](super::MAX_PARTS) parts; once a commit is enough, for each
    /// commit adds at most one. The order of parts has no meaning, so the merged one may stand anywhere.
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
