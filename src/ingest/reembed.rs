//! Another embedding space for an index, from the texts it holds: no source file is read.
//!
//! Useful for: changing the model, or doing without one. Not for: chunks of another size, which need the sources.

use std::{
    collections::HashMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{
    Event, Observer, Result, chunk,
    embed::{self, Hash},
    pipeline::reads,
};
use crate::{
    index::{NewSpace, SpaceRow, Writer},
    model::Embedder,
    types::{Cancel, ChunkId},
};

/// Texts that are embedded together.
const BATCH_TEXTS: usize = 256;
/// Rows become durable at the first of these.
const PART_BYTES: usize = 16 << 20;
const PART_TIME: Duration = Duration::from_secs(10);

/// Which texts stand for chunks. Plain values; the door fills them.
#[derive(Debug, Clone)]
pub struct ReembedOptions {
    pub index_dir: PathBuf,
    /// As an ingest is going to be asked: what it finds under the same text needs no vector then.
    pub chunk_tokens: usize,
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reembedded {
    /// Chunks of the index.
    pub chunks: u64,
    pub embedded: u64,
    /// Rows that an interrupted run had left.
    pub resumed: u64,
    /// Texts longer than the model reads; the ends of those are found by words only.
    pub shortened: u64,
    /// Nothing had to be done: the index is in that space.
    pub unchanged: bool,
    pub interrupted: bool,
    pub generation: u64,
    pub bytes_written: u64,
    pub seconds: f64,
}

/// Makes the vectors of every chunk anew with `embedder` (`None`: takes them away) and puts them in force by one commit.
/// Until then queries see the old space, whole. On `cancel`, after a failure of the model and after a kill what was made
/// waits for the next call with the same model.
pub fn reembed(
    writer: &mut Writer,
    embedder: Option<&dyn Embedder>,
    options: &ReembedOptions,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Reembedded> {
    let started = Instant::now();
    let mut done = Reembedded { chunks: writer.snapshot().stats()?.chunks, ..Reembedded::default() };
    let folder = |writer: &Writer| writer.snapshot().space().map(crate::types::EmbeddingSpace::folder);
    if folder(writer) == embedder.map(|embedder| embedder.space().folder()) {
        done.unchanged = true;
    } else if let Some(embedder) = embedder {
        let space = embedder.space();
        let limit = chunk::limit_for(options.chunk_tokens, reads(space));
        let mut run = Run {
            space: writer.begin_space(space)?,
            embedder,
            observer,
            cancel,
            limit,
            texts: HashMap::new(),
            rows: Vec::new(),
            since: Instant::now(),
            done: &mut done,
        };
        run.done.resumed = run.space.len() as u64;
        let is_whole = run.chunks()?;
        if is_whole {
            let Run { space, .. } = run;
            done.bytes_written = space.finish()?.bytes_written;
        }
        done.interrupted = !is_whole;
    } else if let Some(committed) = writer.drop_space()? {
        done.bytes_written = committed.bytes_written;
    }
    done.generation = writer.snapshot().generation();
    done.seconds = started.elapsed().as_secs_f64();
    if done.bytes_written > 0 {
        observer.event(Event::Committed { generation: done.generation });
    }
    Ok(done)
}

struct Run<'a, 'w> {
    space: NewSpace<'w>,
    embedder: &'a dyn Embedder,
    observer: &'a dyn Observer,
    cancel: &'a Cancel,
    /// Word pieces of an embedded text.
    limit: usize,
    /// Texts to be embedded, with the chunks that wait for each.
    texts: HashMap<Hash, (String, Vec<ChunkId>)>,
    /// Rows to be made durable.
    rows: Vec<SpaceRow>,
    since: Instant,
    done: &'a mut Reembedded,
}

impl Run<'_, '_> {
    /// Every chunk gets its row; false if a stop was asked for before.
    fn chunks(&mut self) -> Result<bool> {
        let snapshot = self.space.snapshot().clone();
        let sources = snapshot.source_ids(None, None)?;
        self.observer.event(Event::Planned { sources: sources.len() as u64, bytes: 0 });
        for id in sources {
            let chunks = snapshot.chunks_of(id)?;
            let Some(first) = chunks.first() else { continue };
            let path = first.path.clone();
            self.observer.event(Event::Started { path: &path });
            let (mut told, mut to_embed) = (0, 0);
            for (record, seen) in chunks.iter().zip(1..) {
                let text = chunk::embedding_text(record, self.limit);
                let hash = chunk::embed_hash(&text);
                if self.space.has(record.id, &hash) {
                    continue;
                }
                match self.space.vector_by_hash(&hash) {
                    Some(vector) => self.rows.push((record.id, hash, vector)),
                    None => {
                        let waiting = self.texts.entry(hash).or_insert((text, Vec::new()));
                        to_embed += u64::from(waiting.1.is_empty());
                        waiting.1.push(record.id);
                    }
                }
                if self.texts.len() >= BATCH_TEXTS {
                    self.tell_chunked(&path, seen - told, to_embed);
                    (told, to_embed) = (seen, 0);
                    self.embed()?;
                }
                if self.cancel.is_asked() {
                    self.keep()?;
                    return Ok(false);
                }
            }
            self.tell_chunked(&path, chunks.len() as u64 - told, to_embed);
            self.observer.event(Event::Done { path: &path });
        }
        self.embed()?;
        self.keep()?;
        Ok(!self.cancel.is_asked() && self.texts.is_empty())
    }

    fn tell_chunked(&self, path: &str, chunks: u64, to_embed: u64) {
        self.observer.event(Event::Chunked { path, chunks, to_embed, bytes: 0 });
    }

    fn embed(&mut self) -> Result<()> {
        let texts = self.texts.iter().map(|(hash, (text, _))| (*hash, text.clone())).collect();
        let observe = |chunks| self.observer.event(Event::Embedded { chunks });
        let made = match embed::all(self.embedder, texts, self.cancel, &observe) {
            Ok(made) => made,
            Err(error) => {
                // The model failed, not the disk: what there is waits for the next call.
                self.keep()?;
                return Err(error);
            }
        };
        self.done.embedded += made.len() as u64;
        for made in made {
            self.done.shortened += u64::from(made.shortened);
            let (_, ids) = self.texts.remove(&made.hash).unwrap_or_default();
            self.rows.extend(ids.into_iter().map(|id| (id, made.hash, made.vector.clone())));
        }
        let bytes = self.rows.len() * (4 * self.embedder.space().dim + 64);
        if bytes >= PART_BYTES || self.since.elapsed() >= PART_TIME {
            self.keep()?;
        }
        Ok(())
    }

    /// Makes the rows durable.
    fn keep(&mut self) -> Result<()> {
        if !self.cancel.is_urgent() {
            self.space.add(&self.rows)?;
            self.rows.clear();
        }
        self.since = Instant::now();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
