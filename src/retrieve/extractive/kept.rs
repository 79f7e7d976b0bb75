//! Vectors of sentences and questions that were embedded before in this process.
//!
//! Useful for: a server, where the same sentences are candidates again and again. Not for: vectors that outlive the process.
//! Two generations: what is used moves to the young one; when that is full the old one is forgotten.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::types::EmbeddingSpace;

/// Of one generation; two are kept.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// What is embedded, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    Query,
    Passage,
}

type Key = [u8; 32];

/// Names a text in a space. Of two spaces none finds the other's vectors.
pub(super) fn key(space: &EmbeddingSpace, text: &str, role: As) -> Key {
    let mut hasher = blake3::Hasher::new();
    let prefix = match role {
        As::Query => &space.query_prefix,
        As::Passage => &space.passage_prefix,
    };
    for part in [&space.model, &space.revision, &space.sha256, &space.tokenizer, prefix] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(&(space.dim as u64).to_le_bytes());
    // A space that names no file is told from others by what it makes of the probe.
    space.probe.iter().for_each(|value| {
        hasher.update(&value.to_le_bytes());
    });
    hasher.update(&[u8::from(role == As::Query)]);
    hasher.update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

#[derive(Default)]
struct Kept {
    young: HashMap<Key, Vec<f32>>,
    old: HashMap<Key, Vec<f32>>,
    bytes: usize,
}

impl Kept {
    fn get(&mut self, key: &Key) -> Option<Vec<f32>> {
        if let Some(vector) = self.young.get(key) {
            return Some(vector.clone());
        }
        let vector = self.old.remove(key)?;
        self.put(*key, vector.clone(), MAX_BYTES);
        Some(vector)
    }

    fn put(&mut self, key: Key, vector: Vec<f32>, most: usize) {
        let bytes = size_of::<Key>() + size_of_val(vector.as_slice());
        if self.bytes + bytes > most {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        if self.young.insert(key, vector).is_none() {
            self.bytes += bytes;
        }
    }
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn locked() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn get(key: &Key) -> Option<Vec<f32>> {
    locked().get_or_insert_default().get(key)
}

pub(super) fn put(key: Key, vector: Vec<f32>) {
    locked().get_or_insert_default().put(key, vector, MAX_BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_within_its_bounds_and_keeps_what_is_used() {
        let mut kept = Kept::default();
        let key = |n: u8| [n; 32];
        let most = 4 * (32 + 8);
        for n in 0..20 {
            kept.put(key(n), vec![f32::from(n); 2], most);
            assert!(kept.young.len() <= 4 && kept.old.len() <= 4);
            assert_eq!(kept.get(&key(n)), Some(vec![f32::from(n); 2]));
        }
        assert_eq!(kept.get(&key(0)), None);
        // What the old generation has and is asked for is young again.
        let old = *kept.old.keys().next().expect("an old one");
        assert!(kept.get(&old).is_some() && kept.young.contains_key(&old) && !kept.old.contains_key(&old));
    }
}
