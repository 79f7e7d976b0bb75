//! The body (or the notes, or a header) from event to event.

use std::collections::HashMap;

use super::{
    numbering::{Marker, Numbering},
    properties::{self, is_on, value},
    styles::{Role, Styles},
    symbols::symbol,
};
use crate::{
    index::Problem,
    ingest::extract::{
        flow::{Flow, one_line},
        xml::{Element, Event, Reader},
    },
};

/// Longest code of a field that is kept: its first word tells what it is.
const MAX_CODE: usize = 64;

/// Paragraphs after which a field that shows nothing is one that was never ended.
const MAX_CODE_PARAGRAPHS: usize = 20;

pub struct Walk {
    pub flow: Flow,
    /// The text of the title, if the document has one.
    pub title: Option<String>,
    /// Lines of charts and diagrams, by relationship.
    pub embedded: HashMap<String, Vec<String>>,
    styles: Styles,
    numbering: Numbering,
    /// Notes that are not yet referred to, and how many were.
    notes: HashMap<String, String>,
    footnotes: usize,
    endnotes: usize,
    /// The note that is being read.
    note: Option<String>,
    now: State,
    /// What was at work where a text box begins.
    around: Vec<State>,
    fields: Vec<Field>,
    /// Fields of which the code is being read.
    codes: usize,
    /// Fields that make a table of contents.
    contents: usize,
    in_text: bool,
    /// The text of a field's code.
    in_code: bool,
    /// Paragraphs that began while the code of a field was being read.
    code_paragraphs: usize,
    /// A sign of mathematics that stands before the next text.
    sign: &'static str,
    /// The content of the next content control is a table of contents, or its placeholder.
    skips_content: bool,
    /// How much text had been read where each alternative began.
    alternatives: Vec<u64>,
    text_bytes: u64,
    tables: Vec<TableLook>,
    embedded_now: Vec<String>,
}

/// A paragraph and a run at work.
#[derive(Default)]
struct State {
    run: String,
    paragraph: properties::Paragraph,
    is_hidden: bool,
    is_open: bool,
}

struct Field {
    in_result: bool,
    is_contents: bool,
    code: String,
}

struct TableLook {
    has_header: bool,
}

impl Walk {
    pub fn new(flow: Flow, styles: Styles, numbering: Numbering) -> Self {
        Self {
            flow,
            title: None,
            embedded: HashMap::new(),
            styles,
            numbering,
            notes: HashMap::new(),
            footnotes: 0,
            endnotes: 0,
            note: None,
            now: State::default(),
            around: Vec::new(),
            fields: Vec::new(),
            codes: 0,
            contents: 0,
            in_text: false,
            in_code: false,
            code_paragraphs: 0,
            sign: "",
            skips_content: false,
            alternatives: Vec::new(),
            text_bytes: 0,
            tables: Vec::new(),
            embedded_now: Vec::new(),
        }
    }

    /// Reads one part; gives what was wrong with it.
    pub fn read(&mut self, source: &str) -> Option<Problem> {
        let mut reader = Reader::new(source);
        while let Some(event) = reader.next() {
            match event {
                Event::Start(element) => self.start(&element, &mut reader),
                Event::End(name) => self.end(name),
                Event::Text(text) => self.text(&text),
            }
            if self.flow.is_full() {
                break;
            }
        }
        self.settle();
        self.end_fields();
        self.note = None;
        reader.warning()
    }

    fn start(&mut self, element: &Element<'_>, reader: &mut Reader<'_>) {
        match element.name {
            "p" => {
                let joined = self.now.paragraph.is_joined && !self.now.is_open;
                if self.now.is_open {
                    self.around.push(std::mem::take(&mut self.now));
                } else if !joined {
                    self.now = State::default();
                }
                self.now.is_open = true;
                self.now.paragraph.is_joined = false;
                self.code_paragraphs = if self.codes > 0 { self.code_paragraphs + 1 } else { 0 };
                if self.code_paragraphs > MAX_CODE_PARAGRAPHS {
                    self.end_fields();
                }
            }
            "pPr" => {
                let before = std::mem::take(&mut self.now.paragraph);
                self.now.paragraph = properties::paragraph(reader);
                self.end_contents();
                // A paragraph that two were made of looks like the last of them; but a list item began it.
                if self.now.paragraph.style.is_none() {
                    self.now.paragraph.style = before.style;
                }
            }
            "r" => self.now.is_hidden = false,
            "rPr" => {
                let run = properties::run(reader);
                let styled = || run.style.as_deref().is_some_and(|id| self.styles.get(Some(id)).is_hidden);
                self.now.is_hidden = run.is_hidden.unwrap_or_else(styled);
            }
            "t" => self.in_text = true,
            "tab" | "ptab" => self.push("\t"),
            "br" | "cr" => self.push("\n"),
            "noBreakHyphen" => self.push("-"),
            "sym" => {
                let code = element.get("char").and_then(|code| u32::from_str_radix(&code, 16).ok());
                let letter = code.and_then(|code| symbol(&element.get("font").unwrap_or_default(), code));
                self.push(letter.map(String::from).unwrap_or_default().as_str());
            }
            "fldChar" => self.field(&element.get("fldCharType").unwrap_or_default()),
            "instrText" => self.in_code = true,
            "del" | "moveFrom" | "delText" | "delInstrText" | "rt" | "sectPr" | "tblGrid" | "docPartObj"
            | "binData" | "tcPrChange" | "annotation" => reader.skip(),
            "sdtPr" => self.skips_content = content_control(reader),
            "sdtContent" if std::mem::take(&mut self.skips_content) => reader.skip(),
            "AlternateContent" => self.alternatives.push(self.text_bytes),
            "Fallback" if self.alternatives.last().is_some_and(|&before| before != self.text_bytes) => reader.skip(),
            "footnoteReference" => self.note_reference(element, true),
            "endnoteReference" => self.note_reference(element, false),
            "footnote" | "endnote" => self.begin_note(element, reader),
            "tbl" => {
                self.settle();
                self.tables.push(TableLook { has_header: true });
                self.flow.begin_table();
            }
            "tblLook" => {
                let bits = element.get("val").and_then(|bits| u32::from_str_radix(&bits, 16).ok());
                let first = element.get("firstRow").map(|on| matches!(&*on, "1" | "true" | "on"));
                if let Some(table) = self.tables.last_mut() {
                    table.has_header = first.or(bits.map(|bits| bits & 0x20 != 0)).unwrap_or(true);
                }
            }
            "tr" => self.flow.begin_row(false),
            "trPr" => self.row(reader),
            "tc" => self.flow.begin_cell(1, 1),
            "tcPr" => self.cell(reader),
            // Mathematics in one line.
            "den" => self.sign = "/",
            "sup" => self.sign = "^",
            "sub" => self.sign = "_",
            "rad" => self.push("√"),
            "chart" | "relIds" => self.embedded(element),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.in_text = false,
            "instrText" => self.in_code = false,
            "den" | "sup" | "sub" => self.sign = "",
            "p" => {
                self.end_paragraph();
                if let Some(around) = self.around.pop() {
                    self.now = around;
                }
            }
            "AlternateContent" => {
                self.alternatives.pop();
            }
            "footnote" | "endnote" => self.note = None,
            "tc" => {
                self.settle();
                self.flow.end_cell();
            }
            "tr" => self.flow.end_row(),
            "tbl" => {
                let look = self.tables.pop();
                self.flow.end_table(look.is_some_and(|look| look.has_header));
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_text && !text.is_empty() {
            let sign = std::mem::take(&mut self.sign);
            self.push(sign);
            self.push(text);
        } else if self.in_code
            && let Some(field) = self.fields.last_mut()
            && field.code.len() < MAX_CODE
        {
            field.code.push_str(text);
        }
    }

    /// What is pushed now is seen.
    fn is_seen(&self) -> bool {
        self.now.is_open && !self.now.is_hidden && self.codes == 0 && self.contents == 0
    }

    /// Appends what a reader sees to the paragraph at work.
    fn push(&mut self, text: &str) {
        if self.is_seen() {
            self.now.run.push_str(text);
            self.text_bytes += text.len() as u64;
        }
    }

    // ---- paragraphs ----

    /// Ends what waits for the next paragraph, where none can come.
    fn settle(&mut self) {
        if !self.now.is_open {
            self.now.paragraph.is_joined = false;
            self.end_paragraph();
        }
    }

    fn end_paragraph(&mut self) {
        self.now.is_open = false;
        if self.now.paragraph.is_joined && self.around.is_empty() {
            return;
        }
        let state = std::mem::take(&mut self.now);
        let style = self.styles.get(state.paragraph.style.as_deref());
        let role = match (state.paragraph.outline, style.role) {
            (Some(level), Role::Text) if level < 9 => Role::Heading(level + 1),
            (Some(9..), Role::Heading(_)) => Role::Text,
            (_, role) => role,
        };
        let number = state.paragraph.number.or(style.number);
        let level = state.paragraph.level.or(style.level).unwrap_or(0);
        let is_empty = state.run.trim().is_empty();
        let marker = number.filter(|_| !is_empty).and_then(|number| self.numbering.next(&number, level));
        if is_empty || role == Role::Contents || style.is_hidden {
            self.flush_embedded();
            return;
        }
        if let Some(id) = &self.note {
            let note = self.notes.entry(id.clone()).or_default();
            note.push_str(&one_line(&state.run));
            note.push(' ');
            return;
        }
        match role {
            Role::Title => {
                if self.title.is_none() {
                    self.title = crate::ingest::extract::clean::title(&state.run);
                }
                self.flow.heading(1, &state.run);
            }
            Role::Heading(depth) => {
                let number = match &marker {
                    Some(Marker::Number(number)) => format!("{number} "),
                    Some(Marker::Bullet | Marker::None) | None => String::new(),
                };
                self.flow.heading(depth, &format!("{number}{}", state.run));
            }
            Role::Code => self.flow.code(&state.run),
            Role::Quote if marker.is_none() => self.flow.quote(&state.run),
            Role::Quote | Role::Text | Role::Contents => match marker {
                Some(Marker::Bullet) => self.flow.item(level, "", &state.run),
                Some(Marker::Number(number)) => self.flow.item(level, &number, &state.run),
                Some(Marker::None) | None => self.flow.paragraph(&state.run),
            },
        }
        self.flush_embedded();
    }

    // ---- fields ----

    /// A field is its code, then (after `separate`) what it shows.
    fn field(&mut self, kind: &str) {
        match kind {
            "begin" => {
                self.fields.push(Field { in_result: false, is_contents: false, code: String::new() });
                self.codes += 1;
            }
            "separate" => {
                if let Some(field) = self.fields.last_mut().filter(|field| !field.in_result) {
                    field.in_result = true;
                    field.is_contents = field.code.trim_start().get(..4).is_some_and(|word| word == "TOC ");
                    self.contents += usize::from(field.is_contents);
                    self.codes -= 1;
                }
            }
            "end" => {
                if let Some(field) = self.fields.pop() {
                    self.codes -= usize::from(!field.in_result);
                    self.contents -= usize::from(field.is_contents);
                }
            }
            _ => {}
        }
    }

    /// A heading is no line of a table of contents: a field that was never ended must not swallow the document.
    fn end_contents(&mut self) {
        if self.contents > 0
            && let Role::Heading(_) = self.styles.get(self.now.paragraph.style.as_deref()).role
        {
            self.end_fields();
        }
    }

    fn end_fields(&mut self) {
        self.fields.clear();
        (self.codes, self.contents, self.code_paragraphs) = (0, 0, 0);
    }

    // ---- notes ----

    fn begin_note(&mut self, element: &Element<'_>, reader: &mut Reader<'_>) {
        // Separators are lines, not notes.
        if element.get("type").is_some_and(|kind| kind != "normal") {
            reader.skip();
            return;
        }
        let kind = if element.name == "footnote" { 'f' } else { 'e' };
        self.note = element.get("id").map(|id| format!("{kind}{id}"));
    }

    fn note_reference(&mut self, element: &Element<'_>, is_footnote: bool) {
        if !self.is_seen() {
            return;
        }
        let kind = if is_footnote { 'f' } else { 'e' };
        let Some(note) = element.get("id").and_then(|id| self.notes.remove(&format!("{kind}{id}"))) else { return };
        let mark = if is_footnote {
            self.footnotes += 1;
            format!("[{}]", self.footnotes)
        } else {
            self.endnotes += 1;
            format!("[e{}]", self.endnotes)
        };
        self.push(&mark);
        self.flow.note(&mark, &note);
    }

    // ---- tables ----

    fn row(&mut self, reader: &mut Reader<'_>) {
        let depth = reader.depth();
        let mut is_deleted = false;
        while reader.depth() >= depth
            && let Some(event) = reader.next()
        {
            let Event::Start(element) = event else { continue };
            match element.name {
                "tblHeader" if is_on(&element) => self.flow.begin_row(true),
                "del" => is_deleted = true,
                "trPrChange" => reader.skip(),
                _ => {}
            }
        }
        if is_deleted {
            reader.skip();
            self.flow.end_row();
        }
    }

    fn cell(&mut self, reader: &mut Reader<'_>) {
        let depth = reader.depth();
        let (mut columns, mut continues) = (1, false);
        while reader.depth() >= depth
            && let Some(event) = reader.next()
        {
            let Event::Start(element) = event else { continue };
            match element.name {
                "gridSpan" => columns = value(&element).and_then(|span| span.parse().ok()).unwrap_or(1),
                "vMerge" => continues = value(&element).is_none_or(|kind| kind == "continue"),
                "tcPrChange" => reader.skip(),
                _ => {}
            }
        }
        self.flow.shape_cell(columns, continues);
    }

    // ---- charts and diagrams ----

    fn embedded(&mut self, element: &Element<'_>) {
        let id = element.prefixed("dm").or_else(|| element.prefixed("id"));
        if let Some(lines) = id.and_then(|id| self.embedded.remove(&*id)) {
            self.text_bytes += 1;
            self.embedded_now.extend(lines);
        }
    }

    /// They follow the paragraph that they stand in.
    fn flush_embedded(&mut self) {
        for line in std::mem::take(&mut self.embedded_now) {
            self.flow.paragraph(&line);
        }
    }
}

/// Reads the `w:sdtPr` that has just begun: whether its content is no text of the document.
fn content_control(reader: &mut Reader<'_>) -> bool {
    let depth = reader.depth();
    let mut skips = false;
    while reader.depth() >= depth
        && let Some(event) = reader.next()
    {
        let Event::Start(element) = event else { continue };
        match element.name {
            "showingPlcHdr" => skips |= is_on(&element),
            "docPartGallery" => skips |= element.get("val").is_some_and(|kind| kind == "Table of Contents"),
            _ => {}
        }
    }
    skips
}
