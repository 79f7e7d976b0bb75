//! What can go wrong with an index on disk.

use std::{io, path::PathBuf};

use crate::types::Kind;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no index at `{path}`")]
    NotFound { path: PathBuf },
    #[error("index at `{path}` is being written by {holder}")]
    Locked { path: PathBuf, holder: String },
    #[error("`{path}` is damaged: {what}")]
    Corrupt { path: PathBuf, what: String },
    #[error("index at `{path}` has format {found}, this program reads format {expected}")]
    Format { path: PathBuf, found: u32, expected: u32 },
    #[error("index at `{path}` was made with {found}, not with {expected}")]
    Space { path: PathBuf, found: String, expected: String },
    #[error("cannot {act} `{path}`: {source}")]
    Io { act: &'static str, path: PathBuf, source: io::Error },
    #[error("the text engine failed: {source}")]
    Text { path: PathBuf, source: tantivy::TantivyError },
    #[error("writing stopped after an earlier failure; nothing was lost: the index is at generation {generation}")]
    Poisoned { path: PathBuf, generation: u64 },
    #[error("cannot read the query: {what}")]
    Query { what: String },
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Self::NotFound { .. } => Kind::NotFound,
            Self::Locked { .. } => Kind::Locked,
            Self::Corrupt { .. } => Kind::Corrupt,
            Self::Format { .. } | Self::Space { .. } => Kind::Incompatible,
            Self::Io { .. } | Self::Poisoned { .. } => Kind::Io,
            Self::Text { .. } => Kind::Io,
            Self::Query { .. } => Kind::Usage,
        }
    }
}
