//! Models behind an OpenAI-style API: chat completions and embeddings, as OpenAI, Azure, llama.cpp, Ollama, vLLM,
//! LM Studio, OpenRouter and others really speak it.
//!
//! Useful for: servers that deviate from the reference in every field they can. Not for: other APIs of the same vendors.

mod assemble;
mod chat;
mod embeddings;
mod families;
mod habits;
mod models;
pub(super) mod problem;
mod responses;
mod thinking;
mod vectors;

pub use chat::{Api, ChatOptions, OpenAiChat};
pub use embeddings::{EmbedOptions, OpenAiEmbedder};
pub use habits::LimitField;

/// Tokens of a text by its length alone: a third of its bytes, rounded up. More than any tokenizer in use gives for text
/// of Latin letters, about right for others.
pub fn estimated_tokens(bytes: usize) -> usize {
    bytes.div_ceil(3)
}
