//! How a client's files come into the server's index: `rag ingest --remote`.
//!
//! 1. [`SyncRequest`] names a root and settings; the answer is an id that lives as long as it is used.
//! 2. [`SyncFiles`], as often as it takes, names the files found: path, size, mtime. [`SyncWanted`] says of which the
//!    stat proves nothing (`hash`: name them again, with their hash) and of which the content is wanted (`send`). A file
//!    that stands, failures that stand among them, is in neither. Every hash that is wanted comes before the `last`
//!    of them; it may be empty.
//! 3. Contents are posted in batches, each durable when it is answered. After a break begin again at 1: what was
//!    committed stands and is not wanted again.
//! 4. [`SyncFinish`] removes what the manifest did not name, finds what has only moved, and gives the report of all.
//!
//! **Contents** are of type [`CONTENTS_TYPE`]: for each file one line of JSON ([`SyncContent`]) that ends in a line feed,
//! then exactly `size` bytes.

use serde::{Deserialize, Serialize};

use super::{IngestSettings, is_false};

/// The type of a body of contents.
pub const CONTENTS_TYPE: &str = "application/x-rag-contents";

/// Files named in one [`SyncFiles`] at most.
pub const MAX_SYNC_FILES: usize = 10_000;
/// Bytes of one body of contents at most, and so of a file.
pub const MAX_CONTENTS_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SyncRequest {
    /// The name its files are listed under: display paths begin with it. No folder of the server's index may have it.
    pub root: String,
    /// What was given, relative to the root; only records at or below these may be called gone. Empty: the whole root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// Patterns narrowed the walk: only what [`SyncFinish::vanished`] names is gone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub narrowed: bool,
    #[serde(default)]
    pub settings: IngestSettings,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Sync {
    /// `rag.sync/1`.
    pub schema: String,
    pub id: String,
    pub generation: u64,
    /// Files that are larger cannot be handed over.
    pub max_file_bytes: u64,
    /// Bytes of one body of contents at most.
    pub max_contents_bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SyncFiles {
    pub files: Vec<SyncFile>,
    /// No more files will be named but those that are named again with their hash. Only then is it known which of the new
    /// ones are those that vanished, at another place, so some of [`SyncWanted::send`] come with this answer alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub last: bool,
}

/// A file as the client found it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SyncFile {
    /// Relative to the root, `/` between its parts, spelled as the index spells paths.
    pub path: String,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub mtime_ns: i64,
    /// As of the client's disk; 0 where it has none. Without them a file that was changed and given its old time again is
    /// taken for unchanged.
    #[serde(default)]
    pub ctime_ns: i64,
    #[serde(default)]
    pub inode: u64,
    /// blake3 of its bytes, in hex. To be given at once where the stat proves nothing: changed within 2 s of the walk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct SyncWanted {
    /// How many need nothing more.
    pub stand: usize,
    /// Name these again, with their hash.
    pub hash: Vec<String>,
    /// Send the contents of these.
    pub send: Vec<String>,
}

/// The line before a file's bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SyncContent {
    pub path: String,
    pub size: u64,
    pub mtime_ns: i64,
    #[serde(default)]
    pub ctime_ns: i64,
    #[serde(default)]
    pub inode: u64,
    /// See [`DocumentRequest::extension`](super::DocumentRequest::extension).
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
}

/// What became of a batch, durable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct SyncTaken {
    pub files: usize,
    pub failed: usize,
    pub chunks: u64,
    pub generation: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SyncFinish {
    /// Of a narrowed walk: paths of the root that are no longer on the client's disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vanished: Vec<String>,
    /// Files and folders that could not be looked at: nothing at or below them is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}
