//! The chunks before and after a result in its source.

use std::collections::HashMap;

use super::Result;
use crate::{
    index::{ChunkRecord, Snapshot},
    types::SourceId,
};

/// Reads the chunks around results, each source once.
pub(super) struct Neighbours<'a> {
    snapshot: &'a Snapshot,
    sources: HashMap<SourceId, Vec<ChunkRecord>>,
}

impl<'a> Neighbours<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, sources: HashMap::new() }
    }

    /// At most `reach` chunks before and after `chunk`, each list in the order of the source.
    pub fn of(&mut self, chunk: &ChunkRecord, reach: usize) -> Result<(Vec<ChunkRecord>, Vec<ChunkRecord>)> {
        if reach == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let all = match self.sources.entry(chunk.source) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => new.insert(self.snapshot.chunks_of(chunk.source)?),
        };
        Ok(around(all, chunk.ordinal, reach))
    }
}

/// `all` is sorted by ordinal.
fn around(all: &[ChunkRecord], ordinal: u32, reach: usize) -> (Vec<ChunkRecord>, Vec<ChunkRecord>) {
    let start = all.partition_point(|other| other.ordinal < ordinal);
    let end = all.partition_point(|other| other.ordinal <= ordinal);
    let before = all.get(start.saturating_sub(reach)..start).unwrap_or_default();
    let after = all.get(end..end.saturating_add(reach).min(all.len())).unwrap_or_default();
    (before.to_vec(), after.to_vec())
}
