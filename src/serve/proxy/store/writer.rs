//! The one thread that writes the database: it gathers what comes and commits it together.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use super::{
    Shared, hold,
    journal::Journal,
    table::{Batch, Put},
};
use crate::serve::proxy::identity::Key;

/// The longest an entry waits for others to be committed with.
pub const GATHER: Duration = Duration::from_millis(100);
/// The most changes of one commit.
const MAX_BATCH: usize = 512;

/// Whether all before is on the disk and nowhere else; else a sentence.
pub type Flushed = Result<(), String>;

pub enum Op {
    Put(Put),
    Delete(Key),
    /// Everything goes.
    Clear,
    /// The journal has turned: what came before stands in its files up to this number.
    Turned(u64),
    /// Answers when all before it is committed, or why it is not.
    Flush(Sender<Flushed>),
    Stop,
}

pub struct Writer {
    pub shared: Arc<Shared>,
    pub incoming: Receiver<Op>,
    pub dir: PathBuf,
    /// What a failed commit was to take away: the next one does.
    pub owed: Owed,
}

/// What is gone for who asks and still in the database.
#[derive(Default)]
pub struct Owed {
    clear: bool,
    delete: Vec<Key>,
    /// Journals up to this one are to be forgotten.
    journal_end: Option<u64>,
}

/// One commit in the making. The last word on a key counts.
#[derive(Default)]
struct Gathered {
    changes: HashMap<Key, Option<Put>>,
    clear: bool,
    journal_end: Option<u64>,
    waiting: Vec<Sender<Flushed>>,
    stop: bool,
}

impl Gathered {
    fn take(&mut self, op: Op) {
        match op {
            Op::Put(put) => drop(self.changes.insert(put.key, Some(put))),
            Op::Delete(key) => drop(self.changes.insert(key, None)),
            Op::Clear => {
                self.changes.clear();
                self.clear = true;
            }
            Op::Turned(number) => self.journal_end = Some(number),
            Op::Flush(done) => self.waiting.push(done),
            Op::Stop => self.stop = true,
        }
    }

    fn is_urgent(&self) -> bool {
        self.stop || !self.waiting.is_empty() || self.changes.len() >= MAX_BATCH
    }
}

impl Writer {
    pub fn run(mut self) {
        while let Ok(first) = self.incoming.recv() {
            let mut gathered = Gathered::default();
            gathered.take(first);
            let until = Instant::now() + GATHER;
            while !gathered.is_urgent() {
                match self.incoming.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(op) => gathered.take(op),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            let stop = gathered.stop;
            self.commit(gathered);
            if stop {
                return;
            }
        }
    }

    fn commit(&mut self, gathered: Gathered) {
        let owed = std::mem::take(&mut self.owed);
        let mut batch = Batch { clear: gathered.clear || owed.clear, ..Batch::default() };
        batch.delete.extend(owed.delete.into_iter().filter(|key| !gathered.changes.contains_key(key)));
        for (key, change) in gathered.changes {
            match change {
                Some(put) => batch.put.push(put),
                None => batch.delete.push(key),
            }
        }
        let is_empty = batch.put.is_empty() && batch.delete.is_empty() && !batch.clear;
        let mut committed = if is_empty { Ok(()) } else { self.shared.table.commit(&batch).map_err(|e| e.to_string()) };
        let mut index = hold(&self.shared.index);
        for put in &batch.put {
            if index.pending.get(&put.key).is_some_and(|pending| Arc::ptr_eq(pending, &put.bytes)) {
                index.pending.remove(&put.key);
                if committed.is_err() {
                    index.sieve.remove(&put.key);
                }
            }
        }
        drop(index);
        let journal_end = gathered.journal_end.max(owed.journal_end);
        if committed.is_ok() {
            // What is left over is read again at the next start: it says nothing new, but for what was taken away since.
            if let Some(Err(error)) = journal_end.map(|end| Journal::forget(&self.dir, end)) {
                committed = Err(error.to_string());
                self.owed.journal_end = journal_end;
            }
        } else {
            self.owed = Owed { clear: batch.clear, delete: batch.delete, journal_end };
        }
        if committed.is_err() {
            self.shared.errors.fetch_add(1, Ordering::Relaxed);
        }
        for done in gathered.waiting {
            // Who no longer waits need not be told.
            let _ = done.send(committed.clone());
        }
    }
}
