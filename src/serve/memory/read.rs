//! Finding memories again.

use std::collections::BTreeMap;

use super::{Memory, ROOT, alive, check_namespace, tagged};
use crate::{
    index::{Filter, Snapshot, SourceRecord},
    model::Embedder,
    retrieve::{self, Mode, Query, Strength},
    serve::told::Told,
};

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Recall {
    pub query: String,
    pub namespace: String,
    /// A memory has to have all of them.
    pub tags: Vec<String>,
    /// Memories wanted.
    pub k: usize,
    /// Least relevance, 0..=1.
    pub min_relevance: Option<f32>,
}

/// Memories that were found, the best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Each with its relevance, 0..1.
    pub memories: Vec<(Memory, f32)>,
    /// Whether the namespace speaks of the query at all.
    pub strength: Strength,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub memories: Vec<Memory>,
    /// All that match, on every page.
    pub total: usize,
}

/// Finds memories of a namespace by words and meaning. What has expired at `now_ms` is not there. `embedder`: `None`
/// searches by words alone. Errors: usage, and those of the index and the model.
pub fn recall(
    snapshot: &Snapshot,
    embedder: Option<&dyn Embedder>,
    wanted: &Recall,
    now_ms: i64,
) -> Result<Recalled, Told> {
    check_namespace(&wanted.namespace)?;
    let conditions = std::iter::once(alive(now_ms)).chain(tagged(&wanted.tags)).collect();
    let query = Query {
        text: wanted.query.clone(),
        k: wanted.k,
        mode: if embedder.is_some() || snapshot.space().is_none() { Mode::Hybrid } else { Mode::Lexical },
        filter: Some(retrieve::filter::print(&Filter::And(conditions))),
        collection: Some(wanted.namespace.clone()),
        min_score: wanted.min_relevance,
        per_source: Some(1),
        snippets: false,
        // Two memories that say the same are two: the agent may want to forget one of them.
        duplicates: true,
        ..Query::default()
    };
    let hits = match retrieve::query(snapshot, embedder, &query) {
        // A namespace comes to be with its first memory.
        Err(retrieve::Error::NoCollection { .. }) => {
            return Ok(Recalled { memories: Vec::new(), strength: Strength::Nothing });
        }
        hits => hits?,
    };
    let mut memories = Vec::with_capacity(hits.hits.len());
    for hit in &hits.hits {
        if let Some(record) = snapshot.source(hit.chunk.source)? {
            memories.push((Memory::new(&record), hit.relevance));
        }
    }
    Ok(Recalled { memories, strength: hits.strength })
}

/// Memories by namespace and key, from the `skip`th on, `most` of them. What has expired at `now_ms` is not there.
pub fn list(
    snapshot: &Snapshot,
    namespace: Option<&str>,
    tags: &[String],
    (skip, most): (usize, usize),
    now_ms: i64,
) -> Result<Page, Told> {
    if let Some(namespace) = namespace {
        check_namespace(namespace)?;
    }
    let filter = Filter::And(std::iter::once(alive(now_ms)).chain(tagged(tags)).collect());
    let ids = snapshot.source_ids(Some(&filter), namespace)?;
    let mut memories = Vec::new();
    for id in ids.iter().skip(skip).take(most) {
        if let Some(record) = snapshot.source(*id)? {
            memories.push(Memory::new(&record));
        }
    }
    Ok(Page { memories, total: ids.len() })
}

/// Each namespace with its number of memories. What has expired at `now_ms` does not count.
pub fn namespaces(snapshot: &Snapshot, now_ms: i64) -> Result<BTreeMap<String, usize>, Told> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let is_memory = |record: &SourceRecord| record.root == ROOT;
    for record in snapshot.sources_where(&alive(now_ms), None)?.into_iter().filter(is_memory) {
        *names.entry(record.collection).or_default() += 1;
    }
    Ok(names)
}
