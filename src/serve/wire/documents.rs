//! What `rag list`, `rag show` and `rag rm` print with `--json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Chunk, Word, rfc3339};
use crate::{
    index::{ChunkRecord, Problem, SourceRecord, Status},
    types::SourceId,
};

/// A source in `status` and `list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct SourceSummary {
    pub source_id: SourceId,
    pub collection: String,
    pub path: String,
    pub status: Status,
    #[serde(rename = "type")]
    pub format: String,
    pub title: Option<String>,
    pub author: Option<String>,
    pub lang: Option<String>,
    pub pages: Option<u32>,
    pub chunks: u32,
    pub size: u64,
    /// RFC 3339, UTC.
    pub mtime: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    pub blake3: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl From<&SourceRecord> for SourceSummary {
    fn from(source: &SourceRecord) -> Self {
        Self {
            source_id: source.id,
            collection: source.collection.clone(),
            path: source.display_path(),
            status: source.status,
            format: source.format.clone(),
            title: source.title.clone(),
            author: source.author.clone(),
            lang: source.lang.clone(),
            pages: source.pages,
            chunks: source.chunks,
            size: source.size_bytes,
            mtime: rfc3339(source.mtime_ns),
            encoding: source.encoding.clone(),
            blake3: source.hash.clone(),
            tags: source.tags.clone(),
            metadata: source.metadata.clone(),
            problems: source.problems.clone(),
        }
    }
}

/// `rag list --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct ListResult {
    pub schema: Word,
    pub generation: u64,
    pub documents: Vec<SourceSummary>,
}

impl ListResult {
    pub fn new(generation: u64, sources: &[SourceRecord]) -> Self {
        Self { schema: "rag.list/1".into(), generation, documents: sources.iter().map(SourceSummary::from).collect() }
    }
}

/// `rag show --json`: a document with its chunks, or the one chunk asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct ShowResult {
    pub schema: Word,
    pub generation: u64,
    pub document: Option<SourceSummary>,
    pub chunks: Vec<Chunk>,
}

impl ShowResult {
    pub fn new(generation: u64, document: Option<&SourceRecord>, chunks: &[ChunkRecord]) -> Self {
        Self {
            schema: "rag.show/1".into(),
            generation,
            document: document.map(SourceSummary::from),
            chunks: chunks.iter().map(Chunk::from).collect(),
        }
    }
}

/// `rag rm --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct RemoveResult {
    pub schema: Word,
    pub removed: Vec<String>,
    /// Arguments that named nothing in the index.
    pub not_found: Vec<String>,
    pub dry_run: bool,
    /// The files were written again without any removed text.
    pub purged: bool,
    pub generation: u64,
}
