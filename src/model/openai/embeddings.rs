//! How do texts become vectors at an OpenAI-style `/embeddings` endpoint? Batches that fit, answers that are checked.
//!
//! Not good for: counting tokens exactly. The endpoint shows no tokenizer, so lengths are estimated, and a server that cuts
//! long texts silently is not found out; chunks much smaller than the model's limit are the remedy.

use std::{
    fmt,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::json;

use super::{estimated_tokens, families, models, problem::Problem, vectors};
use crate::{
    model::{
        Embedder, Error, Result,
        http::{Failure, Http, HttpOptions, Key, Leave, Reply, Verdict, shown},
    },
    types::{Cancel, EmbeddingSpace, PROBE, Pooling},
};

pub(super) const PATH: &str = "embeddings";
/// The most texts of one request, until the server says that it takes fewer.
pub const MAX_BATCH_TEXTS: usize = 64;
/// The most estimated tokens of one request; a longer text goes alone.
pub const MAX_BATCH_TOKENS: usize = 8_192;
/// Requests at once to a server that is not this machine. Some local ones crash on two.
const REMOTE_CONCURRENCY: usize = 4;
/// Bytes of a query for each token the model reads, before it is cut: longer than any text of so many tokens.
const QUERY_BYTES_PER_TOKEN: usize = 16;

/// How an embedding model is reached.
#[derive(Clone)]
pub struct EmbedOptions {
    /// With or without `/v1`, or the whole address of the endpoint.
    pub base_url: String,
    /// The name the server knows it by; empty for the first one it lists.
    pub model: String,
    pub key: Option<Key>,
    /// Sent with every request, in place of ours of the same name; values are kept as secrets.
    pub headers: Vec<(String, Key)>,
    pub http: HttpOptions,
    /// What stands before a query and a passage; known for the common families, else empty.
    pub query_prefix: Option<String>,
    pub passage_prefix: Option<String>,
    /// The most tokens the model reads of one text; known for the common families, else 512.
    pub max_tokens: Option<usize>,
    /// Asks for shorter vectors than the model's own; not every server listens.
    pub dimensions: Option<usize>,
    /// Asked once, pauses end; asked twice, the connection too.
    pub cancel: Cancel,
}

impl EmbedOptions {
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: String::new(),
            key: None,
            headers: Vec::new(),
            http: HttpOptions::default(),
            query_prefix: None,
            passage_prefix: None,
            max_tokens: None,
            dimensions: None,
            cancel: Cancel::default(),
        }
    }
}

impl fmt::Debug for EmbedOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base_url, model, key, headers, http, query_prefix, passage_prefix, max_tokens, dimensions, cancel } =
            self;
        out.debug_struct("EmbedOptions")
            .field("base_url", &shown(base_url))
            .field("model", model)
            .field("key", key)
            .field("headers", headers)
            .field("http", http)
            .field("query_prefix", query_prefix)
            .field("passage_prefix", passage_prefix)
            .field("max_tokens", max_tokens)
            .field("dimensions", dimensions)
            .field("cancel", cancel)
            .finish()
    }
}

/// An embedder behind an endpoint. Several threads may call at once.
#[derive(Debug)]
pub struct OpenAiEmbedder {
    http: Http,
    space: EmbeddingSpace,
    leave: Leave,
    dimensions: Option<usize>,
    /// What the endpoint takes at once, as far as is known.
    batch_texts: AtomicUsize,
}

impl OpenAiEmbedder {
    /// Connects and learns the space: one call embeds [`PROBE`], and one more asks for the model's name if none was given.
    pub fn connect(options: EmbedOptions) -> Result<Self> {
        let http = Http::new(&options.base_url, options.key.as_ref(), &options.headers, options.http.clone())?;
        let leave = Leave { cancel: options.cancel.clone(), finish_first: true };
        let (model, listed_tokens) = match options.model.trim() {
            "" => {
                let listed = models::first(&http, &leave, models::Purpose::Embedding)?;
                (listed.name, listed.context_tokens)
            }
            name => (name.to_owned(), None),
        };
        let family = families::of(&model);
        let space = EmbeddingSpace {
            revision: String::new(),
            sha256: String::new(),
            dim: 0,
            pooling: Pooling::Inside,
            normalised: true,
            query_prefix: options.query_prefix.clone().unwrap_or_else(|| family.query_prefix.to_owned()),
            passage_prefix: options.passage_prefix.clone().unwrap_or_else(|| family.passage_prefix.to_owned()),
            max_tokens: options.max_tokens.unwrap_or(match listed_tokens {
                Some(listed) if family == families::UNKNOWN => listed,
                // A server may be set up for more than its model was made for.
                Some(listed) => listed.min(family.max_tokens),
                None => family.max_tokens,
            }),
            tokenizer: "bytes/3".to_owned(),
            multilingual: family.multilingual,
            probe: Vec::new(),
            model,
        };
        let mut embedder = Self::of(http, space, leave, options.dimensions);
        let probe = embedder.embed(&[&embedder.passage(PROBE)])?;
        embedder.space.dim = probe.len();
        embedder.space.probe = probe;
        Ok(embedder)
    }

    /// Uses the space that an index recorded; sends nothing. Model, prefixes and limits are the space's, whatever the
    /// options say.
    pub fn with_space(options: EmbedOptions, space: EmbeddingSpace) -> Result<Self> {
        let http = Http::new(&options.base_url, options.key.as_ref(), &options.headers, options.http)?;
        let leave = Leave { cancel: options.cancel, finish_first: true };
        let own = options.dimensions.filter(|&asked| asked == space.dim);
        Ok(Self::of(http, space, leave, own))
    }

    fn of(http: Http, space: EmbeddingSpace, leave: Leave, dimensions: Option<usize>) -> Self {
        Self { http, space, leave, dimensions, batch_texts: AtomicUsize::new(MAX_BATCH_TEXTS) }
    }

    fn passage(&self, text: &str) -> String {
        format!("{}{text}", self.space.passage_prefix)
    }

    /// Embeds any number of texts, prefixes included, in batches that fit.
    fn embed(&self, texts: &[&str]) -> Result<Vec<f32>> {
        let mut out = Vec::with_capacity(texts.len() * self.space.dim);
        let mut start = 0;
        while start < texts.len() {
            let batch = next_batch(texts, start, self.batch_texts.load(Ordering::Relaxed));
            start = batch.end;
            out.append(&mut self.embed_batch(texts, batch)?);
        }
        Ok(out)
    }

    /// Embeds one batch; where the server finds it too much, halves it until it fits. The size that fits is remembered
    /// if the whole batch came through, for only then was its size the reason.
    fn embed_batch(&self, texts: &[&str], batch: Range<usize>) -> Result<Vec<f32>> {
        let failure = match self.send(texts, batch.clone())? {
            Ok(rows) => return Ok(rows),
            Err(failure) => failure,
        };
        let problem = Problem::of(&failure);
        let may_fit = matches!(failure.status, 400 | 413 | 422) || problem.is_too_large();
        if may_fit && batch.len() > 1 {
            let middle = batch.start + batch.len() / 2;
            let mut rows = self.embed_batch(texts, batch.start..middle)?;
            rows.append(&mut self.embed_batch(texts, middle..batch.end)?);
            self.batch_texts.fetch_min((middle - batch.start).max(1), Ordering::Relaxed);
            return Ok(rows);
        }
        if problem.is_too_large() {
            let message = self.http.clean(&problem.message);
            return Err(Error::TextRefused { url: self.http.shown(PATH), index: batch.start, message });
        }
        let text = texts.get(batch.start).copied().unwrap_or_default();
        Err(problem.into_error(&self.http, PATH, estimated_tokens(text.len()) as u64))
    }

    /// One request, repeated as its failures allow; the outer error is final.
    fn send(&self, texts: &[&str], batch: Range<usize>) -> Result<Result<Vec<f32>, Failure>> {
        let texts = texts.get(batch).unwrap_or_default();
        let mut body = json!({ "model": self.space.model, "input": texts });
        if let Some(dimensions) = self.dimensions {
            body["dimensions"] = dimensions.into();
        }
        let judge = |failure: &Failure| {
            let problem = Problem::of(failure);
            if problem.is_loading() {
                Verdict::Loading
            } else if problem.is_quota() || (failure.status == 500 && problem.is_too_large()) {
                Verdict::GiveUp
            } else {
                Verdict::TryAgain
            }
        };
        let body = match self.http.post(PATH, &body, &self.leave, &judge)? {
            Reply::Success(body) => body.rest()?,
            Reply::Failure(failure) => return Ok(Err(failure)),
        };
        let rows = vectors::read(&body, texts.len(), (self.space.dim > 0).then_some(self.space.dim));
        rows.map(Ok).map_err(|found| match found {
            vectors::Fault::Error(value) => Problem::of_value(200, &value).into_error(&self.http, PATH, 0),
            vectors::Fault::Bad(found) => Error::BadAnswer {
                url: self.http.shown(PATH),
                expected: "one vector for each text",
                found: self.http.clean(&found),
            },
        })
    }
}

impl Embedder for OpenAiEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    /// As the trait says. Errors: `TextRefused` names a text that is empty or that the server finds too long.
    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<f32>> {
        if let Some(index) = texts.iter().position(|text| text.trim().is_empty()) {
            let message = "it is empty".to_owned();
            return Err(Error::TextRefused { url: self.http.shown(PATH), index, message });
        }
        let passages: Vec<String> = texts.iter().map(|text| self.passage(text)).collect();
        self.embed(&passages.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let mut text = text.trim();
        if text.is_empty() {
            let message = "it is empty".to_owned();
            return Err(Error::TextRefused { url: self.http.shown(PATH), index: 0, message });
        }
        text = beginning(text, self.space.max_tokens.saturating_mul(QUERY_BYTES_PER_TOKEN));
        loop {
            let query = format!("{}{text}", self.space.query_prefix);
            let error = match self.embed_batch(&[&query], 0..1) {
                Ok(vector) => return Ok(vector),
                Err(error) => error,
            };
            let half = beginning(text, text.len() / 2);
            if half.is_empty() || !matches!(error, Error::TextRefused { .. }) {
                return Err(error);
            }
            text = half;
        }
    }

    fn concurrency(&self) -> usize {
        if self.http.address().is_loopback() { 1 } else { REMOTE_CONCURRENCY }
    }

    fn batch_size(&self) -> usize {
        self.batch_texts.load(Ordering::Relaxed)
    }

    fn backend(&self) -> String {
        self.http.shown(PATH)
    }
}

/// The longest run of texts from `start` that keeps both limits; one text at least.
fn next_batch(texts: &[&str], start: usize, max_texts: usize) -> Range<usize> {
    let mut tokens = 0;
    let fitting = texts.iter().skip(start).take(max_texts.max(1)).take_while(|text| {
        tokens += estimated_tokens(text.len());
        tokens <= MAX_BATCH_TOKENS
    });
    start..start + fitting.count().max(1)
}

/// The first `limit` bytes of a text, fewer where that would cut a letter.
fn beginning(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_both_limits() {
        let long = "x".repeat(MAX_BATCH_TOKENS * 3 / 2);
        let huge = "x".repeat(MAX_BATCH_TOKENS * 9);
        let texts = ["a", "b", &long, &long, "c", &huge, "d", "e", "f"];
        let mut cuts = Vec::new();
        let mut start = 0;
        while start < texts.len() {
            let batch = next_batch(&texts, start, 3);
            start = batch.end;
            cuts.push(batch);
        }
        assert_eq!(cuts, [0..3, 3..5, 5..6, 6..9]);
        assert_eq!(next_batch(&texts, 0, 0), 0..1);
    }

    #[test]
    fn a_text_is_cut_between_letters() {
        for (text, limit, want) in [("abc", 9, "abc"), ("aé", 2, "a"), ("é", 1, ""), ("a b", 2, "a"), ("", 0, "")] {
            assert_eq!(beginning(text, limit), want);
        }
    }
}
