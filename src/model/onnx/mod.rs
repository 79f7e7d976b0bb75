//! The built-in embedding model: a text's tokens to one vector, whatever program runs the graph.
//!
//! `rten` is compiled in and the default; `ort` runs the same graph on an ONNX Runtime library that the user names. One
//! text is one run, alone and on one thread: quantised activations share a scale, so a batch would make a vector depend
//! on its neighbours, and cores are better used by more callers. Not useful for: models behind an endpoint.

mod graph;
pub mod ort;
mod rten;

pub use graph::built_in_bytes;

use super::{
    Embedder, Error, Result,
    registry::{self, Model},
    space::same_probe,
    wordpiece::{CLOSE, OPEN, WordPiece},
};
use crate::types::{EmbeddingSpace, PROBE};

/// What the loading of the model is to be cheap for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A query or two, then the end: weights are read where they lie, nothing is prepared.
    OneShot,
    /// Many texts: the graph is optimised and the weights are packed first, which pays from the third text on.
    Throughput,
}

/// What runs a graph. Called from several threads at once.
trait Runtime: Send + Sync {
    /// Runs one text of token ids, special ones included, all of them attended to. Gives the graph's sentence vector.
    fn run(&self, ids: &[u32]) -> Result<Vec<f32>, String>;

    /// Name and version, and where it was found if it is not part of this program.
    fn name(&self) -> String;
}

/// An embedder over a graph compiled into this program.
pub struct OnnxEmbedder {
    model: &'static Model,
    space: EmbeddingSpace,
    word_piece: &'static WordPiece,
    runtime: Box<dyn Runtime>,
}

impl OnnxEmbedder {
    /// The built-in model on the built-in runtime. `Throughput` also proves that this machine computes the vectors the
    /// registry expects.
    pub fn built_in(profile: Profile) -> Result<Self> {
        let model = registry::built_in()?;
        let failed = |why| Error::Run { model: model.name.to_owned(), why };
        let embedder = Self::over(model, Box::new(rten::Rten::load(profile).map_err(failed)?));
        if profile == Profile::Throughput {
            embedder.check_probe()?;
        }
        Ok(embedder)
    }

    /// The built-in model on an ONNX Runtime library, which is searched and loaded now. A process uses one library.
    /// The library is proved by the probe sentence.
    pub fn on_onnxruntime(options: &ort::Options) -> Result<Self> {
        let model = registry::built_in()?;
        let embedder = Self::over(model, Box::new(ort::OnnxRuntime::load(model, options)?));
        embedder.check_probe()?;
        Ok(embedder)
    }

    fn over(model: &'static Model, runtime: Box<dyn Runtime>) -> Self {
        Self { model, space: model.space(), word_piece: WordPiece::builtin(), runtime }
    }

    /// The vector of [`PROBE`] as it is computed here and now; `space().probe` is the registry's.
    pub fn probe(&self) -> Result<Vec<f32>> {
        self.vector(&self.word_piece.encode_at_most(PROBE, self.model.max_tokens))
    }

    /// Compares the two.
    fn check_probe(&self) -> Result<()> {
        let computed = self.probe()?;
        same_probe(&self.space.probe, &computed)
            .map_err(|why| self.failed(format!("{} is not to be trusted: {why}", self.backend())))
    }

    fn failed(&self, why: String) -> Error {
        Error::Run { model: self.model.name.to_owned(), why }
    }

    /// The vector of a text's tokens, which are not too many.
    fn vector(&self, tokens: &[u32]) -> Result<Vec<f32>> {
        let ids = [&[OPEN], tokens, &[CLOSE]].concat();
        let vector = self.runtime.run(&ids).map_err(|why| self.failed(why))?;
        if vector.len() != self.model.dim {
            return Err(self.failed(format!("a vector has {} values, {} expected", vector.len(), self.model.dim)));
        }
        if !vector.iter().all(|x| x.is_finite()) {
            return Err(self.failed("a vector holds values that are no numbers".to_owned()));
        }
        Ok(vector)
    }
}

/// The text as the model reads it. Copies only where there is a prefix.
fn with_prefix<'t>(prefix: &str, text: &'t str) -> std::borrow::Cow<'t, str> {
    if prefix.is_empty() { text.into() } else { [prefix, text].concat().into() }
}

impl Embedder for OnnxEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<f32>> {
        let limit = self.model.max_tokens;
        let mut rows = Vec::with_capacity(texts.len().saturating_mul(self.model.dim));
        for text in texts {
            let text = with_prefix(self.model.passage_prefix, text);
            let tokens = self.word_piece.encode_at_most(&text, limit.saturating_add(1));
            if tokens.len() > limit {
                let found = self.word_piece.count(&text);
                return Err(Error::TextTooLong { model: self.model.name.to_owned(), found, limit });
            }
            rows.extend_from_slice(&self.vector(&tokens)?);
        }
        Ok(rows)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let text = with_prefix(self.model.query_prefix, text);
        self.vector(&self.word_piece.encode_at_most(&text, self.model.max_tokens))
    }

    fn concurrency(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn batch_size(&self) -> usize {
        1
    }

    fn backend(&self) -> String {
        self.runtime.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with a fixed vector and checks what it is given.
    struct Answers(Vec<f32>);

    impl Runtime for Answers {
        fn run(&self, ids: &[u32]) -> Result<Vec<f32>, String> {
            assert_eq!((ids.first(), ids.last()), (Some(&OPEN), Some(&CLOSE)));
            assert!(ids.len() <= 256, "{}", ids.len());
            if ids.len() == 2 + 7 { Err("seven".to_owned()) } else { Ok(self.0.clone()) }
        }

        fn name(&self) -> String {
            "answers".to_owned()
        }
    }

    fn embedder(answer: Vec<f32>) -> OnnxEmbedder {
        OnnxEmbedder::over(registry::built_in().expect("onnx is on"), Box::new(Answers(answer)))
    }

    #[test]
    fn long_passages_are_refused_and_long_queries_cut() {
        let embedder = embedder(vec![0.5; 384]);
        let (fits, long) = ("water ".repeat(254), "water ".repeat(300));
        assert_eq!(embedder.embed_passages(&[&fits, "", "x"]).expect("fits").len(), 3 * 384);
        let error = embedder.embed_passages(&["x", &long]).unwrap_err();
        assert_eq!(error.to_string(), "a text of 300 tokens is longer than the 254 that `all-minilm-l6-v2` reads");
        assert_eq!(embedder.embed_query(&long).expect("cut").len(), 384);
        assert!(embedder.embed_passages(&[]).expect("nothing").is_empty());
    }

    #[test]
    fn a_vector_that_cannot_be_is_an_error() {
        for (answer, want) in [
            (vec![0.5; 383], "a vector has 383 values, 384 expected"),
            (vec![f32::NAN; 384], "a vector holds values that are no numbers"),
        ] {
            let error = embedder(answer).embed_query("x").unwrap_err();
            assert_eq!(error.to_string(), format!("the model `all-minilm-l6-v2` failed: {want}"));
        }
        let error = embedder(vec![0.5; 384]).embed_query("a b c d e f g").unwrap_err();
        assert_eq!(error.to_string(), "the model `all-minilm-l6-v2` failed: seven");
    }

    #[test]
    fn a_runtime_that_computes_other_vectors_is_not_trusted() {
        let error = embedder(vec![0.5; 384]).check_probe().unwrap_err();
        assert!(
            error.to_string().contains("answers is not to be trusted: the probe sentence has another vector"),
            "{error}"
        );
    }
}
