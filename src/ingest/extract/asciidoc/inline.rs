//! Text inside a paragraph of AsciiDoc: links and macros keep their words, attributes their values.

use std::collections::HashMap;

use crate::ingest::extract::lined::push_line_ends;

/// Longest value that is put in for a name.
const MAX_VALUE_BYTES: usize = 200;

/// Most attributes whose values are known.
const MAX_ATTRIBUTES: usize = 1000;

/// Longest target of a link and longest text in its brackets.
const MAX_LINK_BYTES: usize = 400;

pub struct Inline<'a> {
    attributes: HashMap<&'a str, &'a str>,
    /// Bytes that may still be put in, so that a text cannot grow without bound.
    budget: usize,
}

impl<'a> Inline<'a> {
    pub fn new(budget: usize) -> Self {
        Self { attributes: HashMap::new(), budget }
    }

    pub fn define(&mut self, name: &'a str, value: &'a str) {
        if value.len() <= MAX_VALUE_BYTES && self.attributes.len() < MAX_ATTRIBUTES {
            self.attributes.insert(name, value);
        }
    }

    /// The words of a heading.
    pub fn plain(&mut self, text: &str) -> String {
        self.read(text).replace(['`', '*'], "").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The text with as many line ends as before.
    pub fn read(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['[', '<', '{', ' ']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let taken = self.mark(rest, &mut out);
            rest = &rest[taken..];
        }
        out.push_str(rest);
        if out.ends_with(" +") {
            out.truncate(out.len() - 2);
        }
        out
    }

    fn mark(&mut self, rest: &str, out: &mut String) -> usize {
        let near = &rest[..rest.floor_char_boundary(MAX_LINK_BYTES.min(rest.len()))];
        match rest.as_bytes() {
            [b' ', b'+', b'\n', ..] => {
                // A line end that is kept as one.
                return 2;
            }
            [b'<', b'<', ..] => {
                if let Some(end) = near.find(">>").filter(|&end| end > 2 && !near[..end].contains("\n\n")) {
                    let inside = &near[2..end];
                    let words = inside.split_once(',').map_or(inside, |(_, words)| words.trim_start());
                    push_line_ends(out, &inside[..inside.len() - words.len()]);
                    out.push_str(words);
                    return end + 2;
                }
            }
            [b'{', ..] => {
                let end = near.find('}').unwrap_or(0);
                if let Some(value) = near.get(1..end).and_then(|name| self.attributes.get(name))
                    && self.budget >= value.len()
                {
                    self.budget -= value.len();
                    out.push_str(value);
                    return end + 1;
                }
            }
            [b'[', b'[', ..] => {
                // An anchor.
                let end = near.find("]]").unwrap_or(0);
                if near.get(2..end).is_some_and(|name| !name.is_empty() && !name.contains([' ', '\n', '['])) {
                    return end + 2;
                }
            }
            [b'[', ..] => {
                if let Some(taken) = macro_text(near, out) {
                    return taken;
                }
                // A role: `[.name]#words#`.
                if let Some((role, after)) = near[1..].split_once(']')
                    && role.starts_with(['.', '#'])
                    && after.starts_with('#')
                {
                    return role.len() + 2;
                }
            }
            _ => {}
        }
        let sign = rest.chars().next().unwrap_or(' ');
        out.push(sign);
        sign.len_utf8()
    }
}

/// What a macro says that ends before this bracket: `link:target[words]`, `https://…[words]`, `image::x[words]`.
fn macro_text(near: &str, out: &mut String) -> Option<usize> {
    let end = near.find(']').filter(|&end| !near[..end].contains("\n\n"))?;
    let words = near[1..end].trim_matches('"');
    let window = out.floor_char_boundary(out.len().saturating_sub(MAX_LINK_BYTES));
    let from = out[window..]
        .rfind(|c: char| c.is_whitespace() || matches!(c, '(' | '|' | ',' | '"'))
        .map_or(window, |at| window + at + out[window + at..].chars().next().map_or(1, char::len_utf8));
    let target = &out[from..];
    if !target.contains(':') {
        return None;
    }
    let names = [
        "link:",
        "xref:",
        "mailto:",
        "image:",
        "icon:",
        "kbd:",
        "btn:",
        "menu:",
        "footnote:",
        "stem:",
        "pass:",
        "latexmath:",
        "asciimath:",
        "video:",
        "audio:",
        "anchor:",
        "footnoteref:",
        "indexterm:",
        "term:",
    ];
    let url = ["http://", "https://", "ftp://", "irc://"].iter().filter_map(|scheme| target.find(scheme)).min();
    let (at, name) = match url {
        Some(at) => (at, "link:"),
        None => names.iter().filter_map(|name| target.find(name).map(|at| (at, *name))).min()?,
    };
    let word = target[at + if url.is_some() { 0 } else { name.len() }..].trim_start_matches(':').to_owned();
    // In pictures and links the first value is the text; the others are about its looks.
    let first = if words.contains('=') { words.split(',').next().unwrap_or("") } else { words };
    let first = if first.contains('=') && !matches!(name, "stem:" | "latexmath:" | "asciimath:") { "" } else { first };
    let said = match name {
        "image:" | "icon:" | "video:" | "audio:" => first.split(',').next().unwrap_or("").to_owned(),
        "menu:" => format!("{word} > {words}"),
        "footnote:" | "footnoteref:" => format!(" ({words})"),
        "kbd:" | "btn:" | "stem:" | "pass:" | "latexmath:" | "asciimath:" | "indexterm:" | "term:" => words.to_owned(),
        "anchor:" => String::new(),
        _ if first.trim_end_matches('^').is_empty() => word,
        _ => first.trim_end_matches('^').to_owned(),
    };
    out.truncate(from + at);
    out.push_str(&said);
    let missing = near[1..end].matches('\n').count().saturating_sub(said.matches('\n').count());
    out.extend(std::iter::repeat_n('\n', missing));
    Some(end + 1)
}
