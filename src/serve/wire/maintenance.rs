//! What the verbs that keep an index in order say: verify, compact, reembed, migrate, doctor, models.

use serde::{Deserialize, Serialize};

use super::{Space, Word};

/// `rag verify --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct VerifyResult {
    pub schema: Word,
    pub index: String,
    pub generation: Option<u64>,
    pub sound: bool,
    pub faults: Vec<String>,
    /// Files whose checksum was computed, and their bytes.
    pub files: u64,
    pub bytes: u64,
    /// What follows from something else was made anew, too.
    pub paranoid: bool,
    /// Files that no generation names: of a run that goes on now, or of one that was cut off; the next writer removes them.
    pub orphans: Vec<String>,
}

/// `rag compact --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct CompactResult {
    pub schema: Word,
    pub index: String,
    pub generation: u64,
    /// False: there was nothing to merge or to drop, and nothing was written.
    pub changed: bool,
    /// Of all files of the index.
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub segments_before: CompactSegments,
    pub segments_after: CompactSegments,
    /// Deleted rows and documents that were dropped.
    pub dropped: u64,
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct CompactSegments {
    pub text: u64,
    pub vectors: u64,
}

/// `rag export --out FILE --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct ExportResult {
    pub schema: Word,
    pub documents: u64,
    pub chunks: u64,
    pub bytes: u64,
    pub out: Option<String>,
    pub generation: u64,
}

/// `rag reembed --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct ReembedResult {
    pub schema: Word,
    pub index: String,
    pub generation: u64,
    /// In force now; null without vectors.
    pub embedding_space: Option<Space>,
    pub chunks: u64,
    pub embedded: u64,
    /// Rows that an interrupted run had left.
    pub resumed: u64,
    /// Texts longer than the model reads.
    pub shortened: u64,
    pub unchanged: bool,
    /// The index is as it was; what was embedded is kept for the next run.
    pub interrupted: bool,
    /// Begun spaces that `--abort` dropped.
    pub aborted: u64,
    pub bytes_written: u64,
    pub seconds: f64,
}

/// `rag doctor --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct DoctorResult {
    pub schema: Word,
    pub index: String,
    /// No check failed; warnings count for nothing.
    pub healthy: bool,
    pub checks: Vec<DoctorCheck>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct DoctorCheck {
    pub name: Word,
    pub state: DoctorState,
    pub message: String,
    /// What mends it: a command, or what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DoctorState {
    Ok,
    Warning,
    Failed,
    /// Was wrong, and `--fix` mended it.
    Fixed,
}

/// `rag migrate --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct MigrateResult {
    pub schema: Word,
    pub index: String,
    /// Format of the index, before and after.
    pub from: u32,
    pub to: u32,
    pub changed: bool,
    pub generation: u64,
}
