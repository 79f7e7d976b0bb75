//! Cross-encoders that a user brings: a model in a folder, run here, or an endpoint.
//!
//! Not for: choosing what is reranked, and what its scores mean beside those of a search.

mod endpoint;
#[cfg(feature = "onnx")]
mod local;

pub use endpoint::{EndpointOptions, EndpointReranker};
#[cfg(feature = "onnx")]
pub use local::LocalReranker;
