//! Plain text: paragraphs between blank lines.

use super::{Extract, Input, blocks::Blocks};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
    types::Span,
};

pub struct Text;

impl Extract for Text {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        document.blocks = paragraphs(&document.text);
        Ok(document)
    }
}

/// Cuts a text into paragraphs at blank lines.
pub fn paragraphs(text: &str) -> Vec<crate::ingest::document::Block> {
    let mut blocks = Blocks::default();
    push_paragraphs(text, Span::new(0, text.len()), &[], &mut blocks);
    blocks.into_list()
}

/// Cuts a part of a text into paragraphs at blank lines.
pub fn push_paragraphs(text: &str, part: Span, heading: &[String], blocks: &mut Blocks) {
    let (mut start, mut at) = (part.start, part.start);
    for line in text[part.range()].split_inclusive('\n') {
        let end = at + line.len();
        if line.trim().is_empty() {
            blocks.push(text, BlockKind::Paragraph, Span::new(start, at), heading);
            start = end;
        }
        at = end;
    }
    blocks.push(text, BlockKind::Paragraph, Span::new(start, part.end), heading);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_stand_between_blank_lines() {
        let text = "\none\ntwo\n \t\n\n  three\n";
        let found: Vec<_> = paragraphs(text).iter().map(|b| &text[b.span.range()]).collect();
        assert_eq!(found, ["one\ntwo", "  three"]);
        assert!(paragraphs(" \n\n ").is_empty());
    }
}
