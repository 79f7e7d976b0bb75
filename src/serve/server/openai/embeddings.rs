//! `POST /v1/embeddings`: vectors by the model of the index.

use std::sync::Arc;

use axum::{body::Body, extract::State as Given, http::Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::json;

use super::super::{
    body::Json,
    failure::{Failure, Result},
    guard::Caller,
    keys::Scope,
    search,
    state::{State, Work},
};
use crate::{
    model::{Embedder, wordpiece::WordPiece},
    retrieve::Mode,
};

/// What is read of a request.
#[derive(Debug, Deserialize)]
pub struct Request {
    input: Input,
    #[serde(default)]
    encoding_format: Option<String>,
    #[serde(default)]
    dimensions: Option<usize>,
    /// Ours: `query` or `passage`; else passages.
    #[serde(default)]
    input_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Input {
    One(String),
    Many(Vec<String>),
    /// Numbers of tokens, or whatever else.
    Other(serde::de::IgnoredAny),
}

/// `POST /v1/embeddings`
pub async fn embeddings(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<Request>,
) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    let limits = &state.options().limits;
    let texts = match request.input {
        Input::One(text) => vec![text],
        Input::Many(texts) => texts,
        Input::Other(_) => return Err(Failure::usage("`input` is texts; numbers of tokens are not read")),
    };
    if texts.is_empty() || texts.len() > limits.batch {
        return Err(Failure::usage(format!("`input` has {} texts, expected 1 to {}", texts.len(), limits.batch)));
    }
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(Failure::usage("a text of `input` is empty"));
    }
    let as_base64 = match request.encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => return Err(Failure::usage(format!("`encoding_format` is `float` or `base64`, not `{other}`"))),
    };
    let as_query = match request.input_type.as_deref() {
        None | Some("passage" | "document") => false,
        Some("query") => true,
        Some(other) => return Err(Failure::usage(format!("`input_type` is `query` or `passage`, not `{other}`"))),
    };
    let house = state.house(&caller)?;
    let own = state.clone();
    let result = state.work(&caller, Work::Answer, None, move || {
        let snapshot = house.snapshot()?;
        let embedder = house.embedder(&own, &snapshot, Mode::Hybrid)?;
        let embedder: Arc<dyn Embedder> =
            embedder.ok_or_else(|| Failure::usage("this index has no vectors, so it has no model that makes them"))?;
        let dim = embedder.space().dim;
        if request.dimensions.is_some_and(|wanted| wanted != dim) {
            return Err(Failure::usage(format!("vectors of this model have {dim} dimensions")));
        }
        let mut data = Vec::with_capacity(texts.len());
        for (at, text) in texts.iter().enumerate() {
            let vector = if as_query { embedder.embed_query(text)? } else { embedder.embed_passages(&[text])? };
            let embedding = if as_base64 { json!(base64(&vector)) } else { json!(vector) };
            data.push(json!({ "object": "embedding", "index": at, "embedding": embedding }));
        }
        let tokens: usize = texts.iter().map(|text| WordPiece::builtin().count(text)).sum();
        Ok(json!({
            "object": "list", "data": data, "model": embedder.space().model,
            "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
        }))
    });
    search::json(&result.await?)
}

/// Floats as little-endian bytes.
fn base64(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}
