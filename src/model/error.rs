//! What can go wrong with a model.

use std::path::PathBuf;

use crate::types::Kind;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot reach `{url}`: {why}")]
    Unreachable { url: String, why: String },
    #[error("`{url}` did not accept the key ({status})")]
    Unauthorized { url: String, status: u16 },
    #[error("`{url}` answered {status}: {message}")]
    Refused { url: String, status: u16, message: String },
    #[error("`{url}` answered with something that is not {expected}: {found}")]
    BadAnswer { url: String, expected: &'static str, found: String },
    #[error("`{url}` took longer than {seconds} s to {what}")]
    TimedOut { url: String, seconds: u64, what: &'static str },
    #[error("`{url}` ended the answer early")]
    CutOff { url: String },
    /// `found` is the server's count or our estimate; not every server says its limit.
    #[error("the prompt has {found} tokens, `{url}` reads {}", limit.map_or("fewer".to_owned(), |n| n.to_string()))]
    TooLong { url: String, found: u64, limit: Option<u64> },
    /// `index` counts the texts of the call from 0.
    #[error("`{url}` did not embed text {index}: {message}")]
    TextRefused { url: String, index: usize, message: String },
    #[error("a text of {found} tokens is longer than the {limit} that `{model}` reads")]
    TextTooLong { model: String, found: usize, limit: usize },
    #[error("no ONNX Runtime at `{path}`: {why}")]
    NoRuntime { path: PathBuf, why: String },
    #[error("the model `{model}` failed: {why}")]
    Run { model: String, why: String },
    #[error("this program was built without the feature `{feature}`, so it has no `{name}`")]
    NotBuiltIn { name: &'static str, feature: &'static str },
    #[error("cannot {act} `{path}`: {source}")]
    Io { act: &'static str, path: PathBuf, source: std::io::Error },
    #[error("no model named `{name}`")]
    Unknown { name: String },
    /// A folder, a name or an address of a model of the user's own that cannot be one.
    #[error("{what}")]
    BadModel { what: String },
    #[error("a key would travel unencrypted to `{url}`")]
    Unencrypted { url: String },
    #[error("{what}")]
    Options { what: String },
    #[error("interrupted")]
    Cancelled,
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Unknown { .. } | Self::BadModel { .. } | Self::Unencrypted { .. } | Self::Options { .. } => {
                Kind::Usage
            }
            Self::Cancelled => Kind::Cancelled,
            Self::Io { .. } => Kind::Io,
            Self::Unreachable { .. }
            | Self::Unauthorized { .. }
            | Self::Refused { .. }
            | Self::BadAnswer { .. }
            | Self::TimedOut { .. }
            | Self::CutOff { .. }
            | Self::TooLong { .. }
            | Self::TextRefused { .. }
            | Self::TextTooLong { .. }
            | Self::NoRuntime { .. }
            | Self::NotBuiltIn { .. }
            | Self::Run { .. } => Kind::Model,
        }
    }
}
