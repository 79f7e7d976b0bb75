//! A table of a page or a document: cells into rows into lines of `| a | b |`.

use crate::ingest::extract::rows::{push_row, push_rule};

/// Most columns that one cell spans.
const MAX_SPAN: usize = 64;

/// Longest text of a cell that is repeated in the rows it spans.
const MAX_CARRIED: usize = 200;

/// Cells that a table may span, however small its source is.
const FREE_SPANS: usize = 4096;

/// Most header rows.
const MAX_HEADER_ROWS: usize = 4;

struct Cell {
    text: String,
    columns: usize,
    rows: usize,
    is_header: bool,
    /// Its text is that of the cell above.
    continues: bool,
}

struct Row {
    cells: Vec<String>,
    is_header: bool,
}

/// A cell that reaches into the rows below.
#[derive(Clone)]
struct Carried {
    column: usize,
    rows: usize,
    text: String,
}

#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
    row: Vec<Cell>,
    cell: Option<Cell>,
    carried: Vec<Carried>,
    /// Bytes that may still be repeated; so a page cannot grow.
    carry_budget: usize,
    /// Empty cells that may still stand for those that are spanned.
    span_budget: usize,
    pub in_head: bool,
    /// It lays out a page: its cells hold headings or tables. They are read as running text.
    pub is_layout: bool,
    pub first_line: u32,
}

/// A finished table.
#[derive(Debug, PartialEq)]
pub enum Rendered {
    /// Header lines with the rule under them (empty if there is no header), and the other lines.
    Rows { header: String, rows: String },
    /// It has one column: its cells are paragraphs.
    Paragraphs(Vec<String>),
}

impl Table {
    pub fn new(first_line: u32, carry_budget: usize) -> Self {
        Self { first_line, carry_budget, span_budget: carry_budget.saturating_add(FREE_SPANS), ..Self::default() }
    }

    /// Nothing but numbers and signs stands before the open cell.
    pub fn is_bare(&self) -> bool {
        self.rows.is_empty() && !self.row.iter().any(|cell| cell.text.contains(char::is_alphabetic))
    }

    pub fn has_cell(&self) -> bool {
        self.cell.is_some() && !self.is_layout
    }

    /// Begins a cell; of how many columns and rows is bounded by [`MAX_SPAN`].
    pub fn begin_cell(&mut self, is_header: bool, columns: usize, rows: usize) {
        self.end_cell();
        let (columns, rows) = (columns.clamp(1, MAX_SPAN), rows.clamp(1, MAX_SPAN));
        self.cell = Some(Cell { text: String::new(), columns, rows, is_header, continues: false });
    }

    /// Says of the open cell how many columns it spans, and whether it goes on from the cell above (where a format
    /// writes such cells out).
    pub fn shape_cell(&mut self, columns: usize, continues: bool) {
        if let Some(cell) = &mut self.cell {
            cell.columns = columns.clamp(1, MAX_SPAN);
            cell.continues = continues;
        }
    }

    /// Appends a paragraph to the open cell.
    pub fn push(&mut self, text: &str) {
        if let Some(cell) = &mut self.cell {
            if !cell.text.is_empty() {
                cell.text.push('\n');
            }
            cell.text.push_str(text);
        }
    }

    pub fn end_cell(&mut self) {
        self.row.extend(self.cell.take());
    }

    /// Ends the row: fills in the cells that reach down from above.
    pub fn end_row(&mut self) {
        self.end_cell();
        if self.row.is_empty() {
            return;
        }
        let is_header = self.in_head || self.row.iter().all(|cell| cell.is_header || cell.text.is_empty());
        let mut cells: Vec<String> = Vec::new();
        let mut reaching = Vec::new();
        let mut above = std::mem::take(&mut self.carried);
        above.sort_by_key(|carried| carried.column);
        let mut above = above.into_iter().peekable();
        let budget = &mut self.carry_budget;
        let mut fill = |cells: &mut Vec<String>, reaching: &mut Vec<Carried>, budget: &mut usize, all: bool| {
            while above.peek().is_some_and(|carried| all || carried.column <= cells.len()) {
                let Some(mut carried) = above.next() else { break };
                let text = if *budget >= carried.text.len() { carried.text.clone() } else { String::new() };
                *budget -= text.len();
                cells.push(text);
                carried.rows -= 1;
                if carried.rows > 0 {
                    reaching.push(carried);
                }
            }
        };
        for cell in self.row.drain(..) {
            fill(&mut cells, &mut reaching, budget, false);
            let columns = cell.columns.min(1 + self.span_budget);
            self.span_budget -= columns - 1;
            let mut text = cell.text;
            if cell.continues
                && text.is_empty()
                && let Some(above) = self.rows.last().and_then(|row| row.cells.get(cells.len()))
                && above.len() <= MAX_CARRIED.min(*budget)
            {
                *budget -= above.len();
                text.clone_from(above);
            }
            if cell.rows > 1 && reaching.len() < MAX_SPAN {
                let carried = if text.len() <= MAX_CARRIED { text.clone() } else { String::new() };
                for column in 0..columns {
                    let text = if column == 0 { carried.clone() } else { String::new() };
                    reaching.push(Carried { column: cells.len() + column, rows: cell.rows - 1, text });
                }
            }
            cells.push(text);
            cells.extend((1..columns).map(|_| String::new()));
        }
        fill(&mut cells, &mut reaching, budget, true);
        self.carried = reaching;
        if cells.iter().any(|cell| !cell.is_empty()) {
            self.rows.push(Row { cells, is_header });
        }
    }

    /// Makes the first row the header, where no row is said to be one: unless it holds a number or less than two values.
    pub fn guess_header(&mut self) {
        self.end_row();
        if self.rows.len() < 2 || self.rows.iter().any(|row| row.is_header) {
            return;
        }
        let Some(first) = self.rows.first_mut() else { return };
        let filled = first.cells.iter().filter(|cell| !cell.is_empty()).count();
        first.is_header = filled > 1 && !first.cells.iter().any(|cell| cell.trim().parse::<f64>().is_ok());
    }

    /// Takes what there is as text.
    pub fn render(&mut self) -> Rendered {
        self.end_row();
        self.carried.clear();
        let rows = std::mem::take(&mut self.rows);
        let filled = |row: &Row| row.cells.iter().filter(|cell| !cell.is_empty()).count();
        if rows.iter().all(|row| filled(row) < 2) {
            let paragraphs = rows.iter().flat_map(|row| &row.cells).flat_map(|cell| cell.split('\n'));
            return Rendered::Paragraphs(paragraphs.filter(|text| !text.is_empty()).map(str::to_owned).collect());
        }
        let headers = rows.iter().take(MAX_HEADER_ROWS).take_while(|row| row.is_header).count();
        // A table of headers alone has none.
        let headers = if headers == rows.len() { 0 } else { headers };
        let columns = rows[..headers].iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let (head, body) = rows.split_at(headers);
        let mut header = lines(head);
        if headers > 0 {
            header.push('\n');
            push_rule(&mut header, columns);
        }
        Rendered::Rows { header, rows: lines(body) }
    }
}

fn lines(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        if !out.is_empty() {
            out.push('\n');
        }
        push_row(&mut out, row.cells.iter().map(String::as_str));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of cells: text, columns, rows; a text that begins with `#` is a header.
    fn render(rows: &[&[(&str, usize, usize)]]) -> Rendered {
        let mut table = Table::new(1, 1000);
        for row in rows {
            for &(text, columns, down) in *row {
                table.begin_cell(text.starts_with('#'), columns, down);
                table.push(text.trim_start_matches('#'));
            }
            table.end_row();
        }
        table.render()
    }

    #[test]
    fn headers_and_spans() {
        let got = render(&[
            &[("#K", 1, 1), ("#V", 2, 1)],
            &[("a", 1, 2), ("1", 1, 1), ("x|y", 1, 1)],
            &[("2", 1, 1)],
            &[("", 9, 1)],
        ]);
        let header = "| K | V |  |\n| --- | --- | --- |".into();
        let rows = "| a | 1 | x\\|y |\n| a | 2 |".into();
        assert_eq!(got, Rendered::Rows { header, rows });
    }

    #[test]
    fn one_column_is_no_table() {
        let got = render(&[&[("a", 1, 1)], &[("b", 0, 0)]]);
        assert_eq!(got, Rendered::Paragraphs(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn spans_cannot_blow_up() {
        let wide = [("a", 999999999, 999999999); 3];
        let rows: Vec<&[(&str, usize, usize)]> = vec![&wide; 100];
        let Rendered::Rows { rows, .. } = render(&rows) else { panic!("no rows") };
        assert!(rows.len() < 100 * 1000 * 10, "{}", rows.len());
    }

    #[test]
    fn cells_that_go_on_repeat_the_cell_above() {
        let mut table = Table::new(1, 1000);
        for row in [["Key", "Value"], ["a", "1"], ["", "2"]] {
            for text in row {
                table.begin_cell(false, 1, 1);
                table.shape_cell(1, text.is_empty());
                table.push(text);
            }
            table.end_row();
        }
        table.guess_header();
        let header = "| Key | Value |\n| --- | --- |".into();
        assert_eq!(table.render(), Rendered::Rows { header, rows: "| a | 1 |\n| a | 2 |".into() });
    }
}
