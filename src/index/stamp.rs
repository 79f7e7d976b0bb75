//! Whether there was a commit since: one look at the file whose rename is the commit.

use std::{fs, io, path::Path, time::SystemTime};

use super::{Error, Index, Result, layout};

/// What `meta.json` looked like. Every commit renames a new file into its place, so two looks that agree saw one
/// generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Index {
    /// Takes a look: one `stat`, no byte is read. Take it before the snapshot it is to stand for. Errors: `NotFound`, `Io`.
    pub fn stamp(&self) -> Result<Stamp> {
        let path = layout::text_dir(&self.dir).join(layout::META_FILE);
        match fs::metadata(&path) {
            Ok(meta) => Ok(Stamp { bytes: meta.len(), modified: meta.modified().ok(), inode: inode(&meta) }),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Err(not_found(&self.dir)),
            Err(source) => Err(Error::Io { act: "look at", path, source }),
        }
    }
}

fn not_found(dir: &Path) -> Error {
    Error::NotFound { path: dir.to_path_buf() }
}

#[cfg(unix)]
fn inode(meta: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}
