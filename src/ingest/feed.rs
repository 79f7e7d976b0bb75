//! The files still to be read, handed out in order and only while there is room for them.
//!
//! Memory is bounded by bytes, not by counts: a file takes a ticket for what it will cost from being read until it is
//! written, and no further file begins while all tickets together exceed the budget. One file alone may exceed it.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use super::plan::Reading;

/// What all files in hand may cost together.
const BUDGET_BYTES: u64 = 192 << 20;

/// What a file costs while it is read and cut: its bytes, its text, its chunks.
const COST_PER_BYTE: u64 = 3;

/// What a file costs at least.
const MIN_COST_BYTES: u64 = 32 << 10;

/// The queue of one run.
#[derive(Debug)]
pub struct Feed {
    state: Mutex<State>,
    changed: Condvar,
    budget: u64,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<Reading>,
    in_hand: u64,
    ended: bool,
}

/// A file's share of the budget; given back when it is dropped.
#[derive(Debug)]
pub struct Ticket {
    feed: Arc<Feed>,
    bytes: u64,
}

impl Feed {
    pub fn new(files: Vec<Reading>) -> Arc<Self> {
        Self::with_budget(files, BUDGET_BYTES)
    }

    fn with_budget(files: Vec<Reading>, budget: u64) -> Arc<Self> {
        let state = State { waiting: files.into(), in_hand: 0, ended: false };
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new(), budget })
    }

    /// The next file, as soon as there is room for it; `None` when there is none or the run ends.
    pub fn next(self: &Arc<Self>) -> Option<(Reading, Ticket)> {
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            let bytes = cost(state.waiting.front()?.found.stat.size_bytes);
            if state.in_hand == 0 || state.in_hand.saturating_add(bytes) <= self.budget {
                state.in_hand = state.in_hand.saturating_add(bytes);
                let file = state.waiting.pop_front()?;
                return Some((file, Ticket { feed: Arc::clone(self), bytes }));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Hands out nothing more.
    pub fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Takes what the file costs from now on. Never waits.
    pub fn resize(&mut self, bytes: u64) {
        let mut state = self.feed.state();
        state.in_hand = state.in_hand.saturating_sub(self.bytes).saturating_add(bytes);
        self.bytes = bytes;
        drop(state);
        self.feed.changed.notify_all();
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.resize(0);
    }
}

fn cost(size_bytes: u64) -> u64 {
    size_bytes.saturating_mul(COST_PER_BYTE).saturating_add(MIN_COST_BYTES)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{
        ingest::{
            file::Stat,
            walk::{Found, Name, Place},
        },
        types::{SourceId, SourcePath},
    };

    fn files(sizes: &[u64]) -> Vec<Reading> {
        let reading = |&size_bytes: &u64| {
            let path = SourcePath::from_spelling(size_bytes.to_string());
            let name = Name { id: SourceId(size_bytes), root: String::new(), path };
            let stat = Stat { size_bytes, ..Stat::default() };
            Reading { found: Found { name, place: Place::File(PathBuf::new()), stat }, old: None, from: None }
        };
        sizes.iter().map(reading).collect()
    }

    #[test]
    fn files_wait_for_room_and_one_is_always_let_in() {
        let feed = Feed::with_budget(files(&[1 << 30, 1, 2]), cost(1) + cost(2));
        let (first, ticket) = feed.next().unwrap();
        assert_eq!(first.found.stat.size_bytes, 1 << 30);
        let waiting = std::thread::spawn({
            let feed = Arc::clone(&feed);
            move || feed.next().map(|(file, ticket)| (file.found.stat.size_bytes, ticket))
        });
        assert!(feed.state().in_hand > feed.budget);
        drop(ticket);
        let second = waiting.join().unwrap().unwrap();
        assert_eq!(second.0, 1);
        assert!(feed.next().is_some(), "both fit");
        assert!(feed.next().is_none());
        drop(second);
    }

    #[test]
    fn the_end_wakes_who_waits() {
        let feed = Feed::with_budget(files(&[1, 2]), 0);
        let held = feed.next();
        let waiting = std::thread::spawn({
            let feed = Arc::clone(&feed);
            move || feed.next().is_none()
        });
        feed.end();
        assert!(waiting.join().unwrap());
        drop(held);
        assert_eq!(feed.state().in_hand, 0);
    }
}
