//! Properties of paragraphs and runs, as they stand in the body, in styles and in numbering.

use crate::ingest::extract::xml::{Element, Event, Reader};

/// What is read of a `w:pPr`.
#[derive(Debug, Clone, Default)]
pub struct Paragraph {
    pub style: Option<String>,
    /// Number definition and level of a list; definition `0` means none.
    pub number: Option<String>,
    pub level: Option<usize>,
    /// From 0; 9 means body text.
    pub outline: Option<u8>,
    /// The mark at its end was deleted: it goes on in the next one.
    pub is_joined: bool,
}

/// What is read of a `w:rPr`.
#[derive(Debug, Clone, Default)]
pub struct Run {
    pub style: Option<String>,
    pub is_hidden: Option<bool>,
}

/// Whether a property that is there is on.
pub fn is_on(element: &Element<'_>) -> bool {
    !element.get("val").is_some_and(|value| matches!(&*value, "0" | "false" | "off"))
}

pub fn value(element: &Element<'_>) -> Option<String> {
    element.get("val").map(|value| value.into_owned())
}

/// Reads the `w:pPr` that has just begun, to its end.
pub fn paragraph(reader: &mut Reader<'_>) -> Paragraph {
    let mut found = Paragraph::default();
    let depth = reader.depth();
    while reader.depth() >= depth
        && let Some(event) = reader.next()
    {
        let Event::Start(element) = event else { continue };
        match element.name {
            "pStyle" => found.style = value(&element),
            "numId" => found.number = value(&element),
            "ilvl" => found.level = value(&element).and_then(|level| level.parse().ok()),
            "outlineLvl" => found.outline = value(&element).and_then(|level| level.parse().ok()),
            // What it was before a tracked change.
            "pPrChange" | "sectPr" | "tabs" => reader.skip(),
            "rPr" => found.is_joined = mark_is_deleted(reader),
            _ => {}
        }
    }
    found
}

fn mark_is_deleted(reader: &mut Reader<'_>) -> bool {
    let mut is_deleted = false;
    let depth = reader.depth();
    while reader.depth() >= depth
        && let Some(event) = reader.next()
    {
        if let Event::Start(element) = event {
            is_deleted |= element.name == "del" || element.name == "moveFrom";
        }
    }
    is_deleted
}

/// Reads the `w:rPr` that has just begun, to its end.
pub fn run(reader: &mut Reader<'_>) -> Run {
    let mut found = Run::default();
    let depth = reader.depth();
    while reader.depth() >= depth
        && let Some(event) = reader.next()
    {
        let Event::Start(element) = event else { continue };
        match element.name {
            "rStyle" => found.style = value(&element),
            "vanish" => found.is_hidden = Some(is_on(&element)),
            "rPrChange" => reader.skip(),
            _ => {}
        }
    }
    found
}
