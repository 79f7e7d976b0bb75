//! The caching proxy between real sockets: a scripted server behind it, plain clients before it.

#![cfg(feature = "serve")]
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::wildcard_enum_match_arm)]

mod behind;
mod house;
#[path = "../llm_double/mod.rs"]
mod llm_double;

mod clients;
mod exact;
mod flights;
mod leaks;
mod pass;
mod process;
mod semantic;
mod texts;
