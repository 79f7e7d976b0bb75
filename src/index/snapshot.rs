//! One generation, whole, as a reader sees it.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use tantivy::{DocAddress, ReloadPolicy, Searcher};

use super::{
    Allowed, ChunkRecord, Error, Filter, LexicalQuery, Result, SourceRecord, catalog,
    error::guard,
    fs::read_small,
    layout,
    lexical::{
        self, DurableDirectory,
        document::fact_prefix,
        language::all_stems,
        schema::{FIELDS, column},
        search::{self, by_segment},
        statistics::Statistics,
    },
    manifest::{Manifest, TocFile},
    mmap, select,
    vector::{FileEntry, Segment, Set, Toc, Tombstones},
};
use crate::types::{ChunkId, EmbeddingSpace, Score, SourceId};

/// Blocks of 16 KiB that each text segment keeps unpacked.
const STORE_CACHE_BLOCKS: usize = 16;

/// One committed state of the index. Cloning is cheap; all threads may read it.
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

struct Inner {
    dir: PathBuf,
    manifest: Manifest,
    searcher: Searcher,
    /// Names in the text folder that belong to this generation.
    text_files: Vec<PathBuf>,
    statistics: OnceLock<Statistics>,
    space: Option<EmbeddingSpace>,
    toc: Option<Toc>,
    vectors: Set,
    centroid: Option<Vec<f32>>,
}

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

/// Opens what the index holds now, starting over when a commit gets in between. Takes no lock.
pub(super) fn open(dir: &Path) -> Result<Snapshot> {
    let mut tries = 0;
    loop {
        tries += 1;
        match open_once(dir) {
            Ok(Some(snapshot)) => return Ok(snapshot),
            Ok(None) if tries < layout::MAX_OPEN_TRIES => {}
            Err(error) if error.is_missing_file() && tries < layout::MAX_OPEN_TRIES => {}
            Ok(None) => {
                let path = layout::text_dir(dir).join(layout::META_FILE);
                let source = io::Error::from(io::ErrorKind::ResourceBusy);
                return Err(Error::Io { act: "read one state of", path, source });
            }
            // It is not a commit that took the file away.
            Err(Error::Io { path, source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Corrupt { path, what: "the file is missing".to_owned() });
            }
            Err(error) if error.is_missing_file() => {
                return Err(Error::Corrupt { path: layout::text_dir(dir), what: error.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
}

/// `None`: there was a commit meanwhile.
fn open_once(dir: &Path) -> Result<Option<Snapshot>> {
    let meta_path = layout::text_dir(dir).join(layout::META_FILE);
    let (index, meta, searcher) = guard(dir, || {
        let index = tantivy::Index::open(DurableDirectory::read(dir)?)?;
        let meta = index.load_metas()?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(STORE_CACHE_BLOCKS)
            .try_into()?;
        Ok((index, meta, reader.searcher()))
    })?;
    if index.schema() != FIELDS.schema {
        return Err(Error::Corrupt {
            path: meta_path,
            what: "it has other fields than this program writes".to_owned(),
        });
    }
    let payload = meta.payload.as_deref().unwrap_or_default();
    let manifest = Manifest::decode(dir, payload)?;
    let (space, toc, vectors) = match (&manifest.space, &manifest.toc) {
        (Some(space), Some(toc)) => {
            let folder = layout::space_dir(dir, &space.folder);
            let space = read_space(&folder, space.crc32c)?;
            let toc = read_toc(&folder, toc, manifest.generation, space.dim)?;
            let parts = toc.entries.iter().map(|entry| {
                let segment = open_segment(&folder, &entry.segment, entry.rows, toc.dim)?;
                let tombstones = open_tombstones(&folder, entry.tombstones.as_ref(), entry.rows)?;
                Ok((segment, tombstones))
            });
            let vectors = Set::new(toc.dim, parts.collect::<Result<_>>()?);
            (Some(space), Some(toc), vectors)
        }
        _ => (None, None, Set::default()),
    };
    let now = guard(dir, || index.load_metas())?;
    let same = now.payload == meta.payload
        && now.opstamp == meta.opstamp
        && now
            .segments
            .iter()
            .map(|s| (s.id(), s.delete_opstamp()))
            .eq(meta.segments.iter().map(|s| (s.id(), s.delete_opstamp())))
        && searcher.segment_readers().len() == meta.segments.len();
    if !same {
        return Ok(None);
    }
    let centroid = toc.as_ref().map(|toc| {
        let n = vectors.len().max(1) as f64;
        toc.live_sum.iter().map(|sum| (sum / n) as f32).collect()
    });
    let dir = dir.to_path_buf();
    let statistics = OnceLock::new();
    let text_files = meta.list_segment_files().into_iter().collect();
    Ok(Some(Snapshot(Arc::new(Inner {
        dir,
        manifest,
        searcher,
        text_files,
        statistics,
        space,
        toc,
        vectors,
        centroid,
    }))))
}

fn read_space(folder: &Path, checksum: u32) -> Result<EmbeddingSpace> {
    let path = folder.join(layout::SPACE_FILE);
    let bytes = read_small(&path, layout::MAX_SPACE_FILE).map_err(io_error("read", &path))?;
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    if crc32c::crc32c(&bytes) != checksum {
        return Err(damaged("its checksum is another".to_owned()));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| damaged(error.to_string()))?;
    let space: EmbeddingSpace = toml::from_str(text).map_err(|error| damaged(error.message().to_owned()))?;
    let name = folder.file_name().and_then(|name| name.to_str());
    if name != Some(space.folder().as_str()) {
        return Err(damaged(format!("it describes the space `{}`", space.folder())));
    }
    Ok(space)
}

/// Reads a vector manifest and checks it against what the payload says of it.
pub(super) fn read_toc(folder: &Path, file: &TocFile, generation: u64, dim: usize) -> Result<Toc> {
    let path = folder.join(&file.name);
    let bytes = read_small(&path, layout::MAX_TOC_FILE).map_err(io_error("read", &path))?;
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    if bytes.len() as u64 != file.bytes || crc32c::crc32c(&bytes) != file.crc32c {
        return Err(damaged("length or checksum differ from what the commit recorded".to_owned()));
    }
    let toc = Toc::decode(&bytes).map_err(|damage| damaged(damage.to_string()))?;
    if (toc.generation, toc.dim) != (generation, dim) {
        let what =
            format!("generation {} and dimension {} where {generation} and {dim} belong", toc.generation, toc.dim);
        return Err(damaged(what));
    }
    Ok(toc)
}

fn open_segment(folder: &Path, file: &FileEntry, rows: u32, dim: usize) -> Result<Segment> {
    let path = folder.join(&file.name);
    let handle = File::open(&path).map_err(io_error("open", &path))?;
    let bytes = mmap::map(&handle).map_err(io_error("map", &path))?;
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    if bytes.len() as u64 != file.bytes {
        return Err(damaged(format!("{} bytes where the manifest says {}", bytes.len(), file.bytes)));
    }
    let segment = Segment::open(bytes).map_err(|damage| damaged(damage.to_string()))?;
    if (segment.len(), segment.dim()) != (rows as usize, dim) {
        return Err(damaged(format!("{} rows of {} where {rows} of {dim} belong", segment.len(), segment.dim())));
    }
    Ok(segment)
}

fn open_tombstones(folder: &Path, file: Option<&FileEntry>, rows: u32) -> Result<Tombstones> {
    let Some(file) = file else { return Ok(Tombstones::default()) };
    let path = folder.join(&file.name);
    let bytes = read_small(&path, file.bytes).map_err(io_error("read", &path))?;
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    if bytes.len() as u64 != file.bytes || crc32c::crc32c(&bytes) != file.checksum {
        return Err(damaged("length or checksum differ from what the manifest says".to_owned()));
    }
    Tombstones::decode(&bytes, rows as usize).map_err(|damage| damaged(damage.to_string()))
}

fn io_error(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| {
        if source.kind() == io::ErrorKind::InvalidData {
            return Error::Corrupt { path, what: source.to_string() };
        }
        Error::Io { act, path, source }
    }
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

    /// Counts from the index itself, never from a side file. O(sources + segments).
    pub fn stats(&self) -> Result<Stats> {
        let Inner { dir, manifest, searcher, toc, vectors, .. } = &*self.0;
        let mut stats = Stats {
            sources: manifest.sources,
            chunks: manifest.chunks,
            vectors: vectors.len() as u64,
            by_language: manifest.languages.clone(),
            segments_text: searcher.segment_readers().len() as u64,
            ..Stats::default()
        };
        guard(dir, || {
            catalog::each_fact(searcher, &fact_prefix(&["status"]), |status, _| {
                stats.failed_sources += u64::from(status == "failed");
            })?;
            catalog::each_fact(searcher, &fact_prefix(&["type"]), |format, _| {
                *stats.by_type.entry(format.to_owned()).or_default() += 1;
            })?;
            catalog::each_fact(searcher, &fact_prefix(&["collection"]), |name, chunks| {
                let counts = stats.by_collection.entry(name.to_owned()).or_default();
                counts.sources += 1;
                counts.chunks += chunks;
            })?;
            for reader in searcher.segment_readers() {
                stats.dead_rows += u64::from(reader.num_deleted_docs());
            }
            for name in &self.0.text_files {
                let size = std::fs::metadata(layout::text_dir(dir).join(name)).map(|meta| meta.len());
                stats.text_bytes_on_disk += size.unwrap_or_default();
            }
            Ok(())
        })?;
        if let Some(toc) = toc {
            stats.segments_vectors = toc.entries.len() as u64;
            for entry in &toc.entries {
                stats.dead_rows += u64::from(entry.rows.saturating_sub(entry.live));
                let tombstones = entry.tombstones.as_ref().map_or(0, |file| file.bytes);
                stats.vector_bytes_on_disk += entry.segment.bytes + tombstones;
            }
        }
        Ok(stats)
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

    /// The `k` best chunks by dot product with `vector` (`dim` values), exactly; ties to the smaller id. Nothing in an
    /// index without vectors.
    pub fn dense(&self, vector: &[f32], k: usize, allowed: Option<&Allowed>) -> Result<Vec<(ChunkId, Score)>> {
        let Some(space) = &self.0.space else { return Ok(Vec::new()) };
        if vector.len() != space.dim {
            return Err(Error::Space {
                path: self.0.dir.clone(),
                found: format!("vectors of {} values", space.dim),
                expected: format!("vectors of {}", vector.len()),
            });
        }
        let found = self.0.vectors.search(vector, k, allowed.map(|allowed| allowed.ids.as_slice()));
        Ok(found.into_iter().map(|(id, score)| (ChunkId(id), score)).collect())
    }

    /// The dot product with given chunks; `None` where the chunk has no vector.
    pub fn dense_scores(&self, vector: &[f32], ids: &[ChunkId]) -> Vec<Option<Score>> {
        let score = |id: &ChunkId| {
            let row = self.vector(*id)?;
            (row.len() == vector.len()).then(|| super::vector::dot(row, vector))
        };
        ids.iter().map(score).collect()
    }

    /// The stored vector of a chunk.
    pub fn vector(&self, id: ChunkId) -> Option<&[f32]> {
        self.0.space.as_ref()?;
        self.0.vectors.vector(id.0)
    }

    /// The vector stored under a hash of the embedded text (see [`NewChunk`](super::NewChunk)).
    pub fn vector_by_hash(&self, hash: &[u8; 16]) -> Option<&[f32]> {
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
