//! May the answer to this request be kept? Decided from the request alone; `chat` and `responses` decide about answers.

use serde_json::{Map, Value};

use super::headers::Wish;

/// An endpoint whose answers may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Chat,
    Responses,
    Embeddings,
}

impl Endpoint {
    /// By the end of a path, so that deployments of Azure count as well.
    pub fn of(path: &str) -> Option<Self> {
        [("/chat/completions", Self::Chat), ("/responses", Self::Responses), ("/embeddings", Self::Embeddings)]
            .into_iter()
            .find_map(|(end, endpoint)| path.ends_with(end).then_some(endpoint))
    }

    /// The name under which keys are made.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Embeddings => "embeddings",
        }
    }
}

/// What the operator allows beyond the rules.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Allowed {
    /// The highest temperature whose answers are kept; 0 by itself.
    pub temperature: f64,
    pub tools: bool,
}

/// Members that do not change what the answer says.
const LEFT_OUT: [&str; 5] = ["stream", "stream_options", "user", "metadata", "store"];

/// The temperature of a server that is told none.
const USUAL_TEMPERATURE: f64 = 1.0;

/// The body as it is hashed: without [`LEFT_OUT`].
pub fn telling(body: &Map<String, Value>) -> Map<String, Value> {
    body.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())).map(|(n, v)| (n.clone(), v.clone())).collect()
}

/// Why the answer may not be kept, in a word for a header; `None`: it may.
pub fn refusal(endpoint: Endpoint, body: &Map<String, Value>, allowed: Allowed, wish: Wish) -> Option<&'static str> {
    let forced = matches!(wish, Wish::Force | Wish::Only);
    let set = |name: &str| body.get(name).is_some_and(|value| !value.is_null());
    let on = |name: &str| body.get(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)));
    if endpoint == Endpoint::Embeddings {
        return None;
    }
    if body.get("n").is_some_and(|n| !n.is_null() && n.as_u64() != Some(1)) {
        return Some("n");
    }
    if on("logprobs") || set("top_logprobs") {
        return Some("logprobs");
    }
    if set("audio") || body.get("modalities").is_some_and(|all| !is_text_alone(all)) {
        return Some("modality");
    }
    if endpoint == Endpoint::Responses {
        if body.get("store") != Some(&Value::Bool(false)) {
            return Some("store");
        }
        if set("previous_response_id") || set("conversation") {
            return Some("previous-response");
        }
        if on("background") {
            return Some("background");
        }
    }
    if forced {
        return None;
    }
    let some = |name: &str| body.get(name).is_some_and(|value| !value.is_null() && value != &Value::Array(Vec::new()));
    if !allowed.tools && (some("tools") || some("functions") || set("web_search_options")) {
        return Some("tools");
    }
    if has_remote_content(body) {
        return Some("remote-content");
    }
    let temperature = match body.get("temperature") {
        None | Some(Value::Null) => USUAL_TEMPERATURE,
        Some(value) => value.as_f64().unwrap_or(f64::INFINITY),
    };
    let seeded = endpoint == Endpoint::Chat && body.get("seed").is_some_and(Value::is_number);
    (temperature > allowed.temperature && !seeded).then_some("temperature")
}

fn is_text_alone(modalities: &Value) -> bool {
    modalities.is_null() || modalities.as_array().is_some_and(|all| all.iter().all(|one| one == "text"))
}

/// Something the server fetches from elsewhere, where it may be another thing tomorrow.
fn has_remote_content(body: &Map<String, Value>) -> bool {
    fn is_remote(value: &Value) -> bool {
        match value {
            Value::Object(part) => part.iter().any(|(name, value)| match (name.as_str(), value) {
                ("image_url", Value::String(url)) | ("url", Value::String(url)) => !url.starts_with("data:"),
                ("file_url" | "file_id", Value::String(_)) => true,
                (_, value) => is_remote(value),
            }),
            Value::Array(items) => items.iter().any(is_remote),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    // What tools were called with is text, whatever its members are called.
    let content = |message: &Value| message.get("content").is_some_and(is_remote);
    ["messages", "input"].iter().filter_map(|name| body.get(*name)?.as_array()).flatten().any(content)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(endpoint: Endpoint, body: Value, allowed: Allowed, wish: Wish, want: Option<&str>) {
        assert_eq!(refusal(endpoint, body.as_object().unwrap(), allowed, wish), want, "{body} {wish:?}");
    }

    #[test]
    fn chats_that_may_be_kept() {
        let usual = Allowed::default();
        let tool = json!([{"type": "function", "function": {"name": "f"}}]);
        for (more, want) in [
            (json!({"temperature": 0}), None),
            (json!({"temperature": 0.0}), None),
            (json!({"temperature": -0.0}), None),
            (json!({"seed": 7}), None),
            (json!({"seed": 7, "temperature": 1.5}), None),
            (json!({}), Some("temperature")),
            (json!({"temperature": null}), Some("temperature")),
            (json!({"seed": null}), Some("temperature")),
            (json!({"temperature": 0.1}), Some("temperature")),
            (json!({"temperature": "0"}), Some("temperature")),
            (json!({"temperature": 0, "n": 1}), None),
            (json!({"temperature": 0, "n": 2}), Some("n")),
            (json!({"temperature": 0, "n": "2"}), Some("n")),
            (json!({"temperature": 0, "logprobs": false}), None),
            (json!({"temperature": 0, "logprobs": true}), Some("logprobs")),
            (json!({"temperature": 0, "top_logprobs": 2}), Some("logprobs")),
            (json!({"temperature": 0, "modalities": ["text"]}), None),
            (json!({"temperature": 0, "modalities": ["text", "audio"]}), Some("modality")),
            (json!({"temperature": 0, "audio": {"voice": "x"}}), Some("modality")),
            (json!({"temperature": 0, "tools": tool}), Some("tools")),
            (json!({"temperature": 0, "tools": []}), None),
            (json!({"temperature": 0, "functions": [{"name": "f"}]}), Some("tools")),
            (json!({"temperature": 0, "stream": true, "stream_options": {"include_usage": true}}), None),
            (
                json!({"temperature": 0, "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]}),
                Some("remote-content"),
            ),
            (
                json!({"temperature": 0, "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}]}),
                None,
            ),
        ] {
            check(Endpoint::Chat, more, usual, Wish::Usual, want);
        }
    }

    #[test]
    fn what_the_operator_and_the_client_may_allow() {
        let tools = json!({"temperature": 0, "tools": [{"type": "function"}]});
        check(Endpoint::Chat, tools.clone(), Allowed { tools: true, ..Allowed::default() }, Wish::Usual, None);
        check(Endpoint::Chat, tools, Allowed::default(), Wish::Force, None);
        let warm = Allowed { temperature: 0.7, ..Allowed::default() };
        check(Endpoint::Chat, json!({"temperature": 0.7}), warm, Wish::Usual, None);
        check(Endpoint::Chat, json!({"temperature": 0.8}), warm, Wish::Usual, Some("temperature"));
        check(Endpoint::Chat, json!({}), warm, Wish::Usual, Some("temperature"));
        check(Endpoint::Chat, json!({}), Allowed { temperature: 1.0, ..warm }, Wish::Usual, None);
        check(Endpoint::Chat, json!({}), Allowed::default(), Wish::Force, None);
        check(Endpoint::Chat, json!({"n": 3}), Allowed::default(), Wish::Force, Some("n"));
    }

    #[test]
    fn responses_that_may_be_kept() {
        let usual = Allowed::default();
        for (body, want) in [
            (json!({"store": false, "temperature": 0}), None),
            (json!({"temperature": 0}), Some("store")),
            (json!({"store": true, "temperature": 0}), Some("store")),
            (json!({"store": false, "temperature": 0, "previous_response_id": "r"}), Some("previous-response")),
            (json!({"store": false, "temperature": 0, "background": true}), Some("background")),
            (json!({"store": false, "temperature": 0, "tools": [{"type": "web_search"}]}), Some("tools")),
            (json!({"store": false}), Some("temperature")),
            (json!({"store": false, "seed": 1}), Some("temperature")),
        ] {
            check(Endpoint::Responses, body, usual, Wish::Usual, want);
        }
    }

    #[test]
    fn what_does_not_change_the_answer_is_left_out_of_the_key() {
        let body = json!({"model": "m", "stream": true, "stream_options": {}, "user": "u", "metadata": {}, "store": true, "seed": 1});
        assert_eq!(Value::from(telling(body.as_object().unwrap())), json!({"model": "m", "seed": 1}));
    }

    #[test]
    fn endpoints() {
        for (path, want) in [
            ("/v1/chat/completions", Some(Endpoint::Chat)),
            ("/openai/deployments/gpt/chat/completions", Some(Endpoint::Chat)),
            ("/v1/responses", Some(Endpoint::Responses)),
            ("/v1/responses/resp_1", None),
            ("/v1/embeddings", Some(Endpoint::Embeddings)),
            ("/v1/completions", None),
            ("/v1/models", None),
        ] {
            assert_eq!(Endpoint::of(path), want, "{path}");
        }
    }
}
