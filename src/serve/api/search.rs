//! Requests that search: `query`, `ask`, `why-not`, `eval`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_false;
use crate::types::ChunkId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Hybrid,
    Lexical,
    Dense,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Fusion {
    Blend,
    Rrf,
    Weighted,
    Dbsf,
}

/// What of a result's surroundings is added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Expand {
    /// The chunks under the same headings.
    Section,
}

/// What becomes of a sentence that no source supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unsupported {
    Mark,
    Drop,
}

/// Makes a request of its own fields and of those that say how to search, which stand beside them in JSON.
macro_rules! searching {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
            /// Results wanted, 1 to 1000; of `ask`: chunks considered.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub k: Option<u16>,
            /// By words, by meaning, or both.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mode: Option<Mode>,
            /// How words and meaning become one list.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub fusion: Option<Fusion>,
            /// The weight of meaning, 0 to 1.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub alpha: Option<f32>,
            /// Only documents that this allows: `type:pdf path:guides/** tag.team=ops`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub filter: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub collection: Option<String>,
            /// Results that differ: 1 relevance alone, 0 diversity alone.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mmr: Option<f32>,
            /// Compare meanings with every chunk.
            #[serde(default, skip_serializing_if = "is_false")]
            pub exact: bool,
            /// Candidates of a walk through the graphs, 1 to 4096; not with `exact`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub ef: Option<u16>,
            /// Have the first results put in order by the server's reranker.
            #[serde(default, skip_serializing_if = "is_false")]
            pub rerank: bool,
            /// Wait so long for it, then keep the order of the search.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub rerank_budget_ms: Option<u64>,
            /// Copies and near-copies are results of their own.
            #[serde(default, skip_serializing_if = "is_false")]
            pub duplicates: bool,
            /// At most so many results of one document, 1 to 1000.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub per_source: Option<u16>,
            /// Least relevance, 0 to 1.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub min_score: Option<f32>,
            /// Read the text as a query language: "a phrase", title:word, +must, -not, word^2.
            #[serde(default, skip_serializing_if = "is_false")]
            pub syntax: bool,
        }

        impl $name {
            /// How it searches.
            pub fn search(&self) -> Search {
                Search {
                    k: self.k,
                    mode: self.mode,
                    fusion: self.fusion,
                    alpha: self.alpha,
                    filter: self.filter.clone(),
                    collection: self.collection.clone(),
                    mmr: self.mmr,
                    exact: self.exact,
                    ef: self.ef,
                    rerank: self.rerank,
                    rerank_budget_ms: self.rerank_budget_ms,
                    duplicates: self.duplicates,
                    per_source: self.per_source,
                    min_score: self.min_score,
                    syntax: self.syntax,
                }
            }

            /// A request that says no more than how to search.
            pub fn searching(search: Search) -> Self {
                Self {
                    k: search.k,
                    mode: search.mode,
                    fusion: search.fusion,
                    alpha: search.alpha,
                    filter: search.filter,
                    collection: search.collection,
                    mmr: search.mmr,
                    exact: search.exact,
                    ef: search.ef,
                    rerank: search.rerank,
                    rerank_budget_ms: search.rerank_budget_ms,
                    duplicates: search.duplicates,
                    per_source: search.per_source,
                    min_score: search.min_score,
                    syntax: search.syntax,
                    ..Self::default()
                }
            }
        }
    };
}

/// How to search; each request that searches has these fields beside its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Search {
    pub k: Option<u16>,
    pub mode: Option<Mode>,
    pub fusion: Option<Fusion>,
    pub alpha: Option<f32>,
    pub filter: Option<String>,
    pub collection: Option<String>,
    pub mmr: Option<f32>,
    pub exact: bool,
    pub ef: Option<u16>,
    pub rerank: bool,
    pub rerank_budget_ms: Option<u64>,
    pub duplicates: bool,
    pub per_source: Option<u16>,
    pub min_score: Option<f32>,
    pub syntax: bool,
}

searching! {
    /// `rag query`.
    QueryRequest {
        /// Find chunks for this; may be empty with `like`.
        #[serde(default)]
        text: String,
        /// Find chunks like these (ids of chunks).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        like: Vec<ChunkId>,
        /// Lead away from these.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unlike: Vec<ChunkId>,
        /// The vector of the text, of the model that `/v1/status` names (`/v1/embeddings` makes one): the server embeds nothing then.
        /// Without a text: search by meaning alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vector: Option<Vec<f32>>,
        /// So many neighbour chunks before and after each result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<usize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expand: Option<Expand>,
        /// Ranks and scores of both legs.
        #[serde(default, skip_serializing_if = "is_false")]
        explain: bool,
        /// Signs that a result talks to a model instead of to a reader.
        #[serde(default, skip_serializing_if = "is_false")]
        flags: bool,
    }
}

searching! {
    /// `rag ask`. The model that answers is the server's: no field chooses it.
    AskRequest {
        text: String,
        /// What was said before, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        history: Vec<SaidTurn>,
        /// Quote the sentences that answer, without a model.
        #[serde(default, skip_serializing_if = "is_false")]
        extractive: bool,
        /// Of the answer; the server's own limit if that is lower.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u32>,
        /// Of prompt and answer together; the server's own limit if that is lower.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_tokens: Option<usize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsupported: Option<Unsupported>,
        /// Ask the model even if nothing relevant was found.
        #[serde(default, skip_serializing_if = "is_false")]
        no_gate: bool,
        /// Let the server wait for its model's whole answer, as `--no-stream`.
        #[serde(default, skip_serializing_if = "is_false")]
        no_model_stream: bool,
        /// Answer by events (`text/event-stream`): see [`event`].
        #[serde(default, skip_serializing_if = "is_false")]
        stream: bool,
    }
}

/// A question and the answer it got: the fields of `rag.turn/1` that count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SaidTurn {
    pub question: String,
    pub answer: String,
    /// What was searched for, if it was not the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<String>,
}

/// Names of the events of a streamed `ask`; the data of each is one JSON object.
pub mod event {
    use serde::{Deserialize, Serialize};

    /// Retrieval is done: [`Retrieved`].
    pub const RETRIEVED: &str = "retrieved";
    /// Text of the answer as it comes, not yet checked: [`Text`].
    pub const TEXT: &str = "text";
    /// The checked answer, `rag.answer/1`; the last event.
    pub const ANSWER: &str = "answer";
    /// [`ErrorBody`](super::super::ErrorBody) in place of an answer; the last event.
    pub const ERROR: &str = "error";

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
    pub struct Retrieved {
        pub results: usize,
        /// `found`, `weak` or `nothing`.
        pub strength: String,
        pub relevance: f64,
        pub generation: u64,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
    pub struct Text {
        pub text: String,
    }
}

searching! {
    /// `rag why-not`.
    WhyNotRequest {
        text: String,
        /// A path as the index shows it, or the id of a document or of a chunk.
        file: String,
    }
}

searching! {
    /// `rag eval` on questions with judgements, against the server's index.
    EvalRequest {
        queries: Vec<EvalQuestion>,
        /// Question → document (its path or name) → grade.
        qrels: BTreeMap<String, BTreeMap<String, i64>>,
        /// `ndcg@K`, `recall@K`, `mrr@K`, `map`; none: the usual ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        metrics: Vec<String>,
        #[serde(default, skip_serializing_if = "is_false")]
        per_query: bool,
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EvalQuestion {
    pub id: String,
    pub text: String,
}
