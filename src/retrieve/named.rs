//! Documents by what people call them: an id, a path, a folder, a pattern, tags.

use std::collections::BTreeMap;

use super::Result;
use crate::{
    index::{self, ChunkRecord, Compare, Fact, Filter, Snapshot, SourceRecord},
    types::{ChunkId, SourceId},
};

/// Where names are looked up.
#[derive(Clone, Copy)]
pub struct Naming<'a> {
    pub snapshot: &'a Snapshot,
    /// `None`: in all collections.
    pub collection: Option<&'a str>,
    /// Which collections whoever asks may know of.
    pub sees: &'a dyn Fn(&str) -> bool,
}

/// A document with its chunks, or the one chunk that was named and its document.
pub type Named = (Option<SourceRecord>, Vec<ChunkRecord>);

/// Documents that were named: the display path and the collection of each.
pub type Several = BTreeMap<SourceId, (String, String)>;

impl Naming<'_> {
    /// What `word` is the id of, else what is called `path`: the first, where several collections hold the same.
    pub fn one(&self, word: &str, path: impl FnOnce() -> String) -> Result<Option<Named>> {
        let snapshot = self.snapshot;
        if let Ok(id) = word.parse::<ChunkId>()
            && let Some(chunk) = snapshot.chunk(id)?.filter(|chunk| (self.sees)(&chunk.collection))
        {
            return Ok(Some((snapshot.source(chunk.source)?, vec![chunk])));
        }
        let by_id = match word.parse::<SourceId>() {
            Ok(id) => snapshot.source(id)?.filter(|source| (self.sees)(&source.collection)),
            Err(_) => None,
        };
        let source = match by_id {
            Some(source) => Some(source),
            None => {
                let (wanted, mut all) = (path(), snapshot.sources(self.collection)?.into_iter());
                all.find(|source| {
                    (self.sees)(&source.collection)
                        && (source.display_path() == wanted || source.path.as_str() == wanted)
                })
            }
        };
        let Some(source) = source else { return Ok(None) };
        let chunks = snapshot.chunks_of(source.id)?;
        if chunks.iter().any(|chunk| chunk.source != source.id) {
            let (path, what) = (source.display_path(), "the index gave chunks of another document".to_owned());
            return Err(index::Error::Source { path, what }.into());
        }
        Ok(Some((Some(source), chunks)))
    }

    /// All that names mean: ids, paths, folders, and where nothing is called so, patterns; with all of `tags`. Without names:
    /// all that have the tags. Gives the places of names that mean nothing, too.
    pub fn several<'t>(
        &self,
        names: &[String],
        tags: impl Iterator<Item = (&'t String, &'t String)>,
    ) -> Result<(Several, Vec<usize>)> {
        let tags = tags.map(|(key, value)| Filter::Is {
            fact: Fact::Tag(key.clone()),
            compare: Compare::Equal,
            value: value.clone(),
        });
        let tags = Filter::And(tags.collect());
        let where_ = |filter: &Filter| -> Result<Vec<SourceRecord>> {
            let mut sources = self.snapshot.sources_where(filter, self.collection)?;
            sources.retain(|source| (self.sees)(&source.collection));
            Ok(sources)
        };
        let tagged = where_(&tags)?;
        let (mut found, mut missing) = (Several::new(), Vec::new());
        let mut take = |sources: Vec<&SourceRecord>| {
            let any = !sources.is_empty();
            found.extend(
                sources.into_iter().map(|source| (source.id, (source.display_path(), source.collection.clone()))),
            );
            any
        };
        if names.is_empty() {
            take(tagged.iter().collect());
        }
        for (at, name) in names.iter().enumerate() {
            let id = match name.parse::<ChunkId>() {
                Ok(id) => self.snapshot.chunk(id)?.map(|chunk| chunk.source).or(Some(SourceId(id.0))),
                Err(_) => None,
            };
            let folder = format!("{name}/");
            // An exact name first: a file may be called `a*b`, and an exact key matches no other.
            let exact = tagged.iter().filter(|source| {
                let path = source.display_path();
                id == Some(source.id) || path == *name || path.starts_with(&folder)
            });
            if take(exact.collect()) {
                continue;
            }
            let glob = Filter::Is { fact: Fact::Path, compare: Compare::Matches, value: name.clone() };
            if !take(where_(&Filter::And(vec![tags.clone(), glob]))?.iter().collect()) {
                missing.push(at);
            }
        }
        Ok((found, missing))
    }
}
