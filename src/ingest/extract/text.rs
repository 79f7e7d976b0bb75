//! Plain text: paragraphs between blank lines, under what is surely a heading; pages where form feeds part them.
//!
//! A heading is underlined, or stands alone with a number of two parts (`1.2 Title`; then `1 Title` is one too), or stands
//! alone in capitals.

use super::{
    Extract, Input,
    blocks::Blocks,
    lined::{indent, is_ruled},
    sections::Sections,
};
use crate::{
    index::Problem,
    ingest::document::{Block, BlockKind, Document},
    types::{Pages, Span},
};

/// Longest line that may be a heading.
const MAX_HEADING_BYTES: usize = 100;

/// Shortest heading in capitals, in letters: shorter ones are abbreviations.
const MIN_CAPITALS: usize = 4;

pub struct Text;

impl Extract for Text {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let (blocks, pages) = read(&document.text);
        (document.blocks, document.pages) = (blocks, pages);
        Ok(document)
    }
}

fn read(text: &str) -> (Vec<Block>, Option<u32>) {
    let mut reader = Reader {
        text,
        blocks: Blocks::default(),
        sections: Sections::default(),
        has_numbers: parts(text).any(|(part, alone)| alone && number(text[part.range()].trim()).is_some_and(|n| n > 1)),
        // A form feed in the middle of a line parts nothing.
        page: text.contains("\n\u{c}").then_some(1),
    };
    let mut ahead = parts(text).peekable();
    while let Some((part, alone)) = ahead.next() {
        let next_is_capitals = ahead.peek().is_none_or(|(next, _)| is_capitals(text[next.range()].trim()));
        reader.part(part, alone && !next_is_capitals, alone);
    }
    let pages = reader.page;
    (reader.blocks.into_list(), pages)
}

/// The paragraphs of a text, form feeds at their start, and whether they are one line.
fn parts(text: &str) -> impl Iterator<Item = (Span, bool)> + '_ {
    let (mut start, mut at, mut lines) = (0, 0, 0);
    let ends = text.split_inclusive('\n').chain([""]);
    ends.filter_map(move |line| {
        let line_start = at;
        at += line.len();
        let is_end = line.is_empty() || line.trim().is_empty() || line.starts_with('\u{c}');
        if !is_end {
            lines += 1;
            return None;
        }
        let part = (Span::new(start, line_start), lines == 1);
        start = line_start;
        lines = usize::from(!line.trim().is_empty());
        (part.0.start < part.0.end).then_some(part)
    })
}

struct Reader<'a> {
    text: &'a str,
    blocks: Blocks,
    sections: Sections,
    /// Some headings have numbers of several parts, so those of one part are headings too.
    has_numbers: bool,
    page: Option<u32>,
}

impl Reader<'_> {
    /// Reads a paragraph. `before_text`: it is one line, and what follows may be its text.
    fn part(&mut self, part: Span, before_text: bool, alone: bool) {
        let inside = &self.text[part.range()];
        if let Some(page) = self.page.as_mut() {
            let feeds = inside.bytes().filter(|&byte| byte == 0x0c).count();
            *page = page.saturating_add(u32::try_from(feeds).unwrap_or(u32::MAX));
        }
        let bare = inside.trim();
        let lead = inside.len() - inside.trim_start().len();
        let first_end = bare.find('\n').unwrap_or(bare.len());
        let (first, rest) = (bare[..first_end].trim_end(), bare[first_end..].trim_start_matches('\n'));
        let under = rest.split('\n').next().unwrap_or("");
        if let Some(level) = underlined(first, under) {
            let end = part.start + lead + first_end + 1 + under.len();
            self.sections.open(level, first);
            self.push(BlockKind::Heading(level), Span::new(part.start, end));
            return self.push(BlockKind::Paragraph, Span::new(end, part.end));
        }
        let level = match number(bare) {
            Some(level) if alone && (level > 1 || self.has_numbers) => Some(level),
            _ if before_text && is_capitals(bare) => Some(1),
            _ => None,
        };
        match level {
            Some(level) => {
                self.sections.open(level, bare);
                self.push(BlockKind::Heading(level.min(6)), part);
            }
            None => self.push(BlockKind::Paragraph, part),
        }
    }

    fn push(&mut self, kind: BlockKind, span: Span) {
        // Form feeds are white space that trimming may leave at the start.
        let lead = self.text[span.range()].len() - self.text[span.range()].trim_start_matches(['\u{c}', '\n']).len();
        let span = super::blocks::trim(self.text, Span::new(span.start + lead, span.end));
        if !span.is_empty() {
            let pages = self.page.map(|page| Pages { first: page, last: page });
            self.blocks.push_block(Block { kind, span, heading: self.sections.path().to_vec(), lines: None, pages });
        }
    }
}

/// The level of a line that is underlined by a line as long as it is.
fn underlined(line: &str, under: &str) -> Option<u8> {
    let sign = under.chars().next()?;
    let level = match sign {
        '=' => 1,
        '-' | '~' | '*' | '^' => 2,
        _ => return None,
    };
    let length = line.chars().count();
    let is_words = line.starts_with(|c: char| c.is_alphanumeric())
        && !line.contains('|')
        && line.len() <= MAX_HEADING_BYTES
        && indent(under) == 0;
    (is_words && is_ruled(under, sign, 3) && under.trim_end().len().abs_diff(length) <= 3).then_some(level)
}

/// How many parts the number of a heading has: `1.2 Title` has two.
fn number(line: &str) -> Option<u8> {
    let (number, words) = line.split_once([' ', '\t'])?;
    let number = number.strip_suffix('.').unwrap_or(number);
    let is_number = number.len() <= 12
        && number
            .split('.')
            .all(|part| !part.is_empty() && part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit()));
    let words = words.trim();
    let is_title = line.len() <= MAX_HEADING_BYTES
        && words.starts_with(char::is_uppercase)
        && words.chars().filter(|c| c.is_alphabetic()).count() >= 3
        && !words.ends_with(['.', ',', ';', ':', '!', '?']);
    (is_number && is_title).then(|| u8::try_from(number.split('.').count()).unwrap_or(u8::MAX))
}

/// Words in capitals, as a heading has them.
fn is_capitals(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphabetic());
    line.len() <= MAX_HEADING_BYTES
        && !line.contains('\n')
        && letters.clone().count() >= MIN_CAPITALS
        && letters.clone().all(char::is_uppercase)
        && line.starts_with(char::is_alphanumeric)
        && line
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '&' | '/' | '(' | ')' | '\'' | '’' | ','))
        && line.chars().filter(char::is_ascii_digit).count() * 3 <= line.len()
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

    fn check(text: &str, want: &[(&str, &str, &str)]) {
        let (blocks, _) = read(text);
        let word =
            |kind: &BlockKind| if let BlockKind::Heading(level) = kind { format!("h{level}") } else { "p".into() };
        let got: Vec<_> = blocks.iter().map(|b| (word(&b.kind), b.heading.join("/"), &text[b.span.range()])).collect();
        let want: Vec<_> = want.iter().map(|&(k, h, t)| (k.to_owned(), h.to_owned(), t)).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn what_is_surely_a_heading() {
        check(
            "USER MANUAL\n\nPumps\n=====\nWords.\n\nParts\n-----\n\nMore.\n",
            &[
                ("h1", "USER MANUAL", "USER MANUAL"),
                ("h1", "Pumps", "Pumps\n====="),
                ("p", "Pumps", "Words."),
                ("h2", "Pumps/Parts", "Parts\n-----"),
                ("p", "Pumps/Parts", "More."),
            ],
        );
        check(
            "1. First Steps\n\nDo.\n\n1.2 Deeper Title\n\nMore.\n\n2 Next\n\nEnd.\n",
            &[
                ("h1", "1. First Steps", "1. First Steps"),
                ("p", "1. First Steps", "Do."),
                ("h2", "1. First Steps/1.2 Deeper Title", "1.2 Deeper Title"),
                ("p", "1. First Steps/1.2 Deeper Title", "More."),
                ("h1", "2 Next", "2 Next"),
                ("p", "2 Next", "End."),
            ],
        );
        for text in [
            "1. Buy milk\n\n2. Buy eggs\n",
            "BUY NOW!\n\ntext\n",
            "NATO\n",
            "STOP\n\nWAIT\n\nSTOP\n",
            "a | b\n-----\n",
            "1.5 litres of water\n\ntext\n",
        ] {
            let (blocks, pages) = read(text);
            assert!(blocks.iter().all(|block| block.kind == BlockKind::Paragraph), "{text}");
            assert_eq!(pages, None);
        }
    }

    #[test]
    fn form_feeds_part_pages() {
        let text = "One.\n\u{c}Two.\nmore\n\n\u{c}\u{c}Four.\n";
        let (blocks, pages) = read(text);
        let got: Vec<_> = blocks.iter().map(|b| (&text[b.span.range()], b.pages.map_or(0, |p| p.first))).collect();
        assert_eq!(got, [("One.", 1), ("Two.\nmore", 2), ("Four.", 4)]);
        assert_eq!(pages, Some(4));
    }
}
