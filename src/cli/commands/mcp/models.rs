//! The models of a server, opened when they are needed first and kept.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rag::{
    index::Snapshot,
    model::{Chat, Embedder},
    retrieve::Mode,
    serve::{models::Models, told::Told},
    types::{Cancel, Kind},
};

use crate::cli::{
    backend::{LlmFlags, Place},
    commands::ingest::EmbedArgs,
    config::Config,
    report::Failure,
};

/// See the module.
pub struct Opened {
    place: Place,
    config: Config,
    /// By the folder name of their space.
    embedders: Mutex<HashMap<String, Arc<dyn Embedder>>>,
    chat: Mutex<Option<Arc<dyn Chat>>>,
}

impl Opened {
    pub fn new(place: Place, config: Config) -> Self {
        Self { place, config, embedders: Mutex::default(), chat: Mutex::default() }
    }
}

impl Models for Opened {
    fn embedder(&self, snapshot: &Snapshot) -> Result<Option<Arc<dyn Embedder>>, Told> {
        let Some(space) = snapshot.space() else { return Ok(None) };
        let mut embedders = self.embedders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = embedders.get(&space.folder()) {
            return Ok(Some(Arc::clone(known)));
        }
        let opened = self.place.queries_embedder(&self.config, snapshot, Mode::Hybrid, false).map_err(told)?;
        let Some(opened) = opened else { return Ok(None) };
        let opened: Arc<dyn Embedder> = Arc::from(opened);
        embedders.insert(space.folder(), Arc::clone(&opened));
        Ok(Some(opened))
    }

    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>, Told> {
        let opened = self.place.embedder(&self.config, &EmbedArgs::default(), &Cancel::default()).map_err(told)?;
        let Some(opened) = opened else { return Ok(None) };
        let opened: Arc<dyn Embedder> = Arc::from(opened);
        let mut embedders = self.embedders.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Some(Arc::clone(embedders.entry(opened.space().folder()).or_insert(opened))))
    }

    fn chat(&self) -> Result<Option<Arc<dyn Chat>>, Told> {
        let mut chat = self.chat.lock().unwrap_or_else(PoisonError::into_inner);
        if chat.is_none() {
            *chat = self.place.chat(&self.config, &LlmFlags::default()).map_err(told)?.map(Arc::from);
        }
        Ok(chat.clone())
    }
}

fn told(failure: Failure) -> Told {
    let told = Told::new(failure.kind().unwrap_or(Kind::Io), failure.message());
    match failure.hint_text() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
