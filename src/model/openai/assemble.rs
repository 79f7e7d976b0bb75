//! How do the parts of a completion become one? Takes whole answers and the chunks of a stream, in every shape that
//! servers give them. Not good for: reading from the network, or deciding what an error means for the caller.

use serde_json::Value;

use super::{estimated_tokens, thinking::Thinking};
use crate::model::{ChatRequest, Completion, Finish, Usage};

/// A completion that grows.
#[derive(Debug, Default)]
pub struct Assembler {
    text: String,
    refusal: String,
    thinking: Thinking,
    /// Bytes of reasoning that came in fields of their own.
    reasoning_bytes: usize,
    finish: Option<Finish>,
    usage: Option<(u64, u64)>,
    model: Option<String>,
    saw_choice: bool,
}

impl Assembler {
    /// Takes one chunk or a whole completion; returns the text of the answer that it adds.
    pub fn take(&mut self, value: &Value) -> String {
        if let Some(model) = value.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
        // Groq puts the usage of a stream elsewhere.
        for usage in [value.get("usage"), value.pointer("/x_groq/usage")].into_iter().flatten() {
            self.usage = counted(usage).or(self.usage);
        }
        let choice = value.get("choices").and_then(Value::as_array).and_then(|choices| {
            choices.iter().find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
        });
        let Some(choice) = choice else { return String::new() };
        self.saw_choice = true;
        // Some servers send the last chunk, or the only one, as a message.
        let delta = ["delta", "message"].iter().filter_map(|name| choice.get(name)).find(|delta| delta.is_object());
        let field = |name: &str| delta.and_then(|delta| delta.get(name));
        for name in ["reasoning_content", "reasoning", "thinking"] {
            self.reasoning_bytes += field(name).map_or(0, |value| plain(value).len());
        }
        self.refusal.push_str(&field("refusal").map_or_else(String::new, plain));
        let content = field("content").or_else(|| choice.get("text")).map_or_else(String::new, plain);
        let new = if content.is_empty() { String::new() } else { self.thinking.push(&content) };
        self.text.push_str(&new);
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str).and_then(finish) {
            self.finish = Some(finish);
        }
        new
    }

    /// A reason to finish has come; only the usage may follow.
    pub fn has_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// A part of an answer has come, be it empty.
    pub fn has_begun(&self) -> bool {
        self.saw_choice
    }

    /// Text of an answer has come.
    pub fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Text that was held back until the end; call once before [`into_completion`](Self::into_completion).
    pub fn rest(&mut self) -> String {
        let rest = self.thinking.finish();
        self.text.push_str(&rest);
        rest
    }

    /// The completion. `said_done`: the stream said that it is complete, so a missing reason to finish is no loss.
    pub fn into_completion(self, request: &ChatRequest, said_done: bool) -> Completion {
        let finish = match self.finish {
            Some(Finish::Stop) | None if !self.refusal.is_empty() => Finish::Refused,
            // A model that ends without a word declines to answer.
            Some(Finish::Stop) if self.text.trim().is_empty() => Finish::Refused,
            Some(finish) => finish,
            None if said_done && self.text.trim().is_empty() => Finish::Refused,
            None if said_done => Finish::Stop,
            None => Finish::Truncated,
        };
        let usage = match self.usage {
            Some((prompt_tokens, completion_tokens)) => Usage { prompt_tokens, completion_tokens, estimated: false },
            None => Usage {
                prompt_tokens: prompt_tokens(request),
                completion_tokens: estimated_tokens(
                    self.text.len() + self.refusal.len() + self.reasoning_bytes + self.thinking.hidden_bytes,
                ) as u64,
                estimated: true,
            },
        };
        let text = if self.text.trim().is_empty() && !self.refusal.is_empty() { self.refusal } else { self.text };
        Completion { text, finish, usage, model: self.model }
    }
}

/// Our own count of the prompt.
pub fn prompt_tokens(request: &ChatRequest) -> u64 {
    estimated_tokens(request.messages.iter().map(|message| message.content.len()).sum()) as u64
}

/// A text, or the text parts of a list of parts (Mistral).
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn counted(usage: &Value) -> Option<(u64, u64)> {
    let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(name)?.as_u64());
    let prompt = count(["prompt_tokens", "input_tokens"])?;
    Some((prompt, count(["completion_tokens", "output_tokens"]).unwrap_or(0)))
}

/// Empty reasons are none: old servers send `""` with every chunk.
fn finish(reason: &str) -> Option<Finish> {
    match reason.to_ascii_lowercase().as_str() {
        "" | "null" => None,
        "length"
        | "max_tokens"
        | "model_length"
        | "max_output_tokens"
        | "abort"
        | "error"
        | "insufficient_system_resource" => Some(Finish::Truncated),
        "content_filter" | "refusal" | "safety" | "recitation" | "blocklist" | "prohibited_content" => {
            Some(Finish::Refused)
        }
        _ => Some(Finish::Stop),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Message, Role};

    fn request() -> ChatRequest {
        let messages = vec![Message { role: Role::User, content: "1234567".to_owned() }];
        ChatRequest { messages, max_tokens: 8, stream: true }
    }

    fn assembled(values: &[Value], said_done: bool) -> Completion {
        let mut assembler = Assembler::default();
        let mut streamed = String::new();
        for value in values {
            streamed.push_str(&assembler.take(value));
        }
        streamed.push_str(&assembler.rest());
        let completion = assembler.into_completion(&request(), said_done);
        if completion.finish != Finish::Refused {
            assert_eq!(streamed, completion.text);
        }
        completion
    }

    fn delta(delta: Value, finish: Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    }

    #[test]
    fn texts_come_in_many_shapes() {
        for (values, want) in [
            (
                vec![
                    delta(json!({"role": "assistant", "content": null}), json!(null)),
                    delta(json!({"content": "a"}), json!("stop")),
                ],
                "a",
            ),
            (
                vec![
                    delta(json!({"role": "assistant"}), json!("")),
                    delta(json!({"content": "a"}), json!("")),
                    delta(json!({}), json!("stop")),
                ],
                "a",
            ),
            (vec![json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]})], "a"),
            (vec![json!({"choices": [{"text": "a", "finish_reason": "eos"}]})], "a"),
            (vec![json!({"choices": [{"delta": null, "message": {"content": "a"}, "finish_reason": "stop"}]})], "a"),
            (
                vec![
                    json!({"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}),
                ],
                "a",
            ),
            (
                vec![delta(
                    json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}]}),
                    json!("stop"),
                )],
                "a",
            ),
            (
                vec![
                    delta(json!({"reasoning_content": "hm", "reasoning": "hm", "content": "<think>hm"}), json!(null)),
                    delta(json!({"content": "</think>\n\na"}), json!("stop")),
                ],
                "a",
            ),
            (
                vec![
                    json!({}),
                    json!([]),
                    json!(7),
                    json!({"choices": []}),
                    json!({"choices": {}}),
                    delta(json!("x"), json!(3)),
                    delta(json!({"content": "a"}), json!("STOP")),
                ],
                "a",
            ),
        ] {
            let completion = assembled(&values, false);
            assert_eq!((completion.text.as_str(), completion.finish), (want, Finish::Stop), "{values:?}");
        }
    }

    #[test]
    fn ends_are_told_apart() {
        let text = delta(json!({"content": "a"}), json!(null));
        for (values, said_done, want) in [
            (vec![text.clone()], false, Finish::Truncated),
            (vec![text.clone()], true, Finish::Stop),
            (vec![text.clone(), delta(json!({}), json!("length"))], true, Finish::Truncated),
            (vec![text.clone(), delta(json!({}), json!("content_filter"))], true, Finish::Refused),
            (vec![delta(json!({"refusal": "I cannot"}), json!("stop"))], true, Finish::Refused),
            (vec![delta(json!({"refusal": "I cannot"}), json!(null))], true, Finish::Refused),
            (vec![delta(json!({"content": " \n"}), json!("stop"))], true, Finish::Refused),
            (vec![], true, Finish::Refused),
            (vec![delta(json!({"reasoning": "long"}), json!("length"))], true, Finish::Truncated),
            (vec![delta(json!({"content": "<think>long"}), json!("length"))], true, Finish::Truncated),
        ] {
            assert_eq!(assembled(&values, said_done).finish, want, "{values:?}");
        }
        assert_eq!(assembled(&[delta(json!({"refusal": "I cannot"}), json!("stop"))], true).text, "I cannot");
    }

    #[test]
    fn usage_is_read_or_estimated() {
        let text = delta(json!({"content": "<think>12</think>abcd"}), json!("stop"));
        let openai = json!({"choices": [], "model": "m-1", "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}});
        let groq = json!({"x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, "usage": null});
        let other = json!({"usage": {"input_tokens": 5, "output_tokens": 2}});
        for value in [openai, groq, other] {
            let usage = assembled(&[text.clone(), value.clone(), json!({"usage": null})], true).usage;
            assert_eq!(usage, Usage { prompt_tokens: 5, completion_tokens: 2, estimated: false }, "{value}");
        }
        let estimated = assembled(std::slice::from_ref(&text), true);
        assert_eq!(estimated.usage, Usage { prompt_tokens: 3, completion_tokens: 2, estimated: true });
        assert_eq!(estimated.model, None);
    }
}
