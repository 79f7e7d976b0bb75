//! The public schema of every answer: what `--json` prints, and what a server will send.

pub mod wire;
