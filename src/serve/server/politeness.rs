//! Who reads goes before who writes.
//!
//! An ingest would take all cores for embedding, and every search would wait for its share of them. So while searches are
//! at work, the embedder of an ingest waits a little before each text: until none is, but never longer than [`STEP`] a
//! text. An ingest beside constant searching goes on at a lower pace; an ingest alone is not slowed at all.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    model::{self, Embedder},
    types::EmbeddingSpace,
};

/// The longest wait before a text.
const STEP: Duration = Duration::from_millis(40);
/// How often a wait looks whether it is over.
const POLL: Duration = Duration::from_millis(2);

/// How many searches are at work.
#[derive(Debug, Default)]
pub struct Politeness(AtomicUsize);

/// A search at work, until it is dropped.
pub struct Reading<'a>(&'a Politeness);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Politeness {
    pub fn reading(&self) -> Reading<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Reading(self)
    }

    /// Waits while searches are at work, up to [`STEP`].
    fn wait(&self) {
        let begun = Instant::now();
        while self.0.load(Ordering::SeqCst) > 0 && begun.elapsed() < STEP {
            std::thread::sleep(POLL);
        }
    }
}

/// An embedder that lets searches go first.
pub struct Polite {
    pub embedder: Arc<dyn Embedder>,
    pub politeness: Arc<Politeness>,
}

impl Embedder for Polite {
    fn space(&self) -> &EmbeddingSpace {
        self.embedder.space()
    }

    fn embed_passages(&self, texts: &[&str]) -> model::Result<Vec<f32>> {
        self.politeness.wait();
        self.embedder.embed_passages(texts)
    }

    fn embed_query(&self, text: &str) -> model::Result<Vec<f32>> {
        self.embedder.embed_query(text)
    }

    fn concurrency(&self) -> usize {
        self.embedder.concurrency()
    }

    fn batch_size(&self) -> usize {
        self.embedder.batch_size()
    }

    fn backend(&self) -> String {
        self.embedder.backend()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fake::FakeEmbedder;

    #[test]
    fn a_text_waits_for_searches_but_not_for_ever() {
        let politeness = Arc::new(Politeness::default());
        let embedder = Polite { embedder: Arc::new(FakeEmbedder::new()), politeness: Arc::clone(&politeness) };
        let reading = politeness.reading();
        let begun = Instant::now();
        assert_eq!(embedder.embed_passages(&["a text"]).unwrap().len(), embedder.space().dim);
        assert!(begun.elapsed() >= STEP, "a search was at work");
        drop(reading);
        assert_eq!(politeness.0.load(Ordering::SeqCst), 0);
        assert_eq!(embedder.embed_passages(&["a text"]).unwrap().len(), embedder.space().dim);
    }
}
