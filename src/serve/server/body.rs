//! Bodies of requests: never more than a limit, never waited for longer than it takes, JSON no deeper than a limit.

use std::{future::poll_fn, pin::Pin, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use hyper::body::Body as _;
use serde::de::DeserializeOwned;

use super::{
    failure::{Failure, Result},
    options::Limits,
    state::State,
};
use crate::serve::api::ErrorType;

/// A body of JSON, read within the server's limits.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<State> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &State) -> Result<Self> {
        let limits = &state.options().limits;
        let bytes = whole(request, limits.json_bytes, limits.idle_timeout).await?;
        parse(&bytes, limits).map(Json)
    }
}

/// Reads JSON. Errors: what is wrong, and where.
pub fn parse<T: DeserializeOwned>(bytes: &[u8], limits: &Limits) -> Result<T> {
    if depth(bytes) > limits.json_depth {
        return Err(Failure::usage(format!("the JSON is nested deeper than {} levels", limits.json_depth)));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let what =
            if bytes.trim_ascii().is_empty() { "it is empty; `{}` is a request".to_owned() } else { error.to_string() };
        Failure::usage(format!("cannot read the request: {what}"))
    })
}

/// How deep brackets nest, outside of texts.
fn depth(bytes: &[u8]) -> usize {
    let (mut deepest, mut now, mut in_text, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' if !in_text => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// All of a body, up to a limit.
pub async fn whole(request: Request, limit: usize, idle: Duration) -> Result<Vec<u8>> {
    check_length(request.headers(), limit as u64)?;
    let mut reader = Parts::new(request.into_body(), limit as u64, idle);
    let mut bytes = Vec::new();
    while let Some(part) = reader.next().await? {
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// Errors: a body that says itself that it is too large.
pub fn check_length(headers: &HeaderMap, limit: u64) -> Result<()> {
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|said| said > limit) { Err(too_large(limit)) } else { Ok(()) }
}

pub fn too_large(limit: u64) -> Failure {
    Failure::new(ErrorType::TooLarge, format!("the body is larger than {limit} bytes"))
}

/// A body, part by part.
pub struct Parts {
    body: Body,
    left: u64,
    limit: u64,
    idle: Duration,
}

impl Parts {
    pub fn new(body: Body, limit: u64, idle: Duration) -> Self {
        Self { body, left: limit, limit, idle }
    }

    /// The next part; `None` at the end. Errors: too large; nothing came for too long; the connection broke.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let frame = poll_fn(|context| Pin::new(&mut self.body).poll_frame(context));
            let Ok(frame) = tokio::time::timeout(self.idle, frame).await else {
                let message = format!("nothing of the body came for {} s", self.idle.as_secs());
                return Err(Failure::new(ErrorType::Timeout, message));
            };
            let frame = match frame {
                None => return Ok(None),
                Some(Ok(frame)) => frame,
                Some(Err(_)) => return Err(Failure::new(ErrorType::BadRequest, "the body broke off or is malformed")),
            };
            // Trailers say nothing to us.
            let Ok(data) = frame.into_data() else { continue };
            let Some(left) = self.left.checked_sub(data.len() as u64) else { return Err(too_large(self.limit)) };
            self.left = left;
            if !data.is_empty() {
                return Ok(Some(data));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n05_depth_counts_brackets_outside_of_texts() {
        for (text, want) in
            [("{}", 1), ("[[[]]]", 3), ("{\"a\":\"[[[[\"}", 1), ("{\"a\\\"[\":[1]}", 2), ("", 0), ("]]][", 1)]
        {
            assert_eq!(depth(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn n05_deep_json_is_refused_before_it_is_read() {
        let limits = Limits::default();
        let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        assert!(parse::<serde_json::Value>(deep.as_bytes(), &limits).unwrap_err().message.contains("64 levels"));
        let fine = format!("{}1{}", "[".repeat(64), "]".repeat(64));
        assert!(parse::<serde_json::Value>(fine.as_bytes(), &limits).is_ok());
    }
}
