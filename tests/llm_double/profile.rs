//! In which shape does a vendor's server speak? Chunks, whole answers and errors as recorded from llama.cpp or taken from
//! the vendors' references.

use serde_json::{Value, json};

/// A vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    OpenAi,
    Azure,
    LlamaCpp,
    Ollama,
    Vllm,
    OpenRouter,
}

/// Why the answer ends, in OpenAI's words.
pub type FinishReason = &'static str;

impl Profile {
    pub const ALL: [Self; 6] = [Self::OpenAi, Self::Azure, Self::LlamaCpp, Self::Ollama, Self::Vllm, Self::OpenRouter];

    /// The name the server says it used.
    pub fn model(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Azure => "gpt-double-2026-01-01",
            Self::LlamaCpp => "smollm2",
            Self::Ollama => "llama3.2:3b",
            Self::Vllm => "meta-llama/Llama-3.2-3B-Instruct",
            Self::OpenRouter => "meta-llama/llama-3.2-3b-instruct",
        }
    }

    /// Tokens of context, where the list of models says so.
    pub fn listed_context(self) -> Option<usize> {
        match self {
            Self::LlamaCpp => Some(512),
            Self::Vllm => Some(4096),
            Self::OpenRouter => Some(131_072),
            Self::OpenAi | Self::Azure | Self::Ollama => None,
        }
    }

    pub fn models(self) -> Value {
        let model = self.model();
        match self {
            Self::LlamaCpp => json!({
                "models": [{"name": model, "model": model, "type": "model"}],
                "object": "list",
                "data": [{"id": model, "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 512, "n_ctx_train": 8192}}],
            }),
            Self::Vllm => json!({"object": "list", "data": [{"id": model, "object": "model", "max_model_len": 4096}]}),
            Self::OpenRouter => json!({"data": [{"id": model, "context_length": 131_072}]}),
            Self::Ollama => json!({"object": "list", "data": [
                {"id": "nomic-embed-text:latest", "object": "model", "owned_by": "library"},
                {"id": model, "object": "model", "owned_by": "library"},
            ]}),
            Self::OpenAi | Self::Azure => json!({"object": "list", "data": [{"id": model, "object": "model"}]}),
        }
    }

    /// One whole answer.
    pub fn whole(self, message: Value, finish: FinishReason, usage: Option<(u64, u64)>) -> Value {
        let mut message = message;
        message["role"] = "assistant".into();
        let mut value = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_796_052_019, "model": self.model(),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        });
        if self == Self::Azure {
            value["choices"][0]["content_filter_results"] = json!({"hate": {"filtered": false, "severity": "safe"}});
            value["prompt_filter_results"] = json!([]);
        }
        if let Some(usage) = usage {
            value["usage"] = counted(usage);
        }
        value
    }

    /// A stream up to `[DONE]`: the frames before the text, one for each delta, and those after it.
    pub fn stream(self, deltas: &[Value], finish: Option<FinishReason>, usage: Option<(u64, u64)>) -> Vec<String> {
        let mut chunks = Vec::new();
        let mut frames = Vec::new();
        match self {
            Self::OpenAi => chunks.push(self.chunk(json!({"role": "assistant", "content": "", "refusal": null}), None)),
            Self::LlamaCpp => chunks.push(self.chunk(json!({"role": "assistant", "content": null}), None)),
            Self::Vllm => chunks.push(self.chunk(json!({"role": "assistant", "content": ""}), None)),
            Self::Azure => {
                let filter = json!([{"prompt_index": 0, "content_filter_results": {}}]);
                chunks.push(json!({"choices": [], "model": "", "object": "", "prompt_filter_results": filter}));
                chunks.push(self.chunk(json!({"role": "assistant"}), None));
            }
            Self::OpenRouter => frames.push(": OPENROUTER PROCESSING\n\n".to_owned()),
            Self::Ollama => {}
        }
        // vLLM and Ollama finish with the last delta, the others with an empty one.
        let finish_with_last = matches!(self, Self::Vllm | Self::Ollama) && !deltas.is_empty();
        for (place, delta) in deltas.iter().enumerate() {
            let is_last = place + 1 == deltas.len();
            chunks.push(self.chunk(delta.clone(), finish.filter(|_| finish_with_last && is_last)));
        }
        if let (Some(finish), false) = (finish, finish_with_last) {
            chunks.push(self.chunk(json!({}), Some(finish)));
        }
        if let Some(usage) = usage {
            let mut last = self.chunk(json!({}), None);
            last["choices"] = json!([]);
            last["usage"] = counted(usage);
            chunks.push(last);
        }
        frames.extend(chunks.iter().map(|chunk| self.frame(&chunk.to_string())));
        if self == Self::OpenRouter {
            frames.insert(frames.len().min(2), ": OPENROUTER PROCESSING\n\n".to_owned());
        }
        frames
    }

    /// One event. Ollama is given the line ends of a Windows proxy, Azure leaves out the space.
    pub fn frame(self, data: &str) -> String {
        match self {
            Self::Ollama => format!("data: {data}\r\n\r\n"),
            Self::Azure => format!("data:{data}\n\n"),
            Self::OpenAi | Self::LlamaCpp | Self::Vllm | Self::OpenRouter => format!("data: {data}\n\n"),
        }
    }

    fn chunk(self, delta: Value, finish: Option<FinishReason>) -> Value {
        let mut delta = delta;
        if self == Self::Ollama {
            delta["role"] = "assistant".into();
        }
        let mut choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        match self {
            Self::OpenAi | Self::Vllm => choice["logprobs"] = Value::Null,
            Self::OpenRouter => choice["native_finish_reason"] = finish.into(),
            Self::Azure => choice["content_filter_results"] = json!({}),
            Self::LlamaCpp | Self::Ollama => {}
        }
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_796_052_019, "model": self.model(),
            "choices": [choice],
        })
    }

    pub fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::OpenAi => {
                json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}})
            }
            Self::Azure => json!({"error": {"code": status.to_string(), "message": message}}),
            Self::LlamaCpp => json!({"error": {"code": status, "message": message, "type": "server_error"}}),
            Self::Ollama => json!({"error": message}),
            Self::Vllm => {
                json!({"object": "error", "message": message, "type": "BadRequestError", "param": null, "code": status})
            }
            Self::OpenRouter => json!({"error": {"message": message, "code": status}, "user_id": "user_1"}),
        }
    }

    pub fn quota(self) -> Value {
        json!({"error": {
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "type": "insufficient_quota", "param": null, "code": "insufficient_quota",
        }})
    }

    pub fn filtered(self) -> Value {
        json!({"error": {
            "message": "The response was filtered due to the prompt triggering the content management policy.",
            "type": null, "param": "prompt", "code": "content_filter", "status": 400,
            "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": true}}},
        }})
    }

    pub fn overflow(self, found: u64, limit: u64) -> Value {
        let message = format!(
            "This model's maximum context length is {limit} tokens. However, your messages resulted in {found} tokens. Please reduce the length of the messages."
        );
        match self {
            Self::LlamaCpp => json!({"error": {
                "code": 400,
                "message": format!("request ({found} tokens) exceeds the available context size ({limit} tokens), try increasing it"),
                "type": "exceed_context_size_error", "n_prompt_tokens": found, "n_ctx": limit,
            }}),
            Self::OpenAi | Self::Azure => json!({"error": {
                "message": message, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded",
            }}),
            Self::Vllm | Self::Ollama | Self::OpenRouter => self.error(400, &message),
        }
    }

    pub fn rejection_status(self) -> u16 {
        if self == Self::Vllm { 422 } else { 400 }
    }

    pub fn rejection(self, parameter: &str) -> Value {
        match self {
            Self::Vllm => {
                json!({"detail": [{"type": "extra_forbidden", "loc": ["body", parameter], "msg": "Extra inputs are not permitted"}]})
            }
            Self::OpenAi | Self::Azure => json!({"error": {
                "message": format!("Unsupported parameter: '{parameter}' is not supported with this model."),
                "type": "invalid_request_error", "param": parameter, "code": "unsupported_parameter",
            }}),
            Self::LlamaCpp | Self::Ollama | Self::OpenRouter => {
                self.error(400, &format!("unknown parameter `{parameter}`"))
            }
        }
    }
}

fn counted((prompt, completion): (u64, u64)) -> Value {
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
    })
}
