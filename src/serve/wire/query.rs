//! What `rag query --json` prints.

use serde::{Deserialize, Serialize};

use super::{Hit, NearMiss, Word, fusion_word, milliseconds, mode_word, rounded, strength_word};
use crate::retrieve;

/// `rag query --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct QueryResult {
    pub schema: Word,
    pub query: String,
    /// `found`, `weak` or `nothing`.
    pub strength: Word,
    /// Calibrated, 0..1, of the query as a whole.
    pub relevance: f64,
    pub mode: Word,
    pub fusion: Word,
    pub generation: u64,
    pub results: Vec<Hit>,
    /// The best that a condition of the query left out, where there are no results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_miss: Option<NearMiss>,
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<QueryExplain>,
    pub timing_ms: QueryTiming,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct QueryExplain {
    /// Weight of the dense leg after the gates.
    pub weight: f64,
    pub fertility: f64,
    pub code: f64,
    /// How far the encoder is trusted with the language: the gate on `weight`.
    pub trust: f64,
    pub candidates: usize,
    /// Absent where the dense leg did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense: Option<DenseExplain>,
}

/// How the dense leg was searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct QueryTiming {
    pub encode: f64,
    pub search: f64,
    pub fuse: f64,
    pub load: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank: Option<f64>,
}

impl QueryResult {
    pub fn new(query: &retrieve::Query, hits: &retrieve::Hits) -> Self {
        Self {
            schema: "rag.query/1".into(),
            query: query.text.clone(),
            strength: strength_word(hits.strength).into(),
            relevance: rounded(hits.relevance),
            mode: mode_word(hits.mode).into(),
            fusion: fusion_word(hits.fusion).into(),
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
