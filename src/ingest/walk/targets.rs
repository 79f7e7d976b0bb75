//! Which of the given paths can be walked.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::super::{Error, Result, file};

/// A path the user gave: absolute, links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub path: PathBuf,
    pub is_dir: bool,
}

/// Whether a folder is an index, this or another, whatever it is called: its documents are copies.
pub(super) fn is_index(folder: &Path) -> bool {
    folder.join("FORMAT").is_file() && folder.join("text").is_dir() && folder.join("vectors").is_dir()
}

/// Resolves the given paths. Errors, before anything is done: `MissingPath`, `Unreadable`, `Options` for a path inside
/// the index or for another index.
pub fn targets(paths: &[PathBuf], index_dir: Option<&Path>) -> Result<Vec<Target>> {
    let index_dir = index_dir.map(resolve_if_there);
    let mut targets = Vec::new();
    for given in paths {
        let unreadable = |source: io::Error| {
            let path = given.clone();
            if file::is_absent(source.kind()) {
                Error::MissingPath { path }
            } else {
                Error::Unreadable { path, source }
            }
        };
        let path = fs::canonicalize(given).map_err(unreadable)?;
        let is_dir = fs::metadata(&path).map_err(unreadable)?.is_dir();
        if is_dir {
            // A folder that cannot be listed must not look like an empty one.
            fs::read_dir(&path).map_err(unreadable)?;
        }
        if index_dir.as_ref().is_some_and(|index_dir| path.starts_with(index_dir)) {
            return Err(Error::Options { what: format!("`{}` is inside the index itself", given.display()) });
        }
        if is_dir && is_index(&path) {
            return Err(Error::Options {
                what: format!("`{}` is an index, not a folder of documents", given.display()),
            });
        }
        let target = Target { path, is_dir };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// The path with its links resolved; as it is where it is not there.
pub fn resolve_if_there(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}
