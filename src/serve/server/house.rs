//! One index that is served: its newest generation in memory, its models, its one way to be written.
//!
//! **Readers are never blocked.** Each request takes the snapshot there is. Before that it looks whether there was a commit
//! (one `stat`); who sees one first opens the new generation, and the others go on with the one before. What this process
//! wrote itself is opened before its client hears of it, so that everybody reads what they wrote.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        mpsc::{self, RecvError},
    },
    time::Duration,
};

use super::{
    asked::Asked,
    failure::{Failure, Result},
    politeness::Polite,
    state::State,
};
use crate::{
    index::{Index, Mark, Room, Settings, Snapshot, Writer, WriterOptions},
    ingest::{Deposit, DepositOptions},
    model::Embedder,
    retrieve::Mode,
    serve::{
        api::ErrorType,
        files::Files,
        mcp,
        told::Told,
        writes::{Change, Done, Receipt, Writes, WritesOptions},
    },
    types::Kind,
};

/// How long a change waits for another process that writes.
pub const WAIT_TO_WRITE: Duration = Duration::from_secs(20);
/// Changes that wait to be written.
const QUEUE: usize = 256;

/// See the module.
pub struct House {
    pub dir: PathBuf,
    /// The folder that holds it, if it is called `.rag`.
    pub home: Option<PathBuf>,
    pub tenant: Option<String>,
    held: RwLock<Option<Held>>,
    opening: Mutex<()>,
    writes: Mutex<Option<Arc<Writes>>>,
    /// By the folder of its space: the embedder, and the vectors of what was asked here.
    asked: Mutex<Option<(String, Arc<dyn Embedder>)>>,
    /// By whether documents and memories may be changed.
    pub tools: Mutex<HashMap<bool, (mcp::Server, mcp::HttpService)>>,
}

#[derive(Clone)]
struct Held {
    index: Index,
    mark: Mark,
    snapshot: Snapshot,
}

impl Held {
    /// One `stat`. An index that cannot be looked at is opened anew, which says why.
    fn is_newest(&self) -> bool {
        self.index.mark().is_ok_and(|mark| mark == self.mark)
    }
}

impl House {
    pub fn new(dir: PathBuf, home: Option<PathBuf>, tenant: Option<String>) -> Self {
        Self {
            dir,
            home,
            tenant,
            held: RwLock::new(None),
            opening: Mutex::new(()),
            writes: Mutex::new(None),
            asked: Mutex::new(None),
            tools: Mutex::default(),
        }
    }

    pub fn exists(&self) -> bool {
        Index::is_at(&self.dir)
    }

    /// The newest generation, or the one before it while somebody else opens it. Blocks for the milliseconds of an opening.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let Some(held) = self.held() else { return self.renew() };
        if held.is_newest() {
            return Ok(held.snapshot);
        }
        match self.opening.try_lock() {
            Ok(_opening) => self.open(),
            Err(_) => Ok(held.snapshot),
        }
    }

    /// What was committed last, opened by whoever needs it first. For a change whose client is about to hear of it.
    pub fn renew(&self) -> Result<Snapshot> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        match self.held().filter(Held::is_newest) {
            Some(held) => Ok(held.snapshot),
            None => self.open(),
        }
    }

    fn held(&self) -> Option<Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn open(&self) -> Result<Snapshot> {
        let index = Index::open(&self.dir)?;
        // Before the snapshot: a commit that comes between is seen at the next look.
        let mark = index.mark()?;
        let snapshot = index.snapshot()?;
        *self.held.write().unwrap_or_else(PoisonError::into_inner) =
            Some(Held { index, mark, snapshot: snapshot.clone() });
        Ok(snapshot)
    }

    /// The embedder of a snapshot's space; `None`: it has no vectors, or words alone are asked for.
    pub fn embedder(&self, state: &State, snapshot: &Snapshot, mode: Mode) -> Result<Option<Arc<dyn Embedder>>> {
        let Some(space) = snapshot.space().filter(|_| mode != Mode::Lexical) else { return Ok(None) };
        let folder = space.folder();
        let known = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, embedder)) = known().as_ref().filter(|(of, _)| *of == folder) {
            return Ok(Some(Arc::clone(embedder)));
        }
        // Opening a model takes its time, and only who needs it waits.
        let embedder: Arc<dyn Embedder> = Arc::new(Asked::new(state.embedder(space)?));
        let mut known = known();
        let (_, embedder) = match known.take().filter(|(of, _)| *of == folder) {
            Some(first) => known.insert(first),
            None => known.insert((folder, embedder)),
        };
        Ok(Some(Arc::clone(embedder)))
    }

    /// As [`embedder`](Self::embedder), for what is added: it lets searches go first.
    fn polite(&self, state: &State, snapshot: &Snapshot) -> Result<Option<Arc<dyn Embedder>>> {
        let embedder = self.embedder(state, snapshot, Mode::Hybrid)?;
        let polite = |embedder| Polite { embedder, politeness: Arc::clone(&state.0.politeness) };
        Ok(embedder.map(|embedder| Arc::new(polite(embedder)) as Arc<dyn Embedder>))
    }

    /// Who embeds what is added, as a report names it.
    pub fn embedder_name(&self, state: &State) -> Result<Option<String>> {
        let embedder = self.embedder(state, &self.snapshot()?, Mode::Hybrid)?;
        Ok(embedder.map(|embedder| format!("{}, {}", embedder.space().model, embedder.backend())))
    }

    /// Tells whether files are as they were ingested.
    pub fn files<'s>(&self, snapshot: &'s Snapshot) -> Files<'s> {
        Files::new(self.home.clone(), snapshot)
    }

    /// Opens the index, or makes it.
    pub fn create(&self, state: &State) -> Result<Index> {
        if self.exists() {
            return Ok(Index::open(&self.dir)?);
        }
        let embedder = state.options().models.embedder_for_new()?;
        let settings = Settings { space: embedder.as_ref().map(|embedder| embedder.space().clone()) };
        if let Some(parent) = self.dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            make_private(parent)?;
        }
        Ok(Index::create(&self.dir, &settings)?)
    }

    /// The writing thread: all changes of this process go through it, and those that come together share a commit.
    pub fn writes(&self, state: &State) -> Result<Arc<Writes>> {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writes) = &*writes {
            return Ok(Arc::clone(writes));
        }
        let options = WritesOptions {
            deposit: DepositOptions::of(&state.options().ingest, self.dir.clone()),
            writer: WriterOptions { wait: WAIT_TO_WRITE, command: "rag serve".to_owned(), ..WriterOptions::default() },
            queue: QUEUE,
        };
        // The thread must not keep alive whom it writes for: it ends when the last of them goes.
        let (house, shared) = (state.weak_house(self.tenant.as_deref())?, state.downgrade());
        let open = move || {
            let gone = || Told::new(Kind::Cancelled, "the server is being stopped");
            let house = house.upgrade().ok_or_else(gone)?;
            let state = shared.upgrade().ok_or_else(gone)?;
            let index = house.create(&state)?;
            let embedder = house.polite(&state, &index.snapshot()?)?;
            Ok((index, embedder))
        };
        let started = Writes::start(options, Box::new(open)).map_err(|error| {
            Failure::new(ErrorType::Of(Kind::Io), format!("cannot start the writing thread: {error}"))
        })?;
        Ok(Arc::clone(writes.insert(Arc::new(started))))
    }

    /// Changes the index by work that commits on its own: it has the writer to itself, and others wait. What it committed is
    /// what readers see when this returns. Blocks.
    pub fn write<T: Send + 'static>(
        &self,
        state: &State,
        room: Room,
        change: impl FnOnce(&mut Writer, Option<&dyn Embedder>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (tell, told) = mpsc::channel();
        let whole = Change::whole(move |writer, embedder| {
            let result = change(writer, embedder);
            let end = result.as_ref().map(drop).map_err(|failure| Told::from(failure.clone()));
            // Whoever asked waits until the thread has answered.
            let _ = tell.send(result);
            end
        });
        let done = self.submit(state, whole.within(room))?.wait_here();
        self.renew()?;
        match (told.try_recv(), done) {
            (Ok(result), _) => result,
            (Err(_), Err(told)) => Err(told.into()),
            (Err(_), Ok(_)) => Err(Failure::bug(RecvError.to_string())),
        }
    }

    /// Puts changes into the queue.
    pub fn submit(&self, state: &State, change: Change) -> Result<Receipt> {
        self.writes(state)?.submit(change).map_err(|error| match error {
            crate::serve::writes::NotTaken::Full => Failure::busy(),
            crate::serve::writes::NotTaken::Closed => Told::from(error).into(),
        })
    }

    /// Puts documents, each with an answer of its own, durable when this returns. Blocks.
    pub fn put(&self, state: &State, room: Room, deposits: Vec<Deposit>) -> Result<Vec<Result<Done, Told>>> {
        // All are in the queue before the first is waited for, so that they share a commit.
        let submitted: Vec<Result<Receipt>> =
            deposits.into_iter().map(|deposit| self.submit(state, Change::put(deposit).within(room))).collect();
        let done = submitted.into_iter().map(|receipt| receipt.map(Receipt::wait_here)).collect();
        self.renew()?;
        done
    }

    /// Takes no more changes, and waits for those that were taken. Says whether all are durable.
    pub fn close(&self, within: Duration) -> bool {
        let tools: Vec<mcp::Server> = {
            let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
            tools.drain().map(|(_, (server, _))| server).collect()
        };
        tools.iter().for_each(mcp::Server::stop);
        let writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let documents = writes.is_none_or(|writes| writes.close(within));
        tools.iter().map(|server| server.close(within)).fold(documents, |all, one| all && one)
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
