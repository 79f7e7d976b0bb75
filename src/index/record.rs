//! What is stored of a source and of a chunk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::types::{ChunkId, Lines, Pages, SourceId, SourcePath, Span};

/// How a source fared when it was last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Its text is searchable.
    Indexed,
    /// Its text is searchable as far as there is any, but something was lost or is doubtful.
    Warned,
    /// It could not be read; it has no chunks.
    Failed,
}

impl Status {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Indexed => "indexed",
            Self::Warned => "warned",
            Self::Failed => "failed",
        }
    }
}

/// What was wrong with a source: a stable word for scripts, a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// `encrypted`, `no_text_layer`, `crashed`, `timeout`, `oom`, `damaged`, `unsupported`, `permission`, `empty`, …
    pub reason: String,
    /// One sentence, lower case, without a final full stop.
    pub message: String,
    /// A later try with the same bytes may succeed (a file in use, a permission), so it is tried again on each run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
}

/// What the index knows of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    pub id: SourceId,
    pub collection: String,
    /// Empty: the folder that holds the index. Else a name in [`Snapshot::roots`](super::Snapshot::roots).
    pub root: String,
    pub path: SourcePath,
    pub size_bytes: u64,
    /// Nanoseconds since 1970; with ctime, inode and size the cheap test whether the file changed.
    pub mtime_ns: i64,
    /// [`Self::NEVER_SEEN`]: it came by an import, and no walk has met its file.
    pub ctime_ns: i64,
    pub inode: u64,
    /// blake3 of the file's bytes in hex.
    pub hash: String,
    /// Versions and settings of extractor and chunker that made the chunks; another value means: read again.
    pub pipeline: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Format word: `markdown`, `html`, `pdf`, `text`, `code`, `csv`, `json`, …
    #[serde(rename = "type")]
    pub format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// ISO 639-1 code of most of its chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// `--tag K=V`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Front matter and what the format says of itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    pub chunks: u32,
    /// Bytes of extracted text.
    pub text_bytes: u64,
}

impl SourceRecord {
    /// The ctime of a source whose file may never have been on this disk.
    pub const NEVER_SEEN: i64 = i64::MIN;

    /// Whether a file of this source was ever met, so that its absence means something.
    pub fn was_seen(&self) -> bool {
        self.ctime_ns != Self::NEVER_SEEN
    }

    /// The id of a source: first 8 bytes of blake3 over the three parts, each with its length before it.
    pub fn id_of(collection: &str, root: &str, path: &SourcePath) -> SourceId {
        let mut hash = blake3::Hasher::new();
        for part in [collection, root, path.as_str()] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        SourceId(first_u64(&hash))
    }

    /// What people see and what `path:` filters match: the root's name, if it has one, and the path below it.
    pub fn display_path(&self) -> String {
        if self.root.is_empty() { self.path.to_string() } else { format!("{}/{}", self.root, self.path) }
    }
}

/// What the index knows of one chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChunkRecord {
    pub id: ChunkId,
    pub source: SourceId,
    pub collection: String,
    /// As [`SourceRecord::display_path`].
    pub path: String,
    /// 0-based place among the chunks of its source.
    pub ordinal: u32,
    /// Where `text` stands in the document's extracted text.
    pub span: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heading: Vec<String>,
    /// Text repeated from elsewhere in the source because the chunk is unreadable without it: a table's header row.
    /// Searched and embedded with the chunk; not part of `span`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Exactly the bytes `span` of the extracted text.
    pub text: String,
    /// ISO 639-1 code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// Word pieces of the embedded text.
    pub tokens: u32,
    /// How much the encoder's vocabulary splits the words: RETRIEVAL recipe, "fertility"; English prose 1.0–1.4.
    pub fertility: f32,
    /// Share of code-like characters among those that are not space, 0..1.
    pub code_share: f32,
}

/// A chunk on its way into the index.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChunk {
    pub record: ChunkRecord,
    /// First 16 bytes of blake3 over the embedded text: a vector already in the index under it is reused.
    pub embed_hash: [u8; 16],
    /// `dim` values, length 1 if the space is normalised; `None` in an index without vectors.
    pub vector: Option<Vec<f32>>,
}

impl ChunkRecord {
    /// The id of a chunk: first 8 bytes of blake3 over source id, span and text.
    pub fn id_of(source: SourceId, span: Span, text: &str) -> ChunkId {
        let mut hash = blake3::Hasher::new();
        for number in [source.0, span.start as u64, span.end as u64] {
            hash.update(&number.to_le_bytes());
        }
        hash.update(text.as_bytes());
        ChunkId(first_u64(&hash))
    }
}

fn first_u64(hash: &blake3::Hasher) -> u64 {
    let mut first = [0; 8];
    hash.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}
