//! How extractors put a document together, under its bounds: at most so many blocks, at most so much text.

use super::{
    clean::{Removed, clean_into},
    problem, reason,
};
use crate::{
    index::Problem,
    ingest::document::{Block, BlockKind, Document},
    types::{Lines, Pages, Span},
};

/// Blocks that may be of any size. Those after them are joined until they have [`JOINED_BYTES`], so a file made of blank
/// lines cannot cost hundreds of times its size.
pub const MAX_SMALL_BLOCKS: usize = 200_000;

/// Size of joined blocks.
const JOINED_BYTES: usize = 4 << 10;

/// Blocks over a text that is already there (the decoded source).
#[derive(Debug, Default)]
pub struct Blocks {
    list: Vec<Block>,
}

impl Blocks {
    /// Adds the block over `span`, without the white space at its ends. Spans come in order; an empty one is no block.
    pub fn push(&mut self, text: &str, kind: BlockKind, span: Span, heading: &[String]) {
        let span = trim(text, span);
        if span.is_empty() {
            return;
        }
        self.push_block(Block { kind, span, heading: heading.to_vec(), lines: None, pages: None });
    }

    pub fn push_block(&mut self, block: Block) {
        let is_full = self.list.len() >= MAX_SMALL_BLOCKS;
        match self.list.last_mut() {
            Some(last) if is_full && last.span.len() < JOINED_BYTES => {
                if last.kind != block.kind || matches!(last.kind, BlockKind::Table { .. } | BlockKind::Heading(_)) {
                    last.kind = BlockKind::Paragraph;
                }
                last.span.end = block.span.end;
                last.lines = join(last.lines, block.lines, |a, b| Lines { first: a.first, last: b.last });
                last.pages = join(last.pages, block.pages, |a, b| Pages { first: a.first, last: b.last });
            }
            _ => self.list.push(block),
        }
    }

    pub fn last_end(&self) -> usize {
        self.list.last().map_or(0, |block| block.span.end)
    }

    pub fn into_list(self) -> Vec<Block> {
        self.list
    }
}

fn join<T>(a: Option<T>, b: Option<T>, both: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (one, None) | (None, one) => one,
    }
}

/// `span` without the white space at its ends; but the indentation of its first line stays.
pub fn trim(text: &str, span: Span) -> Span {
    let inside = &text[span.range()];
    let end = span.start + inside.trim_end().len();
    if end == span.start {
        return Span::new(span.start, span.start);
    }
    let indented = inside.len() - inside.trim_start().len();
    let start = span.start + inside[..indented].rfind('\n').map_or(0, |at| at + 1);
    Span::new(start, end)
}

/// Where a block of rendered text comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct From<'a> {
    pub heading: &'a [String],
    pub lines: Option<Lines>,
    pub page: Option<u32>,
}

/// Writes the text of a document whose source is not text as it stands: blocks with a blank line between them.
pub struct Rendered {
    pub text: String,
    blocks: Blocks,
    pub removed: Removed,
    max_bytes: usize,
    full: bool,
}

impl Rendered {
    pub fn new(max_text_bytes: u64) -> Self {
        Self {
            text: String::new(),
            blocks: Blocks::default(),
            removed: Removed::default(),
            max_bytes: usize::try_from(max_text_bytes).unwrap_or(usize::MAX),
            full: false,
        }
    }

    /// No more text is taken: the document is to be given up.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Appends a block. Text that is only white space is none.
    pub fn block(&mut self, kind: BlockKind, from: From<'_>, body: &str) {
        let before = self.text.len();
        let Some(start) = self.begin(body.len()) else { return };
        clean_into(body, &mut self.text, &mut self.removed);
        self.end(before, start, from, |_| kind);
    }

    /// Appends a table: its header (may be empty, or several lines) and its rows, one a line. Gives where the header
    /// stands, for [`more_rows`](Self::more_rows).
    pub fn table(&mut self, from: From<'_>, header: &str, rows: &str) -> Span {
        let before = self.text.len();
        let Some(start) = self.begin(header.len() + rows.len() + 1) else { return Span::new(0, 0) };
        clean_into(header, &mut self.text, &mut self.removed);
        let header_end = self.text.len();
        if header_end > start && !rows.is_empty() {
            self.text.push('\n');
        }
        clean_into(rows, &mut self.text, &mut self.removed);
        let mut header = Span::new(start, start);
        self.end(before, start, from, |end| {
            header = Span::new(start, header_end.min(end));
            BlockKind::Table { header, rows: Vec::new() }
        });
        header
    }

    /// Appends more rows of a long table, as a block of their own under the header that stands before.
    pub fn more_rows(&mut self, from: From<'_>, header: Span, rows: &str) {
        self.block(BlockKind::Table { header, rows: Vec::new() }, from, rows);
    }

    /// Takes out the blocks that `keep` does not want, with their text. Linear.
    pub fn keep(&mut self, keep: impl Fn(Span) -> bool) {
        if self.blocks.list.iter().all(|block| keep(block.span)) {
            return;
        }
        let text = std::mem::take(&mut self.text);
        for mut block in std::mem::take(&mut self.blocks.list) {
            let old = block.span;
            if !keep(old) {
                continue;
            }
            if !self.text.is_empty() {
                self.text.push_str("\n\n");
            }
            let start = self.text.len();
            self.text.push_str(&text[old.range()]);
            block.span = Span::new(start, self.text.len());
            if let BlockKind::Table { header, rows } = &mut block.kind {
                let moved = |span: Span| Span::new(start + span.start - old.start, start + span.end - old.start);
                // A header that stands in another block may be gone.
                let is_own = old.start <= header.start && header.end <= old.end;
                *header = if is_own { moved(*header) } else { Span::new(start, start) };
                rows.iter_mut().for_each(|row| *row = moved(*row));
            }
            self.blocks.list.push(block);
        }
    }

    /// Bytes of text that may still come.
    pub fn room(&self) -> u64 {
        self.max_bytes.saturating_sub(self.text.len()) as u64
    }

    /// Appends the text and the blocks of another document, each block under `heading` and on the lines that `lines`
    /// says. What stands before its first block (front matter) and after its last is left out.
    pub fn append(&mut self, inner: &Document, heading: &[String], lines: impl Fn(&Block) -> Option<Lines>) {
        let (Some(first), Some(last)) = (inner.blocks.first(), inner.blocks.last()) else { return };
        let (from, to) = (first.span.start, last.span.end);
        let Some(start) = self.begin(to - from) else { return };
        self.text.push_str(&inner.text[from..to]);
        let moved =
            |span: Span| Span::new(start + span.start.saturating_sub(from), start + span.end.saturating_sub(from));
        for block in &inner.blocks {
            let kind = match &block.kind {
                BlockKind::Table { header, rows } => {
                    BlockKind::Table { header: moved(*header), rows: rows.iter().map(|&row| moved(row)).collect() }
                }
                BlockKind::Heading(level) => BlockKind::Heading(*level),
                BlockKind::Paragraph => BlockKind::Paragraph,
                BlockKind::List => BlockKind::List,
                BlockKind::Quote => BlockKind::Quote,
                BlockKind::Fence => BlockKind::Fence,
                BlockKind::Code => BlockKind::Code,
                BlockKind::Record => BlockKind::Record,
            };
            self.blocks.push_block(Block {
                kind,
                span: moved(block.span),
                heading: [heading, &block.heading].concat(),
                lines: lines(block),
                pages: block.pages,
            });
        }
        let removed = inner.metadata.get("removed_characters").and_then(|count| count.parse::<u64>().ok());
        self.removed.total += removed.unwrap_or(0);
    }

    /// Says that the last block goes on to `page`.
    pub fn extend_to_page(&mut self, page: u32) {
        if let Some(pages) = self.blocks.list.last_mut().and_then(|block| block.pages.as_mut()) {
            pages.last = pages.last.max(page);
        }
    }

    fn begin(&mut self, size: usize) -> Option<usize> {
        self.full |= self.text.len().saturating_add(size).saturating_add(2) > self.max_bytes;
        if self.full {
            return None;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        Some(self.text.len())
    }

    fn end(&mut self, before: usize, start: usize, from: From<'_>, kind: impl FnOnce(usize) -> BlockKind) {
        let span = trim(&self.text, Span::new(start, self.text.len()));
        if span.is_empty() {
            self.text.truncate(before);
            return;
        }
        self.text.truncate(span.end);
        let pages = from.page.map(|page| Pages { first: page, last: page });
        self.blocks.push_block(Block {
            kind: kind(span.end),
            span,
            heading: from.heading.to_vec(),
            lines: from.lines,
            pages,
        });
    }

    /// Puts text and blocks into `document`, with what was taken out.
    pub fn finish(self, document: &mut Document) -> Result<(), Problem> {
        if self.full {
            return Err(too_large(self.max_bytes as u64));
        }
        document.text = self.text;
        document.blocks = self.blocks.into_list();
        document.text_is_source = false;
        note_removed(document, self.removed);
        Ok(())
    }
}

/// Writes into the document how many characters were taken out, and a warning if they hid something.
pub fn note_removed(document: &mut Document, removed: Removed) {
    if removed.total > 0 {
        let count = document.metadata.entry("removed_characters".into()).or_default();
        *count = (count.parse().unwrap_or(0) + removed.total).to_string();
    }
    document.warnings.extend(removed.warning());
}

pub fn too_large(max_bytes: u64) -> Problem {
    problem(reason::TOO_LARGE, format!("its text is larger than {} MiB", max_bytes >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_keeps_the_first_line_indented() {
        let text = "\n\n    let x;\n\n";
        assert_eq!(&text[trim(text, Span::new(0, text.len())).range()], "    let x;");
        assert!(trim(text, Span::new(0, 2)).is_empty());
        assert!(trim(text, Span::new(3, 3)).is_empty());
    }

    #[test]
    fn too_many_small_blocks_are_joined() {
        let count = MAX_SMALL_BLOCKS + 10_000;
        let text = "x ".repeat(count);
        let mut blocks = Blocks::default();
        for i in 0..count {
            blocks.push(&text, BlockKind::Record, Span::new(2 * i, 2 * i + 2), &[]);
        }
        let list = blocks.into_list();
        assert!(list.len() < MAX_SMALL_BLOCKS + 20_000 / JOINED_BYTES + 2, "{}", list.len());
        let covered: usize = list.iter().map(|block| block.span.len()).sum();
        assert_eq!(covered, text.len() - list.len());
        assert_eq!((list[0].span, list[MAX_SMALL_BLOCKS].kind.clone()), (Span::new(0, 1), BlockKind::Record));
    }

    #[test]
    fn rendered_text_has_a_limit() {
        let mut out = Rendered::new(20);
        out.block(BlockKind::Paragraph, From::default(), "one\u{200b}");
        out.block(BlockKind::Paragraph, From::default(), "  \u{feff} ");
        out.table(From::default(), "| a |\n| - |", "| 1 |");
        assert!(out.is_full());
        assert_eq!(out.text, "one");
        assert_eq!(out.finish(&mut Document::default()).unwrap_err().reason, reason::TOO_LARGE);
    }

    #[test]
    fn a_table_knows_its_header() {
        let mut out = Rendered::new(1000);
        out.block(BlockKind::Paragraph, From::default(), "before");
        out.table(From::default(), "| a |\n| - |", "| 1 |\n| 2 |");
        let mut document = Document::default();
        out.finish(&mut document).expect("small");
        let BlockKind::Table { header, rows } = &document.blocks[1].kind else { panic!("no table") };
        assert_eq!((&document.text[header.range()], rows.len()), ("| a |\n| - |", 0));
        assert_eq!(document.check(), Ok(()));
    }
}
