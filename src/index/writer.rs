//! The one writer: changes by whole sources, and the commit.

use std::{collections::BTreeMap, time::Duration};

use super::{NewChunk, Result, Snapshot, SourceRecord};
use crate::types::SourceId;

#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// How long to wait for another writer to end.
    pub wait: Duration,
    /// What is running, for the message another process shows: `rag ingest docs`.
    pub command: String,
}

/// Holds the writer lock until it is dropped.
pub struct Writer {}

/// What waits for the next commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pending {
    pub sources: usize,
    pub bytes: u64,
}

/// A commit that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    pub generation: u64,
    pub bytes_written: u64,
}

impl Writer {
    /// The state at the last commit.
    pub fn snapshot(&self) -> &Snapshot {
        todo!()
    }

    /// Puts a source with all its chunks in place of whatever the index holds of it.
    pub fn put(&mut self, source: &SourceRecord, chunks: &[NewChunk]) -> Result<()> {
        let _ = (source, chunks);
        todo!()
    }

    /// Replaces the record of a source and leaves its chunks alone.
    pub fn touch(&mut self, source: &SourceRecord) -> Result<()> {
        let _ = source;
        todo!()
    }

    /// Removes a source and its chunks. Unknown ids are no error.
    pub fn remove(&mut self, id: SourceId) -> Result<()> {
        let _ = id;
        todo!()
    }

    /// Sets the named roots from the next commit on.
    pub fn set_roots(&mut self, roots: BTreeMap<String, String>) {
        let _ = roots;
        todo!()
    }

    pub fn pending(&self) -> Pending {
        todo!()
    }

    /// Makes everything since the last commit durable and visible at once; `None` if there was nothing to do.
    pub fn commit(&mut self) -> Result<Option<Committed>> {
        todo!()
    }
}
