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
    path::Path,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    Error, Event, Observer, Options, Report, Result, chunk,
    embed::{self, Queue},
    extract::{self, Limits},
    feed::Feed,
    listing::{list_known, list_planned},
    plan::{Reading, Wanted},
    reader::{self, Task},
    run::{Message, Run},
    survey::{self, Survey},
    version::Pipeline,
};
use crate::{
    index::{self, Snapshot, Writer},
    model::{Embedder, wordpiece::WordPiece},
    types::{Cancel, EmbeddingSpace},
};

/// How long this thread sleeps at most before it looks at the clock and at the request to stop.
const TICK: Duration = Duration::from_millis(50);

/// More reading threads are never started.
const MAX_JOBS: usize = 64;

/// See [`super::ingest`].
pub fn run(
    writer: &mut Writer,
    embedder: Option<&dyn Embedder>,
    options: &Options,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    surveyed(writer, embedder, options, (observer, cancel), |snapshot, wanted| {
        survey::survey(snapshot, options, wanted, observer, cancel)
    })
}

/// See [`super::rehearse`].
pub fn rehearse(
    snapshot: &Snapshot,
    embedder: Option<&dyn Embedder>,
    options: &Options,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    let started = Instant::now();
    let embedder = matching_embedder(snapshot, embedder, &options.index_dir)?;
    let task = task(snapshot, options)?;
    let survey = survey::survey(snapshot, options, task.wanted(), observer, cancel)?;
    let Some(survey) = survey else {
        let report = Report { dry_run: true, ..Report::default() };
        return Ok(ended(report, snapshot, true, started));
    };
    observer.event(planned(&survey));
    Ok(ended(rehearsed(survey, &task, embedder, options, cancel), snapshot, false, started))
}

fn rehearsed(
    mut survey: Survey,
    task: &Task,
    embedder: Option<&dyn Embedder>,
    options: &Options,
    cancel: &Cancel,
) -> Report {
    let mut report = super::rehearse::rehearse(&survey, task, embedder, options, cancel);
    list_known(&mut report, &mut survey);
    list_planned(&mut report, &survey);
    report
}

fn planned(survey: &Survey) -> Event<'static> {
    let bytes = survey.plan.read.iter().map(|reading| reading.found.stat.size_bytes).sum();
    Event::Planned { sources: survey.plan.read.len() as u64, bytes }
}

fn ended(mut report: Report, snapshot: &Snapshot, interrupted: bool, started: Instant) -> Report {
    report.sort();
    report.generation = snapshot.generation();
    report.interrupted |= interrupted;
    report.seconds = started.elapsed().as_secs_f64();
    report
}

/// A run whose survey somebody else makes; `None` of it: the run was cancelled.
pub fn surveyed(
    writer: &mut Writer,
    embedder: Option<&dyn Embedder>,
    options: &Options,
    (observer, cancel): (&dyn Observer, &Cancel),
    survey: impl FnOnce(&Snapshot, Wanted<'_>) -> Result<Option<Survey>>,
) -> Result<Report> {
    let started = Instant::now();
    let embedder = matching_embedder(writer.snapshot(), embedder, &options.index_dir)?;
    let task = task(writer.snapshot(), options)?;
    let settings = task.chunks;
    let Some(mut survey) = survey(writer.snapshot(), task.wanted())? else {
        let report = Report { dry_run: options.dry_run, ..Report::default() };
        return Ok(ended(report, writer.snapshot(), true, started));
    };
    observer.event(planned(&survey));
    if options.dry_run {
        let report = rehearsed(survey, &task, embedder, options, cancel);
        return Ok(ended(report, writer.snapshot(), false, started));
    }

    let mut report = Report::default();
    list_known(&mut report, &mut survey);
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
    Ok(ended(report, writer.snapshot(), interrupted, started))
}

/// What a run with these options says of every file.
pub fn task(snapshot: &Snapshot, options: &Options) -> Result<Task> {
    let settings = chunk_settings(snapshot, options.chunk_tokens, options.chunk_overlap)?;
    Ok(Task {
        collection: options.collection.clone(),
        tags: options.tags.clone(),
        pipeline: Pipeline {
            base: format!("x{}-{}", extract::VERSION, settings.key()),
            loaders: options.loaders.clone(),
            archives: options.archives,
            ocr: options.page_readers.ocr.as_ref().map(|ocr| ocr.languages.clone()),
        },
        retry_failed: options.retry_failed,
        max_file_bytes: options.max_file_bytes,
        chunks: settings,
        dim: snapshot.space().map_or(0, |space| space.dim),
        worker: options.worker.clone(),
        limits: Limits { timeout: options.file_timeout, archives: options.archives, ..Limits::default() },
        passwords: options.passwords.clone(),
        page_readers: options.page_readers.clone(),
    })
}

/// The embedder, if the index wants one. Errors: the index has another space, or one and there is no embedder.
pub fn matching_embedder<'a>(
    snapshot: &Snapshot,
    embedder: Option<&'a dyn Embedder>,
    index_dir: &Path,
) -> Result<Option<&'a dyn Embedder>> {
    let Some(space) = snapshot.space() else { return Ok(None) };
    let Some(embedder) = embedder else {
        let what = format!("the index holds vectors of `{}`, so it cannot be filled without that model", space.model);
        return Err(Error::Options { what });
    };
    if space.folder() != embedder.space().folder() {
        let (found, expected) = (space.model.clone(), embedder.space().model.clone());
        return Err(index::Error::Space { path: index_dir.to_path_buf(), found, expected }.into());
    }
    Ok(Some(embedder))
}

/// How chunks for this index are cut.
pub fn chunk_settings(snapshot: &Snapshot, tokens: usize, overlap: usize) -> Result<chunk::Settings> {
    chunk::Settings::new(tokens, overlap, snapshot.space().map(reads))
}

/// Tokens that the model of a space reads of one text, its own prefix not counted.
pub fn reads(space: &EmbeddingSpace) -> usize {
    let prefix = WordPiece::builtin().count(&space.passage_prefix);
    space.max_tokens.saturating_sub(prefix)
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

    /// Takes what the threads tell until nothing is left to do.
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
            // Only the index matters now: a model that was interrupted too has not failed.
            if let Err(error @ Error::Index(_)) = self.take(message) {
                return Err(error);
            }
        }
        Ok(())
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
