//! `rag serve`: the library's server. One router for every listener, so that a socket file, a port and a test get the same.
//!
//! Useful for: answering requests about indexes, within limits. Not for: reading the environment, resolving settings or
//! printing; its door fills [`Options`].

mod ask;
mod asked;
mod body;
mod channel;
mod documents;
mod eval;
mod explain;
mod failure;
mod gate;
mod guard;
mod house;
mod ingest;
mod jobs;
mod keys;
mod listen;
mod metrics;
mod openai;
mod openapi;
mod options;
mod politeness;
mod rate;
mod requests;
mod router;
mod scope;
mod search;
mod state;
mod status;
mod sync;
#[cfg(test)]
mod testing;
mod tools;

pub use failure::Failure;
pub use guard::Peer;
pub use keys::{BadKeys, Keys, NewKey, Quota, Scope, StoredKey};
pub use listen::{Listener, Stop, Tls, is_open, run};
pub use options::{Access, Limits, Log, Models, Options, Prices};
pub use router::app;
pub use state::State;
