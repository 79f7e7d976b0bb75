//! What `rag check --json` prints.

use serde::{Deserialize, Serialize};

use super::{Word, rounded, support_word};
use crate::{retrieve, types::ChunkId};

/// `rag check --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct CheckResult {
    pub schema: Word,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct CheckedGeneration {
    pub generation: u64,
    /// The one the answer was made from; null where the file does not tell.
    pub answered: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct CheckedSentence {
    pub text: String,
    pub citations: Vec<u32>,
    /// `supported`, `weak` or `unsupported` when it was saved; null where the file does not tell.
    pub was: Option<Word>,
    pub state: Word,
    pub score: f64,
    pub lost: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct CheckedSource {
    pub n: u32,
    pub source: String,
    /// `unchanged`, `moved`, `changed`, `gone` or `unlisted`.
    pub standing: Word,
    /// `unchanged`, `changed`, `missing` or `unknown`.
    pub file: Word,
    pub chunk_ids: Vec<ChunkId>,
    /// Whether each quotation of it is still there word by word; null where the answer quotes nothing.
    pub quotes_found: Option<bool>,
}

impl From<&retrieve::Checked> for CheckResult {
    fn from(checked: &retrieve::Checked) -> Self {
        let of = |state| checked.sentences.iter().filter(|sentence| sentence.state == state).count();
        Self {
            schema: "rag.check/1".into(),
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
            was: sentence.was.map(support_word).map(Word::Borrowed),
            state: support_word(sentence.state).into(),
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
            }
            .into(),
            file: match source.file {
                retrieve::File::Unchanged => "unchanged",
                retrieve::File::Changed => "changed",
                retrieve::File::Missing => "missing",
                retrieve::File::Unknown => "unknown",
            }
            .into(),
            chunk_ids: source.chunks.clone(),
            quotes_found: source.quotes_found,
        }
    }
}
