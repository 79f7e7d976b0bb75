//! Which of the files behind some results have changed or vanished since they were ingested.

use std::collections::HashMap;

use rag::{
    index::{Snapshot, SourceRecord},
    ingest,
    retrieve::{Answer, Hits},
    types::{Freshness, SourceId},
};

use super::output::places::Places;

/// Looks at files, each once.
pub struct Files<'s> {
    places: Places,
    snapshot: &'s Snapshot,
    seen: HashMap<SourceId, Freshness>,
}

impl<'s> Files<'s> {
    pub fn new(places: Places, snapshot: &'s Snapshot) -> Self {
        Self { places, snapshot, seen: HashMap::new() }
    }

    /// Of one source. Given sources and pages have no file; nor have those of a root that is not on this machine.
    pub fn of(&self, source: &SourceRecord) -> Freshness {
        let root = self.snapshot.roots().get(&source.root);
        let away = !source.root.is_empty() && root.is_none_or(|root| !std::path::Path::new(root).is_dir());
        match self.places.file(&source.display_path()) {
            Some(file) if !away => ingest::freshness(source, &file),
            Some(_) | None => Freshness::Fresh,
        }
    }

    fn by_id(&mut self, id: SourceId) -> Freshness {
        if let Some(known) = self.seen.get(&id) {
            return *known;
        }
        // A catalog that cannot be read is told of elsewhere.
        let found = self.snapshot.source(id).ok().flatten().map_or(Freshness::Fresh, |source| self.of(&source));
        self.seen.insert(id, found);
        found
    }

    /// Marks the results of a query.
    pub fn mark(mut self, hits: &mut Hits) {
        for hit in &mut hits.hits {
            hit.freshness = self.by_id(hit.chunk.source);
        }
    }

    /// Marks the sources that an answer cites.
    pub fn mark_cited(mut self, answer: &mut Answer) {
        for source in answer.sources.iter_mut().filter(|source| source.cited) {
            source.freshness = self.by_id(source.source);
        }
    }
}
