//! The extracted form of a source, the same for every format: one text, and blocks that say what stands where in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    index::Problem,
    types::{Lines, Pages, Span},
};

/// A document. Blocks are in order, do not overlap, and cover every character of `text` that is not white space, except
/// what is meant to be left out (front matter). This is checked when a worker's answer is read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Format word, as in `SourceRecord::format`.
    pub format: String,
    pub title: Option<String>,
    pub author: Option<String>,
    /// Where it is text already: the source, decoded. Else what the extractor made of it.
    pub text: String,
    pub blocks: Vec<Block>,
    /// `text` is the decoded source, so a line of it is a line of the source; else lines come from blocks, if at all.
    pub text_is_source: bool,
    pub pages: Option<u32>,
    pub encoding: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// What was lost or is doubtful.
    pub warnings: Vec<Problem>,
}

/// A piece of a document that belongs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub kind: BlockKind,
    pub span: Span,
    /// Titles of the sections it stands in, outermost first; for a heading its own title is the last. For code the
    /// symbol path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heading: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// 1 is the highest.
    Heading(u8),
    Paragraph,
    List,
    Quote,
    /// `header`: the rows (with the rule under them, in Markdown) that every piece of the table repeats.
    Table {
        header: Span,
    },
    /// A fence in prose, kept whole up to the limit.
    Fence,
    /// Program text: cut at items, blank lines and indentation.
    Code,
    /// One record a line: JSONL, logs.
    Record,
}
