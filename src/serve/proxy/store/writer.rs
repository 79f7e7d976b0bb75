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

pub enum Op {
    Put(Put),
    Delete(Key),
    /// Everything goes.
    Clear,
    /// The journal has turned: what came before stands in its files up to this number.
    Turned(u64),
    /// Answers when all before it is committed.
    Flush(Sender<()>),
    Stop,
}

pub struct Writer {
    pub shared: Arc<Shared>,
    pub incoming: Receiver<Op>,
    pub dir: PathBuf,
}

/// One commit in the making. The last word on a key counts.
#[derive(Default)]
struct Gathered {
    changes: HashMap<Key, Option<Put>>,
    clear: bool,
    journal_end: Option<u64>,
    waiting: Vec<Sender<()>>,
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
    pub fn run(self) {
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

    fn commit(&self, gathered: Gathered) {
        let mut batch = Batch { clear: gathered.clear, ..Batch::default() };
        for (key, change) in gathered.changes {
            match change {
                Some(put) => batch.put.push(put),
                None => batch.delete.push(key),
            }
        }
        let is_empty = batch.put.is_empty() && batch.delete.is_empty() && !batch.clear;
        let committed = is_empty || self.shared.table.commit(&batch).is_ok();
        let mut index = hold(&self.shared.index);
        for put in &batch.put {
            if index.pending.get(&put.key).is_some_and(|pending| Arc::ptr_eq(pending, &put.bytes)) {
                index.pending.remove(&put.key);
                if !committed {
                    index.sieve.remove(&put.key);
                }
            }
        }
        drop(index);
        if committed {
            if let Some(end) = gathered.journal_end {
                // What is left over is read again at the next start, and says nothing new.
                let _ = Journal::forget(&self.dir, end);
            }
        } else {
            self.shared.errors.fetch_add(1, Ordering::Relaxed);
        }
        for done in gathered.waiting {
            // Who no longer waits need not be told.
            let _ = done.send(());
        }
    }
}
