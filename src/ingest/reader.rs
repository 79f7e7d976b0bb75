//! From a file to its record and its chunks: open, hash, decide, extract, cut. One thread does it for one file at a time.
//!
//! Nothing here borrows from the run: a thread that is stuck in a hostile file is left to its timeout when the run ends.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use super::{
    Error,
    chunk::{self, Chunked, Origin, embed_hash},
    detect::{Format, detect},
    document::Document,
    extract::{Extractor, Limits, Passwords, Worker, reason},
    feed::{Feed, Ticket},
    file, loader,
    page_readers::PageReaders,
    plan::{self, Decision, Reading, Wanted},
    version::Pipeline,
    walk::Place,
};
use crate::index::{NewChunk, Problem, SourceRecord, Status};

/// What a run says of every file it reads.
#[derive(Debug, Clone)]
pub struct Task {
    pub collection: String,
    pub tags: BTreeMap<String, String>,
    pub pipeline: Pipeline,
    pub retry_failed: bool,
    pub max_file_bytes: u64,
    pub chunks: chunk::Settings,
    /// Values of a vector; 0 without vectors. For the cost of a chunk.
    pub dim: usize,
    pub worker: Worker,
    pub limits: Limits,
    pub passwords: Passwords,
    pub page_readers: PageReaders,
}

impl Task {
    pub fn wanted(&self) -> Wanted<'_> {
        let has_passwords = !self.passwords.is_empty();
        Wanted { pipeline: &self.pipeline, tags: &self.tags, retry_failed: self.retry_failed, has_passwords }
    }
}

/// What a reading thread tells the run.
#[derive(Debug)]
pub enum Told {
    Started {
        thread: usize,
        path: String,
    },
    Read {
        thread: usize,
        file: Box<Read>,
    },
    /// Nothing can be read.
    Broken(Error),
}

/// A file that was read, or could not be.
#[derive(Debug)]
pub struct Read {
    pub reading: Reading,
    pub bytes_read: u64,
    pub result: Outcome,
    /// Held until the file is written.
    pub ticket: Ticket,
}

#[derive(Debug)]
pub enum Outcome {
    /// The index holds its content already.
    Stands,
    /// Only its record changes.
    Touched(Box<SourceRecord>),
    /// New content: a record, and chunks with the texts that are to be embedded; their vectors are missing.
    Made { record: Box<SourceRecord>, chunks: Vec<NewChunk>, texts: Vec<String> },
    /// It could not be read; `record` is what the index is to say of it, if it is to say anything new.
    Failed { problem: Problem, record: Option<Box<SourceRecord>> },
}

/// A name for what a loader prints: nothing is known of it but that it is text.
const LOADED: &str = "loaded";

/// Formats that people mean when they say document. One that is not read is a failure; a picture is merely skipped.
const DOCUMENTS: [&str; 16] = [
    "doc", "docx", "docm", "ppt", "pptx", "xls", "xlsx", "odt", "ods", "odp", "epub", "rtf", "eml", "msg", "mbox",
    "pdf",
];

/// Reasons under which a source is left alone rather than failed.
pub fn is_skipped(record: &SourceRecord) -> bool {
    let left_alone = |problem: &Problem| problem.reason == reason::BINARY || problem.reason == reason::UNSUPPORTED;
    record.status == Status::Warned && record.chunks == 0 && record.problems.iter().any(left_alone)
}

/// Starts a thread that reads files from the feed until there are none.
/// `tell` says whether anybody listens still.
pub fn start(
    thread: usize,
    task: Task,
    feed: Arc<Feed>,
    tell: impl Fn(Told) -> bool + Send + 'static,
) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(format!("read-{thread}")).spawn(move || {
        let mut extractor = Extractor::new(task.worker.clone(), task.limits.clone())
            .with_passwords(task.passwords.clone())
            .with_page_readers(task.page_readers.clone());
        if let Err(error) = extractor.start() {
            tell(Told::Broken(error));
            return;
        }
        while let Some((reading, ticket)) = feed.next() {
            let path = reading.found.name.display();
            if !tell(Told::Started { thread, path }) {
                return;
            }
            let file = Box::new(read(&task, &mut extractor, reading, ticket));
            if !tell(Told::Read { thread, file }) {
                return;
            }
        }
    })
}

fn read(task: &Task, extractor: &mut Extractor, mut reading: Reading, mut ticket: Ticket) -> Read {
    let mut bytes_read = 0;
    // A panic is our mistake, but it costs this file only.
    let result = catch_unwind(AssertUnwindSafe(|| make(task, extractor, &mut reading, &mut bytes_read)));
    let result = result.unwrap_or_else(|_| {
        let problem = file::lasting(reason::CRASHED, "cutting it into chunks failed; this is a mistake of the program");
        failed(task, &reading, problem, "", "")
    });
    if let Outcome::Made { chunks, texts, .. } = &result {
        ticket.resize(cost(chunks, texts, task.dim));
    }
    Read { reading, bytes_read, result, ticket }
}

/// What would become of a file.
pub fn rehearse(task: &Task, extractor: &mut Extractor, mut reading: Reading) -> Option<Outcome> {
    catch_unwind(AssertUnwindSafe(|| make(task, extractor, &mut reading, &mut 0))).ok()
}

fn make(task: &Task, extractor: &mut Extractor, reading: &mut Reading, bytes_read: &mut u64) -> Outcome {
    let contents = match reading.found.read(task.max_file_bytes) {
        Ok(contents) => contents,
        Err(problem) => return failed(task, reading, problem, "", ""),
    };
    *bytes_read = contents.bytes.len() as u64;
    reading.found.stat = contents.stat;
    let hash = contents.hash();
    match plan::decide(reading.old.as_ref(), &reading.found, &hash, task.wanted()) {
        Decision::Stands => return Outcome::Stands,
        Decision::Touch => {
            if let Some(old) = &reading.old {
                return Outcome::Touched(Box::new(touched(task, reading, old)));
            }
        }
        Decision::Extract => {}
    }
    let name = reading.found.hint();
    let extension = reading.found.name.path.extension();
    let extracted = match task.pipeline.loaders.for_extension(&extension) {
        Some(command) => loader::load(command, &contents.bytes, task.limits.timeout, task.limits.max_text_bytes)
            .and_then(|text| extractor.extract(LOADED, &text))
            .map(|document| Document { text_is_source: false, format: extension.clone(), ..document }),
        None => extractor.extract(name, &contents.bytes),
    };
    match extracted {
        Ok(document) => made(task, reading, &hash, document),
        Err(problem) => {
            let format = detect(name, &contents.bytes);
            // By what it is, or by what it is called: half a Word file is a broken document, not some archive.
            let is_document = DOCUMENTS.contains(&extension.as_str())
                || matches!(format, Format::Unsupported(what) if DOCUMENTS.contains(&what));
            let left_alone = problem.reason == reason::BINARY || problem.reason == reason::UNSUPPORTED;
            if left_alone && !is_document {
                let record = SourceRecord {
                    status: Status::Warned,
                    problems: vec![problem],
                    ..record(task, reading, &hash, format.word())
                };
                return Outcome::Made { record: Box::new(record), chunks: vec![], texts: vec![] };
            }
            failed(task, reading, problem, &hash, format.word())
        }
    }
}

/// The record of a file whose content the index holds: with the stat and the tags of now.
fn touched(task: &Task, reading: &Reading, old: &SourceRecord) -> SourceRecord {
    let stat = reading.found.stat;
    SourceRecord {
        size_bytes: stat.size_bytes,
        mtime_ns: stat.mtime_ns,
        ctime_ns: stat.ctime_ns,
        inode: stat.inode,
        tags: plan::merged(Some(old), &task.tags),
        ..old.clone()
    }
}

fn made(task: &Task, reading: &Reading, hash: &str, document: Document) -> Outcome {
    let path = reading.found.name.display();
    let title = match &reading.found.place {
        Place::Given(given) => given.title.as_deref(),
        Place::File(_) => None,
    };
    let origin = Origin { source: reading.found.name.id, collection: &task.collection, path: &path, title };
    let Chunked { chunks, texts, lang, problem } = chunk::chunk(&document, origin, task.chunks);
    let mut problems = document.warnings;
    problems.extend(problem);
    if chunks.is_empty() && problems.is_empty() {
        problems.push(file::lasting(reason::EMPTY, "it has no text"));
    }
    let record = SourceRecord {
        status: if problems.is_empty() { Status::Indexed } else { Status::Warned },
        problems,
        title: match title {
            Some(title) => (!title.is_empty()).then(|| title.to_owned()),
            None => document.title.clone(),
        },
        author: document.author,
        lang,
        pages: document.pages,
        encoding: document.encoding,
        metadata: metadata(reading, document.metadata),
        chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
        text_bytes: document.text.len() as u64,
        ..record(task, reading, hash, &document.format)
    };
    let chunks = chunks
        .into_iter()
        .zip(&texts)
        .map(|(record, text)| NewChunk { record, embed_hash: embed_hash(text), vector: None })
        .collect();
    Outcome::Made { record: Box::new(record), chunks, texts }
}

/// What the document says of itself, and what its server said.
fn metadata(reading: &Reading, mut metadata: BTreeMap<String, String>) -> BTreeMap<String, String> {
    if let Place::Given(given) = &reading.found.place {
        metadata.extend(given.metadata.clone());
    }
    metadata
}

/// What the index says of a file that failed.
///
/// A transient failure (a timeout, a worker that was ended, no permission) is none of the bytes: a file that had text
/// keeps it, under its old place if it was moved, and is tried again by every run; the report names it each time. A
/// lasting failure (out of memory, a crash, damage) is the new bytes' own: the text of the old ones is not served on as
/// if it were theirs. A file that vanished leaves no trace; one whose failure is recorded already changes nothing.
fn failed(task: &Task, reading: &Reading, problem: Problem, hash: &str, format: &str) -> Outcome {
    let keeps_text = reading.old.as_ref().or(reading.from.as_ref()).is_some_and(|held| held.status != Status::Failed);
    let is_recorded =
        reading.old.as_ref().is_some_and(|old| plan::is_recorded(old, &reading.found, &problem, &task.pipeline));
    if is_recorded || (problem.transient && (keeps_text || problem.reason == "vanished")) {
        return Outcome::Failed { problem, record: None };
    }
    let record =
        SourceRecord { status: Status::Failed, problems: vec![problem.clone()], ..record(task, reading, hash, format) };
    Outcome::Failed { problem, record: Some(Box::new(record)) }
}

/// A record that knows the file and nothing of its content.
pub fn record(task: &Task, reading: &Reading, hash: &str, format: &str) -> SourceRecord {
    let (name, stat) = (&reading.found.name, reading.found.stat);
    SourceRecord {
        id: name.id,
        collection: task.collection.clone(),
        root: name.root.clone(),
        path: name.path.clone(),
        size_bytes: stat.size_bytes,
        mtime_ns: stat.mtime_ns,
        ctime_ns: stat.ctime_ns,
        inode: stat.inode,
        hash: hash.to_owned(),
        pipeline: task.pipeline.of(&name.path),
        status: Status::Indexed,
        problems: Vec::new(),
        format: format.to_owned(),
        title: None,
        author: None,
        lang: None,
        pages: None,
        encoding: None,
        tags: plan::merged(reading.old.as_ref().or(reading.from.as_ref()), &task.tags),
        metadata: BTreeMap::new(),
        chunks: 0,
        text_bytes: 0,
    }
}

/// What chunks cost until they are written: their records, the texts to embed, the vectors.
fn cost(chunks: &[NewChunk], texts: &[String], dim: usize) -> u64 {
    /// Ids, places, headings, allocation.
    const OVERHEAD_BYTES: usize = 512;
    let records: usize = chunks.iter().map(|chunk| chunk.record.text.len() + chunk.record.context.len()).sum();
    let texts: usize = texts.iter().map(String::len).sum();
    (records + texts + chunks.len() * (4 * dim + OVERHEAD_BYTES)) as u64
}
