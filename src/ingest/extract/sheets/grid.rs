//! Cells of a sheet, row after row, into tables: what is above a table is its title, its first row may be its header, and
//! a blank row ends it. Nothing is made of a sheet's size: only cells that hold something cost something.

use std::collections::{BTreeSet, HashMap};

use crate::{
    ingest::extract::flow::{Flow, one_line},
    types::Lines,
};

/// Size at which a block of rows ends.
const BLOCK_BYTES: usize = 16 << 10;

/// Rows in a block whose columns are too far apart to be lined up.
const MAX_EMPTY_SHARE: usize = 16;

/// Longest text of a merged cell that is repeated in the rows it spans, and most rows that it is repeated in.
const MAX_REPEATED: usize = 200;
const MAX_REPEATED_ROWS: u32 = 1000;

/// Most merged cells that reach into one row.
const MAX_REACHING: usize = 64;

/// A row: its number from 0, and its cells by column.
type Row = (u32, Vec<(u32, String)>);

/// Receives the cells of one sheet, in the order of their rows.
pub struct Grid<'a> {
    flow: &'a mut Flow,
    sheet: u32,
    name: String,
    row: Row,
    rows: Vec<Row>,
    rows_bytes: usize,
    /// The table goes on from a block before.
    goes_on: bool,
    /// Columns of the table so far.
    columns: BTreeSet<u32>,
    /// The last row of each merged cell, by its place.
    merged: HashMap<(u32, u32), u32>,
    /// Merged cells that reach down: column, last row, text.
    reaching: Vec<(u32, u32, String)>,
    has_begun: bool,
}

impl<'a> Grid<'a> {
    pub fn new(flow: &'a mut Flow, sheet: u32, name: &str) -> Self {
        Self {
            flow,
            sheet,
            name: name.to_owned(),
            row: (0, Vec::new()),
            rows: Vec::new(),
            rows_bytes: 0,
            goes_on: false,
            columns: BTreeSet::new(),
            merged: HashMap::new(),
            reaching: Vec::new(),
            has_begun: false,
        }
    }

    /// The document is to be given up.
    pub fn is_full(&self) -> bool {
        self.flow.is_full()
    }

    /// Says that the cell at `start` reaches down to a row.
    pub fn merge(&mut self, start: (u32, u32), last_row: u32) {
        if last_row > start.0 {
            self.merged.insert(start, last_row.min(start.0.saturating_add(MAX_REPEATED_ROWS)));
        }
    }

    /// Takes a cell that holds something: row and column from 0.
    pub fn cell(&mut self, (row, column): (u32, u32), text: String) {
        let text = one_line(&text);
        if text.is_empty() {
            return;
        }
        if row != self.row.0 || self.row.1.is_empty() {
            self.end_row();
            self.row.0 = row;
        }
        if let Some(last) = self.merged.remove(&(row, column))
            && text.len() <= MAX_REPEATED
            && self.reaching.len() < MAX_REACHING
        {
            self.reaching.push((column, last, text.clone()));
        }
        self.row.1.push((column, text));
    }

    fn end_row(&mut self) {
        let (row, mut cells) = std::mem::take(&mut self.row);
        if cells.is_empty() {
            return;
        }
        self.reaching.retain(|&(_, last, _)| last >= row);
        for (column, _, text) in &self.reaching {
            if !cells.iter().any(|(taken, _)| taken == column) {
                cells.push((*column, text.clone()));
            }
        }
        cells.sort_by_key(|&(column, _)| column);
        let follows = self.rows.last().is_some_and(|(last, _)| last.checked_add(1) == Some(row));
        if !self.rows.is_empty() && !follows {
            self.flush(true);
        }
        self.rows_bytes += cells.iter().map(|(_, text)| text.len() + 3).sum::<usize>();
        self.rows.push((row, cells));
        if self.rows_bytes >= BLOCK_BYTES {
            // The last row stays, so that the next one is known to follow it.
            let last = self.rows.pop();
            self.flush(false);
            self.rows_bytes = last.iter().flat_map(|(_, cells)| cells).map(|(_, text)| text.len() + 3).sum();
            self.rows.extend(last);
        }
    }

    /// Writes the rows so far as one block.
    fn flush(&mut self, ends_table: bool) {
        let mut rows = std::mem::take(&mut self.rows);
        self.rows_bytes = 0;
        if !self.has_begun && !rows.is_empty() {
            self.has_begun = true;
            self.flow.begin_page(self.sheet);
            self.flow.heading(1, &self.name);
        }
        if !self.goes_on {
            self.columns.clear();
            // One cell alone, above rows of several: a title.
            let titles = rows.iter().take_while(|(_, cells)| cells.len() == 1).count();
            let titles: Vec<Row> = rows.drain(..titles).collect();
            if let (Some((first, _)), Some((last, _))) = (titles.first(), titles.last()) {
                let text: Vec<&str> =
                    titles.iter().flat_map(|(_, cells)| cells).map(|(_, text)| text.as_str()).collect();
                self.flow.lines(lines(*first, *last), &text.join("\n"));
            }
        }
        let (Some(&(first, _)), Some(&(last, _))) = (rows.first(), rows.last()) else {
            self.goes_on &= !ends_table;
            return;
        };
        self.columns.extend(rows.iter().flat_map(|(_, cells)| cells).map(|&(column, _)| column));
        let filled: usize = rows.iter().map(|(_, cells)| cells.len()).sum();
        let is_aligned = self.columns.len() * rows.len() <= filled * MAX_EMPTY_SHARE + BLOCK_BYTES;
        let written: Vec<String> =
            rows.iter().map(|(_, cells)| line(cells, is_aligned.then_some(&self.columns))).collect();
        let has_header = !self.goes_on && rows.len() > 1 && rows.first().is_some_and(|(_, cells)| is_header(cells));
        let (head, body) = written.split_at(usize::from(has_header));
        let mut header = head.join("\n");
        if has_header {
            let count = if is_aligned { self.columns.len() } else { rows.first().map_or(0, |(_, cells)| cells.len()) };
            header.push_str("\n|");
            header.push_str(&" --- |".repeat(count));
        }
        self.flow.rows(lines(first, last), &header, &body.join("\n"), self.goes_on);
        self.goes_on = !ends_table;
    }

    /// Ends the sheet.
    pub fn finish(mut self) {
        self.end_row();
        self.flush(true);
    }
}

fn lines(first: u32, last: u32) -> Lines {
    Lines { first: first.saturating_add(1), last: last.saturating_add(1) }
}

fn line(cells: &[(u32, String)], columns: Option<&BTreeSet<u32>>) -> String {
    let mut out = "|".to_owned();
    let mut push = |text: &str| {
        out.push(' ');
        out.push_str(&text.replace('|', "\\|"));
        out.push_str(" |");
    };
    match columns {
        Some(columns) => {
            let mut cells = cells.iter().peekable();
            for column in columns {
                let here = cells.next_if(|(at, _)| at <= column);
                push(here.map_or("", |(_, text)| text));
            }
        }
        None => cells.iter().for_each(|(_, text)| push(text)),
    }
    out
}

/// Several words, none of them a number or a date.
fn is_header(cells: &[(u32, String)]) -> bool {
    let is_value = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('-')
            || text.trim_end_matches('%').parse::<f64>().is_ok()
    };
    cells.len() > 1 && !cells.iter().any(|(_, text)| is_value(text))
}
