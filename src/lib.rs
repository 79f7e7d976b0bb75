//! `rag`: ingest a folder, query it, ask it.
//!
//! The house, from the ground up (ARCHITECTURE.md has the whole plan and the arrows):
//!
//! - [`types`]: plain values that every room shares; they do no I/O and import nothing of ours.
//! - [`index`]: what is on disk. One writer, any number of readers, one commit point.
//! - [`model`]: what thinks: embedders and LLM clients.
//! - [`ingest`]: files in: walk, extract, chunk, embed, write.
//! - [`retrieve`]: answers out: search, fuse, ask, check citations.
//! - [`serve`]: the public schema of every answer.
//!
//! The command line is not part of the library: `src/main.rs` declares `cli`, so nothing here can know the screen.

pub mod index;
pub mod ingest;
pub mod model;
pub mod retrieve;
pub mod serve;
pub mod types;
