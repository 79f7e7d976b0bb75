//! Answers out: ranked chunks, and answers with checked citations.
//!
//! Useful for: one query against one snapshot. Not for: changing an index, reading files, or printing.

mod answer;
mod error;
mod hits;

pub use answer::{
    Answer, AnswerStatus, Ask, AskEvent, AskTimings, Citation, Sentence, Source, Support, Unsupported, ask,
};
pub use error::{Error, Result};
pub use hits::{Explain, Fusion, Hit, Hits, Mode, Query, Strength, Timings, query};
