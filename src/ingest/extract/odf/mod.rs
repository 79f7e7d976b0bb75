//! OpenDocument: texts, presentations and sheets, as packages or as one flat XML file.
//!
//! What was deleted, what is hidden, comments, tables of contents, page headers and footers are left out. A slide or a
//! sheet is a page; a text has none.

mod sheet;
mod styles;
mod walk;

use super::{
    Extract, Input, Limits,
    flow::Flow,
    ooxml,
    package::Package,
    problem, reason,
    xml::{self, Event, Reader},
};
use crate::{
    index::Problem,
    ingest::{detect::Format, document::Document},
};
use styles::Styles;

pub struct OpenDocument;

/// The parts of a document; in a flat file they are one.
struct Parts {
    content: String,
    styles: String,
    meta: Option<String>,
    warning: Option<Problem>,
}

impl Extract for OpenDocument {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let source_bytes = input.bytes.len();
        let parts = if input.bytes.starts_with(b"PK") || !looks_like_xml(&input.bytes) {
            unpack(input.bytes, input.limits)?
        } else {
            let content = xml::decode(input.bytes).text;
            Parts { content, styles: String::new(), meta: None, warning: None }
        };
        let mut document = Document::default();
        ooxml::properties(parts.meta.as_deref().unwrap_or(&parts.content), &mut document);
        let mut styles = Styles::default();
        styles.read(&parts.styles);
        styles.read(&parts.content);
        let mut flow = Flow::new(input.limits.max_text_bytes, source_bytes);
        let mut reader = Reader::new(&parts.content);
        if input.format == Format::Ods {
            sheet::read(&mut reader, &styles, &mut flow, &mut document);
        } else {
            walk::read(&mut reader, &styles, &mut flow, &mut document, input.limits.max_pages);
        }
        let warning = parts.warning.or(reader.warning());
        if flow.is_empty()
            && let Some(warning) = &warning
        {
            return Err(warning.clone());
        }
        document.warnings.extend(warning);
        let title = document.title.take();
        flow.finish(&mut document)?;
        // The name of a sheet is no title of a workbook.
        if title.is_some() || input.format == Format::Ods {
            document.title = title;
        }
        Ok(document)
    }
}

fn looks_like_xml(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start().starts_with(b"<")
}

fn unpack(bytes: Vec<u8>, limits: &Limits) -> Result<Parts, Problem> {
    let mut package = Package::open(bytes, limits)?;
    if let Some(manifest) = ooxml::read_text(&mut package, "META-INF/manifest.xml")? {
        let mut reader = Reader::new(&manifest);
        while let Some(event) = reader.next() {
            if matches!(event, Event::Start(element) if element.name == "encryption-data") {
                return Err(problem(reason::ENCRYPTED, "it needs a password"));
            }
        }
    }
    let Some(content) = ooxml::read_text(&mut package, "content.xml")? else {
        let message = "it is a zip package without `content.xml`: no OpenDocument, or not whole";
        return Err(problem(reason::DAMAGED, message));
    };
    let styles = ooxml::read_text(&mut package, "styles.xml")?.unwrap_or_default();
    let meta = Some(ooxml::read_text(&mut package, "meta.xml")?.unwrap_or_default());
    Ok(Parts { content, styles, meta, warning: package.warning() })
}

#[cfg(test)]
pub mod tests;
