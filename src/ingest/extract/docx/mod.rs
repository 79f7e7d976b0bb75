//! Word documents: the body in its order, as headings, paragraphs, lists, tables and notes.
//!
//! Deleted and hidden text, field codes, tables of contents, comments, page headers and footers are left out. Pages are
//! not given: Word makes them anew whenever it opens a document. Not for old `.doc` files.

mod numbering;
mod properties;
mod styles;
mod symbols;
mod walk;

use super::{
    Extract, Input, Limits,
    flow::Flow,
    ooxml::{self, Relationship},
    package::Package,
    problem, reason,
    xml::Reader,
};
use crate::{index::Problem, ingest::document::Document};
use numbering::Numbering;
use styles::Styles;
use walk::Walk;

/// Most headers and footers looked at, where the body has no text.
const MAX_HEADERS: usize = 64;

pub struct Docx;

impl Extract for Docx {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        read(input.bytes, input.limits)
    }
}

fn read(bytes: Vec<u8>, limits: &Limits) -> Result<Document, Problem> {
    let source_bytes = bytes.len();
    let mut package = Package::open(bytes, limits)?;
    let main = ooxml::main_part(&mut package, "word/document.xml", "Word document")?;
    let relationships = ooxml::relationships(&mut package, &main)?;
    let mut document = Document::default();
    ooxml::core_properties(&mut package, &mut document)?;

    let part = |package: &mut Package, kind: &str, usual: &str| {
        ooxml::read_text(package, ooxml::find(&relationships, kind).unwrap_or(usual))
    };
    let styles = part(&mut package, "styles", "word/styles.xml")?.map(|text| Styles::read(&text)).unwrap_or_default();
    let numbering =
        part(&mut package, "numbering", "word/numbering.xml")?.map(|text| Numbering::read(&text)).unwrap_or_default();
    let mut walk = Walk::new(Flow::new(limits.max_text_bytes, source_bytes), styles, numbering);
    for (kind, usual) in [("footnotes", "word/footnotes.xml"), ("endnotes", "word/endnotes.xml")] {
        if let Some(text) = part(&mut package, kind, usual)? {
            walk.read(&text);
        }
    }
    let body = ooxml::read_text(&mut package, &main)?.unwrap_or_default();
    let embedded = embedded(&mut package, &relationships, &body)?;
    walk.embedded = embedded;
    let warning = walk.read(&body);
    drop(body);
    if walk.flow.is_empty() {
        headers(&mut package, &relationships, &mut walk)?;
    }
    let has_text = !walk.flow.is_empty();
    document.warnings.extend(package.warning().or(warning));
    if document.warnings.iter().any(|warning| warning.reason == reason::DAMAGED) && !has_text {
        return Err(problem(reason::DAMAGED, "nothing of its text can be read"));
    }
    if document.title.is_none() {
        document.title = walk.title.take();
    }
    walk.flow.finish(&mut document)?;
    Ok(document)
}

/// A document may be nothing but a letterhead.
fn headers(package: &mut Package, relationships: &[Relationship], walk: &mut Walk) -> Result<(), Problem> {
    for kind in ["header", "footer"] {
        for one in relationships.iter().filter(|one| one.kind == kind).take(MAX_HEADERS) {
            if let Some(text) = ooxml::read_text(package, &one.target)? {
                walk.read(&text);
            }
        }
    }
    Ok(())
}

/// What charts and drawings of their own parts say, by the identifiers of their relationships.
fn embedded(
    package: &mut Package,
    relationships: &[Relationship],
    body: &str,
) -> Result<std::collections::HashMap<String, Vec<String>>, Problem> {
    let mut found = std::collections::HashMap::new();
    for one in relationships {
        let is_used = match one.kind.as_str() {
            "chart" => body.contains("chart"),
            "diagramData" => body.contains("relIds"),
            _ => false,
        };
        if is_used && let Some(text) = ooxml::read_text(package, &one.target)? {
            let lines = if one.kind == "chart" {
                super::drawing::chart(&mut Reader::new(&text))
            } else {
                super::drawing::diagram(&mut Reader::new(&text))
            };
            found.insert(one.id.clone(), lines);
        }
    }
    Ok(found)
}

#[cfg(test)]
pub mod tests;
