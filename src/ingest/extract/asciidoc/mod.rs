//! AsciiDoc: headings, delimited blocks, lists and tables by the signs their lines begin with.
//!
//! Comments, attributes and macros of the machinery are left out; attribute values are put in where they are named.
//! Nothing is included, and of what is conditional every branch is read.

mod inline;
mod table;

use super::{
    Extract, Input,
    lined::{Lined, indent, is_ruled},
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
};
use inline::Inline;

pub struct AsciiDoc;

impl Extract for AsciiDoc {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut reader = Reader {
            lined: Lined::new(&source),
            inline: Inline::new(source.len()),
            style: String::new(),
            in_header: true,
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
    /// The attribute list above the block at hand, without its brackets.
    style: String,
    /// Attributes are still facts about the document.
    in_header: bool,
}

/// A block between two equal lines.
#[derive(Clone, Copy, PartialEq)]
enum Delimited {
    /// Kept as it stands.
    Literal,
    /// Goes to the page as it is: not text, unless it is a formula.
    Raw,
    Comment,
    /// Its inside is read as text.
    Text,
}

fn delimited(line: &str) -> Option<Delimited> {
    let line = line.trim_end();
    Some(match line {
        _ if is_ruled(line, '-', 4) || is_ruled(line, '.', 4) => Delimited::Literal,
        _ if line.starts_with("```") && !line[3..].contains('`') => Delimited::Literal,
        _ if is_ruled(line, '+', 4) => Delimited::Raw,
        _ if is_ruled(line, '/', 4) => Delimited::Comment,
        "--" => Delimited::Text,
        _ if is_ruled(line, '=', 4) || is_ruled(line, '*', 4) || is_ruled(line, '_', 4) => Delimited::Text,
        _ => return None,
    })
}

impl<'a> Reader<'a> {
    fn read(&mut self, line: &'a str) {
        let bare = line.trim();
        if bare.is_empty() {
            self.in_header &= self.lined.sections.path().is_empty();
            return self.lined.skip(1);
        }
        if let Some((level, words)) = heading(line) {
            return self.heading(1, level, words);
        }
        if table::is_border(bare) {
            return self.table();
        }
        if let Some(block) = delimited(line) {
            return self.delimited(block, line);
        }
        if let Some(level) = self.lined.ahead().nth(1).and_then(|under| underlined(line, under)) {
            return self.heading(2, level, bare);
        }
        if self.is_machinery(bare) {
            return;
        }
        self.in_header = false;
        if let Some(title) = bare.strip_prefix('.').filter(|title| !title.starts_with([' ', '.']) && !title.is_empty())
        {
            let title = self.inline.read(title);
            return self.lined.block(1, BlockKind::Paragraph, &title);
        }
        self.paragraph(line, bare);
    }

    fn heading(&mut self, count: usize, level: u8, words: &'a str) {
        let words = self.inline.plain(words);
        let is_title = level == 1 && self.lined.sections.path().is_empty() && self.in_header;
        self.lined.heading(count, level, &words, &words);
        self.style.clear();
        self.in_header = is_title;
        if is_title {
            self.document_header();
        }
    }

    /// The lines right under the title: authors, and a revision.
    fn document_header(&mut self) {
        let is_fact = |line: &str| {
            let bare = line.trim();
            !bare.is_empty() && !bare.starts_with([':', '/', '=', '[', '.', '|', '*', '-']) && !bare.contains("::")
        };
        let Some(line) = self.lined.line().filter(|line| is_fact(line)) else { return };
        let is_author = |name: &str| {
            let words = name.split('<').next().unwrap_or("").split_whitespace().count();
            (1..=4).contains(&words) && !name.trim_end().ends_with('.')
        };
        if !line.split(';').all(is_author) {
            return;
        }
        let names: Vec<&str> =
            line.split(';').map(|name| name.split('<').next().unwrap_or("").trim()).filter(|n| !n.is_empty()).collect();
        self.lined.fact("author", &names.join(", "));
        self.lined.skip(1);
        if let Some(line) =
            self.lined.line().filter(|line| is_fact(line) && line.contains(|c: char| c.is_ascii_digit()))
        {
            self.lined.fact("revision", line);
            self.lined.skip(1);
        }
    }

    /// Passes over lines that say nothing to a reader, and remembers what they say about the next block.
    fn is_machinery(&mut self, bare: &'a str) -> bool {
        if bare.starts_with("//") && !bare.starts_with("///") {
            self.lined.skip(1);
            return true;
        }
        if let Some((name, value)) = attribute(bare) {
            if self.in_header && !name.starts_with('!') {
                self.lined.fact(name, value);
            }
            self.inline.define(name, value);
            self.lined.skip(1);
            return true;
        }
        if let Some(style) = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let is_list = style.is_empty()
                || style.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '#' | '%' | '[' | '"' | ','));
            if is_list && !style.contains("](") {
                self.attributes(style);
                return true;
            }
        }
        if let Some(directive) = preprocessor(bare) {
            // What is conditional may stand in the brackets.
            let inside = bare.split_once('[').map_or("", |(_, rest)| rest.trim_end_matches(']'));
            let is_text = matches!(directive, "ifdef" | "ifndef") && !inside.is_empty();
            let text = if is_text { self.inline.read(inside) } else { String::new() };
            self.lined.block(1, BlockKind::Paragraph, &text);
            return true;
        }
        if matches!(bare, "'''" | "<<<" | "***" | "---" | "- - -" | "* * *" | "+") {
            self.lined.skip(1);
            return true;
        }
        false
    }

    fn attributes(&mut self, style: &'a str) {
        let mut parts = style.split(',').map(str::trim);
        let kind = parts.next().unwrap_or("");
        match kind.to_ascii_lowercase().as_str() {
            "note" | "tip" | "important" | "warning" | "caution" => {
                let (first, rest) = kind.split_at(1);
                self.lined.announce(&format!("{}{}: ", first.to_uppercase(), rest.to_lowercase()));
            }
            "quote" | "verse" => {
                let by: Vec<&str> = parts.map(|part| part.trim_matches('"')).filter(|part| !part.is_empty()).collect();
                let by = if by.is_empty() { String::new() } else { format!("{}:", by.join(", ")) };
                self.lined.block(1, BlockKind::Paragraph, &by);
            }
            _ => self.lined.skip(1),
        }
        // An anchor says nothing about the block.
        if !style.starts_with('[') {
            self.style = style.to_ascii_lowercase();
        }
    }

    fn delimited(&mut self, block: Delimited, line: &'a str) {
        self.in_header = false;
        let style = std::mem::take(&mut self.style);
        let fence = line.trim_end();
        // A fence may name its language; it is closed by the bare one.
        let close = if fence.starts_with("```") { "```" } else { fence };
        let body = self.lined.ahead().skip(1).take_while(|line| line.trim_end() != close).count();
        let kind = match block {
            Delimited::Text => return self.lined.skip(1),
            Delimited::Comment => return self.lined.skip(body + 2),
            Delimited::Raw if !style.contains("math") && !style.contains("stem") => return self.lined.skip(body + 2),
            Delimited::Raw | Delimited::Literal => BlockKind::Fence,
        };
        self.lined.skip(1);
        if style.starts_with("comment") {
            return self.lined.skip(body + 1);
        }
        self.lined.verbatim(body, kind);
        self.lined.skip(1);
    }

    fn table(&mut self) {
        self.in_header = false;
        let style = std::mem::take(&mut self.style);
        let mut table = table::read(&self.lined, &style);
        for cell in table.rows.iter_mut().flat_map(|row| &mut row.cells) {
            *cell = self.inline.read(cell);
        }
        self.lined.table(table.lines, &table.rows, table.headers, None);
    }

    fn paragraph(&mut self, line: &'a str, bare: &'a str) {
        let style = std::mem::take(&mut self.style);
        let is_source = ["source", "listing", "literal"].iter().any(|kind| style.starts_with(kind));
        // An indented paragraph is a literal one, but for lists.
        if is_source || (indent(line) > 0 && !is_item(bare)) {
            let count = self.lined.count(|line| !line.trim().is_empty() && (is_source || delimited(line).is_none()));
            return self.lined.verbatim(count.max(1), BlockKind::Fence);
        }
        let is_list = is_item(bare);
        let (mut count, mut blank) = (0, 0);
        for (at, line) in self.lined.ahead().enumerate() {
            let bare = line.trim();
            if bare.is_empty() {
                blank += 1;
                continue;
            }
            let ends = at > 0
                && (heading(line).is_some()
                    || delimited(line).is_some()
                    || table::is_border(bare)
                    || bare == "+"
                    || preprocessor(bare).is_some()
                    || (bare.starts_with("//") && !bare.starts_with("///"))
                    || (bare.starts_with('[') && bare.ends_with(']') && blank_style(bare)));
            if ends || (blank > 0 && !(is_list && is_item(bare))) || (at > 0 && !is_list && is_item(bare)) {
                break;
            }
            (count, blank) = (at + 1, 0);
        }
        let text = self.inline.read(self.lined.lines(count.max(1)));
        let kind = if is_list {
            BlockKind::List
        } else if style.starts_with("quote") || style.starts_with("verse") {
            BlockKind::Quote
        } else {
            BlockKind::Paragraph
        };
        self.lined.block(count.max(1), kind, &text);
    }
}

/// The name of a line that is for the processor alone.
fn preprocessor(bare: &str) -> Option<&str> {
    let (name, _) = bare.split_once("::").filter(|_| bare.ends_with(']'))?;
    matches!(name, "include" | "ifdef" | "ifndef" | "ifeval" | "endif" | "toc").then_some(name)
}

/// An attribute list that ends the paragraph above it.
fn blank_style(bare: &str) -> bool {
    bare.starts_with("[[") || bare.starts_with("[source") || bare.starts_with("[#") || bare.starts_with("[.")
}

/// `== Words`, also with `#`; level 1 is the title of the document.
fn heading(line: &str) -> Option<(u8, &str)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '=' | '#'))?;
    let rest = line.trim_start_matches(sign);
    let level = u8::try_from(line.len() - rest.len()).ok().filter(|level| (1..=6).contains(level))?;
    let words = rest.strip_prefix([' ', '\t'])?.trim();
    let words = words.trim_end_matches(sign).trim_end();
    (!words.is_empty()).then_some((level, words))
}

/// The old form: words over a line of signs as long as they are.
fn underlined(words: &str, under: &str) -> Option<u8> {
    let (words, under) = (words.trim_end(), under.trim_end());
    let sign = under.chars().next()?;
    let level = match sign {
        '=' => 1,
        '-' => 2,
        '~' => 3,
        '^' => 4,
        '+' => 5,
        _ => return None,
    };
    let length = words.chars().count();
    let is_words = words.starts_with(|c: char| c.is_alphanumeric()) && !is_item(words);
    (is_words && is_ruled(under, sign, 2) && under.len().abs_diff(length) <= 1).then_some(level)
}

/// `:name: value` or `:!name:`.
fn attribute(bare: &str) -> Option<(&str, &str)> {
    let (name, value) = bare.strip_prefix(':')?.split_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '!'));
    (is_name && (value.is_empty() || value.starts_with(' ')))
        .then(|| (name, value.trim().trim_end_matches('\\').trim()))
}

/// Begins a list item: `*`, `-`, `.`, `1.`, `<1>`, `term::`.
fn is_item(bare: &str) -> bool {
    let marked = |sign: char| {
        let rest = bare.trim_start_matches(sign);
        (1..=5).contains(&(bare.len() - rest.len())) && rest.starts_with(' ')
    };
    if marked('*') || marked('.') || bare.starts_with("- ") {
        return true;
    }
    let number = bare.trim_start_matches('<');
    let digits = number.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() < number.len() && (digits.starts_with(". ") || (digits.starts_with("> ") && bare.starts_with('<')))
    {
        return true;
    }
    bare.ends_with("::") || bare.ends_with(";;") || bare.find(":: ").is_some_and(|at| at > 0 && at < 120)
}

#[cfg(test)]
mod tests;
