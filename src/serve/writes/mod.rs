//! Group commit: one thread owns the writing of an index, and changes that come together share a commit.
//!
//! A change waits in a bounded queue. When there is one, the thread takes the writer lock (waiting for another process that
//! writes, so long as [`WritesOptions::writer`] says), does all that wait, commits once, and answers each only then: what
//! was answered is on disk. A change that comes alone is committed at once; where several came, the thread waits for more as
//! long as the last commit took, so that under load a commit carries many and alone nobody waits. A change that cannot be
//! done is answered with its own error and takes nothing from its neighbours. Between bursts the lock is free, and it is let
//! go now and then within one, so several processes may write to the same index.
//!
//! Useful for: servers with many small writes. Not for: reading; readers take no lock and never wait for this thread.

mod change;
mod thread;

pub use change::{Change, Done, Step, View};

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError, SyncSender, TrySendError},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use self::thread::{Job, Worker};
use super::told::Told;
use crate::{
    index::{Index, WriterOptions},
    ingest::DepositOptions,
    model::Embedder,
    types::{Cancel, Kind},
};

/// How often a wait that tells of itself looks.
const TICK: Duration = Duration::from_millis(20);

/// Opens the index, or makes it, with the embedder of its space. Called when there is something to write.
pub type Open = Box<dyn FnMut() -> Result<(Index, Option<Arc<dyn Embedder>>), Told> + Send>;

/// How changes are written. Plain values; the door fills them.
#[derive(Debug, Clone)]
pub struct WritesOptions {
    pub deposit: DepositOptions,
    /// `wait`: how long a change waits for another process that writes.
    pub writer: WriterOptions,
    /// Changes that may wait; more are refused.
    pub queue: usize,
}

/// The writing thread of one index.
pub struct Writes {
    queue: Mutex<Option<SyncSender<Job>>>,
    closing: Arc<AtomicBool>,
    cancel: Cancel,
    ended: Mutex<mpsc::Receiver<()>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Why a change was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    #[error("too many changes wait to be written")]
    Full,
    #[error("the server is being stopped")]
    Closed,
}

impl From<NotTaken> for Told {
    fn from(error: NotTaken) -> Self {
        Told::new(Kind::Cancelled, error.to_string()).hint("nothing was changed; try again in a moment")
    }
}

/// The answer to a change, when it comes.
#[derive(Debug)]
pub struct Receipt(oneshot::Receiver<Result<Done, Told>>);

impl Receipt {
    /// Waits until the change is durable, or was not done.
    pub async fn wait(self) -> Result<Done, Told> {
        self.0.await.unwrap_or_else(|_| Err(lost()))
    }

    /// As [`wait`](Self::wait), for threads that may block.
    pub fn wait_here(self) -> Result<Done, Told> {
        self.0.blocking_recv().unwrap_or_else(|_| Err(lost()))
    }
}

impl Receipt {
    /// As [`wait_here`](Self::wait_here), and calls `meanwhile` every now and then.
    pub fn wait_telling(mut self, meanwhile: &mut dyn FnMut()) -> Result<Done, Told> {
        loop {
            match self.0.try_recv() {
                Ok(answer) => return answer,
                Err(oneshot::error::TryRecvError::Closed) => return Err(lost()),
                Err(oneshot::error::TryRecvError::Empty) => meanwhile(),
            }
            std::thread::sleep(TICK);
        }
    }
}

fn lost() -> Told {
    Told::new(Kind::Cancelled, "writing ended before this change was durable").hint("nothing is known to be changed")
}

impl Writes {
    /// Starts the thread. It touches nothing until the first change comes.
    pub fn start(options: WritesOptions, open: Open) -> io::Result<Self> {
        let (queue, jobs) = mpsc::sync_channel(options.queue.max(1));
        let (end, ended) = mpsc::channel();
        let closing = Arc::new(AtomicBool::new(false));
        let cancel = Cancel::default();
        let mut worker = Worker::new(options, open, Arc::clone(&closing), cancel.clone());
        let thread = std::thread::Builder::new().name("writes".into()).spawn(move || {
            worker.run(&jobs);
            drop(worker);
            let _ = end.send(());
        })?;
        Ok(Self {
            queue: Mutex::new(Some(queue)),
            closing,
            cancel,
            ended: Mutex::new(ended),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Puts a change into the queue. Never waits.
    pub fn submit(&self, change: Change) -> Result<Receipt, NotTaken> {
        let (reply, receipt) = oneshot::channel();
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = &*queue else { return Err(NotTaken::Closed) };
        let Change { work, room } = change;
        match queue.try_send(Job { work, room, reply, since: Instant::now() }) {
            Ok(()) => Ok(Receipt(receipt)),
            Err(TrySendError::Full(_)) => Err(NotTaken::Full),
            Err(TrySendError::Disconnected(_)) => Err(NotTaken::Closed),
        }
    }

    /// Takes no more changes and waits until those that were taken are durable, but no longer than `within`: then work that
    /// is still going on is asked to stop, and what is not durable is not answered. Says whether all was done.
    pub fn close(&self, within: Duration) -> bool {
        self.closing.store(true, Ordering::SeqCst);
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(within) == Err(RecvTimeoutError::Timeout) {
            self.cancel.ask();
            return false;
        }
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // It told that it has ended; a panic of it was told to those who waited.
            let _ = thread.join();
        }
        true
    }
}

impl Writes {
    /// Lets what waits for another process wait no longer than a moment: the server is about to stop.
    pub fn hurry(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }
}

impl Drop for Writes {
    /// Lets the thread go: it ends by itself after what it was given.
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
