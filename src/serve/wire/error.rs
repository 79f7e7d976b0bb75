//! What stands on stderr when a command with `--json` fails.

use serde::{Deserialize, Serialize};

use super::{Word, kind_word};
use crate::types::Kind;

/// What stands on stderr when a command with `--json` fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorResult {
    pub schema: Word,
    pub error: ErrorDetail,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorDetail {
    pub kind: Word,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    pub exit: u8,
}

impl ErrorResult {
    pub fn new(kind: Kind, message: String, hint: Option<String>, exit: u8) -> Self {
        Self { schema: "rag.error/1".into(), error: ErrorDetail { kind: kind_word(kind).into(), message, hint, exit } }
    }
}
