//! One format a file, behind one trait; and the worker process that runs them, so that a hostile file costs one file.

mod pool;
pub mod worker;

use std::{ffi::OsString, path::PathBuf, time::Duration};

pub use pool::Extractor;

/// How extraction is run.
#[derive(Debug, Clone)]
pub enum Worker {
    /// In a child process under limits: program and arguments (`rag __extract`).
    Process { program: PathBuf, arguments: Vec<OsString> },
    /// In this process, without limits: for tests of what stands around it.
    InProcess,
}

/// Version of everything in this room that decides the text and the blocks of a document; part of the pipeline's version.
pub const VERSION: u32 = 1;

/// What one file may cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Wall-clock time; a file over it fails with `timeout`.
    pub timeout: Duration,
    /// Address space of a worker process.
    pub memory_bytes: u64,
    /// Extracted text; a file over it fails with `too_large`.
    pub max_text_bytes: u64,
    /// Pages read of a paged document; the rest is left out with a warning.
    pub max_pages: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(60), memory_bytes: 1 << 30, max_text_bytes: 256 << 20, max_pages: 20_000 }
    }
}
