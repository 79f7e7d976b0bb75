//! Reading a LaTeX source from start to end: commands, arguments, formulas.

use std::{cell::Cell, ops::Range};

/// Longest argument that is taken as a whole; a brace that is closed later closes nothing.
const MAX_ARGUMENT_BYTES: usize = 8 << 10;

/// Longest text of a `\verb`.
const MAX_VERB_BYTES: usize = 500;

/// Longest formula inside a line.
const MAX_FORMULA_BYTES: usize = 8 << 10;

/// Where the document stands: between `\begin{document}` and `\end{document}`, or all of it.
pub fn body(source: &str) -> Range<usize> {
    let Some(begin) = find_live(source, "\\begin{document}") else { return 0..source.len() };
    let start = begin + "\\begin{document}".len();
    let end = source[start..].rfind("\\end{document}").map_or(source.len(), |end| start + end);
    start..end
}

/// Where a command stands that is not in a comment.
fn find_live(source: &str, command: &str) -> Option<usize> {
    source.match_indices(command).map(|(at, _)| at).take(100).find(|&at| {
        let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
        !source[line..at].contains('%')
    })
}

/// The argument of the first use of a command.
pub fn argument_of<'a>(source: &'a str, command: &str) -> Option<&'a str> {
    let at = find_live(source, command)?;
    let mut scan = Scan::new(&source[at + command.len()..]);
    if scan.peek().is_some_and(char::is_alphabetic) {
        return None;
    }
    scan.take_options();
    let argument = scan.take_argument();
    (!argument.is_empty()).then_some(argument)
}

/// A formula without its labels.
pub fn without_labels(formula: &str) -> String {
    let mut out = String::with_capacity(formula.len());
    let mut rest = formula;
    while let Some(at) = rest.find("\\label{") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let line = rest.find('\n').unwrap_or(rest.len());
        let end = rest[..line].find('}').map_or("\\label{".len(), |end| end + 1);
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

pub struct Scan<'a> {
    rest: &'a str,
    /// Bytes that may still be looked at for a closing bracket in vain, so that brackets without end cost linear time.
    budget: Cell<usize>,
}

impl<'a> Scan<'a> {
    pub fn new(rest: &'a str) -> Self {
        Self { rest, budget: Cell::new(rest.len().saturating_mul(16) + MAX_ARGUMENT_BYTES) }
    }

    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub fn take(&mut self) {
        let length = self.peek().map_or(0, char::len_utf8);
        self.advance(length);
    }

    fn advance(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Takes `text`, if it is next.
    pub fn take_text(&mut self, text: &str) -> bool {
        let is_next = self.rest.starts_with(text);
        if is_next {
            self.advance(text.len());
        }
        is_next
    }

    /// To the end of the line, which is left.
    pub fn take_line_rest(&mut self) -> &'a str {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.advance(end)
    }

    /// Nothing but blanks stands before the next line end.
    pub fn is_blank_line(&self) -> bool {
        self.rest.trim_start_matches([' ', '\t']).starts_with('\n')
    }

    /// The name of a command, after its backslash: letters, or one other sign. A star is part of it.
    pub fn take_command(&mut self) -> &'a str {
        self.advance(1);
        let letters = self.rest.find(|c: char| !c.is_ascii_alphabetic() && c != '@').unwrap_or(self.rest.len());
        if letters == 0 {
            let length = self.peek().map_or(0, char::len_utf8);
            return self.advance(length);
        }
        let name = self.advance(letters);
        self.take_text("*");
        // The blank after a name only ends it; at the end of a line it is the line's.
        if self.rest.starts_with(' ') && !super::commands::is_accent(name) {
            let blanks = self.rest.len() - self.rest.trim_start_matches(' ').len();
            if super::commands::is_switch(name) {
                self.advance(blanks);
            }
        }
        name
    }

    /// Blanks and at most one line end.
    pub fn take_blanks(&mut self) -> &'a str {
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        let more = self.rest[blanks..]
            .strip_prefix('\n')
            .map(|rest| 1 + (rest.len() - rest.trim_start_matches([' ', '\t']).len()));
        self.advance(blanks + more.unwrap_or(0))
    }

    /// Every `[…]` that is next.
    pub fn take_options(&mut self) -> &'a str {
        let before = self.rest;
        let mut taken = 0;
        while let Some(length) = self.group(taken, b'[', b']') {
            taken += length;
        }
        self.rest = before;
        self.advance(taken)
    }

    /// What stands in the `[…]` that is next.
    pub fn take_option_words(&mut self) -> Option<&'a str> {
        let length = self.group(0, b'[', b']')?;
        let whole = self.advance(length);
        whole.get(1..whole.len() - 1)
    }

    /// What stands in the `{…}` that is next; empty if there is none.
    pub fn take_argument(&mut self) -> &'a str {
        let blanks = self.rest.len() - self.rest.trim_start_matches(' ').len();
        let Some(length) = self.group(blanks, b'{', b'}') else { return "" };
        let whole = self.advance(blanks + length);
        whole.get(blanks + 1..whole.len() - 1).unwrap_or("")
    }

    /// Up to `count` arguments, with options before, between and after them.
    pub fn take_arguments(&mut self, count: usize) -> &'a str {
        let mut taken = 0;
        let mut left = count;
        loop {
            let blanks = self.rest[taken..].len() - self.rest[taken..].trim_start_matches(' ').len();
            if let Some(length) =
                self.group(taken, b'[', b']').or_else(|| self.group(taken, b'(', b')').filter(|_| left > 0))
            {
                taken += length;
            } else if let Some(length) = self.group(taken + blanks, b'{', b'}').filter(|_| left > 0) {
                taken += blanks + length;
                left -= 1;
            } else {
                return self.advance(taken);
            }
        }
    }

    /// `{}` after a command that takes no argument.
    pub fn take_empty_argument(&mut self) {
        self.take_text("{}");
    }

    /// Length of the group that begins at `from` with `open`, if it is closed soon and in the same paragraph.
    fn group(&self, from: usize, open: u8, close: u8) -> Option<usize> {
        let bytes = self.rest.as_bytes().get(from..).filter(|_| self.budget.get() > 0)?;
        if bytes.first() != Some(&open) {
            return None;
        }
        let (mut depth, mut braces, mut at) = (0usize, 0usize, 0);
        while at < bytes.len().min(MAX_ARGUMENT_BYTES) {
            match bytes[at] {
                b'\\' => at += 1,
                byte if byte == open && (open == b'{' || braces == 0) => depth += 1,
                byte if byte == close && (open == b'{' || braces == 0) => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                b'{' => braces += 1,
                b'}' if braces == 0 => break,
                b'}' => braces -= 1,
                b'\n' if bytes.get(at + 1) == Some(&b'\n') => break,
                _ => {}
            }
            at += 1;
        }
        self.budget.set(self.budget.get().saturating_sub(at));
        None
    }

    /// A formula between dollar signs, which are part of it; a sign that is never closed is alone.
    pub fn take_formula(&mut self) -> &'a str {
        let mark = if self.rest.starts_with("$$") { "$$" } else { "$" };
        let limit = MAX_FORMULA_BYTES.min(self.rest.len()).min(self.budget.get());
        let near = &self.rest[..self.rest.floor_char_boundary(limit)];
        let mut at = mark.len();
        let bytes = near.as_bytes();
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'\n' if bytes.get(at + 1) == Some(&b'\n') => break,
                b'$' if near[at..].starts_with(mark) => return self.advance(at + mark.len()),
                _ => {}
            }
            at += 1;
        }
        self.budget.set(self.budget.get().saturating_sub(at));
        self.advance(mark.len())
    }

    /// Up to `end`, which is passed over; to the end of the source if it never comes.
    pub fn take_until(&mut self, end: &str) -> &'a str {
        let at = self.rest.find(end).unwrap_or(self.rest.len());
        let body = self.advance(at);
        self.take_text(end);
        body
    }

    /// Up to `end`, if it comes in the same paragraph and soon; else nothing.
    pub fn take_formula_until(&mut self, end: &str) -> &'a str {
        let limit = MAX_FORMULA_BYTES.min(self.rest.len()).min(self.budget.get());
        let near = &self.rest[..self.rest.floor_char_boundary(limit)];
        let near = near.find("\n\n").map_or(near, |paragraph| &near[..paragraph]);
        if let Some(at) = near.find(end) {
            let body = self.advance(at);
            self.take_text(end);
            return body;
        }
        self.budget.set(self.budget.get().saturating_sub(near.len()));
        ""
    }

    /// `\verb|text|`: what stands between two equal signs on a line.
    pub fn take_delimited(&mut self) -> &'a str {
        let Some(sign) = self.peek().filter(|sign| !sign.is_whitespace()) else { return "" };
        let near = &self.rest[..self.rest.floor_char_boundary(MAX_VERB_BYTES.min(self.rest.len()))];
        let line = near.find('\n').unwrap_or(near.len());
        let start = sign.len_utf8();
        let Some(end) = self.rest[start..line.max(start)].find(if sign == '{' { '}' } else { sign }) else { return "" };
        self.advance(start);
        let text = self.advance(end);
        self.take();
        text
    }

    /// The letter an accent stands on: `e`, `{e}`, `\i`.
    pub fn take_accented(&mut self) -> &'a str {
        let blanks = self.rest.len() - self.rest.trim_start_matches(' ').len();
        if self.rest[blanks..].starts_with('{') {
            return self.take_argument();
        }
        self.advance(blanks);
        if self.rest.starts_with("\\i") || self.rest.starts_with("\\j") {
            return self.advance(2);
        }
        let length = self.peek().filter(|letter| letter.is_alphabetic()).map_or(0, char::len_utf8);
        self.advance(length)
    }
}
