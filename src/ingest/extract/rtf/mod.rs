//! RTF: paragraphs, headings, lists, tables and notes of a document; title, author and date.
//!
//! Fields give what they show. Left out are pictures, page headers and footers, hidden and deleted text. Bytes are
//! decoded by the character set of their font. Not a layout: pages are not known.

mod charset;
mod lexer;
mod reader;
mod sheet;
mod words;

use super::{Extract, Input, clean::title, problem, reason};
use crate::{index::Problem, ingest::document::Document};
use lexer::Lexer;
use reader::Reader;

pub use charset::of_code_page;

pub struct Rtf;

impl Extract for Rtf {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut reader = Reader::new(input.limits.max_text_bytes, input.bytes.len());
        for token in Lexer::new(&input.bytes) {
            reader.take(token);
            if reader.has_ended || reader.sheet.is_full() {
                break;
            }
        }
        let is_whole = reader.has_ended;
        reader.finish();
        let Reader { sheet, info, created, replaced, .. } = reader;
        let mut document = Document::default();
        for (key, text) in info {
            let Some(text) = title(&text) else { continue };
            match key {
                "title" => document.title = Some(text),
                "author" => document.author = Some(text),
                _ => drop(document.metadata.insert(key.into(), text)),
            }
        }
        sheet.finish(&mut document)?;
        if let Some(date) = date(created) {
            document.metadata.insert("created".into(), date);
        }
        if !is_whole {
            let what = "the end of the file is missing: what is left of it was read";
            if document.text.is_empty() {
                return Err(problem(
                    reason::DAMAGED,
                    "the end of the file is missing, and nothing is left of its text",
                ));
            }
            document.warnings.push(problem(reason::DAMAGED, what));
        }
        if replaced > 0 {
            let message = format!("{replaced} byte sequences are not valid in the encodings of their fonts");
            document.warnings.push(problem(reason::REPLACED_CHARACTERS, message));
        }
        Ok(document)
    }
}

/// A date in ISO 8601, of year, month, day, hour and minute.
fn date([year, month, day, hour, minute]: [i32; 5]) -> Option<String> {
    let is_date = (1980..3000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let has_time = (0..24).contains(&hour) && (0..60).contains(&minute);
    (is_date && has_time).then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00"))
}

#[cfg(test)]
mod tests;
