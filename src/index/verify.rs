//! Whether an index is what it says: every checksum, and everything two files say of one thing.
//!
//! Useful for: naming each damaged file, never stopping at the first. Not for: mending.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    path::{Path, PathBuf},
};

use tantivy::{DocAddress, directory::error::OpenReadError, index::SegmentComponent};

use super::{
    ChunkRecord, Error, Result, SourceRecord, catalog, compact,
    error::guard,
    fs::read_small,
    layout,
    lexical::schema::column,
    open::{self, Access},
    recompute,
    snapshot::Snapshot,
    vector::FileEntry,
};

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// The generation that was checked; `None` where it could not be opened.
    pub generation: Option<u64>,
    /// Files whose checksum was computed.
    pub files: usize,
    pub bytes: u64,
    /// What is wrong. Empty: the index is sound.
    pub faults: Vec<Fault>,
    /// Files that no generation names, relative to the index: left by a writer that died (the next one removes them), or
    /// the work of one that runs. No fault.
    pub orphans: Vec<PathBuf>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Relative to the index; empty where it is no single file's.
    pub file: PathBuf,
    pub what: String,
}

impl Verified {
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.as_os_str().is_empty() {
            return out.write_str(&self.what);
        }
        write!(out, "`{}` is damaged: {}", self.file.display(), self.what)
    }
}

/// The sum of live rows may differ from the recorded one by this, for each row: rounding of commits long past.
const SUM_TOLERANCE: f64 = 1e-6;

/// See [`Index::verify`](super::Index::verify); `thorough`: [`Index::verify_thoroughly`](super::Index::verify_thoroughly).
pub(super) fn verify(dir: &Path, thorough: bool) -> Result<Verified> {
    let access = if thorough { Access::Read } else { Access::Mapped };
    let mut check = Check { dir, access, found: Verified::default() };
    match super::create::open(dir) {
        Ok(_) => {}
        Err(Error::Corrupt { path, what }) => check.fault(&path, what),
        Err(error) => return Err(error),
    }
    // First each file by itself, so that the damaged ones are named even if nothing can be opened.
    check.text_files();
    match open::open_by(dir, access) {
        Ok(snapshot) => {
            check.found.generation = Some(snapshot.generation());
            check.format_file(&snapshot);
            check.vector_files(&snapshot);
            // What is read of damaged files is not worth comparing.
            if check.found.is_sound() {
                check.agreement(&snapshot);
                if thorough {
                    check.recompute(&snapshot);
                }
            }
            let orphans = compact::orphans(dir, &snapshot);
            let orphans = orphans.map_err(|source| Error::Io { act: "list", path: dir.to_path_buf(), source })?;
            check.found.orphans =
                orphans.into_iter().map(|path| path.strip_prefix(dir).map(Path::to_path_buf).unwrap_or(path)).collect();
        }
        Err(Error::Corrupt { path, what }) => check.fault(&path, what),
        Err(error @ Error::Text { .. }) => check.fault(&layout::text_dir(dir), error.to_string()),
        Err(error) => return Err(error),
    }
    Ok(check.found)
}

struct Check<'a> {
    dir: &'a Path,
    access: Access,
    found: Verified,
}

impl Check<'_> {
    fn fault(&mut self, path: &Path, what: impl Into<String>) {
        let file = path.strip_prefix(self.dir).unwrap_or(path).to_path_buf();
        let fault = Fault { file, what: what.into() };
        if !self.found.faults.contains(&fault) {
            self.found.faults.push(fault);
        }
    }

    /// The checksum of every file that `meta.json` names.
    fn text_files(&mut self) {
        let text = layout::text_dir(self.dir);
        let opened = guard(self.dir, || {
            let index = tantivy::Index::open(open::directory(self.dir, self.access)?)?;
            let meta = index.load_metas()?;
            Ok((index, meta))
        });
        let (index, meta) = match opened {
            Ok(opened) => opened,
            Err(Error::Corrupt { what, .. }) => return self.fault(&text.join(layout::META_FILE), what),
            Err(error) => return self.fault(&text.join(layout::META_FILE), error.to_string()),
        };
        let mut names: Vec<PathBuf> = meta.list_segment_files().into_iter().collect();
        names.sort();
        // Tantivy lists these for every segment, and makes them for some.
        let mut optional: HashSet<PathBuf> = HashSet::new();
        for segment in &meta.segments {
            optional.insert(segment.relative_path(SegmentComponent::TempStore));
            if !segment.has_deletes() {
                optional.insert(segment.relative_path(SegmentComponent::Delete));
            }
        }
        for name in names {
            let path = text.join(&name);
            let checked = guard(self.dir, || match index.directory().validate_checksum(&name) {
                Err(OpenReadError::FileDoesNotExist(_)) => Ok(None),
                checked => Ok(Some(checked?)),
            });
            match checked {
                Ok(Some(sound)) => {
                    self.found.files += 1;
                    self.found.bytes += std::fs::metadata(&path).map(|meta| meta.len()).unwrap_or_default();
                    if !sound {
                        self.fault(&path, "its checksum is another");
                    }
                }
                Ok(None) if optional.contains(&name) => {}
                Ok(None) => self.fault(&path, "the file is missing"),
                Err(Error::Corrupt { what, .. }) => self.fault(&path, what),
                Err(error) => self.fault(&path, error.to_string()),
            }
        }
    }

    fn format_file(&mut self, snapshot: &Snapshot) {
        let path = self.dir.join(layout::FORMAT_FILE);
        self.found.files += 1;
        match read_small(&path, layout::MAX_SMALL_FILE) {
            Ok(bytes) if crc32c::crc32c(&bytes) == snapshot.manifest().format_crc32c => {
                self.found.bytes += bytes.len() as u64;
            }
            Ok(_) => self.fault(&path, "its checksum is another"),
            Err(error) => self.fault(&path, error.to_string()),
        }
    }

    /// The checksum and inner order of every vector file.
    fn vector_files(&mut self, snapshot: &Snapshot) {
        let (Some(space), Some(toc)) = (&snapshot.manifest().space, snapshot.toc()) else { return };
        let folder = layout::space_dir(self.dir, &space.folder);
        // Opening has checked the manifest and the tombstones.
        if let Some(file) = &snapshot.manifest().toc {
            self.found.files += 1;
            self.found.bytes += file.bytes;
        }
        let mut sums = vec![0.0; toc.dim];
        for (entry, (segment, tombstones)) in toc.entries.iter().zip(snapshot.vectors().parts()) {
            let path = folder.join(&entry.segment.name);
            self.found.files += 1 + usize::from(entry.tombstones.is_some());
            self.found.bytes += entry.segment.bytes + entry.tombstones.as_ref().map_or(0, |file| file.bytes);
            if let Err(what) = whole_file(&path, &entry.segment, self.access) {
                self.fault(&path, what);
                continue;
            }
            if let Err(damage) = segment.verify() {
                self.fault(&path, damage.to_string());
                continue;
            }
            if entry.rows as usize != segment.len() || entry.live as usize != segment.len() - tombstones.len() {
                self.fault(&path, format!("the manifest counts {} rows and {} live ones", entry.rows, entry.live));
            }
            for row in (0..segment.len()).filter(|row| !tombstones.contains(*row)) {
                sums.iter_mut().zip(&*segment.row(row)).for_each(|(sum, value)| *sum += f64::from(*value));
            }
        }
        let tolerance = SUM_TOLERANCE * (1.0 + snapshot.vectors().len() as f64);
        if toc.live_sum.iter().zip(&sums).any(|(recorded, sum)| (recorded - sum).abs() > tolerance) {
            let toc_path = folder.join(layout::toc_name(toc.generation));
            self.fault(&toc_path, "the recorded sum of rows is another");
        }
    }

    /// What text, vectors and manifest say of the same chunks and sources.
    fn agreement(&mut self, snapshot: &Snapshot) {
        if let Err(error) = guard(self.dir, || self.compare(snapshot)) {
            self.fault(&layout::text_dir(self.dir), error.to_string());
        }
    }

    /// What follows from other parts, made anew.
    fn recompute(&mut self, snapshot: &Snapshot) {
        let text = layout::text_dir(self.dir);
        let mut told = Vec::new();
        if let Err(error) = guard(self.dir, || recompute::texts(snapshot.searcher(), &mut |what| told.push(what))) {
            told.push(error.to_string());
        }
        for what in told {
            self.fault(&text, what);
        }
        let Some(space) = &snapshot.manifest().space else { return };
        let folder = layout::space_dir(self.dir, &space.folder);
        recompute::vectors(snapshot, &mut |name, what| self.fault(&folder.join(name), what));
    }

    fn compare(&mut self, snapshot: &Snapshot) -> tantivy::Result<()> {
        let searcher = snapshot.searcher();
        let manifest = snapshot.manifest();
        let text = layout::text_dir(self.dir);
        let mut sources: HashMap<u64, (SourceRecord, u64)> = HashMap::new();
        for source in catalog::sources(searcher)? {
            let name = source.display_path();
            if source.id != SourceRecord::id_of(&source.collection, &source.root, &source.path) {
                self.fault(&text, format!("source `{name}` has the id of another name"));
            }
            if let Some((twin, _)) = sources.insert(source.id.0, (source, 0)) {
                self.fault(&text, format!("source `{}` is there twice", twin.display_path()));
            }
        }
        let mut languages: BTreeMap<String, u64> = BTreeMap::new();
        let mut chunks: HashSet<u64> = HashSet::new();
        for (segment, reader) in (0..).zip(searcher.segment_readers()) {
            let fast = reader.fast_fields();
            let mut ids = Vec::new();
            catalog::each_value(reader, &fast.u64(column::CHUNK_ID)?, |doc, id| ids.push((doc, id)));
            let parents = fast.u64(column::PARENT)?;
            for (doc, id) in ids {
                let chunk: ChunkRecord = catalog::record(searcher, DocAddress::new(segment, doc))?;
                let name = format!("chunk {} of `{}`", chunk.id, chunk.path);
                *languages.entry(chunk.lang.clone().unwrap_or_default()).or_default() += 1;
                if chunk.id.0 != id || parents.first(doc) != Some(chunk.source.0) {
                    self.fault(&text, format!("{name} is filed under other ids"));
                }
                if chunk.text.len() != chunk.span.end.saturating_sub(chunk.span.start) {
                    self.fault(&text, format!("{name} has {} bytes, its span says otherwise", chunk.text.len()));
                }
                if !chunks.insert(id) {
                    self.fault(&text, format!("{name} is there twice"));
                }
                match sources.get_mut(&chunk.source.0) {
                    Some((_, count)) => *count += 1,
                    None => self.fault(&text, format!("{name} has no source")),
                }
                if manifest.space.is_some() && snapshot.vectors().locate(id).is_none() {
                    self.fault(&text, format!("{name} has no vector"));
                }
            }
        }
        for (source, count) in sources.values() {
            if u64::from(source.chunks) != *count {
                let name = source.display_path();
                self.fault(&text, format!("source `{name}` counts {} chunks, there are {count}", source.chunks));
            }
        }
        let meta = text.join(layout::META_FILE);
        let counted = (sources.len() as u64, chunks.len() as u64);
        if counted != (manifest.sources, manifest.chunks) {
            let what = format!("it counts {} sources and {} chunks", manifest.sources, manifest.chunks);
            self.fault(&meta, format!("{what}, there are {} and {}", counted.0, counted.1));
        }
        if languages != manifest.languages {
            self.fault(&meta, format!("it counts languages as {:?}, they are {languages:?}", manifest.languages));
        }
        self.rows(snapshot, &chunks);
        Ok(())
    }

    /// Every live row has its chunk, once.
    fn rows(&mut self, snapshot: &Snapshot, chunks: &HashSet<u64>) {
        let (Some(space), Some(toc)) = (&snapshot.manifest().space, snapshot.toc()) else { return };
        let folder = layout::space_dir(self.dir, &space.folder);
        let mut seen: HashSet<u64> = HashSet::new();
        for (entry, (segment, tombstones)) in toc.entries.iter().zip(snapshot.vectors().parts()) {
            let path = folder.join(&entry.segment.name);
            for (row, &id) in segment.ids().iter().enumerate().filter(|(row, _)| !tombstones.contains(*row)) {
                if !chunks.contains(&id) {
                    self.fault(&path, format!("row {row} has no chunk"));
                }
                if !seen.insert(id) {
                    self.fault(&path, format!("row {row} is there twice"));
                }
            }
        }
    }
}

/// Length and checksum of a whole file are what the manifest says.
fn whole_file(path: &Path, entry: &FileEntry, access: Access) -> Result<(), String> {
    let bytes = open::read_bytes(path, access).map_err(|error| error.to_string())?;
    if entry.matches(&bytes) { Ok(()) } else { Err("length or checksum differ from what the manifest says".to_owned()) }
}
