//! The public schema of every answer: what `--json` prints, and what a server will send; what a client may ask of one, and the client.

pub mod api;
pub mod client;
pub mod hints;
#[cfg(feature = "serve")]
pub mod server;
pub mod wire;
