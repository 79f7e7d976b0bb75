//! What is known of a model besides its graph: from `rag-model.toml`, else from the files that exporters write.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    model::{Error, Result},
    types::Pooling,
};

/// The file that says how a model is to be used, and that it is whole.
pub const CARD: &str = "rag-model.toml";

/// Tokens a model reads, special ones included, where nothing says so.
const MAX_TOKENS: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    Embedder,
    Reranker,
}

impl Purpose {
    pub fn word(self) -> &'static str {
        match self {
            Self::Embedder => "embedder",
            Self::Reranker => "reranker",
        }
    }
}

/// How a model is to be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    pub purpose: Purpose,
    /// Tokens of one text, special ones included.
    pub max_tokens: usize,
    pub pooling: Pooling,
    /// Vectors are brought to length 1.
    pub normalise: bool,
    #[serde(default)]
    pub query_prefix: String,
    #[serde(default)]
    pub passage_prefix: String,
    /// Every script is read, so fusion trusts meaning in every language; `None`: the vocabulary decides.
    #[serde(default)]
    pub multilingual: Option<bool>,
    /// Where it came from.
    #[serde(default)]
    pub from: String,
    /// Of the graph and its weights, in hex; empty before it is installed.
    #[serde(default)]
    pub sha256: String,
}

impl Card {
    /// The card of a folder, or, where it has none, what its other files tell. Errors: `Io`; `BadModel` for a card that
    /// cannot be read.
    pub fn of(folder: &Path) -> Result<Self> {
        let path = folder.join(CARD);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let wrong = |error: toml::de::Error| Error::BadModel {
                    what: format!("`{}` cannot be read: {}", path.display(), error.message()),
                };
                toml::from_str(&text).map_err(wrong)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::guessed(folder)),
            Err(source) => Err(Error::Io { act: "read", path, source }),
        }
    }

    fn guessed(folder: &Path) -> Self {
        let json = |name: &str| {
            let read = fs::read(folder.join(name)).ok();
            read.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok()).unwrap_or_default()
        };
        let (config, sentence) = (json("config.json"), json("sentence_bert_config.json"));
        let (prompts, pooling) = (json("config_sentence_transformers.json"), json("1_Pooling/config.json"));
        let stated = sentence["max_seq_length"].as_u64().or(config["max_position_embeddings"].as_u64());
        let positions = stated.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(MAX_TOKENS);
        // XLM-R counts its positions from 2 on.
        let positions = if positions % 128 == 2 { positions - 2 } else { positions };
        let judges =
            config["architectures"][0].as_str().is_some_and(|name| name.ends_with("ForSequenceClassification"));
        let prompt = |name: &str| prompts["prompts"][name].as_str().unwrap_or_default().to_owned();
        let cls = pooling["pooling_mode_cls_token"].as_bool() == Some(true);
        Self {
            purpose: if judges { Purpose::Reranker } else { Purpose::Embedder },
            max_tokens: positions.clamp(16, 8192),
            pooling: if cls { Pooling::Cls } else { Pooling::Mean },
            normalise: true,
            query_prefix: prompt("query"),
            passage_prefix: if prompt("passage").is_empty() { prompt("document") } else { prompt("passage") },
            multilingual: None,
            from: String::new(),
            sha256: String::new(),
        }
    }

    /// Writes it. Errors: `Io`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(CARD);
        let text = toml::to_string(self).expect("plain values serialise");
        fs::write(&path, text).map_err(|source| Error::Io { act: "write", path, source })
    }
}
