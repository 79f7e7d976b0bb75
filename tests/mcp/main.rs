//! `rag mcp` as clients meet it: raw lines of JSON-RPC, and the official clients of the protocol.

#![cfg(feature = "serve")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod client;
#[allow(dead_code, reason = "the house of the other end-to-end tests")]
#[path = "../it/house.rs"]
mod house;
mod validate;

mod durable;
mod fixture;
mod hostile;
mod http;
mod official;
mod portable;
mod protocol;
mod tools;
