//! Remote mode as a user runs it: the same command lines against an index here and against a server that has it.

#![cfg(all(feature = "serve", unix))]
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

mod broken;
#[path = "../it/house.rs"]
#[allow(dead_code)]
mod house;
mod ingest;
#[path = "../llm_double/mod.rs"]
mod llm_double;
mod models;
mod page;
mod refused;
mod same;
mod served;
mod tls;
mod warm;
