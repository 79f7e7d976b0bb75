//! The chunks before and after a result in its source.

use super::Result;
use crate::index::{ChunkRecord, Snapshot};

/// At most `reach` chunks before and after `chunk`, each list in the order of the source. Reads no other record.
pub(super) fn neighbours(
    snapshot: &Snapshot,
    chunk: &ChunkRecord,
    reach: usize,
) -> Result<(Vec<ChunkRecord>, Vec<ChunkRecord>)> {
    let reach = u32::try_from(reach).unwrap_or(u32::MAX);
    if reach == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let around = chunk.ordinal.saturating_sub(reach)..=chunk.ordinal.saturating_add(reach);
    let mut before = snapshot.chunks_between(chunk.source, around)?;
    before.retain(|other| other.ordinal != chunk.ordinal);
    let after = before.split_off(before.partition_point(|other| other.ordinal < chunk.ordinal));
    Ok((before, after))
}
