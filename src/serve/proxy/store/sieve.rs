//! Which entry goes when there is no more room? SIEVE: one queue, one bit an entry, one hand.
//! Source: Zhang et al., "SIEVE is Simpler than LRU", NSDI 2024.
//!
//! Not good for: deciding whether an entry is still good; that is a matter of its age.

use std::collections::HashMap;

use super::super::identity::Key;

/// What is known of an entry without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub size_bytes: u64,
    /// Seconds since 1970 by the clock of the wall.
    pub stored_at: u64,
    /// How old it was when this process first saw it, and when that was by the clock that only goes forward, in seconds.
    pub age_when_seen: u64,
    pub seen_at: u64,
}

#[derive(Debug)]
struct Node {
    key: Key,
    known: Known,
    visited: bool,
    newer: Option<usize>,
    older: Option<usize>,
}

/// All entries, in the order they came.
#[derive(Debug, Default)]
pub struct Sieve {
    places: HashMap<Key, usize>,
    nodes: Vec<Option<Node>>,
    free: Vec<usize>,
    newest: Option<usize>,
    oldest: Option<usize>,
    hand: Option<usize>,
    total_bytes: u64,
}

impl Sieve {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    pub fn get(&self, key: &Key) -> Option<Known> {
        self.node(*self.places.get(key)?).map(|node| node.known)
    }

    /// Marks an entry as used.
    pub fn visit(&mut self, key: &Key) {
        if let Some(node) = self.places.get(key).copied().and_then(|at| self.node_mut(at)) {
            node.visited = true;
        }
    }

    /// Adds an entry, or puts a new one in the place of the old. O(1).
    pub fn insert(&mut self, key: Key, known: Known) {
        if let Some(at) = self.places.get(&key).copied() {
            if let Some(node) = self.node_mut(at) {
                let before = std::mem::replace(&mut node.known, known).size_bytes;
                self.total_bytes = self.total_bytes - before + known.size_bytes;
            }
            return;
        }
        let node = Node { key, known, visited: false, newer: None, older: self.newest };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at] = Some(node);
                at
            }
            None => {
                self.nodes.push(Some(node));
                self.nodes.len() - 1
            }
        };
        if let Some(node) = self.newest.and_then(|newest| self.node_mut(newest)) {
            node.newer = Some(at);
        }
        self.newest = Some(at);
        self.oldest = self.oldest.or(Some(at));
        self.places.insert(key, at);
        self.total_bytes += known.size_bytes;
    }

    pub fn remove(&mut self, key: &Key) -> Option<Known> {
        let at = self.places.remove(key)?;
        let node = self.nodes.get_mut(at)?.take()?;
        self.free.push(at);
        match node.newer.and_then(|newer| self.node_mut(newer)) {
            Some(newer) => newer.older = node.older,
            None => self.newest = node.older,
        }
        match node.older.and_then(|older| self.node_mut(older)) {
            Some(older) => older.newer = node.newer,
            None => self.oldest = node.newer,
        }
        if self.hand == Some(at) {
            self.hand = node.newer;
        }
        self.total_bytes -= node.known.size_bytes;
        Some(node.known)
    }

    /// Takes out one entry: the first from the hand on that was not used since the hand last passed.
    pub fn evict(&mut self) -> Option<Key> {
        let mut at = self.hand.or(self.oldest)?;
        loop {
            let oldest = self.oldest;
            let node = self.node_mut(at)?;
            if !node.visited {
                let (key, newer) = (node.key, node.newer);
                self.hand = newer;
                self.remove(&key);
                return Some(key);
            }
            node.visited = false;
            at = node.newer.or(oldest)?;
        }
    }

    /// All keys with what is known of them, oldest first.
    pub fn all(&self) -> Vec<(Key, Known)> {
        let mut all = Vec::with_capacity(self.len());
        let mut at = self.oldest;
        while let Some(node) = at.and_then(|at| self.node(at)) {
            all.push((node.key, node.known));
            at = node.newer;
        }
        all
    }

    fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)?.as_ref()
    }

    fn node_mut(&mut self, at: usize) -> Option<&mut Node> {
        self.nodes.get_mut(at)?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(n: u8) -> Key {
        [n; 32]
    }

    fn known(size_bytes: u64) -> Known {
        Known { size_bytes, stored_at: 0, age_when_seen: 0, seen_at: 0 }
    }

    #[test]
    fn what_is_used_stays() {
        let mut sieve = Sieve::default();
        (0..5).for_each(|n| sieve.insert(key(n), known(1)));
        sieve.visit(&key(0));
        sieve.visit(&key(2));
        assert_eq!(sieve.evict(), Some(key(1)));
        assert_eq!(sieve.evict(), Some(key(3)));
        assert_eq!(sieve.evict(), Some(key(4)));
        // The hand has passed 0 and 2 and cleared their bits.
        assert_eq!((sieve.evict(), sieve.evict(), sieve.evict()), (Some(key(0)), Some(key(2)), None));
        assert_eq!((sieve.len(), sieve.total_bytes()), (0, 0));
    }

    proptest! {
        /// Against a plain list: the same entries, in the same order, of the same size.
        #[test]
        fn a_list_agrees(steps in proptest::collection::vec((0u8..4, 0u8..12, 1u64..9), 0..200)) {
            let mut sieve = Sieve::default();
            let mut list: Vec<(Key, u64)> = Vec::new();
            for (act, n, size) in steps {
                let key = key(n);
                match act {
                    0 => {
                        sieve.insert(key, known(size));
                        match list.iter_mut().find(|(k, _)| *k == key) {
                            Some(entry) => entry.1 = size,
                            None => list.push((key, size)),
                        }
                    }
                    1 => {
                        let removed = sieve.remove(&key).is_some();
                        prop_assert_eq!(removed, list.iter().any(|(k, _)| *k == key));
                        list.retain(|(k, _)| *k != key);
                    }
                    2 => sieve.visit(&key),
                    _ => {
                        let gone = sieve.evict();
                        prop_assert_eq!(gone.is_some(), !list.is_empty());
                        list.retain(|(k, _)| Some(*k) != gone);
                    }
                }
                let all: Vec<(Key, u64)> = sieve.all().into_iter().map(|(k, known)| (k, known.size_bytes)).collect();
                prop_assert_eq!(&all, &list);
                prop_assert_eq!(sieve.total_bytes(), list.iter().map(|(_, size)| size).sum::<u64>());
            }
        }
    }
}
