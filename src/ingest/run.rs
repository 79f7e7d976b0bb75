//! What one run knows while it goes on: which files are whole, which vectors are awaited, what the next commit holds.
//!
//! Only the run's own thread is here. The threads around it are [`pipeline`](super::pipeline)'s.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use super::{
    Event, Observer, Options, Report, Result,
    chunk::{self, embed_hash, embedding_text},
    embed::{Embedded, Hash, Queue},
    extract::reason,
    feed::Ticket,
    file,
    listing::{List, gone, list},
    plan::{self, Move, Reading},
    reader::{self, Read, Told},
    report,
    survey::Survey,
};
use crate::{
    index::{self, ChunkRecord, NewChunk, Problem, SourceRecord, Status, Writer},
    model::{
        self, Embedder,
        cache::{EmbeddingCache, Key},
    },
    types::Cancel,
};

/// A batch is committed at the first of these.
const BATCH_BYTES: u64 = 64 << 20;
const BATCH_SOURCES: usize = 2000;
const BATCH_TIME: Duration = Duration::from_secs(30);

/// After how long a file being read is called slow, and how often it is called so again.
const SLOW: Duration = Duration::from_secs(10);

/// Folder for vectors in flight, inside the index.
const CACHE_DIR: &str = "cache";
/// A file that waits for vectors.
pub struct Pending {
    reading: Reading,
    record: SourceRecord,
    chunks: Vec<NewChunk>,
    missing: usize,
    embedded: u64,
    /// Of its texts in the cache.
    keys: Vec<Key>,
    _ticket: Ticket,
}

/// What comes to this thread.
pub enum Message {
    Told(Told),
    Embedded(model::Result<Vec<Embedded>>),
}

/// A run; see the module.
pub struct Run<'a> {
    pub writer: &'a mut Writer,
    pub embedder: Option<&'a dyn Embedder>,
    pub options: &'a Options,
    pub observer: &'a dyn Observer,
    pub cancel: &'a Cancel,
    pub settings: chunk::Settings,
    pub queue: &'a Queue,
    pub cache: Option<EmbeddingCache>,
    pub roots_used: BTreeSet<String>,
    pub survey: Survey,
    /// What is committed, and what needs no commit.
    pub report: Report,
    /// What the next commit makes true.
    pub batch: Report,
    pub batch_began: Option<Instant>,
    pub files: HashMap<u64, Pending>,
    /// Texts being embedded, and the chunks (file, place) that wait for them.
    pub wanted: HashMap<Hash, Vec<(u64, usize)>>,
    pub next_file: u64,
    pub left_to_read: usize,
    /// What each reading thread is at: path, since when, when it is slow next.
    pub reading: HashMap<usize, (String, Instant, Duration)>,
}

impl Run<'_> {
    /// What needs no file to be read: removals, moves, tags.
    pub fn planned_changes(&mut self) -> Result<()> {
        for record in std::mem::take(&mut self.survey.plan.gone) {
            if self.cancel.is_asked() {
                return Ok(());
            }
            self.writer.remove(record.id)?;
            let outcome = gone(&record, &self.survey);
            self.batch.removed.push(outcome);
            self.commit_if_full()?;
        }
        for record in std::mem::take(&mut self.survey.plan.retag) {
            if self.cancel.is_asked() {
                return Ok(());
            }
            // Of a record that was not read, its time alone may be another.
            let old = self.writer.snapshot().source(record.id)?;
            let is_same = old.is_some_and(|old| old.tags == record.tags);
            if self.touch(&record)? {
                list(&mut self.batch, &record, if is_same { List::Unchanged } else { List::Updated }, None);
            }
            self.commit_if_full()?;
        }
        for step in std::mem::take(&mut self.survey.plan.moves) {
            if self.cancel.is_asked() {
                return Ok(());
            }
            self.relabel(step)?;
            self.commit_if_full()?;
        }
        Ok(())
    }

    /// Gives a moved file's chunks their new place; their vectors are the old ones.
    fn relabel(&mut self, step: Move) -> Result<()> {
        let Move { found, from } = step;
        let stat = found.stat;
        let record = SourceRecord {
            id: found.name.id,
            root: found.name.root,
            path: found.name.path,
            size_bytes: stat.size_bytes,
            mtime_ns: stat.mtime_ns,
            ctime_ns: stat.ctime_ns,
            inode: stat.inode,
            tags: plan::merged(Some(&from), &self.options.tags),
            ..from.clone()
        };
        let path = record.display_path();
        let snapshot = self.writer.snapshot().clone();
        let mut chunks = Vec::new();
        for old in snapshot.chunks_of(from.id)? {
            let vector = snapshot.vector(old.id).map(Cow::into_owned);
            let id = ChunkRecord::id_of(record.id, old.span, &old.text);
            let chunk = ChunkRecord { id, source: record.id, path: path.clone(), ..old };
            let embed_hash = embed_hash(&embedding_text(&chunk, self.settings.limit()));
            chunks.push(NewChunk { record: chunk, embed_hash, vector });
        }
        if !self.put(Some(&from), &record, &chunks)? {
            return Ok(());
        }
        if snapshot.space().is_some() {
            self.batch.chunks_reused += chunks.len() as u64;
        }
        self.batch.chunks_written += chunks.len() as u64;
        list(&mut self.batch, &record, List::Moved, Some(from.display_path()));
        Ok(())
    }

    /// Takes what a thread tells.
    pub fn take(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Told(Told::Started { thread, path }) => {
                self.observer.event(Event::Started { path: &path });
                self.reading.insert(thread, (path, Instant::now(), SLOW));
                Ok(())
            }
            Message::Told(Told::Read { thread, file }) => {
                self.reading.remove(&thread);
                self.left_to_read -= 1;
                self.read(*file)
            }
            Message::Told(Told::Broken(error)) => Err(error),
            Message::Embedded(result) => self.embedded(result?),
        }
    }

    /// Takes a file that was read.
    fn read(&mut self, file: Read) -> Result<()> {
        let Read { reading, bytes_read, result, ticket } = file;
        self.report.bytes_read += bytes_read;
        let path = reading.found.name.display();
        match result {
            reader::Outcome::Stands => {
                if let Some(old) = &reading.old {
                    list(&mut self.report, old, List::Unchanged, None);
                }
                self.done(&path)
            }
            reader::Outcome::Touched(record) => {
                if self.touch(&record)? {
                    let retagged = reading.old.as_ref().is_some_and(|old| old.tags != record.tags);
                    list(&mut self.batch, &record, if retagged { List::Updated } else { List::Unchanged }, None);
                }
                self.done(&path)
            }
            // A worker that dies while the run is being stopped says nothing of its file, which the next run reads.
            reader::Outcome::Failed { problem, .. } if self.cancel.is_asked() && is_of_worker(&problem) => Ok(()),
            reader::Outcome::Failed { problem, record } => {
                self.observer.event(Event::Failed { path: &path, problem: &problem });
                match record {
                    Some(record) => {
                        if self.put(reading.from.as_ref(), &record, &[])? {
                            let from = reading.from.as_ref().map(SourceRecord::display_path);
                            list(&mut self.batch, &record, List::Updated, from);
                        }
                    }
                    None => {
                        let entry =
                            report::Outcome { path: path.clone(), problems: vec![problem], chunks: 0, from: None };
                        self.report.failed.push(entry);
                    }
                }
                self.done(&path)
            }
            reader::Outcome::Made { record, chunks, texts } => {
                if reader::is_skipped(&record) {
                    for problem in &record.problems {
                        self.observer.event(Event::Failed { path: &path, problem });
                    }
                }
                let pending = Pending {
                    reading,
                    record: *record,
                    chunks,
                    missing: 0,
                    embedded: 0,
                    keys: vec![],
                    _ticket: ticket,
                };
                self.find_vectors(pending, texts)
            }
        }
    }

    /// Finds or orders the vector of each chunk, and writes the file if none is missing.
    fn find_vectors(&mut self, mut file: Pending, texts: Vec<String>) -> Result<()> {
        let number = self.next_file;
        self.next_file += 1;
        if let Some(embedder) = self.embedder {
            for (at, text) in texts.into_iter().enumerate() {
                let chunk = &mut file.chunks[at];
                let hash = chunk.embed_hash;
                if let Some(vector) = self.writer.snapshot().vector_by_hash(&hash) {
                    chunk.vector = Some(vector.to_vec());
                    continue;
                }
                let key = Key::of(&text);
                file.keys.push(key);
                if let Some(waiting) = self.wanted.get_mut(&hash) {
                    waiting.push((number, at));
                    file.missing += 1;
                    continue;
                }
                chunk.vector = self.cached(embedder, key);
                if chunk.vector.is_none() {
                    self.wanted.insert(hash, vec![(number, at)]);
                    file.missing += 1;
                    file.embedded += 1;
                    self.queue.push(hash, text);
                }
            }
        }
        self.observer.event(Event::Chunked {
            path: &file.reading.found.name.display(),
            chunks: file.chunks.len() as u64,
            to_embed: file.embedded,
            bytes: file.reading.found.stat.size_bytes,
        });
        if file.missing == 0 {
            return self.write(file);
        }
        self.files.insert(number, file);
        Ok(())
    }

    /// Hands vectors to the chunks that wait for them, and writes the files that are whole now.
    fn embedded(&mut self, batch: Vec<Embedded>) -> Result<()> {
        self.observer.event(Event::Embedded { chunks: batch.len() as u64 });
        self.report.chunks_embedded += batch.len() as u64;
        for Embedded { hash, text, vector, shortened } in batch {
            self.remember(&text, &vector);
            for (number, at) in self.wanted.remove(&hash).unwrap_or_default() {
                let Some(file) = self.files.get_mut(&number) else { continue };
                file.chunks[at].vector = Some(vector.clone());
                file.missing -= 1;
                if shortened {
                    warn_shortened(&mut file.record);
                }
                if file.missing == 0
                    && let Some(file) = self.files.remove(&number)
                {
                    self.write(file)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a file that is whole.
    fn write(&mut self, file: Pending) -> Result<()> {
        let Pending { reading, record, chunks, embedded, .. } = &file;
        let path = record.display_path();
        if !self.put(reading.from.as_ref(), record, chunks)? {
            return self.done(&path);
        }
        self.batch.chunks_written += chunks.len() as u64;
        if self.embedder.is_some() {
            self.batch.chunks_reused += chunks.len() as u64 - embedded;
        }
        let from = reading.from.as_ref().map(SourceRecord::display_path);
        let kind = match (&reading.from, &reading.old) {
            (Some(_), _) => List::Moved,
            (None, Some(_)) => List::Updated,
            (None, None) => List::Added,
        };
        list(&mut self.batch, record, kind, from);
        self.done(&path)
    }

    fn done(&self, path: &str) -> Result<()> {
        self.observer.event(Event::Done { path });
        Ok(())
    }

    /// Puts a source, in place of the one it was moved from too. Says whether the index took it.
    fn put(&mut self, from: Option<&SourceRecord>, record: &SourceRecord, chunks: &[NewChunk]) -> Result<bool> {
        self.use_root(&record.root);
        let result = self.writer.put(record, chunks);
        let is_taken = self.is_taken(record, result)?;
        if is_taken && let Some(from) = from {
            self.writer.remove(from.id)?;
        }
        Ok(is_taken)
    }

    /// Replaces a record. Says whether the index took it.
    fn touch(&mut self, record: &SourceRecord) -> Result<bool> {
        let result = self.writer.touch(record);
        self.is_taken(record, result)
    }

    /// A source that the index refuses has failed and keeps what the index holds of it; any other error ends the run.
    fn is_taken(&mut self, record: &SourceRecord, result: index::Result<()>) -> Result<bool> {
        match result {
            Ok(()) => Ok(true),
            Err(index::Error::Source { what, .. }) => {
                let path = record.display_path();
                let problem = file::transient("refused", &format!("the index refuses it: {what}"));
                self.observer.event(Event::Failed { path: &path, problem: &problem });
                self.report.failed.push(report::Outcome { path, problems: vec![problem], chunks: 0, from: None });
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Has a new root recorded with the first source that is written under it.
    fn use_root(&mut self, root: &str) {
        let known = self.writer.snapshot().roots();
        if !root.is_empty() && !known.contains_key(root) && self.roots_used.insert(root.to_owned()) {
            let roots = self.survey.roots.stored(known, &self.roots_used);
            self.writer.set_roots(roots);
        }
    }

    /// Commits a batch that is large or old enough.
    pub fn commit_if_full(&mut self) -> Result<()> {
        let pending = self.writer.pending();
        if pending.sources == 0 {
            return Ok(());
        }
        let began = *self.batch_began.get_or_insert_with(Instant::now);
        if pending.bytes >= BATCH_BYTES || pending.sources >= BATCH_SOURCES || began.elapsed() >= BATCH_TIME {
            self.commit()?;
        }
        Ok(())
    }

    /// Commits what was changed since the last time, and only then lists it.
    pub fn commit(&mut self) -> Result<()> {
        if let Some(committed) = self.writer.commit()? {
            self.batch.bytes_written += committed.bytes_written;
            self.observer.event(Event::Committed { generation: committed.generation });
        }
        self.report.append(std::mem::take(&mut self.batch));
        self.batch_began = None;
        // What was embedded for files that are not whole yet may be needed again after a crash, so it stays.
        let in_flight = self.files.values().flat_map(|file| file.keys.iter().copied()).collect();
        if self.cache.as_ref().is_some_and(|cache| cache.retain(&in_flight).is_err()) {
            self.cache = None;
        }
        Ok(())
    }

    /// A vector of this run that waits for its commit, or of a run before it that was cut off.
    fn cached(&mut self, embedder: &dyn Embedder, key: Key) -> Option<Vec<f32>> {
        if self.cache.is_none() {
            // The cache saves work and nothing else: a run goes on without it.
            self.cache = EmbeddingCache::open(&self.options.index_dir.join(CACHE_DIR), embedder.space()).ok();
        }
        self.cache.as_ref()?.get(key).ok().flatten()
    }

    fn remember(&mut self, text: &str, vector: &[f32]) {
        if let Some(cache) = &self.cache
            && cache.put(Key::of(text), vector).is_err()
        {
            self.cache = None;
        }
    }

    /// Names the files that are being read for long.
    pub fn tell_slow(&mut self) {
        for (path, since, slow) in self.reading.values_mut() {
            let elapsed = since.elapsed();
            if elapsed >= *slow {
                self.observer.event(Event::Slow { path, seconds: elapsed.as_secs() });
                *slow = elapsed + SLOW;
            }
        }
    }
}

/// It is the worker that failed, for whatever reason.
fn is_of_worker(problem: &Problem) -> bool {
    [reason::CRASHED, reason::TIMEOUT, reason::WORKER].contains(&problem.reason.as_str())
}

fn warn_shortened(record: &mut SourceRecord) {
    const REASON: &str = "embedding_shortened";
    record.status = Status::Warned;
    if record.problems.iter().all(|problem| problem.reason != REASON) {
        let message =
            "some chunks are longer than the embedding model reads; the ends of those are found by words only";
        record.problems.push(file::lasting(REASON, message));
    }
}
