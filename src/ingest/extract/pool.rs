//! A worker process seen from its parent.

use super::{Limits, Worker};
use crate::{index::Problem, ingest::document::Document};

/// One worker: starts it when it is needed, again when it has died, and never leaves one behind.
pub struct Extractor {
    worker: Worker,
    limits: Limits,
}

impl Extractor {
    /// Makes an extractor; nothing is started yet.
    pub fn new(worker: Worker, limits: Limits) -> Self {
        Self { worker, limits }
    }

    /// Starts the worker process, so that a program that cannot be started ends the run at once.
    pub fn start(&mut self) -> crate::ingest::Result<()> {
        todo!()
    }

    /// Extracts one file. `name` is its file name (only a hint), `bytes` all of it.
    pub fn extract(&mut self, name: &str, bytes: &[u8]) -> Result<Document, Problem> {
        let _ = (&self.worker, &self.limits, name, bytes);
        todo!()
    }
}
