//! The one public schema: every JSON object that leaves the program is defined here, and `docs/json.md` describes it.
//!
//! Each object carries `schema: "rag.NAME/VERSION"`. Fields are added, never renamed, removed or given another type.
//! Useful for: turning results of the halls into JSON. Not for: deciding anything.

mod answers;
mod eval;
mod maintenance;
mod portable;
mod why;

pub use answers::{AnsweredQuestion, AnswersBy, AnswersKind, AnswersResult, ByMeasure};
pub use eval::{
    EvalBar, EvalComparison, EvalConfiguration, EvalDifference, EvalDifferences, EvalInterval, EvalMade, EvalMeasured,
    EvalMetrics, EvalQuery, EvalResult, EvalSeconds, EvalValues, TuneResult, TuneSetting, TuneTrial,
};
pub use maintenance::*;
pub use portable::*;

use std::collections::BTreeMap;

use serde::Serialize;
pub use why::{Place, Rule, WhyNotResult, WhyResult, Words};

use crate::{
    index::{ChunkRecord, Facets, Problem, SourceRecord, Stats, Status},
    ingest, retrieve,
    types::{ChunkId, EmbeddingSpace, Freshness, Kind, Lines, Pages, Pooling, SourceId, Span},
};

/// `[first, last]`.
pub type Pair = [u32; 2];

fn lines(lines: Option<Lines>) -> Option<Pair> {
    lines.map(|lines| [lines.first, lines.last])
}

/// A page alone is a number's pair too: `[7, 7]`; `page` holds the first for those who want one number.
fn pages(pages: Option<Pages>) -> Option<Pair> {
    pages.map(|pages| [pages.first, pages.last])
}

fn byte_range(span: Span) -> [usize; 2] {
    [span.start, span.end]
}

/// Rounds a score for print: six digits tell any two apart that matter, and the last bits of a float do not.
pub fn rounded(value: f32) -> f64 {
    rounded64(f64::from(value))
}

/// As [`rounded`], of a value that was computed in double precision.
pub fn rounded64(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn milliseconds(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// A chunk and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chunk {
    pub chunk_id: ChunkId,
    pub source_id: SourceId,
    pub collection: String,
    pub path: String,
    pub title: Option<String>,
    pub heading: Vec<String>,
    pub lines: Option<Pair>,
    pub page: Option<u32>,
    pub pages: Option<Pair>,
    /// Of the document's extracted text.
    pub byte_range: [usize; 2],
    pub ordinal: u32,
    pub lang: Option<String>,
    pub tokens: u32,
    /// Repeated from elsewhere in the source to make the chunk readable (a table's header); not part of `text`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context: String,
    pub text: String,
}

impl From<&ChunkRecord> for Chunk {
    fn from(chunk: &ChunkRecord) -> Self {
        Self {
            chunk_id: chunk.id,
            source_id: chunk.source,
            collection: chunk.collection.clone(),
            path: chunk.path.clone(),
            title: chunk.title.clone(),
            heading: chunk.heading.clone(),
            lines: lines(chunk.lines),
            page: chunk.pages.map(|pages| pages.first),
            pages: pages(chunk.pages),
            byte_range: byte_range(chunk.span),
            ordinal: chunk.ordinal,
            lang: chunk.lang.clone(),
            tokens: chunk.tokens,
            context: chunk.context.clone(),
            text: chunk.text.clone(),
        }
    }
}

/// `rag query --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryResult {
    pub schema: &'static str,
    pub query: String,
    /// `found`, `weak` or `nothing`.
    pub strength: &'static str,
    /// Calibrated, 0..1, of the query as a whole.
    pub relevance: f64,
    pub mode: &'static str,
    pub fusion: &'static str,
    pub generation: u64,
    pub results: Vec<Hit>,
    /// The best that a condition of the query left out, where there are no results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_miss: Option<NearMiss>,
    pub notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<QueryExplain>,
    pub timing_ms: QueryTiming,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryExplain {
    /// Weight of the dense leg after the gates.
    pub weight: f64,
    pub fertility: f64,
    pub code: f64,
    /// How far the encoder is trusted with the language: the gate on `weight`.
    pub trust: f64,
    pub candidates: usize,
    /// Absent where the dense leg did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense: Option<DenseExplain>,
}

/// How the dense leg was searched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DenseExplain {
    /// `exact`, `flat`, `graph`, or several of them joined by `+`.
    pub plan: String,
    /// What was allowed to be missed: `exact`, `recall 0.99`, `ef 100`.
    pub effort: String,
    /// Bits a value of the codes that were summed; 0 where none were.
    pub code_bits: usize,
    pub segments: usize,
    pub evaluated: usize,
    pub hops: usize,
    pub rescored: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryTiming {
    pub encode: f64,
    pub search: f64,
    pub fuse: f64,
    pub load: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank: Option<f64>,
}

/// One result of a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    pub rank: usize,
    pub score: f64,
    pub relevance: f64,
    #[serde(flatten)]
    pub chunk: Chunk,
    /// `stale`: its file has changed since it was ingested; `missing`: it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    pub snippet: Snippet,
    /// Where the same text stands at the same place of other sources: copies, as far as can be seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Duplicate>,
    /// Chunks that say nothing this one does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<Duplicate>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Chunk>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Chunk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<HitExplain>,
}

/// A chunk that would have been a result, and what left it out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearMiss {
    pub chunk_id: ChunkId,
    pub path: String,
    pub lines: Option<Pair>,
    pub pages: Option<Pair>,
    pub relevance: f64,
    /// `min_score`, `filter`, `collection` or `mode`.
    pub left_out_by: &'static str,
    /// The flag that would let it in, or that would have to go.
    pub remedy: String,
}

impl From<&retrieve::NearMiss> for NearMiss {
    fn from(miss: &retrieve::NearMiss) -> Self {
        let (left_out_by, remedy) = match miss.left_out_by {
            retrieve::LeftOutBy::MinScore(least) => ("min_score", format!("--min-score {least:.2}")),
            retrieve::LeftOutBy::Filter => ("filter", "leave out --filter".to_owned()),
            retrieve::LeftOutBy::Collection => ("collection", format!("--collection {}", miss.chunk.collection)),
            retrieve::LeftOutBy::Mode => ("mode", "--mode hybrid".to_owned()),
        };
        Self {
            chunk_id: miss.chunk.id,
            path: miss.chunk.path.clone(),
            lines: lines(miss.chunk.lines),
            pages: pages(miss.chunk.pages),
            relevance: rounded(miss.relevance),
            left_out_by,
            remedy,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Duplicate {
    pub id: String,
    pub path: String,
}

impl From<&ChunkRecord> for Duplicate {
    fn from(chunk: &ChunkRecord) -> Self {
        Self { id: chunk.id.to_string(), path: chunk.path.clone() }
    }
}

impl From<&retrieve::Copied> for Duplicate {
    fn from(copy: &retrieve::Copied) -> Self {
        Self { id: copy.id.to_string(), path: copy.path.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snippet {
    pub text: String,
    /// Byte ranges of `text` that match the query.
    pub highlights: Vec<[usize; 2]>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HitExplain {
    pub lexical: Leg,
    pub dense: Leg,
    /// The sum of both contributions: the score, unless a reranker gave another.
    pub fused: f64,
    /// The reranker's own score, where it judged the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank: Option<f64>,
    pub coverage: f64,
}

impl From<&retrieve::Explain> for HitExplain {
    fn from(explain: &retrieve::Explain) -> Self {
        Self {
            lexical: Leg {
                rank: explain.lexical_rank,
                score: Some(rounded(explain.lexical_score)),
                normalised: rounded(explain.lexical_normalised),
                contribution: rounded(explain.lexical_contribution),
            },
            dense: Leg {
                rank: explain.dense_rank,
                score: explain.dense_score.map(rounded),
                normalised: rounded(explain.dense_normalised),
                contribution: rounded(explain.dense_contribution),
            },
            fused: rounded(explain.fused),
            rerank: explain.rerank.map(rounded),
            coverage: rounded(explain.coverage),
        }
    }
}

/// What one leg made of a result. `rank` is null where the leg's own list did not reach it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leg {
    pub rank: Option<usize>,
    pub score: Option<f64>,
    pub normalised: f64,
    /// Weight × normalised score: the leg's part of the score.
    pub contribution: f64,
}

impl From<&retrieve::Hit> for Hit {
    fn from(hit: &retrieve::Hit) -> Self {
        let (start, end) = (hit.snippet.start, hit.snippet.end);
        let highlights = hit
            .highlights
            .iter()
            .filter(|range| range.start >= start && range.end <= end)
            .map(|range| [range.start - start, range.end - start])
            .collect();
        Self {
            rank: hit.rank,
            score: rounded(hit.score),
            relevance: rounded(hit.relevance),
            chunk: Chunk::from(&hit.chunk),
            state: freshness_word(hit.freshness),
            snippet: Snippet { text: hit.chunk.text[hit.snippet.clone()].to_string(), highlights },
            copies: hit.copies.iter().map(Duplicate::from).collect(),
            duplicates: hit.duplicates.iter().map(Duplicate::from).collect(),
            before: hit.before.iter().map(Chunk::from).collect(),
            after: hit.after.iter().map(Chunk::from).collect(),
            explain: hit.explain.as_ref().map(HitExplain::from),
        }
    }
}

/// `None` where the file is as it was ingested, or nobody can tell.
pub fn freshness_word(freshness: Freshness) -> Option<&'static str> {
    match freshness {
        Freshness::Fresh => None,
        Freshness::Stale => Some("stale"),
        Freshness::Missing => Some("missing"),
    }
}

pub fn strength_word(strength: retrieve::Strength) -> &'static str {
    match strength {
        retrieve::Strength::Found => "found",
        retrieve::Strength::Weak => "weak",
        retrieve::Strength::Nothing => "nothing",
    }
}

pub fn mode_word(mode: retrieve::Mode) -> &'static str {
    match mode {
        retrieve::Mode::Hybrid => "hybrid",
        retrieve::Mode::Lexical => "lexical",
        retrieve::Mode::Dense => "dense",
    }
}

pub fn fusion_word(fusion: retrieve::Fusion) -> &'static str {
    match fusion {
        retrieve::Fusion::Blend => "blend",
        retrieve::Fusion::Rrf => "rrf",
        retrieve::Fusion::Weighted => "weighted",
        retrieve::Fusion::Dbsf => "dbsf",
    }
}

impl QueryResult {
    pub fn new(query: &retrieve::Query, hits: &retrieve::Hits) -> Self {
        Self {
            schema: "rag.query/1",
            query: query.text.clone(),
            strength: strength_word(hits.strength),
            relevance: rounded(hits.relevance),
            mode: mode_word(hits.mode),
            fusion: fusion_word(hits.fusion),
            generation: hits.generation,
            results: hits.hits.iter().map(Hit::from).collect(),
            near_miss: hits.near_miss.as_ref().map(NearMiss::from),
            notes: hits.notes.clone(),
            explain: query.explain.then(|| QueryExplain {
                weight: rounded(hits.weight),
                fertility: rounded(hits.fertility),
                code: rounded(hits.code),
                trust: rounded(hits.trust),
                candidates: hits.candidates,
                dense: DenseExplain::of(hits),
            }),
            timing_ms: QueryTiming {
                encode: milliseconds(hits.timings.encode_ms),
                search: milliseconds(hits.timings.search_ms),
                fuse: milliseconds(hits.timings.fuse_ms),
                load: milliseconds(hits.timings.load_ms),
                rerank: hits.timings.rerank_ms.map(milliseconds),
            },
        }
    }
}

impl DenseExplain {
    /// `None` where the dense leg did not run.
    pub fn of(hits: &retrieve::Hits) -> Option<Self> {
        let work = hits.work;
        let tiers = [("exact", work.exact), ("flat", work.flat), ("graph", work.graph)];
        let used: Vec<&str> = tiers.iter().filter(|(_, segments)| *segments > 0).map(|(name, _)| *name).collect();
        (!used.is_empty()).then(|| Self {
            plan: used.join("+"),
            effort: hits.effort.to_string(),
            code_bits: work.code_bits,
            segments: tiers.iter().map(|(_, segments)| segments).sum(),
            evaluated: work.evaluated,
            hops: work.hops,
            rescored: work.rescored,
        })
    }
}

/// `rag ask --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerResult {
    pub schema: &'static str,
    /// `answered`, `no_answer`, `refused`, `unsupported` or `extractive`.
    pub status: &'static str,
    pub question: String,
    /// What was searched for instead: a follow-up question in words that stand alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched: Option<String>,
    pub answer: String,
    pub sentences: Vec<Sentence>,
    pub sources: Vec<AnswerSource>,
    pub invalid_citations: Vec<u32>,
    pub truncated: bool,
    pub strength: &'static str,
    pub relevance: f64,
    pub model: Option<ModelNames>,
    pub usage: Option<Usage>,
    /// What the tokens cost by the prices that are set; absent without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    pub notes: Vec<String>,
    pub timing_ms: AnswerTiming,
    pub index: Generation,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Generation {
    pub generation: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelNames {
    pub requested: Option<String>,
    pub returned: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub estimated: bool,
}

/// In the unit of the prices that are set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerTiming {
    pub retrieve: f64,
    pub first_token: Option<f64>,
    pub model: f64,
    pub verify: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sentence {
    pub text: String,
    /// Bytes of `answer`.
    pub start: usize,
    pub end: usize,
    pub citations: Vec<Citation>,
    /// `supported`, `weak` or `unsupported`.
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Citation {
    pub n: u32,
    pub support: &'static str,
    pub score: f64,
    pub quote: String,
    /// Bytes of the document's extracted text.
    pub quote_start: usize,
    pub quote_end: usize,
    pub attached: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Where the same text stands too, or text that says nothing more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Duplicate>,
    pub text: String,
}

pub fn support_word(support: retrieve::Support) -> &'static str {
    match support {
        retrieve::Support::Supported => "supported",
        retrieve::Support::Weak => "weak",
        retrieve::Support::Unsupported => "unsupported",
    }
}

pub fn answer_word(status: retrieve::AnswerStatus) -> &'static str {
    match status {
        retrieve::AnswerStatus::Answered => "answered",
        retrieve::AnswerStatus::NoAnswer => "no_answer",
        retrieve::AnswerStatus::Refused => "refused",
        retrieve::AnswerStatus::Unsupported => "unsupported",
        retrieve::AnswerStatus::Extractive => "extractive",
    }
}

impl From<&retrieve::Answer> for AnswerResult {
    fn from(answer: &retrieve::Answer) -> Self {
        Self {
            schema: "rag.answer/1",
            status: answer_word(answer.status),
            question: answer.question.clone(),
            searched: answer.searched.clone(),
            answer: answer.text.clone(),
            sentences: answer.sentences.iter().map(Sentence::from).collect(),
            sources: answer.sources.iter().map(AnswerSource::from).collect(),
            invalid_citations: answer.invalid_citations.clone(),
            truncated: answer.truncated,
            strength: strength_word(answer.strength),
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnResult {
    pub schema: &'static str,
    pub question: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched: Option<String>,
    pub answer: String,
    pub status: &'static str,
    /// The places the answer cites, in order of first use.
    pub sources: Vec<String>,
}

impl From<&retrieve::Answer> for TurnResult {
    fn from(answer: &retrieve::Answer) -> Self {
        let cited = answer.sources.iter().filter(|source| source.cited);
        Self {
            schema: "rag.turn/1",
            question: answer.question.clone(),
            searched: answer.searched.clone(),
            answer: answer.text.clone(),
            status: answer_word(answer.status),
            sources: cited.map(|source| source.path.clone()).collect(),
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
            state: support_word(sentence.state),
            reason: sentence.reason.clone(),
        }
    }
}

impl From<&retrieve::Citation> for Citation {
    fn from(citation: &retrieve::Citation) -> Self {
        Self {
            n: citation.n,
            support: support_word(citation.support),
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
            state: freshness_word(source.freshness),
            copies: source.copies.iter().map(Duplicate::from).collect(),
            text: source.text.clone(),
        }
    }
}

/// `rag check --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckResult {
    pub schema: &'static str,
    /// Every sentence is supported as it was.
    pub holds: bool,
    pub question: String,
    pub supported: usize,
    pub weak: usize,
    pub unsupported: usize,
    pub lost: usize,
    pub sentences: Vec<CheckedSentence>,
    pub sources: Vec<CheckedSource>,
    pub index: CheckedGeneration,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedGeneration {
    pub generation: u64,
    /// The one the answer was made from; null where the file does not tell.
    pub answered: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedSentence {
    pub text: String,
    pub citations: Vec<u32>,
    /// `supported`, `weak` or `unsupported` when it was saved; null where the file does not tell.
    pub was: Option<&'static str>,
    pub state: &'static str,
    pub score: f64,
    pub lost: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedSource {
    pub n: u32,
    pub source: String,
    /// `unchanged`, `moved`, `changed`, `gone` or `unlisted`.
    pub standing: &'static str,
    /// `unchanged`, `changed`, `missing` or `unknown`.
    pub file: &'static str,
    pub chunk_ids: Vec<ChunkId>,
    /// Whether each quotation of it is still there word by word; null where the answer quotes nothing.
    pub quotes_found: Option<bool>,
}

impl From<&retrieve::Checked> for CheckResult {
    fn from(checked: &retrieve::Checked) -> Self {
        let of = |state| checked.sentences.iter().filter(|sentence| sentence.state == state).count();
        Self {
            schema: "rag.check/1",
            holds: checked.holds(),
            question: checked.question.clone(),
            supported: of(retrieve::Support::Supported),
            weak: of(retrieve::Support::Weak),
            unsupported: of(retrieve::Support::Unsupported),
            lost: checked.sentences.iter().filter(|sentence| sentence.lost).count(),
            sentences: checked.sentences.iter().map(CheckedSentence::from).collect(),
            sources: checked.sources.iter().map(CheckedSource::from).collect(),
            index: CheckedGeneration { generation: checked.generation, answered: checked.was_generation },
        }
    }
}

impl From<&retrieve::CheckedSentence> for CheckedSentence {
    fn from(sentence: &retrieve::CheckedSentence) -> Self {
        Self {
            text: sentence.text.clone(),
            citations: sentence.cited.clone(),
            was: sentence.was.map(support_word),
            state: support_word(sentence.state),
            score: rounded(sentence.score),
            lost: sentence.lost,
            reason: sentence.reason.clone(),
        }
    }
}

impl From<&retrieve::CheckedSource> for CheckedSource {
    fn from(source: &retrieve::CheckedSource) -> Self {
        Self {
            n: source.n,
            source: source.path.clone(),
            standing: match source.standing {
                retrieve::Standing::Unchanged => "unchanged",
                retrieve::Standing::Moved => "moved",
                retrieve::Standing::Changed => "changed",
                retrieve::Standing::Gone => "gone",
                retrieve::Standing::Unlisted => "unlisted",
            },
            file: match source.file {
                retrieve::File::Unchanged => "unchanged",
                retrieve::File::Changed => "changed",
                retrieve::File::Missing => "missing",
                retrieve::File::Unknown => "unknown",
            },
            chunk_ids: source.chunks.clone(),
            quotes_found: source.quotes_found,
        }
    }
}

/// `rag ingest --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IngestReport {
    pub schema: &'static str,
    pub added: Vec<Outcome>,
    pub updated: Vec<Outcome>,
    /// A number: naming every unchanged source of a large tree helps nobody.
    pub unchanged: usize,
    pub moved: Vec<Outcome>,
    pub removed: Vec<Outcome>,
    pub skipped: Vec<Outcome>,
    pub failed: Vec<Outcome>,
    pub warnings: Vec<Outcome>,
    pub ignored: u64,
    pub chunks: IngestChunks,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub generation: u64,
    pub interrupted: bool,
    pub dry_run: bool,
    /// Of a dry run: how long the real one would take, judged by a sample; else null.
    pub estimated_seconds: Option<f64>,
    /// Which embedder ran; null without vectors.
    pub embedder: Option<String>,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IngestChunks {
    pub written: u64,
    pub embedded: u64,
    pub reused: u64,
}

/// What became of one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    pub path: String,
    pub chunks: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl From<&ingest::Outcome> for Outcome {
    fn from(outcome: &ingest::Outcome) -> Self {
        Self {
            path: outcome.path.clone(),
            chunks: outcome.chunks,
            from: outcome.from.clone(),
            problems: outcome.problems.clone(),
        }
    }
}

impl IngestReport {
    pub fn new(report: &ingest::Report, embedder: Option<String>) -> Self {
        let list = |outcomes: &[ingest::Outcome]| outcomes.iter().map(Outcome::from).collect::<Vec<_>>();
        Self {
            schema: "rag.ingest/1",
            added: list(&report.added),
            updated: list(&report.updated),
            unchanged: report.unchanged.len(),
            moved: list(&report.moved),
            removed: list(&report.removed),
            skipped: list(&report.skipped),
            failed: list(&report.failed),
            warnings: list(&report.warnings),
            ignored: report.ignored,
            chunks: IngestChunks {
                written: report.chunks_written,
                embedded: report.chunks_embedded,
                reused: report.chunks_reused,
            },
            bytes_read: report.bytes_read,
            bytes_written: report.bytes_written,
            generation: report.generation,
            interrupted: report.interrupted,
            dry_run: report.dry_run,
            estimated_seconds: report.estimated_seconds,
            embedder,
            seconds: milliseconds(report.seconds),
        }
    }
}

/// `rag status --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusResult {
    pub schema: &'static str,
    pub index: String,
    pub generation: u64,
    pub sources: u64,
    pub chunks: u64,
    pub vectors: u64,
    pub collections: BTreeMap<String, crate::index::CollectionStats>,
    pub types: BTreeMap<String, u64>,
    pub languages: BTreeMap<String, u64>,
    pub roots: BTreeMap<String, String>,
    pub bytes: StatusBytes,
    pub segments: StatusSegments,
    /// Rows and documents that are deleted but still on disk.
    pub dead_rows: u64,
    /// Null: an index without vectors.
    pub embedding_space: Option<Space>,
    /// Who computes vectors for this index here; null without vectors or where nothing can.
    pub embedder: Option<String>,
    pub failed: Vec<SourceSummary>,
    pub warned: Vec<SourceSummary>,
    /// Documents by the facts that filters ask for, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facets: Option<Facets>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusBytes {
    pub text: u64,
    pub vectors: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusSegments {
    pub text: u64,
    pub vectors: u64,
}

/// The embedding space without its probe vector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Space {
    pub model: String,
    pub revision: String,
    pub sha256: String,
    pub dim: usize,
    pub pooling: Pooling,
    pub normalised: bool,
    pub query_prefix: String,
    pub passage_prefix: String,
    pub max_tokens: usize,
    pub tokenizer: String,
    pub multilingual: bool,
}

impl From<&EmbeddingSpace> for Space {
    fn from(space: &EmbeddingSpace) -> Self {
        Self {
            model: space.model.clone(),
            revision: space.revision.clone(),
            sha256: space.sha256.clone(),
            dim: space.dim,
            pooling: space.pooling,
            normalised: space.normalised,
            query_prefix: space.query_prefix.clone(),
            passage_prefix: space.passage_prefix.clone(),
            max_tokens: space.max_tokens,
            tokenizer: space.tokenizer.clone(),
            multilingual: space.multilingual,
        }
    }
}

/// A source in `status` and `list`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceSummary {
    pub source_id: SourceId,
    pub collection: String,
    pub path: String,
    pub status: Status,
    #[serde(rename = "type")]
    pub format: String,
    pub title: Option<String>,
    pub author: Option<String>,
    pub lang: Option<String>,
    pub pages: Option<u32>,
    pub chunks: u32,
    pub size: u64,
    /// RFC 3339, UTC.
    pub mtime: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    pub blake3: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl From<&SourceRecord> for SourceSummary {
    fn from(source: &SourceRecord) -> Self {
        Self {
            source_id: source.id,
            collection: source.collection.clone(),
            path: source.display_path(),
            status: source.status,
            format: source.format.clone(),
            title: source.title.clone(),
            author: source.author.clone(),
            lang: source.lang.clone(),
            pages: source.pages,
            chunks: source.chunks,
            size: source.size_bytes,
            mtime: rfc3339(source.mtime_ns),
            encoding: source.encoding.clone(),
            blake3: source.hash.clone(),
            tags: source.tags.clone(),
            metadata: source.metadata.clone(),
            problems: source.problems.clone(),
        }
    }
}

impl StatusResult {
    /// `sources`: all of the index.
    pub fn new(
        index: String,
        generation: u64,
        roots: BTreeMap<String, String>,
        stats: Stats,
        space: Option<&EmbeddingSpace>,
        embedder: Option<String>,
        sources: &[SourceRecord],
    ) -> Self {
        let with = |status| sources.iter().filter(|s| s.status == status).map(SourceSummary::from).collect();
        Self {
            schema: "rag.status/1",
            index,
            generation,
            sources: stats.sources,
            chunks: stats.chunks,
            vectors: stats.vectors,
            collections: stats.by_collection,
            types: stats.by_type,
            languages: stats.by_language,
            roots,
            bytes: StatusBytes { text: stats.text_bytes_on_disk, vectors: stats.vector_bytes_on_disk },
            segments: StatusSegments { text: stats.segments_text, vectors: stats.segments_vectors },
            dead_rows: stats.dead_rows,
            embedding_space: space.map(Space::from),
            embedder,
            failed: with(Status::Failed),
            warned: with(Status::Warned),
            facets: None,
        }
    }
}

/// `rag list --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListResult {
    pub schema: &'static str,
    pub generation: u64,
    pub documents: Vec<SourceSummary>,
}

impl ListResult {
    pub fn new(generation: u64, sources: &[SourceRecord]) -> Self {
        Self { schema: "rag.list/1", generation, documents: sources.iter().map(SourceSummary::from).collect() }
    }
}

/// `rag show --json`: a document with its chunks, or the one chunk asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShowResult {
    pub schema: &'static str,
    pub generation: u64,
    pub document: Option<SourceSummary>,
    pub chunks: Vec<Chunk>,
}

impl ShowResult {
    pub fn new(generation: u64, document: Option<&SourceRecord>, chunks: &[ChunkRecord]) -> Self {
        Self {
            schema: "rag.show/1",
            generation,
            document: document.map(SourceSummary::from),
            chunks: chunks.iter().map(Chunk::from).collect(),
        }
    }
}

/// `rag rm --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RemoveResult {
    pub schema: &'static str,
    pub removed: Vec<String>,
    /// Arguments that named nothing in the index.
    pub not_found: Vec<String>,
    pub dry_run: bool,
    /// The files were written again without any removed text.
    pub purged: bool,
    pub generation: u64,
}

/// `rag verify --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyResult {
    pub schema: &'static str,
    pub index: String,
    pub generation: Option<u64>,
    pub sound: bool,
    pub faults: Vec<String>,
    /// Files whose checksum was computed, and their bytes.
    pub files: u64,
    pub bytes: u64,
    /// What follows from something else was made anew, too.
    pub paranoid: bool,
    /// Files that no generation names: of a run that goes on now, or of one that was cut off; the next writer removes them.
    pub orphans: Vec<String>,
}

/// `rag config --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigResult {
    pub schema: &'static str,
    pub settings: Vec<Setting>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    pub key: String,
    pub value: Option<serde_json::Value>,
    /// `default`, `environment RAG_…`, a file's path, or `unset`.
    pub origin: String,
    pub help: String,
}

/// What stands on stderr when a command with `--json` fails.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorResult {
    pub schema: &'static str,
    pub error: ErrorDetail,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorDetail {
    pub kind: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    pub exit: u8,
}

impl ErrorResult {
    pub fn new(kind: Kind, message: String, hint: Option<String>, exit: u8) -> Self {
        Self { schema: "rag.error/1", error: ErrorDetail { kind: kind_word(kind), message, hint, exit } }
    }
}

pub fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Usage => "usage",
        Kind::NotFound => "not_found",
        Kind::Locked => "locked",
        Kind::Incompatible => "incompatible",
        Kind::Corrupt => "corrupt",
        Kind::Io => "io",
        Kind::Model => "model",
        Kind::Cancelled => "cancelled",
        Kind::Bug => "bug",
    }
}

/// Prints nanoseconds since 1970 as `2026-01-31T12:00:00Z`, UTC, seconds cut.
/// Days to civil date: Howard Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
pub fn rfc3339(nanoseconds: i64) -> String {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil_and_utc() {
        for (seconds, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000_000), want);
        }
    }

    #[test]
    fn an_error_says_kind_message_and_exit() {
        let error = ErrorResult::new(Kind::NotFound, "no index at `.rag`".into(), None, 2);
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"schema":"rag.error/1","error":{"kind":"not_found","message":"no index at `.rag`","exit":2}}"#
        );
    }
}
