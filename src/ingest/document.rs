//! The extracted form of a source, the same for every format: one text, and blocks that say what stands where in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    index::Problem,
    types::{Lines, Pages, Span},
};

/// A document. Blocks are in order, do not overlap, are not empty, begin and end on character boundaries, and cover every
/// character of `text` that is not white space: what is left out (front matter, comments) is not in it. Order, bounds and
/// boundaries are checked by [`check`](Document::check) when a worker's answer is read.
///
/// `text` has `\n` as its only line end, and no NUL, byte order mark, soft hyphen, bidi control, Unicode tag or needless
/// zero-width character: those are taken out before blocks are made, and counted in `metadata["removed_characters"]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Format word, as in `SourceRecord::format`.
    pub format: String,
    pub title: Option<String>,
    pub author: Option<String>,
    /// Where it is text already: the source, decoded, without what no reader sees and without marks that say nothing, but
    /// with every line end. Else what the extractor made of it.
    pub text: String,
    pub blocks: Vec<Block>,
    /// `text` is the decoded source, line by line, so a line of it is a line of the source, and blocks have no `lines`; else lines come
    /// from blocks, if at all. JSON and JSONL are written anew as `key: value` lines, so theirs come from blocks.
    pub text_is_source: bool,
    pub pages: Option<u32>,
    /// Pages (from 1) that show something, but gave no text that can be believed.
    pub unread_pages: Vec<u32>,
    pub encoding: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// What was lost or is doubtful.
    pub warnings: Vec<Problem>,
}

/// What a document promises and does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("block {block} {what}")]
pub struct Broken {
    pub block: usize,
    pub what: &'static str,
}

impl Document {
    /// Checks what can be checked cheaply: blocks are not empty, in order and apart, inside `text` and on character
    /// boundaries, and so are the headers and rows of tables. O(blocks and rows).
    pub fn check(&self) -> Result<(), Broken> {
        let on_boundaries = |span: Span| {
            span.start <= span.end && self.text.is_char_boundary(span.start) && self.text.is_char_boundary(span.end)
        };
        let mut end = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            let broken = |what| Err(Broken { block: at, what });
            if !on_boundaries(block.span) {
                return broken("is not inside the text");
            }
            if block.span.start == block.span.end {
                return broken("is empty");
            }
            if block.span.start < end {
                return broken("begins before the end of the one before");
            }
            end = block.span.end;
            if let BlockKind::Table { header, rows } = &block.kind {
                if !on_boundaries(*header) || header.end > end {
                    return broken("has a header outside of the text before its end");
                }
                let mut row_end = block.span.start;
                for row in rows {
                    if !on_boundaries(*row) || row.start < row_end || row.end > end {
                        return broken("has rows that are not inside it or not in order");
                    }
                    row_end = row.end;
                }
            }
        }
        Ok(())
    }
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
    /// Rows of cells; a row is never cut while it fits. A long table (CSV) is several blocks with one `header`.
    Table {
        /// The rows (with the rule under them, in Markdown) that every piece of the table repeats. It stands at the start
        /// of this block, or, in the later blocks of a long table, before the block; empty if the table has none. May be
        /// longer than a chunk can be (thousands of columns): then it cannot be repeated.
        header: Span,
        /// Where the rows stand, header left out: in order, inside this block. Empty: each line is a row.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rows: Vec<Span>,
    },
    /// A fence in prose, kept whole up to the limit.
    Fence,
    /// Program text: cut at items, blank lines and indentation.
    Code,
    /// A record of its own, of one line or several: an object of JSONL, a line of a log. Neighbours may share a chunk.
    Record,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(kind: BlockKind, start: usize, end: usize) -> Block {
        Block { kind, span: Span { start, end }, heading: Vec::new(), lines: None, pages: None }
    }

    #[test]
    fn a_broken_promise_is_found() {
        let text = "äbc def";
        let table = |header: (usize, usize), rows: &[(usize, usize)]| BlockKind::Table {
            header: Span { start: header.0, end: header.1 },
            rows: rows.iter().map(|&(start, end)| Span { start, end }).collect(),
        };
        let cases = [
            (vec![block(BlockKind::Paragraph, 0, 4), block(BlockKind::List, 5, 8)], true),
            (vec![block(BlockKind::Paragraph, 0, 9)], false),
            (vec![block(BlockKind::Paragraph, 1, 4)], false),
            (vec![block(BlockKind::Paragraph, 4, 2)], false),
            (vec![block(BlockKind::Paragraph, 4, 4)], false),
            (vec![block(BlockKind::Paragraph, 0, 5), block(BlockKind::Paragraph, 4, 8)], false),
            (vec![block(table((0, 4), &[(5, 6), (6, 8)]), 0, 8)], true),
            (vec![block(table((0, 4), &[]), 5, 8)], true),
            (vec![block(table((0, 1), &[]), 0, 8)], false),
            (vec![block(table((5, 8), &[]), 0, 4)], false),
            (vec![block(table((0, 0), &[(6, 8), (5, 6)]), 0, 8)], false),
            (vec![block(table((0, 0), &[(0, 4)]), 5, 8)], false),
            (vec![block(table((3, 2), &[]), 0, 8)], false),
        ];
        for (blocks, good) in cases {
            let document = Document { text: text.into(), blocks, ..Document::default() };
            assert_eq!(document.check().is_ok(), good, "{:?}", document.blocks);
        }
    }
}
