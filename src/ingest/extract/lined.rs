//! Text markup, read line by line: what is written has as many lines as what was read.
//!
//! Comments and machinery go, marks that say nothing go, links keep their words; but a line of the result is a line of the
//! source, so every block knows where it stands. Lines are written where they are read, and there is no other way to
//! write. Used by the readers of reStructuredText, AsciiDoc, org, manual pages and subtitles.

use std::collections::BTreeMap;

use super::{
    blocks::Blocks,
    clean::title,
    front_matter,
    rows::{push_row, push_rule},
    sections::Sections,
};
use crate::{
    ingest::document::{Block, BlockKind, Document},
    types::Span,
};

/// A row of a table, and which of the table's lines it begins on.
#[derive(Debug, Default, PartialEq)]
pub struct Row {
    pub line: usize,
    pub cells: Vec<String>,
}

/// A source whose lines are read one after the other, and the document made of them.
pub struct Lined<'a> {
    rest: &'a str,
    text: String,
    blocks: Blocks,
    pub sections: Sections,
    pub metadata: BTreeMap<String, String>,
    /// Stands before the next block: what kind of remark it is.
    prefix: String,
}

impl<'a> Lined<'a> {
    /// Front matter becomes metadata.
    pub fn new(source: &'a str) -> Self {
        let mut lined = Self {
            rest: source,
            text: String::with_capacity(source.len()),
            blocks: Blocks::default(),
            sections: Sections::default(),
            metadata: BTreeMap::new(),
            prefix: String::new(),
        };
        if let Some((facts, end)) = front_matter::split(source) {
            lined.metadata = facts;
            lined.skip(source[..end].matches('\n').count());
        }
        lined
    }

    /// The line at hand, without its end; `None` at the end of the source.
    pub fn line(&self) -> Option<&'a str> {
        (!self.rest.is_empty()).then(|| self.rest.split('\n').next().unwrap_or(""))
    }

    /// The lines from the one at hand on.
    pub fn ahead(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let all = self.rest.strip_suffix('\n').unwrap_or(self.rest);
        all.split('\n').take(if self.rest.is_empty() { 0 } else { usize::MAX })
    }

    /// How many of the next lines are as wanted.
    pub fn count(&self, mut is_wanted: impl FnMut(&'a str) -> bool) -> usize {
        self.ahead().take_while(|line| is_wanted(line)).count()
    }

    /// Bytes that are not read yet.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next lines as they stand, without the last line end.
    pub fn lines(&self, count: usize) -> &'a str {
        let mut end = 0;
        for line in self.ahead().take(count) {
            end += line.len() + 1;
        }
        &self.rest[..end.saturating_sub(1).min(self.rest.len())]
    }

    /// Passes over lines that no reader sees.
    pub fn skip(&mut self, count: usize) {
        for _ in 0..count {
            let Some(line) = self.line() else { return };
            self.rest = self.rest.get(line.len() + 1..).unwrap_or("");
            self.text.push('\n');
        }
    }

    /// Passes over a line, and says what stands in it before the next block.
    pub fn announce(&mut self, what: &str) {
        self.prefix = what.to_owned();
        self.skip(1);
    }

    /// Reads `count` lines as one block, which says `text`; with more lines than that it is squeezed into them.
    pub fn block(&mut self, count: usize, kind: BlockKind, text: &str) {
        let start = self.write(count, text);
        self.blocks.push(&self.text, kind, start, self.sections.path());
    }

    /// Reads `count` lines as a block that says what it says in the source.
    pub fn verbatim(&mut self, count: usize, kind: BlockKind) {
        self.block(count, kind, self.lines(count));
    }

    /// Reads `count` lines as a heading, which is opened.
    pub fn heading(&mut self, count: usize, level: u8, words: &str, text: &str) {
        self.prefix.clear();
        self.sections.open(level, words);
        self.block(count, BlockKind::Heading(level.clamp(1, 6)), text);
    }

    /// Reads `count` lines as a table, whose first `headers` rows are its header. `rule` is a line that nothing else
    /// stands on, if there is one, for the rule under the header.
    pub fn table(&mut self, count: usize, rows: &[Row], headers: usize, rule: Option<usize>) {
        if rows.is_empty() {
            return self.verbatim(count, BlockKind::Paragraph);
        }
        let headers = if headers < rows.len() { headers } else { 0 };
        let mut text = String::new();
        let mut places = Vec::with_capacity(rows.len());
        let (mut line, mut header_end) = (0, 0);
        let mut go_to = |text: &mut String, target: usize| {
            while line < target {
                text.push('\n');
                line += 1;
            }
        };
        for (at, row) in rows.iter().enumerate() {
            if let Some(rule) = rule.filter(|&rule| at == headers && at > 0 && rule < row.line) {
                go_to(&mut text, rule);
                push_rule(&mut text, rows[at - 1].cells.len());
                header_end = text.len();
            }
            go_to(&mut text, row.line);
            let start = text.len();
            push_row(&mut text, row.cells.iter().map(String::as_str));
            if at < headers {
                header_end = text.len();
            } else {
                places.push(Span::new(start, text.len()));
            }
        }
        let first = text.len() - text.trim_start_matches('\n').len();
        let is_dense = !text[first.max(header_end)..].trim_matches('\n').contains("\n\n");
        self.prefix.clear();
        let span = self.write(count, &text);
        let base = span.start;
        let shift = |place: Span| Span::new(base + place.start, base + place.end);
        self.blocks.push_block(Block {
            kind: BlockKind::Table {
                header: shift(Span::new(first, header_end.max(first))),
                rows: if is_dense { Vec::new() } else { places.into_iter().map(shift).collect() },
            },
            span: Span::new(base + first, base + text.len()),
            heading: self.sections.path().to_vec(),
            lines: None,
            pages: None,
        });
    }

    fn write(&mut self, count: usize, text: &str) -> Span {
        let start = self.text.len();
        self.text.push_str(&std::mem::take(&mut self.prefix));
        let count = count.min(self.ahead().take(count).count());
        let mut lines = text.split('\n');
        let mut written = 0;
        for line in lines.by_ref().take(count) {
            self.text.push_str(line);
            self.text.push('\n');
            written += 1;
        }
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let end = self.text.trim_end_matches('\n').len();
            self.text.insert_str(end, &format!(" {line}"));
        }
        let end = self.text.len();
        self.pass(count);
        for _ in written..count {
            self.text.push('\n');
        }
        Span::new(start, end)
    }

    fn pass(&mut self, count: usize) {
        for _ in 0..count {
            let Some(line) = self.line() else { return };
            self.rest = self.rest.get(line.len() + 1..).unwrap_or("");
        }
    }

    /// Puts what was read into the document.
    pub fn finish(mut self, document: &mut Document) {
        // What was announced and had nothing after it still stands in the source.
        if !self.prefix.trim().is_empty() {
            let start = self.text.len();
            self.text.push_str(&std::mem::take(&mut self.prefix));
            self.blocks.push(&self.text, BlockKind::Paragraph, Span::new(start, self.text.len()), self.sections.path());
        }
        let fact = |key: &str| self.metadata.get(key).cloned();
        document.title = fact("title").or_else(|| self.sections.title());
        document.author = fact("author").or_else(|| fact("authors"));
        document.metadata.append(&mut self.metadata);
        document.text = self.text;
        document.blocks = self.blocks.into_list();
    }

    /// Keeps a fact about the document.
    pub fn fact(&mut self, key: &str, value: &str) {
        if let (Some(key), Some(value)) = (title(key), title(value))
            && self.metadata.len() < MAX_FACTS
        {
            self.metadata.entry(key.to_lowercase()).or_insert(value);
        }
    }
}

/// Most facts kept of a document.
const MAX_FACTS: usize = 64;

/// Columns before the first character that is no blank.
pub fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// A line of one sign, repeated.
pub fn is_ruled(line: &str, sign: char, at_least: usize) -> bool {
    let line = line.trim_end();
    line.len() >= at_least && line.chars().all(|letter| letter == sign)
}

/// Drops text, but not its line ends.
pub fn push_line_ends(out: &mut String, dropped: &str) {
    out.extend(dropped.chars().filter(|&letter| letter == '\n'));
}
