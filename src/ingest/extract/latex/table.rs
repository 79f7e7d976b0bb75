//! A table of LaTeX while it is read: each row is written as one line.

use crate::types::Span;

/// Rows are written where they begin; the line ends inside a row follow it, so lines keep their numbers.
pub struct Tabular {
    row: Option<usize>,
    /// Line ends to be written after the row.
    line_ends: usize,
    rows: Vec<Span>,
    /// How many rows stand above the rule under the header, and how many rules were met.
    header: Option<usize>,
    rules: Vec<usize>,
    /// Where text may be trimmed from: the end of what is not of this row.
    floor: usize,
}

impl Tabular {
    pub fn new(floor: usize) -> Self {
        Self { row: None, line_ends: 0, rows: Vec::new(), header: None, rules: Vec::new(), floor }
    }

    /// Something visible follows.
    pub fn begin_cell(&mut self, out: &mut String) {
        if self.row.is_none() {
            trim(out, self.floor);
            self.row = Some(out.len());
            out.push_str("| ");
        }
    }

    pub fn next_cell(&mut self, out: &mut String) {
        self.begin_cell(out);
        trim(out, self.row.unwrap_or(self.floor));
        out.push_str(" | ");
    }

    pub fn end_row(&mut self, out: &mut String) {
        trim(out, self.row.unwrap_or(self.floor));
        if let Some(start) = self.row.take() {
            out.push_str(" |");
            self.rows.push(Span::new(start, out.len()));
        }
        out.extend(std::iter::repeat_n('\n', self.line_ends));
        self.line_ends = 0;
        self.floor = out.len();
    }

    pub fn line_end(&mut self, out: &mut String) {
        match self.row {
            Some(_) => {
                self.line_ends += 1;
                out.push(' ');
            }
            None => {
                // A second row on one line would share it.
                trim(out, self.floor);
                out.push('\n');
                self.floor = out.len();
            }
        }
    }

    /// A rule stands after the rows so far; some say that those are the header.
    pub fn rule(&mut self, is_header: bool) {
        if is_header && self.header.is_none() && !self.rows.is_empty() {
            self.header = Some(self.rows.len());
        }
        if self.rules.len() < 3 && self.rules.last() != Some(&self.rows.len()) {
            self.rules.push(self.rows.len());
        }
    }

    /// The header and the rows under it.
    pub fn finish(self) -> (Span, Vec<Span>) {
        let total = self.rows.len();
        // One row between the first two rules, and more below them.
        let drawn = match self.rules[..] {
            [0, 1, ..] => Some(1),
            [1, ..] => Some(1),
            _ => None,
        };
        let headers = self.header.or(drawn).filter(|&headers| headers < total).unwrap_or(0);
        let (head, body) = self.rows.split_at(headers);
        let header = match (head.first(), head.last()) {
            (Some(first), Some(last)) => Span::new(first.start, last.end),
            _ => body.first().map_or(Span::new(0, 0), |first| Span::new(first.start, first.start)),
        };
        (header, body.to_vec())
    }
}

/// Takes off the blanks at the end.
fn trim(out: &mut String, floor: usize) {
    let end = floor + out[floor..].trim_end_matches([' ', '\t']).len();
    out.truncate(end);
}
