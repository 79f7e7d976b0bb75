//! reStructuredText: headings by their underlines, directives, literal blocks and tables.
//!
//! No full parser and no tree: a line's own signs and its indentation say what it begins, so the body of a note or of a
//! list item is read as any other text. Comments, link targets and directives of the machinery are left out; substitution
//! texts are put in. Nothing is included or run.

mod directive;
mod inline;
mod table;

use std::collections::HashMap;

use super::{
    Extract, Input,
    lined::{Lined, indent},
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
};
use inline::Inline;

/// Deepest level of headings that are told apart.
const MAX_STYLES: usize = 32;

pub struct Rst;

impl Extract for Rst {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut reader = Reader {
            lined: Lined::new(&source),
            inline: Inline::new(&source),
            styles: Vec::new(),
            literal: None,
            list: None,
            is_top: true,
        };
        while let Some(line) = reader.lined.line() {
            reader.read(line);
        }
        reader.lined.finish(&mut document);
        Ok(document)
    }
}

struct Reader<'a> {
    lined: Lined<'a>,
    inline: Inline<'a>,
    /// Adornments of headings, by order of appearance: the sign, and whether it stands above too.
    styles: Vec<(char, bool)>,
    /// What is indented more than this is a literal block: the paragraph before ended with `::`.
    literal: Option<usize>,
    /// Indentation of the list at work; what is indented more belongs to it.
    list: Option<usize>,
    /// Nothing but the title and fields so far: fields are facts about the document.
    is_top: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self, line: &'a str) {
        let bare = line.trim();
        if bare.is_empty() {
            return self.lined.skip(1);
        }
        let depth = indent(line);
        if let Some(outer) = self.literal.take() {
            if depth > outer {
                return self.indented(outer, BlockKind::Fence);
            }
            // A quoted literal block: every line begins with the same sign.
            if depth == outer && starts_with_sign(bare) && !is_item(bare) {
                let count = self.lined.count(|line| line.trim().chars().next() == bare.chars().next());
                return self.lined.verbatim(count, BlockKind::Fence);
            }
        }
        if self.list.is_some_and(|list| depth <= list && !is_item(bare)) {
            self.list = None;
        }
        if (depth == 0 && self.title(line)) || self.table(line, bare) {
            return;
        }
        if let Some(rest) = bare.strip_prefix("..").filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            self.explicit(depth, rest.trim_start());
            return;
        }
        if bare.starts_with("__ ") {
            return self.lined.skip(1);
        }
        if is_adornment(bare) && bare.len() >= 4 {
            // A rule between paragraphs says nothing.
            return self.lined.skip(1);
        }
        if self.is_top && field(bare).is_some() {
            return self.facts();
        }
        self.is_top = false;
        if bare.starts_with(">>> ") {
            let count = self.lined.count(|line| !line.trim().is_empty());
            return self.lined.verbatim(count, BlockKind::Fence);
        }
        self.paragraph(depth, bare);
    }

    /// Reads a heading, if one stands here: text over its underline, or between two lines of one sign.
    fn title(&mut self, line: &str) -> bool {
        let mut ahead = self.lined.ahead();
        let (first, second, third) = (ahead.next().unwrap_or(""), ahead.next().unwrap_or(""), ahead.next());
        let sign = |line: &str| line.chars().next().filter(|_| is_adornment(line.trim_end()));
        let over = sign(first).filter(|_| third.and_then(sign) == sign(first) && sign(second).is_none());
        let under = sign(second).filter(|_| sign(first).is_none());
        let (style, words, count) = match (over, under) {
            (Some(sign), _) if !second.trim().is_empty() && first.trim_end().len() >= 2 => {
                ((sign, true), second.trim(), 3)
            }
            (None, Some(sign)) if is_under(line, second) => ((sign, false), line.trim(), 2),
            _ => return false,
        };
        let level = match self.styles.iter().position(|&known| known == style) {
            Some(at) => at + 1,
            None => {
                if self.styles.len() < MAX_STYLES {
                    self.styles.push(style);
                }
                self.styles.len()
            }
        };
        let words = self.inline.plain(words);
        let text = if count == 3 { format!("\n{words}") } else { words.clone() };
        self.lined.heading(count, u8::try_from(level).unwrap_or(u8::MAX), &words, &text);
        self.is_top = level == 1 && self.styles.len() == 1;
        self.list = None;
        true
    }

    fn table(&mut self, line: &str, bare: &str) -> bool {
        let Some(table) = (if table::is_grid(bare) {
            table::grid(&self.lined, indent(line))
        } else if table::is_simple(bare) {
            table::simple(&self.lined)
        } else {
            None
        }) else {
            return false;
        };
        self.is_top = false;
        self.write_table(table);
        true
    }

    fn write_table(&mut self, mut table: table::Table) {
        for cell in table.rows.iter_mut().flat_map(|row| &mut row.cells) {
            *cell = self.inline.read(cell);
        }
        self.lined.table(table.lines, &table.rows, table.headers, table.rule);
    }

    /// The fields above the text: facts about the document, not part of it.
    fn facts(&mut self) {
        while let Some((name, value)) = self.lined.line().and_then(|line| field(line.trim())) {
            let more =
                self.lined.ahead().skip(1).take_while(|line| !line.trim().is_empty() && indent(line) > 0).count();
            let lines = self.lined.lines(1 + more);
            let rest = lines.split_once('\n').map_or("", |(_, rest)| rest);
            let value = self.inline.plain(&format!("{value} {rest}"));
            self.lined.fact(name, &value);
            self.lined.skip(1 + more);
        }
    }

    /// What is indented more than `outer`, blank lines inside it too.
    fn indented(&mut self, outer: usize, kind: BlockKind) {
        let count = self.body(outer, 0);
        self.lined.verbatim(count, kind);
    }

    /// How many lines, after the first `from`, are indented more than `outer`; trailing blank ones left out.
    fn body(&self, outer: usize, from: usize) -> usize {
        let mut body = from;
        for (at, line) in self.lined.ahead().enumerate().skip(from) {
            if line.trim().is_empty() {
                continue;
            }
            if indent(line) <= outer {
                break;
            }
            body = at + 1;
        }
        body
    }

    fn paragraph(&mut self, depth: usize, bare: &str) {
        let is_list = is_item(bare) || self.list.is_some() || field(bare).is_some();
        if is_item(bare) {
            self.list = Some(self.list.map_or(depth, |list| list.min(depth)));
        }
        let mut count = self.lined.count(|line| !line.trim().is_empty());
        // Explicit markup and literal blocks end an item at once; a blank line between two items does not end the list.
        let mut seen = 0;
        let mut last = "";
        for line in self.lined.ahead().take(count) {
            if seen > 0 && (line.trim_start().starts_with(".. ") || table::is_grid(line.trim())) {
                break;
            }
            last = line;
            seen += 1;
        }
        count = seen.max(1);
        if is_list && !last.trim_end().ends_with("::") {
            count = self.whole_list(depth, count, &mut last);
        }
        let kind = if is_list { BlockKind::List } else { BlockKind::Paragraph };
        let source = self.lined.lines(count);
        let trimmed = source.trim_end();
        let mut text =
            self.inline.read(if is_ended_literal(trimmed) { &trimmed[..trimmed.len() - 1] } else { trimmed });
        if is_ended_literal(trimmed) {
            self.literal = Some(content_indent(last));
            if text.trim() == ":" {
                text.clear();
            } else if text.ends_with(" :") || text.ends_with("\n:") {
                let end = text.trim_end_matches(':').trim_end().len();
                let dropped = text.split_off(end);
                super::lined::push_line_ends(&mut text, &dropped);
            }
        }
        if bare.starts_with("| ") && !is_list {
            text = text
                .lines()
                .map(|line| line.trim_start().trim_start_matches('|').trim_start())
                .collect::<Vec<_>>()
                .join("\n");
        }
        self.lined.block(count, kind, &text);
    }

    /// Takes in the items after a blank line, so that a list is one block.
    fn whole_list(&self, depth: usize, mut count: usize, last: &mut &'a str) -> usize {
        let mut blank = 0;
        for (at, line) in self.lined.ahead().enumerate().skip(count) {
            let bare = line.trim();
            if bare.is_empty() {
                blank += 1;
                continue;
            }
            let goes_on = blank == 0 || (is_item(bare) && indent(line) >= depth);
            let is_other = bare.starts_with(".. ") || bare == ".." || table::is_grid(bare) || table::is_simple(bare);
            if !goes_on || is_other || (blank > 0 && is_adornment(bare)) {
                break;
            }
            (count, blank) = (at + 1, 0);
            *last = line;
            if bare.ends_with("::") {
                break;
            }
        }
        count
    }
}

/// `::` at the end of a paragraph says that a literal block follows.
fn is_ended_literal(text: &str) -> bool {
    text.ends_with("::")
}

/// Where the text of a line begins: after its list mark.
fn content_indent(line: &str) -> usize {
    let bare = line.trim_start();
    let mark = item_mark(bare).unwrap_or(0);
    indent(line) + mark
}

/// Length of the list mark a line begins with, blanks after it included.
fn item_mark(bare: &str) -> Option<usize> {
    let rest = match bare.strip_prefix(['-', '*', '+', '•']) {
        Some(rest) => rest,
        None => {
            let inner = bare.strip_prefix('(').unwrap_or(bare);
            let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '#')?;
            let number = &inner[..end];
            let is_number = number == "#"
                || (!number.is_empty() && number.len() <= 4 && number.bytes().all(|b| b.is_ascii_digit()))
                || (number.len() == 1 && number.bytes().all(|b| b.is_ascii_alphabetic()))
                || (number.len() <= 5 && number.bytes().all(|b| b"ivxIVX".contains(&b)) && !number.is_empty());
            inner[end..].strip_prefix(['.', ')']).filter(|_| is_number)?
        }
    };
    let blanks = rest.len() - rest.trim_start().len();
    (blanks > 0 || rest.is_empty()).then(|| bare.len() - rest.len() + blanks)
}

fn is_item(bare: &str) -> bool {
    item_mark(bare).is_some()
}

/// `:name: value`, a field; a role (`:ref:`x``) is none.
fn field(bare: &str) -> Option<(&str, &str)> {
    let (name, value) = bare.strip_prefix(':')?.split_once(':')?;
    let is_name = !name.is_empty() && !name.starts_with(' ') && !name.contains('`') && name.len() < 80;
    (is_name && (value.is_empty() || value.starts_with(' '))).then(|| (name, value.trim()))
}

/// A line of one punctuation sign.
fn is_adornment(bare: &str) -> bool {
    let Some(sign) = bare.chars().next().filter(char::is_ascii_punctuation) else { return false };
    bare.len() >= 2 && bare.chars().all(|letter| letter == sign) && bare != "::" && bare != ".."
}

/// Whether a line underlines the text above it: as long as it, or long enough to mean it.
fn is_under(words: &str, under: &str) -> bool {
    let (under, words) = (under.trim_end(), words.trim_end());
    let is_text = !words.trim().is_empty() && indent(words) == 0 && !words.starts_with(".. ");
    // Letters of two columns (CJK) make the underline longer than the text, never shorter.
    is_text && (under.len() >= words.chars().count() || under.len() >= 4)
}

fn starts_with_sign(bare: &str) -> bool {
    bare.starts_with(|c: char| c.is_ascii_punctuation())
}

/// The substitution texts of a source.
type Substitutions<'a> = HashMap<&'a str, &'a str>;

#[cfg(test)]
mod tests;
