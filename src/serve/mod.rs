//! The public schema of every answer: what `--json` prints, and what a server sends; and what servers share: the newest
//! generation, the writing thread, memories, tools for agents.

pub mod current;
#[cfg(feature = "serve")]
pub mod mcp;
pub mod memory;
pub mod models;
pub mod told;
pub mod wire;
pub mod writes;
