//! Answers out: ranked chunks, and answers with checked citations.
//!
//! Useful for: one query against one snapshot. Not for: changing an index, reading files, or printing.

mod answer;
mod ask;
mod budget;
mod check;
mod cite;
mod compose;
mod error;
pub mod eval;
mod extractive;
pub mod filter;
mod fuse;
mod highlight;
mod hints;
mod hits;
mod links;
mod mmr;
mod named;
mod neighbours;
mod offer;
mod passages;
mod plan;
mod prompt;
mod query;
mod ranking;
mod relevance;
mod rerank;
mod search;
mod select;
mod sentences;
mod shingles;
mod show;
mod snippet;
mod stream;
mod subject;
mod suspicion;
mod tables;
mod talk;
mod verify;
mod why_not;
mod words;

pub use answer::{
    Answer, AnswerStatus, Ask, AskEvent, AskTimings, Citation, Copied, Sentence, Source, Support, Unsupported,
};
pub use ask::ask;
pub use check::{Checked, CheckedSentence, CheckedSource, File, NotSaved, Saved, Standing, check};
pub use error::{Error, Result};
pub use fuse::DENSE_WEIGHT;
pub use hits::{Explain, Fusion, Hit, Hits, LeftOutBy, Mode, NearMiss, Query, Strength, Timings};
pub use named::{Named, Naming, Several};
pub use plan::{MAX_CONTEXT, MAX_K, MAX_LIKE, MAX_QUERY_BYTES};
pub use query::query;
pub use relevance::{FOUND, WEAK};
pub use rerank::{RERANKED, Rerank};
pub use snippet::SNIPPET_CHARS;
pub use suspicion::{Suspicion, suspicions};
pub use talk::Turn;
pub use verify::difference;
pub use why_not::{Kept, Place, WhyNot, why_not};
