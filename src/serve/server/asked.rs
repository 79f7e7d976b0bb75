//! Vectors of what was asked lately, so that who asks again, pages on or narrows a question waits for no model.
//!
//! Each index has its own: what one tenant asked makes no difference that another one could time. Vectors are in memory
//! alone and go with the process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    model::{self, Embedder},
    types::EmbeddingSpace,
};

/// At most so many questions are kept, at least half as many of the latest.
const MOST: usize = 512;
/// Longer questions are not asked twice in the same words.
const MAX_BYTES: usize = 1024;

/// An embedder that knows what it was asked lately.
pub struct Asked {
    inner: Arc<dyn Embedder>,
    known: Mutex<Known>,
}

/// Two halves: what was asked since the younger one was begun, and what was asked before. A full younger half becomes the
/// older one, which is forgotten but for what was asked again meanwhile.
#[derive(Default)]
struct Known {
    younger: HashMap<String, Arc<[f32]>>,
    older: HashMap<String, Arc<[f32]>>,
}

impl Known {
    fn get(&mut self, text: &str) -> Option<Arc<[f32]>> {
        if let Some(vector) = self.younger.get(text) {
            return Some(Arc::clone(vector));
        }
        let (text, vector) = self.older.remove_entry(text)?;
        self.put(text, Arc::clone(&vector));
        Some(vector)
    }

    fn put(&mut self, text: String, vector: Arc<[f32]>) {
        if self.younger.len() >= MOST / 2 {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(text, vector);
    }
}

impl Asked {
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self { inner, known: Mutex::default() }
    }
}

impl Embedder for Asked {
    fn space(&self) -> &EmbeddingSpace {
        self.inner.space()
    }

    fn embed_passages(&self, texts: &[&str]) -> model::Result<Vec<f32>> {
        self.inner.embed_passages(texts)
    }

    fn embed_query(&self, text: &str) -> model::Result<Vec<f32>> {
        if text.len() > MAX_BYTES {
            return self.inner.embed_query(text);
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(text);
        if let Some(vector) = found {
            return Ok(vector.to_vec());
        }
        let vector = self.inner.embed_query(text)?;
        known().put(text.to_owned(), vector.as_slice().into());
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::model::fake::FakeEmbedder;

    /// Counts the questions that come through.
    struct Counting(FakeEmbedder, AtomicUsize);

    impl Embedder for Counting {
        fn space(&self) -> &EmbeddingSpace {
            self.0.space()
        }
        fn embed_passages(&self, texts: &[&str]) -> model::Result<Vec<f32>> {
            self.0.embed_passages(texts)
        }
        fn embed_query(&self, text: &str) -> model::Result<Vec<f32>> {
            self.1.fetch_add(1, Ordering::SeqCst);
            self.0.embed_query(text)
        }
        fn concurrency(&self) -> usize {
            self.0.concurrency()
        }
        fn batch_size(&self) -> usize {
            self.0.batch_size()
        }
        fn backend(&self) -> String {
            self.0.backend()
        }
    }

    #[test]
    fn what_was_asked_lately_is_known_and_what_is_kept_is_bounded() {
        let counting = Arc::new(Counting(FakeEmbedder::new(), AtomicUsize::new(0)));
        let asked = Asked::new(Arc::clone(&counting) as Arc<dyn Embedder>);
        let count = || counting.1.load(Ordering::SeqCst);
        let fresh = FakeEmbedder::new();
        for text in ["where is the weir", "where is the Weir", "where is the weir"] {
            assert_eq!(asked.embed_query(text).unwrap(), fresh.embed_query(text).unwrap(), "{text}");
        }
        assert_eq!(count(), 2);
        // Asked again and again, it outlives any number of others.
        for number in 0..3 * MOST {
            asked.embed_query(&format!("question {number}")).unwrap();
            if number % (MOST / 4) == 0 {
                asked.embed_query("where is the weir").unwrap();
            }
        }
        assert_eq!(count(), 2 + 3 * MOST);
        let (younger, older) = {
            let known = asked.known.lock().unwrap();
            (known.younger.len(), known.older.len())
        };
        assert!(younger + older <= MOST, "{younger} {older}");
        asked.embed_query("question 0").unwrap();
        assert_eq!(count(), 3 + 3 * MOST);
        let long = "x ".repeat(MAX_BYTES);
        for _ in 0..2 {
            asked.embed_query(&long).unwrap();
        }
        assert_eq!(count(), 5 + 3 * MOST);
    }
}
