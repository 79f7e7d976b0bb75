//! HTML: the text a reader of the page sees, as headings, paragraphs, lists, tables and code.
//!
//! Works on html5ever's tokens and builds no tree: what is open is a flat stack, so no nesting is too deep and the time is
//! linear whatever the page does. Scripts, styles, navigation, comments and everything hidden are left out, and what stands
//! around a marked main part that holds most of the text; links keep their words and lose their addresses, images their
//! descriptions alone. Not a browser: style sheets are not read, so what they
//! hide is read as text.

mod elements;
mod regions;
mod stack;
mod walk;

use encoding_rs::Encoding;
use html5ever::{
    tendril::StrTendril,
    tokenizer::{BufferQueue, Tokenizer, TokenizerOpts},
};

use super::{Extract, Input};
use crate::{index::Problem, ingest::document::Document};
use walk::{Page, Walk};

/// Bytes at the start in which a page may name its encoding. (The standard says 1024; pages are worse.)
const CHARSET_BYTES: usize = 4096;

/// Text handed to the tokenizer at once.
const FEED_BYTES: usize = 64 << 10;

pub struct Html;

impl Extract for Html {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let declared = declared_encoding(&input.bytes);
        let max_text_bytes = input.limits.max_text_bytes;
        let mut document = input.decode_as(declared)?;
        let source = std::mem::take(&mut document.text);
        let page = read(&source, max_text_bytes);
        document.title = page.title;
        document.author = page.metadata.get("author").cloned();
        document.metadata.extend(page.metadata);
        page.out.finish(&mut document)?;
        Ok(document)
    }
}

/// The text of a fragment that stands in a document of another format.
pub fn text(source: &str, max_text_bytes: u64) -> String {
    read(source, max_text_bytes).out.text
}

/// Reads a page or a fragment of one, decoded: its blocks, which know their lines, its title and its metadata.
pub(super) fn read(source: &str, max_text_bytes: u64) -> Page {
    let is_xml = source.trim_start().starts_with("<?xml");
    let tokenizer = Tokenizer::new(Walk::new(max_text_bytes, source.len(), is_xml), TokenizerOpts::default());
    let queue = BufferQueue::default();
    let feed = |text: &str| {
        queue.push_back(StrTendril::from_slice(text));
        let _ = tokenizer.feed(&queue);
    };
    for line in source.split_inclusive('\n') {
        let mut rest = line;
        while rest.len() > FEED_BYTES {
            let (now, later) = rest.split_at(rest.floor_char_boundary(FEED_BYTES));
            feed(now);
            rest = later;
        }
        feed(rest);
        tokenizer.sink.next_line();
    }
    tokenizer.end();
    tokenizer.sink.finish()
}

/// The encoding a page names in `<meta charset=…>` or `<meta http-equiv content="…; charset=…">`.
pub(super) fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(CHARSET_BYTES)].to_ascii_lowercase();
    let find = |from: usize, what: &[u8]| head[from..].windows(what.len()).position(|w| w == what).map(|at| from + at);
    let mut at = 0;
    while let Some(meta) = find(at, b"<meta") {
        let end = find(meta, b">").unwrap_or(head.len());
        let tag = &head[meta..end];
        at = end;
        let Some(charset) = tag.windows(7).position(|w| w == b"charset") else { continue };
        let value = tag[charset + 7..].trim_ascii_start();
        let Some(value) = value.strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
        let length = value.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':' | b'.')));
        if let Some(encoding) = Encoding::for_label(&value[..length.unwrap_or(value.len())]) {
            return Some(encoding);
        }
    }
    None
}

#[cfg(test)]
mod tests;
