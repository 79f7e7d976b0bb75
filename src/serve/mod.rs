//! The public schema of every answer: what `--json` prints, and what a server will send; and what a client may ask of one.

pub mod api;
pub mod hints;
#[cfg(feature = "serve")]
pub mod server;
pub mod wire;
