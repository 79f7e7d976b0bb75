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

/// An embedder, and whether it was proved.
type Known = (Arc<dyn Embedder>, bool);

/// See the module.
pub struct Opened {
    place: Place,
    config: Config,
    /// By the folder name of their space.
    embedders: Mutex<HashMap<String, Known>>,
    chat: Mutex<Option<Arc<dyn Chat>>>,
}

impl Opened {
    pub fn new(place: Place, config: Config) -> Self {
        Self { place, config, embedders: Mutex::default(), chat: Mutex::default() }
    }
}

impl Opened {
    fn of_space(&self, snapshot: &Snapshot, proved: bool) -> Result<Option<Arc<dyn Embedder>>, Told> {
        let Some(space) = snapshot.space() else { return Ok(None) };
        let mut embedders = self.embedders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, is_proved)) = embedders.get(&space.folder())
            && (*is_proved || !proved)
        {
            return Ok(Some(Arc::clone(known)));
        }
        let opened = match proved {
            true => self.place.filling_embedder(&self.config, snapshot, &Cancel::default()),
            false => self.place.queries_embedder(&self.config, snapshot, Mode::Hybrid, true),
        };
        let Some(opened) = opened.map_err(told)? else { return Ok(None) };
        let opened: Arc<dyn Embedder> = Arc::from(opened);
        // The built-in model was proved while it was prepared for many texts; an endpoint by being asked.
        let is_proved = proved || !space.sha256.is_empty();
        embedders.insert(space.folder(), (Arc::clone(&opened), is_proved));
        Ok(Some(opened))
    }
}

impl Models for Opened {
    fn embedder(&self, snapshot: &Snapshot) -> Result<Option<Arc<dyn Embedder>>, Told> {
        self.of_space(snapshot, false)
    }

    fn embedder_to_fill(&self, snapshot: &Snapshot) -> Result<Option<Arc<dyn Embedder>>, Told> {
        self.of_space(snapshot, true)
    }

    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>, Told> {
        let opened = self.place.embedder(&self.config, &EmbedArgs::default(), &Cancel::default()).map_err(told)?;
        let Some(opened) = opened else { return Ok(None) };
        let opened: Arc<dyn Embedder> = Arc::from(opened);
        let mut embedders = self.embedders.lock().unwrap_or_else(PoisonError::into_inner);
        embedders.insert(opened.space().folder(), (Arc::clone(&opened), true));
        Ok(Some(opened))
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
