//! Everything that thinks: embedders and chat models behind one small trait each.
//!
//! Useful for: vectors of texts, answers from a prompt. Not for: opening an index, choosing passages, or reading the
//! environment (doors do that and pass plain options).

pub mod cache;
pub mod error;
pub mod fake;
#[cfg(feature = "onnx")]
pub mod folder;
pub mod http;
#[cfg(feature = "onnx")]
pub mod onnx;
pub mod openai;
pub mod registry;
pub mod remember;
pub mod rerank;
pub mod space;
pub mod sse;
pub mod wordpiece;

pub use error::{Error, Result};
pub use space::{same_space, same_vector};

use std::{ops::ControlFlow, time::Duration};

use crate::types::EmbeddingSpace;

/// Turns texts into vectors of one embedding space. Called from several threads at once.
pub trait Embedder: Send + Sync {
    fn space(&self) -> &EmbeddingSpace;

    /// Vectors of passages (prefix added here), row after row: `texts.len() × dim` values, in the order of the texts.
    /// A text longer than the model reads is an error, never cut silently.
    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<f32>>;

    /// The vector of a query (prefix added here): `dim` values. A query longer than the model reads is cut at the limit.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>>;

    /// How many threads may usefully call at once: the cores for a local model, few for an endpoint.
    fn concurrency(&self) -> usize;

    /// How many texts one call should carry: 1 for a local model (repeatable vectors), more for an endpoint.
    fn batch_size(&self) -> usize;

    /// Which program computes: `rten 0.27`, `onnxruntime 1.32 (/usr/lib/…)`, `https://…/v1/embeddings`. For `status`.
    fn backend(&self) -> String;
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub content: String,
}

/// One request to a chat model. Temperature is 0 and the seed fixed.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    pub messages: Vec<Message>,
    pub max_tokens: u32,
    pub stream: bool,
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Stop,
    /// The token limit, or a stream that ended without saying so: the text is not whole.
    Truncated,
    /// Refused by the model or a filter.
    Refused,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// Counted by us because the server did not.
    pub estimated: bool,
}

impl Usage {
    /// Two calls taken together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            completion_tokens: self.completion_tokens + other.completion_tokens,
            estimated: self.estimated || other.estimated,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    pub text: String,
    pub finish: Finish,
    pub usage: Usage,
    /// The model name the server says it used.
    pub model: Option<String>,
}

/// A chat model. `on_text` gets the text as it comes (never reasoning); `Break` hangs up and ends with `Cancelled`.
pub trait Chat: Send + Sync {
    fn chat(&self, request: &ChatRequest, on_text: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<Completion>;

    /// The model asked for.
    fn model(&self) -> &str;

    /// Tokens of prompt and answer together, if known.
    fn context_tokens(&self) -> Option<usize>;
}

/// Judges how well passages answer a query, by reading both together.
pub trait Reranker: Send + Sync {
    /// One score a passage, in their order; higher is better, the scale is the model's own (probabilities or logits). What is
    /// too long is cut. `None`: it could not be done within `budget`.
    fn rerank(&self, query: &str, passages: &[&str], budget: Duration) -> Result<Option<Vec<f32>>>;

    /// The model and where it runs, for notes.
    fn name(&self) -> String;
}
