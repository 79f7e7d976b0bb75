//! How does the Responses API say what chat completions say? Requests and events turned into each other, so that one reader
//! serves both. Nothing depends on what the server stores, and it is asked to store nothing.
//! Not good for: tools, images, or going on from a stored response.

use serde_json::{Map, Value, json};

/// The request for the Responses API that asks what a chat request asks.
pub fn request(chat: Value) -> Value {
    let Value::Object(chat) = chat else { return chat };
    let mut body = Map::new();
    for (name, value) in chat {
        let name = match name.as_str() {
            "messages" => "input",
            "max_tokens" | "max_completion_tokens" => "max_output_tokens",
            // It knows neither.
            "seed" | "stream_options" => continue,
            other => other,
        };
        body.insert(name.to_owned(), value);
    }
    body.insert("store".to_owned(), false.into());
    Value::Object(body)
}

/// An event, or a whole response, as a chunk of a chat completion; `None` if it is neither, or tells nothing.
pub fn as_chunk(value: &Value) -> Option<Value> {
    if value.get("object").and_then(Value::as_str) == Some("response") {
        return Some(whole(value));
    }
    let kind = value.get("type").and_then(Value::as_str)?.strip_prefix("response.")?;
    let delta = |field: &str| {
        let text = value.get("delta").cloned().unwrap_or(Value::Null);
        json!({"choices": [{"index": 0, "delta": {field: text}}]})
    };
    match kind {
        "output_text.delta" => Some(delta("content")),
        "refusal.delta" => Some(delta("refusal")),
        "reasoning_text.delta" | "reasoning_summary_text.delta" => Some(delta("reasoning_content")),
        "completed" | "incomplete" | "failed" => {
            let response = value.get("response")?;
            if let Some(error) = error_of(response) {
                return Some(json!({ "error": error }));
            }
            // Its text has come in parts.
            Some(json!({
                "model": response.get("model"),
                "usage": response.get("usage"),
                "choices": [{"index": 0, "delta": {}, "finish_reason": finish(response)}],
            }))
        }
        // Everything else says where the server is, and says nothing of the answer.
        _ => Some(json!({})),
    }
}

fn whole(response: &Value) -> Value {
    if let Some(error) = error_of(response) {
        return json!({ "error": error });
    }
    let (mut text, mut refusal, mut thought) = (String::new(), String::new(), String::new());
    let list = |value: &Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    for item in list(response, "output") {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        for part in list(&item, "content").into_iter().chain(list(&item, "summary")) {
            let words = |field: &str| part.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            match kind {
                "reasoning" => thought.push_str(&words("text")),
                _ => {
                    text.push_str(&words("text"));
                    refusal.push_str(&words("refusal"));
                }
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": text});
    if !refusal.is_empty() {
        message["refusal"] = refusal.into();
    }
    if !thought.is_empty() {
        message["reasoning_content"] = thought.into();
    }
    json!({
        "model": response.get("model"),
        "usage": response.get("usage"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish(response)}],
    })
}

fn error_of(response: &Value) -> Option<&Value> {
    response.get("error").filter(|error| !error.is_null())
}

fn finish(response: &Value) -> Value {
    let status = response.get("status").and_then(Value::as_str).unwrap_or_default();
    let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
    match (status, reason) {
        ("incomplete", Some(reason)) => reason.into(),
        ("incomplete", None) => "length".into(),
        ("cancelled" | "failed", _) => "abort".into(),
        ("in_progress" | "queued", _) => Value::Null,
        _ => "stop".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_renamed() {
        let chat = json!({"model": "m", "messages": [{"role": "user", "content": "q"}], "max_tokens": 5, "seed": 42,
            "temperature": 0, "stream": true, "stream_options": {"include_usage": true}});
        let want = json!({"model": "m", "input": [{"role": "user", "content": "q"}], "max_output_tokens": 5,
            "temperature": 0, "stream": true, "store": false});
        assert_eq!(request(chat), want);
    }

    #[test]
    fn events_become_chunks() {
        let usage = json!({"input_tokens": 7, "output_tokens": 2});
        for (event, want) in [
            (
                json!({"type": "response.output_text.delta", "delta": "Hi"}),
                Some(json!({"choices": [{"index": 0, "delta": {"content": "Hi"}}]})),
            ),
            (json!({"type": "response.created", "response": {"model": "m"}}), Some(json!({}))),
            (
                json!({"type": "response.completed", "response": {"model": "m", "status": "completed", "usage": usage}}),
                Some(
                    json!({"model": "m", "usage": usage, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                ),
            ),
            (
                json!({"type": "response.incomplete", "response": {"status": "incomplete",
                    "incomplete_details": {"reason": "max_output_tokens"}}}),
                Some(json!({"model": null, "usage": null,
                    "choices": [{"index": 0, "delta": {}, "finish_reason": "max_output_tokens"}]})),
            ),
            (
                json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}}),
                Some(json!({"error": {"code": "server_error", "message": "x"}})),
            ),
            (json!({"choices": []}), None),
            (json!({"type": "error", "message": "x"}), None),
        ] {
            assert_eq!(as_chunk(&event), want, "{event}");
        }
        let whole = json!({"object": "response", "status": "completed", "model": "m", "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]});
        let message = json!({"role": "assistant", "content": "Hi", "reasoning_content": "hm"});
        assert_eq!(as_chunk(&whole).unwrap()["choices"][0]["message"], message);
    }
}
