//! Which blocks may share a chunk: those under one heading.
//!
//! A section begins at every heading, at every change of the heading path, and where something was left out between two
//! blocks. Three things keep crumbs from becoming chunks of their own, without ever putting the bodies of two headings
//! together:
//!
//! - A heading with no body of its own joins the section of the first heading below it, whose path holds its words.
//! - In code, a small beginning (imports, the head of a class) joins the item that follows inside it, and a closing
//!   bracket the item it follows.
//! - In code, small items side by side under one parent share a section, whose path is the parent's.

use std::ops::Range;

use super::measure::Measure;
use crate::{
    ingest::document::{Block, BlockKind, Document},
    types::Span,
};

/// Headings without a body are gathered up to this size.
const MAX_BARE_HEADINGS_BYTES: usize = 512;

/// Blocks that follow each other under one heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub heading: Vec<String>,
    /// Indices of its blocks.
    pub blocks: Range<usize>,
    /// Nothing but headings so far.
    bare: bool,
    /// Small items of code side by side.
    siblings: bool,
}

/// The sections of a document, in order; together they hold every block. `small`: below how many tokens a piece of code
/// looks for company. O(text).
pub fn sections(document: &Document, measure: Measure, small: usize) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (at, block) in document.blocks.iter().enumerate() {
        let joined = at > 0
            && sections
                .last_mut()
                .is_some_and(|section| gap_is_blank(document, at) && section.take(document, block, measure, small));
        if !joined {
            let bare = matches!(block.kind, BlockKind::Heading(_));
            sections.push(Section { heading: block.heading.clone(), blocks: at..at + 1, bare, siblings: false });
        }
    }
    sections
}

/// Nothing but white space stands between a block and the one before it.
fn gap_is_blank(document: &Document, at: usize) -> bool {
    let gap = Span::new(document.blocks[at - 1].span.end, document.blocks[at].span.start);
    document.text[gap.range()].trim().is_empty()
}

impl Section {
    /// Takes the block that follows, if it belongs here.
    fn take(&mut self, document: &Document, block: &Block, measure: Measure, small: usize) -> bool {
        let taken = match block.kind {
            BlockKind::Heading(_) => self.take_heading(document, block),
            BlockKind::Code => self.take_code(document, block, measure, small),
            BlockKind::Paragraph
            | BlockKind::List
            | BlockKind::Quote
            | BlockKind::Table { .. }
            | BlockKind::Fence
            | BlockKind::Record => !self.siblings && block.heading == self.heading,
        };
        if taken {
            self.blocks.end += 1;
            self.bare &= matches!(block.kind, BlockKind::Heading(_));
        }
        taken
    }

    fn take_heading(&mut self, document: &Document, block: &Block) -> bool {
        let taken = self.bare
            && is_below(&block.heading, &self.heading)
            && self.text(document).len() <= MAX_BARE_HEADINGS_BYTES;
        if taken {
            self.heading.clone_from(&block.heading);
        }
        taken
    }

    fn take_code(&mut self, document: &Document, block: &Block, measure: Measure, small: usize) -> bool {
        if block.heading == self.heading && !self.siblings {
            return true;
        }
        let text = &document.text[block.span.range()];
        let all_code = document.blocks[self.blocks.clone()].iter().all(|block| block.kind == BlockKind::Code);
        if !all_code {
            return false;
        }
        if !text.contains(char::is_alphanumeric) {
            return self.heading.starts_with(&block.heading);
        }
        let is_small = |text: &str| text.len() < small * 16 && measure.size(text) < small;
        if !is_small(self.text(document)) {
            return false;
        }
        if !self.siblings && is_below(&block.heading, &self.heading) {
            self.heading.clone_from(&block.heading);
            return true;
        }
        let Some((_, parent)) = block.heading.split_last() else { return false };
        let beside = if self.siblings {
            parent == self.heading
        } else {
            self.heading.split_last().is_some_and(|(_, own_parent)| own_parent == parent)
        };
        let taken = beside && is_small(text);
        if taken {
            self.heading = parent.to_vec();
            self.siblings = true;
        }
        taken
    }

    fn text<'d>(&self, document: &'d Document) -> &'d str {
        let blocks = &document.blocks[self.blocks.clone()];
        match (blocks.first(), blocks.last()) {
            (Some(first), Some(last)) => &document.text[first.span.start..last.span.end],
            _ => "",
        }
    }
}

/// A path strictly below another.
fn is_below(path: &[String], above: &[String]) -> bool {
    path.len() > above.len() && path.starts_with(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document of lines `kind path: text`, where kind is `h`, `p` or `c`.
    fn document(lines: &[&str]) -> Document {
        let mut document = Document::default();
        for line in lines {
            let (place, text) = line.split_once(": ").unwrap();
            let (kind, path) = place.split_once(' ').unwrap_or((place, ""));
            let start = document.text.len();
            document.text.push_str(text);
            let span = Span::new(start, document.text.len());
            document.text.push('\n');
            let kind = match kind {
                "h" => BlockKind::Heading(1),
                "p" => BlockKind::Paragraph,
                "c" => BlockKind::Code,
                // Left out on purpose.
                _ => continue,
            };
            let heading = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            document.blocks.push(Block { kind, span, heading, lines: None, pages: None });
        }
        document
    }

    fn check(lines: &[&str], want: &[(&str, Range<usize>)]) {
        let document = document(lines);
        let found: Vec<_> = sections(&document, Measure::of_document(""), 10)
            .into_iter()
            .map(|section| (section.heading.join("/"), section.blocks))
            .collect();
        let want: Vec<_> = want.iter().map(|(path, blocks)| ((*path).to_owned(), blocks.clone())).collect();
        assert_eq!(found, want, "{lines:?}");
    }

    #[test]
    fn a_section_ends_at_every_heading() {
        check(&[], &[]);
        check(&["p: a", "p: b"], &[("", 0..2)]);
        check(&["p: a", "h A: A", "p A: b", "p A: c", "h B: B", "p B: d"], &[("", 0..1), ("A", 1..4), ("B", 4..6)]);
        check(&["h A: A", "p A: b", "h A: A", "p A: c"], &[("A", 0..2), ("A", 2..4)]);
        check(&["p A: a", "p B: b"], &[("A", 0..1), ("B", 1..2)]);
        check(&["p: a", "-: hidden", "p: b"], &[("", 0..1), ("", 1..2)]);
    }

    #[test]
    fn a_bare_heading_joins_the_one_below_it() {
        check(&["h A: A", "h A/B: B", "p A/B: b"], &[("A/B", 0..3)]);
        check(&["h A: A", "h A/B: B", "h A/B/C: C", "p A/B/C: c"], &[("A/B/C", 0..4)]);
        check(&["h A: A", "h B: B", "p B: b"], &[("A", 0..1), ("B", 1..3)]);
        check(&["h A: A", "-: hidden", "h A/B: B"], &[("A", 0..1), ("A/B", 1..2)]);
        check(&["h A: A", "p A: a", "h A/B: B", "p A/B: b"], &[("A", 0..2), ("A/B", 2..4)]);
    }

    #[test]
    fn small_code_finds_company() {
        let large = format!("c P/large: {}", "let value = other; ".repeat(9));
        check(&["c: use a;", "c main: fn main() {}"], &[("main", 0..2)]);
        check(&["c P: impl P {", "c P/a: fn a", "c P: }"], &[("P/a", 0..3)]);
        check(&["c P/a: fn a", "c P/b: fn b", "c P/c: fn c"], &[("P", 0..3)]);
        check(&["c P/a: fn a", "c Q/b: fn b"], &[("P/a", 0..1), ("Q/b", 1..2)]);
        check(&["c P/a: fn a", &large, "c P/b: fn b"], &[("P/a", 0..1), ("P/large", 1..2), ("P/b", 2..3)]);
        check(&[&large, "c P: }"], &[("P/large", 0..2)]);
        check(&["p P/a: text", "c P/b: fn b"], &[("P/a", 0..1), ("P/b", 1..2)]);
    }
}
