//! One slide: its shapes, in the order they are drawn.

use crate::ingest::extract::xml::{Element, Event, Reader};

/// What is read of a slide.
#[derive(Debug, Default)]
pub struct Slide {
    pub is_hidden: bool,
    pub shapes: Vec<Shape>,
}

#[derive(Debug)]
pub enum Shape {
    Title(Vec<Paragraph>),
    /// The placeholder for the body of the slide (or for notes).
    Body(Vec<Paragraph>),
    Text(Vec<Paragraph>),
    Table {
        rows: Vec<Vec<Cell>>,
        has_header: bool,
    },
    /// A chart or a diagram, by the identifier of its part.
    Chart(String),
    Diagram(String),
}

#[derive(Debug, Default)]
pub struct Paragraph {
    pub text: String,
    /// From 0.
    pub level: usize,
    /// A bullet is empty text.
    pub marker: Option<String>,
    /// It says that it has no mark.
    pub is_unmarked: bool,
}

#[derive(Debug, Default)]
pub struct Cell {
    pub paragraphs: Vec<Paragraph>,
    pub columns: usize,
    pub continues: bool,
    /// It is covered by the cell to its left.
    is_covered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Title,
    Body,
    Text,
    /// Dates, numbers and the like, which every slide repeats.
    Left,
}

struct Walk {
    slide: Slide,
    place: Place,
    paragraphs: Vec<Paragraph>,
    now: Paragraph,
    numbers: Vec<u64>,
    in_text: bool,
    table: Option<(Vec<Vec<Cell>>, bool)>,
    /// How many shapes and paragraphs there were where each alternative began.
    alternatives: Vec<usize>,
    pieces: usize,
}

/// Reads a slide, or the notes of one.
pub fn read(reader: &mut Reader<'_>) -> Slide {
    let mut walk = Walk {
        slide: Slide::default(),
        place: Place::Text,
        paragraphs: Vec::new(),
        now: Paragraph::default(),
        numbers: Vec::new(),
        in_text: false,
        table: None,
        alternatives: Vec::new(),
        pieces: 0,
    };
    while let Some(event) = reader.next() {
        match event {
            Event::Start(element) => walk.start(&element, reader),
            Event::End(name) => walk.end(name),
            Event::Text(text) if walk.in_text => walk.now.text.push_str(&text),
            Event::Text(_) => {}
        }
    }
    walk.slide
}

fn is_on(element: &Element<'_>, name: &str) -> bool {
    element.get(name).is_some_and(|value| matches!(&*value, "1" | "true"))
}

impl Walk {
    fn start(&mut self, element: &Element<'_>, reader: &mut Reader<'_>) {
        match element.name {
            "sld" => self.slide.is_hidden = element.plain("show").is_some_and(|show| matches!(&*show, "0" | "false")),
            "sp" | "graphicFrame" => {
                self.place = Place::Text;
                self.paragraphs.clear();
            }
            "cNvPr" if is_on(element, "hidden") => self.place = Place::Left,
            "ph" if self.place != Place::Left => {
                self.place = match element.get("type").as_deref() {
                    Some("title" | "ctrTitle") => Place::Title,
                    Some("dt" | "ftr" | "sldNum" | "hdr" | "sldImg") => Place::Left,
                    Some("body" | "obj") | None => Place::Body,
                    Some(_) => Place::Text,
                }
            }
            "txBody" => {
                self.paragraphs.clear();
                self.numbers.clear();
            }
            "p" => self.now = Paragraph::default(),
            "pPr" => self.now.level = element.get("lvl").and_then(|level| level.parse().ok()).unwrap_or(0).min(8),
            "buNone" => self.now.is_unmarked = true,
            "buChar" | "buBlip" => self.now.marker = Some(String::new()),
            "buAutoNum" => self.number(element),
            "t" => self.in_text = true,
            "br" => self.now.text.push('\n'),
            "tab" => self.now.text.push('\t'),
            // The number of the slide, the date of today.
            "fld" if element.get("type").is_some_and(|kind| kind == "slidenum" || kind.starts_with("datetime")) => {
                reader.skip();
            }
            "tbl" => self.table = Some((Vec::new(), false)),
            "tblPr" => {
                if let Some((_, has_header)) = &mut self.table {
                    *has_header = is_on(element, "firstRow");
                }
            }
            "tr" => {
                if let Some((rows, _)) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            "tc" => {
                self.paragraphs.clear();
                let columns = element.get("gridSpan").and_then(|span| span.parse().ok()).unwrap_or(1);
                let (continues, is_covered) = (is_on(element, "vMerge"), is_on(element, "hMerge"));
                if let Some(row) = self.table.as_mut().and_then(|(rows, _)| rows.last_mut()) {
                    row.push(Cell { paragraphs: Vec::new(), columns, continues, is_covered });
                }
            }
            "chart" => {
                if let Some(id) = element.prefixed("id") {
                    self.push(Shape::Chart(id.into_owned()));
                }
            }
            "relIds" => {
                if let Some(id) = element.prefixed("dm") {
                    self.push(Shape::Diagram(id.into_owned()));
                }
            }
            "AlternateContent" => self.alternatives.push(self.pieces),
            "Fallback" if self.alternatives.last().is_some_and(|&before| before != self.pieces) => reader.skip(),
            "extLst" | "timing" | "transition" | "custDataLst" => reader.skip(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.in_text = false,
            "p" => {
                let paragraph = std::mem::take(&mut self.now);
                if !paragraph.text.trim().is_empty() {
                    self.pieces += 1;
                    self.paragraphs.push(paragraph);
                }
            }
            "txBody" if self.table.is_none() => {
                let paragraphs = std::mem::take(&mut self.paragraphs);
                match self.place {
                    _ if paragraphs.is_empty() => {}
                    Place::Title => self.push(Shape::Title(paragraphs)),
                    Place::Body => self.push(Shape::Body(paragraphs)),
                    Place::Text => self.push(Shape::Text(paragraphs)),
                    Place::Left => {}
                }
            }
            "tc" => {
                let paragraphs = std::mem::take(&mut self.paragraphs);
                if let Some(row) = self.table.as_mut().and_then(|(rows, _)| rows.last_mut()) {
                    if row.last().is_some_and(|cell| cell.is_covered) {
                        row.pop();
                    } else if let Some(cell) = row.last_mut() {
                        cell.paragraphs = paragraphs;
                    }
                }
            }
            "tbl" => {
                if let Some((rows, has_header)) = self.table.take() {
                    self.push(Shape::Table { rows, has_header });
                }
            }
            "AlternateContent" => {
                self.alternatives.pop();
            }
            _ => {}
        }
    }

    fn push(&mut self, shape: Shape) {
        if self.place != Place::Left {
            self.pieces += 1;
            self.slide.shapes.push(shape);
        }
    }

    /// Counts a numbered paragraph on, at its level.
    fn number(&mut self, element: &Element<'_>) {
        let start = element.get("startAt").and_then(|start| start.parse().ok()).unwrap_or(1u64);
        self.numbers.truncate(self.now.level + 1);
        while self.numbers.len() <= self.now.level {
            self.numbers.push(start.saturating_sub(1));
        }
        if let Some(number) = self.numbers.last_mut() {
            *number = number.saturating_add(1);
            self.now.marker = Some(format!("{number}."));
        }
    }
}
