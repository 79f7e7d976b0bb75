//! The newest generation of an index, opened again only when there is a newer one.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use crate::index::{Error, Index, Mark, Result, Snapshot};

/// Hands out the newest snapshot of an index folder that may not exist yet. All threads may ask; the look costs a stat.
#[derive(Debug)]
pub struct Current {
    dir: PathBuf,
    opened: Mutex<Option<Opened>>,
}

struct Opened {
    index: Index,
    mark: Mark,
    snapshot: Snapshot,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Opened").field("generation", &self.snapshot.generation()).finish_non_exhaustive()
    }
}

impl Current {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, opened: Mutex::new(None) }
    }

    pub fn dir(&self) -> &std::path::Path {
        &self.dir
    }

    /// `None`: there is no index in the folder yet. Errors: as [`Index::open`] and [`Index::snapshot`].
    pub fn snapshot(&self) -> Result<Option<Snapshot>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*opened
            && last.index.mark().is_ok_and(|mark| mark == last.mark)
        {
            return Ok(Some(last.snapshot.clone()));
        }
        *opened = None;
        let index = match Index::open(&self.dir) {
            Ok(index) => index,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        // Before the snapshot: a commit that comes between is seen at the next look.
        let mark = index.mark()?;
        let snapshot = index.snapshot()?;
        *opened = Some(Opened { index, mark, snapshot: snapshot.clone() });
        Ok(Some(snapshot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Settings, WriterOptions};
    use std::collections::BTreeMap;

    #[test]
    fn a_commit_is_seen_at_the_next_look_and_no_index_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let current = Current::new(path.clone());
        assert!(current.snapshot().unwrap().is_none());
        let index = Index::create(&path, &Settings { space: None }).unwrap();
        assert_eq!(current.snapshot().unwrap().unwrap().generation(), 0);
        let mut writer = index.writer(&WriterOptions::default()).unwrap();
        for generation in 1..4 {
            writer.set_roots(BTreeMap::from([("docs".to_owned(), format!("/docs/{generation}"))]));
            writer.commit().unwrap();
            assert_eq!(current.snapshot().unwrap().unwrap().generation(), generation);
        }
    }
}
