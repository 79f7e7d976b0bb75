//! Models as the settings name them, each opened once.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use rag::{
    model::{Chat, Embedder, Reranker},
    retrieve::Rerank,
    serve::{
        api::ErrorType,
        server::{Failure as Refusal, Models},
    },
    types::{Cancel, EmbeddingSpace, Kind},
};

use crate::cli::{
    backend::{LlmFlags, Place},
    commands::ingest::EmbedArgs,
    config::Config,
    report::Failure,
};

/// See the module.
pub struct Configured {
    place: Place,
    config: Config,
    url: Option<String>,
    model: Option<String>,
    /// Made with the first question: an endpoint that is down keeps no search from being served.
    chat: OnceLock<Option<Arc<dyn Chat>>>,
    reranker: Mutex<Option<Arc<dyn Reranker>>>,
}

impl Configured {
    /// Errors: settings of the model that answers that cannot be used.
    pub fn new(place: Place, config: Config, url: Option<String>, model: Option<String>) -> Result<Self, Failure> {
        let config = config.for_model(model.as_deref());
        Ok(Self { place, config, url, model, chat: OnceLock::new(), reranker: Mutex::new(None) })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }
}

fn refusal(failure: Failure) -> Refusal {
    let kind = failure.kind().unwrap_or(Kind::Bug);
    // What is wrong with the server's settings is no mistake of the client.
    let kind = if kind == Kind::Usage { Kind::Model } else { kind };
    let told = Refusal::new(ErrorType::Of(kind), failure.message());
    match failure.hint_text() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

impl Models for Configured {
    fn embedder(&self, space: &EmbeddingSpace) -> Result<Arc<dyn Embedder>, Refusal> {
        self.place.embedder_of(&self.config, space).map(Arc::from).map_err(refusal)
    }

    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>, Refusal> {
        let made = self.place.embedder(&self.config, &EmbedArgs::default(), &Cancel::default()).map_err(refusal)?;
        Ok(made.map(Arc::from))
    }

    fn chat(&self) -> Result<Option<Arc<dyn Chat>>, Refusal> {
        if let Some(chat) = self.chat.get() {
            return Ok(chat.clone());
        }
        let flags = LlmFlags { url: self.url.as_deref(), model: self.model.as_deref(), ..LlmFlags::default() };
        let chat: Option<Arc<dyn Chat>> = self.place.chat(&self.config, &flags).map_err(refusal)?.map(Arc::from);
        Ok(self.chat.get_or_init(|| chat).clone())
    }

    fn reranker(&self, budget: Option<Duration>) -> Result<Rerank, Refusal> {
        let mut known = self.reranker.lock().unwrap_or_else(PoisonError::into_inner);
        let budget_set = budget.or(self.config.time("rerank.budget")).unwrap_or(Duration::from_secs(2));
        if let Some(reranker) = &*known {
            return Ok(Rerank { reranker: Arc::clone(reranker), budget: budget_set });
        }
        let rerank = self.place.reranker(&self.config, budget).map_err(|failure| {
            let told = Refusal::usage(failure.message());
            match failure.hint_text() {
                Some(hint) => told.hint(hint),
                None => told,
            }
        })?;
        *known = Some(Arc::clone(&rerank.reranker));
        Ok(rerank)
    }

    fn embedder_name(&self, space: &EmbeddingSpace) -> Option<String> {
        self.place.embedder_name(&self.config, Some(space))
    }
}
