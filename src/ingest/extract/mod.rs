//! One format a file, behind one trait; and the worker process that runs them, so that a hostile file costs one file.

use std::{ffi::OsString, path::PathBuf};

/// How extraction is run.
#[derive(Debug, Clone)]
pub enum Worker {
    /// In a child process under limits: program and arguments (`rag __extract`).
    Process { program: PathBuf, arguments: Vec<OsString> },
    /// In this process, without limits: for tests of what stands around it.
    InProcess,
}
