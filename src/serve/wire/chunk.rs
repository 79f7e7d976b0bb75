//! A chunk, wherever one is shown.

use serde::{Deserialize, Serialize};

use super::{Pair, byte_range, lines, pages};
use crate::{
    index::ChunkRecord,
    types::{ChunkId, SourceId},
};

/// A chunk and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Chunk {
    pub chunk_id: ChunkId,
    pub source_id: SourceId,
    pub collection: String,
    pub path: String,
    pub title: Option<String>,
    pub heading: Vec<String>,
    pub lines: Option<Pair>,
    pub page: Option<u32>,
    pub pages: Option<Pair>,
    /// Of the document's extracted text.
    pub byte_range: [usize; 2],
    pub ordinal: u32,
    pub lang: Option<String>,
    pub tokens: u32,
    /// Repeated from elsewhere in the source to make the chunk readable (a table's header); not part of `text`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    pub text: String,
}

impl From<&ChunkRecord> for Chunk {
    fn from(chunk: &ChunkRecord) -> Self {
        Self {
            chunk_id: chunk.id,
            source_id: chunk.source,
            collection: chunk.collection.clone(),
            path: chunk.path.clone(),
            title: chunk.title.clone(),
            heading: chunk.heading.clone(),
            lines: lines(chunk.lines),
            page: chunk.pages.map(|pages| pages.first),
            pages: pages(chunk.pages),
            byte_range: byte_range(chunk.span),
            ordinal: chunk.ordinal,
            lang: chunk.lang.clone(),
            tokens: chunk.tokens,
            context: chunk.context.clone(),
            text: chunk.text.clone(),
        }
    }
}
