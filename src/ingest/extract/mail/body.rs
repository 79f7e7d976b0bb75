//! The text of a message as a person wrote it: paragraphs, and what they quote.

use crate::{
    ingest::{
        document::BlockKind,
        extract::blocks::{From, Rendered},
    },
    types::Lines,
};

/// Where the text of a part stands in the file.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Its first line is this one, and each line of it is one of the file.
    From(u32),
    /// It is encoded: somewhere on these lines.
    Within(Lines),
}

impl Place {
    /// Lines of the file, of lines (from 1) of the text.
    pub fn lines(self, lines: Lines) -> Lines {
        match self {
            Self::From(start) => {
                let at = |line: u32| start.saturating_add(line.saturating_sub(1));
                Lines { first: at(lines.first), last: at(lines.last) }
            }
            Self::Within(lines) => lines,
        }
    }
}

/// What was found in a text besides words.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub encrypted: bool,
    pub dropped_data: bool,
}

/// Writes a plain text part. `flowed`: as in [`Header`](super::header::Header).
pub fn write(text: &str, flowed: Option<bool>, place: Place, heading: &[String], out: &mut Rendered) -> Found {
    let mut found = Found::default();
    let mut armour = Armour::None;
    let mut block = Open::default();
    for (number, raw) in (1u32..).zip(text.lines()) {
        let Some(line) = armour.pass(raw, &mut found) else { continue };
        let (depth, content) = quoted(line);
        let is_quote = depth > 0;
        if content.trim().is_empty() && !is_quote || block.text.is_empty() || is_quote != block.is_quote {
            block.end(place, heading, out);
            block.is_quote = is_quote;
        }
        block.take(line, content, depth, number, flowed);
    }
    block.end(place, heading, out);
    found
}

/// The block at work.
#[derive(Default)]
struct Open {
    text: String,
    is_quote: bool,
    lines: Option<Lines>,
    /// The line before ends in a blank that says that the next one belongs to it; how deep it is quoted.
    flows: Option<usize>,
}

impl Open {
    fn take(&mut self, line: &str, content: &str, depth: usize, number: u32, flowed: Option<bool>) {
        let stuffed = flowed.is_some() && depth == 0;
        let line = if stuffed { line.strip_prefix(' ').unwrap_or(line) } else { line };
        if content.trim().is_empty() && self.text.is_empty() {
            return;
        }
        let is_signature = content.trim_end_matches('\r') == "-- ";
        if self.flows == Some(depth) && !is_signature {
            let content = if depth > 0 { content } else { line };
            self.text.push_str(content);
        } else {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(line);
        }
        self.lines = Some(Lines { first: self.lines.map_or(number, |lines| lines.first), last: number });
        self.flows = None;
        if let Some(delete) = flowed
            && self.text.ends_with(' ')
            && !is_signature
        {
            self.flows = Some(depth);
            if delete {
                self.text.pop();
            }
        }
    }

    fn end(&mut self, place: Place, heading: &[String], out: &mut Rendered) {
        let text = std::mem::take(&mut self.text);
        self.flows = None;
        let lines = self.lines.take().map(|lines| place.lines(lines));
        let kind = if self.is_quote { BlockKind::Quote } else { BlockKind::Paragraph };
        out.block(kind, From { heading, lines, page: None }, &text);
    }
}

/// How deep a line is quoted, and what it quotes.
fn quoted(line: &str) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while let Some(inner) = rest.strip_prefix('>').or_else(|| rest.strip_prefix(" >").filter(|_| depth > 0)) {
        depth += 1;
        rest = inner;
    }
    (depth, if depth > 0 { rest.strip_prefix(' ').unwrap_or(rest) } else { rest })
}

/// Pieces of text that are no words: OpenPGP's messages and signatures, and uuencoded files.
#[derive(Clone, Copy, PartialEq)]
enum Armour {
    None,
    /// The lines after the mark of a signed text, up to a blank one.
    SignedHeader,
    /// A signed text: dashes at line starts are escaped.
    Signed,
    /// Left out up to the line that begins so.
    Until(&'static str),
    Uuencoded,
}

impl Armour {
    /// The line without armour, or nothing.
    fn pass<'a>(&mut self, line: &'a str, found: &mut Found) -> Option<&'a str> {
        match *self {
            Self::Until(end) => {
                if line.trim_end().starts_with(end) {
                    *self = Self::None;
                }
                return None;
            }
            Self::Uuencoded if is_uuencoded(line) => return None,
            Self::Uuencoded => {
                *self = Self::None;
                if line.trim_end() == "end" {
                    return None;
                }
            }
            Self::SignedHeader => {
                if line.trim().is_empty() {
                    *self = Self::Signed;
                }
                return None;
            }
            Self::Signed | Self::None => {}
        }
        if let Some(what) = line.trim_end().strip_prefix("-----BEGIN PGP ") {
            match what {
                "SIGNED MESSAGE-----" => *self = Self::SignedHeader,
                "SIGNATURE-----" => *self = Self::Until("-----END PGP SIGNATURE-----"),
                "PUBLIC KEY BLOCK-----" => *self = Self::Until("-----END PGP PUBLIC KEY BLOCK-----"),
                "MESSAGE-----" => {
                    found.encrypted = true;
                    *self = Self::Until("-----END PGP MESSAGE-----");
                }
                _ => return Some(line),
            }
            return None;
        }
        if begins_uuencoded(line) {
            *self = Self::Uuencoded;
            found.dropped_data = true;
            return None;
        }
        match *self {
            Self::Signed => Some(line.strip_prefix("- ").unwrap_or(line)),
            Self::None | Self::SignedHeader | Self::Until(_) | Self::Uuencoded => Some(line),
        }
    }
}

/// `begin 644 name`
fn begins_uuencoded(line: &str) -> bool {
    let mut words = line.split(' ');
    let is_mode = |mode: &str| matches!(mode.len(), 3 | 4) && mode.bytes().all(|b| matches!(b, b'0'..=b'7'));
    words.next() == Some("begin") && words.next().is_some_and(is_mode) && words.next().is_some()
}

/// A line that says its own length in its first letter.
fn is_uuencoded(line: &str) -> bool {
    let line = line.trim_end_matches('\r').as_bytes();
    let Some((&first, rest)) = line.split_first() else { return true };
    let bytes = usize::from(first.wrapping_sub(b' ') & 0x3f);
    let letters = bytes.div_ceil(3) * 4;
    // Blanks at the end may be lost, and some writers add a letter.
    line.iter().all(|byte| matches!(byte, b' '..=b'`'))
        && rest.len() <= letters + 2
        && (rest.len() + 4 >= letters || bytes == 0)
}
