//! What `rag ingest --json` prints.

use serde::{Deserialize, Serialize};

use super::{Word, milliseconds};
use crate::{index::Problem, ingest};

/// `rag ingest --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct IngestReport {
    pub schema: Word,
    pub added: Vec<Outcome>,
    pub updated: Vec<Outcome>,
    /// A number: naming every unchanged source of a large tree helps nobody.
    pub unchanged: usize,
    pub moved: Vec<Outcome>,
    pub removed: Vec<Outcome>,
    pub skipped: Vec<Outcome>,
    pub failed: Vec<Outcome>,
    pub warnings: Vec<Outcome>,
    pub ignored: u64,
    pub chunks: IngestChunks,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub generation: u64,
    pub interrupted: bool,
    pub dry_run: bool,
    /// Of a dry run: how long the real one would take, judged by a sample; else null.
    pub estimated_seconds: Option<f64>,
    /// Which embedder ran; null without vectors.
    pub embedder: Option<String>,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct IngestChunks {
    pub written: u64,
    pub embedded: u64,
    pub reused: u64,
}

/// What became of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Outcome {
    pub path: String,
    pub chunks: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl From<&ingest::Outcome> for Outcome {
    fn from(outcome: &ingest::Outcome) -> Self {
        Self {
            path: outcome.path.clone(),
            chunks: outcome.chunks,
            from: outcome.from.clone(),
            problems: outcome.problems.clone(),
        }
    }
}

impl IngestReport {
    pub fn new(report: &ingest::Report, embedder: Option<String>) -> Self {
        let list = |outcomes: &[ingest::Outcome]| outcomes.iter().map(Outcome::from).collect::<Vec<_>>();
        Self {
            schema: "rag.ingest/1".into(),
            added: list(&report.added),
            updated: list(&report.updated),
            unchanged: report.unchanged.len(),
            moved: list(&report.moved),
            removed: list(&report.removed),
            skipped: list(&report.skipped),
            failed: list(&report.failed),
            warnings: list(&report.warnings),
            ignored: report.ignored,
            chunks: IngestChunks {
                written: report.chunks_written,
                embedded: report.chunks_embedded,
                reused: report.chunks_reused,
            },
            bytes_read: report.bytes_read,
            bytes_written: report.bytes_written,
            generation: report.generation,
            interrupted: report.interrupted,
            dry_run: report.dry_run,
            estimated_seconds: report.estimated_seconds,
            embedder,
            seconds: milliseconds(report.seconds),
        }
    }
}
