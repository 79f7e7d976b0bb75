//! The public schema of every answer: what `--json` prints, and what a server sends; what a client may ask of one, and the
//! client; and what servers share: the newest generation, the writing thread, memories, tools for agents.

pub mod api;
pub mod client;
pub mod current;
pub mod files;
pub mod hints;
#[cfg(feature = "serve")]
mod host;
#[cfg(feature = "serve")]
pub mod mcp;
pub mod memory;
pub mod models;
#[cfg(feature = "serve")]
mod page;
#[cfg(feature = "serve")]
pub mod proxy;
#[cfg(feature = "serve")]
pub mod server;
pub mod told;
pub mod wire;
pub mod writes;
