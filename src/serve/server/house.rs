//! One index that is served: its newest generation in memory, its models, its one way to be written.
//!
//! **Readers are never blocked.** Each request takes the snapshot there is. Before that it looks whether there was a commit
//! (one `stat`); who sees one first opens the new generation, and the others go on with the one before. What this process
//! wrote itself is opened before its client hears of it, so that everybody reads what they wrote.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock, TryLockError},
    time::{Duration, Instant},
};

use super::{
    failure::{Failure, Result},
    files::Files,
    options::Options,
};
use crate::{
    index::{Index, Settings, Snapshot, Stamp, Writer, WriterOptions},
    model::Embedder,
    retrieve::Mode,
    serve::api::ErrorType,
    types::Kind,
};

/// How long a change waits for another process that writes.
const WAIT_TO_WRITE: Duration = Duration::from_secs(20);
/// How often a change looks whether it is its turn.
const TURN: Duration = Duration::from_millis(5);

/// See the module.
pub struct House {
    pub dir: PathBuf,
    /// The folder that holds it, if it is called `.rag`.
    pub home: Option<PathBuf>,
    pub tenant: Option<String>,
    held: RwLock<Option<Held>>,
    opening: Mutex<()>,
    /// By folder name of the space.
    embedders: Mutex<HashMap<String, Arc<dyn Embedder>>>,
    writing: Mutex<()>,
}

#[derive(Clone)]
struct Held {
    stamp: Stamp,
    snapshot: Snapshot,
}

impl House {
    pub fn new(dir: PathBuf, home: Option<PathBuf>, tenant: Option<String>) -> Self {
        Self {
            dir,
            home,
            tenant,
            held: RwLock::new(None),
            opening: Mutex::new(()),
            embedders: Mutex::new(HashMap::new()),
            writing: Mutex::new(()),
        }
    }

    pub fn exists(&self) -> bool {
        Index::is_at(&self.dir)
    }

    /// The newest generation, or the one before it while somebody else opens it. Blocks for the milliseconds of an opening.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let held = self.held();
        let stamp = match Index::open(&self.dir).and_then(|index| index.stamp()) {
            Ok(stamp) => stamp,
            Err(error) => return Err(error.into()),
        };
        match held {
            Some(held) if held.stamp == stamp => Ok(held.snapshot),
            Some(held) => match self.opening.try_lock() {
                Ok(_opening) => self.open(),
                Err(_) => Ok(held.snapshot),
            },
            None => {
                let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
                // Another one may have opened it meanwhile.
                match self.held().filter(|held| held.stamp == stamp) {
                    Some(held) => Ok(held.snapshot),
                    None => self.open(),
                }
            }
        }
    }

    /// Opens what was committed last. For a change whose client is about to hear of it.
    pub fn renew(&self) -> Result<Snapshot> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        self.open()
    }

    fn held(&self) -> Option<Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn open(&self) -> Result<Snapshot> {
        let index = Index::open(&self.dir)?;
        let stamp = index.stamp()?;
        let snapshot = index.snapshot()?;
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        // Whoever opened a later one was faster.
        if held.as_ref().is_none_or(|held| held.snapshot.generation() <= snapshot.generation()) {
            *held = Some(Held { stamp, snapshot: snapshot.clone() });
        }
        Ok(snapshot)
    }

    /// The embedder of a snapshot's space, opened once; `None`: it has no vectors, or words alone are asked for.
    pub fn embedder(&self, options: &Options, snapshot: &Snapshot, mode: Mode) -> Result<Option<Arc<dyn Embedder>>> {
        let Some(space) = snapshot.space().filter(|_| mode != Mode::Lexical) else { return Ok(None) };
        let mut known = self.embedders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(embedder) = known.get(&space.folder()) {
            return Ok(Some(Arc::clone(embedder)));
        }
        let embedder = options.models.embedder(space)?;
        known.insert(space.folder(), Arc::clone(&embedder));
        Ok(Some(embedder))
    }

    /// Tells whether files are as they were ingested.
    pub fn files<'s>(&self, snapshot: &'s Snapshot) -> Files<'s> {
        Files::new(self.home.clone(), snapshot)
    }

    /// Makes the index if there is none.
    pub fn create(&self, options: &Options) -> Result<()> {
        if self.exists() {
            return Ok(());
        }
        let embedder = options.models.embedder_for_new()?;
        let settings = Settings { space: embedder.as_ref().map(|embedder| embedder.space().clone()) };
        if let Some(parent) = self.dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            make_private(parent)?;
        }
        Index::create(&self.dir, &settings)?;
        if let Some(embedder) = embedder {
            let mut known = self.embedders.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(embedder.space().folder(), embedder);
        }
        Ok(())
    }

    /// Changes the index: one at a time in this process, after any other process. What `change` committed is what readers
    /// see when this returns.
    pub fn write<T>(&self, command: &str, change: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        let _writing = self.turn()?;
        let index = Index::open(&self.dir)?;
        let options = WriterOptions {
            wait: WAIT_TO_WRITE,
            command: format!("rag serve ({command})"),
            ..WriterOptions::default()
        };
        let mut writer = index.writer(&options)?;
        let result = change(&mut writer);
        drop(writer);
        self.renew()?;
        result
    }

    /// Waits for the turn to write, as long as for another process.
    fn turn(&self) -> Result<std::sync::MutexGuard<'_, ()>> {
        let begun = Instant::now();
        loop {
            match self.writing.try_lock() {
                Ok(turn) => return Ok(turn),
                Err(TryLockError::Poisoned(error)) => return Ok(error.into_inner()),
                Err(TryLockError::WouldBlock) if begun.elapsed() >= WAIT_TO_WRITE => {
                    let kind = ErrorType::Of(Kind::Locked);
                    return Err(
                        Failure::new(kind, "another change of this server is going on").hint("come again later")
                    );
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(TURN),
            }
        }
    }

    /// The index as it is called: its folder as it was given, of which strangers hear the last part alone.
    pub fn shown(&self, is_insider: bool) -> String {
        match (&self.tenant, self.dir.file_name()) {
            (Some(tenant), _) => tenant.clone(),
            (None, Some(name)) if !is_insider => name.to_string_lossy().into_owned(),
            (None, _) => self.dir.display().to_string(),
        }
    }

    /// What stays out of messages.
    pub fn private_paths(&self) -> Vec<PathBuf> {
        let absolute = std::path::absolute(&self.dir).ok();
        let mut paths: Vec<PathBuf> =
            [Some(self.dir.clone()), absolute, self.home.clone()].into_iter().flatten().collect();
        // The longest first: one may hold another.
        paths.sort_by_key(|path| std::cmp::Reverse(path.as_os_str().len()));
        paths
    }
}

/// A folder that others cannot read, and those above it.
fn make_private(dir: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| {
        Failure::new(ErrorType::Of(Kind::Io), format!("cannot make the folder `{}`: {error}", dir.display()))
    })
}
