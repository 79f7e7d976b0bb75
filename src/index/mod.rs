//! What is on disk: one folder that holds texts, records and vectors, with one writer, any number of readers and one commit
//! point. `docs/format.md` describes every byte.
//!
//! Useful for: reading one whole generation, and changing an index by whole sources. Not for: knowing models, files
//! outside the index, or the screen.

mod catalog;
mod commit;
mod compact;
mod create;
mod error;
mod facets;
mod filter;
pub mod fs;
mod layout;
mod lexical;
mod lock;
mod manifest;
mod mmap;
mod moment;
mod open;
mod recompute;
mod record;
mod respace;
mod room;
mod select;
mod snapshot;
mod stats;
pub mod vector;
mod verify;
mod writer;

pub use compact::Compacted;
/// The format this program writes.
pub const FORMAT: u32 = layout::FORMAT;

pub use error::{Error, Result};
pub use facets::{Counts, Facets};
pub use filter::{Allowed, Compare, Fact, Filter};
pub use lexical::{LexicalQuery, Marker};
pub use record::{ChunkRecord, NewChunk, Problem, SourceRecord, Status};
pub use respace::{NewSpace, SpaceRow};
pub use room::Room;
pub use snapshot::{QuerySyntax, Snapshot};
pub use stats::{CollectionStats, Stats};
pub use vector::{Effort, Work};
pub use verify::{Fault, Verified};
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

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

/// See [`Index::mark`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    bytes: u64,
    modified: Option<std::time::SystemTime>,
    inode: u64,
}

impl Mark {
    fn of(path: &Path) -> std::io::Result<Self> {
        let meta = std::fs::metadata(path)?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&meta);
        #[cfg(not(unix))]
        let inode = 0;
        Ok(Self { bytes: meta.len(), modified: meta.modified().ok(), inode })
    }
}

impl Index {
    /// Makes a new index folder (mode 0700) with an empty first generation, or opens the one that is there if it has the
    /// same settings. A creation that was cut off half-way is finished.
    ///
    /// Errors: `Space` where the index has other settings, `NotAnIndex` where the folder holds other things, `Locked`,
    /// `Format`, `Corrupt`, `Io`.
    pub fn create(dir: &Path, settings: &Settings) -> Result<Self> {
        create::create(dir, settings)
    }

    /// Whether there is an index in a folder, sound or not.
    pub fn is_at(dir: &Path) -> bool {
        dir.join(layout::FORMAT_FILE).is_file()
    }

    /// Opens an index folder. Errors: `NotFound` (also where a creation was cut off), `NotAnIndex`, `Format`, `Corrupt`,
    /// `Io`.
    pub fn open(dir: &Path) -> Result<Self> {
        create::open(dir)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the last committed generation holds. Takes no lock; works on a read-only folder. Reads no row and no posting:
    /// milliseconds whatever the size.
    pub fn snapshot(&self) -> Result<Snapshot> {
        open::open(&self.dir)
    }

    /// What tells one committed generation from another without opening any: equal as long as nothing was committed. One
    /// stat. Errors: `Io`.
    pub fn mark(&self) -> Result<Mark> {
        let path = layout::text_dir(&self.dir).join(layout::META_FILE);
        Mark::of(&path).map_err(|source| Error::Io { act: "look at", path, source })
    }

    /// Takes the writer lock and removes what earlier writers left. Errors: `Locked`, `Io` (a read-only folder), `Corrupt`.
    pub fn writer(&self, options: &WriterOptions) -> Result<Writer> {
        writer::open(&self.dir, options)
    }

    /// The number of its format.
    pub fn format(&self) -> Result<u32> {
        create::format_of(&self.dir)
    }

    /// Who is writing now, in words. A look, no lock: by the time it is told it may be otherwise.
    pub fn holder(&self) -> Option<String> {
        lock::holder_now(&self.dir)
    }

    /// Files that no generation names: left by a writer that died, or the work of one that runs.
    pub fn orphans(&self) -> Result<Vec<PathBuf>> {
        let snapshot = self.snapshot()?;
        compact::orphans(&self.dir, &snapshot).map_err(|source| Error::Io {
            act: "list",
            path: self.dir.clone(),
            source,
        })
    }

    /// Bytes of all files in the folder, those of no generation too.
    pub fn size_bytes(&self) -> Result<u64> {
        compact::size_bytes(&self.dir)
    }

    /// Folders of embedding spaces that were begun and not finished (see [`Writer::begin_space`]).
    pub fn begun_spaces(&self) -> Result<Vec<PathBuf>> {
        Ok(respace::begun(&self.dir, &self.snapshot()?))
    }

    /// Checks every checksum and every invariant; lists each fault found, never stopping at the first. Errors only where
    /// the index cannot be read at all.
    pub fn verify(&self) -> Result<Verified> {
        verify::verify(&self.dir, false)
    }

    /// As [`verify`](Self::verify), with every file read, none mapped (a file that is cut off under it is an error, not the
    /// end of the process), and everything made anew that follows from something else: ids, columns, word counts, codes.
    /// Holds all vectors in memory.
    pub fn verify_thoroughly(&self) -> Result<Verified> {
        verify::verify(&self.dir, true)
    }
}
