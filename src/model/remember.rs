//! An embedder that computes each text once, for callers that index or ask the same texts again and again.
//!
//! Useful for: one collection cut in several ways, one set of queries asked in several ways. Not for: ingest, which finds
//! the vectors it has in the index.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Mutex, PoisonError},
};

use super::{
    Embedder, Result,
    cache::{EmbeddingCache, Key},
};
use crate::types::EmbeddingSpace;

/// Vectors of queries kept; more are computed each time.
const MAX_QUERIES: usize = 100_000;

/// Over another embedder: passages go through a file (at most [`MAX_CACHE_BYTES`](super::cache::MAX_CACHE_BYTES)), queries
/// through memory.
pub struct Remembering<'a> {
    inner: &'a dyn Embedder,
    passages: Option<EmbeddingCache>,
    queries: Mutex<HashMap<String, Vec<f32>>>,
}

impl<'a> Remembering<'a> {
    /// `folder`: where the vectors of passages are kept; `None`: they are not.
    pub fn new(inner: &'a dyn Embedder, folder: Option<&Path>) -> Result<Self> {
        let passages = folder.map(|folder| EmbeddingCache::open(folder, inner.space())).transpose()?;
        Ok(Self { inner, passages, queries: Mutex::default() })
    }
}

impl Embedder for Remembering<'_> {
    fn space(&self) -> &EmbeddingSpace {
        self.inner.space()
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<f32>> {
        let Some(cache) = &self.passages else { return self.inner.embed_passages(texts) };
        let keys: Vec<Key> = texts.iter().map(|text| Key::of(text)).collect();
        let known = keys.iter().map(|key| cache.get(*key)).collect::<Result<Vec<_>>>()?;
        let missing: Vec<usize> = (0..texts.len()).filter(|&at| known[at].is_none()).collect();
        let asked: Vec<&str> = missing.iter().map(|&at| texts[at]).collect();
        let made = if asked.is_empty() { Vec::new() } else { self.inner.embed_passages(&asked)? };
        let mut made = made.chunks(self.space().dim.max(1));
        let mut rows = Vec::with_capacity(texts.len() * self.space().dim);
        for (key, known) in keys.iter().zip(known) {
            match known {
                Some(vector) => rows.extend(vector),
                None => {
                    let vector = made.next().unwrap_or_default();
                    cache.put(*key, vector)?;
                    rows.extend_from_slice(vector);
                }
            }
        }
        Ok(rows)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let known = || self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = known().get(text) {
            return Ok(vector.clone());
        }
        let vector = self.inner.embed_query(text)?;
        let mut known = known();
        if known.len() < MAX_QUERIES {
            known.insert(text.to_owned(), vector.clone());
        }
        Ok(vector)
    }

    fn concurrency(&self) -> usize {
        self.inner.concurrency()
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn backend(&self) -> String {
        self.inner.backend()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fake::FakeEmbedder;

    #[test]
    fn each_text_is_embedded_once() {
        let (folder, fake) = (tempfile::tempdir().expect("a folder"), FakeEmbedder::new());
        let embedder = Remembering::new(&fake, Some(folder.path())).expect("a cache");
        let first = embedder.embed_passages(&["one", "two"]).expect("vectors");
        assert_eq!(first, fake.embed_passages(&["one", "two"]).expect("vectors"));
        let before = fake.passages();
        let again = embedder.embed_passages(&["two", "three", "one"]).expect("vectors");
        assert_eq!(fake.passages(), before + 1);
        assert_eq!(again, fake.embed_passages(&["two", "three", "one"]).expect("vectors"));
        assert_eq!(embedder.embed_query("one").expect("a vector"), embedder.embed_query("one").expect("a vector"));
    }

    #[test]
    fn a_failure_is_handed_on() {
        let (folder, fake) = (tempfile::tempdir().expect("a folder"), FakeEmbedder::failing_after(1));
        let embedder = Remembering::new(&fake, Some(folder.path())).expect("a cache");
        embedder.embed_passages(&["one"]).expect("vectors");
        assert!(embedder.embed_passages(&["one", "two"]).is_err());
        embedder.embed_passages(&["one"]).expect("the one that is known");
    }
}
