//! What `rag ask --json` prints, and a line of its history.

use serde::{Deserialize, Serialize};

use super::{
    Duplicate, Pair, Word, answer_word, byte_range, freshness_word, lines, milliseconds, pages, rounded, strength_word,
    support_word,
};
use crate::{
    retrieve,
    types::{ChunkId, SourceId},
};

/// `rag ask --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct AnswerResult {
    pub schema: Word,
    /// `answered`, `no_answer`, `refused`, `unsupported` or `extractive`.
    pub status: Word,
    pub question: String,
    /// What was searched for instead: a follow-up question in words that stand alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<String>,
    pub answer: String,
    pub sentences: Vec<Sentence>,
    pub sources: Vec<AnswerSource>,
    pub invalid_citations: Vec<u32>,
    pub truncated: bool,
    pub strength: Word,
    pub relevance: f64,
    pub model: Option<ModelNames>,
    pub usage: Option<Usage>,
    /// What the tokens cost by the prices that are set; absent without prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    pub notes: Vec<String>,
    pub timing_ms: AnswerTiming,
    pub index: Generation,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Generation {
    pub generation: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct ModelNames {
    pub requested: Option<String>,
    pub returned: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Usage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub estimated: bool,
}

/// In the unit of the prices that are set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub total: f64,
}

impl Cost {
    /// Prices are per million tokens; one that is not known counts as nothing.
    pub fn of(usage: crate::model::Usage, input_price: Option<f64>, output_price: Option<f64>) -> Option<Self> {
        if input_price.is_none() && output_price.is_none() {
            return None;
        }
        // To a billionth: what is beyond is noise of the multiplication.
        let cost = |tokens: u64, price: Option<f64>| (tokens as f64 * price.unwrap_or(0.0) * 1e3).round() / 1e9;
        let (input, output) = (cost(usage.prompt_tokens, input_price), cost(usage.completion_tokens, output_price));
        Some(Self { input, output, total: ((input + output) * 1e9).round() / 1e9 })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct AnswerTiming {
    pub retrieve: f64,
    pub first_token: Option<f64>,
    pub model: f64,
    pub verify: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Sentence {
    pub text: String,
    /// Bytes of `answer`.
    pub start: usize,
    pub end: usize,
    pub citations: Vec<Citation>,
    /// `supported`, `weak` or `unsupported`.
    pub state: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Citation {
    pub n: u32,
    pub support: Word,
    pub score: f64,
    pub quote: String,
    /// Bytes of the document's extracted text.
    pub quote_start: usize,
    pub quote_end: usize,
    pub attached: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct AnswerSource {
    pub n: u32,
    pub chunk_id: Option<ChunkId>,
    pub chunk_ids: Vec<ChunkId>,
    pub source_id: SourceId,
    /// The path, as everywhere.
    pub source: String,
    pub title: Option<String>,
    pub heading: Vec<String>,
    pub page: Option<u32>,
    pub pages: Option<Pair>,
    pub lines: Option<Pair>,
    pub byte_range: [usize; 2],
    /// blake3 of the source's bytes when it was read.
    pub blake3: String,
    pub score: f64,
    pub relevance: f64,
    pub cited: bool,
    /// `stale`: its file has changed since it was ingested; `missing`: it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Word>,
    /// Where the same text stands too, or text that says nothing more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Duplicate>,
    pub text: String,
}

impl From<&retrieve::Answer> for AnswerResult {
    fn from(answer: &retrieve::Answer) -> Self {
        Self {
            schema: "rag.answer/1".into(),
            status: answer_word(answer.status).into(),
            question: answer.question.clone(),
            searched: answer.searched.clone(),
            answer: answer.text.clone(),
            sentences: answer.sentences.iter().map(Sentence::from).collect(),
            sources: answer.sources.iter().map(AnswerSource::from).collect(),
            invalid_citations: answer.invalid_citations.clone(),
            truncated: answer.truncated,
            strength: strength_word(answer.strength).into(),
            relevance: rounded(answer.relevance),
            model: answer.model_requested.as_ref().map(|requested| ModelNames {
                requested: Some(requested.clone()),
                returned: answer.model_returned.clone(),
            }),
            usage: answer.usage.map(|usage| Usage {
                prompt_tokens: usage.prompt_tokens,
                completion_tokens: usage.completion_tokens,
                estimated: usage.estimated,
            }),
            cost: None,
            notes: answer.notes.clone(),
            timing_ms: AnswerTiming {
                retrieve: milliseconds(answer.timings.retrieve_ms),
                first_token: answer.timings.first_token_ms.map(milliseconds),
                model: milliseconds(answer.timings.model_ms),
                verify: milliseconds(answer.timings.verify_ms),
            },
            index: Generation { generation: answer.generation },
        }
    }
}

impl AnswerResult {
    /// The same with what it cost.
    pub fn with_cost(self, cost: Option<Cost>) -> Self {
        Self { cost, ..self }
    }
}

/// One line of `rag ask --history FILE`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct TurnResult {
    pub schema: Word,
    pub question: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<String>,
    pub answer: String,
    pub status: Word,
    /// The places the answer cites, in order of first use.
    pub sources: Vec<String>,
}

impl From<&AnswerResult> for TurnResult {
    fn from(answer: &AnswerResult) -> Self {
        let cited = answer.sources.iter().filter(|source| source.cited);
        Self {
            schema: "rag.turn/1".into(),
            question: answer.question.clone(),
            searched: answer.searched.clone(),
            answer: answer.answer.clone(),
            status: answer.status.clone(),
            sources: cited.map(|source| source.source.clone()).collect(),
        }
    }
}

impl From<&retrieve::Sentence> for Sentence {
    fn from(sentence: &retrieve::Sentence) -> Self {
        Self {
            text: sentence.text.clone(),
            start: sentence.range.start,
            end: sentence.range.end,
            citations: sentence.citations.iter().map(Citation::from).collect(),
            state: support_word(sentence.state).into(),
            reason: sentence.reason.clone(),
        }
    }
}

impl From<&retrieve::Citation> for Citation {
    fn from(citation: &retrieve::Citation) -> Self {
        Self {
            n: citation.n,
            support: support_word(citation.support).into(),
            score: rounded(citation.score),
            quote: citation.quote.clone(),
            quote_start: citation.quote_span.start,
            quote_end: citation.quote_span.end,
            attached: citation.attached,
        }
    }
}

impl From<&retrieve::Source> for AnswerSource {
    fn from(source: &retrieve::Source) -> Self {
        Self {
            n: source.n,
            chunk_id: source.chunks.first().copied(),
            chunk_ids: source.chunks.clone(),
            source_id: source.source,
            source: source.path.clone(),
            title: source.title.clone(),
            heading: source.heading.clone(),
            page: source.pages.map(|pages| pages.first),
            pages: pages(source.pages),
            lines: lines(source.lines),
            byte_range: byte_range(source.span),
            blake3: source.hash.clone(),
            score: rounded(source.score),
            relevance: rounded(source.relevance),
            cited: source.cited,
            state: freshness_word(source.freshness).map(Word::Borrowed),
            copies: source.copies.iter().map(Duplicate::from).collect(),
            text: source.text.clone(),
        }
    }
}
