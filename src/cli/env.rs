//! Every environment variable the program reads, in one list. Settings of `config` have variables of their own, named
//! there.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

/// Index folder, where `--index` is not given.
pub const INDEX: &str = "RAG_INDEX";
/// Address of a server to ask, where neither `--remote` nor `--index` is given.
pub const REMOTE: &str = "RAG_REMOTE";
/// The user's configuration file, in place of `~/.config/rag/config.toml`.
pub const CONFIG: &str = "RAG_CONFIG";
/// Key of the LLM endpoint.
pub const LLM_KEY: &str = "RAG_LLM_API_KEY";
/// Key of the embedding endpoint.
pub const EMBED_KEY: &str = "RAG_EMBED_API_KEY";
/// Key of the reranking endpoint.
pub const RERANK_KEY: &str = "RAG_RERANK_API_KEY";
/// Key that clients of `rag proxy` must show.
#[cfg(feature = "serve")]
pub const PROXY_KEY: &str = "RAG_PROXY_API_KEY";
/// Key for any of them, where its own variable is not set. Of a server the only one: `rag serve` asks its clients for it, and
/// then no endpoint gets it ([`common_key`]); `--remote` shows it.
pub const KEY: &str = "RAG_API_KEY";
/// Used for `api.openai.com` alone.
pub const OPENAI_KEY: &str = "OPENAI_API_KEY";
/// The folder of installed models, in place of `~/.local/share/rag/models`.
pub const MODELS: &str = "RAG_MODELS";
/// Where `hf:ORG/NAME` points, in place of huggingface.co, as Hugging Face's own programs name it.
pub const HF_ENDPOINT: &str = "HF_ENDPOINT";
/// The key of Hugging Face.
pub const HF_TOKEN: &str = "HF_TOKEN";
/// The ONNX Runtime library, as the `ort` crate names it; read only when an ONNX Runtime is asked for.
pub const ORT: &str = "ORT_DYLIB_PATH";
/// Where Python environments are, to look for an ONNX Runtime if `auto` is asked for.
pub const PYTHON_ROOTS: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];
pub const HOME: &str = "HOME";
/// Where programs are: those that help to read pages, and those that `rag doctor` looks for.
pub const PATH: &str = "PATH";
/// A password to try on encrypted PDFs, beside those of `--password`.
pub const PASSWORD: &str = "RAG_PASSWORD";
/// Any value: no colour.
pub const NO_COLOR: &str = "NO_COLOR";
pub const TERM: &str = "TERM";
/// For crash tests: the process dies at the n-th change it makes to the index folder.
pub const KILL_AT: &str = "RAG_KILL_AT";

/// Those of the list above that begin with our own prefix.
pub const OURS: &[&str] = &[
    INDEX,
    REMOTE,
    CONFIG,
    LLM_KEY,
    EMBED_KEY,
    RERANK_KEY,
    // Also where the program is built without what reads it.
    "RAG_PROXY_API_KEY",
    KEY,
    MODELS,
    PASSWORD,
    KILL_AT,
];

/// The names of all variables that are set and begin so.
pub fn names(prefix: &str) -> Vec<String> {
    let all = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let mut names: Vec<String> = all.filter_map(|(name, _)| name.into_string().ok()).collect();
    names.retain(|name| name.starts_with(prefix));
    names.sort();
    names
}

static KEY_IS_OURS: AtomicBool = AtomicBool::new(false);

/// From now on [`KEY`] is the key that this process asks for, not one that it shows to others.
#[cfg(feature = "serve")]
pub fn keep_key() {
    KEY_IS_OURS.store(true, Ordering::SeqCst);
}

/// The key for any endpoint.
pub fn common_key() -> Option<String> {
    if KEY_IS_OURS.load(Ordering::SeqCst) { None } else { text(KEY) }
}

/// A variable's value; empty counts as not set.
pub fn os(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

pub fn path(name: &str) -> Option<PathBuf> {
    os(name).map(PathBuf::from)
}

/// A variable's value as text; `None` also where it is not UTF-8.
pub fn text(name: &str) -> Option<String> {
    os(name).and_then(|value| value.into_string().ok())
}
