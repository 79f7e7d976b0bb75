//! What `rag status --json` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{SourceSummary, Word};
use crate::{
    index::{CollectionStats, Facets, SourceRecord, Stats, Status},
    types::{EmbeddingSpace, Pooling},
};

/// `rag status --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct StatusResult {
    pub schema: Word,
    pub index: String,
    pub generation: u64,
    pub sources: u64,
    pub chunks: u64,
    pub vectors: u64,
    pub collections: BTreeMap<String, CollectionStats>,
    pub types: BTreeMap<String, u64>,
    pub languages: BTreeMap<String, u64>,
    pub roots: BTreeMap<String, String>,
    pub bytes: StatusBytes,
    pub segments: StatusSegments,
    /// Rows and documents that are deleted but still on disk.
    pub dead_rows: u64,
    /// Null: an index without vectors.
    pub embedding_space: Option<Space>,
    /// Who computes vectors for this index here; null without vectors or where nothing can.
    pub embedder: Option<String>,
    pub failed: Vec<SourceSummary>,
    pub warned: Vec<SourceSummary>,
    /// Documents by the facts that filters ask for, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facets: Option<Facets>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct StatusBytes {
    pub text: u64,
    pub vectors: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct StatusSegments {
    pub text: u64,
    pub vectors: u64,
}

/// The embedding space without its probe vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Space {
    pub model: String,
    pub revision: String,
    pub sha256: String,
    pub dim: usize,
    pub pooling: Pooling,
    pub normalised: bool,
    pub query_prefix: String,
    pub passage_prefix: String,
    pub max_tokens: usize,
    pub tokenizer: String,
    pub multilingual: bool,
}

impl From<&EmbeddingSpace> for Space {
    fn from(space: &EmbeddingSpace) -> Self {
        Self {
            model: space.model.clone(),
            revision: space.revision.clone(),
            sha256: space.sha256.clone(),
            dim: space.dim,
            pooling: space.pooling,
            normalised: space.normalised,
            query_prefix: space.query_prefix.clone(),
            passage_prefix: space.passage_prefix.clone(),
            max_tokens: space.max_tokens,
            tokenizer: space.tokenizer.clone(),
            multilingual: space.multilingual,
        }
    }
}

impl StatusResult {
    /// `sources`: all of the index.
    pub fn new(
        index: String,
        generation: u64,
        roots: BTreeMap<String, String>,
        stats: Stats,
        space: Option<&EmbeddingSpace>,
        embedder: Option<String>,
        sources: &[SourceRecord],
    ) -> Self {
        let with = |status| sources.iter().filter(|s| s.status == status).map(SourceSummary::from).collect();
        Self {
            schema: "rag.status/1".into(),
            index,
            generation,
            sources: stats.sources,
            chunks: stats.chunks,
            vectors: stats.vectors,
            collections: stats.by_collection,
            types: stats.by_type,
            languages: stats.by_language,
            roots,
            bytes: StatusBytes { text: stats.text_bytes_on_disk, vectors: stats.vector_bytes_on_disk },
            segments: StatusSegments { text: stats.segments_text, vectors: stats.segments_vectors },
            dead_rows: stats.dead_rows,
            embedding_space: space.map(Space::from),
            embedder,
            failed: with(Status::Failed),
            warned: with(Status::Warned),
            facets: None,
        }
    }
}
