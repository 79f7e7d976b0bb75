//! How the server says no: `{"error": {"type": …, "message": …, "hint": …, "request_id": …}}`.

use serde::{Deserialize, Serialize};

use crate::types::Kind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct ErrorBody {
    pub error: ErrorDetail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct ErrorDetail {
    /// A word of [`ErrorType`].
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What the access log calls the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
}

/// Why a request was not done: the kinds of failure that commands have, and those that only a door has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorType {
    Of(Kind),
    /// No key, or one that is not known.
    Unauthorized,
    /// The key, the server's settings, or the place a request comes from do not allow it.
    Forbidden,
    NoRoute,
    Method,
    /// The query took too long.
    Timeout,
    TooLarge,
    /// The type of the body.
    MediaType,
    /// Host header.
    Misdirected,
    /// A quota.
    TooMany,
    /// Too much is in flight; come again.
    Busy,
    /// An unexpected header or request.
    BadRequest,
}

impl ErrorType {
    const ALL: [Self; 20] = [
        Self::Of(Kind::Usage),
        Self::Of(Kind::NotFound),
        Self::Of(Kind::Locked),
        Self::Of(Kind::Incompatible),
        Self::Of(Kind::Corrupt),
        Self::Of(Kind::Io),
        Self::Of(Kind::Model),
        Self::Of(Kind::Cancelled),
        Self::Of(Kind::Bug),
        Self::Unauthorized,
        Self::Forbidden,
        Self::NoRoute,
        Self::Method,
        Self::Timeout,
        Self::TooLarge,
        Self::MediaType,
        Self::Misdirected,
        Self::TooMany,
        Self::Busy,
        Self::BadRequest,
    ];

    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Of(kind) => crate::serve::wire::kind_word(kind),
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NoRoute => "no_route",
            Self::Method => "method",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::MediaType => "media_type",
            Self::Misdirected => "misdirected",
            Self::TooMany => "too_many",
            Self::Busy => "busy",
            Self::BadRequest => "bad_request",
        }
    }

    /// The one a word stands for.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }

    /// Its HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::Of(Kind::Usage) | Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::Of(Kind::NotFound) | Self::NoRoute => 404,
            Self::Method => 405,
            Self::Timeout => 408,
            Self::Of(Kind::Locked | Kind::Incompatible) => 409,
            Self::TooLarge => 413,
            Self::MediaType => 415,
            Self::Misdirected => 421,
            Self::TooMany => 429,
            Self::Of(Kind::Corrupt | Kind::Io | Kind::Bug) => 500,
            Self::Of(Kind::Model) => 502,
            Self::Of(Kind::Cancelled) | Self::Busy => 503,
        }
    }

    /// The kind of failure it is for a command, which its exit code comes from.
    pub fn kind(self) -> Kind {
        match self {
            Self::Of(kind) => kind,
            Self::TooLarge | Self::MediaType | Self::BadRequest => Kind::Usage,
            Self::Unauthorized
            | Self::Forbidden
            | Self::NoRoute
            | Self::Method
            | Self::Timeout
            | Self::Misdirected
            | Self::TooMany
            | Self::Busy => Kind::Model,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_word_of_its_own_and_a_status() {
        for one in ErrorType::ALL {
            assert_eq!(ErrorType::of_word(one.word()), Some(one));
            assert!((400..600).contains(&one.status()));
        }
        assert_eq!(ErrorType::of_word("what"), None);
    }
}
