//! The public schema of every answer: what `--json` prints, and what a server will send.

#[cfg(feature = "serve")]
pub mod proxy;
pub mod wire;
