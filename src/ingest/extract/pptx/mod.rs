//! Presentations: slides in the order they are shown, each a page, its title a heading, its notes after it.
//!
//! Hidden slides, masters, layouts, empty placeholders, dates and slide numbers are left out; what charts, tables and
//! diagrams say is read. Slides keep their numbers. Not for old `.ppt` files.

mod slide;

use super::{
    Extract, Input, Limits, drawing,
    flow::Flow,
    ooxml::{self, Relationship},
    package::Package,
    problem, reason,
    xml::{Event, Reader},
};
use crate::{index::Problem, ingest::document::Document};
use slide::{Paragraph, Shape, Slide};

pub struct Pptx;

impl Extract for Pptx {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        read(input.bytes, input.limits)
    }
}

fn read(bytes: Vec<u8>, limits: &Limits) -> Result<Document, Problem> {
    let source_bytes = bytes.len();
    let mut package = Package::open(bytes, limits)?;
    let main = ooxml::main_part(&mut package, "ppt/presentation.xml", "presentation")?;
    let mut document = Document::default();
    ooxml::core_properties(&mut package, &mut document)?;
    let slides = slides(&mut package, &main)?;
    document.pages = u32::try_from(slides.len()).ok();
    let mut flow = Flow::new(limits.max_text_bytes, source_bytes);
    let mut damage = None;
    let mut hidden = 0usize;
    let mut number = 0u32;
    for part in slides {
        number = number.saturating_add(1);
        if number > limits.max_pages {
            let message = format!("only the first {} slides were read", limits.max_pages);
            document.warnings.push(problem(reason::TRUNCATED, message));
            break;
        }
        let Some(source) = part.as_ref().map(|part| ooxml::read_text(&mut package, part)).transpose()?.flatten() else {
            damage.get_or_insert_with(|| problem(reason::DAMAGED, format!("slide {number} is missing")));
            continue;
        };
        let part = part.unwrap_or_default();
        let mut reader = Reader::new(&source);
        let slide = slide::read(&mut reader);
        damage = damage.or(reader.warning());
        if slide.is_hidden {
            hidden += 1;
            continue;
        }
        let relationships = ooxml::relationships(&mut package, &part)?;
        flow.begin_page(number);
        write(&slide, &relationships, &mut package, &mut flow)?;
        if let Some(notes) = ooxml::find(&relationships, "notesSlide")
            && let Some(source) = ooxml::read_text(&mut package, notes)?
        {
            write_notes(&slide::read(&mut Reader::new(&source)), &mut flow);
        }
        if flow.is_full() {
            break;
        }
    }
    if hidden > 0 {
        document.metadata.insert("hidden_slides".into(), hidden.to_string());
    }
    let damage = package.warning().or(damage);
    if flow.is_empty()
        && let Some(damage) = damage
    {
        return Err(damage);
    }
    document.warnings.extend(damage);
    flow.finish(&mut document)?;
    Ok(document)
}

/// The parts of the slides in the order of the presentation; `None` for one that is not there.
fn slides(package: &mut Package, main: &str) -> Result<Vec<Option<String>>, Problem> {
    let relationships = ooxml::relationships(package, main)?;
    let source = ooxml::read_text(package, main)?.unwrap_or_default();
    let mut reader = Reader::new(&source);
    let mut found = Vec::new();
    while let Some(event) = reader.next() {
        if let Event::Start(element) = event
            && element.name == "sldId"
            && let Some(id) = element.prefixed("id")
        {
            found.push(ooxml::by_id(&relationships, &id).map(str::to_owned));
        }
    }
    if found.is_empty() {
        found.extend(relationships.into_iter().filter(|one| one.kind == "slide").map(|one| Some(one.target)));
    }
    Ok(found)
}

/// Writes a slide: its title first, wherever it stands among the shapes.
fn write(slide: &Slide, relationships: &[Relationship], package: &mut Package, flow: &mut Flow) -> Result<(), Problem> {
    for shape in &slide.shapes {
        if let Shape::Title(paragraphs) = shape {
            let text: Vec<&str> = paragraphs.iter().map(|paragraph| paragraph.text.as_str()).collect();
            flow.heading(1, &text.join(" "));
        }
    }
    for shape in &slide.shapes {
        match shape {
            Shape::Title(_) => {}
            Shape::Text(paragraphs) => write_text(paragraphs, false, flow),
            Shape::Body(paragraphs) => write_text(paragraphs, true, flow),
            Shape::Table { rows, has_header } => {
                flow.begin_table();
                for row in rows {
                    flow.begin_row(false);
                    for cell in row {
                        flow.begin_cell(cell.columns, 1);
                        flow.shape_cell(cell.columns, cell.continues);
                        for paragraph in &cell.paragraphs {
                            flow.paragraph(&paragraph.text);
                        }
                        flow.end_cell();
                    }
                    flow.end_row();
                }
                flow.end_table(*has_header);
            }
            Shape::Chart(id) => {
                for line in part_lines(id, relationships, package, drawing::chart)? {
                    flow.paragraph(&line);
                }
            }
            Shape::Diagram(id) => {
                for line in part_lines(id, relationships, package, drawing::diagram)? {
                    flow.item(0, "", &line);
                }
            }
        }
    }
    Ok(())
}

fn part_lines(
    id: &str,
    relationships: &[Relationship],
    package: &mut Package,
    read: fn(&mut Reader<'_>) -> Vec<String>,
) -> Result<Vec<String>, Problem> {
    let Some(part) = ooxml::by_id(relationships, id) else { return Ok(Vec::new()) };
    let source = ooxml::read_text(package, part)?.unwrap_or_default();
    Ok(read(&mut Reader::new(&source)))
}

/// Paragraphs of a shape. In the body of a slide they are items, unless there is one alone or they say that they have no
/// mark; elsewhere they say so if they are.
fn write_text(paragraphs: &[Paragraph], is_body: bool, flow: &mut Flow) {
    let is_list = is_body && paragraphs.len() > 1;
    for paragraph in paragraphs {
        match &paragraph.marker {
            Some(marker) if marker.is_empty() => flow.item(paragraph.level, "", &paragraph.text),
            Some(marker) => flow.item(paragraph.level, marker, &paragraph.text),
            None if is_list && !paragraph.is_unmarked => flow.item(paragraph.level, "", &paragraph.text),
            None => flow.paragraph(&paragraph.text),
        }
    }
}

fn write_notes(notes: &Slide, flow: &mut Flow) {
    let mut mark = "Notes: ";
    for shape in &notes.shapes {
        if let Shape::Body(paragraphs) = shape {
            for paragraph in paragraphs {
                flow.paragraph(&format!("{mark}{}", paragraph.text));
                mark = "";
            }
        }
    }
}

#[cfg(test)]
pub mod tests;
