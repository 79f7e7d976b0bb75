//! What ends a query or an answer.

use crate::{
    index, model,
    types::{ChunkId, Kind},
};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the query is empty")]
    EmptyQuery,
    #[error("the query has {found} bytes, at most {limit} are read")]
    QueryTooLong { found: usize, limit: usize },
    #[error("cannot read the filter at `{at}`: {what}")]
    Filter { at: String, what: String },
    #[error("`{field}` is not a field; fields are {known}")]
    UnknownField { field: String, known: String },
    #[error("no chunk `{id}`")]
    NoChunk { id: ChunkId },
    #[error("no collection `{name}`; there are {known}")]
    NoCollection { name: String, known: String },
    #[error("{what}")]
    Options { what: String },
    #[error(transparent)]
    Index(#[from] index::Error),
    #[error(transparent)]
    Model(#[from] model::Error),
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Self::EmptyQuery
            | Self::QueryTooLong { .. }
            | Self::Filter { .. }
            | Self::UnknownField { .. }
            | Self::NoCollection { .. }
            | Self::Options { .. } => Kind::Usage,
            Self::NoChunk { .. } => Kind::NotFound,
            Self::Index(error) => error.kind(),
            Self::Model(error) => error.kind(),
        }
    }
}
