//! An embedder of the user's own.

use std::path::{Path, PathBuf};

use super::{
    card::{Card, Purpose},
    graph::Graph,
    tokens::{Ids, Tokens},
};
use crate::{
    model::{Embedder, Error, Result},
    types::{EmbeddingSpace, PROBE, Pooling},
};

/// The program that runs it, for `status`.
const RUNTIME: &str = "rten 0.27";

/// An embedder from a folder.
pub struct FolderEmbedder {
    folder: PathBuf,
    graph: Graph,
    tokens: Tokens,
    card: Card,
    space: EmbeddingSpace,
}

impl FolderEmbedder {
    /// Loads an installed model. `name`: what an index calls it. `prepare`: many texts will be embedded. The dimension is
    /// found by embedding a sentence. Errors: `BadModel` for a folder whose card says that it is no embedder; those of the
    /// graph and the tokenizer.
    pub fn load(folder: &Path, name: &str, prepare: bool) -> Result<Self> {
        let card = Card::of(folder)?;
        if card.purpose != Purpose::Embedder {
            return Err(Error::BadModel {
                what: format!("the model in `{}` judges pairs; it embeds nothing", folder.display()),
            });
        }
        let tokens = Tokens::load(folder)?;
        let graph = Graph::load(folder, prepare)?;
        // What is left for a passage, its prefix and the special ids taken off.
        let taken = tokens.one(&card.passage_prefix, card.max_tokens).map_err(|why| failed(folder, why))?.ids.len();
        let space = EmbeddingSpace {
            model: name.to_owned(),
            revision: card.sha256.get(..8).unwrap_or_default().to_owned(),
            sha256: card.sha256.clone(),
            dim: 0,
            pooling: if graph.pools { Pooling::Inside } else { card.pooling },
            normalised: card.normalise,
            query_prefix: card.query_prefix.clone(),
            passage_prefix: card.passage_prefix.clone(),
            max_tokens: card.max_tokens.saturating_sub(taken),
            tokenizer: tokens.name(),
            multilingual: card.multilingual.unwrap_or_else(|| tokens.is_multilingual()),
            probe: Vec::new(),
        };
        let mut embedder = Self { folder: folder.to_owned(), graph, tokens, card, space };
        let probe = embedder.vector("", PROBE)?;
        embedder.space.dim = probe.len();
        embedder.space.probe = probe;
        Ok(embedder)
    }

    fn vector(&self, prefix: &str, text: &str) -> Result<Vec<f32>> {
        let text = [prefix, text].concat();
        let made = self.tokens.one(&text, self.card.max_tokens).and_then(|ids| {
            let (shape, values) = self.graph.run(&ids)?;
            pooled(&ids, &shape, values, self.card.pooling)
        });
        let mut vector = made.map_err(|why| failed(&self.folder, why))?;
        if !vector.iter().all(|value| value.is_finite()) {
            return Err(failed(&self.folder, "a vector holds values that are no numbers".to_owned()));
        }
        if self.card.normalise {
            let length = vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
            if length > 0.0 {
                vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
            }
        }
        if self.space.dim != 0 && vector.len() != self.space.dim {
            let (found, expected) = (vector.len(), self.space.dim);
            return Err(failed(&self.folder, format!("a vector has {found} values, {expected} expected")));
        }
        Ok(vector)
    }
}

fn failed(folder: &Path, why: String) -> Error {
    Error::Run { model: folder.display().to_string(), why }
}

/// One vector of a graph's output: `[1, dim]` as it is, `[1, tokens, dim]` pooled.
fn pooled(ids: &Ids, shape: &[usize], values: Vec<f32>, pooling: Pooling) -> Result<Vec<f32>, String> {
    match *shape {
        [1, dim] if dim > 0 => Ok(values),
        [1, tokens, dim] if dim > 0 && tokens == ids.ids.len() => match pooling {
            Pooling::Cls => Ok(values[..dim].to_vec()),
            Pooling::Mean | Pooling::Inside => {
                let mut sum = vec![0f64; dim];
                for row in values.chunks_exact(dim) {
                    sum.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
                }
                Ok(sum.into_iter().map(|value| (value / tokens as f64) as f32).collect())
            }
        },
        _ => Err(format!("its output has the shape {shape:?}; one vector a text, or one a token, is expected")),
    }
}

impl Embedder for FolderEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<f32>> {
        let mut rows = Vec::with_capacity(texts.len().saturating_mul(self.space.dim));
        for text in texts {
            let found = self.tokens.count(text).map_err(|why| failed(&self.folder, why))?;
            let limit = self.space.max_tokens;
            if found > limit {
                return Err(Error::TextTooLong { model: self.space.model.clone(), found, limit });
            }
            rows.extend_from_slice(&self.vector(&self.space.passage_prefix, text)?);
        }
        Ok(rows)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.vector(&self.space.query_prefix, text)
    }

    fn concurrency(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn batch_size(&self) -> usize {
        1
    }

    fn backend(&self) -> String {
        format!("{RUNTIME} ({})", self.folder.display())
    }
}
