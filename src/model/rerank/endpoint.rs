//! Reranking at an HTTP endpoint, in the two shapes there are: `documents` in and `results` with a `relevance_score` out
//! (Cohere, Jina, Voyage, llama.cpp, vLLM), or `texts` in and a list with a `score` out (TEI).
//!
//! Not for: batches. The candidates of one query are one request.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    model::{
        Error, Reranker, Result,
        http::{Failure, Http, HttpOptions, Key, Leave, Reply, Verdict},
        openai::problem::{Problem, describe, is_error},
    },
    types::Cancel,
};

const PATH: &str = "rerank";
/// The most bytes of one passage; more than models read, and a bound for the request.
const MAX_PASSAGE_BYTES: usize = 16 << 10;
/// Fields that hold the list of scores, where it does not stand alone.
const LISTS: [&str; 3] = ["results", "data", "scores"];

/// How a reranker is reached.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// With or without `/v1` and `/rerank`; a host alone means `/v1/rerank`.
    pub base_url: String,
    /// The name the server knows the model by; empty where it has only one.
    pub model: String,
    pub key: Option<Key>,
    pub http: HttpOptions,
    pub cancel: Cancel,
}

/// A reranker behind an endpoint.
pub struct EndpointReranker {
    http: Http,
    model: String,
    leave: Leave,
    /// It takes `texts`, as was found out.
    takes_texts: AtomicBool,
}

impl EndpointReranker {
    /// Sends nothing. Errors: [`Error::Options`] for an address or a key that cannot be used.
    pub fn new(options: EndpointOptions) -> Result<Self> {
        let http = Http::new(&options.base_url, options.key.as_ref(), &[], options.http)?;
        let leave = Leave { cancel: options.cancel, finish_first: false };
        Ok(Self { http, model: options.model, leave, takes_texts: AtomicBool::new(false) })
    }

    fn body(&self, query: &str, passages: &[&str], texts: bool) -> Value {
        let cut = |text: &&str| text[..text.floor_char_boundary(MAX_PASSAGE_BYTES)].to_owned();
        let passages: Vec<String> = passages.iter().map(cut).collect();
        if texts {
            return json!({ "query": query, "texts": passages });
        }
        let mut body = json!({ "query": query, "documents": passages, "top_n": passages.len() });
        if !self.model.is_empty() {
            body["model"] = self.model.as_str().into();
        }
        body
    }

    /// One request; the inner error is one that another shape may not meet.
    fn send(&self, body: &Value, deadline: Instant) -> Result<Result<Vec<u8>, Failure>> {
        let judge = |failure: &Failure| {
            let problem = Problem::of(failure);
            if problem.is_loading() {
                Verdict::Loading
            } else if problem.is_quota() {
                Verdict::GiveUp
            } else {
                Verdict::TryAgain
            }
        };
        match self.http.post_by(PATH, body, &self.leave, &judge, deadline)? {
            Reply::Success(body) => body.rest().map(Ok),
            Reply::Failure(failure) => Ok(Err(failure)),
        }
    }

    fn ask(&self, query: &str, passages: &[&str], deadline: Instant) -> Result<Vec<f32>> {
        let texts = self.takes_texts.load(Ordering::Relaxed);
        let mut answer = self.send(&self.body(query, passages, texts), deadline)?;
        // A server that misses a field may miss the other shape's.
        if !texts && matches!(&answer, Err(failure) if matches!(failure.status, 400 | 422)) {
            let other = self.send(&self.body(query, passages, true), deadline)?;
            if other.is_ok() {
                self.takes_texts.store(true, Ordering::Relaxed);
                answer = other;
            }
        }
        let body = answer.map_err(|failure| Problem::of(&failure).into_error(&self.http, PATH, 0))?;
        read(&body, passages.len()).map_err(|found| Error::BadAnswer {
            url: self.http.shown(PATH),
            expected: "one score for each passage",
            found: self.http.clean(&found),
        })
    }
}

impl Reranker for EndpointReranker {
    fn rerank(&self, query: &str, passages: &[&str], budget: Duration) -> Result<Option<Vec<f32>>> {
        let deadline = Instant::now() + budget;
        match self.ask(query, passages, deadline) {
            Ok(scores) => Ok(Some(scores)),
            Err(Error::TimedOut { .. }) => Ok(None),
            // A server that fails until the time is up is late too.
            Err(Error::Refused { status, .. }) if Instant::now() >= deadline && status >= 429 => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn name(&self) -> String {
        match self.model.as_str() {
            "" => self.http.shown(PATH),
            model => format!("{model} at {}", self.http.shown(PATH)),
        }
    }
}

/// Scores in the order of the passages. The error says what was found instead.
fn read(body: &[u8], count: usize) -> Result<Vec<f32>, String> {
    let text = || describe(&String::from_utf8_lossy(body));
    let value: Value = serde_json::from_slice(body).map_err(|_| text())?;
    if is_error(&value) {
        return Err(text());
    }
    let list = value.as_array().or_else(|| LISTS.iter().find_map(|name| value.get(name)?.as_array()));
    let list = list.ok_or_else(text)?;
    if list.len() != count {
        return Err(format!("{} scores for {count} passages", list.len()));
    }
    let mut scores: Vec<Option<f32>> = vec![None; count];
    for (place, item) in list.iter().enumerate() {
        let index = match item.get("index") {
            Some(index) => index.as_u64().and_then(|index| usize::try_from(index).ok()),
            None => Some(place),
        };
        let score = ["relevance_score", "score"].iter().find_map(|name| item.get(name)).unwrap_or(item).as_f64();
        let score = score.map(|score| score as f32).filter(|score| score.is_finite());
        match index.and_then(|index| scores.get_mut(index)) {
            Some(slot) if slot.is_none() && score.is_some() => *slot = score,
            Some(_) | None => return Err(describe(&item.to_string())),
        }
    }
    Ok(scores.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_all_shapes_are_read() {
        let cohere = r#"{"id":"x","results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.2}]}"#;
        let jina = r#"{"model":"m","results":[{"index":0,"document":{"text":"a"},"relevance_score":-1.5},{"index":1,"relevance_score":2}]}"#;
        let voyage =
            r#"{"object":"list","data":[{"relevance_score":0.3,"index":0},{"relevance_score":0.1,"index":1}]}"#;
        let tei = r#"[{"index":1,"score":0.7},{"index":0,"score":0.1}]"#;
        for (body, want) in [
            (cohere, vec![0.2, 0.9]),
            (jina, vec![-1.5, 2.0]),
            (voyage, vec![0.3, 0.1]),
            (tei, vec![0.1, 0.7]),
            (r#"{"scores":[0.5,0.25]}"#, vec![0.5, 0.25]),
        ] {
            assert_eq!(read(body.as_bytes(), 2), Ok(want), "{body}");
        }
        for body in [
            "",
            "<html>",
            "{}",
            "[]",
            r#"{"error":{"message":"no"}}"#,
            r#"[{"index":0,"score":1},{"index":0,"score":1}]"#,
            r#"[{"index":0,"score":1},{"index":2,"score":1}]"#,
            r#"[{"index":0,"score":1},{"index":1,"score":null}]"#,
            r#"[{"index":0,"score":1}]"#,
        ] {
            assert!(read(body.as_bytes(), 2).is_err(), "{body}");
        }
    }
}
