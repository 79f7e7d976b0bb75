//! The answers that are kept: in memory what is known of each, on disk their bytes.
//!
//! The guarantee: once [`Store::put`] has returned, and no client hears the end of an answer before, the entry survives the
//! death of this process (`kill -9`). A commit to the disk follows within [`writer::GATHER`] and what it takes; a power loss may
//! take the entries since the last one. Nothing here is ever waited for by a hit but a read.

mod journal;
mod lock;
mod sieve;
mod table;
mod writer;

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

pub use lock::{Lock, Owner, owner};
pub use table::Damaged;

use self::{
    journal::Journal,
    sieve::{Known, Sieve},
    table::{Batch, Put, Table},
    writer::{Op, Owed, Writer},
};
use super::{
    error::{Error, Result},
    identity::Key,
};

/// A clock of the wall may be so much ahead of another.
const CLOCK_SKEW_SECONDS: u64 = 60;
/// What an entry takes beside its bytes.
const OVERHEAD_BYTES: u64 = 160;
/// The share of the cache one entry may take.
const LARGEST_SHARE: u64 = 4;
/// The most bytes an entry unpacks to.
const MAX_PAYLOAD_BYTES: usize = 256 << 20;
/// A file of the journal that has grown so large is followed by another.
const JOURNAL_BYTES: usize = 4 << 20;
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 13;

/// How time passes. Tests bring their own.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Seconds since 1970, as the wall says; may jump.
    fn wall(&self) -> u64;
    /// Seconds since some start; only goes forward.
    fn steady(&self) -> u64;
}

/// The clocks of the system.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn wall(&self) -> u64 {
        SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs())
    }

    fn steady(&self) -> u64 {
        self.0.elapsed().as_secs()
    }
}

/// How much is kept, and for how long.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    pub dir: PathBuf,
    pub ttl: Duration,
    pub max_bytes: u64,
    pub clock: Arc<dyn Clock>,
    pub damaged: Damaged,
}

/// What there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoreStats {
    pub entries: u64,
    pub bytes: u64,
    pub max_bytes: u64,
    /// Entries that are in the journal and not yet in the database.
    pub pending: u64,
    pub evicted: u64,
    pub expired: u64,
    pub errors: u64,
}

/// A kept entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub payload: Vec<u8>,
    pub age_seconds: u64,
}

/// The open cache; closing it (by dropping) commits what is pending.
pub struct Store {
    shared: Arc<Shared>,
    options: StoreOptions,
    journal: Mutex<Outgoing>,
    writer: Option<JoinHandle<()>>,
    lock: Mutex<Lock>,
}

/// Journal and queue, under one lock, so that both have the same order.
struct Outgoing {
    journal: Journal,
    queue: mpsc::Sender<Op>,
    order: u64,
    /// Bytes in the present file of the journal.
    written_bytes: usize,
}

impl Outgoing {
    /// Lets the files of the journal up to now go with the next commit.
    fn turn(&mut self) -> io::Result<()> {
        let number = self.journal.turn()?;
        self.written_bytes = 0;
        let _ = self.queue.send(Op::Turned(number));
        Ok(())
    }
}

/// What the writer's thread sees too.
struct Shared {
    table: Table,
    index: Mutex<Index>,
    evicted: AtomicU64,
    expired: AtomicU64,
    errors: AtomicU64,
}

#[derive(Default)]
struct Index {
    sieve: Sieve,
    /// Journalled, not yet committed.
    pending: HashMap<Key, Arc<Vec<u8>>>,
}

/// A lock whose holder has panicked guards plain values that are whole all the same.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What opening found.
#[derive(Debug, Default)]
pub struct Opened {
    /// Where a damaged database was put.
    pub set_aside: Option<PathBuf>,
    /// Questions by the keys of their answers.
    pub questions: Vec<(Key, Vec<u8>)>,
}

/// Makes a cache folder that its owner alone may enter.
pub fn make_dir(dir: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(Error::io("make", dir))
}

impl Store {
    /// Opens or makes the cache of a folder. Errors: `Locked` by another process, `Io`, `Damaged` if that is refused.
    pub fn open(options: StoreOptions) -> Result<(Self, Opened)> {
        make_dir(&options.dir)?;
        let lock = Lock::take(&options.dir)?;
        let (table, facts, set_aside) = Table::open(&options.dir, options.damaged)?;
        let wrong = |error: redb::Error| Error::Store { path: options.dir.clone(), why: error.to_string() };
        let (journal, records) = Journal::open(&options.dir).map_err(Error::io("open the journal in", &options.dir))?;
        let shared = Arc::new(Shared {
            table,
            index: Mutex::default(),
            evicted: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            errors: AtomicU64::new(0),
        });
        let mut order = facts.last().map_or(0, |fact| fact.order + 1);
        let mut batch = Batch::default();
        {
            let mut index = hold(&shared.index);
            for fact in facts {
                let known = known(&options, fact.stored_at, fact.size_bytes);
                if is_good(&options, &known) {
                    index.sieve.insert(fact.key, known);
                } else {
                    batch.delete.push(fact.key);
                }
            }
            for (key, record) in records {
                let Some((question, bytes)) = unrecord(record) else { continue };
                let Some(stored_at) = stored_at(&bytes) else { continue };
                let known = known(&options, stored_at, bytes.len() as u64);
                if is_good(&options, &known) {
                    index.sieve.insert(key, known);
                    batch.put.retain(|put: &Put| put.key != key);
                    batch.put.push(Put { key, stored_at, order, bytes: Arc::new(bytes), question });
                    order += 1;
                }
            }
            while index.sieve.total_bytes() > options.max_bytes {
                let Some(key) = index.sieve.evict() else { break };
                batch.put.retain(|put| put.key != key);
                batch.delete.push(key);
            }
        }
        if !batch.put.is_empty() || !batch.delete.is_empty() {
            shared.table.commit(&batch).map_err(wrong)?;
        }
        // All that came before this file is in the database now.
        let mut journal = journal;
        let done = journal.turn().map_err(Error::io("write the journal in", &options.dir))?;
        Journal::forget(&options.dir, done).map_err(Error::io("remove the journal in", &options.dir))?;
        let questions = shared.table.questions().map_err(wrong)?;
        let (queue, incoming) = mpsc::channel();
        let mut store = Self {
            shared,
            journal: Mutex::new(Outgoing { journal, queue, order, written_bytes: 0 }),
            writer: None,
            lock: Mutex::new(lock),
            options,
        };
        store.start_writer(incoming)?;
        Ok((store, Opened { set_aside, questions }))
    }

    fn start_writer(&mut self, incoming: mpsc::Receiver<Op>) -> Result<()> {
        let (shared, dir) = (Arc::clone(&self.shared), self.options.dir.clone());
        let writer = Writer { shared, incoming, dir, owed: Owed::default() };
        let thread = std::thread::Builder::new().name("proxy-cache".into()).spawn(move || writer.run());
        self.writer = Some(thread.map_err(Error::io("start a thread for", &self.options.dir))?);
        Ok(())
    }

    /// Tells other processes where this one listens.
    pub fn say_where(&self, url: &str) {
        // It only helps another process's message.
        let _ = hold(&self.lock).say(Some(url));
    }

    /// There is a good entry under this key. Reads nothing.
    pub fn has(&self, key: &Key) -> bool {
        let known = hold(&self.shared.index).sieve.get(key);
        known.is_some_and(|known| is_good(&self.options, &known))
    }

    /// The entry under this key, if it is good. Reads the disk: not for an async task.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        let (known, pending) = {
            let mut index = hold(&self.shared.index);
            let known = index.sieve.get(key)?;
            if is_good(&self.options, &known) {
                index.sieve.visit(key);
            }
            (known, index.pending.get(key).cloned())
        };
        if !is_good(&self.options, &known) {
            self.shared.expired.fetch_add(1, Ordering::Relaxed);
            self.delete(key);
            return None;
        }
        let bytes = match pending {
            Some(bytes) => Some(bytes),
            None => match self.shared.table.read(key) {
                Ok(bytes) => bytes.map(Arc::new),
                Err(_) => None,
            },
        };
        let Some(payload) = bytes.and_then(|bytes| unpacked(&bytes)) else {
            self.shared.errors.fetch_add(1, Ordering::Relaxed);
            self.delete(key);
            return None;
        };
        Some(Entry { payload, age_seconds: self.options.clock.wall().saturating_sub(known.stored_at) })
    }

    /// Keeps an entry; gives the keys that had to go for it. When this returns, the entry survives the death of this process.
    /// `question`: what it answers, for those who ask nearly the same. Writes to the disk: not for an async task.
    pub fn put(&self, key: Key, payload: &[u8], question: Option<Vec<u8>>) -> Result<Vec<Key>> {
        let stored_at = self.options.clock.wall();
        let bytes = packed(stored_at, payload);
        let size = bytes.len() as u64 + OVERHEAD_BYTES;
        if size > self.options.max_bytes / LARGEST_SHARE || payload.len() > MAX_PAYLOAD_BYTES {
            return Err(Error::Store {
                path: self.options.dir.clone(),
                why: format!("an answer of {size} bytes is too large for it"),
            });
        }
        let question = question.map(Arc::new);
        let record = record(question.as_ref().map(|question| question.as_slice()), &bytes);
        let mut outgoing = hold(&self.journal);
        outgoing.journal.append(&key, &record).map_err(|source| {
            self.shared.errors.fetch_add(1, Ordering::Relaxed);
            Error::io("write the journal in", &self.options.dir)(source)
        })?;
        let bytes = Arc::new(bytes);
        let mut gone = Vec::new();
        {
            let mut index = hold(&self.shared.index);
            index.sieve.insert(key, known(&self.options, stored_at, bytes.len() as u64));
            index.pending.insert(key, Arc::clone(&bytes));
            while index.sieve.total_bytes() > self.options.max_bytes {
                let Some(key) = index.sieve.evict() else { break };
                index.pending.remove(&key);
                gone.push(key);
            }
        }
        self.shared.evicted.fetch_add(gone.len() as u64, Ordering::Relaxed);
        let order = outgoing.order;
        outgoing.order += 1;
        // The writer ends after this store alone.
        let _ = outgoing.queue.send(Op::Put(Put { key, stored_at, order, bytes, question }));
        gone.iter().for_each(|key| drop(outgoing.queue.send(Op::Delete(*key))));
        outgoing.written_bytes += record.len();
        if outgoing.written_bytes >= JOURNAL_BYTES {
            // A full disk: the file stays and is tried again.
            let _ = outgoing.turn();
        }
        Ok(gone)
    }

    /// Forgets an entry.
    pub fn delete(&self, key: &Key) {
        let outgoing = hold(&self.journal);
        let mut index = hold(&self.shared.index);
        if index.sieve.remove(key).is_some() {
            index.pending.remove(key);
            let _ = outgoing.queue.send(Op::Delete(*key));
        }
    }

    /// Forgets everything, or what is at least so old; gives the number of entries. When it returns, none is found
    /// again, nor by the next process; what the disk keeps of them is not wiped. Waits for a commit. Errors: `Io`, `Store`:
    /// none is found by this process, but they may be by the next; it is tried again with the next commit.
    pub fn purge(&self, older_than: Option<Duration>) -> Result<u64> {
        let (done, wait) = mpsc::channel();
        let (count, turned) = {
            let mut outgoing = hold(&self.journal);
            let mut index = hold(&self.shared.index);
            let count = match older_than {
                None => {
                    let count = index.sieve.len();
                    *index = Index::default();
                    let _ = outgoing.queue.send(Op::Clear);
                    count
                }
                Some(limit) => {
                    let now = self.options.clock.wall();
                    let all = index.sieve.all();
                    let old: Vec<Key> = all
                        .into_iter()
                        .filter(|(_, known)| now.saturating_sub(known.stored_at) >= limit.as_secs())
                        .map(|(key, _)| key)
                        .collect();
                    for key in &old {
                        index.sieve.remove(key);
                        index.pending.remove(key);
                        let _ = outgoing.queue.send(Op::Delete(*key));
                    }
                    old.len()
                }
            };
            let turned = outgoing.turn();
            let _ = outgoing.queue.send(Op::Flush(done));
            (count as u64, turned)
        };
        let dir = &self.options.dir;
        let flushed = wait.recv().unwrap_or_else(|_| Err("its writer has ended".to_owned()));
        turned.map_err(Error::io("write the journal in", dir))?;
        flushed.map_err(|why| Error::Store {
            path: dir.clone(),
            why: format!("what was purged may come back with the next start ({why})"),
        })?;
        if older_than.is_none() {
            table::forget_set_aside(dir).map_err(Error::io("remove what was set aside in", dir))?;
        }
        Ok(count)
    }

    /// Waits until everything is committed.
    #[cfg(test)]
    pub fn flush(&self) {
        let (done, wait) = mpsc::channel();
        let _ = hold(&self.journal).queue.send(Op::Flush(done));
        let _ = wait.recv();
    }

    pub fn stats(&self) -> StoreStats {
        let index = hold(&self.shared.index);
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreStats {
            entries: index.sieve.len() as u64,
            bytes: index.sieve.total_bytes(),
            max_bytes: self.options.max_bytes,
            pending: index.pending.len() as u64,
            evicted: count(&self.shared.evicted),
            expired: count(&self.shared.expired),
            errors: count(&self.shared.errors),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        {
            let mut outgoing = hold(&self.journal);
            // What stays in the journal is read again at the next start.
            let _ = outgoing.turn();
            let _ = outgoing.queue.send(Op::Stop);
        }
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn known(options: &StoreOptions, stored_at: u64, bytes: u64) -> Known {
    Known {
        size_bytes: bytes.saturating_add(OVERHEAD_BYTES),
        stored_at,
        age_when_seen: options.clock.wall().saturating_sub(stored_at),
        seen_at: options.clock.steady(),
    }
}

/// Young enough by the wall, not from the future, and never older than twice the limit by the clock that only goes
/// forward, whatever the wall says.
fn is_good(options: &StoreOptions, known: &Known) -> bool {
    let (now, ttl) = (options.clock.wall(), options.ttl.as_secs());
    let steady_age = known.age_when_seen + options.clock.steady().saturating_sub(known.seen_at);
    known.stored_at <= now.saturating_add(CLOCK_SKEW_SECONDS)
        && now.saturating_sub(known.stored_at) < ttl
        && steady_age < ttl.saturating_mul(2)
}

/// Version, time, checksum, lz4.
fn packed(stored_at: u64, payload: &[u8]) -> Vec<u8> {
    let body = lz4_flex::compress_prepend_size(payload);
    let mut out = Vec::with_capacity(body.len() + HEAD_BYTES);
    out.push(VERSION);
    out.extend_from_slice(&stored_at.to_le_bytes());
    out.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
    out.extend_from_slice(&body);
    out
}

fn stored_at(bytes: &[u8]) -> Option<u64> {
    let head = bytes.first_chunk::<HEAD_BYTES>()?;
    (head[0] == VERSION)
        .then(|| u64::from_le_bytes([head[1], head[2], head[3], head[4], head[5], head[6], head[7], head[8]]))
}

fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    stored_at(bytes)?;
    let (head, body) = bytes.split_at_checked(HEAD_BYTES)?;
    let sum = u32::from_le_bytes(*head.last_chunk::<4>()?);
    let size = u32::from_le_bytes(*body.first_chunk::<4>()?);
    if crc32c::crc32c(body) != sum || size as usize > MAX_PAYLOAD_BYTES {
        return None;
    }
    lz4_flex::decompress_size_prepended(body).ok()
}

/// What the journal holds of an entry: length of the question, question, bytes.
fn record(question: Option<&[u8]>, bytes: &[u8]) -> Vec<u8> {
    let question = question.unwrap_or_default();
    let length = u32::try_from(question.len()).unwrap_or(0);
    let mut out = length.to_le_bytes().to_vec();
    out.extend_from_slice(&question[..length as usize]);
    out.extend_from_slice(bytes);
    out
}

/// A question, where there is one, and the stored bytes.
type Recorded = (Option<Arc<Vec<u8>>>, Vec<u8>);

fn unrecord(record: Vec<u8>) -> Option<Recorded> {
    let (length, rest) = record.split_first_chunk::<4>()?;
    let (question, bytes) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let question = (!question.is_empty()).then(|| Arc::new(question.to_vec()));
    Some((question, bytes.to_vec()))
}

#[cfg(test)]
mod tests;
