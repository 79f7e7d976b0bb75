//! Files inside of files: attachments of a mail, members of an archive.
//!
//! Each is read by the extractor of its own format and becomes a section of the document it stands in, under its name.
//! How deep, how many and how much is bounded for the whole outermost file, whatever holds what. A file that is not read
//! is named in a warning, and the rest goes on.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    Aid, Limits, PageText, Passwords,
    blocks::{From, Rendered},
    clean::title,
    extract_nested, problem, reason,
    worker::panicked,
};
use crate::{
    index::Problem,
    ingest::document::{Block, BlockKind},
    types::Lines,
};

/// How many files may stand in each other, the outermost not counted.
pub const MAX_DEPTH: u32 = 3;

/// Most files read inside of one.
const MAX_FILES: u32 = 2000;

/// Most bytes of files read inside of one, all together.
const MAX_BYTES: u64 = 256 << 20;

/// What a file counts for that was refused for its size.
const REFUSED_BYTES: u64 = 16 << 20;

/// Most files named in one warning.
const NAMED_FILES: usize = 20;

/// How deep we are in the outermost file, and what may still be read of it.
#[derive(Debug)]
pub struct Nest {
    depth: u32,
    files: u32,
    bytes: u64,
    passwords: Passwords,
    /// Of the outermost file.
    pages: Vec<PageText>,
    /// Of the file that is read now.
    name: String,
}

impl Default for Nest {
    fn default() -> Self {
        Self::new(Aid::default())
    }
}

impl Nest {
    pub fn new(aid: Aid) -> Self {
        let Aid { passwords, pages } = aid;
        Self { depth: 0, files: MAX_FILES, bytes: MAX_BYTES, passwords, pages, name: String::new() }
    }

    /// Page texts that came with the outermost file, for whoever asks first: that file's own reader.
    pub fn take_pages(&mut self) -> Vec<PageText> {
        std::mem::take(&mut self.pages)
    }

    pub fn passwords(&self) -> &Passwords {
        &self.passwords
    }

    /// The name of the file whose reader was called last: its own, until it reads another.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn set_name(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Goes one level down; `false` where that is too deep. To be followed by [`leave`](Self::leave).
    pub fn enter(&mut self) -> bool {
        let is_allowed = self.depth < MAX_DEPTH;
        self.depth += u32::from(is_allowed);
        is_allowed
    }

    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn take(&mut self, bytes: u64) -> Result<(), Problem> {
        if self.files == 0 || bytes > self.bytes {
            let message = format!("more than {MAX_FILES} files or {} MiB of them stand in one file", MAX_BYTES >> 20);
            return Err(problem(reason::TRUNCATED, message));
        }
        self.files -= 1;
        self.bytes -= bytes;
        Ok(())
    }

    /// Reads a file and appends it to `out` under `heading` and its name. `lines`: where in the outer file it stands.
    /// Gives the warnings of the file; an error if it is not read, and then nothing was appended.
    pub fn read(&mut self, file: File<'_>, limits: &Limits, out: &mut Rendered) -> Result<Vec<Problem>, Problem> {
        self.take(file.bytes.len() as u64)?;
        let limits = Limits { max_text_bytes: out.room(), ..limits.clone() };
        let depth = self.depth;
        if !self.enter() {
            return Err(problem(reason::DEEP_NESTING, format!("stands in more than {MAX_DEPTH} files")));
        }
        // A reader that fails on one file costs that file alone.
        let inner = catch_unwind(AssertUnwindSafe(|| extract_nested(file.name, file.bytes, &limits, self)));
        self.depth = depth;
        let inner = inner.unwrap_or_else(|_| Err(panicked()));
        // What was unpacked to no end has cost as much as what was read.
        let cost = match &inner {
            Ok(document) => document.text.len() as u64,
            Err(why) if why.reason == reason::TOO_LARGE => REFUSED_BYTES,
            Err(_) => 0,
        };
        self.bytes = self.bytes.saturating_sub(cost);
        let inner = inner?;
        let mut path = file.heading.to_vec();
        path.extend(title(file.name));
        if !inner.blocks.is_empty() {
            let level = u8::try_from(path.len()).unwrap_or(u8::MAX).clamp(1, 6);
            let from = From { heading: &path, lines: file.lines, page: None };
            out.block(BlockKind::Heading(level), from, file.name);
            out.append(&inner, &path, |_: &Block| file.lines);
        }
        Ok(inner.warnings.into_iter().filter(|warning| warning.reason != reason::EMPTY).collect())
    }
}

/// A file inside of another.
pub struct File<'a> {
    pub name: &'a str,
    pub bytes: Vec<u8>,
    /// The section it stands in.
    pub heading: &'a [String],
    pub lines: Option<Lines>,
}

/// What is to be said of the files inside, gathered so that it is said once.
#[derive(Debug, Default)]
pub struct Notes {
    /// By reason: which files were not read, and why.
    left_out: BTreeMap<String, Vec<String>>,
    warnings: BTreeMap<String, Vec<String>>,
}

impl Notes {
    /// Notes what became of a file.
    pub fn add(&mut self, name: &str, result: Result<Vec<Problem>, Problem>) {
        match result {
            Ok(warnings) => {
                for warning in warnings {
                    self.warnings.entry(warning.reason).or_default().push(format!("`{name}`: {}", warning.message));
                }
            }
            Err(why) => {
                // Binary data and formats that are not read are the same to who asks what is missing.
                let reason = if why.reason == reason::BINARY { reason::UNSUPPORTED.into() } else { why.reason };
                self.left_out.entry(reason).or_default().push(format!("`{name}` ({})", why.message));
            }
        }
    }

    /// One warning a reason. `what` is the word for the files, like `attachments`.
    pub fn into_warnings(self, what: &str) -> Vec<Problem> {
        let left_out = self.left_out.iter().map(|(reason, files)| {
            problem(reason, format!("{} of the {what} not read: {}", files.len(), listed(files)))
        });
        let warnings =
            self.warnings.iter().map(|(reason, files)| problem(reason, format!("in the {what}: {}", listed(files))));
        left_out.chain(warnings).collect()
    }
}

fn listed(files: &[String]) -> String {
    let mut words = files.iter().take(NAMED_FILES).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > NAMED_FILES {
        words.push_str(", …");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::document::Document;

    fn file(name: &str, bytes: &[u8]) -> (Document, Result<Vec<Problem>, Problem>) {
        let heading = ["Outer".to_owned()];
        let lines = Some(Lines { first: 3, last: 4 });
        let mut out = Rendered::new(1000);
        out.block(BlockKind::Paragraph, From::default(), "before");
        let file = File { name, bytes: bytes.into(), heading: &heading, lines };
        let result = Nest::default().read(file, &Limits::default(), &mut out);
        let mut document = Document::default();
        out.finish(&mut document).expect("it has room");
        assert_eq!(document.check(), Ok(()));
        (document, result)
    }

    #[test]
    fn a_file_becomes_a_section() {
        let (document, result) = file("a.md", b"---\nx: 1\n---\n# One\n\ntext\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
        assert_eq!(result, Ok(vec![]));
        let blocks: Vec<_> =
            document.blocks.iter().map(|b| (b.heading.join("/"), &document.text[b.span.range()])).collect();
        assert_eq!(blocks[1], ("Outer/a.md".into(), "a.md"));
        assert_eq!(blocks[3], ("Outer/a.md/One".into(), "text"));
        let BlockKind::Table { header, .. } = &document.blocks[4].kind else { panic!("no table") };
        assert_eq!(&document.text[header.range()], "| a | b |\n|---|---|");
        assert!(document.blocks[1..].iter().all(|b| b.lines == Some(Lines { first: 3, last: 4 })));
    }

    #[test]
    fn a_file_that_is_not_read_leaves_nothing() {
        for (name, bytes, want) in [
            ("a.png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0"[..], reason::UNSUPPORTED),
            ("a.txt", &[b'x'; 2000], reason::TOO_LARGE),
        ] {
            let (document, result) = file(name, bytes);
            assert_eq!((document.text.as_str(), result.map_err(|p| p.reason)), ("before", Err(want.into())));
        }
    }

    #[test]
    fn notes_are_short() {
        let mut notes = Notes::default();
        for number in 0..1000 {
            notes.add(&number.to_string(), Err(problem(reason::BINARY, "binary data")));
        }
        notes.add("x", Ok(vec![problem(reason::DAMAGED, "cut")]));
        let warnings = notes.into_warnings("attachments");
        assert_eq!(warnings.len(), 2);
        assert!(warnings[0].message.starts_with("1000 of the attachments not read: `0` (binary data), "));
        assert!(warnings[0].message.len() < 1000);
    }
}
