//! Documents that come as JSONL instead of files: what `rag export` wrote, or plain lines of `id`, `title`, `text`.
//!
//! A line that brings its chunks is stored as it is, with its vectors if they are of the index's own space; any other is
//! read again as a document of its type and cut anew. Useful for: moving an index, or filling one from another program.
//! Not for: files on disk, and nothing here removes what the lines do not name.
//!
//! Memory is bounded by the longest line and a batch of [`BATCH_BYTES`].

mod line;
mod make;

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, BufRead, Read},
    path::PathBuf,
    time::{Duration, Instant},
};

use self::make::{Made, Maker};
use super::{
    Error, Event, Observer, Report, Result, chunk,
    embed::{self, Hash},
    extract::{Extractor, Limits, Worker},
    listing::{List, list},
    pipeline::{chunk_settings, matching_embedder},
    report,
};
use crate::{
    index::{self, Problem, SourceRecord, Writer},
    model::{self, Embedder},
    types::Cancel,
};

/// The root of lines that name none; display paths begin with it. No walk ever calls such sources gone.
pub const IMPORT_ROOT: &str = "import";

/// A longer line is no document.
const MAX_LINE_BYTES: u64 = 256 << 20;
/// After so many lines that are no documents this is no file of documents.
const MAX_BAD_LINES: usize = 1000;
/// Documents are embedded together up to this size of their texts and vectors, or this number.
const BATCH_BYTES: usize = 8 << 20;
const BATCH_DOCUMENTS: usize = 256;
/// A commit comes at the first of these.
const COMMIT_BYTES: u64 = 64 << 20;
const COMMIT_SOURCES: usize = 2000;
const COMMIT_TIME: Duration = Duration::from_secs(30);

/// How lines become documents. Plain values; the door fills them.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    pub index_dir: PathBuf,
    /// In place of what the lines say; lines that say nothing are of `default`.
    pub collection: Option<String>,
    /// Added to the tags of each line.
    pub tags: BTreeMap<String, String>,
    pub chunk_tokens: usize,
    pub chunk_overlap: usize,
    /// For one document.
    pub timeout: Duration,
    pub worker: Worker,
}

/// Puts every document of `input` into the index, in place of one of the same name. A line that is no document is an
/// entry of the report, named by its number; an error ends the run after the last commit. On `cancel` what is whole is
/// committed and the report says `interrupted`.
pub fn import(
    writer: &mut Writer,
    embedder: Option<&dyn Embedder>,
    input: &mut dyn BufRead,
    options: &ImportOptions,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    let started = Instant::now();
    let embedder = matching_embedder(writer.snapshot(), embedder, &options.index_dir)?;
    let settings = chunk_settings(writer.snapshot(), options.chunk_tokens, options.chunk_overlap)?;
    let limits = Limits { timeout: options.timeout, ..Limits::default() };
    let maker = Maker {
        collection: options.collection.clone(),
        tags: options.tags.clone(),
        settings,
        space: writer.snapshot().space().map(crate::types::EmbeddingSpace::folder),
        dim: writer.snapshot().space().map_or(0, |space| space.dim),
        extractor: Extractor::new(options.worker.clone(), limits),
        is_proved: None,
    };
    let mut run = Run {
        writer,
        embedder,
        observer,
        cancel,
        maker,
        report: Report::default(),
        batch: Report::default(),
        waiting: Vec::new(),
        waiting_bytes: 0,
        committed: Instant::now(),
        sources: 0,
    };
    let result = run.lines(input);
    let Run { mut report, .. } = run;
    report.interrupted = result?;
    if embedder.is_some() {
        report.chunks_reused = report.chunks_written.saturating_sub(report.chunks_embedded);
    }
    report.sort();
    report.generation = writer.snapshot().generation();
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

struct Run<'a> {
    writer: &'a mut Writer,
    embedder: Option<&'a dyn Embedder>,
    observer: &'a dyn Observer,
    cancel: &'a Cancel,
    maker: Maker,
    /// What is committed, and what needs no commit.
    report: Report,
    /// What the next commit makes true.
    batch: Report,
    /// Documents whose vectors are still to be found.
    waiting: Vec<Made>,
    waiting_bytes: usize,
    committed: Instant,
    sources: u64,
}

impl Run<'_> {
    /// Takes every line; says whether it was interrupted.
    fn lines(&mut self, input: &mut dyn BufRead) -> Result<bool> {
        let (mut line, mut number, mut bad) = (Vec::new(), 0_u64, 0);
        while !self.cancel.is_asked() && next_line(input, &mut line)? {
            number += 1;
            self.report.bytes_read += line.len() as u64 + 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            self.sources += 1;
            self.observer.event(Event::Found { sources: self.sources, bytes: self.report.bytes_read });
            let taken = if line.len() as u64 > MAX_LINE_BYTES {
                Err(problem(format!("it is longer than {} MiB", MAX_LINE_BYTES >> 20)))
            } else {
                line::parse(&line).and_then(|line| self.maker.make(line))
            };
            match taken {
                Ok(made) => self.take(made)?,
                Err(problem) => {
                    bad += 1;
                    let path = format!("line {number}");
                    self.observer.event(Event::Failed { path: &path, problem: &problem });
                    let entry = report::Outcome { path, problems: vec![problem], chunks: 0, from: None };
                    self.report.failed.push(entry);
                    if bad > MAX_BAD_LINES {
                        self.settle()?;
                        let what =
                            format!("more than {MAX_BAD_LINES} lines are no documents; the last is line {number}");
                        return Err(Error::Options { what });
                    }
                }
            }
        }
        if !self.cancel.is_urgent() {
            self.settle()?;
        }
        Ok(self.cancel.is_asked())
    }

    /// Everything that waits becomes durable.
    fn settle(&mut self) -> Result<()> {
        self.embed()?;
        self.commit()
    }

    fn take(&mut self, made: Made) -> Result<()> {
        self.waiting_bytes += made.bytes();
        // The same name twice in one file: the later line replaces the earlier, in the order of the file.
        if self.waiting.iter().any(|other| other.record.id == made.record.id) {
            self.embed()?;
        }
        self.waiting.push(made);
        if self.waiting_bytes >= BATCH_BYTES || self.waiting.len() >= BATCH_DOCUMENTS {
            self.embed()?;
            let pending = self.writer.pending();
            let is_old = pending.sources > 0 && self.committed.elapsed() >= COMMIT_TIME;
            if pending.bytes >= COMMIT_BYTES || pending.sources >= COMMIT_SOURCES || is_old {
                self.commit()?;
            }
        }
        Ok(())
    }

    /// Finds or makes the vectors of what waits, and puts it.
    fn embed(&mut self) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let mut embedded: HashMap<Hash, Vec<f32>> = HashMap::new();
        if let Some(embedder) = self.embedder {
            self.prove(embedder, &mut waiting)?;
            let snapshot = self.writer.snapshot().clone();
            let mut wanted: HashMap<Hash, String> = HashMap::new();
            for made in &mut waiting {
                let before = wanted.len();
                for (chunk, text) in made.chunks_and_texts() {
                    if chunk.vector.is_none() && snapshot.vector_by_hash(&chunk.embed_hash).is_none() {
                        wanted.entry(chunk.embed_hash).or_insert(text);
                    }
                }
                self.tell_chunked(made, wanted.len() - before);
            }
            let texts = wanted.into_iter().collect();
            let observe = |chunks| self.observer.event(Event::Embedded { chunks });
            for made in embed::all(embedder, texts, self.cancel, &observe)? {
                self.report.chunks_embedded += 1;
                embedded.insert(made.hash, made.vector);
            }
        }
        if self.embedder.is_none() {
            waiting.iter().for_each(|made| self.tell_chunked(made, 0));
        }
        for mut made in waiting {
            let mut is_whole = true;
            for chunk in &mut made.chunks {
                if self.embedder.is_none() {
                    chunk.vector = None;
                } else if chunk.vector.is_none() {
                    let found = embedded.get(&chunk.embed_hash).cloned();
                    let held = || self.writer.snapshot().vector_by_hash(&chunk.embed_hash).map(|v| v.into_owned());
                    chunk.vector = found.or_else(held);
                    is_whole &= chunk.vector.is_some();
                }
            }
            // A stop came before its vectors: the next import brings it.
            if is_whole {
                self.put(&made)?;
            }
        }
        Ok(())
    }

    fn tell_chunked(&self, made: &Made, to_embed: usize) {
        self.observer.event(Event::Chunked {
            path: &made.record.display_path(),
            chunks: made.chunks.len() as u64,
            to_embed: to_embed as u64,
            bytes: made.record.text_bytes,
        });
    }

    /// Before the first vectors of the file are taken, one text is embedded here: vectors of another model under the same
    /// name are not taken.
    fn prove(&mut self, embedder: &dyn Embedder, waiting: &mut [Made]) -> Result<()> {
        if self.maker.is_proved.is_none() {
            let given = waiting.iter_mut().flat_map(Made::chunks_and_texts).find(|(chunk, _)| chunk.vector.is_some());
            let Some((chunk, text)) = given else { return Ok(()) };
            let theirs = chunk.vector.clone().unwrap_or_default();
            let ours = embed::all(embedder, vec![(chunk.embed_hash, text)], self.cancel, &|_| {})?;
            let Some(ours) = ours.first() else { return Ok(()) };
            self.maker.is_proved = Some(model::same_vector(&theirs, &ours.vector));
        }
        if self.maker.is_proved == Some(false) {
            waiting.iter_mut().flat_map(|made| &mut made.chunks).for_each(|chunk| chunk.vector = None);
        }
        Ok(())
    }

    fn put(&mut self, made: &Made) -> Result<()> {
        let Made { record, chunks, .. } = made;
        let path = record.display_path();
        let snapshot = self.writer.snapshot();
        let old = snapshot.source(record.id)?;
        let record = &as_met(record, old.as_ref());
        if let Some(old) = &old
            && old == record
            && snapshot.chunks_of(record.id)?.iter().eq(chunks.iter().map(|chunk| &chunk.record))
        {
            list(&mut self.report, record, List::Unchanged, None);
            self.observer.event(Event::Done { path: &path });
            return Ok(());
        }
        match self.writer.put(record, chunks) {
            Ok(()) => {
                self.batch.chunks_written += chunks.len() as u64;
                list(&mut self.batch, record, if old.is_some() { List::Updated } else { List::Added }, None);
            }
            Err(index::Error::Source { what, .. }) => {
                let problem = problem(format!("the index refuses it: {what}"));
                self.observer.event(Event::Failed { path: &path, problem: &problem });
                let entry = report::Outcome { path: path.clone(), problems: vec![problem], chunks: 0, from: None };
                self.report.failed.push(entry);
            }
            Err(error) => return Err(error.into()),
        }
        self.observer.event(Event::Done { path: &path });
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if let Some(committed) = self.writer.commit()? {
            self.batch.bytes_written += committed.bytes_written;
            self.observer.event(Event::Committed { generation: committed.generation });
        }
        self.report.append(std::mem::take(&mut self.batch));
        self.committed = Instant::now();
        Ok(())
    }
}

/// Reads a line, its end left out; of one that is too long the beginning. False at the end.
fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    let read = |error: io::Error| Error::Unreadable { path: PathBuf::from("-"), source: error };
    (&mut *input).take(MAX_LINE_BYTES + 2).read_until(b'\n', line).map_err(read)?;
    if line.is_empty() {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > MAX_LINE_BYTES {
        skip_line(input).map_err(read)?;
    }
    Ok(true)
}

fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (used, is_end) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

fn problem(message: String) -> Problem {
    Problem { reason: "line".to_owned(), message, transient: false }
}

/// The text whose vector stands for a chunk, as an ingest with these settings makes it.
fn text_of(chunk: &index::ChunkRecord, settings: chunk::Settings) -> String {
    chunk::embedding_text(chunk, settings.limit())
}

/// The record, which remembers that its file was met here if that was of the same content.
fn as_met(record: &SourceRecord, old: Option<&SourceRecord>) -> SourceRecord {
    let mut record = record.clone();
    let content = |record: &SourceRecord| (record.size_bytes, record.mtime_ns, record.hash.clone());
    // Earlier programs wrote zeros for what was never met.
    let was_met = |old: &&SourceRecord| (old.ctime_ns, old.inode) != (0, 0);
    if let Some(old) = old.filter(|old| content(old) == content(&record)).filter(was_met) {
        (record.ctime_ns, record.inode) = (old.ctime_ns, old.inode);
    }
    record
}

#[cfg(test)]
mod tests;
