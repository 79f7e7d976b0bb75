//! `rag proxy`: an OpenAI-compatible caching proxy in front of one LLM or embedding server (docs/proxy.md).
//!
//! Useful for: not paying twice for the same answer. Not for: choosing between servers, or rewriting requests.
//!
//! A request's way: `gate` lets it in, `handle` reads it, `rules` say whether its answer may be kept, `identity` names it,
//! `cached` (chats, responses) or `embeddings` (vectors, text by text) answer it from the `store`, or from a `flight` that
//! `upstream` leads; everything else goes through as it is.

mod answer;
mod body;
mod cached;
mod canonical;
mod chat;
pub mod client;
mod embeddings;
mod error;
mod flight;
mod frames;
mod gate;
mod handle;
mod headers;
mod identity;
mod paths;
mod responses;
mod rules;
mod semantic;
mod server;
mod stats;
mod store;
mod upstream;
mod vectors;

pub use canonical::{canonical, parse as parse_canonical};
pub use error::{Error, Result};
pub use gate::bind;
pub use rules::Allowed;
pub use stats::{SCHEMA as STATS_SCHEMA, Stats};
pub use store::{Clock, Owner, StoreStats, SystemClock, owner};

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, watch};

use crate::{
    model::{Embedder, http::Key},
    serve::server::Tls,
    types::Cancel,
};

/// How often the proxy looks whether it is to end.
const POLL: Duration = Duration::from_millis(50);

/// Everything about one proxy.
pub struct Options {
    /// Base URL of the server behind it.
    pub upstream: String,
    /// Folder of the cache.
    pub dir: PathBuf,
    pub ttl: Duration,
    pub max_size_bytes: u64,
    pub allowed: Allowed,
    /// The longest body of a request.
    pub max_body_bytes: usize,
    /// Pause between two parts of a replayed stream.
    pub replay_pace: Duration,
    /// How long the server may be silent.
    pub idle_timeout: Duration,
    /// Lent to requests that bring no key of their own.
    pub own_key: Option<Key>,
    /// Keys of which a client must show one; empty: anyone may ask.
    pub client_keys: Vec<Key>,
    /// Names under which the proxy may be called, besides its own.
    pub allowed_hosts: Vec<String>,
    /// Keys may travel unencrypted to a server that is not on this machine.
    pub allow_plaintext: bool,
    /// Certificates to trust besides those of the system, in PEM.
    pub ca_pem: Vec<u8>,
    /// Answers to questions that mean the same: the least similarity, and who measures it.
    pub semantic: Option<(f32, Arc<dyn Embedder>)>,
    /// Speak TLS with this certificate.
    pub tls: Option<Tls>,
    pub clock: Arc<dyn Clock>,
}

impl Options {
    /// The usual proxy of a server, with its cache in a folder.
    pub fn new(upstream: impl Into<String>, dir: impl Into<PathBuf>) -> Self {
        Self {
            upstream: upstream.into(),
            dir: dir.into(),
            ttl: Duration::from_secs(168 * 3600),
            max_size_bytes: 1 << 30,
            allowed: Allowed::default(),
            max_body_bytes: 32 << 20,
            replay_pace: Duration::ZERO,
            idle_timeout: Duration::from_secs(600),
            own_key: None,
            client_keys: Vec::new(),
            allowed_hosts: Vec::new(),
            allow_plaintext: false,
            ca_pem: Vec::new(),
            semantic: None,
            tls: None,
            clock: Arc::new(SystemClock::default()),
        }
    }
}

/// What the start of a proxy has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    pub address: SocketAddr,
    /// The server behind it, for people.
    pub upstream: String,
    pub cache: StoreStats,
    /// The cache was damaged and is kept here; an empty one was begun.
    pub set_aside: Option<PathBuf>,
}

/// Serves on a listener ([`bind`]) until it is asked to stop; `on_ready` is called once requests are taken. Blocks; not for
/// an async task. Errors: `Options`, `Locked` (another process has the cache), `Io`.
pub fn serve(options: Options, listener: TcpListener, cancel: &Cancel, on_ready: &mut dyn FnMut(&Ready)) -> Result<()> {
    let address = listener.local_addr().map_err(|source| Error::Listen { address: "?".to_owned(), source })?;
    let upstream = paths::Upstream::parse(&options.upstream)?;
    if !upstream.is_https && !upstream.is_loopback && !options.allow_plaintext {
        return Err(Error::Options {
            what: format!("the keys of clients would travel unencrypted to `{}`", upstream.shown()),
        });
    }
    if options.ttl.as_secs() == 0 {
        return Err(Error::Options { what: "answers must be kept for a second at least".to_owned() });
    }
    if options.own_key.as_ref().is_some_and(|key| key.credential(upstream.is_azure).is_none()) {
        return Err(Error::Options { what: "the key has characters that no header can carry".to_owned() });
    }
    let client = upstream::connect(&upstream, &options.ca_pem, options.idle_timeout)?;
    let (store, opened) = store::Store::open(store::StoreOptions {
        dir: options.dir.clone(),
        ttl: options.ttl,
        max_bytes: options.max_size_bytes,
        clock: Arc::clone(&options.clock),
        damaged: store::Damaged::SetAside,
    })?;
    let secret = identity::Secret::of(&options.dir)?;
    let semantic = options.semantic.map(|(threshold, embedder)| {
        let semantic = semantic::Semantic::new(threshold, embedder);
        for (key, bytes) in &opened.questions {
            if let Some(question) = semantic::Question::decoded(bytes) {
                semantic.learn(*key, question);
            }
        }
        semantic
    });
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    store.say_where(&format!("{scheme}://{address}"));
    let ready = Ready { address, upstream: upstream.shown(), cache: store.stats(), set_aside: opened.set_aside };
    let gate = gate::Gate::new(options.client_keys.iter().map(Key::expose), &options.allowed_hosts, address);
    let inner = Arc::new(server::Inner {
        upstream,
        client,
        store,
        secret,
        flights: flight::Flights::default(),
        stats: stats::Counters::default(),
        semantic,
        gate,
        allowed: options.allowed,
        own_key: options.own_key,
        max_body_bytes: options.max_body_bytes,
        replay_pace: options.replay_pace,
        in_flight: Arc::new(Semaphore::new(server::MAX_IN_FLIGHT)),
        started: Instant::now(),
        stop: watch::Sender::new(false),
    });
    let tls = options.tls.map(|tls| tls.without_h2());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("proxy")
        .build()
        .map_err(|source| Error::Listen { address: address.to_string(), source })?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)
            .map_err(|source| Error::Listen { address: address.to_string(), source })?;
        on_ready(&ready);
        server::run(Arc::clone(&inner), listener, tls, async {
            while !cancel.is_asked() {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
        Ok(())
    })?;
    // What still runs holds the cache; it is committed when the last of it ends.
    runtime.shutdown_timeout(Duration::from_millis(500));
    Ok(())
}

/// The counters of a cache that no proxy uses now; how large it may be is not known. Errors: `Locked`, `Io`, `Damaged`.
pub fn cache_stats(dir: &Path) -> Result<StoreStats> {
    let store = open_idle(dir)?;
    Ok(StoreStats { max_bytes: 0, ..store.stats() })
}

/// Empties a cache that no proxy uses now, or takes out what is so old; gives the number of entries. Errors: `Locked`, `Io`,
/// `Damaged`.
pub fn cache_purge(dir: &Path, older_than: Option<Duration>) -> Result<u64> {
    open_idle(dir)?.purge(older_than)
}

/// Opens a cache to look at: nothing is too old or too much, and what is damaged stays where it is.
fn open_idle(dir: &Path) -> Result<store::Store> {
    let (ttl, clock) = (Duration::from_secs(u64::from(u32::MAX)), Arc::new(SystemClock::default()));
    let damaged = store::Damaged::Refuse;
    Ok(store::Store::open(store::StoreOptions { dir: dir.to_path_buf(), ttl, max_bytes: u64::MAX, clock, damaged })?.0)
}
