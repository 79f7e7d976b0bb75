//! A model in a folder, laid out as on Hugging Face: a graph (`model.onnx` or `onnx/model.onnx`), its tokenizer
//! (`tokenizer.json` or `vocab.txt`), and files that say how it is to be used.
//!
//! Useful for: embedders and rerankers of the user's own, run by this program without a network. Not for: the built-in
//! model, which is compiled in, and models behind an endpoint.

mod card;
mod embedder;
mod fetch;
mod graph;
mod install;
mod tokens;

pub use card::{CARD, Card, Purpose};
pub use embedder::FolderEmbedder;
pub use fetch::{Fetch, Fetching};
pub use graph::Graph;
pub use install::{From, Installed, checked, graph_sha256, install, installed, remove};
pub use tokens::Tokens;

use std::path::{Path, PathBuf};

use super::{Error, Result};

/// Where the graph of a folder may be, the first that is there counts.
pub const GRAPHS: [&str; 2] = ["model.onnx", "onnx/model.onnx"];
/// Weights that stand beside a graph, by the names that exporters give them.
pub const WEIGHTS: [&str; 2] = ["model.onnx_data", "model.onnx.data"];

/// The graph of a folder. Errors: `Io` where there is none.
pub fn graph_of(folder: &Path) -> Result<PathBuf> {
    let found = GRAPHS.iter().map(|name| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| Error::Io {
        act: "read",
        path: folder.join(GRAPHS[0]),
        source: std::io::ErrorKind::NotFound.into(),
    })
}

#[cfg(test)]
mod tests;
