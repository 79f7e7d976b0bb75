//! One result of a query: where it stands, what it says, what each leg made of it.

use serde::{Deserialize, Serialize};

use super::{Chunk, Pair, Word, freshness_word, lines, pages, rounded, suspicion_word};
use crate::{index::ChunkRecord, retrieve, types::ChunkId};

/// One result of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Hit {
    pub rank: usize,
    pub score: f64,
    pub relevance: f64,
    #[serde(flatten)]
    pub chunk: Chunk,
    /// `stale`: its file has changed since it was ingested; `missing`: it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Word>,
    /// With `--show-flags`, signs that it talks to a model: `order`, `role`, `secret`, `exfiltration`, `hidden`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Word>,
    pub snippet: Snippet,
    /// Where the same text stands at the same place of other sources: copies, as far as can be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Duplicate>,
    /// Chunks that say nothing this one does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<Duplicate>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Chunk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Chunk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<HitExplain>,
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
            state: freshness_word(hit.freshness).map(Word::Borrowed),
            flags: hit.flags.iter().map(|flag| Word::Borrowed(suspicion_word(*flag))).collect(),
            snippet: Snippet { text: hit.chunk.text[hit.snippet.clone()].to_string(), start, highlights },
            copies: hit.copies.iter().map(Duplicate::from).collect(),
            duplicates: hit.duplicates.iter().map(Duplicate::from).collect(),
            before: hit.before.iter().map(Chunk::from).collect(),
            after: hit.after.iter().map(Chunk::from).collect(),
            explain: hit.explain.as_ref().map(HitExplain::from),
        }
    }
}

/// A chunk that would have been a result, and what left it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct NearMiss {
    pub chunk_id: ChunkId,
    pub path: String,
    pub lines: Option<Pair>,
    pub pages: Option<Pair>,
    pub relevance: f64,
    /// `min_score`, `filter`, `collection` or `mode`.
    pub left_out_by: Word,
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
            left_out_by: Word::Borrowed(left_out_by),
            remedy,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Snippet {
    pub text: String,
    /// The byte of the chunk's text at which it begins.
    #[serde(default)]
    pub start: usize,
    /// Byte ranges of `text` that match the query.
    pub highlights: Vec<[usize; 2]>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct HitExplain {
    pub lexical: Leg,
    pub dense: Leg,
    /// The sum of both contributions: the score, unless a reranker gave another.
    pub fused: f64,
    /// The reranker's own score, where it judged the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Leg {
    pub rank: Option<usize>,
    pub score: Option<f64>,
    pub normalised: f64,
    /// Weight × normalised score: the leg's part of the score.
    pub contribution: f64,
}
