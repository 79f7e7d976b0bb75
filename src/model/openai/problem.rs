//! What is a server's error about? One reader for the shapes that servers give errors, and the questions we ask of them.
//! Not good for: errors of the network.

use std::time::Duration;

use serde_json::Value;

use crate::model::{
    Error,
    http::{Failure, Http, presentable},
};

/// The most bytes of an error that are searched for words.
const MAX_SEARCHED: usize = 8 << 10;

/// An error answer, understood as far as it can be.
#[derive(Debug)]
pub struct Problem {
    pub status: u16,
    /// The server's own words, not yet fit to be shown.
    pub message: String,
    /// `code` and `type`, in lower case, a space between them.
    code: String,
    /// Everything it says, in lower case, cut at [`MAX_SEARCHED`].
    all: String,
    /// Tokens of the prompt and of the context, where the server gives them as fields.
    counted: (Option<u64>, Option<u64>),
    retry_after: Option<Duration>,
}

impl Problem {
    pub fn of(failure: &Failure) -> Self {
        let text = String::from_utf8_lossy(&failure.body);
        let mut problem = match serde_json::from_slice::<Value>(&failure.body) {
            Ok(value) => Self::of_value(failure.status, &value),
            Err(_) => {
                let mut problem = Self::of_value(failure.status, &Value::Null);
                problem.message = describe(&text);
                problem.all = lower(&text);
                problem
            }
        };
        if let Some(to) = &failure.redirect {
            problem.message = format!("it sends us on to `{to}`; give that address");
        }
        problem.retry_after = failure.retry_after;
        problem
    }

    /// Reads `{error: {message, type, code, …}}`, `{error: text}`, `{detail: …}`, `{message: …}` and lists of them.
    pub fn of_value(status: u16, value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let error = match value.get("error") {
            Some(Value::Null) | None => value,
            Some(error) => error,
        };
        let word = |name: &str| match error.get(name) {
            Some(Value::String(text)) => text.to_lowercase(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) | None => String::new(),
        };
        let count = |name: &str| error.get(name).and_then(Value::as_u64);
        let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        Self {
            // Inside a stream the status is 200, and the code says what it would have been.
            status: if status == 200 { code.filter(|c| (400..600).contains(c)).unwrap_or(status) } else { status },
            message: message(error),
            code: format!("{} {}", word("code"), word("type")),
            all: lower(&value.to_string()),
            counted: (count("n_prompt_tokens"), count("n_ctx")),
            retry_after: None,
        }
    }

    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.all.contains(word))
    }

    /// The prompt is longer than the context.
    pub fn is_overflow(&self) -> bool {
        self.code.contains("context_length_exceeded")
            || self.code.contains("exceed_context_size")
            || self.says(&[
                "maximum context length",
                "available context size",
                "prompt is too long",
                "context the overflows",
                "exceeds the context",
                "exceed context window",
            ])
    }

    /// The input of an embedding request is too large, whatever the status says.
    pub fn is_too_large(&self) -> bool {
        self.status == 413
            || self.is_overflow()
            || self.says(&["too large", "too long", "maximum input length", "input length exceeds", "too many tokens"])
    }

    /// A filter refused the request; to ask again changes nothing.
    pub fn is_filtered(&self) -> bool {
        self.code.contains("content_filter")
            || self.code.contains("content_policy_violation")
            || self.says(&["responsibleaipolicyviolation"])
    }

    /// The quota is used up, which waiting does not mend.
    pub fn is_quota(&self) -> bool {
        self.code.contains("insufficient_quota") || self.says(&["insufficient_quota", "exceeded your current quota"])
    }

    /// The server still loads its model.
    pub fn is_loading(&self) -> bool {
        self.status == 503 && self.says(&["loading model", "model is loading", "is currently loading"])
    }

    /// The model's template knows no system message.
    pub fn wants_no_system(&self) -> bool {
        self.says(&["system role not supported", "system role is not supported", "does not support system"])
    }

    /// The server does not know or want this parameter of a request.
    pub fn rejects(&self, parameter: &str) -> bool {
        matches!(self.status, 400 | 422)
            && !self.is_overflow()
            && self.names(parameter)
            && (self.code.contains("unsupported")
                || self.says(&[
                    "unsupported",
                    "not supported",
                    "does not support",
                    "unrecognized",
                    "unrecognised",
                    "unknown",
                    "unexpected",
                    "not permitted",
                    "not allowed",
                    "extra_forbidden",
                    "no such",
                    "invalid parameter",
                ]))
    }

    /// The whole word, so that `seed` is not found in `seeds` nor `max_tokens` in `max_completion_tokens`.
    fn names(&self, parameter: &str) -> bool {
        let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let bytes = self.all.as_bytes();
        self.all.match_indices(parameter).any(|(at, _)| {
            let before = at.checked_sub(1).and_then(|i| bytes.get(i));
            !is_word(before) && !is_word(bytes.get(at + parameter.len()))
        })
    }

    /// Tokens of the prompt and of the context: from fields, else from the words of the message.
    pub fn counts(&self) -> (Option<u64>, Option<u64>) {
        const BEFORE_LIMIT: [&str; 5] =
            ["context length is ", "context length of only ", "context size (", "context size of ", " > "];
        if self.counted.0.is_some() && self.counted.1.is_some() {
            return self.counted;
        }
        let text = self.message.to_lowercase();
        let limit = BEFORE_LIMIT.iter().find_map(|words| {
            let at = text.find(words)? + words.len();
            numbers(text.get(at..)?).next()
        });
        let found = limit.and_then(|limit| numbers(&text).filter(|&n| n > limit).max());
        (self.counted.0.or(found), self.counted.1.or(limit))
    }

    /// The error that the caller gets. `prompt_tokens` is our own estimate, for servers that do not count.
    pub fn into_error(self, http: &Http, path: &str, prompt_tokens: u64) -> Error {
        let url = http.shown(path);
        if self.is_overflow() {
            let (found, limit) = self.counts();
            return Error::TooLong { url, found: found.unwrap_or(prompt_tokens), limit };
        }
        let keyword =
            self.all.is_empty() || self.says(&["api key", "api_key", "apikey", "auth", "credential", "permission"]);
        match self.status {
            401 => Error::Unauthorized { url, status: 401 },
            403 if keyword => Error::Unauthorized { url, status: 403 },
            status => {
                let mut message = http.clean(&self.message);
                if let Some(pause) = self.retry_after {
                    message.push_str(&format!(" (it asks to wait {} s)", pause.as_secs_f64().ceil()));
                }
                Error::Refused { url, status, message }
            }
        }
    }
}

/// A success that holds an error: `{error: …}`, or an error object itself (vLLM, Anthropic).
pub fn is_error(value: &Value) -> bool {
    let is = |name: &str| value.get(name).and_then(Value::as_str) == Some("error");
    value.get("error").is_some_and(|error| !error.is_null()) || is("object") || is("type")
}

/// The sentence for people in an error object.
fn message(error: &Value) -> String {
    let text = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    if let Value::String(text) = error {
        return text.clone();
    }
    let mut message = match (text("message").or(text("detail")).or(text("msg")), error.get("detail")) {
        (Some(text), _) => text.to_owned(),
        // FastAPI: a list of `{loc, msg}`.
        (None, Some(Value::Array(items))) => {
            let items = items.iter().map(|item| {
                let place = item.get("loc").map_or_else(String::new, |loc| format!(" at {loc}"));
                item.get("msg").and_then(Value::as_str).map_or_else(|| item.to_string(), |msg| format!("{msg}{place}"))
            });
            items.collect::<Vec<_>>().join("; ")
        }
        (None, _) if error.is_null() || error.as_object().is_some_and(serde_json::Map::is_empty) => {
            "an empty answer".to_owned()
        }
        (None, _) => error.to_string(),
    };
    // OpenRouter passes on what the provider behind it said.
    if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
        message.push_str(": ");
        message.push_str(raw);
    }
    message
}

/// What a body that is not the JSON we wanted is, for people.
pub fn describe(body: &str) -> String {
    let text = body.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return "an empty answer".to_owned();
    }
    if !text.starts_with('<') {
        return format!("`{}`", presentable(text));
    }
    let head = lower(text);
    let title = head.find("<title").and_then(|at| {
        let start = at + head.get(at..)?.find('>')? + 1;
        let end = start + head.get(start..)?.find("</title")?;
        // Offsets of `head` fit `text` only while lower case has the same length.
        text.get(start..end).map(presentable)
    });
    match title {
        Some(title) if !title.is_empty() => format!("an HTML page titled `{title}`"),
        Some(_) | None => "an HTML page".to_owned(),
    }
}

/// The first bytes of a text with its ASCII letters in lower case; same length, so offsets stay.
fn lower(text: &str) -> String {
    let mut end = text.len().min(MAX_SEARCHED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_ascii_lowercase()
}

/// The whole numbers of a text, `200,000` read as one.
fn numbers(text: &str) -> impl Iterator<Item = u64> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c: char| c.is_ascii_digit())?;
            let tail = rest.get(start..)?;
            let end = tail.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(tail.len());
            let (digits, after) = tail.split_at(end);
            rest = after;
            if let Ok(number) = digits.replace(',', "").parse() {
                return Some(number);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::http::HttpOptions;

    fn of(status: u16, body: &str) -> Problem {
        let body = body.as_bytes().to_vec();
        Problem::of(&Failure { status, content_type: String::new(), body, retry_after: None, redirect: None })
    }

    #[test]
    fn the_message_is_found_in_every_shape() {
        for (body, want) in [
            (r#"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#, "Invalid API Key"),
            (r#"{"error":"model \"x\" not found"}"#, "model \"x\" not found"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}"#,
                "Extra inputs are not permitted at [\"body\",\"seed\"]",
            ),
            (r#"{"object":"error","message":"Invalid model","code":1500}"#, "Invalid model"),
            (r#"[{"error":{"code":400,"message":"Gemini says no"}}]"#, "Gemini says no"),
            (
                r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream broke"}}}"#,
                "Provider returned error: upstream broke",
            ),
            (r#"{"error":null,"message":"odd"}"#, "odd"),
            (r#"{"error":{"code":7}}"#, r#"{"code":7}"#),
            ("{}", "an empty answer"),
            ("", "an empty answer"),
            (" \n", "an empty answer"),
            ("plain words", "`plain words`"),
            ("<html><head><TITLE>502 Bad\nGateway</TITLE>", "an HTML page titled `502 Bad Gateway`"),
            ("<!doctype html><p>", "an HTML page"),
            ("<title>İ</title>", "an HTML page titled `İ`"),
        ] {
            assert_eq!(of(500, body).message, want, "{body}");
        }
    }

    #[test]
    fn context_overflow_gives_its_numbers() {
        for (body, want) in [
            (
                r#"{"error":{"code":400,"message":"request (931 tokens) exceeds the available context size (512 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":931,"n_ctx":512}}"#,
                (Some(931), Some(512)),
            ),
            (
                r#"{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 5000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
                (Some(5000), Some(4097)),
            ),
            (
                r#"{"object":"error","message":"This model's maximum context length is 2048 tokens. However, you requested 3100 tokens (3000 in the messages, 100 in the completion)."}"#,
                (Some(3100), Some(2048)),
            ),
            (
                r#"{"error":{"message":"prompt is too long: 205,000 tokens > 200,000 maximum"}}"#,
                (Some(205_000), Some(200_000)),
            ),
            (
                r#"{"error":"Trying to keep the first 4200 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}"#,
                (Some(4200), Some(4096)),
            ),
            (r#"{"error":{"code":"context_length_exceeded","message":"Please reduce the length"}}"#, (None, None)),
        ] {
            let problem = of(400, body);
            assert!(problem.is_overflow(), "{body}");
            assert_eq!(problem.counts(), want, "{body}");
            assert!(!problem.rejects("max_tokens"));
        }
        assert!(!of(400, r#"{"error":"model not found"}"#).is_overflow());
    }

    #[test]
    fn rejected_parameters_are_named_as_whole_words() {
        let openai = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
        let temperature = r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","param":"temperature","code":"unsupported_value"}}"#;
        let mistral =
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}"#;
        let too_high =
            r#"{"error":{"message":"max_tokens is too large: 99999","param":"max_tokens","code":"invalid_value"}}"#;
        for (status, body, parameter, want) in [
            (400, openai, "max_tokens", true),
            (400, openai, "max_completion_tokens", true),
            (400, openai, "tokens", false),
            (500, openai, "max_tokens", false),
            (400, temperature, "temperature", true),
            (400, temperature, "seed", false),
            (422, mistral, "seed", true),
            (400, too_high, "max_tokens", false),
            (400, "stream_options is an unknown field", "stream_options", true),
        ] {
            assert_eq!(of(status, body).rejects(parameter), want, "{body}");
        }
    }

    #[test]
    fn kinds_of_refusal_are_told_apart() {
        let azure = r#"{"error":{"message":"The response was filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
        assert!(of(400, azure).is_filtered());
        let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert!(of(429, quota).is_quota());
        assert!(!of(429, r#"{"error":{"message":"Rate limit reached"}}"#).is_quota());
        let loading = r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#;
        assert!(of(503, loading).is_loading());
        assert!(!of(503, "overloaded").is_loading());
        let large = r#"{"error":{"code":500,"message":"input (901 tokens) is too large to process. increase the physical batch size (current batch size: 512)","type":"server_error"}}"#;
        assert!(of(500, large).is_too_large());
        assert!(of(413, "").is_too_large());
        assert!(!of(500, "broken").is_too_large());
        assert!(of(500, "System role not supported").wants_no_system());
    }

    #[test]
    fn errors_show_neither_keys_nor_controls() {
        let http = Http::new(
            "http://user:pw-canary@127.0.0.1:1/v1?key=q-canary",
            Some(&"sk-canary-0123456789".into()),
            &[("x-other".to_owned(), "h-canary".into())],
            HttpOptions::default(),
        )
        .unwrap();
        let body = json!({"error": {"message": "sk-canary-0123456789 pw-canary h-canary \u{1b}[2J\u{202e}"}});
        let error = Problem::of_value(400, &body).into_error(&http, "chat/completions", 0);
        assert_eq!(
            error.to_string(),
            "`http://127.0.0.1:1/v1/chat/completions` answered 400: *** *** *** \\u{1b}[2J\\u{202e}"
        );
        assert!(!format!("{http:?}").contains("canary"), "{http:?}");
        for (status, body, unauthorized) in [
            (401, "whatever", true),
            (403, r#"{"error":{"message":"Your API key lacks this"}}"#, true),
            (403, "", true),
            (403, r#"{"error":{"message":"Country not served"}}"#, false),
            (404, "", false),
        ] {
            let error = of(status, body).into_error(&http, "models", 0);
            assert_eq!(matches!(error, Error::Unauthorized { .. }), unauthorized, "{status} {body}");
        }
    }

    #[test]
    fn errors_in_successes_are_seen() {
        for (value, want) in [
            (json!({"error": {"message": "x"}}), true),
            (json!({"error": "x"}), true),
            (json!({"object": "error", "message": "x"}), true),
            (json!({"type": "error", "error": {"message": "x"}}), true),
            (json!({"error": null, "object": "chat.completion.chunk"}), false),
            (json!([]), false),
            (json!("error"), false),
        ] {
            assert_eq!(is_error(&value), want, "{value}");
        }
    }

    #[test]
    fn an_error_within_a_stream_has_the_status_of_its_code() {
        for (value, want) in [
            (json!({"error": {"code": 502, "message": "x"}}), 502),
            (json!({"error": {"code": "server_error", "message": "x"}}), 200),
            (json!({"error": {"code": 7, "message": "x"}}), 200),
        ] {
            assert_eq!(Problem::of_value(200, &value).status, want, "{value}");
        }
    }
}
