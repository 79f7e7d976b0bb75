//! What every tool works with: the newest generations, the writing threads, the models, and the rules of this server.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    index::{self, Index, Settings, Snapshot, WriterOptions},
    ingest::{self, DepositOptions},
    model::Embedder,
    retrieve::{Ask, Query},
    serve::{
        current::Current,
        memory,
        models::Models,
        told::Told,
        writes::{Change, Done, Receipt, Writes, WritesOptions},
    },
    types::{Cancel, EmbeddingSpace, Kind},
};

/// Changes of a client that may wait to be written.
const QUEUE: usize = 256;

/// What a server of tools may do and with what. Plain values; the door fills them.
#[derive(Clone)]
pub struct Options {
    /// `ingest` and `delete_source` are there.
    pub allow_write: bool,
    /// The memory tools are there.
    pub memory: bool,
    /// Folders that `ingest` may read, as they are named on the command line. None: those that the client names as its
    /// roots, if `trust_roots`, else [`home`](Self::home).
    pub roots: Vec<PathBuf>,
    /// The client is a program of the same user on this machine: what it calls its roots may be read.
    pub trust_roots: bool,
    /// What relative paths are relative to, and what may be read where nothing else is named.
    pub home: Option<PathBuf>,
    /// How folders are ingested; paths, collection and tags are the call's own. Its `index_dir` is the index.
    pub ingest: ingest::Options,
    /// How to search, where a call does not say.
    pub query: Query,
    /// How to answer, where a call does not say.
    pub ask: Ask,
    /// How long to wait for another process that writes.
    pub writer: WriterOptions,
    pub models: Arc<dyn Models>,
    /// The writing thread of the documents, where there is one already.
    pub documents: Option<Arc<Writes>>,
}

/// See the module.
pub struct State {
    pub options: Options,
    documents: Current,
    memories: Current,
    document_writes: Mutex<Option<Arc<Writes>>>,
    memory_writes: Mutex<Option<Arc<Writes>>>,
    /// Nothing waits long any more.
    closing: AtomicBool,
    /// Calls are asked to stop.
    stopping: AtomicBool,
    /// What goes on: asked to stop when the client has gone.
    calls: Mutex<HashMap<u64, Cancel>>,
    next_call: AtomicU64,
}

/// A call that goes on, until this is dropped.
pub struct Running<'a> {
    state: &'a State,
    number: u64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.state.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

impl State {
    pub fn new(options: Options) -> Self {
        let dir = options.ingest.index_dir.clone();
        Self {
            documents: Current::new(dir.clone()),
            memories: Current::new(memory::folder(&dir)),
            document_writes: Mutex::new(options.documents.clone()),
            memory_writes: Mutex::default(),
            closing: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            calls: Mutex::default(),
            next_call: AtomicU64::new(0),
            options,
        }
    }

    pub fn index_dir(&self) -> &Path {
        self.documents.dir()
    }

    /// The documents; `None`: there is no index yet.
    pub fn documents(&self) -> Result<Option<Snapshot>, Told> {
        Ok(self.documents.snapshot()?)
    }

    /// The documents. Errors: there is no index yet, with what makes one.
    pub fn need_documents(&self) -> Result<Snapshot, Told> {
        let how = if self.options.allow_write {
            "call `ingest` with a path or a text, or run `rag ingest FOLDER` where the server was started"
        } else {
            "run `rag ingest FOLDER` where the server was started; it is seen at the next call"
        };
        self.documents()?.ok_or_else(|| Told::new(Kind::NotFound, "there is no index yet").hint(how))
    }

    /// The memories; `None`: nothing was ever remembered.
    pub fn memories(&self) -> Result<Option<Snapshot>, Told> {
        Ok(self.memories.snapshot()?)
    }

    pub fn embedder(&self, snapshot: &Snapshot) -> Result<Option<Arc<dyn Embedder>>, Told> {
        self.options.models.embedder(snapshot)
    }

    /// Changes documents and waits until that is durable.
    pub fn change_documents(&self, change: Change) -> Result<Done, Told> {
        self.submit_documents(change)?.wait_here()
    }

    /// Has documents changed.
    pub fn submit_documents(&self, change: Change) -> Result<Receipt, Told> {
        self.submit(&self.document_writes, change, Self::start_documents)
    }

    /// Changes memories and waits until that is durable.
    pub fn change_memories(&self, change: Change) -> Result<Done, Told> {
        self.submit(&self.memory_writes, change, Self::start_memories)?.wait_here()
    }

    fn submit(
        &self,
        of: &Mutex<Option<Arc<Writes>>>,
        change: Change,
        start: fn(&Self) -> std::io::Result<Writes>,
    ) -> Result<Receipt, Told> {
        let writes = {
            let mut writes = of.lock().unwrap_or_else(PoisonError::into_inner);
            match &*writes {
                Some(writes) => Arc::clone(writes),
                None => {
                    let started = start(self)
                        .map_err(|error| Told::new(Kind::Io, format!("cannot start the writing thread: {error}")))?;
                    Arc::clone(writes.insert(Arc::new(started)))
                }
            }
        };
        if self.closing.load(Ordering::SeqCst) {
            writes.hurry();
        }
        Ok(writes.submit(change)?)
    }

    fn start_documents(&self) -> std::io::Result<Writes> {
        let (dir, models) = (self.index_dir().to_path_buf(), Arc::clone(&self.options.models));
        Writes::start(
            self.writes_options(dir.clone()),
            Box::new(move || {
                let index = open_or_make(&dir, &*models)?;
                let embedder = models.embedder_to_fill(&index.snapshot()?)?;
                Ok((index, embedder))
            }),
        )
    }

    fn start_memories(&self) -> std::io::Result<Writes> {
        let (dir, models) = (self.index_dir().to_path_buf(), Arc::clone(&self.options.models));
        let folder = memory::folder(&dir);
        Writes::start(
            self.writes_options(folder.clone()),
            Box::new(move || {
                // The folder of the documents is an index before anything is in it: it is found like any other.
                let documents = open_or_make(&dir, &*models)?;
                let space = || Ok(documents.snapshot()?.space().cloned());
                let index = opened_or_made(&folder, space)?;
                let embedder = models.embedder_to_fill(&index.snapshot()?)?;
                Ok((index, embedder))
            }),
        )
    }

    fn writes_options(&self, index_dir: PathBuf) -> WritesOptions {
        let deposit = DepositOptions::of(&self.options.ingest, index_dir);
        WritesOptions { deposit, writer: self.options.writer.clone(), queue: QUEUE }
    }

    /// Notes a call that begins, so that it is asked to stop when the client goes.
    pub fn begin(&self, cancel: &Cancel) -> Running<'_> {
        let number = self.next_call.fetch_add(1, Ordering::Relaxed);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(number, cancel.clone());
        if self.stopping.load(Ordering::SeqCst) {
            cancel.ask();
        }
        Running { state: self, number }
    }

    /// Asks what goes on to stop, and what comes.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(Cancel::ask);
        self.hurry();
    }

    /// The client has gone: nothing waits for another process any longer than a moment.
    pub fn hurry(&self) {
        self.closing.store(true, Ordering::SeqCst);
        for writes in [&self.document_writes, &self.memory_writes] {
            if let Some(writes) = &*writes.lock().unwrap_or_else(PoisonError::into_inner) {
                writes.hurry();
            }
        }
    }

    /// Ends the writing threads of this server. Says whether everything that was taken is durable.
    pub fn close(&self, within: Duration) -> bool {
        self.stop();
        let shared = self.options.documents.is_some();
        let documents = self.document_writes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let memories = self.memory_writes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let own = documents.filter(|_| !shared);
        // Each of them, whatever became of the one before.
        let ended: Vec<bool> = [own, memories].into_iter().flatten().map(|writes| writes.close(within)).collect();
        ended.into_iter().all(|ended| ended)
    }
}

/// Opens the index of the documents, or makes an empty one with the embedder that the settings name.
fn open_or_make(dir: &Path, models: &dyn Models) -> Result<Index, Told> {
    opened_or_made(dir, || Ok(models.embedder_for_new()?.map(|embedder| embedder.space().clone())))
}

/// One that another process is making at this moment is not there yet: making it waits for that.
fn opened_or_made(dir: &Path, space: impl FnOnce() -> Result<Option<EmbeddingSpace>, Told>) -> Result<Index, Told> {
    match Index::open(dir) {
        Err(index::Error::NotFound { .. }) => Ok(Index::create(dir, &Settings { space: space()? })?),
        opened => Ok(opened?),
    }
}
