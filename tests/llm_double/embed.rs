//! Which vectors does the double give? Each text has its own, the same every time.

use std::sync::Arc;

use axum::{body::Body, http::Response};
use base64::Engine as _;
use serde_json::{Value, json};

use super::{Behaviour, Request, Shared, json_answer};

/// Dimension of its vectors, unless the request asks for another.
pub const DIM: usize = 16;

/// The vector of a text, not normalised: counts of its bytes.
pub fn vector(text: &str, dim: usize) -> Vec<f32> {
    let mut vector = vec![0.25; dim];
    for byte in text.bytes() {
        vector[usize::from(byte) % dim] += 1.0;
    }
    vector
}

pub fn answer(shared: &Arc<Shared>, behaviour: &Behaviour, request: &Request) -> Response<Body> {
    let profile = shared.profile;
    let refused = |status, message: &str| json_answer(status, &profile.error(status, message));
    let texts: Vec<&str> = match &request.body["input"] {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => return refused(400, "no input"),
    };
    if texts.iter().any(|text| text.is_empty()) {
        return refused(400, "Input content cannot be empty");
    }
    let dim = request.body["dimensions"].as_u64().map_or(DIM, |dim| usize::try_from(dim).unwrap());
    let dim = if matches!(behaviour, Behaviour::OtherDim) { dim + 1 } else { dim };
    let coded = |vector: &[f32]| match behaviour {
        Behaviour::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
            json!(base64::engine::general_purpose::STANDARD.encode(bytes))
        }
        Behaviour::Zeros => json!(vec![0.0; vector.len()]),
        Behaviour::NotANumber => json!([Value::Null, 1.0]),
        _ => json!(vector),
    };
    let item = |(index, text): (usize, &&str)| json!({"object": "embedding", "index": index, "embedding": coded(&vector(text, dim))});
    let mut data: Vec<Value> = texts.iter().enumerate().map(item).collect();
    match behaviour {
        Behaviour::AtMost(limit) if texts.len() > *limit => return refused(400, "batch size is over the maximum"),
        Behaviour::UpTo(limit) => {
            if let Some(long) = texts.iter().find(|text| text.len() > *limit) {
                let message = format!(
                    "input ({} tokens) is too large to process. increase the physical batch size (current batch size: {limit})",
                    long.len()
                );
                return refused(500, &message);
            }
        }
        Behaviour::Shuffled => data.reverse(),
        Behaviour::OneMissing => {
            data.pop();
        }
        _ => {}
    }
    let tokens: usize = texts.iter().map(|text| text.len()).sum();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    json_answer(200, &json!({"object": "list", "model": profile.model(), "data": data, "usage": usage}))
}
