//! Who computes vectors and answers for a server: the door that knows the settings implements it.

use std::sync::Arc;

use super::told::Told;
use crate::{
    index::Snapshot,
    model::{Chat, Embedder},
};

/// Models that are opened once and asked by many requests.
pub trait Models: Send + Sync {
    /// The embedder of an index's space; `None` for an index without vectors. The same one for the same space.
    fn embedder(&self, snapshot: &Snapshot) -> Result<Option<Arc<dyn Embedder>>, Told>;

    /// As [`embedder`](Self::embedder), for texts that are to be stored: it was proved to be the one that filled the index.
    fn embedder_to_fill(&self, snapshot: &Snapshot) -> Result<Option<Arc<dyn Embedder>>, Told> {
        self.embedder(snapshot)
    }

    /// The embedder of an index that is to be made; `None`: it is to be made without vectors.
    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>, Told>;

    /// The model that answers; `None`: none is configured.
    fn chat(&self) -> Result<Option<Arc<dyn Chat>>, Told>;
}
