//! What `rag config --json` prints.

use serde::{Deserialize, Serialize};

use super::Word;

/// `rag config --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigResult {
    pub schema: Word,
    pub settings: Vec<Setting>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    pub key: String,
    pub value: Option<serde_json::Value>,
    /// `default`, `environment RAG_…`, a file's path, or `unset`.
    pub origin: String,
    pub help: String,
}
