//! Paragraphs, cells and notes of an RTF document in the order they end, told to the flow of the body.

use crate::{
    index::Problem,
    ingest::{document::Document, extract::flow::Flow},
};

/// What a paragraph is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kind {
    /// The level of a heading, from 1.
    pub heading: Option<u8>,
    /// An item of a list, this deep.
    pub item: Option<u8>,
    pub in_table: bool,
}

pub struct Sheet {
    flow: Flow,
    in_table: bool,
    in_row: bool,
    in_cell: bool,
    is_header_row: bool,
    /// What a cell of a table inside of a cell is written after.
    inner: String,
    notes: usize,
    /// Texts of boxes, written after the paragraph they are anchored in.
    boxes: Vec<String>,
}

impl Sheet {
    pub fn new(max_text_bytes: u64, source_bytes: usize) -> Self {
        Self {
            flow: Flow::new(max_text_bytes, source_bytes),
            in_table: false,
            in_row: false,
            in_cell: false,
            is_header_row: false,
            inner: String::new(),
            notes: 0,
            boxes: Vec::new(),
        }
    }

    pub fn is_full(&self) -> bool {
        self.flow.is_full()
    }

    /// A paragraph has ended.
    pub fn paragraph(&mut self, text: &str, kind: Kind, marker: Option<&str>) {
        let has_text = !text.trim().is_empty();
        if kind.in_table {
            if has_text {
                self.begin_cell();
            }
        } else {
            self.end_table();
        }
        let number = marker.filter(|marker| marker.contains(char::is_alphanumeric));
        if !has_text {
        } else if let Some(level) = kind.heading.filter(|_| !kind.in_table) {
            match number {
                Some(number) => self.flow.heading(level.clamp(1, 6), &format!("{number} {text}")),
                None => self.flow.heading(level.clamp(1, 6), text),
            }
        } else if kind.item.is_some() || marker.is_some() {
            self.flow.item(usize::from(kind.item.unwrap_or(0)), number.unwrap_or(""), text);
        } else {
            self.flow.paragraph(text);
        }
        if !kind.in_table {
            self.write_boxes();
        }
    }

    /// A cell has ended; its last paragraph is this text.
    pub fn cell(&mut self, text: &str, marker: Option<&str>) {
        self.begin_cell();
        self.end_inner();
        self.paragraph(text, Kind { in_table: true, ..Kind::default() }, marker);
        self.flow.end_cell();
        self.in_cell = false;
    }

    /// A cell, or a row, of a table inside of a cell has ended: it stays in that cell.
    pub fn inner_cell(&mut self, text: &str, end: &str) {
        let text = text.trim();
        if !text.is_empty() {
            if !self.inner.is_empty() {
                self.inner.push(' ');
            }
            self.inner.push_str(text);
        }
        if !self.inner.is_empty() {
            self.inner.truncate(self.inner.trim_end_matches([',', ';']).len());
            self.inner.push_str(end);
        }
    }

    pub fn begin_row(&mut self) {
        self.is_header_row = false;
    }

    pub fn header_row(&mut self) {
        self.is_header_row = true;
    }

    pub fn end_row(&mut self) {
        if self.in_cell {
            self.flow.end_cell();
        }
        if self.in_row {
            self.flow.end_row();
        }
        (self.in_cell, self.in_row) = (false, false);
    }

    /// The mark of the next note, where the text refers to it.
    pub fn mark(&self) -> String {
        format!("[{}]", self.notes + 1)
    }

    /// A note has ended.
    pub fn note(&mut self, text: &str) {
        let mark = self.mark();
        if !text.trim().is_empty() {
            self.notes += 1;
            self.flow.note(&mark, text);
        }
    }

    /// The text of a box has ended.
    pub fn text_box(&mut self, text: &str) {
        self.boxes.push(text.trim().to_owned());
    }

    pub fn finish(mut self, document: &mut Document) -> Result<(), Problem> {
        self.end_table();
        self.write_boxes();
        self.flow.finish(document)
    }

    fn begin_cell(&mut self) {
        if !std::mem::replace(&mut self.in_table, true) {
            self.flow.begin_table();
        }
        if !std::mem::replace(&mut self.in_row, true) {
            self.flow.begin_row(self.is_header_row);
        }
        if !std::mem::replace(&mut self.in_cell, true) {
            self.flow.begin_cell(1, 1);
        }
    }

    fn end_inner(&mut self) {
        let inner = std::mem::take(&mut self.inner);
        self.flow.paragraph(inner.trim_end_matches([',', ';']));
    }

    fn end_table(&mut self) {
        if std::mem::take(&mut self.in_table) {
            self.end_row();
            self.flow.end_table(true);
            self.write_boxes();
        }
    }

    fn write_boxes(&mut self) {
        for text in std::mem::take(&mut self.boxes) {
            for paragraph in text.split('\n') {
                self.flow.paragraph(paragraph);
            }
        }
    }
}
