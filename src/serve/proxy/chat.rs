//! Chat completions: may this answer be kept, and how does it read as a stream or whole?

use serde_json::{Map, Value, json};

use super::frames::frames;

/// What OpenAI's clients read as the end.
const DONE: &[u8] = b"data: [DONE]\n\n";

/// Tokens of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    pub value: Value,
    pub prompt: u64,
    pub completion: u64,
}

impl Usage {
    fn of(answer: &Value) -> Option<Self> {
        let value = answer.get("usage").filter(|usage| usage.is_object())?;
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        Some(Self {
            value: value.clone(),
            prompt: number("prompt_tokens")?,
            completion: number("completion_tokens").unwrap_or(0),
        })
    }

    /// Counted by bytes, as nobody else has counted.
    pub fn estimated(prompt_bytes: usize, answer_bytes: usize) -> Self {
        let tokens = |bytes| crate::model::openai::estimated_tokens(bytes) as u64;
        let (prompt, completion) = (tokens(prompt_bytes), tokens(answer_bytes));
        let value =
            json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion});
        Self { value, prompt, completion }
    }
}

/// Why a whole answer may not be kept; `Ok`: it may.
pub fn judge(answer: &Value) -> Result<(), &'static str> {
    let null = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
    };
    if !null(answer.get("error")) {
        return Err("error");
    }
    let Some([choice]) = answer.get("choices").and_then(Value::as_array).map(Vec::as_slice) else {
        return Err("choices");
    };
    let Some(message) = choice.get("message") else { return Err("shape") };
    for (name, why) in [
        ("tool_calls", "tool-calls"),
        ("function_call", "tool-calls"),
        ("refusal", "refusal"),
        ("audio", "modality"),
        ("images", "modality"),
    ] {
        if !null(message.get(name)) {
            return Err(why);
        }
    }
    match choice.get("finish_reason").and_then(Value::as_str) {
        Some("stop") => {}
        Some("content_filter") => return Err("content-filter"),
        Some(_) | None => return Err("finish-reason"),
    }
    if !null(choice.get("logprobs")) {
        return Err("logprobs");
    }
    match message.get("content") {
        Some(Value::String(text)) if !text.is_empty() => Ok(()),
        Some(Value::Array(_)) => Err("modality"),
        _ => Err("empty"),
    }
}

/// The whole answer that a stream says, with its `usage` if it was counted. Errors: why it cannot be one.
pub fn assembled(stream: &[u8]) -> Result<Value, &'static str> {
    let mut answer = Map::new();
    let mut message = Map::new();
    let mut finish = Value::Null;
    let mut usage = Value::Null;
    for frame in frames(stream) {
        if frame.data.is_empty() || frame.data == "[DONE]" {
            continue;
        }
        let Ok(Value::Object(chunk)) = serde_json::from_str(&frame.data) else { return Err("shape") };
        for (name, value) in chunk {
            match name.as_str() {
                "choices" => {
                    let Value::Array(choices) = value else { return Err("shape") };
                    for choice in choices {
                        take(choice, &mut message, &mut finish)?;
                    }
                }
                "usage" if value.is_object() => usage = value,
                "error" if !value.is_null() => return Err("error"),
                "usage" | "error" | "object" => {}
                // Azure's first chunk has an empty name of the model.
                _ => match answer.get(&name) {
                    None | Some(Value::Null) => drop(answer.insert(name, value)),
                    Some(Value::String(text)) if text.is_empty() => drop(answer.insert(name, value)),
                    Some(_) => {}
                },
            }
        }
    }
    message.entry("role").or_insert_with(|| "assistant".into());
    answer.insert("object".into(), "chat.completion".into());
    answer.insert("choices".into(), json!([{"index": 0, "message": message, "finish_reason": finish}]));
    if usage.is_object() {
        answer.insert("usage".into(), usage);
    }
    Ok(answer.into())
}

/// Adds what one choice of a chunk says.
fn take(choice: Value, message: &mut Map<String, Value>, finish: &mut Value) -> Result<(), &'static str> {
    let Value::Object(mut choice) = choice else { return Err("shape") };
    if choice.get("index").is_some_and(|index| index != 0) {
        return Err("n");
    }
    if choice.get("logprobs").is_some_and(|value| !value.is_null()) {
        return Err("logprobs");
    }
    if let Some(reason) = choice.remove("finish_reason").filter(Value::is_string) {
        *finish = reason;
    }
    let Some(Value::Object(delta)) = choice.remove("delta") else { return Ok(()) };
    for (name, value) in delta {
        match (message.get_mut(&name), value) {
            (Some(Value::String(said)), Value::String(more)) if name != "role" => said.push_str(&more),
            (Some(Value::Array(said)), Value::Array(more)) => said.extend(more),
            (Some(_), Value::Null) => {}
            (_, value) => drop(message.insert(name, value)),
        }
    }
    Ok(())
}

/// The answer whole, as it came or put together; with the count of its tokens, and whether that is an estimate.
pub fn whole(answer: &Value, usage: &Usage) -> Vec<u8> {
    let mut answer = answer.clone();
    if let Some(members) = answer.as_object_mut() {
        members.entry("usage").or_insert_with(|| usage.value.clone());
    }
    answer.to_string().into_bytes()
}

/// What an answer was counted as, or is estimated at. `true`: estimated.
pub fn usage(answer: &Value, prompt_bytes: usize) -> (Usage, bool) {
    let said = || answer["choices"][0]["message"]["content"].as_str().map_or(0, str::len);
    match Usage::of(answer) {
        Some(usage) => (usage, false),
        None => (Usage::estimated(prompt_bytes, said()), true),
    }
}

/// A recorded stream for a client that wants (or does not want) the count of tokens. `None`: as it was recorded.
pub fn reshaped(stream: &[u8], usage: Option<&Usage>) -> Option<Vec<Vec<u8>>> {
    let frames = frames(stream);
    let is_count = |data: &str| {
        let chunk: Option<Value> = serde_json::from_str(data).ok();
        chunk.is_some_and(|chunk| chunk["usage"].is_object() && chunk["choices"].as_array().is_some_and(Vec::is_empty))
    };
    let counts: Vec<bool> = frames.iter().map(|frame| is_count(&frame.data)).collect();
    let has_count = counts.contains(&true);
    let bytes = |frame: &super::frames::Frame<'_>| frame.bytes.to_vec();
    match usage {
        None if has_count => {
            Some(frames.iter().zip(counts).filter(|(_, is_count)| !is_count).map(|(frame, _)| bytes(frame)).collect())
        }
        Some(usage) if !has_count => {
            let first = frames.iter().find_map(|frame| serde_json::from_str::<Value>(&frame.data).ok());
            let mut count = first.unwrap_or_else(|| json!({"object": "chat.completion.chunk"}));
            count["choices"] = json!([]);
            count["usage"] = usage.value.clone();
            let done = frames.iter().position(|frame| frame.data == "[DONE]").unwrap_or(frames.len());
            let mut parts: Vec<Vec<u8>> = frames.iter().map(bytes).collect();
            parts.insert(done, event(&count));
            Some(parts)
        }
        None | Some(_) => None,
    }
}

/// A whole answer as a stream, word by word. `usage`: with the count of tokens at its end.
pub fn streamed(answer: &Value, usage: Option<&Usage>) -> Vec<Vec<u8>> {
    let mut frame: Map<String, Value> = answer.as_object().cloned().unwrap_or_default();
    frame.retain(|name, _| !matches!(name.as_str(), "choices" | "usage"));
    frame.insert("object".into(), "chat.completion.chunk".into());
    let chunk = |choices: Value, count: Option<&Usage>| {
        let mut chunk = frame.clone();
        chunk.insert("choices".into(), choices);
        if usage.is_some() {
            chunk.insert("usage".into(), count.map_or(Value::Null, |usage| usage.value.clone()));
        }
        event(&chunk.into())
    };
    let delta =
        |delta: Value| chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]), None);
    let mut parts = vec![delta(json!({"role": "assistant", "content": ""}))];
    let message = answer["choices"][0]["message"].as_object().cloned().unwrap_or_default();
    for (name, value) in
        message.iter().filter(|(name, value)| !matches!(name.as_str(), "role" | "content") && !value.is_null())
    {
        parts.push(delta(json!({ name.as_str(): value })));
    }
    for piece in pieces(message.get("content").and_then(Value::as_str).unwrap_or_default()) {
        parts.push(delta(json!({ "content": piece })));
    }
    let finish = &answer["choices"][0]["finish_reason"];
    parts.push(chunk(json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish}]), None));
    if usage.is_some() {
        parts.push(chunk(json!([]), usage));
    }
    parts.push(DONE.to_vec());
    parts
}

/// A text in at most [`MAX_PIECES`] pieces, cut before spaces.
pub fn pieces(text: &str) -> Vec<&str> {
    const MAX_PIECES: usize = 256;
    let least = text.len() / MAX_PIECES;
    let mut all = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(' ') {
        if at > from + least {
            all.push(&text[from..at]);
            from = at;
        }
    }
    if from < text.len() {
        all.push(&text[from..]);
    }
    all
}

fn event(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(message: Value, finish: &str) -> Value {
        json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}})
    }

    #[test]
    fn what_may_be_kept() {
        for (message, finish, want) in [
            (json!({"role": "assistant", "content": "hi"}), "stop", Ok(())),
            (json!({"content": "hi", "tool_calls": [], "refusal": null}), "stop", Ok(())),
            (json!({"content": "hi", "reasoning_content": "hm"}), "stop", Ok(())),
            (json!({"content": "hi"}), "length", Err("finish-reason")),
            (json!({"content": "hi"}), "content_filter", Err("content-filter")),
            (json!({"content": null, "tool_calls": [{"id": "1"}]}), "tool_calls", Err("tool-calls")),
            (json!({"content": "hi", "tool_calls": [{"id": "1"}]}), "stop", Err("tool-calls")),
            (json!({"content": null, "function_call": {"name": "f"}}), "stop", Err("tool-calls")),
            (json!({"content": null, "refusal": "no"}), "stop", Err("refusal")),
            (json!({"content": null, "audio": {"id": "1"}}), "stop", Err("modality")),
            (json!({"content": "x", "images": [{}]}), "stop", Err("modality")),
            (json!({"content": ""}), "stop", Err("empty")),
            (json!({}), "stop", Err("empty")),
        ] {
            assert_eq!(judge(&answer(message.clone(), finish)), want, "{message} {finish}");
        }
        assert_eq!(judge(&json!({"error": {"message": "x"}})), Err("error"));
        assert_eq!(judge(&json!({"choices": []})), Err("choices"));
        assert_eq!(judge(&json!([])), Err("choices"));
        let mut two = answer(json!({"content": "hi"}), "stop");
        two["choices"].as_array_mut().unwrap().push(json!({}));
        assert_eq!(judge(&two), Err("choices"));
        let mut logprobs = answer(json!({"content": "hi"}), "stop");
        logprobs["choices"][0]["logprobs"] = json!({"content": []});
        assert_eq!(judge(&logprobs), Err("logprobs"));
    }

    #[test]
    fn a_stream_and_its_whole_say_the_same() {
        for content in [
            "hi",
            "It is 12 m high, \"größer\" than 🦀 [1].\nAnd more.",
            " leading and  double ",
            &"long ".repeat(9000),
        ] {
            let whole = answer(json!({"role": "assistant", "content": content, "reasoning_content": "hm hm"}), "stop");
            for usage in [None, Usage::of(&whole)] {
                let parts = streamed(&whole, usage.as_ref());
                assert!(parts.len() < 300);
                let back = assembled(&parts.concat()).unwrap();
                let mut want = whole.clone();
                if usage.is_none() {
                    want.as_object_mut().unwrap().remove("usage");
                }
                assert_eq!(back, want);
                assert_eq!(judge(&back), Ok(()));
            }
        }
    }

    #[test]
    fn the_count_comes_and_goes() {
        let whole = answer(json!({"role": "assistant", "content": "a b c"}), "stop");
        let usage = Usage::of(&whole).unwrap();
        let (with, without) = (streamed(&whole, Some(&usage)).concat(), streamed(&whole, None).concat());
        assert_eq!(reshaped(&with, Some(&usage)), None);
        assert_eq!(reshaped(&without, None), None);
        let dropped = reshaped(&with, None).unwrap().concat();
        assert!(assembled(&dropped).unwrap().get("usage").is_none());
        assert!(dropped.ends_with(DONE));
        let added = reshaped(&without, Some(&usage)).unwrap().concat();
        assert_eq!(assembled(&added).unwrap()["usage"], usage.value);
        assert!(added.ends_with(DONE));
    }

    #[test]
    fn broken_streams_are_not_assembled() {
        for (stream, want) in [
            ("data: {\n\n", "shape"),
            ("data: {\"error\": {\"message\": \"crashed\"}}\n\n", "error"),
            ("data: {\"choices\": [{\"index\": 1, \"delta\": {\"content\": \"x\"}}]}\n\n", "n"),
            ("data: {\"choices\": [{\"delta\": {}, \"logprobs\": {}}]}\n\n", "logprobs"),
        ] {
            assert_eq!(assembled(stream.as_bytes()), Err(want), "{stream}");
        }
        // Cut off before it finished.
        let cut = assembled(b"data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"x\"}}]}\n\n").unwrap();
        assert_eq!(judge(&cut), Err("finish-reason"));
        let tool = assembled(b"data: {\"choices\": [{\"delta\": {\"tool_calls\": [{\"index\": 0}]}, \"finish_reason\": \"tool_calls\"}]}\n\n");
        assert_eq!(judge(&tool.unwrap()), Err("tool-calls"));
    }
}
