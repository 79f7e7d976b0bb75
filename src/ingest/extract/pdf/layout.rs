//! Clean pages into blocks: headings, paragraphs, lists and tables, with the pages they stand on.
//!
//! A page is lines in reading order, with a blank line between paragraphs. Lines that run on are joined; a sentence that
//! runs on over the end of a page becomes one block of two pages.

use super::{
    engine::Page,
    headings::{self, Headings},
    outline::Bookmark,
    quality::is_ideographic,
    tidy::hyphens::{self, Vocabulary},
};
use crate::{
    ingest::{
        document::BlockKind,
        extract::blocks::{From, Rendered},
    },
    types::Pages,
};

/// Body size of an engine that gives levels of headings and no sizes.
pub const UNIT: f32 = 10.0;

/// Longest block that a next page is joined to, in bytes.
const MAX_JOINED_BYTES: usize = 32 << 10;

/// Fewest rows of a table.
const MIN_ROWS: usize = 2;

/// What is written between the cells of a row, as in every other table.
const CELL_MARK: &str = " | ";

/// A block that may still grow.
struct Open {
    kind: BlockKind,
    text: String,
    /// Of a table: bytes of `text` that are its header.
    header: usize,
    heading: Vec<String>,
    pages: Pages,
    /// Last line as it was set.
    last_line: String,
}

/// Writes all pages into `out`.
pub fn write(pages: &[Page], bookmarks: &[Bookmark], out: &mut Rendered) {
    let vocabulary = Vocabulary::of(pages.iter().map(|page| page.text.as_str()));
    let mut writer = Writer { out, open: None, path: Vec::new(), vocabulary, usual: 0 };
    let headings = Headings::of(pages, bookmarks);
    for (number, page) in (1u32..).zip(pages) {
        writer.page(number, page, &headings);
    }
    writer.close();
}

struct Writer<'a> {
    out: &'a mut Rendered,
    open: Option<Open>,
    /// Headings in force, with their levels.
    path: Vec<(u8, String)>,
    vocabulary: Vocabulary,
    /// Length of full lines of the page.
    usual: usize,
}

impl Writer<'_> {
    fn page(&mut self, number: u32, page: &Page, headings: &Headings) {
        let lines: Vec<&str> = page.text.lines().collect();
        let marks = headings.of_page(number, page, &lines);
        self.usual = usual_length(&lines);
        let mut is_top = true;
        let mut at = 0;
        for mark in &marks {
            self.lines(number, lines.get(at..mark.first).unwrap_or(&[]), &mut is_top);
            at = mark.end.max(at);
            self.heading(number, mark);
            is_top &= mark.first == mark.end;
        }
        self.lines(number, lines.get(at..).unwrap_or(&[]), &mut is_top);
    }

    /// A heading of the page, or one that only takes effect here.
    fn heading(&mut self, number: u32, mark: &headings::Mark) {
        let is_set = mark.first < mark.end;
        if is_set {
            self.close();
        }
        while self.path.last().is_some_and(|(level, _)| *level >= mark.level) {
            self.path.pop();
        }
        self.path.push((mark.level, mark.title.clone()));
        if is_set {
            self.begin(BlockKind::Heading(mark.level), number, mark.text.clone());
            self.close();
        }
    }

    fn lines(&mut self, number: u32, lines: &[&str], is_top: &mut bool) {
        let mut at = 0;
        while at < lines.len() {
            let blank = lines.get(at..).unwrap_or(&[]).iter().take_while(|line| line.trim().is_empty()).count();
            at += blank;
            let rest = lines.get(at..).unwrap_or(&[]);
            let count = rest.iter().take_while(|line| !line.trim().is_empty()).count();
            if count == 0 {
                break;
            }
            self.group(number, rest.get(..count).unwrap_or(&[]), *is_top);
            *is_top = false;
            at += count;
        }
    }

    /// Lines without a blank line between them.
    fn group(&mut self, number: u32, lines: &[&str], is_top: bool) {
        let mut may_go_on = is_top;
        let mut at = 0;
        while let Some(rest) = lines.get(at..).filter(|rest| !rest.is_empty()) {
            let rows = table_rows(rest);
            if rows > 0 {
                self.table(number, rest.get(..rows).unwrap_or(&[]));
                at += rows;
            } else {
                let until = (1..rest.len()).find(|&next| {
                    table_rows(rest.get(next..).unwrap_or(&[])) > 0 || rest.get(next).is_some_and(|line| is_item(line))
                });
                let count = until.unwrap_or(rest.len());
                self.prose(number, rest.get(..count).unwrap_or(&[]), may_go_on);
                at += count;
            }
            may_go_on = false;
        }
    }

    fn table(&mut self, number: u32, rows: &[&str]) {
        let mut lines = rows.iter().map(|row| cells(row).join(CELL_MARK));
        // A header names columns: its cells are words.
        let has_header = rows.first().is_some_and(|row| cells(row).iter().all(|cell| is_name(cell)));
        let header = if has_header { lines.next().unwrap_or_default() } else { String::new() };
        let body: Vec<String> = lines.collect();
        self.close();
        let mut text = header.clone();
        if !header.is_empty() && !body.is_empty() {
            text.push('\n');
        }
        text.push_str(&body.join("\n"));
        let kind = BlockKind::Table { header: crate::types::Span::new(0, 0), rows: Vec::new() };
        self.begin(kind, number, text);
        if let Some(open) = &mut self.open {
            open.header = header.len();
        }
        self.close();
    }

    fn prose(&mut self, number: u32, lines: &[&str], is_top: bool) {
        let Some((first, rest)) = lines.split_first() else { return };
        let kind = if is_item(first) { BlockKind::List } else { BlockKind::Paragraph };
        let full = lines.iter().map(|line| line.trim().chars().count()).max().unwrap_or(0).max(self.usual);
        if is_top && self.goes_on(first) {
            self.append(first, full);
            if let Some(open) = &mut self.open {
                open.pages.last = number;
            }
        } else if matches!((&self.open, &kind), (Some(open), BlockKind::List) if open.kind == BlockKind::List && open.pages.last == number)
        {
            self.append_line(first);
        } else {
            self.close();
            self.begin(kind, number, first.trim().to_owned());
        }
        for line in rest {
            self.append(line, full);
        }
    }

    fn begin(&mut self, kind: BlockKind, number: u32, text: String) {
        let heading = self.path.iter().map(|(_, title)| title.clone()).collect();
        let last_line = text.clone();
        let pages = Pages { first: number, last: number };
        self.open = Some(Open { kind, text, header: 0, heading, pages, last_line });
    }

    /// Appends a line to the open block: to its last line if that runs on, `full` being the length of full lines.
    fn append(&mut self, line: &str, full: usize) {
        let Some(open) = &mut self.open else { return };
        let line = line.trim();
        if !hyphens::join(&mut open.text, line, &self.vocabulary) {
            if runs_on(&open.last_line, line, full) {
                if needs_space(&open.text, line) {
                    open.text.push(' ');
                }
            } else {
                open.text.push('\n');
            }
            open.text.push_str(line);
        }
        line.clone_into(&mut open.last_line);
    }

    fn append_line(&mut self, line: &str) {
        let Some(open) = &mut self.open else { return };
        open.text.push('\n');
        open.text.push_str(line.trim());
        line.trim().clone_into(&mut open.last_line);
    }

    /// Whether the sentence of the open block, which ended a page, goes on with `line`, which begins the next.
    fn goes_on(&self, line: &str) -> bool {
        let Some(open) = &self.open else { return false };
        let is_prose = matches!(open.kind, BlockKind::Paragraph | BlockKind::List);
        let heading: Vec<&String> = self.path.iter().map(|(_, title)| title).collect();
        let line = line.trim();
        is_prose
            && open.text.len() < MAX_JOINED_BYTES
            && open.heading.iter().eq(heading)
            && open.text.chars().filter(|c| c.is_alphabetic()).nth(20).is_some()
            && !ends_sentence(&open.last_line)
            && line.starts_with(|c: char| c.is_lowercase() || is_ideographic(c))
            && !is_item(line)
            && cells(line).len() == 1
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let from = From { heading: &open.heading, lines: None, page: Some(open.pages.first) };
        if matches!(open.kind, BlockKind::Table { .. }) {
            let (header, body) = open.text.split_at(open.header);
            self.out.table(from, header, body.trim_start_matches('\n'));
        } else {
            self.out.block(open.kind, from, &open.text);
        }
        if open.pages.last > open.pages.first {
            self.out.extend_to_page(open.pages.last);
        }
    }
}

/// Length that a quarter of the lines reach.
fn usual_length(lines: &[&str]) -> usize {
    let mut lengths: Vec<usize> = lines.iter().map(|line| line.trim().chars().count()).filter(|n| *n > 0).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() * 3 / 4).copied().unwrap_or(0)
}

/// Cells of a line: what stands two spaces or a tab apart.
fn cells(line: &str) -> Vec<&str> {
    line.trim().split("  ").flat_map(|part| part.split('\t')).map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// How many of the first lines are rows of a table; 0 if they are none.
fn table_rows(lines: &[&str]) -> usize {
    let rows = lines.iter().take_while(|line| cells(line).len() >= 2).count();
    if rows < MIN_ROWS { 0 } else { rows }
}

/// A cell that names a column or a row, rather than giving a value.
fn is_name(cell: &str) -> bool {
    let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
    let digits = cell.chars().filter(|c| c.is_numeric()).count();
    letters > digits
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let mut letters = line.chars();
    if letters.next().is_some_and(|c| {
        matches!(
            c,
            '•' | '◦'
                | '▪'
                | '▫'
                | '■'
                | '□'
                | '●'
                | '○'
                | '‣'
                | '⁃'
                | '∙'
                | '·'
                | '–'
                | '-'
                | '*'
                | '➢'
                | '✓'
                | '\u{f0b7}'
                | '\u{f0a7}'
        )
    }) {
        return letters.next().is_some_and(char::is_whitespace) && letters.next().is_some();
    }
    let Some((mark, rest)) = line.split_once(char::is_whitespace) else { return false };
    let bare = mark.trim_start_matches('(');
    let Some(number) = bare.strip_suffix(['.', ')']) else { return false };
    let is_number = !number.is_empty() && number.len() <= 3 && number.chars().all(|c| c.is_ascii_digit());
    let is_letter = number.len() == 1 && number.chars().all(|c| c.is_ascii_lowercase());
    (is_number || (is_letter && (mark.starts_with('(') || mark.ends_with(')')))) && !rest.trim().is_empty()
}

/// Whether the sentence of a line is at its end.
fn ends_sentence(line: &str) -> bool {
    let line = line.trim_end().trim_end_matches(['"', '\'', '”', '’', '»', ')', ']', '」', '』']);
    line.ends_with(['.', '!', '?', ':', ';', '…', '。', '！', '？', '：', '؟', '۔', '।'])
}

/// Whether `next` carries on the line before it: that line is about full, or the next goes on in small letters.
fn runs_on(line: &str, next: &str, full: usize) -> bool {
    let length = line.trim().chars().count();
    if cells(line).len() > 1 || cells(next).len() > 1 {
        return false;
    }
    let goes_on = next.starts_with(char::is_lowercase) && !ends_sentence(line);
    length * 10 >= full * 7 || (goes_on && length * 10 >= full * 4)
}

/// Chinese and Japanese run on without a space.
fn needs_space(before: &str, next: &str) -> bool {
    let is_tight = |c: char| is_ideographic(c) && !matches!(c, '\u{ac00}'..='\u{d7af}');
    !(before.ends_with(char::is_whitespace) || before.ends_with(is_tight) && next.starts_with(is_tight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::document::Document;

    /// Blocks as kind, first page, last page, text.
    fn check(pages: &[&str], want: &[(&str, u32, u32, &str)]) {
        let pages: Vec<Page> = pages.iter().map(|text| Page { text: (*text).into(), ..Page::default() }).collect();
        let mut out = Rendered::new(1 << 20);
        write(&pages, &[], &mut out);
        let mut document = Document::default();
        out.finish(&mut document).expect("small");
        assert_eq!(document.check(), Ok(()));
        let found: Vec<(&str, u32, u32, &str)> = document
            .blocks
            .iter()
            .map(|block| {
                let kind = match block.kind {
                    BlockKind::Heading(_) => "heading",
                    BlockKind::Paragraph => "paragraph",
                    BlockKind::List => "list",
                    BlockKind::Table { .. } => "table",
                    BlockKind::Quote | BlockKind::Fence | BlockKind::Code | BlockKind::Record => "other",
                };
                let pages = block.pages.unwrap_or(Pages { first: 0, last: 0 });
                (kind, pages.first, pages.last, &document.text[block.span.range()])
            })
            .collect();
        assert_eq!(found, want);
    }

    #[test]
    fn lines_that_run_on_are_joined() {
        check(
            &[
                "The pump is started when the valve\nis open and the oil is warm. Then\nit runs.\n\nJane Doe\n12 High Street\nLeeds LS1 4AB",
            ],
            &[
                ("paragraph", 1, 1, "The pump is started when the valve is open and the oil is warm. Then it runs."),
                ("paragraph", 1, 1, "Jane Doe\n12 High Street\nLeeds LS1 4AB"),
            ],
        );
        check(&["吾輩は猫である。名前は\nまだ無い。"], &[("paragraph", 1, 1, "吾輩は猫である。名前はまだ無い。")]);
        check(&["a hyphen cuts the con-\nsequence"], &[("paragraph", 1, 1, "a hyphen cuts the consequence")]);
    }

    #[test]
    fn a_sentence_goes_on_over_a_page_end() {
        let first = "Before it is started the operator reads the\nplate and writes down the number that";
        check(
            &[first, "stands on it.\n\nNext paragraph."],
            &[
                (
                    "paragraph",
                    1,
                    2,
                    "Before it is started the operator reads the plate and writes down the number that stands on it.",
                ),
                ("paragraph", 2, 2, "Next paragraph."),
            ],
        );
        for second in ["New sentence on a page.", "1. item of a list", "• point"] {
            let pages = [first, second].map(|text| Page { text: text.into(), ..Page::default() });
            let mut out = Rendered::new(1 << 20);
            write(&pages, &[], &mut out);
            let mut document = Document::default();
            out.finish(&mut document).expect("small");
            assert_eq!(document.blocks.len(), 2, "{second}");
        }
    }

    #[test]
    fn lists_and_tables() {
        check(
            &["Steps:\n1. Close the valve.\n2. Wait until the pressure\nis low.\n\n• one\n• two"],
            &[
                ("paragraph", 1, 1, "Steps:"),
                ("list", 1, 1, "1. Close the valve.\n2. Wait until the pressure is low.\n• one\n• two"),
            ],
        );
        check(
            &["Part     Torque\nM4       14 Nm\nM5       17 Nm\nA remark under it."],
            &[("table", 1, 1, "Part | Torque\nM4 | 14 Nm\nM5 | 17 Nm"), ("paragraph", 1, 1, "A remark under it.")],
        );
        check(&["Total      12"], &[("paragraph", 1, 1, "Total      12")]);
    }

    #[test]
    fn items_and_sentences() {
        for (line, want) in [
            ("• a", true),
            ("- a", true),
            ("1. a", true),
            ("(b) a", true),
            ("12) a", true),
            ("-5 degrees", false),
            ("2021 was", false),
            ("1.", false),
            ("e. g. this", false),
            ("A. Author", false),
        ] {
            assert_eq!(is_item(line), want, "{line}");
        }
        assert!(ends_sentence("so.”") && ends_sentence("。") && !ends_sentence("so,"));
    }
}
