//! Where a chunk stands in its source: lines and pages.

use crate::{
    ingest::document::{Block, Document},
    types::{Lines, Pages, Span},
};

/// Counts lines for spans whose starts never go back. Each byte is looked at once, and once more for each chunk it is in.
pub struct LineCounter<'d> {
    text: &'d str,
    at: usize,
    line: u32,
}

impl<'d> LineCounter<'d> {
    pub fn new(text: &'d str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// First and last line of a span.
    pub fn lines(&mut self, span: Span) -> Lines {
        debug_assert!(span.start >= self.at);
        self.line = self.line.saturating_add(line_ends(&self.text[self.at..span.start]));
        self.at = span.start;
        // A line end at the end of the span belongs to the line it ends.
        let inner = self.text[span.range()].trim_end_matches('\n');
        Lines { first: self.line, last: self.line.saturating_add(line_ends(inner)) }
    }
}

fn line_ends(text: &str) -> u32 {
    let mut total = 0u32;
    // Small steps, so that the compiler can count bytes in bytes.
    for step in text.as_bytes().chunks(255) {
        let ends = step.iter().fold(0u8, |ends, &byte| ends + u8::from(byte == b'\n'));
        total = total.saturating_add(u32::from(ends));
    }
    total
}

/// The lines of a chunk that covers parts of `blocks`.
pub fn lines(document: &Document, counter: &mut LineCounter<'_>, span: Span, blocks: &[Block]) -> Option<Lines> {
    if document.text_is_source {
        return Some(counter.lines(span));
    }
    let lines = || touched(blocks, span).filter_map(|block| block.lines);
    let first = lines().map(|lines| lines.first).min()?;
    Some(Lines { first, last: lines().map(|lines| lines.last).max()? })
}

/// The pages of a chunk that covers parts of `blocks`.
pub fn pages(span: Span, blocks: &[Block]) -> Option<Pages> {
    let pages = || touched(blocks, span).filter_map(|block| block.pages);
    let first = pages().map(|pages| pages.first).min()?;
    Some(Pages { first, last: pages().map(|pages| pages.last).max()? })
}

/// Blocks stand one after the other, so that those of a span need not be looked for among all.
fn touched(blocks: &[Block], span: Span) -> impl Iterator<Item = &Block> {
    let first = blocks.partition_point(|block| block.span.end <= span.start);
    blocks[first..].iter().take_while(move |block| block.span.start < span.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\nb\n\nc";
        let mut counter = LineCounter::new(text);
        let mut check = |start, end, first, last| {
            assert_eq!(counter.lines(Span::new(start, end)), Lines { first, last });
        };
        check(0, 1, 1, 1);
        check(0, 2, 1, 1);
        check(0, 3, 1, 2);
        check(2, 6, 2, 4);
        check(5, 6, 4, 4);
    }

    #[test]
    fn many_lines_are_counted_right() {
        assert_eq!(line_ends(&"\n".repeat(100_000)), 100_000);
        assert_eq!(line_ends(&"ä\n".repeat(1_000)), 1_000);
    }
}
