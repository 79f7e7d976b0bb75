//! Why a request was not done, in words that show nothing of the server's inside.
//!
//! No absolute path, no backtrace, at most [`MAX_UPSTREAM_CHARS`] of what another server said. The access log gets the
//! request's id, so that whoever runs the server can find out more.

use std::path::Path;

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response, StatusCode, header},
};

use crate::{
    index, ingest, model, retrieve,
    serve::{
        api::{ErrorBody, ErrorDetail, ErrorType},
        hints,
        told::Told,
    },
    types::Kind,
};

/// Characters of a message that comes from a model's endpoint.
const MAX_UPSTREAM_CHARS: usize = 500;

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// A refusal on its way to the client.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: ErrorType,
    pub message: String,
    pub hint: Option<String>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Failure {
    pub fn new(kind: ErrorType, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, headers: Vec::new() }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorType::Of(Kind::Usage), message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorType::Of(Kind::NotFound), message)
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, message)
    }

    /// A fault of ours.
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(ErrorType::Of(Kind::Bug), message)
    }

    /// Too much is in flight.
    pub fn busy() -> Self {
        Self::new(ErrorType::Busy, "too many requests are in flight")
            .hint("come again in a second")
            .header(header::RETRY_AFTER, "1")
    }

    pub fn timeout(seconds: f64) -> Self {
        Self::new(ErrorType::Timeout, format!("the query took longer than {seconds} s"))
            .hint("narrow it with a filter, ask for fewer results, or leave out `exact`")
    }

    pub fn hint(self, text: impl Into<String>) -> Self {
        Self { hint: Some(text.into()), ..self }
    }

    pub fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Takes paths of this machine out of the words. `known`: folders of ours, which others name with their last part.
    pub fn without_paths(mut self, known: &[&Path]) -> Self {
        self.message = without_paths(&self.message, known);
        self.hint = self.hint.map(|hint| without_paths(&hint, known));
        self
    }

    /// What the client sees.
    pub fn detail(&self, request_id: &str) -> ErrorDetail {
        ErrorDetail {
            kind: self.kind.word().to_owned(),
            message: self.message.clone(),
            hint: self.hint.clone(),
            request_id: request_id.to_owned(),
        }
    }

    pub fn response(&self, request_id: &str) -> Response<Body> {
        let body = ErrorBody { error: self.detail(request_id) };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &self.headers {
            response.headers_mut().insert(name.clone(), value.clone());
        }
        response
    }
}

/// Absolute paths in backticks become `…/name`, and so do folders that are known, wherever they stand.
fn without_paths(text: &str, known: &[&Path]) -> String {
    let mut text = text.to_owned();
    for folder in known.iter().filter(|folder| folder.is_absolute()) {
        let shown = folder.file_name().map_or_else(|| "…".to_owned(), |name| name.to_string_lossy().into_owned());
        text = text.replace(&*folder.to_string_lossy(), &shown);
    }
    let mut out = String::with_capacity(text.len());
    for (part, is_quoted) in text.split('`').zip([false, true].into_iter().cycle()) {
        if is_quoted {
            out.push('`');
        }
        match Path::new(part).file_name() {
            Some(name) if is_quoted && Path::new(part).is_absolute() => {
                out.push_str("…/");
                out.push_str(&name.to_string_lossy());
            }
            _ => out.push_str(part),
        }
        if is_quoted {
            out.push('`');
        }
    }
    out
}

impl From<Told> for Failure {
    fn from(told: Told) -> Self {
        let Told { kind, message, hint } = told;
        Self { hint, ..Self::new(ErrorType::Of(kind), message) }
    }
}

impl From<Failure> for Told {
    fn from(failure: Failure) -> Self {
        let Failure { kind, message, hint, .. } = failure;
        Self { kind: kind.kind(), message, hint }
    }
}

impl From<index::Error> for Failure {
    fn from(error: index::Error) -> Self {
        let hint = hints::index(&error);
        Self { hint, ..Self::new(ErrorType::Of(error.kind()), error.to_string()) }
    }
}

impl From<model::Error> for Failure {
    fn from(error: model::Error) -> Self {
        if let model::Error::Unauthorized { .. } = error {
            // Whose key it is matters: the client's own was accepted.
            return Self::new(ErrorType::Of(Kind::Model), "the model's endpoint rejected the server's key")
                .hint("whoever runs the server has to mend that");
        }
        let hint = hints::model(&error);
        let message: String = error.to_string().chars().take(MAX_UPSTREAM_CHARS).collect();
        Self { hint, ..Self::new(ErrorType::Of(error.kind()), message) }
    }
}

impl From<ingest::Error> for Failure {
    fn from(error: ingest::Error) -> Self {
        match error {
            ingest::Error::Index(error) => error.into(),
            ingest::Error::Model(error) => error.into(),
            error => {
                let hint = hints::ingest(&error);
                Self { hint, ..Self::new(ErrorType::Of(error.kind()), error.to_string()) }
            }
        }
    }
}

impl From<retrieve::Error> for Failure {
    fn from(error: retrieve::Error) -> Self {
        match error {
            retrieve::Error::Index(error) => error.into(),
            retrieve::Error::Model(error) => error.into(),
            error => {
                let hint = hints::retrieve(&error);
                Self { hint, ..Self::new(ErrorType::Of(error.kind()), error.to_string()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n10_no_absolute_path_reaches_a_client() {
        let known = [Path::new("/srv/docs/.rag"), Path::new("/srv/docs")];
        for (text, want) in [
            ("index at `/srv/docs/.rag` is damaged", "index at `.rag` is damaged"),
            ("cannot read `/etc/passwd`: denied", "cannot read `…/passwd`: denied"),
            ("under /srv/docs/a there is nothing", "under docs/a there is nothing"),
            ("no document `docs/a.md`", "no document `docs/a.md`"),
            ("an odd ` alone, and `/x/y", "an odd ` alone, and `/x/y`"),
        ] {
            let shown = Failure::usage(text).without_paths(&known).message;
            assert_eq!(shown.trim_end_matches('`'), want.trim_end_matches('`'), "{text}");
        }
    }
}
