//! A run: from the survey to the last commit. The only place in the room with threads and channels.
//!
//! ```text
//! feed ─► reading threads (open, hash, extract, cut) ─► this thread ─► queue ─► embedding threads
//!                                                        │   ▲────────────────────────┘
//!                                                        └─► writer
//! ```
//!
//! This thread alone knows which files are whole, owns the writer and speaks to the observer. A file is written when its
//! last vector is there, so files are written in the order in which they are done, not in the order of their paths. Ids,
//! texts and vectors do not depend on that order, nor does any answer: ties are broken by id.
//!
//! A vector is looked for in the index, then among those of this run that wait for their commit (and of an interrupted
//! run before it), then among those being embedded; only then is the text embedded.
//!
//! Memory is bounded by the feed's tickets, held from reading to writing, and the writer's batch.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    Error, Event, Observer, Options, Report, Result,
    chunk::{self, embed_hash, embedding_text},
    embed::{self, Embedded, Hash, Queue},
    extract::{self, Limits},
    feed::{Feed, Ticket},
    file,
    plan::{Move, Reading},
    reader::{self, Read, Task, Told},
    report,
    survey::{self, Survey},
};
use crate::{
    index::{self, ChunkRecord, NewChunk, Snapshot, SourceRecord, Status, Writer},
    model::{
        self, Embedder,
        cache::{EmbeddingCache, Key},
    },
    types::Cancel,
};

/// A batch is committed at the first of these. RELIABILITY 1.3, step 3.
const BATCH_BYTES: u64 = 64 << 20;
const BATCH_SOURCES: usize = 2000;
const BATCH_TIME: Duration = Duration::from_secs(30);

/// After how long a file being read is called slow, and how often it is called so again.
const SLOW: Duration = Duration::from_secs(10);

/// How long this thread sleeps at most before it looks at the clock and at the request to stop.
const TICK: Duration = Duration::from_millis(50);

/// More reading threads are never started.
const MAX_JOBS: usize = 64;

/// Folder for vectors in flight, inside the index.
const CACHE_DIR: &str = "cache";

/// See [`super::ingest`].
pub fn run(
    writer: &mut Writer,
    embedder: Option<&dyn Embedder>,
    options: &Options,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    let started = Instant::now();
    let finish = |mut report: Report, writer: &Writer, interrupted: bool| {
        report.sort();
        report.generation = writer.snapshot().generation();
        report.interrupted |= interrupted;
        report.seconds = started.elapsed().as_secs_f64();
        report
    };
    let embedder = matching_embedder(writer.snapshot(), embedder, options)?;
    let settings = chunk_settings(writer.snapshot(), options)?;
    let pipeline = format!("x{}-{}", extract::VERSION, settings.key());

    let Some(mut survey) = survey::survey(writer.snapshot(), options, &pipeline, observer, cancel)? else {
        let report = Report { dry_run: options.dry_run, ..Report::default() };
        return Ok(finish(report, writer, true));
    };
    let bytes = survey.plan.read.iter().map(|reading| reading.found.stat.size_bytes).sum();
    observer.event(Event::Planned { sources: survey.plan.read.len() as u64, bytes });
    if options.dry_run {
        let mut report = survey::rehearse(&survey, &pipeline, &options.tags, cancel);
        report.chunks_embedded = if embedder.is_some() { report.chunks_written } else { 0 };
        list_known(&mut report, &mut survey);
        list_planned(&mut report, &survey);
        return Ok(finish(report, writer, false));
    }

    let mut report = Report::default();
    list_known(&mut report, &mut survey);
    let task = Task {
        collection: options.collection.clone(),
        tags: options.tags.clone(),
        pipeline,
        max_file_bytes: options.max_file_bytes,
        chunks: settings,
        dim: embedder.map_or(0, |embedder| embedder.space().dim),
        worker: options.worker.clone(),
        limits: Limits { timeout: options.file_timeout, ..Limits::default() },
    };
    let readings = std::mem::take(&mut survey.plan.read);
    let mut run = Run {
        writer,
        embedder,
        options,
        observer,
        cancel,
        settings,
        queue: &Queue::default(),
        cache: None,
        roots_used: BTreeSet::new(),
        survey,
        report,
        batch: Report::default(),
        batch_began: None,
        files: HashMap::new(),
        wanted: HashMap::new(),
        next_file: 0,
        left_to_read: readings.len(),
        reading: HashMap::new(),
    };
    let result = run.whole(readings, task);
    let Run { report, batch, .. } = run;
    // Without a commit after it, what the batch lists has not happened.
    drop(batch);
    let interrupted = result?;
    Ok(finish(report, writer, interrupted))
}

/// The embedder, if the index wants one. Errors: the index has another space, or one and there is no embedder.
fn matching_embedder<'a>(
    snapshot: &Snapshot,
    embedder: Option<&'a dyn Embedder>,
    options: &Options,
) -> Result<Option<&'a dyn Embedder>> {
    let Some(space) = snapshot.space() else { return Ok(None) };
    let Some(embedder) = embedder else {
        let what = format!("the index holds vectors of `{}`, so it cannot be filled without that model", space.model);
        return Err(Error::Options { what });
    };
    if space.folder() != embedder.space().folder() {
        let (found, expected) = (space.model.clone(), embedder.space().model.clone());
        return Err(index::Error::Space { path: options.index_dir.clone(), found, expected }.into());
    }
    Ok(Some(embedder))
}

fn chunk_settings(snapshot: &Snapshot, options: &Options) -> Result<chunk::Settings> {
    let reads = |space: &crate::types::EmbeddingSpace| {
        let prefix = model::wordpiece::WordPiece::builtin().count(&space.passage_prefix);
        space.max_tokens.saturating_sub(prefix)
    };
    chunk::Settings::new(options.chunk_tokens, options.chunk_overlap, snapshot.space().map(reads))
}

/// Lists what the survey settled: what stands, what is skipped, what could not be looked at.
fn list_known(report: &mut Report, survey: &mut Survey) {
    report.ignored = survey.ignored;
    report.skipped.append(&mut survey.skipped);
    report.failed.append(&mut survey.failed);
    report.warnings.append(&mut survey.warnings);
    for record in std::mem::take(&mut survey.plan.stand) {
        list(report, &record, List::Unchanged, None);
    }
}

/// Lists what would be done without any file being read.
fn list_planned(report: &mut Report, survey: &Survey) {
    for record in &survey.plan.retag {
        list(report, record, List::Updated, None);
    }
    for step in &survey.plan.moves {
        let mut entry = entry(&step.from, Some(step.from.display_path()));
        entry.path = step.found.name.display();
        report.moved.push(entry);
    }
    for record in &survey.plan.gone {
        report.removed.push(gone(record, survey));
    }
}

fn gone(record: &SourceRecord, survey: &Survey) -> report::Outcome {
    report::Outcome {
        path: record.display_path(),
        problems: survey.left.get(&record.id).cloned().into_iter().collect(),
        chunks: 0,
        from: None,
    }
}

#[derive(Clone, Copy)]
enum List {
    Added,
    Updated,
    Unchanged,
    Moved,
}

/// Lists a source by its record: a failure as failed and what is left alone as skipped, whatever happened to it; and once
/// more as a warning, if it has one.
fn list(report: &mut Report, record: &SourceRecord, list: List, from: Option<String>) {
    let entry = entry(record, from);
    if record.status == Status::Failed {
        report.failed.push(entry);
        return;
    }
    if reader::is_skipped(record) {
        report.skipped.push(entry);
        return;
    }
    if record.status == Status::Warned {
        report.warnings.push(entry.clone());
    }
    match list {
        List::Added => report.added.push(entry),
        List::Updated => report.updated.push(entry),
        List::Unchanged => report.unchanged.push(entry),
        List::Moved => report.moved.push(entry),
    }
}

fn entry(record: &SourceRecord, from: Option<String>) -> report::Outcome {
    report::Outcome { path: record.display_path(), problems: record.problems.clone(), chunks: record.chunks, from }
}

/// A file that waits for vectors.
struct Pending {
    reading: Reading,
    record: SourceRecord,
    chunks: Vec<NewChunk>,
    missing: usize,
    embedded: u64,
    _ticket: Ticket,
}

/// What comes to this thread.
enum Message {
    Told(Told),
    Embedded(model::Result<Vec<Embedded>>),
}

struct Run<'a> {
    writer: &'a mut Writer,
    embedder: Option<&'a dyn Embedder>,
    options: &'a Options,
    observer: &'a dyn Observer,
    cancel: &'a Cancel,
    settings: chunk::Settings,
    queue: &'a Queue,
    cache: Option<EmbeddingCache>,
    roots_used: BTreeSet<String>,
    survey: Survey,
    /// What is committed, and what needs no commit.
    report: Report,
    /// What the next commit makes true.
    batch: Report,
    batch_began: Option<Instant>,
    files: HashMap<u64, Pending>,
    /// Texts being embedded, and the chunks (file, place) that wait for them.
    wanted: HashMap<Hash, Vec<(u64, usize)>>,
    next_file: u64,
    left_to_read: usize,
    /// What each reading thread is at: path, since when, when it is slow next.
    reading: HashMap<usize, (String, Instant, Duration)>,
}

impl Run<'_> {
    /// Does everything; says whether it was interrupted.
    fn whole(&mut self, readings: Vec<Reading>, task: Task) -> Result<bool> {
        let result = self.planned_changes().and_then(|()| {
            if readings.is_empty() || self.cancel.is_asked() { Ok(()) } else { self.files(readings, task) }
        });
        match result {
            // The index itself failed: the writer goes no further, and the last commit stands.
            Err(error @ Error::Index(_)) => Err(error),
            result => {
                if !self.cancel.is_urgent() {
                    self.commit()?;
                }
                result.map(|()| self.cancel.is_asked())
            }
        }
    }

    /// What needs no file to be read: removals, moves, tags.
    fn planned_changes(&mut self) -> Result<()> {
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
            self.writer.touch(&record)?;
            list(&mut self.batch, &record, List::Updated, None);
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
            tags: super::plan::merged(Some(&from), &self.options.tags),
            ..from.clone()
        };
        let path = record.display_path();
        let snapshot = self.writer.snapshot().clone();
        let mut chunks = Vec::new();
        for old in snapshot.chunks_of(from.id)? {
            let vector = snapshot.vector(old.id).map(<[f32]>::to_vec);
            let id = ChunkRecord::id_of(record.id, old.span, &old.text);
            let chunk = ChunkRecord { id, source: record.id, path: path.clone(), ..old };
            let embed_hash = embed_hash(&embedding_text(&chunk, self.settings.limit()));
            chunks.push(NewChunk { record: chunk, embed_hash, vector });
        }
        self.use_root(&record.root);
        self.writer.remove(from.id)?;
        self.writer.put(&record, &chunks)?;
        if snapshot.space().is_some() {
            self.batch.chunks_reused += chunks.len() as u64;
        }
        self.batch.chunks_written += chunks.len() as u64;
        list(&mut self.batch, &record, List::Moved, Some(from.display_path()));
        Ok(())
    }

    /// Reads, embeds and writes files until all are done, the model fails or a stop is asked for.
    fn files(&mut self, readings: Vec<Reading>, task: Task) -> Result<()> {
        let feed = Feed::new(readings);
        let (tell, told) = mpsc::channel();
        let readers = start_readers(self.options.jobs.min(self.left_to_read), &task, &feed, &tell)?;
        let queue = self.queue;
        let result = thread::scope(|scope| {
            if let Some(embedder) = self.embedder {
                for at in 0..embedder.concurrency().clamp(1, embed::MAX_THREADS) {
                    let tell = tell.clone();
                    let work = move || {
                        embed::work(queue, embedder, &|result| tell.send(Message::Embedded(result)).is_ok());
                    };
                    let thread = thread::Builder::new().name(format!("embed-{at}"));
                    if let Err(source) = thread.spawn_scoped(scope, work) {
                        queue.end();
                        return Err(no_thread(source));
                    }
                }
            }
            drop(tell);
            let result = self.listen(&told, &feed);
            // Wakes whoever waits; what is being embedded or read now is not waited for longer than one call.
            queue.end();
            feed.end();
            result
        });
        feed.end();
        if result.is_ok() && !self.cancel.is_asked() {
            for reader in readers {
                // A reader that panicked has told nothing, and the channel's end was an error already.
                let _ = reader.join();
            }
        }
        result
    }

    fn listen(&mut self, told: &Receiver<Message>, feed: &Feed) -> Result<()> {
        while self.left_to_read > 0 || !self.files.is_empty() {
            if self.cancel.is_asked() {
                self.queue.end();
                feed.end();
                return self.take_what_is_there(told);
            }
            match told.recv_timeout(TICK) {
                Ok(message) => self.take(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let what = "a thread of the run ended before its work".to_owned();
                    return Err(Error::Thread { what });
                }
            }
            self.tell_slow();
            self.commit_if_full()?;
        }
        Ok(())
    }

    /// Takes what was told before a stop was asked for: it may make a file whole.
    fn take_what_is_there(&mut self, told: &Receiver<Message>) -> Result<()> {
        while !self.cancel.is_urgent()
            && let Ok(message) = told.try_recv()
        {
            match self.take(message) {
                Err(error @ Error::Index(_)) => return Err(error),
                // A model that was interrupted too has not failed.
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, message: Message) -> Result<()> {
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
                Ok(())
            }
            reader::Outcome::Touched(record) => {
                self.writer.touch(&record)?;
                let retagged = reading.old.as_ref().is_some_and(|old| old.tags != record.tags);
                list(&mut self.batch, &record, if retagged { List::Updated } else { List::Unchanged }, None);
                Ok(())
            }
            reader::Outcome::Failed { problem, record } => {
                self.observer.event(Event::Failed { path: &path, problem: &problem });
                let entry = report::Outcome { path, problems: vec![problem], chunks: 0, from: None };
                match record {
                    Some(record) => {
                        self.put(&reading, &record, &[])?;
                        self.batch.failed.push(entry);
                    }
                    None => self.report.failed.push(entry),
                }
                Ok(())
            }
            reader::Outcome::Made { record, chunks, texts } => {
                if reader::is_skipped(&record) {
                    for problem in &record.problems {
                        self.observer.event(Event::Failed { path: &path, problem });
                    }
                }
                let bytes = reading.found.stat.size_bytes;
                self.observer.event(Event::Chunked { path: &path, chunks: chunks.len() as u64, bytes });
                let pending = Pending { reading, record: *record, chunks, missing: 0, embedded: 0, _ticket: ticket };
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
                if let Some(waiting) = self.wanted.get_mut(&hash) {
                    waiting.push((number, at));
                    file.missing += 1;
                    continue;
                }
                chunk.vector = self.cached(embedder, &text);
                if chunk.vector.is_none() {
                    self.wanted.insert(hash, vec![(number, at)]);
                    file.missing += 1;
                    file.embedded += 1;
                    self.queue.push(hash, text);
                }
            }
        }
        if file.missing == 0 { self.write(file) } else { self.keep(number, file) }
    }

    fn keep(&mut self, number: u64, file: Pending) -> Result<()> {
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
        self.put(reading, &record.clone(), chunks)?;
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
        Ok(())
    }

    /// Puts a source, in place of the one it was moved from too.
    fn put(&mut self, reading: &Reading, record: &SourceRecord, chunks: &[NewChunk]) -> Result<()> {
        self.use_root(&record.root);
        if let Some(from) = &reading.from {
            self.writer.remove(from.id)?;
        }
        Ok(self.writer.put(record, chunks)?)
    }

    /// Has a new root recorded with the first source that is written under it.
    fn use_root(&mut self, root: &str) {
        let known = self.writer.snapshot().roots();
        if !root.is_empty() && !known.contains_key(root) && self.roots_used.insert(root.to_owned()) {
            let roots = self.survey.roots.stored(known, &self.roots_used);
            self.writer.set_roots(roots);
        }
    }

    fn commit_if_full(&mut self) -> Result<()> {
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

    fn commit(&mut self) -> Result<()> {
        if let Some(committed) = self.writer.commit()? {
            self.batch.bytes_written += committed.bytes_written;
            self.observer.event(Event::Committed { generation: committed.generation });
        }
        self.report.append(std::mem::take(&mut self.batch));
        self.batch_began = None;
        // What was embedded for files that are not whole yet may be needed again after a crash, so it stays.
        if self.files.is_empty()
            && let Some(cache) = &self.cache
        {
            self.cache = cache.clear().is_ok().then(|| self.cache.take()).flatten();
        }
        Ok(())
    }

    /// A vector of this run that waits for its commit, or of a run before it that was cut off.
    fn cached(&mut self, embedder: &dyn Embedder, text: &str) -> Option<Vec<f32>> {
        if self.cache.is_none() {
            // The cache saves work and nothing else: a run goes on without it.
            self.cache = EmbeddingCache::open(&self.options.index_dir.join(CACHE_DIR), embedder.space()).ok();
        }
        self.cache.as_ref()?.get(Key::of(text)).ok().flatten()
    }

    fn remember(&mut self, text: &str, vector: &[f32]) {
        if let Some(cache) = &self.cache
            && cache.put(Key::of(text), vector).is_err()
        {
            self.cache = None;
        }
    }

    fn tell_slow(&mut self) {
        for (path, since, slow) in self.reading.values_mut() {
            let elapsed = since.elapsed();
            if elapsed >= *slow {
                self.observer.event(Event::Slow { path, seconds: elapsed.as_secs() });
                *slow = elapsed + SLOW;
            }
        }
    }
}

fn start_readers(
    count: usize,
    task: &Task,
    feed: &Arc<Feed>,
    tell: &Sender<Message>,
) -> Result<Vec<thread::JoinHandle<()>>> {
    (0..count.clamp(1, MAX_JOBS))
        .map(|at| {
            let tell = tell.clone();
            let told = move |told| tell.send(Message::Told(told)).is_ok();
            reader::start(at, task.clone(), Arc::clone(feed), told).map_err(|source| {
                feed.end();
                no_thread(source)
            })
        })
        .collect()
}

fn no_thread(source: std::io::Error) -> Error {
    Error::Thread { what: format!("cannot start a thread: {source}") }
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
