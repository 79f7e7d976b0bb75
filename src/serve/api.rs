//! What a client may ask of `rag serve`: the routes, and the body of each request.
//!
//! Answers are the objects of [`wire`](super::wire): the same that `--json` prints. Every setting may be left out; then
//! the server's own counts (its `rag.toml` and configuration), and then the default. A field that is not known is an error,
//! never passed over. No field names an endpoint, a header, a key or a prompt: those are the server's alone.
//!
//! Useful for: the server, and the client of remote mode. Not for: deciding what a request may do.

mod documents;
mod problem;
pub mod routes;
mod search;
mod sync;

pub use documents::*;
pub use problem::*;
pub use search::*;
pub use sync::*;

fn is_false(flag: &bool) -> bool {
    !flag
}
