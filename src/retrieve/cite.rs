//! Which passages a model's text names, in whatever form it writes the markers, and what of the text is to be shown.
//!
//! Useful for: reading an answer once as it comes, piece by piece, or whole: both ways give the same. Not for: deciding
//! whether a citation is right.
//!
//! A bracket is not a marker inside code (`` `rows[1]` ``, fences), where the passages' code has it just so, or with a
//! number no passage could have (`[1987]`). Brackets with numbers in passages reach the model with an invisible character
//! in them, so that a copied footnote is known from a citation, and left out.

use super::{links, words::is_invisible};

/// Longest marker in characters between its brackets: what is held back while a bracket is open.
pub(super) const MAX_MARKER_CHARS: usize = 12;
/// Longest run without white space that is held back to see whether it is a link.
const MAX_RUN_BYTES: usize = 4096;
const MAX_SPACE_BYTES: usize = 64;
/// The characters before a bracket that are looked up with it in the passages.
const MAX_TAIL_BYTES: usize = 64;
/// Numbers with more digits are years or the like.
const MAX_DIGITS: usize = 3;
/// In passages, brackets that are not ours are marked by it.
const FOREIGN: char = '\u{200B}';

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// Numbers of passages, all offered, each once.
    Marker(Vec<u32>),
}

/// What passages hold, as far as reading an answer has to know it.
pub(super) trait Offered {
    /// How many passages there are: 1..=count are valid numbers.
    fn count(&self) -> u32;
    /// The passages' code holds this, brackets and all.
    fn is_code(&self, text: &str) -> bool;
    /// A passage holds this address as it is.
    fn has_link(&self, link: &str) -> bool;
}

/// Reads an answer piece by piece. Holds back what it cannot decide yet: an open bracket, a run that may be a link, white
/// space, the beginning of `NO_ANSWER`.
pub(super) struct Reader<'a, O: Offered> {
    offered: &'a O,
    pending: String,
    /// What came last, without white space.
    tail: String,
    /// Length of the row of backticks that opened the code we are in; 0 outside.
    code: usize,
    begun: bool,
    /// A line break came last.
    line_begins: bool,
    pub invalid: Vec<u32>,
    /// The model said `NO_ANSWER`.
    pub declined: bool,
    pub links_removed: usize,
}

enum Bracket {
    Incomplete,
    No,
    /// Length in bytes and the numbers in it.
    Marker(usize, Vec<u32>),
    /// A passage's own bracket, copied: length in bytes.
    Foreign(usize),
}

impl<'a, O: Offered> Reader<'a, O> {
    pub fn new(offered: &'a O) -> Self {
        Self {
            offered,
            pending: String::new(),
            tail: String::new(),
            code: 0,
            begun: false,
            line_begins: true,
            invalid: Vec::new(),
            declined: false,
            links_removed: 0,
        }
    }

    /// Takes more text and gives what can be decided.
    pub fn push(&mut self, text: &str) -> Vec<Piece> {
        self.pending.push_str(text);
        self.drain(false)
    }

    /// Gives the rest. White space at the end is left out.
    pub fn finish(&mut self) -> Vec<Piece> {
        self.drain(true)
    }

    fn drain(&mut self, at_end: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let pending = std::mem::take(&mut self.pending);
        let mut at = 0;
        while at < pending.len() {
            match self.step(&pending[at..], at_end, &mut pieces) {
                0 => break,
                taken => at += taken,
            }
        }
        self.pending = pending[at..].to_owned();
        pieces
    }

    fn emit(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        self.begun = true;
        match pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => pieces.push(Piece::Text(text.to_owned())),
        }
        self.line_begins = text.ends_with('\n');
        let last =
            text.rfind(char::is_whitespace).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        if last > 0 {
            self.tail.clear();
        }
        self.tail.push_str(&text[last..]);
        if self.tail.len() > MAX_TAIL_BYTES {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - MAX_TAIL_BYTES);
            self.tail.drain(..cut);
        }
    }

    /// Decides about the beginning of `rest`; returns how many bytes it took, 0 to wait for more.
    fn step(&mut self, rest: &str, at_end: bool, pieces: &mut Vec<Piece>) -> usize {
        let Some(first) = rest.chars().next() else { return 0 };
        if first.is_whitespace() {
            return self.space(rest, at_end, pieces);
        }
        if opens(first) {
            return self.bracket(rest, 0, at_end, pieces);
        }
        if first == '`' {
            return self.backticks(rest, at_end, pieces);
        }
        if !first.is_ascii() || first.is_ascii_control() {
            let hidden = is_invisible(first) && !matches!(first, '\u{200C}' | '\u{200D}') || first.is_control();
            if !hidden {
                self.emit(&rest[..first.len_utf8()], pieces);
            }
            return first.len_utf8();
        }
        self.run(rest, at_end, pieces)
    }

    fn space(&mut self, rest: &str, at_end: bool, pieces: &mut Vec<Piece>) -> usize {
        let length = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let length = if length > MAX_SPACE_BYTES { rest.floor_char_boundary(MAX_SPACE_BYTES) } else { length };
        let after = &rest[length..];
        if after.is_empty() {
            return if at_end { rest.len() } else { 0 };
        }
        if !self.begun {
            return length;
        }
        if after.starts_with(opens) && !rest[..length].contains('\n') {
            return self.bracket(rest, length, at_end, pieces);
        }
        let space = &rest[..length];
        // A blank line ends a paragraph, and with it code that one forgot to close.
        if self.code < 3 && space.matches('\n').count() > 1 {
            self.code = 0;
        }
        self.emit(space, pieces);
        length
    }

    fn backticks(&mut self, rest: &str, at_end: bool, pieces: &mut Vec<Piece>) -> usize {
        let length = rest.bytes().take_while(|b| *b == b'`').count();
        if length == rest.len() && !at_end {
            return 0;
        }
        if self.code == 0 {
            self.code = length;
        } else if self.code == length {
            self.code = 0;
        }
        self.emit(&rest[..length], pieces);
        length
    }

    /// A bracket after `space` bytes of white space.
    fn bracket(&mut self, rest: &str, space: usize, at_end: bool, pieces: &mut Vec<Piece>) -> usize {
        let body = &rest[space..];
        let bracket = if self.code > 0 { Bracket::No } else { parse(body, at_end) };
        match bracket {
            Bracket::Incomplete => 0,
            Bracket::Marker(length, _) if space == 0 && self.is_quoted_code(&body[..length]) => {
                self.emit(&body[..length], pieces);
                length
            }
            Bracket::Marker(length, numbers) => {
                let count = self.offered.count();
                let mut valid: Vec<u32> = Vec::new();
                for number in numbers {
                    if number == 0 || number > count {
                        self.invalid.push(number);
                    } else if !valid.contains(&number) {
                        valid.push(number);
                    }
                }
                if valid.is_empty() {
                    return space + length;
                }
                self.emit(&rest[..space], pieces);
                self.begun = true;
                self.tail = "]".to_owned();
                self.line_begins = false;
                pieces.push(Piece::Marker(valid));
                space + length
            }
            Bracket::Foreign(length) => {
                let code: String = body[..length].chars().filter(|c| !is_invisible(*c)).collect();
                if space == 0 && self.is_quoted_code(&code) {
                    self.emit(&code, pieces);
                }
                space + length
            }
            Bracket::No => {
                self.emit(&rest[..space], pieces);
                let open = body.chars().next().map_or(0, char::len_utf8);
                self.emit(&body[..open], pieces);
                space + open
            }
        }
    }

    /// The passages' code has this bracket after the very identifier that stands before it here.
    fn is_quoted_code(&self, bracket: &str) -> bool {
        let start = self.tail.rfind(|c: char| !(c.is_ascii_alphanumeric() || "_$.[]()>-".contains(c)));
        let name = &self.tail[start.map_or(0, |at| self.tail.ceil_char_boundary(at + 1))..];
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
            && self.offered.is_code(&format!("{name}{bracket}"))
    }

    /// A run of visible ASCII up to white space, a bracket or a backtick.
    fn run(&mut self, rest: &str, at_end: bool, pieces: &mut Vec<Piece>) -> usize {
        let ends = |c: char| !c.is_ascii_graphic() || c == '[' || c == '`';
        let found = rest.find(ends).filter(|length| *length <= MAX_RUN_BYTES);
        let length = match found {
            Some(length) => length,
            None if rest.len() >= MAX_RUN_BYTES => MAX_RUN_BYTES,
            None if at_end => rest.len(),
            None => return 0,
        };
        let run = &rest[..length];
        if self.code == 0 {
            if let Some(at) = run.find("NO_ANSWER") {
                self.declined = true;
                let (before, after) = (&run[..at], &run[at + "NO_ANSWER".len()..]);
                self.emit(before.trim_start_matches(['*', '"', '\'', '_']), pieces);
                self.emit(after.trim_start_matches(['*', '"', '\'', '_', '.', '!']), pieces);
                return length;
            }
            if run.trim_start_matches(['*', '"', '\'', '_']) == "NO" {
                let next = rest[length..].trim_start_matches(' ');
                let spaced = next.len() < rest[length..].len() || next.is_empty();
                if spaced && !at_end && "ANSWER".starts_with(next) {
                    return 0;
                }
                if spaced && let Some(after) = next.strip_prefix("ANSWER") {
                    if after.is_empty() && !at_end {
                        return 0;
                    }
                    if !after.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                        self.declined = true;
                        let sign = after.bytes().take_while(|b| b"*\"'_.!".contains(b)).count();
                        return rest.len() - after.len() + sign;
                    }
                }
            }
        }
        let mut shown = String::with_capacity(length);
        let mut at = 0;
        for link in links::links(run, self.tail.ends_with(']')) {
            if !self.offered.has_link(&run[link.clone()]) {
                shown.push_str(&run[at..link.start]);
                at = link.end;
                self.links_removed += 1;
            }
        }
        shown.push_str(&run[at..]);
        self.emit(&shown, pieces);
        length
    }
}

fn opens(letter: char) -> bool {
    matches!(letter, '[' | '【' | '［')
}

/// Reads a bracket from its opening on.
fn parse(body: &str, at_end: bool) -> Bracket {
    let mut chars = body.char_indices();
    let Some((_, open)) = chars.next() else { return Bracket::Incomplete };
    let close = match open {
        '【' => '】',
        '［' => '］',
        _ => ']',
    };
    let mut foreign = false;
    let mut content = String::new();
    for (at, letter) in chars {
        if letter == close {
            let length = at + letter.len_utf8();
            return match numbers(&content) {
                Some(_) if foreign => Bracket::Foreign(length),
                Some(numbers) if numbers.is_empty() => Bracket::Foreign(length),
                Some(numbers) => Bracket::Marker(length, numbers),
                None => Bracket::No,
            };
        }
        if letter == FOREIGN {
            foreign = true;
            continue;
        }
        content.push(letter);
        if content.chars().count() > MAX_MARKER_CHARS || matches!(letter, '\n' | '[' | '`') {
            return Bracket::No;
        }
    }
    if at_end { Bracket::No } else { Bracket::Incomplete }
}

/// The numbers between the brackets of a marker. Empty for the `[n]` of the rules, copied; `None` if it is no marker.
fn numbers(content: &str) -> Option<Vec<u32>> {
    let mut text = content.trim();
    if matches!(text, "n" | "m" | "N" | "number") {
        return Some(Vec::new());
    }
    // `【1†source】`
    if let Some((before, _)) = text.split_once('†') {
        text = before;
    }
    let lower = text.to_lowercase();
    for name in ["passages", "passage", "document", "source", "doc"] {
        if lower.starts_with(name) {
            text = text.get(name.len()..)?.trim_start_matches([' ', ':', '#']);
            break;
        }
    }
    let mut numbers = Vec::new();
    for part in text.split([',', ';', '&', '，', '、']) {
        let part = part.trim().trim_start_matches('^');
        let mut ends = part.split(['-', '–', '—']).map(|end| number(end.trim().trim_start_matches('^')));
        match (ends.next().flatten()?, ends.next(), ends.next()) {
            (one, None, _) => numbers.push(one),
            (from, Some(Some(to)), None) => {
                let (from, to) = (from.min(to), from.max(to));
                // A long range is no list of passages; its ends tell whether it points anywhere.
                if to - from < MAX_RANGE { numbers.extend(from..=to) } else { numbers.extend([from, to]) }
            }
            _ => return None,
        }
    }
    Some(numbers)
}

const MAX_RANGE: u32 = 16;

fn number(text: &str) -> Option<u32> {
    let digits = (1..=MAX_DIGITS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// A text as markers are written in it: `[1][2]`.
pub(super) fn marker(numbers: &[u32]) -> String {
    numbers.iter().map(|n| format!("[{n}]")).collect()
}

/// An answer read whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// With markers in one form, valid ones only.
    pub text: String,
    /// Where markers stand in `text`, and which passages they name.
    pub markers: Vec<(std::ops::Range<usize>, Vec<u32>)>,
    pub invalid: Vec<u32>,
    pub declined: bool,
    pub links_removed: usize,
}

/// Reads a whole answer.
pub(super) fn read(answer: &str, offered: &impl Offered) -> Read {
    let mut reader = Reader::new(offered);
    let mut pieces = reader.push(answer);
    pieces.extend(reader.finish());
    let mut read = Read {
        invalid: reader.invalid,
        declined: reader.declined,
        links_removed: reader.links_removed,
        ..Read::default()
    };
    for piece in pieces {
        match piece {
            Piece::Text(text) => read.text.push_str(&text),
            Piece::Marker(numbers) => {
                let start = read.text.len();
                read.text.push_str(&marker(&numbers));
                read.markers.push((start..read.text.len(), numbers));
            }
        }
    }
    read.text.truncate(read.text.trim_end().len());
    read
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Passages that hold some code and some link.
    pub struct Some5;

    impl Offered for Some5 {
        fn count(&self) -> u32 {
            5
        }
        fn is_code(&self, text: &str) -> bool {
            "let x = arr[1] + rows[0][2].name;".contains(text)
        }
        fn has_link(&self, link: &str) -> bool {
            "https://acme.example/docs".contains(link)
        }
    }

    #[test]
    fn all_forms_of_markers() {
        for (answer, text, invalid) in [
            ("One [1].", "One [1].", &[][..]),
            ("One[1].", "One[1].", &[]),
            ("One [1,2].", "One [1][2].", &[]),
            ("One [1, 2; 3 & 4].", "One [1][2][3][4].", &[]),
            ("One [1][2].", "One [1][2].", &[]),
            ("One [1-3].", "One [1][2][3].", &[]),
            ("One [1–3].", "One [1][2][3].", &[]),
            ("One 【1】.", "One [1].", &[]),
            ("One【1†source】。", "One[1]。", &[]),
            ("One [^1].", "One [1].", &[]),
            ("One [^1, ^2].", "One [1][2].", &[]),
            ("One [ 1 ].", "One [1].", &[]),
            ("One [1][1, 1].", "One [1][1].", &[]),
            ("One [passage 2].", "One [2].", &[]),
            ("One [Source: 2].", "One [2].", &[]),
            ("One [9].", "One.", &[9]),
            ("One [0].", "One.", &[0]),
            ("One [1, 9].", "One [1].", &[9]),
            ("One [4-6].", "One [4][5].", &[6]),
            ("One [1-300].", "One [1].", &[300]),
            ("One [99][1].", "One[1].", &[99]),
            ("One [n][m].", "One.", &[]),
            ("In [1987] it was.", "In [1987] it was.", &[]),
            ("[sic] and [1", "[sic] and [1", &[]),
            ("[1,]", "[1,]", &[]),
            ("[-1]", "[-1]", &[]),
            ("[]", "[]", &[]),
            ("[1 2]", "[1 2]", &[]),
            ("a [\n1]", "a [\n1]", &[]),
            ("- [x] done [2]", "- [x] done [2]", &[]),
        ] {
            let read = read(answer, &Some5);
            assert_eq!((read.text.as_str(), read.invalid.as_slice()), (text, invalid), "{answer}");
            for (range, numbers) in &read.markers {
                assert_eq!(&read.text[range.clone()], marker(numbers), "{answer}");
            }
        }
    }

    #[test]
    fn brackets_of_the_passages_are_no_markers() {
        for (answer, text, markers) in [
            ("Use arr[1] here [2].", "Use arr[1] here [2].", 1),
            ("Use `foo[1]` here.", "Use `foo[1]` here.", 0),
            ("```\nx = y[2]\n```\nDone [1].", "```\nx = y[2]\n```\nDone [1].", 1),
            ("It is rows[0][2].name [1].", "It is rows[0][2].name [1].", 1),
            ("It opened in 1987[1].", "It opened in 1987[1].", 1),
            ("It opened[\u{200B}12] then [1].", "It opened then [1].", 1),
            ("It is arr[\u{200B}1] [1].", "It is arr[1] [1].", 1),
            ("A ` stray. [1]\n\nB. [2]", "A ` stray. [1]\n\nB. [2]", 1),
        ] {
            let read = read(answer, &Some5);
            assert_eq!((read.text.as_str(), read.markers.len()), (text, markers), "{answer}");
        }
    }

    #[test]
    fn no_answer_is_taken_out_and_told() {
        for (answer, text, declined) in [
            ("NO_ANSWER", "", true),
            ("**NO_ANSWER**", "", true),
            ("NO ANSWER.", "", true),
            ("Sorry. NO_ANSWER!", "Sorry.", true),
            ("NO answer is known.", "NO answer is known.", false),
            ("NO ANSWERS", "NO ANSWERS", false),
            ("NO", "NO", false),
            ("`NO_ANSWER` is a word.", "`NO_ANSWER` is a word.", false),
        ] {
            let read = read(answer, &Some5);
            assert_eq!((read.text.as_str(), read.declined), (text, declined), "{answer}");
        }
    }

    #[test]
    fn p03_foreign_links_and_hidden_letters_go() {
        let answer = "See https://acme.example/docs and https://evil.example/x?q=1 \u{E0041}\u{202E}or ![p](https://evil.example/p.png) [1].";
        let read = read(answer, &Some5);
        assert_eq!(read.text, "See https://acme.example/docs and  or ![p]() [1].");
        assert_eq!(read.links_removed, 2);
    }
}
