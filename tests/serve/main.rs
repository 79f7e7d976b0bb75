//! `rag serve`: rows of RELIABILITY.md by their names, against the library's server in this process and, where signals and
//! exit codes count, against the program.
#![cfg(feature = "serve")]
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

mod access;
mod answers;
mod clients;
mod documents;
mod http;
mod limits;
mod openapi;
mod process;
mod schema;
mod server;
mod smuggling;
mod sync;
mod tenants;
mod tls;
mod vectors;
