//! One generation, whole, as a reader sees it.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::RangeInclusive,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use tantivy::{DocAddress, Searcher};

use super::{
    Allowed, ChunkRecord, Error, Filter, LexicalQuery, Result, SourceRecord, catalog,
    error::guard,
    lexical::{
        self,
        language::all_stems,
        schema::{FIELDS, column},
        search::{self, by_segment},
        statistics::Statistics,
    },
    manifest::Manifest,
    select,
    vector::{Effort, Scratch, Search, Set, Toc, Work},
};
use crate::types::{ChunkId, EmbeddingSpace, Score, SourceId};

/// One committed state of the index. Cloning is cheap; all threads may read it.
#[derive(Clone)]
pub struct Snapshot(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) dir: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) searcher: Searcher,
    /// Names in the text folder that belong to this generation.
    pub(super) text_files: Vec<PathBuf>,
    pub(super) statistics: OnceLock<Statistics>,
    pub(super) space: Option<EmbeddingSpace>,
    pub(super) toc: Option<Toc>,
    pub(super) vectors: Set,
    pub(super) centroid: Option<Vec<f32>>,
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

impl Snapshot {
    /// A counter, never a time. 0: created, nothing ingested.
    pub fn generation(&self) -> u64 {
        self.0.manifest.generation
    }

    /// `None`: an index without vectors.
    pub fn space(&self) -> Option<&EmbeddingSpace> {
        self.0.space.as_ref()
    }

    /// Named roots: name → absolute path when last ingested.
    pub fn roots(&self) -> &BTreeMap<String, String> {
        &self.0.manifest.roots
    }

    /// All sources of a collection (all collections: `None`), sorted by collection, then display path.
    pub fn sources(&self, collection: Option<&str>) -> Result<Vec<SourceRecord>> {
        let mut sources = guard(&self.0.dir, || catalog::sources(&self.0.searcher))?;
        if let Some(collection) = collection {
            sources.retain(|source| source.collection == collection);
        }
        sources.sort_by_cached_key(|source| (source.collection.clone(), source.display_path()));
        Ok(sources)
    }

    /// The sources that a filter allows, sorted as in [`sources`](Self::sources).
    pub fn sources_where(&self, filter: &Filter, collection: Option<&str>) -> Result<Vec<SourceRecord>> {
        let rule = select::Rule::new(Some(filter), collection)?;
        let allowed = guard(&self.0.dir, || select::sources(&self.0.searcher, &rule))?;
        let mut sources = self.sources(collection)?;
        sources.retain(|source| allowed.contains(&source.id.0));
        Ok(sources)
    }

    /// Ids of the sources that a filter and a collection allow, in the order of [`sources`](Self::sources). Holds the name
    /// of each, no record: for going through an index of any size source by source.
    pub fn source_ids(&self, filter: Option<&Filter>, collection: Option<&str>) -> Result<Vec<SourceId>> {
        let rule = select::Rule::new(filter, collection)?;
        let mut names = guard(&self.0.dir, || {
            let allowed = select::sources(&self.0.searcher, &rule)?;
            let mut names = Vec::with_capacity(allowed.len());
            catalog::each_source(&self.0.searcher, |source| {
                if allowed.contains(&source.id.0) {
                    names.push((source.collection.clone(), source.display_path(), source.id));
                }
            })?;
            Ok(names)
        })?;
        names.sort_unstable();
        Ok(names.into_iter().map(|(_, _, id)| id).collect())
    }

    /// Ids of the sources that a filter and a collection allow, in no order. Reads columns alone, no record.
    pub fn ids_where(&self, filter: &Filter, collection: Option<&str>) -> Result<Vec<SourceId>> {
        let rule = select::Rule::new(Some(filter), collection)?;
        let found = guard(&self.0.dir, || select::sources(&self.0.searcher, &rule))?;
        Ok(found.into_iter().map(SourceId).collect())
    }

    pub fn source(&self, id: SourceId) -> Result<Option<SourceRecord>> {
        let Inner { dir, searcher, .. } = &*self.0;
        guard(dir, || match search::find(searcher, FIELDS.source, &[id.0])?[..] {
            [Some(address)] => catalog::record(searcher, address).map(Some),
            _ => Ok(None),
        })
    }

    pub fn chunk(&self, id: ChunkId) -> Result<Option<ChunkRecord>> {
        Ok(self.chunks(&[id])?.pop().flatten())
    }

    /// Several chunks, in the order asked; missing ones are `None`.
    pub fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<Option<ChunkRecord>>> {
        let Inner { dir, searcher, .. } = &*self.0;
        guard(dir, || {
            let addresses = search::locate(searcher, &numbers(ids))?;
            addresses.into_iter().map(|address| address.map(|at| catalog::record(searcher, at)).transpose()).collect()
        })
    }

    /// The chunks of a source by ordinal.
    pub fn chunks_of(&self, source: SourceId) -> Result<Vec<ChunkRecord>> {
        let Inner { dir, searcher, .. } = &*self.0;
        let mut chunks: Vec<ChunkRecord> = guard(dir, || {
            let addresses = search::find_all(searcher, FIELDS.parent, source.0)?;
            addresses.into_iter().map(|address| catalog::record(searcher, address)).collect()
        })?;
        chunks.sort_by_key(|chunk| chunk.ordinal);
        Ok(chunks)
    }

    /// The chunks of a source that have these ordinals, in their order. Reads the records of no others.
    pub fn chunks_between(&self, source: SourceId, ordinals: RangeInclusive<u32>) -> Result<Vec<ChunkRecord>> {
        let Inner { dir, searcher, .. } = &*self.0;
        guard(dir, || {
            let mut wanted = Vec::new();
            let addresses = search::find_all(searcher, FIELDS.parent, source.0)?;
            for (segment, range) in by_segment(&addresses) {
                let column = searcher.segment_reader(segment).fast_fields().u64(column::ORDINAL)?;
                let ordinal = |at: &DocAddress| column.first(at.doc_id).and_then(|n| u32::try_from(n).ok());
                let numbered = addresses[range].iter().filter_map(|at| Some((ordinal(at)?, *at)));
                wanted.extend(numbered.filter(|(ordinal, _)| ordinals.contains(ordinal)));
            }
            wanted.sort_unstable();
            wanted.into_iter().map(|(_, address)| catalog::record(searcher, address)).collect()
        })
    }

    /// Which chunks the filter and the collection allow. Evaluated on the sources, then spread to their chunks.
    pub fn allowed(&self, filter: Option<&Filter>, collection: Option<&str>) -> Result<Allowed> {
        let rule = select::Rule::new(filter, collection)?;
        guard(&self.0.dir, || select::allowed(&self.0.searcher, &rule))
    }

    /// Analyses a query. Errors: `Query` where `QuerySyntax::Tantivy` cannot be parsed, or the text is over 8 KiB.
    pub fn lexical_query(&self, text: &str, syntax: QuerySyntax) -> Result<LexicalQuery> {
        if text.len() > lexical::MAX_QUERY_BYTES {
            let what = format!("it has {} bytes, at most {} are read", text.len(), lexical::MAX_QUERY_BYTES);
            return Err(Error::Query { what });
        }
        let statistics = self.statistics()?;
        let stems = all_stems(self.0.manifest.languages.keys().map(String::as_str));
        let query = guard(&self.0.dir, || match syntax {
            QuerySyntax::Plain => lexical::plain_query(text, &stems, &self.0.searcher, statistics).map(Ok),
            QuerySyntax::Tantivy => lexical::written_query(text, &stems, &self.0.searcher, statistics),
        })?;
        query.map_err(|what| Error::Query { what })
    }

    /// The word of the index that is spelled almost like `word` (lower case): one edit away, two for long words, with the
    /// same first letter. O(words with that letter).
    pub fn nearest_word(&self, word: &str) -> Result<Option<String>> {
        guard(&self.0.dir, || lexical::nearest::nearest(&self.0.searcher, word))
    }

    /// How many chunks there are. Free.
    pub fn chunk_count(&self) -> u64 {
        self.0.manifest.chunks
    }

    /// The `k` best chunks by BM25 over the fields stem × 1.0, exact × 0.3, title × 0.3; ties to the smaller id.
    pub fn lexical(&self, query: &LexicalQuery, k: usize, allowed: Option<&Allowed>) -> Result<Vec<(ChunkId, Score)>> {
        let statistics = self.statistics()?;
        let found = guard(&self.0.dir, || search::top(&self.0.searcher, statistics, query, k, allowed))?;
        Ok(found.into_iter().map(|(id, score)| (ChunkId(id), score)).collect())
    }

    /// The BM25 score of given chunks, 0 where no word matches. One seek each.
    pub fn lexical_scores(&self, query: &LexicalQuery, ids: &[ChunkId]) -> Result<Vec<Score>> {
        Ok(self.matches(query, ids)?.into_iter().map(|found| found.score).collect())
    }

    /// Share of the query's distinct stems, weighted by idf, that each chunk holds in any field: 0..1.
    pub fn coverage(&self, query: &LexicalQuery, ids: &[ChunkId]) -> Result<Vec<f32>> {
        Ok(self.matches(query, ids)?.into_iter().map(|found| found.coverage).collect())
    }

    fn matches(&self, query: &LexicalQuery, ids: &[ChunkId]) -> Result<Vec<search::Match>> {
        let statistics = self.statistics()?;
        self.by_address(ids, search::Match::default(), |addresses| {
            search::matches(&self.0.searcher, statistics, query, addresses)
        })
    }

    /// Looks chunks up, asks for something of each in the order of the segments, and puts the answers in order.
    fn by_address<T: Copy>(
        &self,
        ids: &[ChunkId],
        missing: T,
        ask: impl FnOnce(&[DocAddress]) -> tantivy::Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        guard(&self.0.dir, || {
            let found = search::locate(&self.0.searcher, &numbers(ids))?;
            let mut order: Vec<(DocAddress, usize)> =
                found.into_iter().enumerate().filter_map(|(i, address)| Some((address?, i))).collect();
            order.sort_unstable();
            let addresses: Vec<DocAddress> = order.iter().map(|(address, _)| *address).collect();
            let mut values = vec![missing; ids.len()];
            for ((_, i), value) in order.iter().zip(ask(&addresses)?) {
                values[*i] = value;
            }
            Ok(values)
        })
    }

    fn statistics(&self) -> Result<Statistics> {
        if let Some(statistics) = self.0.statistics.get() {
            return Ok(*statistics);
        }
        let statistics = guard(&self.0.dir, || Statistics::of(&self.0.searcher))?;
        Ok(*self.0.statistics.get_or_init(|| statistics))
    }

    /// The `k` best chunks by dot product with `vector` (`dim` values), as far as `effort` goes; ties to the smaller id. With
    /// it what was done for them. Nothing in an index without vectors.
    pub fn dense(
        &self,
        vector: &[f32],
        k: usize,
        allowed: Option<&Allowed>,
        effort: Effort,
    ) -> Result<(Vec<(ChunkId, Score)>, Work)> {
        let Some(space) = &self.0.space else { return Ok(Default::default()) };
        if vector.len() != space.dim {
            return Err(Error::Space {
                path: self.0.dir.clone(),
                found: format!("vectors of {} values", space.dim),
                expected: format!("vectors of {}", vector.len()),
            });
        }
        let filter = allowed.map(|allowed| allowed.ids.as_slice());
        let mut found = Vec::new();
        let search = Search { effort, ..Search::new(k, filter) };
        let work = self.0.vectors.search_with(&mut Scratch::default(), vector, &search, &mut found);
        Ok((found.into_iter().map(|(id, score)| (ChunkId(id), score)).collect(), work))
    }

    /// The dot product with given chunks; `None` where the chunk has no vector.
    pub fn dense_scores(&self, vector: &[f32], ids: &[ChunkId]) -> Vec<Option<Score>> {
        let score = |id: &ChunkId| {
            let row = self.vector(*id)?;
            (row.len() == vector.len()).then(|| super::vector::dot(&row, vector))
        };
        ids.iter().map(score).collect()
    }

    /// The stored vector of a chunk.
    pub fn vector(&self, id: ChunkId) -> Option<Cow<'_, [f32]>> {
        self.0.space.as_ref()?;
        self.0.vectors.vector(id.0)
    }

    /// The hash of the text that a chunk's vector was made of; `None` without a vector.
    pub fn embed_hash(&self, id: ChunkId) -> Option<[u8; 16]> {
        let (part, row) = self.0.vectors.locate(id.0)?;
        Some(self.0.vectors.parts()[part].0.hash(row))
    }

    /// The vector stored under a hash of the embedded text (see [`NewChunk`](super::NewChunk)).
    pub fn vector_by_hash(&self, hash: &[u8; 16]) -> Option<Cow<'_, [f32]>> {
        self.0.space.as_ref()?;
        self.0.vectors.vector_by_hash(hash)
    }

    /// Mean of all live chunk vectors: the recipe's zero of cosine. `None` without vectors.
    pub fn centroid(&self) -> Option<&[f32]> {
        self.0.centroid.as_deref()
    }

    /// Fertility and code share of given chunks, in their order, from fast fields. Zero for unknown chunks.
    pub fn texture(&self, ids: &[ChunkId]) -> Result<Vec<(f32, f32)>> {
        self.by_address(ids, (0.0, 0.0), |addresses| {
            let mut values = Vec::with_capacity(addresses.len());
            for (segment, range) in by_segment(addresses) {
                let fast = self.0.searcher.segment_reader(segment).fast_fields();
                let (fertility, code) = (fast.f64(column::FERTILITY)?, fast.f64(column::CODE_SHARE)?);
                let get = |column: &tantivy::columnar::Column<f64>, doc| column.first(doc).unwrap_or_default() as f32;
                values.extend(addresses[range].iter().map(|at| (get(&fertility, at.doc_id), get(&code, at.doc_id))));
            }
            Ok(values)
        })
    }

    pub(super) fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// Names that `meta.json` may name in the text folder.
    pub(super) fn meta_files(&self) -> Vec<PathBuf> {
        self.0.text_files.clone()
    }

    pub(super) fn searcher(&self) -> &Searcher {
        &self.0.searcher
    }

    pub(super) fn toc(&self) -> Option<&Toc> {
        self.0.toc.as_ref()
    }

    pub(super) fn vectors(&self) -> &Set {
        &self.0.vectors
    }

    /// Ids of a source's chunks with the language of each.
    pub(super) fn chunk_ids_of(&self, source: SourceId) -> Result<Vec<(u64, String)>> {
        guard(&self.0.dir, || catalog::chunks_of(&self.0.searcher, source.0))
    }

    /// The source is in the index.
    pub(super) fn has_source(&self, id: SourceId) -> Result<bool> {
        let found = guard(&self.0.dir, || search::find(&self.0.searcher, FIELDS.source, &[id.0]))?;
        Ok(found.iter().any(Option::is_some))
    }
}

fn numbers(ids: &[ChunkId]) -> Vec<u64> {
    ids.iter().map(|id| id.0).collect()
}
