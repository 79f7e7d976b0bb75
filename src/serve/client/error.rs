//! Why a server did not answer, or said no.

use crate::{
    model::{
        self,
        http::{Failure, presentable},
    },
    serve::api::{ErrorBody, ErrorType},
    types::Kind,
};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It was not reached, or what it said was cut off.
    #[error("{0}")]
    Net(#[from] model::Error),
    /// It was reached and said no: in the words and of the kind that the same command would have had there.
    #[error("{message}")]
    Refused { kind: ErrorType, message: String, hint: Option<String> },
    /// What answers is no `rag serve`, or one that speaks another language.
    #[error("`{url}` does not answer as `rag serve` does: {found}")]
    NotOurs { url: String, found: String },
    #[error("the request cannot be put into words: {why}")]
    Unsayable { why: String },
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Net(error) => error.kind(),
            Self::Refused { kind, .. } => kind.kind(),
            Self::NotOurs { .. } => Kind::Model,
            Self::Unsayable { .. } => Kind::Usage,
        }
    }

    /// What the server says is to be done.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Refused { hint, .. } => hint.as_deref(),
            Self::Net(_) | Self::NotOurs { .. } | Self::Unsayable { .. } => None,
        }
    }

    pub(super) fn not_ours(url: String, why: &str) -> Self {
        Self::NotOurs { url, found: presentable(why) }
    }

    /// `clean`: takes our secrets out of a text of the server.
    pub(super) fn refused(shown: &str, failure: &Failure, clean: impl Fn(&str) -> String) -> Self {
        let status = failure.status;
        if let Some(to) = &failure.redirect {
            return Self::not_ours(shown.to_owned(), &format!("it sends its callers to `{to}`, which is not followed"));
        }
        match serde_json::from_slice::<ErrorBody>(&failure.body) {
            Ok(body) => Self::said(shown, body, clean),
            Err(_) => {
                let text = String::from_utf8_lossy(&failure.body);
                let text =
                    if text.trim().is_empty() { String::new() } else { format!(", {}", presentable(&clean(&text))) };
                Self::not_ours(shown.to_owned(), &format!("it says {status}{text}"))
            }
        }
    }

    /// What a server of ours said.
    pub(super) fn said(shown: &str, body: ErrorBody, clean: impl Fn(&str) -> String) -> Self {
        let said = body.error;
        let message = clean(&said.message);
        match ErrorType::of_word(&said.kind) {
            Some(kind) => Self::Refused { kind, message, hint: said.hint.as_deref().map(clean) },
            // Of tomorrow.
            None => Self::not_ours(shown.to_owned(), &message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: u16, body: &str) -> Failure {
        let body = body.as_bytes().to_vec();
        Failure { status, content_type: "application/json".into(), body, retry_after: None, redirect: None }
    }

    #[test]
    fn a_refusal_has_the_kind_it_would_have_here() {
        for (status, body, want) in [
            (400, r#"{"error":{"type":"usage","message":"m","request_id":"1"}}"#, Kind::Usage),
            (404, r#"{"error":{"type":"not_found","message":"m"}}"#, Kind::NotFound),
            (409, r#"{"error":{"type":"locked","message":"m","hint":"h"}}"#, Kind::Locked),
            (401, r#"{"error":{"type":"unauthorized","message":"m"}}"#, Kind::Model),
            (500, r#"{"error":{"type":"corrupt","message":"m"}}"#, Kind::Corrupt),
            (500, r#"{"error":{"type":"of_tomorrow","message":"m"}}"#, Kind::Model),
            (502, "<html>Bad Gateway", Kind::Model),
            (404, "", Kind::Model),
        ] {
            let error = Error::refused("http://host", &failure(status, body), str::to_owned);
            assert_eq!(error.kind(), want, "{error}");
        }
    }

    #[test]
    fn what_is_no_server_of_ours_is_named() {
        let error = Error::refused("http://host", &failure(502, "<html>Bad Gateway"), str::to_owned);
        assert_eq!(
            error.to_string(),
            "`http://host` does not answer as `rag serve` does: it says 502, <html>Bad Gateway"
        );
        let redirect = Failure { redirect: Some("https://other/".into()), ..failure(301, "") };
        let error = Error::refused("http://host", &redirect, str::to_owned);
        assert!(error.to_string().ends_with("it sends its callers to `https://other/`, which is not followed"));
    }
}
