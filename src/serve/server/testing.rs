//! Options for tests: an index that is not there, a model that only counts words.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{Access, Limits, Models, Options, Prices, failure::Result};
use crate::{
    ingest::{self, Loaders, PageReaders, extract},
    model::{Chat, Embedder, fake::FakeEmbedder},
    retrieve::{Ask, Query, Rerank, Unsupported},
    types::{Cancel, EmbeddingSpace},
};

struct Fake;

impl Models for Fake {
    fn embedder(&self, _: &EmbeddingSpace) -> Result<Arc<dyn Embedder>> {
        Ok(Arc::new(FakeEmbedder::new()))
    }

    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(Arc::new(FakeEmbedder::new())))
    }

    fn chat(&self) -> Result<Option<Arc<dyn Chat>>> {
        Ok(None)
    }

    fn reranker(&self, _: Option<Duration>) -> Result<Rerank> {
        Err(super::Failure::usage("no reranker is configured"))
    }

    fn embedder_name(&self, _: &EmbeddingSpace) -> Option<String> {
        Some("fake".to_owned())
    }
}

/// Of an index at a folder that does not exist.
pub fn options() -> Options {
    at(PathBuf::from("/nowhere/.rag"))
}

/// Of an index at this folder.
pub fn at(index: PathBuf) -> Options {
    let ask = Ask {
        query: Query { k: 50, ..Query::default() },
        max_tokens: 800,
        context_tokens: 8192,
        no_gate: false,
        unsupported: Unsupported::Mark,
        stream: true,
        history: Vec::new(),
        system: None,
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
        tags: Default::default(),
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
        models: Arc::new(Fake),
        query: Query::default(),
        ask,
        prices: Prices::default(),
        ingest,
        access: Access::default(),
        limits: Limits::default(),
        settings: String::new(),
        log: None,
        cancel: Cancel::default(),
    }
}
