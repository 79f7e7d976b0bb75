//! Tools for agents, by the Model Context Protocol: over standard input and output (`rag mcp`), or over HTTP.
//!
//! The protocol itself (framing, both lifecycles, versions) is rmcp's; here is what the tools are and do. Tools run on
//! threads that may block; a call that is cancelled, and every call of a client that has gone, is asked to stop.
//!
//! Useful for: one index and its memories. Not for: reading settings, or deciding who may connect.

mod handler;
mod prompts;
mod reply;
mod resources;
mod schema;
mod state;
mod terms;
mod tools;
mod transport;

pub use handler::Server;
pub use state::Options;
pub use terms::{Terms, Wrote};
pub use transport::{HttpOptions, HttpService, http_service, http_service_of, serve};
