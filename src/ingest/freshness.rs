//! Whether the file of a source is still what was ingested: its stat, and its bytes only where the stat leaves a doubt.

use std::path::Path;

use super::file::{self, Stat};
use crate::{index::SourceRecord, types::Freshness};

/// Compares a source with its file. A file of the same size that was touched is hashed. What cannot be read counts as it
/// was: permission may come back, and nothing was seen to change. Nor is a file missing that was never here.
pub fn freshness(record: &SourceRecord, path: &Path) -> Freshness {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if file::is_absent(error.kind()) && record.was_seen() => return Freshness::Missing,
        Err(_) => return Freshness::Fresh,
    };
    if !metadata.is_file() {
        return Freshness::Missing;
    }
    let stat = Stat::of(&metadata);
    if stat.size_bytes != record.size_bytes {
        return Freshness::Stale;
    }
    if stat.mtime_ns == record.mtime_ns {
        return Freshness::Fresh;
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match file::hash(&real) {
        Ok((hash, _)) if hash == record.hash => Freshness::Fresh,
        Ok(_) => Freshness::Stale,
        Err(_) => Freshness::Fresh,
    }
}
