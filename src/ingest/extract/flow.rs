//! The body of a document as it is read from top to bottom: paragraphs, headings, lists, code, tables and notes into
//! blocks with their heading path and page. What an office format means by its parts is its own walker's affair.

use super::{
    blocks::{From, Rendered},
    clean::title,
    table::{self, Table},
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
    types::{Lines, Span},
};

/// Deepest indentation of a list.
const MAX_INDENT: usize = 8;

/// Writes a body.
pub struct Flow {
    out: Rendered,
    page: Option<u32>,
    path: Vec<(u8, String)>,
    titles: Vec<String>,
    first_heading: Option<String>,
    list: String,
    code: String,
    /// Open tables, innermost last.
    tables: Vec<Table>,
    /// Notes of what is being written, with their marks.
    notes: Vec<(String, String)>,
    carry_budget: usize,
    /// Where the header of the last table of rows stands.
    header: Span,
}

impl Flow {
    /// `source_bytes` bounds what is repeated in tables.
    pub fn new(max_text_bytes: u64, source_bytes: usize) -> Self {
        Self {
            out: Rendered::new(max_text_bytes),
            page: None,
            path: Vec::new(),
            titles: Vec::new(),
            first_heading: None,
            list: String::new(),
            code: String::new(),
            tables: Vec::new(),
            notes: Vec::new(),
            carry_budget: source_bytes,
            header: Span::new(0, 0),
        }
    }

    /// No more text is taken: the document is to be given up.
    pub fn is_full(&self) -> bool {
        self.out.is_full()
    }

    /// Nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.out.text.is_empty() && self.list.is_empty() && self.code.is_empty() && self.tables.is_empty()
    }

    /// Begins a page; its sections begin anew.
    pub fn begin_page(&mut self, page: u32) {
        self.end_tables();
        self.page = Some(page);
        self.path.clear();
        self.titles.clear();
    }

    pub fn paragraph(&mut self, text: &str) {
        self.running(BlockKind::Paragraph, text);
    }

    pub fn quote(&mut self, text: &str) {
        self.running(BlockKind::Quote, text);
    }

    fn running(&mut self, kind: BlockKind, text: &str) {
        let text = text.trim();
        if text.is_empty() {
        } else if let Some(table) = self.cell() {
            table.push(&one_line(text));
        } else {
            self.flush();
            self.emit(kind, text);
        }
    }

    /// A heading; 1 is the highest level. In a table, the table is one that lays out the page.
    pub fn heading(&mut self, level: u8, text: &str) {
        let text = one_line(text);
        let Some(words) = title(&text) else { return };
        self.lay_out();
        self.flush();
        while self.path.last().is_some_and(|(open, _)| *open >= level) {
            self.path.pop();
        }
        if level == 1 && self.first_heading.is_none() {
            self.first_heading = Some(words.clone());
        }
        self.path.push((level, words));
        self.titles = self.path.iter().map(|(_, words)| words.clone()).collect();
        self.emit(BlockKind::Heading(level), &text);
    }

    /// An item of a list; `depth` 0 is the outermost. The marker is `-` where it is empty, and none
    /// where it is a blank: a paragraph that belongs to the item before.
    pub fn item(&mut self, depth: usize, marker: &str, text: &str) {
        let text = one_line(text);
        if text.is_empty() {
            return;
        }
        if let Some(table) = self.cell() {
            let marker = marker.trim();
            let gap = if marker.is_empty() { "" } else { " " };
            table.push(&format!("{marker}{gap}{text}"));
            return;
        }
        self.flush_code();
        if !self.list.is_empty() {
            self.list.push('\n');
        }
        self.list.push_str(&"  ".repeat(depth.min(MAX_INDENT)));
        self.list.push_str(if marker.is_empty() { "-" } else { marker });
        self.list.push(' ');
        self.list.push_str(&text);
    }

    /// A line, or several, of program text; what follows directly belongs to it.
    pub fn code(&mut self, text: &str) {
        if let Some(table) = self.cell() {
            table.push(&one_line(text));
            return;
        }
        self.flush_list();
        if !self.code.is_empty() {
            self.code.push('\n');
        }
        self.code.push_str(text);
    }

    /// A note to what is being written: it follows it.
    pub fn note(&mut self, mark: &str, text: &str) {
        self.notes.push((mark.to_owned(), one_line(text)));
    }

    // ---- tables ----

    /// Begins a table. In a cell of another one: that one lays out the page.
    pub fn begin_table(&mut self) {
        self.lay_out();
        self.flush();
        let share = self.carry_budget / 4;
        self.carry_budget -= share;
        self.tables.push(Table::new(1, share));
    }

    pub fn begin_row(&mut self, is_header: bool) {
        if let Some(table) = self.tables.last_mut() {
            table.end_row();
            table.in_head = is_header;
        }
    }

    pub fn begin_cell(&mut self, columns: usize, rows: usize) {
        if let Some(table) = self.tables.last_mut() {
            table.begin_cell(false, columns, rows);
        }
    }

    /// See [`Table::shape_cell`].
    pub fn shape_cell(&mut self, columns: usize, continues: bool) {
        if let Some(table) = self.tables.last_mut() {
            table.shape_cell(columns, continues);
        }
    }

    pub fn end_cell(&mut self) {
        // Running text of a cell that lays out the page ends with it.
        self.flush();
        if let Some(table) = self.tables.last_mut() {
            table.end_cell();
        }
    }

    pub fn end_row(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.end_row();
            table.in_head = false;
        }
    }

    /// Ends a table; its first row may be taken for its header.
    pub fn end_table(&mut self, guess_header: bool) {
        self.flush();
        if let Some(table) = self.tables.last_mut()
            && guess_header
            && !table.is_layout
        {
            table.guess_header();
        }
        self.emit_table();
        self.tables.pop();
        self.flush_notes();
    }

    /// Rows of a sheet that are lines already, with their numbers: a table of their own, or more of the one before.
    pub fn rows(&mut self, lines: Lines, header: &str, rows: &str, goes_on: bool) {
        self.flush();
        let from = From { heading: &self.titles, lines: Some(lines), page: self.page };
        if goes_on {
            self.out.more_rows(from, self.header, rows);
        } else {
            self.header = self.out.table(from, header, rows);
        }
    }

    /// Running text of a sheet, with the numbers of its rows.
    pub fn lines(&mut self, lines: Lines, text: &str) {
        self.flush();
        let from = From { heading: &self.titles, lines: Some(lines), page: self.page };
        self.out.block(BlockKind::Paragraph, from, text);
    }

    /// The open cell, unless its table lays out the page.
    fn cell(&mut self) -> Option<&mut Table> {
        self.tables.last_mut().filter(|table| table.has_cell())
    }

    fn lay_out(&mut self) {
        if self.cell().is_some() {
            self.emit_table();
            if let Some(table) = self.tables.last_mut() {
                table.is_layout = true;
            }
        }
    }

    fn emit_table(&mut self) {
        let Some(table) = self.tables.last_mut() else { return };
        match table.render() {
            table::Rendered::Rows { header, rows } => {
                let from = From { heading: &self.titles, lines: None, page: self.page };
                self.out.table(from, &header, &rows);
            }
            table::Rendered::Paragraphs(paragraphs) => {
                for text in paragraphs {
                    self.emit(BlockKind::Paragraph, &text);
                }
            }
        }
    }

    fn end_tables(&mut self) {
        while !self.tables.is_empty() {
            self.end_table(false);
        }
        self.flush();
        self.flush_notes();
    }

    // ---- what is gathered ----

    fn emit(&mut self, kind: BlockKind, text: &str) {
        self.out.block(kind, From { heading: &self.titles, lines: None, page: self.page }, text);
        self.flush_notes();
    }

    fn flush(&mut self) {
        self.flush_list();
        self.flush_code();
    }

    fn flush_list(&mut self) {
        let list = std::mem::take(&mut self.list);
        if !list.is_empty() {
            self.emit(BlockKind::List, &list);
        }
    }

    fn flush_code(&mut self) {
        let code = std::mem::take(&mut self.code);
        let code = code.trim_end();
        if code.trim().is_empty() {
            return;
        }
        // The fence must be longer than any in the text.
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat((longest + 1).clamp(3, 64));
        self.emit(BlockKind::Fence, &format!("{fence}\n{code}\n{fence}"));
    }

    fn flush_notes(&mut self) {
        if !self.tables.is_empty() {
            return;
        }
        for (mark, text) in std::mem::take(&mut self.notes) {
            let from = From { heading: &self.titles, lines: None, page: self.page };
            self.out.block(BlockKind::Paragraph, from, &format!("{mark} {text}"));
        }
    }

    /// Puts text and blocks into `document`. Fails with `too_large`.
    pub fn finish(mut self, document: &mut Document) -> Result<(), Problem> {
        self.end_tables();
        if document.title.is_none() {
            document.title.clone_from(&self.first_heading);
        }
        self.out.finish(document)
    }
}

/// White space collapsed to single spaces.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::extract::reason;

    fn finish(flow: Flow) -> Document {
        let mut document = Document::default();
        flow.finish(&mut document).expect("small");
        assert_eq!(document.check(), Ok(()));
        document
    }

    #[test]
    fn everything_in_its_place() {
        let mut flow = Flow::new(10_000, 1000);
        flow.begin_page(3);
        flow.heading(1, " A\nhead ");
        flow.item(0, "", "one");
        flow.note("[1]", "a note");
        flow.item(1, "a)", "two");
        flow.code("x");
        flow.code("  ```");
        flow.begin_table();
        for row in [["k", "v"], ["a|b", ""]] {
            flow.begin_row(false);
            for cell in row {
                flow.begin_cell(1, 1);
                flow.paragraph(cell);
                flow.item(0, "1.", cell);
                flow.end_cell();
            }
            flow.end_row();
        }
        flow.end_table(true);
        let document = finish(flow);
        assert_eq!(
            document.text,
            "A head\n\n- one\n  a) two\n\n[1] a note\n\n````\nx\n  ```\n````\n\n\
             | k 1. k | v 1. v |\n| --- | --- |\n| a\\|b 1. a\\|b |  |"
        );
        assert_eq!(document.title.as_deref(), Some("A head"));
        assert!(document.blocks.iter().all(|block| block.heading == ["A head"] && block.pages.is_some()));
    }

    #[test]
    fn a_table_around_a_table_lays_out_the_page() {
        let mut flow = Flow::new(1 << 20, 1000);
        for depth in 0..5000 {
            flow.begin_table();
            flow.begin_row(false);
            flow.begin_cell(1, 1);
            flow.paragraph(&depth.to_string());
        }
        let document = finish(flow);
        assert_eq!(document.blocks.len(), 5000);
        assert!(document.text.ends_with("\n\n4999"));
    }

    #[test]
    fn too_much_text_is_refused() {
        let mut flow = Flow::new(10, 0);
        flow.paragraph("a long paragraph");
        assert!(flow.is_full());
        assert_eq!(flow.finish(&mut Document::default()).unwrap_err().reason, reason::TOO_LARGE);
    }
}
