//! Tokens into lines and blocks: which keys are the heading, what stands on one line, where a block ends.

use super::{BlockKind, Document, Lines, MAX_DEPTH, Problem, Rendered, lexer::Token, problem, reason};
use crate::ingest::extract::{
    blocks::From,
    clean::{MAX_TITLE_BYTES, title},
};

/// Keys that stand in the heading; deeper ones stand before the value.
const HEADING_KEYS: usize = 2;

/// Size at which lines that are no record end their block.
const BLOCK_BYTES: usize = 2 << 10;

/// Scalars of an array up to this size share a line.
const SHORT_BYTES: usize = 80;

/// A line of shared scalars ends here.
const LINE_BYTES: usize = 400;

/// Longest string without a space that may still be text.
const MAX_DATA_BYTES: usize = 1 << 10;

/// An open object or array.
struct Frame {
    is_object: bool,
    /// Size of the path before this frame's current key or index was added.
    path: usize,
    /// Keys in the heading before this frame's current key was added.
    heading: usize,
    /// Elements or members seen.
    count: usize,
}

/// Writes tokens as blocks.
pub struct Renderer {
    out: Rendered,
    open: Vec<Frame>,
    heading: Vec<String>,
    /// Keys below the heading, joined by dots.
    path: String,
    /// Lines of the block at work, its heading, and where they come from.
    body: String,
    body_heading: Vec<String>,
    lines: Option<Lines>,
    /// Scalars of an array that wait to share a line, and where they come from.
    shared: String,
    shared_lines: Option<Lines>,
    /// Depth of the array whose elements are records, once one is met.
    records: Option<usize>,
    /// A line of JSONL is at work: it is one record, whatever is in it, written when its end is reached.
    whole: bool,
    dropped: u64,
    too_deep: bool,
}

impl Renderer {
    pub fn new(max_text_bytes: u64) -> Self {
        Self {
            out: Rendered::new(max_text_bytes),
            open: Vec::new(),
            heading: Vec::new(),
            path: String::new(),
            body: String::new(),
            body_heading: Vec::new(),
            lines: None,
            shared: String::new(),
            shared_lines: None,
            records: None,
            whole: false,
            dropped: 0,
            too_deep: false,
        }
    }

    pub fn is_full(&self) -> bool {
        self.out.is_full()
    }

    /// Takes the next token, which ends on `line` and leaves `depth` containers open.
    pub fn token(&mut self, token: Token<'_>, line: u32, depth: usize) {
        self.too_deep |= depth > MAX_DEPTH;
        match token {
            Token::OpenObject | Token::OpenArray => self.open(token == Token::OpenObject),
            Token::Close => self.close(line),
            Token::Key(key) => self.key(&key),
            Token::String(text) if is_data(&text) => {
                self.dropped += 1;
                self.element();
            }
            Token::String(text) => self.scalar(&text, line),
            Token::Word(word) => self.scalar(word, line),
        }
    }

    /// Counts an element of an array.
    fn element(&mut self) {
        let Some(frame) = self.open.last_mut() else { return };
        if !frame.is_object {
            frame.count += 1;
        }
    }

    fn key(&mut self, key: &str) {
        self.enter();
        let Some(frame) = self.open.last_mut() else { return };
        frame.count += 1;
        self.path.truncate(frame.path);
        self.heading.truncate(frame.heading);
        let Some(key) = title(key) else { return };
        if self.path.len() + key.len() < MAX_TITLE_BYTES {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(&key);
        }
    }

    /// A container that turns out to hold keys or containers is a section: its own key moves into the heading. (A list of
    /// scalars stays a line.)
    fn enter(&mut self) {
        let Some(frame) = self.open.last_mut() else { return };
        let is_new = frame.count == 0 && self.records.is_none();
        if is_new && !self.path.is_empty() && self.heading.len() < HEADING_KEYS {
            self.heading.push(std::mem::take(&mut self.path));
            (frame.path, frame.heading) = (0, self.heading.len());
        }
    }

    fn open(&mut self, is_object: bool) {
        self.flush_shared();
        if self.open.last().is_some_and(|frame| !frame.is_object) {
            self.enter();
            self.element();
            self.begin_element(is_object);
        }
        self.open.push(Frame { is_object, path: self.path.len(), heading: self.heading.len(), count: 0 });
    }

    /// An object or array inside an array: a record, if it is in no record yet; else its index goes into the path.
    fn begin_element(&mut self, is_object: bool) {
        let depth = self.open.len();
        let Some(frame) = self.open.last() else { return };
        self.path.truncate(frame.path);
        match self.records {
            None if is_object => {
                self.flush_block();
                self.records = Some(depth);
            }
            Some(records) if records == depth => self.flush_block(),
            _ => {
                let index = frame.count.saturating_sub(1);
                if self.path.len() + 24 < MAX_TITLE_BYTES && !self.path.is_empty() {
                    self.path.push_str(&format!("[{index}]"));
                }
            }
        }
    }

    fn close(&mut self, line: u32) {
        self.flush_shared();
        let Some(frame) = self.open.pop() else { return };
        self.path.truncate(frame.path);
        self.heading.truncate(frame.heading);
        if frame.count == 0 && !self.path.is_empty() {
            self.line(if frame.is_object { "{}" } else { "[]" }, Lines { first: line, last: line });
        }
        let depth = self.open.len();
        if let Some(records) = self.records.filter(|_| !self.whole) {
            if depth <= records {
                self.flush_block();
            }
            if depth < records {
                self.records = None;
            }
        }
        match self.open.last() {
            Some(parent) => {
                self.path.truncate(parent.path);
                self.heading.truncate(parent.heading);
            }
            None => {
                self.path.clear();
                self.heading.clear();
                if !self.whole {
                    self.flush_block();
                }
            }
        }
    }

    fn scalar(&mut self, text: &str, line: u32) {
        let in_array = self.open.last().is_some_and(|frame| !frame.is_object);
        self.element();
        if in_array {
            let path = self.open.last().map_or(0, |frame| frame.path);
            self.path.truncate(path);
        }
        if !in_array || text.len() > SHORT_BYTES || text.contains('\n') {
            self.flush_shared();
            self.line(text, Lines { first: line, last: line });
            return;
        }
        if !self.shared.is_empty() {
            self.shared.push_str(", ");
        }
        self.shared.push_str(text);
        self.shared_lines = Some(Lines { first: self.shared_lines.map_or(line, |lines| lines.first), last: line });
        if self.shared.len() >= LINE_BYTES {
            self.flush_shared();
        }
    }

    fn flush_shared(&mut self) {
        if let Some(lines) = self.shared_lines.take() {
            let shared = std::mem::take(&mut self.shared);
            self.line(&shared, lines);
        }
    }

    /// Writes one value under the path.
    fn line(&mut self, value: &str, lines: Lines) {
        if self.body_heading != self.heading || (self.records.is_none() && self.body.len() >= BLOCK_BYTES) {
            self.flush_block();
            self.body_heading.clone_from(&self.heading);
        }
        self.lines = Some(Lines { first: self.lines.map_or(lines.first, |body| body.first), last: lines.last });
        if !self.body.is_empty() {
            self.body.push('\n');
        }
        if !self.path.is_empty() {
            self.body.push_str(&self.path);
            self.body.push_str(": ");
        }
        self.body.push_str(value);
    }

    fn flush_block(&mut self) {
        let from = From { heading: &self.body_heading, lines: self.lines, page: None };
        self.out.block(BlockKind::Record, from, &self.body);
        self.body.clear();
        self.lines = None;
    }

    /// The next value is a record of its own.
    pub fn begin_record(&mut self) {
        (self.records, self.whole) = (Some(0), true);
    }

    pub fn end_record(&mut self) {
        self.flush_shared();
        self.flush_block();
        (self.records, self.whole) = (None, false);
    }

    /// A state to go back to when a record turns out to be broken. Nothing of a record is written before its end, so
    /// only what was left out has to be remembered.
    pub fn mark(&self) -> u64 {
        self.dropped
    }

    pub fn undo(&mut self, mark: u64) {
        self.dropped = mark;
        self.open.clear();
        self.heading.clear();
        self.path.clear();
        self.body.clear();
        self.body_heading.clear();
        self.shared.clear();
        self.shared_lines = None;
        self.lines = None;
        (self.records, self.whole) = (None, false);
    }

    /// Writes a line as it is.
    pub fn raw(&mut self, text: &str, line: u32) {
        let from = From { heading: &[], lines: Some(Lines { first: line, last: line }), page: None };
        self.out.block(BlockKind::Record, from, text);
    }

    pub fn finish(mut self, document: &mut Document) -> Result<(), Problem> {
        self.end_record();
        if self.dropped > 0 {
            let message = format!("{} values of embedded data (base64) were left out", self.dropped);
            document.warnings.push(problem(reason::DROPPED_DATA, message));
        }
        if self.too_deep {
            let message = format!("nested deeper than {MAX_DEPTH}: what is deeper is written without all of its keys");
            document.warnings.push(problem(reason::DEEP_NESTING, message));
        }
        self.out.finish(document)
    }
}

/// Data in base64 or hex: long, and without a space or any sign that words have.
fn is_data(text: &str) -> bool {
    let body =
        if text.starts_with("data:") { text.split_once(";base64,").map_or(text, |(_, body)| body) } else { text };
    body.len() > MAX_DATA_BYTES
        && body
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_' | b'\n' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::{
        detect::Format,
        extract::{
            Extract, Input, Limits, Passwords,
            json::{Json, Jsonl},
        },
    };

    fn read(extractor: &dyn Extract, text: &str) -> Document {
        let limits = Limits::default();
        let input = Input {
            bytes: text.into(),
            format: Format::Json,
            limits: &limits,
            passwords: &Passwords::default(),
            pages: &[],
        };
        let document = extractor.extract(input).expect("small");
        assert_eq!(document.check(), Ok(()));
        document
    }

    fn blocks(document: &Document) -> Vec<(String, &str, u32, u32)> {
        let lines = |block: &crate::ingest::document::Block| block.lines.map_or((0, 0), |l| (l.first, l.last));
        document
            .blocks
            .iter()
            .map(|b| (b.heading.join("/"), &document.text[b.span.range()], lines(b).0, lines(b).1))
            .collect()
    }

    fn check(text: &str, want: &[(&str, &str, u32, u32)]) {
        let document = read(&Json, text);
        let want: Vec<_> = want.iter().map(|&(h, t, a, b)| (h.to_owned(), t, a, b)).collect();
        assert_eq!(blocks(&document), want, "{text}");
    }

    #[test]
    fn keys_become_headings_and_lines() {
        check(
            "{\"a\": 1,\n\"b\": {\"c\": true,\n \"d\": {\"e\": {\"f\": null}}},\n\"g\": [1,\n2], \"h\": {}}",
            &[("", "a: 1", 1, 1), ("b", "c: true", 2, 2), ("b/d", "e.f: null", 3, 3), ("", "g: 1, 2\nh: {}", 4, 5)],
        );
    }

    #[test]
    fn elements_of_the_outermost_array_of_objects_are_records() {
        check(
            "[{\"n\": \"Shears\", \"tags\": [\"x\", \"y\"]},\n{\"n\": \"Hoe\", \"parts\": [{\"p\": 1}, {\"p\": 2}]}]",
            &[("", "n: Shears\ntags: x, y", 1, 1), ("", "n: Hoe\nparts[0].p: 1\nparts[1].p: 2", 2, 2)],
        );
        check(
            "{\"meta\": {\"v\": 1}, \"items\": [{\"a\": 1}, {\"a\": {\"b\": 2}}], \"end\": 3}",
            &[("meta", "v: 1", 1, 1), ("items", "a: 1", 1, 1), ("items", "a.b: 2", 1, 1), ("", "end: 3", 1, 1)],
        );
    }

    #[test]
    fn several_values_and_bare_ones() {
        check("\"just text\"", &[("", "just text", 1, 1)]);
        check("[\"a\", \"b\"]", &[("", "a, b", 1, 1)]);
        check("[[1, 2], [3, 4]]", &[("", "1, 2\n3, 4", 1, 1)]);
        check("{\"a\": 1}\n{\"a\": 2}", &[("", "a: 1", 1, 1), ("", "a: 2", 2, 2)]);
        check("{}", &[]);
    }

    #[test]
    fn data_is_left_out_and_said() {
        let document = read(&Json, &format!("{{\"a\": \"{}\", \"b\": \"text\"}}", "QUJD".repeat(500)));
        assert_eq!(document.text, "b: text");
        assert_eq!(document.warnings[0].reason, reason::DROPPED_DATA);
        let words = read(&Json, &format!("{{\"a\": \"{}\"}}", "two words ".repeat(500)));
        assert!(words.warnings.is_empty());
    }

    #[test]
    fn what_is_no_json_is_text() {
        let document = read(&Json, "{\"a\": \"x\",\n\"b\": ");
        assert_eq!(document.text, "{\"a\": \"x\",\n\"b\": ");
        assert!(document.text_is_source && document.warnings[0].message.contains("line 2"), "{document:?}");
    }

    #[test]
    fn depth_costs_a_warning() {
        let deep = read(&Json, &format!("{}\"core\"{}", "[".repeat(100_000), "]".repeat(100_000)));
        assert_eq!((deep.text.as_str(), deep.warnings[0].reason.as_str()), ("core", reason::DEEP_NESTING));
        let keys = read(&Json, &format!("{}1{}", "{\"key\":".repeat(50_000), "}".repeat(50_000)));
        assert!(keys.text.len() < 1000 && keys.text.ends_with(": 1"), "{}", keys.text);
    }

    #[test]
    fn a_bad_line_costs_no_other() {
        let document = read(&Jsonl, "{\"a\": 1}\n\nnot json\n{\"a\": [{\"b\": 2}]}\n");
        let want = [("", "a: 1", 1, 1), ("", "not json", 3, 3), ("", "a[0].b: 2", 4, 4)]
            .map(|(h, t, a, b)| (h.to_owned(), t, a, b));
        assert_eq!(blocks(&document), want);
        assert!(document.warnings[0].message.contains("line 3"));
    }
}
