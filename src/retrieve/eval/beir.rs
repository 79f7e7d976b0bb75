//! The lines of a collection in BEIR's form: documents and questions, one JSON object each.

use std::collections::HashSet;

use serde::Deserialize;

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}{}", more(.others))]
pub struct Malformed {
    /// From 1.
    pub line: usize,
    pub what: String,
    /// How many more lines cannot be read.
    pub others: usize,
}

fn more(others: &usize) -> String {
    match others {
        0 => String::new(),
        others => format!(" (and {others} more such lines)"),
    }
}

/// A document, or a question, which has no title.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    pub id: String,
    pub title: String,
    pub text: String,
}

#[derive(Deserialize)]
struct Line {
    #[serde(alias = "id")]
    _id: serde_json::Value,
    title: Option<String>,
    text: Option<String>,
}

impl Record {
    /// Reads one line: `_id` or `id` (a text or a number), `text`, perhaps `title`.
    fn of(line: &str) -> Result<Self, String> {
        let Line { _id, title, text } = serde_json::from_str(line).map_err(|error| {
            let error = error.to_string();
            let what = error.split(" at line ").next().unwrap_or_default();
            what.replace("duplicate field `_id`", "both `_id` and `id`")
        })?;
        let id = match _id {
            serde_json::Value::String(id) => id,
            serde_json::Value::Number(id) => id.to_string(),
            _ => return Err("`_id` is neither a text nor a number".into()),
        };
        if id.is_empty() {
            return Err("`_id` is empty".into());
        }
        let text = text.ok_or("no `text`")?;
        Ok(Self { id, title: title.unwrap_or_default(), text })
    }
}

/// Reads the lines of a file one after the other, so that a large one need not be in memory.
#[derive(Default)]
pub struct Lines {
    line: usize,
    seen: HashSet<String>,
    problems: Problems,
}

impl Lines {
    /// The record of the next line; `None` where it is empty or wrong.
    pub fn next(&mut self, line: &str) -> Option<Record> {
        self.line += 1;
        if line.trim().is_empty() {
            return None;
        }
        match Record::of(line.strip_prefix('\u{feff}').unwrap_or(line)) {
            Ok(record) if !self.seen.insert(record.id.clone()) => {
                self.problems.add(self.line, format!("`{}` is the id of an earlier line", record.id));
                None
            }
            Ok(record) => Some(record),
            Err(what) => {
                self.problems.add(self.line, what);
                None
            }
        }
    }

    /// The ids of all records. Errors: the first line that is no record or has the id of an earlier one.
    pub fn finish(self) -> Result<HashSet<String>, Malformed> {
        self.problems.none_or(self.seen)
    }
}

/// Reads all lines of a text; see [`Lines`].
pub fn read_lines(text: &str) -> Result<Vec<Record>, Malformed> {
    let mut lines = Lines::default();
    let records = text.lines().filter_map(|line| lines.next(line)).collect();
    lines.finish().map(|_| records)
}

/// The first problem of a file and how many come after it.
#[derive(Default)]
pub(super) struct Problems(Option<Malformed>);

impl Problems {
    pub(super) fn add(&mut self, line: usize, what: String) {
        match &mut self.0 {
            Some(first) => first.others += 1,
            none => *none = Some(Malformed { line, what, others: 0 }),
        }
    }

    pub(super) fn none_or<T>(self, value: T) -> Result<T, Malformed> {
        self.0.map_or(Ok(value), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_spellings() {
        let text =
            "{\"_id\": \"a\", \"title\": \"T\", \"text\": \"x\", \"metadata\": {}}\n\n{\"id\": 7, \"text\": \"y\"}\r\n";
        let record =
            |id: &str, title: &str, text: &str| Record { id: id.into(), title: title.into(), text: text.into() };
        assert_eq!(read_lines(text), Ok(vec![record("a", "T", "x"), record("7", "", "y")]));
        assert_eq!(read_lines("\u{feff}{\"id\":\"a\",\"title\":null,\"text\":\"\"}"), Ok(vec![record("a", "", "")]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, want) in [
            ("{\"id\":\"a\",\"text\":\"\"}\nnonsense", "line 2: expected ident"),
            ("{\"text\":\"\"}", "line 1: missing field `_id`"),
            ("{\"id\":\"a\"}\n{\"id\":\"b\"}\n{", "line 1: no `text` (and 2 more such lines)"),
            ("{\"id\":[],\"text\":\"\"}", "line 1: `_id` is neither a text nor a number"),
            ("{\"id\":\"\",\"text\":\"\"}", "line 1: `_id` is empty"),
            ("{\"id\":\"a\",\"_id\":\"b\",\"text\":\"\"}", "line 1: both `_id` and `id`"),
            ("{\"id\":\"a\",\"text\":\"\"}\n{\"id\":\"a\",\"text\":\"\"}", "line 2: `a` is the id of an earlier line"),
        ] {
            assert_eq!(read_lines(text).unwrap_err().to_string(), want, "{text}");
        }
    }
}
