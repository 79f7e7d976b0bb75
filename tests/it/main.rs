//! The program as a user runs it: one file a subject. Each test has a folder of its own; nothing here knows the library's
//! inside.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

mod house;
#[path = "../llama/mod.rs"]
mod llama;
#[path = "../llm_double/mod.rs"]
mod llm_double;
#[path = "../rerank_double/mod.rs"]
mod rerank_double;

mod answers;
mod ask;
mod check;
mod errors;
mod eval;
mod explain;
mod faults;
mod first_minute;
mod given;
mod kill;
mod manage;
mod models;
mod output;
mod portable;
mod readme;
mod reconcile;
mod rows;
mod talk;
mod told;
mod upkeep;
