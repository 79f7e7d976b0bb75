//! One generation, whole, as a reader sees it.

use std::collections::BTreeMap;

use super::{Allowed, ChunkRecord, Filter, Result, SourceRecord};
use crate::types::{ChunkId, EmbeddingSpace, Score, SourceId};

/// One committed state of the index. Cloning is cheap; all threads may read it.
#[derive(Clone)]
pub struct Snapshot {}

/// How many of what a snapshot holds.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Stats {
    pub sources: u64,
    pub failed_sources: u64,
    pub chunks: u64,
    pub vectors: u64,
    pub text_bytes_on_disk: u64,
    pub vector_bytes_on_disk: u64,
    pub segments_text: u64,
    pub segments_vectors: u64,
    /// Rows and documents that are deleted but still on disk.
    pub dead_rows: u64,
    pub by_collection: BTreeMap<String, CollectionStats>,
    /// Chunks by ISO 639-1 code; `""` for unknown.
    pub by_language: BTreeMap<String, u64>,
    /// Sources by format word.
    pub by_type: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct CollectionStats {
    pub sources: u64,
    pub chunks: u64,
}

/// How the text of a query is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuerySyntax {
    /// Words and nothing else; no character has a meaning.
    #[default]
    Plain,
    /// Tantivy's query language: phrases, fields, boosts.
    Tantivy,
}

/// A lexical query, analysed against one snapshot: the words of the text in each field with their counts, every word
/// stemmed by the stemmers of all languages the snapshot holds.
pub struct LexicalQuery {}

impl LexicalQuery {
    /// Nothing of the text can be searched for (no word in it).
    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// The distinct surface words of the query, lower case, stop words out unless there is nothing else: for highlights.
    pub fn words(&self) -> &[String] {
        todo!()
    }
}

impl Snapshot {
    /// A counter, never a time. 0: created, nothing ingested.
    pub fn generation(&self) -> u64 {
        todo!()
    }

    /// `None`: an index without vectors.
    pub fn space(&self) -> Option<&EmbeddingSpace> {
        todo!()
    }

    /// Named roots: name → absolute path when last ingested.
    pub fn roots(&self) -> &BTreeMap<String, String> {
        todo!()
    }

    /// Counts from the index itself, never from a side file. O(sources + segments).
    pub fn stats(&self) -> Result<Stats> {
        todo!()
    }

    /// All sources of a collection (all collections: `None`), sorted by collection, then display path.
    pub fn sources(&self, collection: Option<&str>) -> Result<Vec<SourceRecord>> {
        let _ = collection;
        todo!()
    }

    pub fn source(&self, id: SourceId) -> Result<Option<SourceRecord>> {
        let _ = id;
        todo!()
    }

    pub fn chunk(&self, id: ChunkId) -> Result<Option<ChunkRecord>> {
        let _ = id;
        todo!()
    }

    /// Several chunks, in the order asked; missing ones are `None`.
    pub fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<Option<ChunkRecord>>> {
        let _ = ids;
        todo!()
    }

    /// The chunks of a source by ordinal.
    pub fn chunks_of(&self, source: SourceId) -> Result<Vec<ChunkRecord>> {
        let _ = source;
        todo!()
    }

    /// Which chunks the filter and the collection allow. Evaluated on the sources, then spread to their chunks.
    pub fn allowed(&self, filter: Option<&Filter>, collection: Option<&str>) -> Result<Allowed> {
        let _ = (filter, collection);
        todo!()
    }

    /// Analyses a query. Errors: `Query` where `QuerySyntax::Tantivy` cannot be parsed.
    pub fn lexical_query(&self, text: &str, syntax: QuerySyntax) -> Result<LexicalQuery> {
        let _ = (text, syntax);
        todo!()
    }

    /// The `k` best chunks by BM25 over the fields stem × 1.0, exact × 0.3, title × 0.3; ties to the smaller id.
    pub fn lexical(&self, query: &LexicalQuery, k: usize, allowed: Option<&Allowed>) -> Result<Vec<(ChunkId, Score)>> {
        let _ = (query, k, allowed);
        todo!()
    }

    /// The BM25 score of given chunks, 0 where no word matches. One seek each.
    pub fn lexical_scores(&self, query: &LexicalQuery, ids: &[ChunkId]) -> Result<Vec<Score>> {
        let _ = (query, ids);
        todo!()
    }

    /// Share of the query's distinct stems, weighted by idf, that each chunk holds in any field: 0..1.
    pub fn coverage(&self, query: &LexicalQuery, ids: &[ChunkId]) -> Result<Vec<f32>> {
        let _ = (query, ids);
        todo!()
    }

    /// The `k` best chunks by dot product with `vector` (`dim` values), exactly; ties to the smaller id.
    pub fn dense(&self, vector: &[f32], k: usize, allowed: Option<&Allowed>) -> Result<Vec<(ChunkId, Score)>> {
        let _ = (vector, k, allowed);
        todo!()
    }

    /// The dot product with given chunks; `None` where the chunk has no vector.
    pub fn dense_scores(&self, vector: &[f32], ids: &[ChunkId]) -> Vec<Option<Score>> {
        let _ = (vector, ids);
        todo!()
    }

    /// The stored vector of a chunk.
    pub fn vector(&self, id: ChunkId) -> Option<&[f32]> {
        let _ = id;
        todo!()
    }

    /// The vector stored under a hash of the embedded text (see [`NewChunk`](super::NewChunk)).
    pub fn vector_by_hash(&self, hash: &[u8; 16]) -> Option<&[f32]> {
        let _ = hash;
        todo!()
    }

    /// Mean of all live chunk vectors: the recipe's zero of cosine. `None` without vectors.
    pub fn centroid(&self) -> Option<&[f32]> {
        todo!()
    }

    /// Fertility and code share of given chunks, in their order, from fast fields.
    pub fn texture(&self, ids: &[ChunkId]) -> Result<Vec<(f32, f32)>> {
        let _ = ids;
        todo!()
    }
}
