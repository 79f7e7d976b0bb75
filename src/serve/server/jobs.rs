//! Ingests that a client started and does not wait for.

use std::time::Duration;

/// All jobs of this process.
#[derive(Debug, Default)]
pub struct Jobs {}

impl Jobs {
    pub async fn wait(&self, _: Duration) -> bool {
        true
    }
}
