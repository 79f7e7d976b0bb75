//! Files in: makes the index agree with what is on disk.
//!
//! Useful for: walking, detecting, extracting, chunking, embedding and committing. Not for: searching, or printing.

mod chunk;
pub mod detect;
pub mod document;
mod embed;
mod error;
pub mod extract;
mod feed;
mod file;
mod language;
mod patterns;
mod pipeline;
mod plan;
mod reader;
mod report;
mod roots;
mod rules;
mod survey;
mod walk;

pub use error::{Error, Result};
pub use report::{Event, Observer, Outcome, Report};

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use crate::{index::Writer, model::Embedder, types::Cancel};

/// What to ingest and how. Plain values; the door fills them.
#[derive(Debug, Clone)]
pub struct Options {
    /// Files and folders that must exist. At least one, or `stdin`.
    pub paths: Vec<PathBuf>,
    /// The folder that holds the index folder, if that is called `.rag`: paths below it are relative to it.
    pub home: Option<PathBuf>,
    /// The index folder itself, never walked into.
    pub index_dir: PathBuf,
    pub collection: String,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// Obey .gitignore, .ragignore and the built-in list.
    pub ignore_rules: bool,
    pub hidden: bool,
    pub follow: bool,
    pub max_file_bytes: u64,
    pub tags: BTreeMap<String, String>,
    pub chunk_tokens: usize,
    pub chunk_overlap: usize,
    pub jobs: usize,
    pub dry_run: bool,
    /// Remove vanished sources under `paths`.
    pub prune: bool,
    pub file_timeout: Duration,
    /// How to start an extraction worker: program and arguments.
    pub worker: extract::Worker,
}

/// Makes the index agree with what is on disk under `options.paths`. A source that fails is an entry of the report; an
/// error ends the run after the last commit (what was committed stays). On `cancel` the batch in hand is committed and
/// the report says `interrupted`.
pub fn ingest(
    writer: &mut Writer,
    embedder: Option<&dyn Embedder>,
    options: &Options,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    pipeline::run(writer, embedder, options, observer, cancel)
}
