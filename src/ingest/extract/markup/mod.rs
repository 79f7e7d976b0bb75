//! XML of any vocabulary: articles and books, feeds, drawings, records; what is configuration is read as code.
//!
//! A survey of the whole source decides which it is. Entities are never expanded and nothing is fetched. Not for XML that
//! has its own reader (office formats, XHTML).

mod article;
mod article_names;
mod drawing;
mod feed;
mod records;
mod survey;

use super::{Extract, Input, blocks, code, html, xml};
use crate::{
    index::Problem,
    ingest::{detect::Format, document::Document},
    types::Lines,
};
use survey::{Shape, survey};

pub struct Xml;

impl Extract for Xml {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let limits = input.limits;
        if input.bytes.len() as u64 / 4 > limits.max_text_bytes {
            return Err(blocks::too_large(limits.max_text_bytes));
        }
        let decoded = xml::decode(input.bytes);
        let mut document = Document { encoding: Some(decoded.encoding.into()), ..Document::default() };
        document.warnings.extend(decoded.warning());
        let source = decoded.text;
        let survey = survey(&source);
        match survey.shape {
            Shape::Article => article::read(&source, limits.max_text_bytes, &mut document)?,
            Shape::Feed => feed::read(&source, limits.max_text_bytes, &mut document)?,
            Shape::Drawing => drawing::read(&source, limits.max_text_bytes, &mut document)?,
            Shape::Records(ref record) => {
                records::read(&source, record.as_ref(), &survey.mixed, limits.max_text_bytes, &mut document)?;
            }
            Shape::Code => {}
        }
        // Whatever it is, what gives no text is still read as what it looks like.
        if document.blocks.is_empty() && !source.trim().is_empty() {
            let Document { encoding, warnings, .. } = document;
            let input = Input {
                bytes: source.into_bytes(),
                format: Format::Code("xml"),
                limits,
                passwords: input.passwords,
                pages: &[],
            };
            let mut document = code::Code.extract(input)?;
            document.encoding = encoding;
            document.warnings = warnings;
            return Ok(document);
        }
        document.warnings.extend(survey.warning);
        Ok(document)
    }
}

/// Counts lines forward through a source.
struct LineCounter<'a> {
    source: &'a str,
    offset: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    fn new(source: &'a str) -> Self {
        Self { source, offset: 0, line: 1 }
    }

    /// The line that a byte stands on. Offsets do not go back.
    fn line(&mut self, offset: usize) -> u32 {
        let passed = self.source.as_bytes().get(self.offset..offset).unwrap_or_default();
        let lines = passed.iter().filter(|&&byte| byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.offset = self.offset.max(offset);
        self.line
    }

    fn lines(&mut self, first: u32, end: usize) -> Option<Lines> {
        Some(Lines { first, last: self.line(end) })
    }
}

/// The words of a value that may be a piece of a page.
fn plain(text: &str) -> String {
    let is_page = text.contains("</") || text.contains("<br") || text.contains("/>") || text.contains('&');
    if is_page { html::read(text, text.len() as u64 * 4).out.text } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
