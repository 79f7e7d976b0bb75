//! Text inside a paragraph of reStructuredText: links and roles keep their words.

use super::Substitutions;
use crate::ingest::extract::lined::push_line_ends;

/// Longest text that is put in for a name.
const MAX_SUBSTITUTE_BYTES: usize = 200;

/// Most names that stand for a text.
const MAX_SUBSTITUTES: usize = 1000;

/// Longest thing between backquotes; longer ones are quotes that were never closed.
const MAX_QUOTED_BYTES: usize = 1000;

pub struct Inline<'a> {
    substitutions: Substitutions<'a>,
    /// Bytes that may still be put in, so that a text cannot grow without bound.
    budget: usize,
}

impl<'a> Inline<'a> {
    /// Finds the substitution texts (`.. |name| replace:: text`) of the whole source.
    pub fn new(source: &'a str) -> Self {
        let mut substitutions = Substitutions::new();
        for line in source.split('\n').filter(|line| line.starts_with(".. |")) {
            let Some((name, rest)) = line[4..].split_once('|') else { continue };
            // A picture says nothing in a text.
            let text = match rest.trim_start().strip_prefix("replace::") {
                None if rest.contains("image::") => "",
                None => continue,
                Some(text) => text.trim(),
            };
            if text.len() <= MAX_SUBSTITUTE_BYTES && substitutions.len() < MAX_SUBSTITUTES {
                substitutions.insert(name, text);
            }
        }
        Self { substitutions, budget: source.len() }
    }

    /// The words of a text on one line, without any marks: for a heading.
    pub fn plain(&mut self, text: &str) -> String {
        self.read(text).replace(['`', '*'], "").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The text with as many line ends as before.
    pub fn read(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['`', ':', '_', '|', '\\']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let taken = self.mark(rest, &mut out);
            rest = &rest[taken..];
        }
        out.push_str(rest);
        out
    }

    /// Reads what begins with a mark, and says how long it is.
    fn mark(&mut self, rest: &str, out: &mut String) -> usize {
        if let Some(literal) = rest.strip_prefix("``") {
            // As in Markdown, one backquote is enough.
            if let Some(end) = find(literal, "``").filter(|&end| end > 0) {
                out.push('`');
                out.push_str(&literal[..end]);
                out.push('`');
                return end + 4;
            }
            out.push_str("``");
            return 2;
        }
        if let Some(role) = rest.strip_prefix(':') {
            let end = role.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '+')));
            if let Some(end) = end.filter(|&end| end > 1 && role[..end].ends_with(':') && role[end..].starts_with('`'))
            {
                return 1 + end + self.quoted(&role[end..], Some(&role[..end - 1]), out);
            }
            out.push(':');
            return 1;
        }
        if rest.starts_with('`') {
            return self.quoted(rest, None, out);
        }
        if let Some(escaped) = rest.strip_prefix('\\') {
            // An escaped blank joins two words; any other escaped sign stands for itself.
            return match escaped.chars().next() {
                Some(' ') => 2,
                Some(sign) if sign.is_ascii_punctuation() => {
                    out.push(sign);
                    1 + sign.len_utf8()
                }
                _ => {
                    out.push('\\');
                    1
                }
            };
        }
        if let Some(after) = rest.strip_prefix('_') {
            // `word_`, `word__`, `[1]_`: the mark of a link, at the end of a word.
            let more = after.len() - after.trim_start_matches('_').len();
            let ends_word = after[more..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '`');
            let follows_word = out.ends_with(|c: char| c.is_alphanumeric() || c == ']');
            if !(ends_word && follows_word && more <= 1) {
                out.push_str(&rest[..1 + more]);
            }
            return 1 + more;
        }
        if let Some(name) = rest.strip_prefix('|')
            && let Some(end) = name.find('|').filter(|&end| end > 0 && end < 100)
            && let Some(text) = self.substitutions.get(&name[..end])
            && self.budget >= text.len()
        {
            self.budget -= text.len();
            out.push_str(text);
            // The substitute may be a link.
            return end + 2 + usize::from(name[end + 1..].starts_with('_'));
        }
        out.push('|');
        1
    }

    /// `` `text <target>`_ ``, `` `text`_ ``, `` :role:`text` ``: the text.
    fn quoted(&self, rest: &str, role: Option<&str>, out: &mut String) -> usize {
        let inner = &rest[1..];
        let Some(end) = find(inner, "`").filter(|&end| end > 0) else {
            out.push('`');
            return 1;
        };
        let (body, after) = (&inner[..end], &inner[end + 1..]);
        let link = after.len() - after.trim_start_matches('_').len();
        let is_link = link == 1 || link == 2;
        let named = body.rfind('<').filter(|&at| body.trim_end().ends_with('>') && at > 0);
        let is_code = role.is_some_and(|role| matches!(role, "math" | "code" | "kbd" | "command" | "file" | "samp"));
        match named {
            Some(at) if (is_link || role.is_some()) && !is_code => {
                let words = body[..at].trim_end();
                out.push_str(words);
                push_line_ends(out, &body[words.len()..]);
            }
            _ if role.is_some() && !is_code => out.push_str(body.trim_start_matches(['~', '!'])),
            _ if is_link => out.push_str(body),
            _ => {
                out.push('`');
                out.push_str(body);
                out.push('`');
            }
        }
        end + 2 + if is_link { link } else { 0 }
    }
}

/// Where a mark is, if it is near and in the same paragraph.
fn find(text: &str, mark: &str) -> Option<usize> {
    let near = &text[..text.floor_char_boundary(MAX_QUOTED_BYTES.min(text.len()))];
    near.find(mark).filter(|&end| !near[..end].contains("\n\n"))
}
