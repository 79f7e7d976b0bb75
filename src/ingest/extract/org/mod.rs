//! Org: headings by their stars, blocks between `#+BEGIN` and `#+END`, drawers, tables and lists.
//!
//! Comments, commented subtrees, property drawers and settings are left out; TODO words and tags stay in the text of a
//! heading and off its path. Nothing is included or run.

use std::collections::HashMap;

use super::{
    Extract, Input,
    lined::{Lined, Row, indent, push_line_ends},
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
};

/// Longest link.
const MAX_LINK_BYTES: usize = 500;

pub struct Org;

impl Extract for Org {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut reader = Reader { lined: Lined::new(&source), todo: todo_words(&source), unclosed: HashMap::new() };
        while let Some(line) = reader.lined.line() {
            reader.read(line);
        }
        reader.lined.finish(&mut document);
        Ok(document)
    }
}

struct Reader<'a> {
    lined: Lined<'a>,
    /// Words that say how far a task is.
    todo: Vec<&'a str>,
    /// The lines that were left when a block of a name was looked through in vain: its end is not in them.
    unclosed: HashMap<String, usize>,
}

const TODO_WORDS: &[&str] = &[
    "TODO",
    "DONE",
    "NEXT",
    "WAITING",
    "WAIT",
    "HOLD",
    "CANCELLED",
    "CANCELED",
    "STARTED",
    "SOMEDAY",
    "INPROGRESS",
    "DOING",
    "PROJ",
    "KILL",
    "FIXME",
];

/// The usual words and those that a `#+TODO:` line names.
fn todo_words(source: &str) -> Vec<&str> {
    let mut words = TODO_WORDS.to_vec();
    for (key, value) in source.lines().filter_map(|line| keyword(line.trim())).take(1000) {
        if ["todo", "seq_todo", "typ_todo"].iter().any(|name| key.eq_ignore_ascii_case(name)) {
            let named = value.split_whitespace().map(|word| word.split('(').next().unwrap_or(word));
            words.extend(named.filter(|word| *word != "|").take(50));
        }
    }
    words.truncate(200);
    words
}

impl<'a> Reader<'a> {
    fn read(&mut self, line: &'a str) {
        let bare = line.trim();
        if bare.is_empty() {
            return self.lined.skip(1);
        }
        if let Some(level) = stars(line) {
            return self.heading(line, level);
        }
        if bare == "#" || bare.starts_with("# ") || is_drawer_end(bare) {
            return self.lined.skip(1);
        }
        if let Some((key, value)) = keyword(bare) {
            return self.keyword(bare, &key.to_ascii_lowercase(), value);
        }
        if bare.eq_ignore_ascii_case(":PROPERTIES:") || bare.eq_ignore_ascii_case(":LOGBOOK:") {
            let is_property = bare.eq_ignore_ascii_case(":PROPERTIES:");
            let inside = self.lined.ahead().skip(1).take_while(|line| {
                let line = line.trim();
                stars(line).is_none() && !is_drawer_end(line) && (!is_property || line.starts_with(':'))
            });
            return self.lined.skip(1 + inside.count());
        }
        if is_drawer(bare) {
            // A drawer of one's own: its inside is text.
            return self.lined.skip(1);
        }
        if bare.len() >= 5 && bare.bytes().all(|byte| byte == b'-') {
            return self.lined.skip(1);
        }
        if bare == ":" || bare.starts_with(": ") {
            let count = self.lined.count(|line| line.trim() == ":" || line.trim_start().starts_with(": "));
            let lines = self.lined.lines(count).split('\n').map(|line| {
                let line = line.trim_start();
                line.strip_prefix(": ").or_else(|| line.strip_prefix(':')).unwrap_or(line)
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            return self.lined.block(count, BlockKind::Fence, &text);
        }
        if bare.starts_with('|') {
            return self.table();
        }
        self.paragraph(line);
    }

    fn heading(&mut self, line: &'a str, level: u8) {
        let full = line.trim_start_matches('*').trim();
        let mut words = full;
        let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
        if self.todo.contains(&first) {
            words = rest.trim_start();
        }
        if words.starts_with("[#") && words.get(3..4) == Some("]") {
            words = words[4..].trim_start();
        }
        if words == "COMMENT" || words.starts_with("COMMENT ") {
            // A subtree that is a comment.
            let inside = self.lined.ahead().skip(1).take_while(|line| stars(line).is_none_or(|inner| inner > level));
            return self.lined.skip(1 + inside.count());
        }
        let (before, tags) = words.rsplit_once(char::is_whitespace).unwrap_or(("", words));
        if tags.len() > 2 && tags.starts_with(':') && tags.ends_with(':') && !tags.contains("::") {
            words = before.trim_end();
        }
        let words = links(words);
        self.lined.heading(1, level, &words, &links(full));
    }

    fn keyword(&mut self, bare: &'a str, key: &str, value: &'a str) {
        if let Some(name) = key.strip_prefix("begin_") {
            return self.block(name, value);
        }
        match key {
            "title" | "author" | "date" | "language" | "description" | "keywords" | "filetags" | "subtitle"
            | "email" | "category" => {
                self.lined.fact(key, value.trim_matches(':'));
                self.lined.skip(1);
            }
            "caption" | "attr_caption" => self.lined.block(1, BlockKind::Paragraph, &links(value)),
            _ if bare.starts_with("#+") => self.lined.skip(1),
            _ => self.paragraph(bare),
        }
    }

    /// A block between `#+BEGIN_NAME` and `#+END_NAME`; one that is never closed is text.
    fn block(&mut self, name: &str, value: &'a str) {
        let end = format!("#+end_{name}");
        let is_end = |line: &str| line.trim().eq_ignore_ascii_case(&end);
        let is_literal = matches!(name, "src" | "example" | "latex" | "html" | "export" | "comment" | "ascii");
        if !is_literal {
            let word = match name {
                "note" => "Note",
                "warning" => "Warning",
                "tip" => "Tip",
                "important" => "Important",
                "caution" => "Caution",
                _ => return self.lined.skip(1),
            };
            return self.lined.announce(&format!("{word}: "));
        }
        // A heading ends every block.
        if self.unclosed.get(name).is_some_and(|&until| self.lined.left() > until) {
            return self.lined.skip(1);
        }
        let inside = self.lined.ahead().skip(1).take_while(|line| !is_end(line) && stars(line).is_none()).count();
        if !self.lined.ahead().nth(1 + inside).is_some_and(is_end) {
            let passed = self.lined.lines(1 + inside).len();
            self.unclosed.insert(name.to_owned(), self.lined.left().saturating_sub(passed));
            return self.lined.skip(1);
        }
        let is_seen =
            matches!(name, "src" | "example") || (name == "export" && value.trim().eq_ignore_ascii_case("ascii"));
        self.lined.skip(1);
        if is_seen {
            // A comma keeps a line from being a heading.
            let lines = self.lined.lines(inside).split('\n').map(|line| {
                line.strip_prefix(',')
                    .filter(|rest| rest.starts_with(['*', ',']) || rest.starts_with("#+"))
                    .unwrap_or(line)
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            self.lined.block(inside, BlockKind::Fence, &text);
        } else {
            self.lined.skip(inside);
        }
        self.lined.skip(1);
    }

    fn table(&mut self) {
        let count = self.lined.count(|line| line.trim_start().starts_with('|'));
        let mut rows: Vec<Row> = Vec::new();
        let (mut headers, mut rule) = (0, None);
        for (at, line) in self.lined.ahead().take(count).enumerate() {
            let bare = line.trim();
            if bare.starts_with("|-") {
                if headers == 0 && !rows.is_empty() {
                    (headers, rule) = (rows.len(), Some(at));
                }
                continue;
            }
            let inside = bare.trim_start_matches('|');
            let inside = inside.strip_suffix('|').unwrap_or(inside);
            let cells: Vec<String> = links(inside).split('|').map(|cell| cell.trim().to_owned()).collect();
            // Widths and alignments: `<10>`, `<r>`.
            let is_width =
                |cell: &String| cell.is_empty() || (cell.starts_with('<') && cell.ends_with('>') && cell.len() < 6);
            if !cells.iter().all(is_width) || cells.iter().all(String::is_empty) {
                rows.push(Row { line: at, cells });
            }
        }
        if rows.is_empty() {
            return self.lined.skip(count);
        }
        self.lined.table(count, &rows, headers, rule);
    }

    fn paragraph(&mut self, line: &'a str) {
        let depth = indent(line);
        let is_list = is_item(line);
        let (mut count, mut blank) = (0, 0);
        for (at, line) in self.lined.ahead().enumerate() {
            let bare = line.trim();
            if bare.is_empty() {
                blank += 1;
                continue;
            }
            let is_other = stars(line).is_some()
                || keyword(bare).is_some()
                || bare.starts_with('|')
                || bare == "#"
                || bare.starts_with("# ")
                || is_drawer(bare)
                || bare == ":"
                || bare.starts_with(": ");
            // One blank line does not end a list.
            let goes_on = blank == 0 || (is_list && blank == 1 && (is_item(line) || indent(line) > depth));
            if at > 0 && (is_other || !goes_on || (!is_list && is_item(line))) {
                break;
            }
            (count, blank) = (at + 1, 0);
        }
        let text = links(self.lined.lines(count.max(1)));
        self.lined.block(count.max(1), if is_list { BlockKind::List } else { BlockKind::Paragraph }, &text);
    }
}

/// How deep a heading is: stars at the start of the line, and a blank.
fn stars(line: &str) -> Option<u8> {
    let rest = line.trim_start_matches('*');
    let level = line.len() - rest.len();
    (level > 0 && rest.starts_with(' ')).then(|| u8::try_from(level).unwrap_or(u8::MAX))
}

/// `#+key: value`, `#+BEGIN_NAME value`.
fn keyword(bare: &str) -> Option<(&str, &str)> {
    let rest = bare.strip_prefix("#+")?;
    let end = rest.find([':', ' ', '[']).unwrap_or(rest.len());
    let value = rest[end..].trim_start_matches(|c: char| c != ':' && c != ' ');
    (end > 0).then(|| (&rest[..end], value.trim_start_matches(':').trim()))
}

/// `:NAME:`, the first line of a drawer, or its last.
fn is_drawer(bare: &str) -> bool {
    let name = bare.strip_prefix(':').and_then(|rest| rest.strip_suffix(':')).unwrap_or("");
    !name.is_empty() && !name.contains([' ', ':'])
}

fn is_drawer_end(bare: &str) -> bool {
    bare.eq_ignore_ascii_case(":END:")
}

fn is_item(line: &str) -> bool {
    let bare = line.trim_start();
    if bare.starts_with("- ") || bare.starts_with("+ ") || (bare.starts_with("* ") && line.len() > bare.len()) {
        return true;
    }
    let digits = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.len() < bare.len() && (digits.starts_with(". ") || digits.starts_with(") "))
}

/// `[[target][words]]` as its words, `[[target]]` as its target. Line ends stay.
fn links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("[[") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let near = &rest[2..rest.floor_char_boundary(MAX_LINK_BYTES.min(rest.len()))];
        let Some(end) = near.find("]]").filter(|&end| end > 0 && !near[..end].contains("\n\n")) else {
            out.push_str("[[");
            rest = &rest[2..];
            continue;
        };
        let inside = &near[..end];
        let words = inside.split_once("][").map_or(inside, |(_, words)| words);
        push_line_ends(&mut out, &inside[..inside.len() - words.len()]);
        out.push_str(words.strip_prefix("file:").unwrap_or(words));
        rest = &rest[end + 4..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
