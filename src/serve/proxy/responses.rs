//! The Responses API: may this answer be kept, and how does it read as a stream or whole?

use serde_json::{Value, json};

use super::{chat::pieces, frames::frames};

/// Why a whole response may not be kept; `Ok`: it may.
pub fn judge(response: &Value) -> Result<(), &'static str> {
    let null = |name: &str| response.get(name).is_none_or(Value::is_null);
    if !null("error") {
        return Err("error");
    }
    if response.get("status").and_then(Value::as_str) != Some("completed") || !null("incomplete_details") {
        return Err("finish-reason");
    }
    let Some(output) = response.get("output").and_then(Value::as_array) else { return Err("shape") };
    let mut says = false;
    for item in output {
        match item.get("type").and_then(Value::as_str) {
            Some("reasoning") => {}
            Some("message") => {
                let Some(content) = item.get("content").and_then(Value::as_array) else { return Err("shape") };
                for part in content {
                    match part.get("type").and_then(Value::as_str) {
                        Some("output_text") => {}
                        Some("refusal") => return Err("refusal"),
                        Some(_) | None => return Err("modality"),
                    }
                    if part.get("logprobs").and_then(Value::as_array).is_some_and(|all| !all.is_empty()) {
                        return Err("logprobs");
                    }
                    says |= part.get("text").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
                }
            }
            Some(_) | None => return Err("tool-calls"),
        }
    }
    if says { Ok(()) } else { Err("empty") }
}

/// The response that a stream ends with.
pub fn assembled(stream: &[u8]) -> Result<Value, &'static str> {
    let mut completed = None;
    for frame in frames(stream) {
        if frame.data.is_empty() || frame.data == "[DONE]" {
            continue;
        }
        let Ok(mut event) = serde_json::from_str::<Value>(&frame.data) else { return Err("shape") };
        match event.get("type").and_then(Value::as_str) {
            Some("response.completed") => completed = Some(event["response"].take()),
            Some("error" | "response.failed") => return Err("error"),
            Some("response.incomplete") => return Err("finish-reason"),
            Some(_) | None => {}
        }
    }
    completed.ok_or("finish-reason")
}

/// Tokens read and written, if they were counted.
pub fn usage(response: &Value) -> (u64, u64) {
    let number = |name: &str| response["usage"][name].as_u64().unwrap_or(0);
    (number("input_tokens"), number("output_tokens"))
}

/// A whole response as the stream that would have said it.
pub fn streamed(response: &Value) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut number = 0;
    let mut say = |kind: &str, mut more: Value| {
        let mut event = json!({"type": kind, "sequence_number": number});
        number += 1;
        if let (Some(event), Some(more)) = (event.as_object_mut(), more.as_object_mut()) {
            event.append(more);
        }
        parts.push(format!("event: {kind}\ndata: {event}\n\n").into_bytes());
    };
    let mut begun = response.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    say("response.created", json!({"response": begun}));
    say("response.in_progress", json!({"response": begun}));
    for (at, item) in response["output"].as_array().into_iter().flatten().enumerate() {
        let mut added = item.clone();
        let content = item["content"].as_array().filter(|_| item["type"] == "message");
        if content.is_some() {
            added["status"] = "in_progress".into();
            added["content"] = json!([]);
        }
        say("response.output_item.added", json!({"output_index": at, "item": added}));
        for (part_at, part) in content.into_iter().flatten().enumerate() {
            let place = |more: Value| {
                let mut event = json!({"item_id": item["id"], "output_index": at, "content_index": part_at});
                if let (Some(event), Value::Object(mut more)) = (event.as_object_mut(), more) {
                    event.append(&mut more);
                }
                event
            };
            let text = part["text"].as_str().unwrap_or_default();
            let mut empty = part.clone();
            empty["text"] = "".into();
            say("response.content_part.added", place(json!({"part": empty})));
            for piece in pieces(text) {
                say("response.output_text.delta", place(json!({"delta": piece, "logprobs": []})));
            }
            say("response.output_text.done", place(json!({"text": text, "logprobs": []})));
            say("response.content_part.done", place(json!({"part": part})));
        }
        say("response.output_item.done", json!({"output_index": at, "item": item}));
    }
    say("response.completed", json!({"response": response}));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(output: Value) -> Value {
        json!({"id": "r1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
            "model": "m", "output": output, "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}})
    }

    fn text(text: &str) -> Value {
        json!([{"type": "message", "id": "m1", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]}])
    }

    #[test]
    fn what_may_be_kept() {
        let mut incomplete = response(text("hi"));
        incomplete["status"] = "incomplete".into();
        let mut failed = response(text("hi"));
        failed["error"] = json!({"code": "x"});
        for (response, want) in [
            (response(text("hi")), Ok(())),
            (response(text("")), Err("empty")),
            (response(json!([])), Err("empty")),
            (response(json!([{"type": "function_call"}])), Err("tool-calls")),
            (response(json!([{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}])), Err("refusal")),
            (response(json!([{"type": "image_generation_call"}])), Err("tool-calls")),
            (incomplete, Err("finish-reason")),
            (failed, Err("error")),
            (json!({}), Err("finish-reason")),
        ] {
            assert_eq!(judge(&response), want, "{response}");
        }
    }

    #[test]
    fn a_stream_ends_with_the_whole() {
        let mut output = text("It is 12 m high.\nAnd more 🦀.");
        output.as_array_mut().unwrap().insert(0, json!({"type": "reasoning", "id": "r", "summary": []}));
        let whole = response(output);
        let parts = streamed(&whole);
        assert_eq!(assembled(&parts.concat()), Ok(whole));
        let said: String = frames(&parts.concat())
            .iter()
            .filter_map(|frame| serde_json::from_str::<Value>(&frame.data).ok())
            .filter(|event| event["type"] == "response.output_text.delta")
            .filter_map(|event| event["delta"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(said, "It is 12 m high.\nAnd more 🦀.");
        for (stream, want) in [
            ("data: {\"type\": \"response.created\"}\n\n", "finish-reason"),
            ("data: {\"type\": \"error\"}\n\n", "error"),
            ("data: x\n\n", "shape"),
        ] {
            assert_eq!(assembled(stream.as_bytes()), Err(want));
        }
    }
}
