//! A failure as a client is told it: what kind, what happened, what to do next.
//!
//! Errors of the halls become these where work of many requests is done together, so it can be told to each of them.

use crate::{index, ingest, model, retrieve, types::Kind};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Told {
    pub kind: Kind,
    /// Lower case, without a final full stop.
    pub message: String,
    /// The next step, if somebody knows one.
    pub hint: Option<String>,
}

impl Told {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Adds the next step, if none was said yet.
    #[must_use]
    pub fn hint(self, text: impl Into<String>) -> Self {
        Self { hint: self.hint.or_else(|| Some(text.into())), ..self }
    }
}

macro_rules! told_of {
    ($($error:ty),*) => {$(
        impl From<$error> for Told {
            fn from(error: $error) -> Self {
                Self::new(error.kind(), error.to_string())
            }
        }
    )*};
}
told_of!(index::Error, ingest::Error, model::Error, retrieve::Error);
