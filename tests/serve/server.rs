//! The library's server in this process: an index of its own, models that are quick and always the same.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use rag::{
    ingest::{self, Loaders, PageReaders, extract},
    model::{Chat, Embedder, fake::FakeEmbedder},
    retrieve::{Ask, Query, Rerank, Unsupported},
    serve::server::{Access, Failure, Keys, Limits, Listener, Models, NewKey, Options, Prices, State, Stop, Tls, run},
    types::{Cancel, EmbeddingSpace},
};
use serde_json::json;

use super::http::Client;

/// Models that need no weights.
#[derive(Default)]
pub struct Fakes {
    pub chat: Option<Arc<dyn Chat>>,
    /// In place of the one that is at once done; of the same space.
    pub embedder: Option<Arc<dyn Embedder>>,
}

impl Fakes {
    fn embeds(&self) -> Arc<dyn Embedder> {
        self.embedder.clone().unwrap_or_else(|| Arc::new(FakeEmbedder::new()))
    }
}

impl Models for Fakes {
    fn embedder(&self, _: &EmbeddingSpace) -> Result<Arc<dyn Embedder>, Failure> {
        Ok(self.embeds())
    }

    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>, Failure> {
        Ok(Some(self.embeds()))
    }

    fn chat(&self) -> Result<Option<Arc<dyn Chat>>, Failure> {
        Ok(self.chat.clone())
    }

    fn reranker(&self, _: Option<Duration>) -> Result<Rerank, Failure> {
        Err(Failure::usage("no reranker is configured"))
    }

    fn embedder_name(&self, _: &EmbeddingSpace) -> Option<String> {
        Some("fake".to_owned())
    }
}

/// A server that goes when this does.
pub struct Server {
    pub address: SocketAddr,
    pub dir: tempfile::TempDir,
    pub log: Arc<Mutex<Vec<String>>>,
    stop: Stop,
    thread: Option<JoinHandle<bool>>,
}

/// Options of an index in a folder, writing allowed.
pub fn options(index: PathBuf) -> Options {
    let ask = Ask {
        query: Query { k: 50, ..Query::default() },
        max_tokens: 800,
        context_tokens: 8192,
        no_gate: false,
        unsupported: Unsupported::Mark,
        stream: true,
        history: Vec::new(),
        system: None,
        datamark: false,
    };
    let ingest = ingest::Options {
        paths: vec![],
        given: vec![],
        pages: vec![],
        home: None,
        index_dir: index.clone(),
        collection: "default".into(),
        include: vec![],
        exclude: vec![],
        ignore_rules: true,
        hidden: false,
        follow: false,
        max_file_bytes: 64 << 20,
        tags: BTreeMap::new(),
        chunk_tokens: 200,
        chunk_overlap: 0,
        jobs: 1,
        dry_run: false,
        loaders: Loaders::default(),
        page_readers: PageReaders::default(),
        archives: false,
        passwords: extract::Passwords::default(),
        retry_failed: false,
        prune: true,
        allow_empty: false,
        file_timeout: Duration::from_secs(60),
        worker: extract::Worker::InProcess,
    };
    Options {
        index,
        tenants: None,
        models: Arc::new(Fakes::default()),
        query: Query::default(),
        ask,
        prices: Prices::default(),
        ingest,
        access: Access { allow_write: true, ..Access::default() },
        limits: Limits { query_timeout: Duration::from_secs(30), ..Limits::default() },
        settings: "of a test".to_owned(),
        log: None,
        cancel: Cancel::default(),
    }
}

impl Server {
    pub fn start() -> Self {
        Self::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut Options)) -> Self {
        Self::build(change, None)
    }

    pub fn build(change: impl FnOnce(&mut Options), tls: Option<Tls>) -> Self {
        let dir = tempfile::Builder::new().prefix("rag-serve-").tempdir().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut options = options(dir.path().join("index"));
        let lines = Arc::clone(&log);
        options.log = Some(Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned())));
        change(&mut options);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Stop::default();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            let ended = runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                run(State::new(options), vec![Listener::Tcp { listener, tls }], stopped).await
            });
            runtime.shutdown_timeout(Duration::from_secs(1));
            ended
        });
        Self { address, dir, log, stop, thread: Some(thread) }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    pub fn add(&self, name: &str, text: &str) {
        self.client().post("/v1/documents", &json!({ "name": name, "text": text })).ok();
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Tells it to stop and waits. Says whether everything ended by itself.
    pub fn stop(&mut self) -> bool {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap()
    }

    /// Tells it to stop.
    pub fn begin_to_stop(&self) {
        self.stop.stop();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Keys by their entries, without name and hash; gives the keys themselves.
pub fn keys(entries: &[&str]) -> (Keys, Vec<String>) {
    let (file, made) = keys_file(entries);
    (Keys::read(&file).unwrap(), made)
}

/// As [`keys`], as the file they stand in.
pub fn keys_file(entries: &[&str]) -> (String, Vec<String>) {
    let made: Vec<NewKey> = entries.iter().map(|_| NewKey::make().unwrap()).collect();
    let file: String = entries
        .iter()
        .zip(&made)
        .enumerate()
        .map(|(at, (entry, made))| format!("[[key]]\nname = \"k{at}\"\nhash = \"{}\"\n{entry}\n", made.hash))
        .collect();
    (file, made.into_iter().map(|made| made.key).collect())
}
