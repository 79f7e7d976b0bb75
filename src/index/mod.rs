//! What is on disk: one folder that holds texts, records and vectors, with one writer, any number of readers and one commit
//! point. `docs/format.md` describes every byte.
//!
//! Useful for: reading one whole generation, and changing an index by whole sources. Not for: knowing models, files
//! outside the index, or the screen.

mod error;
mod filter;
mod mmap;
mod record;
mod snapshot;
pub mod vector;
mod writer;

pub use error::{Error, Result};
pub use filter::{Allowed, Compare, Fact, Filter};
pub use record::{ChunkRecord, NewChunk, Problem, SourceRecord, Status};
pub use snapshot::{CollectionStats, LexicalQuery, QuerySyntax, Snapshot, Stats};
pub use writer::{Committed, Pending, Writer, WriterOptions};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::types::EmbeddingSpace;

/// An index folder whose format was checked. Cheap: nothing is read but `FORMAT`.
#[derive(Debug, Clone)]
pub struct Index {
    dir: PathBuf,
}

/// What an index is created with and keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// `None`: an index without vectors (`--no-embed`).
    pub space: Option<EmbeddingSpace>,
}

impl Index {
    /// Makes a new index folder (mode 0700) with an empty first generation, or opens the one that is there if it has the
    /// same settings. A creation that was cut off half-way is finished.
    pub fn create(dir: &Path, settings: &Settings) -> Result<Self> {
        let _ = (dir, settings);
        todo!()
    }

    /// Opens an index folder. Errors: `NotFound`, `Incompatible`, `Corrupt`, `Io`.
    pub fn open(dir: &Path) -> Result<Self> {
        let _ = dir;
        todo!()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the last committed generation holds. Takes no lock; works on a read-only folder.
    pub fn snapshot(&self) -> Result<Snapshot> {
        todo!()
    }

    /// Takes the writer lock and removes what earlier writers left. Errors: `Locked`, `ReadOnly`, …
    pub fn writer(&self, options: &WriterOptions) -> Result<Writer> {
        let _ = options;
        todo!()
    }

    /// Checks every checksum and every invariant; lists each fault found, never stopping at the first. Empty: sound.
    pub fn verify(&self) -> Result<Vec<String>> {
        todo!()
    }
}
