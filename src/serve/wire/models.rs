//! What `rag models --json` prints.

use serde::{Deserialize, Serialize};

use super::Word;

/// `rag models --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelsResult {
    pub schema: Word,
    /// Where models are installed.
    pub folder: String,
    pub models: Vec<ModelSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSummary {
    pub name: String,
    /// `embedder` or `reranker`.
    pub purpose: Word,
    pub built_in: bool,
    /// Tokens of one text.
    pub max_tokens: usize,
    pub query_prefix: String,
    pub passage_prefix: String,
    pub size_bytes: u64,
    /// Of graph and weights, in hex.
    pub sha256: String,
    /// Where it came from; empty for what is built in.
    pub from: String,
    pub folder: Option<String>,
    /// With `--check`: its files are those that were installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<bool>,
}
