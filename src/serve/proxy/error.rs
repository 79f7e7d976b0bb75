//! What can go wrong before and beside the requests of the proxy.

use std::path::PathBuf;

use crate::types::Kind;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{what}")]
    Options { what: String },
    #[error("the cache at `{path}` is in use by {holder}")]
    Locked { path: PathBuf, holder: String },
    #[error("cannot {act} `{path}`: {source}")]
    Io { act: &'static str, path: PathBuf, source: std::io::Error },
    #[error("the cache at `{path}` cannot be used: {why}")]
    Store { path: PathBuf, why: String },
    #[error("the cache at `{path}` is damaged")]
    Damaged { path: PathBuf },
    #[error("cannot listen on `{address}`: {source}")]
    Listen { address: String, source: std::io::Error },
    #[error("the proxy of this cache, at `{url}`, {why}")]
    Answer { url: String, why: String },
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Options { .. } => Kind::Usage,
            Self::Locked { .. } => Kind::Locked,
            Self::Damaged { .. } => Kind::Corrupt,
            Self::Io { .. } | Self::Store { .. } | Self::Listen { .. } => Kind::Io,
            Self::Answer { .. } => Kind::Model,
        }
    }

    /// An I/O error with what was being done to which file.
    pub(super) fn io(act: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { act, path, source }
    }
}
