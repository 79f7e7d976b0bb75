//! A question and its answer, each sentence with its citations, each citation with what it is worth.

use std::ops::Range;

use super::{Hits, Query, Turn};
use crate::{
    model::Usage,
    types::{ChunkId, Freshness, Lines, Pages, SourceId, Span},
};

/// What becomes of a sentence that no passage supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsupported {
    /// It stays and is marked.
    #[default]
    Mark,
    /// It is taken out of the answer.
    Drop,
}

#[derive(Debug, Clone)]
pub struct Ask {
    /// The question and how to search for it; `k` is how many chunks are considered.
    pub query: Query,
    pub max_tokens: u32,
    /// Tokens of prompt and answer together; the model's own limit if it is known and smaller.
    pub context_tokens: usize,
    /// Ask the model even if nothing relevant was found.
    pub no_gate: bool,
    pub unsupported: Unsupported,
    pub stream: bool,
    /// What was said before, oldest first. As much of its end as fits is used.
    pub history: Vec<Turn>,
    /// A system prompt of the user's own; `{rules}` in it stands for ours.
    pub system: Option<String>,
    /// Put marks between the words of passages, so that a model can tell data from what is said to it. Costs tokens, and
    /// small models are confused by it.
    pub datamark: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerStatus {
    /// A model answered and at least one sentence is supported.
    Answered,
    /// The documents do not answer.
    NoAnswer,
    /// The model refused.
    Refused,
    /// A model answered and no sentence is supported.
    Unsupported,
    /// No model: sentences of the documents, quoted.
    Extractive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Support {
    Unsupported,
    Weak,
    Supported,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Citation {
    /// Number of the passage, from 1.
    pub n: u32,
    pub support: Support,
    /// Share of the sentence's content words that the passage holds, 0..1.
    pub score: f32,
    /// The words of the passage that support the sentence, verbatim, and where they stand in the document's text.
    pub quote: String,
    pub quote_span: Span,
    /// Found by us, not named by the model.
    pub attached: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    pub text: String,
    /// Bytes of `Answer::text`.
    pub range: Range<usize>,
    pub citations: Vec<Citation>,
    pub state: Support,
    /// Why it is not supported, for people: "`1987` is not in the passage".
    pub reason: Option<String>,
}

/// A passage that was offered, and whether the answer cites it.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub n: u32,
    /// The first chunk of the passage; a merged passage names all.
    pub chunks: Vec<ChunkId>,
    pub source: SourceId,
    pub path: String,
    pub title: Option<String>,
    pub heading: Vec<String>,
    pub lines: Option<Lines>,
    pub pages: Option<Pages>,
    pub span: Span,
    pub text: String,
    /// blake3 of the source's bytes, in hex.
    pub hash: String,
    pub score: f32,
    pub relevance: f32,
    pub cited: bool,
    /// Of its file; for the door to fill in.
    pub freshness: Freshness,
    /// Chunks of other documents that hold the same text, or text that says nothing more.
    pub copies: Vec<Copied>,
}

/// A chunk that another one stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub id: ChunkId,
    pub path: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AskTimings {
    pub retrieve_ms: f64,
    pub first_token_ms: Option<f64>,
    pub model_ms: f64,
    pub verify_ms: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: AnswerStatus,
    pub question: String,
    /// What was searched for instead: a follow-up question in words that stand alone.
    pub searched: Option<String>,
    /// The answer with its markers `[n]`; unsupported sentences marked or dropped.
    pub text: String,
    pub sentences: Vec<Sentence>,
    /// In order of first use, then the ones not cited.
    pub sources: Vec<Source>,
    /// Markers that pointed nowhere, in the order they came.
    pub invalid_citations: Vec<u32>,
    pub truncated: bool,
    pub strength: super::Strength,
    pub relevance: f32,
    pub model_requested: Option<String>,
    pub model_returned: Option<String>,
    pub usage: Option<Usage>,
    pub generation: u64,
    pub notes: Vec<String>,
    pub timings: AskTimings,
}

/// What happens while an answer is made.
#[derive(Debug, Clone, PartialEq)]
pub enum AskEvent<'a> {
    /// Retrieval is done.
    Retrieved(&'a Hits),
    /// Text of the answer as it comes, with markers that point nowhere already taken out; not yet checked.
    Text(&'a str),
}
