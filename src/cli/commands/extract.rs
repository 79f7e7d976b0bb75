//! The hidden verb `__extract`: this process reads files from its parent, extracts them under limits, and answers.

use std::process::ExitCode;

use crate::cli::exit;

/// Not part of the command line that people see.
pub const VERB: &str = "__extract";

pub fn run() -> ExitCode {
    match rag::ingest::extract::worker::serve(std::io::stdin(), std::io::stdout()) {
        Ok(()) => ExitCode::from(exit::OK),
        // The parent has gone, or sent what no parent of ours sends.
        Err(_) => ExitCode::from(exit::IO),
    }
}
