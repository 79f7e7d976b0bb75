//! What ends an ingest run. A bad document does not: it is an outcome in the report.

use std::{io, path::PathBuf};

use crate::{index, model, types::Kind};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no such file or folder: `{path}`")]
    MissingPath { path: PathBuf },
    #[error("cannot read `{path}`: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the pattern `{pattern}` is not a glob: {why}")]
    BadPattern { pattern: String, why: String },
    #[error("the pattern `{pattern}` matches no file")]
    NoMatch { pattern: String },
    /// A folder without any entry, of which the index holds documents: more likely unmounted than emptied.
    #[error("`{path}` is empty, but the index holds {} of it", count(*.documents))]
    EmptyFolder { path: PathBuf, documents: usize },
    #[error("cannot start an extraction worker (`{program}`): {source}")]
    Worker { program: PathBuf, source: io::Error },
    #[error("{what}")]
    Options { what: String },
    #[error("{what}")]
    Thread { what: String },
    #[error(transparent)]
    Index(#[from] index::Error),
    #[error(transparent)]
    Model(#[from] model::Error),
}

fn count(documents: usize) -> String {
    format!("{documents} document{}", if documents == 1 { "" } else { "s" })
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Self::MissingPath { .. }
            | Self::BadPattern { .. }
            | Self::NoMatch { .. }
            | Self::EmptyFolder { .. }
            | Self::Options { .. } => Kind::Usage,
            Self::Unreadable { .. } | Self::Worker { .. } | Self::Thread { .. } => Kind::Io,
            Self::Index(error) => error.kind(),
            Self::Model(error) => error.kind(),
        }
    }
}
