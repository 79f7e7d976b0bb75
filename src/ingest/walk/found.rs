//! What a walk comes across, and how its bytes are read.

use std::{path::PathBuf, sync::Arc};

use super::super::{
    Result,
    file::{self, Contents, Stat},
    given,
};
use crate::{
    index::Problem,
    types::{SourceId, SourcePath},
};

/// The name of an entry in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub id: SourceId,
    pub root: String,
    pub path: SourcePath,
}

impl Name {
    /// As `SourceRecord::display_path`.
    pub fn display(&self) -> String {
        if self.root.is_empty() { self.path.to_string() } else { format!("{}/{}", self.root, self.path) }
    }
}

/// A file to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: Name,
    pub place: Place,
    pub stat: Stat,
}

/// Where the bytes of a source are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file to open; differs from the place of its name below a followed link.
    File(PathBuf),
    Given(Arc<given::Bytes>),
}

impl Found {
    /// Hash and stat of its content now.
    pub fn hash(&self) -> Result<(String, Stat), Problem> {
        match &self.place {
            Place::File(path) => file::hash(path),
            Place::Given(given) => Ok((blake3::hash(&given.bytes).to_hex().to_string(), self.stat)),
        }
    }

    /// Content and stat of now; see [`file::read`].
    pub fn read(&self, max_bytes: u64) -> Result<Contents, Problem> {
        match &self.place {
            Place::File(path) => file::read(path, max_bytes),
            Place::Given(given) => given.contents(self.stat, max_bytes),
        }
    }

    /// A file name for the extractor.
    pub fn hint(&self) -> &str {
        match &self.place {
            Place::File(_) => self.name.path.file_name(),
            Place::Given(given) => &given.hint,
        }
    }
}

/// What the walk comes across.
#[derive(Debug)]
pub enum Item {
    File(Found),
    /// Left alone on purpose.
    Skipped {
        name: Name,
        problem: Problem,
    },
    /// It could not be looked at. `place`: its path; nothing at or below it may be called gone.
    Failed {
        name: Name,
        place: PathBuf,
        problem: Problem,
    },
    /// A line of an ignore file that is no glob.
    BadRule {
        file: PathBuf,
        why: String,
    },
}
