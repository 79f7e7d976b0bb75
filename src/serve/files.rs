//! Which files of this machine stand behind sources, and whether they are as they were ingested.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    index::{Snapshot, SourceRecord},
    ingest::{self, PageUrl, STDIN_ROOT},
    retrieve::{Answer, File, Hits},
    types::{Freshness, SourceId, SourcePath},
};

/// The file of this machine that a display path names, if its root is known: a name of `roots`, or `home`, the folder that
/// holds the index. Pages and what was handed over are none.
pub fn path_of(home: Option<&Path>, roots: &BTreeMap<String, String>, display: &str) -> Option<PathBuf> {
    if PageUrl::is_one(display) || display.split('/').next() == Some(STDIN_ROOT) {
        return None;
    }
    let unspelled = |path: &str| SourcePath::from_spelling(path).to_path();
    let named = display
        .split_once('/')
        .and_then(|(name, rest)| roots.get(name).map(|root| Path::new(root).join(unspelled(rest))));
    named.or_else(|| home.map(|home| home.join(unspelled(display))))
}

/// Looks at files, each once.
pub struct Files<'s> {
    home: Option<PathBuf>,
    snapshot: &'s Snapshot,
    seen: HashMap<SourceId, Freshness>,
}

impl<'s> Files<'s> {
    pub fn new(home: Option<PathBuf>, snapshot: &'s Snapshot) -> Self {
        Self { home, snapshot, seen: HashMap::new() }
    }

    /// The file that a display path names.
    pub fn path(&self, display: &str) -> Option<PathBuf> {
        path_of(self.home.as_deref(), self.snapshot.roots(), display)
    }

    /// A source's file, if its root is on this machine. What was handed over has a root that stands nowhere.
    fn own(&self, source: &SourceRecord) -> Option<PathBuf> {
        let root = self.snapshot.roots().get(&source.root);
        let is_away = !source.root.is_empty() && root.is_none_or(|root| !Path::new(root).is_dir());
        self.path(&source.display_path()).filter(|_| !is_away)
    }

    /// Of one source. What has no file here is taken for fresh.
    pub fn freshness(&self, source: &SourceRecord) -> Freshness {
        self.own(source).map_or(Freshness::Fresh, |file| ingest::freshness(source, &file))
    }

    fn by_id(&mut self, id: SourceId) -> Freshness {
        if let Some(known) = self.seen.get(&id) {
            return *known;
        }
        let found = self.snapshot.source(id).ok().flatten();
        let found = found.map_or(Freshness::Fresh, |source| self.freshness(&source));
        self.seen.insert(id, found);
        found
    }

    /// Whether any source can have a file here. Where none can, no record has to be read to say that all are fresh.
    fn is_home_to_any(&self) -> bool {
        self.home.is_some() || self.snapshot.roots().values().any(|root| Path::new(root).is_dir())
    }

    /// Marks the results of a query.
    pub fn mark(mut self, hits: &mut Hits) {
        if !self.is_home_to_any() {
            return;
        }
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

    /// What has become of a source's file, for `check`: by size and time, by its bytes where those differ.
    pub fn file(&self, source: &SourceRecord) -> File {
        let Some(path) = self.path(&source.display_path()) else { return File::Unknown };
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() => match ingest::freshness(source, &path) {
                Freshness::Fresh if fs::File::open(&path).is_err() => File::Unknown,
                Freshness::Fresh => File::Unchanged,
                Freshness::Stale => File::Changed,
                Freshness::Missing => File::Missing,
            },
            Ok(_) => File::Unknown,
            Err(error) if error.kind() == io::ErrorKind::NotFound => File::Missing,
            Err(_) => File::Unknown,
        }
    }
}
