//! Program text and configuration without a grammar: cut where a line begins something with a name.
//!
//! Used for languages that have no grammar here, for generated and minified files, and where a grammar finds nothing. A
//! line that begins a function, a class or a section (`symbols`) opens a block, and takes along the
//! comments, attributes and decorators right above it. What stands inside a class is cut again, by indentation. The
//! heading is the path of names.

use super::symbols::{Family, symbol};
use crate::{
    ingest::{
        document::{Block, BlockKind},
        extract::{blocks::Blocks, clean::title},
    },
    types::Span,
};

/// Deepest nesting of names.
const MAX_DEPTH: usize = 6;

/// Columns of a tab.
const TAB: usize = 4;

/// A named thing whose block, or whose inside, is being read.
struct Open {
    indent: usize,
    name: String,
    is_container: bool,
}

pub fn blocks(text: &str, family: Family) -> Vec<Block> {
    let mut blocks = Blocks::default();
    let mut open: Vec<Open> = Vec::new();
    let mut heading: Vec<String> = Vec::new();
    // Where the block at work began, and where the comments began that stand right above the line at hand.
    let (mut start, mut above) = (0, None);
    let mut quote = Quote::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (line_start, bare) = (at, line.trim());
        at += line.len();
        let inside_quote = quote.is_open();
        quote.read(bare, family);
        if bare.is_empty() {
            above = above.filter(|_| inside_quote);
            continue;
        }
        let indent = indent(line);
        let is_lead = inside_quote || is_comment(bare, family);
        if is_lead {
            above.get_or_insert(line_start);
            continue;
        }
        // A line as far left as what is open ends it, unless it is its closing bracket.
        let closes = bare.starts_with(['}', ')', ']']) || bare.starts_with("end") || bare.starts_with("{");
        let found = symbol(line, family).filter(|_| {
            open.iter().all(|o| o.indent >= indent || o.is_container) && (family == Family::Keywords || indent == 0)
        });
        let left = family == Family::Keywords && !closes && open.last().is_some_and(|o| o.indent >= indent);
        if found.is_some() || left {
            let cut = above.unwrap_or(line_start);
            blocks.push(text, BlockKind::Code, Span::new(start, cut), &heading);
            start = cut;
            while open.last().is_some_and(|o| o.indent >= indent) {
                open.pop();
            }
            if let Some(symbol) = found
                && open.len() < MAX_DEPTH
                && let Some(name) = title(symbol.name)
            {
                open.push(Open { indent, name, is_container: symbol.is_container });
            }
            heading = open.iter().map(|o| o.name.clone()).collect();
        }
        above = None;
    }
    blocks.push(text, BlockKind::Code, Span::new(start, text.len()), &heading);
    blocks.into_list()
}

fn indent(line: &str) -> usize {
    line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).map(|b| if b == b'\t' { TAB } else { 1 }).sum()
}

/// Comments, attributes and decorators: they belong to what follows.
fn is_comment(bare: &str, family: Family) -> bool {
    ["//", "#", "--", "/*", "*", "@", ";;", "%", "///", "[<"].iter().any(|mark| bare.starts_with(mark))
        || (family == Family::Keywords && bare.starts_with('[') && bare.ends_with(']') && bare.len() < 200)
}

/// Whether a line stands inside a comment or a string of several lines.
#[derive(Default)]
struct Quote {
    end: Option<&'static str>,
}

impl Quote {
    fn is_open(&self) -> bool {
        self.end.is_some()
    }

    /// Reads a line to its end, once. A mark after `//` or inside a string (`"/*"`, a glob) opens nothing.
    fn read(&mut self, line: &str, family: Family) {
        if family != Family::Keywords {
            return;
        }
        let mut rest = line.as_bytes();
        let mut in_string = false;
        while let [first, after @ ..] = rest {
            let opened = [(&b"/*"[..], "*/"), (b"\"\"\"", "\"\"\""), (b"\'\'\'", "\'\'\'")]
                .into_iter()
                .find(|(mark, _)| self.end.is_none() && !in_string && rest.starts_with(mark));
            match self.end {
                Some(end) if rest.starts_with(end.as_bytes()) => {
                    self.end = None;
                    rest = &rest[end.len()..];
                }
                Some(_) => rest = after,
                None => {
                    if let Some((mark, end)) = opened {
                        self.end = Some(end);
                        rest = &rest[mark.len()..];
                        continue;
                    }
                    if !in_string && rest.starts_with(b"//") {
                        return;
                    }
                    in_string ^= *first == b'"';
                    // What is escaped is passed over.
                    rest = if *first == b'\\' { after.get(1..).unwrap_or(&[]) } else { after };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::symbols::family, *};

    fn check(language: &str, text: &str, want: &[(&str, &str)]) {
        let got: Vec<_> = blocks(text, family(language))
            .iter()
            .map(|b| (b.heading.join("."), text[b.span.range()].to_owned()))
            .collect();
        let want: Vec<_> = want.iter().map(|&(h, t)| (h.to_owned(), t.to_owned())).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn rust() {
        check(
            "rust",
            "//! module\n\nuse std::fmt;\n\n/// Adds.\n#[inline]\npub fn add(a: u8) -> u8 {\n    fn inner() {}\n    a\n}\n\nimpl Pump {\n    /// Starts.\n    pub fn start(&self) {\n        go();\n    }\n\n    fn stop() {}\n}\n\nconst X: u8 = 1;\n",
            &[
                ("", "//! module\n\nuse std::fmt;"),
                ("add", "/// Adds.\n#[inline]\npub fn add(a: u8) -> u8 {\n    fn inner() {}\n    a\n}"),
                ("Pump", "impl Pump {"),
                ("Pump.start", "    /// Starts.\n    pub fn start(&self) {\n        go();\n    }"),
                ("Pump.stop", "    fn stop() {}\n}"),
                ("", "const X: u8 = 1;"),
            ],
        );
    }

    #[test]
    fn python() {
        check(
            "python",
            "\"\"\"Module.\n\ndef not_code(): pass\n\"\"\"\nimport os\n\n@cached\ndef a(x):\n    \"\"\"Doc.\"\"\"\n    return 1\n\nclass B:\n    y = 1\n\n    def c(self):\n        def d(): pass\n        return d\n\nprint(a)\n",
            &[
                ("", "\"\"\"Module.\n\ndef not_code(): pass\n\"\"\"\nimport os"),
                ("a", "@cached\ndef a(x):\n    \"\"\"Doc.\"\"\"\n    return 1"),
                ("B", "class B:\n    y = 1"),
                ("B.c", "    def c(self):\n        def d(): pass\n        return d"),
                ("", "print(a)"),
            ],
        );
    }

    #[test]
    fn configuration() {
        check(
            "toml",
            "a = 1\n\n# why\n[x]\nb = [\n  1,\n]\n[[y.z]]\nc = 2\n",
            &[("", "a = 1"), ("x", "# why\n[x]\nb = [\n  1,\n]"), ("y.z", "[[y.z]]\nc = 2")],
        );
        check(
            "yaml",
            "a: 1\nb:\n  c: 2\n  - d\n# e\nf: 3\n",
            &[("a", "a: 1"), ("b", "b:\n  c: 2\n  - d"), ("f", "# e\nf: 3")],
        );
        check("xml", "<a>\n <b/>\n</a>\n", &[("", "<a>\n <b/>\n</a>")]);
    }

    #[test]
    fn one_long_line_is_one_block() {
        let text = "export function a(){return 1}".repeat(500);
        check("javascript", &text, &[("", &text)]);
        check("javascript", "", &[]);
    }
}
