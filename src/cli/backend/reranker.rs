//! The reranker that settings name.

use std::{path::Path, sync::Arc, time::Duration};

use rag::{
    model::{
        Reranker,
        http::HttpOptions,
        rerank::{EndpointOptions, EndpointReranker},
    },
    retrieve::Rerank,
    types::Cancel,
};

use super::{Place, keys::key};
#[cfg(feature = "onnx")]
use crate::cli::installed;
use crate::cli::{config::Config, env, report::Failure};

impl Place {
    /// The reranker that settings name. Errors: usage where they name none.
    pub fn reranker(&self, config: &Config, budget: Option<Duration>) -> Result<Rerank, Failure> {
        let budget = budget.or(config.time("rerank.budget")).unwrap_or(Duration::from_secs(2));
        let reranker: Arc<dyn Reranker> = match (config.text("rerank.folder"), config.text("rerank.url")) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage("`rerank.folder` and `rerank.url` are both set")
                    .hint("one reranker is asked: leave one of them out"));
            }
            (Some(folder), None) => local_reranker(Path::new(folder))?,
            (None, None) if config.text("rerank.model").is_some() => {
                named_reranker(config.text("rerank.model").unwrap_or_default())?
            }
            (None, Some(url)) => Arc::new(EndpointReranker::new(EndpointOptions {
                base_url: url.to_string(),
                model: config.text("rerank.model").unwrap_or_default().to_string(),
                key: key(env::RERANK_KEY, config.text("rerank.key_file"), url)?,
                http: HttpOptions {
                    allow_plaintext: config.bool("llm.allow_plaintext"),
                    waits: self.waits.clone(),
                    ..HttpOptions::default()
                },
                cancel: Cancel::default(),
            })?),
            (None, None) => {
                return Err(Failure::usage("no reranker is configured").hint(
                    "set `rerank.url` (RAG_RERANK_URL) to an endpoint, or `rerank.model` to an installed model (`rag models`)",
                ));
            }
        };
        Ok(Rerank { reranker, budget })
    }
}

#[cfg(feature = "onnx")]
fn local_reranker(folder: &Path) -> Result<Arc<dyn Reranker>, Failure> {
    Ok(Arc::new(rag::model::rerank::LocalReranker::load(folder)?))
}

#[cfg(feature = "onnx")]
fn named_reranker(name: &str) -> Result<Arc<dyn Reranker>, Failure> {
    local_reranker(&installed::named(name, rag::model::folder::Purpose::Reranker)?.folder)
}

#[cfg(not(feature = "onnx"))]
fn named_reranker(name: &str) -> Result<Arc<dyn Reranker>, Failure> {
    local_reranker(Path::new(name))
}

#[cfg(not(feature = "onnx"))]
fn local_reranker(_: &Path) -> Result<Arc<dyn Reranker>, Failure> {
    Err(Failure::usage("this program was built without a runtime for models").hint("use `rerank.url`"))
}
