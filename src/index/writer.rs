//! The one writer: changes by whole sources, and the commit.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use tantivy::{
    IndexWriter, Term,
    indexer::{IndexWriterOptions, NoMergePolicy},
};

use super::{
    Error, NewChunk, Result, Snapshot, SourceRecord, commit, compact, create,
    error::guard,
    fs::Disk,
    layout,
    lexical::{
        DurableDirectory,
        document::Composer,
        schema::FIELDS,
        terms::{self, Lines},
    },
    lock::Lock,
    open,
    room::{Held, Room},
    vector::SegmentOptions,
};
use crate::types::SourceId;

/// Memory of tantivy's one indexing thread; more text than fits becomes several segments of one commit.
const TEXT_MEMORY: usize = 64 << 20;

#[derive(Debug, Clone, Default)]
pub struct WriterOptions {
    /// How long to wait for another writer to end.
    pub wait: Duration,
    /// What is running, for the message another process shows: `rag ingest docs`.
    pub command: String,
    /// When vectors get codes and graphs.
    pub segments: SegmentOptions,
}

/// Holds the writer lock until it is dropped.
pub struct Writer {
    dir: PathBuf,
    disk: Disk,
    snapshot: Snapshot,
    /// Made when the first change comes, so that a run without changes starts no threads.
    text: Option<IndexWriter>,
    composer: Composer,
    batch: Batch,
    roots: Option<BTreeMap<String, String>>,
    /// What puts may not go beyond.
    room: Room,
    /// Counted from when room was first limited.
    held: Option<Held>,
    poisoned: bool,
    segments: SegmentOptions,
    // Last, so that it is freed after tantivy's threads have ended.
    _lock: Lock,
}

/// What waits for the next commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pending {
    pub sources: usize,
    pub bytes: u64,
}

/// A commit that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    pub generation: u64,
    pub bytes_written: u64,
}

/// Changes since the last commit, by source.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) changes: BTreeMap<u64, Change>,
    /// Which source of the batch has a chunk id.
    owners: HashMap<u64, u64>,
}

/// What happens to one source.
#[derive(Default)]
pub(super) struct Change {
    /// `None`: it is removed.
    pub(super) record: Option<SourceRecord>,
    /// It is in the last generation.
    pub(super) was_there: bool,
    /// Committed chunks that go: id and language. Empty where only the record is replaced.
    pub(super) old: Vec<(u64, String)>,
    /// Those of them whose row goes too.
    pub(super) dead: Vec<u64>,
    /// Chunks that come.
    pub(super) ids: Vec<u64>,
    pub(super) languages: BTreeMap<String, u64>,
    /// Rows of those that have none yet.
    pub(super) rows: Vec<Row>,
    /// The chunks are replaced, not the record alone.
    replaces: bool,
    bytes: u64,
}

pub(super) struct Row {
    pub(super) id: u64,
    pub(super) hash: [u8; 16],
    pub(super) vector: Vec<f32>,
}

/// See [`Index::writer`](super::Index::writer).
pub(super) fn open(dir: &Path, options: &WriterOptions) -> Result<Writer> {
    let disk = Disk::default();
    let lock = Lock::take(&disk, dir, options.wait, &options.command)?;
    create::open(dir)?;
    let format = create::format_of(dir)?;
    if format > layout::FORMAT {
        // It may be read, but what else it holds only a newer program knows.
        return Err(Error::Format { path: dir.to_path_buf(), found: format, expected: layout::FORMAT });
    }
    let snapshot = open::open(dir)?;
    let failed = |act, path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Io { act, path, source }
    };
    for orphan in compact::orphans(dir, &snapshot).map_err(failed("list", dir))? {
        disk.remove_file(&orphan).map_err(failed("remove", &orphan))?;
    }
    let tmp = dir.join(layout::TMP_DIR);
    disk.create_dir(&tmp).map_err(failed("create", &tmp))?;
    disk.empty_dir(&tmp).map_err(failed("empty", &tmp))?;
    Ok(Writer {
        dir: dir.to_path_buf(),
        disk,
        snapshot,
        text: None,
        composer: Composer::default(),
        batch: Batch::default(),
        roots: None,
        room: Room::default(),
        held: None,
        poisoned: false,
        segments: options.segments.clone(),
        _lock: lock,
    })
}

impl Writer {
    /// The state at the last commit.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Has [`put`](Self::put) refuse, from here on, what goes beyond. The first limit of a writer reads all sources.
    pub fn set_room(&mut self, room: Room) -> Result<()> {
        self.room = room;
        if self.held.is_some() || room.is_unlimited() {
            return Ok(());
        }
        let mut held = Held::of(self.snapshot.sources(None)?.iter());
        for (id, change) in &self.batch.changes {
            let old = self.snapshot.source(SourceId(*id))?.map(|old| old.size_bytes);
            held = held.after(old, change.record.as_ref().map(|record| record.size_bytes));
        }
        self.held = Some(held);
        Ok(())
    }

    /// The size of a source as it stands with the changes so far; `None`: there is none.
    fn size_of(&self, id: SourceId) -> Result<Option<u64>> {
        Ok(match self.batch.changes.get(&id.0) {
            Some(change) => change.record.as_ref().map(|record| record.size_bytes),
            None => self.snapshot.source(id)?.map(|record| record.size_bytes),
        })
    }

    /// What is held once a source has a size, or is gone. `None`: nobody counts.
    fn held_after(&self, id: SourceId, size: Option<u64>) -> Result<Option<Held>> {
        let Some(held) = self.held else { return Ok(None) };
        Ok(Some(held.after(self.size_of(id)?, size)))
    }

    /// Puts a source with all its chunks in place of whatever the index holds of it. A chunk without a vector takes the
    /// one that the index holds under its hash.
    ///
    /// Errors: `Source` where the parts do not belong together, or there is no room; the writer goes on. Any other stops it.
    pub fn put(&mut self, source: &SourceRecord, chunks: &[NewChunk]) -> Result<()> {
        self.check_poison()?;
        self.check(source, chunks)?;
        let held = self.held_after(source.id, Some(source.size_bytes))?;
        if let (Some(after), Some(before)) = (held, self.held) {
            after.check(before, self.room, || source.display_path())?;
        }
        let mut change = self.replacing(source.id)?;
        self.place(&mut change, source, chunks)?;
        change.record = Some(source.clone());
        let result = self.put_text(source.id, chunks);
        self.poison_on_error(result)?;
        self.accept(source.id, change);
        self.held = held;
        Ok(())
    }

    /// Replaces the record of a source and leaves its chunks alone.
    ///
    /// Errors: `Source` where the record counts other chunks than there are; the writer goes on.
    pub fn touch(&mut self, source: &SourceRecord) -> Result<()> {
        self.check_poison()?;
        let pending = self.batch.changes.get(&source.id.0).filter(|change| change.replaces);
        let chunks = match pending {
            Some(change) => change.ids.len() as u64,
            None => self.snapshot.chunk_ids_of(source.id)?.len() as u64,
        };
        if u64::from(source.chunks) != chunks {
            let what = format!("its record counts {} chunks, the index holds {chunks}", source.chunks);
            return Err(Error::Source { path: source.display_path(), what });
        }
        self.held = self.held_after(source.id, Some(source.size_bytes))?;
        let was_there = self.snapshot.has_source(source.id)?;
        let change = self.batch.changes.entry(source.id.0).or_insert_with(|| Change { was_there, ..Change::default() });
        change.record = Some(source.clone());
        Ok(())
    }

    /// Removes a source and its chunks. Unknown ids are no error.
    pub fn remove(&mut self, id: SourceId) -> Result<()> {
        self.check_poison()?;
        let change = self.replacing(id)?;
        let is_pending = self.batch.changes.contains_key(&id.0);
        if !change.was_there && !is_pending {
            return Ok(());
        }
        let held = self.held_after(id, None)?;
        let result = self.put_text(id, &[]);
        self.poison_on_error(result)?;
        self.held = held;
        self.forget(id);
        if change.was_there {
            self.batch.changes.insert(id.0, change);
        }
        Ok(())
    }

    /// Sets the named roots from the next commit on.
    pub fn set_roots(&mut self, roots: BTreeMap<String, String>) {
        self.roots = (roots != *self.snapshot.roots()).then_some(roots);
    }

    pub fn pending(&self) -> Pending {
        let bytes = self.batch.changes.values().map(|change| change.bytes).sum();
        Pending { sources: self.batch.changes.len(), bytes }
    }

    /// Makes everything since the last commit durable and visible at once; `None` if there was nothing to do.
    ///
    /// An error stops the writer: the index is what it was, or, where the very last sync failed, possibly already the new
    /// generation; never anything between.
    pub fn commit(&mut self) -> Result<Option<Committed>> {
        self.check_poison()?;
        if self.batch.changes.is_empty() && self.roots.is_none() {
            return Ok(None);
        }
        let before = self.disk.written();
        let result = self.commit_batch();
        self.poison_on_error(result)?;
        let committed =
            Committed { generation: self.snapshot.generation(), bytes_written: self.disk.written() - before };
        Ok(Some(committed))
    }

    /// Commits what is pending, then makes one segment of each leg without anything that is deleted: what was removed from
    /// the index is gone from its files. `None`: there was nothing to gain. A reader of an earlier generation keeps its
    /// files until it closes; and what a disk held of a file that was removed is the file system's to overwrite.
    ///
    /// The vectors are the next generation, the text the same in fewer files; each step is an ordinary commit.
    pub fn compact(&mut self) -> Result<Option<compact::Compacted>> {
        self.commit()?;
        if !compact::is_worth_it(&self.snapshot) {
            return Ok(None);
        }
        let (before, dropped) = (self.disk.written(), self.snapshot.stats()?.dead_rows);
        let segments = self.segments.clone();
        let result = self.commit_as(|dir, disk, snapshot, text| {
            commit::commit_compacted(dir, disk, snapshot, text, &segments)?;
            guard(dir, || compact::merge_whole_text(text))
        });
        self.poison_on_error(result)?;
        let bytes_written = self.disk.written() - before;
        Ok(Some(compact::Compacted { generation: self.snapshot.generation(), bytes_written, dropped }))
    }

    /// Runs a commit that needs no batch, opens what it made and removes what only the generation before named.
    pub(super) fn commit_as(
        &mut self,
        act: impl FnOnce(&Path, &Disk, &Snapshot, &mut IndexWriter) -> Result<()>,
    ) -> Result<()> {
        self.check_poison()?;
        self.text()?;
        let Self { dir, disk, snapshot, text: Some(text), .. } = self else { unreachable!("made just now") };
        act(dir, disk, snapshot, text)?;
        *snapshot = open::open(dir)?;
        commit::remove_old(dir, disk, snapshot);
        Ok(())
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn folder_and_disk(&self) -> (&Path, &Disk) {
        (&self.dir, &self.disk)
    }

    pub(super) fn segment_options(&self) -> &SegmentOptions {
        &self.segments
    }

    fn commit_batch(&mut self) -> Result<()> {
        self.text()?;
        let Self { dir, disk, snapshot, text: Some(text), batch, roots, segments, .. } = self else {
            unreachable!("made just now")
        };
        commit::commit(dir, disk, snapshot, text, batch, roots.as_ref(), segments)?;
        // The commit stands. A merge that fails takes nothing from it; whether the writer can go on, the disk knows.
        let _ = guard(dir, || compact::merge_text(text));
        *snapshot = open::open(dir)?;
        commit::remove_old(dir, disk, snapshot);
        *batch = Batch::default();
        *roots = None;
        Ok(())
    }

    /// What replacing a source does to the last generation. Whatever the batch says of it is not looked at.
    fn replacing(&self, id: SourceId) -> Result<Change> {
        let old = self.snapshot.chunk_ids_of(id)?;
        let dead = old.iter().map(|(id, _)| *id).collect();
        Ok(Change { was_there: self.snapshot.has_source(id)?, old, dead, replaces: true, ..Change::default() })
    }

    /// Decides for each new chunk whether its row stays or a new one comes.
    fn place(&self, change: &mut Change, source: &SourceRecord, chunks: &[NewChunk]) -> Result<()> {
        let refuse = |what: String| Err(Error::Source { path: source.display_path(), what });
        let old: HashSet<u64> = change.old.iter().map(|(id, _)| *id).collect();
        let vectors = self.snapshot.vectors();
        let mut kept = HashSet::new();
        for chunk in chunks {
            let id = chunk.record.id.0;
            let lang = chunk.record.lang.clone().unwrap_or_default();
            *change.languages.entry(lang).or_default() += 1;
            change.ids.push(id);
            change.bytes += chunk.record.text.len() as u64 + chunk.record.context.len() as u64;
            if self.batch.owners.get(&id).is_some_and(|owner| *owner != source.id.0) {
                return refuse(format!("chunk {} is another source's", chunk.record.id));
            }
            let Some(space) = self.snapshot.space() else { continue };
            if let Some((part, row)) = vectors.locate(id) {
                if !old.contains(&id) {
                    return refuse(format!("chunk {} is another source's", chunk.record.id));
                }
                if vectors.parts()[part].0.hash(row) == chunk.embed_hash {
                    kept.insert(id);
                    continue;
                }
            }
            let vector = match &chunk.vector {
                Some(vector) => Cow::Borrowed(vector.as_slice()),
                None => match vectors.vector_by_hash(&chunk.embed_hash) {
                    Some(vector) => vector,
                    None => return refuse(format!("chunk {} has no vector", chunk.record.id)),
                },
            };
            if vector.len() != space.dim || !vector.iter().all(|value| value.is_finite()) {
                let what = format!("chunk {} has a vector of {} values", chunk.record.id, vector.len());
                return refuse(format!("{what}, {} finite ones expected", space.dim));
            }
            change.bytes += 4 * vector.len() as u64;
            change.rows.push(Row { id, hash: chunk.embed_hash, vector: vector.to_vec() });
        }
        change.dead.retain(|id| !kept.contains(id));
        Ok(())
    }

    /// The parts of a source belong together.
    fn check(&self, source: &SourceRecord, chunks: &[NewChunk]) -> Result<()> {
        let refuse = |what: String| Err(Error::Source { path: source.display_path(), what });
        if source.id != SourceRecord::id_of(&source.collection, &source.root, &source.path) {
            return refuse(format!("its id {} is not that of its name", source.id));
        }
        if source.chunks as usize != chunks.len() {
            return refuse(format!("its record counts {} chunks, {} came", source.chunks, chunks.len()));
        }
        let mut seen = HashSet::new();
        for NewChunk { record, vector, .. } in chunks {
            if record.source != source.id {
                return refuse(format!("chunk {} belongs to source {}", record.id, record.source));
            }
            if record.text.len() != record.span.end.saturating_sub(record.span.start) {
                return refuse(format!("chunk {} has {} bytes of text", record.id, record.text.len()));
            }
            if !seen.insert(record.id) {
                return refuse(format!("chunk {} is there twice", record.id));
            }
            if vector.is_some() && self.snapshot.space().is_none() {
                return refuse(format!("chunk {} has a vector, the index has none", record.id));
            }
        }
        Ok(())
    }

    /// Gives tantivy the chunks of a source in place of all it has of it, pending ones too.
    fn put_text(&mut self, id: SourceId, chunks: &[NewChunk]) -> Result<()> {
        self.text()?;
        let Self { dir, text: Some(text), composer, .. } = self else { unreachable!("made just now") };
        guard(dir, || {
            text.delete_term(Term::from_field_u64(FIELDS.parent, id.0));
            for chunk in chunks {
                text.add_document(composer.of_chunk(&chunk.record))?;
            }
            Ok(())
        })
    }

    fn text(&mut self) -> Result<()> {
        if self.text.is_none() {
            self.text = Some(guard(&self.dir, || {
                let index = tantivy::Index::open(DurableDirectory::write(&self.dir, self.disk.clone())?)?;
                index.tokenizers().register(terms::TOKENIZER, Lines::default());
                let options = IndexWriterOptions::builder()
                    .num_worker_threads(1)
                    .memory_budget_per_thread(TEXT_MEMORY)
                    .num_merge_threads(1)
                    .build();
                let writer = index.writer_with_options(options)?;
                // Merges are ours to start, and to wait for: see `compact`.
                writer.set_merge_policy(Box::new(NoMergePolicy));
                Ok(writer)
            })?);
        }
        Ok(())
    }

    fn accept(&mut self, id: SourceId, change: Change) {
        self.forget(id);
        self.batch.owners.extend(change.ids.iter().map(|chunk| (*chunk, id.0)));
        self.batch.changes.insert(id.0, change);
    }

    /// Drops what the batch holds of a source.
    fn forget(&mut self, id: SourceId) {
        if let Some(change) = self.batch.changes.remove(&id.0) {
            for chunk in change.ids {
                self.batch.owners.remove(&chunk);
            }
        }
    }

    fn check_poison(&self) -> Result<()> {
        if !self.poisoned && !self.disk.has_failed() {
            return Ok(());
        }
        Err(match self.disk.failure() {
            // Met in a thread of the text engine, which tells nobody: here is where it is said.
            Some(source) if !self.poisoned => Error::Io { act: "write to", path: self.dir.clone(), source },
            Some(_) | None => Error::Poisoned { path: self.dir.clone(), generation: self.snapshot.generation() },
        })
    }

    /// After an error of the disk or of tantivy nothing is tried again. The disk's own words are the better ones: tantivy
    /// hears of a failure in one of its threads only that there was one.
    pub(super) fn poison_on_error<T>(&mut self, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            self.poisoned = true;
            match (self.disk.failure(), error) {
                (None, error) => error,
                // The first failure is the cause; what met it may have been a call in another thread.
                (Some(source), Error::Io { act, path, .. }) => Error::Io { act, path, source },
                (Some(source), _) => Error::Io { act: "write to", path: self.dir.clone(), source },
            }
        })
    }
}
