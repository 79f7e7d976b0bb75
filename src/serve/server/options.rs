//! What a server is started with: plain values, which its door fills.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{failure::Result, keys::Keys};
use crate::{
    ingest,
    model::{Chat, Embedder},
    retrieve::{Ask, Query, Rerank},
    types::{Cancel, EmbeddingSpace},
};

/// Models as the server's settings name them. A client never has a say in this.
pub trait Models: Send + Sync {
    /// The embedder of an index's space, prepared for many texts.
    fn embedder(&self, space: &EmbeddingSpace) -> Result<Arc<dyn Embedder>>;

    /// The embedder that a new index gets; `None`: an index without vectors.
    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>>;

    /// The model that answers; `None`: sentences of the documents are quoted.
    fn chat(&self) -> Result<Option<Arc<dyn Chat>>>;

    /// Errors: none is configured.
    fn reranker(&self, budget: Option<Duration>) -> Result<Rerank>;

    /// Who embeds for an index of this space, in words; loads no model.
    fn embedder_name(&self, space: &EmbeddingSpace) -> Option<String>;
}

/// Gets each line of the access log, without its line feed.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// What may be done, and by whom.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Without any, everybody who can connect may do what the server does at all.
    pub keys: Keys,
    /// Documents may be added and removed.
    pub allow_write: bool,
    /// Folders of this machine that a client may have ingested, or what is in them. None: no path at all.
    pub ingest_roots: Vec<PathBuf>,
    /// Clients may have pages fetched.
    pub allow_url_ingest: bool,
    /// Names, with a port or without, that a `Host` header may have beside those of this machine and of the address.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may read answers. Never `*`.
    pub cors_origins: Vec<String>,
}

/// Bounds of everything that comes from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    pub json_bytes: usize,
    pub upload_bytes: u64,
    pub header_bytes: usize,
    pub url_bytes: usize,
    pub json_depth: usize,
    /// Texts of one call of embeddings, messages of one conversation, files of one upload.
    pub batch: usize,
    /// For the head of a request, from its first byte; of a new connection, from its beginning.
    pub header_timeout: Duration,
    /// Between two parts of a body, and for a client that does not take its answer.
    pub idle_timeout: Duration,
    /// Between two requests of a connection.
    pub keep_alive: Duration,
    pub connections: usize,
    /// Requests that search or answer at once.
    pub in_flight: usize,
    /// Requests that wait for one of them to end.
    pub queue: usize,
    /// For a search, from its arrival.
    pub query_timeout: Duration,
    /// Failed attempts to show a key, a second and a peer.
    pub failed_keys_per_second: f64,
    /// Requests in flight get so long when the server stops.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json_bytes: 8 << 20,
            upload_bytes: 64 << 20,
            header_bytes: 16 << 10,
            url_bytes: 8 << 10,
            json_depth: 64,
            batch: 256,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(60),
            connections: 1024,
            in_flight: 64,
            queue: 256,
            query_timeout: Duration::from_secs(2),
            failed_keys_per_second: 10.0,
            grace: Duration::from_secs(5),
        }
    }
}

/// What tokens cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    pub per_million_input: Option<f64>,
    pub per_million_output: Option<f64>,
}

/// See the module.
#[derive(Clone)]
pub struct Options {
    /// The index folder that is served to whoever has no tenant. It need not exist yet if writing is allowed.
    pub index: PathBuf,
    /// Folder of the tenants' indexes, one folder each.
    pub tenants: Option<PathBuf>,
    pub models: Arc<dyn Models>,
    /// A query of which a client said nothing.
    pub query: Query,
    /// A question of which a client said nothing.
    pub ask: Ask,
    pub prices: Prices,
    /// An ingest of which a client said nothing: no paths, no pages; `index_dir` and `home` of the served index.
    pub ingest: ingest::Options,
    pub access: Access,
    pub limits: Limits,
    /// blake3 of the settings that answers depend on, in hex.
    pub settings: String,
    pub log: Option<Log>,
    /// Asked when the server stops: jobs commit what is whole.
    pub cancel: Cancel,
}
