//! Values with names: each record as lines of `name: value`, names of what is inside joined by dots, as JSON is read.

use std::collections::HashSet;

use super::{LineCounter, plain, survey::Record};
use crate::{
    index::Problem,
    ingest::{
        document::{BlockKind, Document},
        extract::{
            blocks::{From, Rendered},
            xml::{Event, Reader},
        },
    },
};

/// Size at which lines that belong to no record end their block.
const BLOCK_BYTES: usize = 2 << 10;

/// Deepest path that is written; what is deeper is under the last name.
const MAX_PATH: usize = 32;

/// Longest value that stands in a line with its name.
const MAX_LINE_BYTES: usize = 400;

struct Walk<'a> {
    out: Rendered,
    lines: LineCounter<'a>,
    /// Names of what is open below the record, or below the root.
    path: Vec<&'a str>,
    body: String,
    first_line: Option<u32>,
    value: String,
}

pub fn read(
    source: &str,
    record: Option<&Record>,
    mixed: &HashSet<&str>,
    max_text_bytes: u64,
    document: &mut Document,
) -> Result<(), Problem> {
    let mut reader = Reader::new(source);
    let mut walk = Walk {
        out: Rendered::new(max_text_bytes),
        lines: LineCounter::new(source),
        path: Vec::new(),
        body: String::new(),
        first_line: None,
        value: String::new(),
    };
    // Depth of the record, and of the element whose inside is words, that are open.
    let (mut in_record, mut in_words): (Option<usize>, Option<usize>) = (None, None);
    while let Some(event) = reader.next() {
        let at = reader.offset();
        match event {
            Event::Start(element) => {
                let depth = reader.depth() - 1;
                if in_words.is_some() {
                    walk.value.push(' ');
                    continue;
                }
                walk.end_value();
                let is_record = in_record.is_none()
                    && record.is_some_and(|record| record.depth == depth && record.name == element.name);
                if is_record {
                    walk.end_block(at);
                    in_record = Some(depth);
                    walk.path.clear();
                } else if depth > 0 && walk.path.len() < MAX_PATH {
                    walk.path.push(element.name);
                }
                walk.first_line = walk.first_line.or(Some(walk.lines.line(at)));
                for (name, value) in element.attributes() {
                    let is_machinery =
                        name.starts_with("xmlns") || name.starts_with("xsi:") || name.starts_with("xml:");
                    if !is_machinery && !value.trim().is_empty() {
                        let name = name.rsplit(':').next().unwrap_or(name);
                        walk.line(Some(name), value.trim());
                    }
                }
                if mixed.contains(element.name) && depth > 0 {
                    in_words = Some(depth);
                }
            }
            Event::Text(text) => walk.value.push_str(&text),
            Event::End(_) => {
                let depth = reader.depth();
                if in_words.is_some_and(|words| words < depth) {
                    continue;
                }
                in_words = None;
                walk.end_value();
                if in_record == Some(depth) {
                    walk.end_block(at);
                    in_record = None;
                } else {
                    // Names beyond the deepest were not written.
                    let base = in_record.unwrap_or(0);
                    walk.path.truncate(depth.saturating_sub(base + 1));
                    if in_record.is_none() && walk.body.len() >= BLOCK_BYTES {
                        walk.end_block(at);
                    }
                }
            }
        }
        if walk.out.is_full() {
            break;
        }
    }
    walk.end_block(source.len());
    walk.out.finish(document)
}

impl Walk<'_> {
    fn end_value(&mut self) {
        if self.value.trim().is_empty() {
            self.value.clear();
            return;
        }
        let value = std::mem::take(&mut self.value);
        let value = if value.contains('<') { plain(&value) } else { value };
        let words = value.split_whitespace().collect::<Vec<_>>().join(" ");
        // A long text keeps its own lines.
        if words.len() > MAX_LINE_BYTES {
            let lines: Vec<&str> = value.trim().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            self.line(None, &lines.join("\n"));
        } else {
            self.line(None, &words);
        }
    }

    /// Writes a line: the path, or an attribute of it, and a value.
    fn line(&mut self, attribute: Option<&str>, value: &str) {
        if !self.body.is_empty() {
            self.body.push('\n');
        }
        let names: Vec<&str> = self.path.iter().copied().chain(attribute).collect();
        if !names.is_empty() {
            self.body.push_str(&names.join("."));
            self.body.push_str(": ");
        }
        self.body.push_str(value);
    }

    fn end_block(&mut self, at: usize) {
        self.end_value();
        let body = std::mem::take(&mut self.body);
        let lines = self.first_line.take().and_then(|first| self.lines.lines(first, at));
        self.out.block(BlockKind::Record, From { heading: &[], lines, page: None }, &body);
    }
}
