//! Tables of reStructuredText: drawn as a grid, or by columns under rules of `=`.

use crate::ingest::extract::lined::{Lined, Row, indent};

/// A table that was found, and the lines it stands on.
pub struct Table {
    pub lines: usize,
    pub rows: Vec<Row>,
    pub headers: usize,
    /// A line for the rule under the header.
    pub rule: Option<usize>,
}

/// The upper border of a grid: `+----+----+`.
pub fn is_grid(bare: &str) -> bool {
    bare.len() >= 3
        && bare.starts_with("+-")
        && bare.ends_with('+')
        && bare.bytes().all(|byte| matches!(byte, b'+' | b'-'))
}

/// The border of a simple table: `====  ====`.
pub fn is_simple(bare: &str) -> bool {
    bare.starts_with("==") && bare.contains("= ") && bare.bytes().all(|byte| matches!(byte, b'=' | b' '))
}

/// Reads a grid. Cells that span rows leave their text in the row they begin in.
pub fn grid(lined: &Lined<'_>, depth: usize) -> Option<Table> {
    let lines = lined.count(|line| indent(line) >= depth && line.trim().starts_with(['+', '|']));
    let mut rows: Vec<Row> = Vec::new();
    let mut open: Option<Row> = None;
    let (mut headers, mut rule) = (0, None);
    for (at, line) in lined.ahead().take(lines).enumerate() {
        let bare = line.trim();
        if bare.starts_with('+') && (bare.contains("--") || bare.contains("==")) && !bare.contains('|') {
            rows.extend(open.take());
            if bare.contains("==") {
                (headers, rule) = (rows.len(), Some(at));
            }
            continue;
        }
        let row = open.get_or_insert_with(|| Row { line: at, cells: Vec::new() });
        let inside = bare.trim_start_matches(['|', '+']).trim_end_matches(['|', '+']);
        for (column, part) in inside.split('|').enumerate() {
            let part = part.trim();
            let part = if is_rule(part) { "" } else { part };
            match row.cells.get_mut(column) {
                Some(cell) if part.is_empty() || cell.is_empty() => cell.push_str(part),
                Some(cell) => {
                    cell.push(' ');
                    cell.push_str(part);
                }
                None => row.cells.push(part.to_owned()),
            }
        }
    }
    rows.extend(open);
    // Borders alone are passed over as a whole, too.
    Some(Table { lines, rows, headers, rule })
}

fn is_rule(part: &str) -> bool {
    part.len() > 1 && part.bytes().all(|byte| matches!(byte, b'-' | b'+' | b'='))
}

/// Reads a simple table: its columns stand where its border has signs.
pub fn simple(lined: &Lined<'_>) -> Option<Table> {
    let border = lined.line()?;
    let columns = columns(border);
    let (mut lines, mut borders) = (0, 0);
    let mut last_border = 0;
    for (at, line) in lined.ahead().enumerate() {
        let bare = line.trim();
        if is_simple(bare) {
            borders += 1;
            last_border = at;
            lines = at + 1;
        } else if borders >= 3 || (bare.is_empty() && borders >= 2 && last_border + 1 == at) {
            break;
        }
    }
    if borders < 2 {
        return None;
    }
    let mut rows: Vec<Row> = Vec::new();
    let (mut headers, mut rule, mut seen) = (0, None, 0);
    // Rows since the last border: one without a first cell goes on with the one above it.
    let mut rows_open = 0;
    for (at, line) in lined.ahead().take(lines).enumerate() {
        let bare = line.trim();
        if is_simple(bare) {
            seen += 1;
            rows_open = 0;
            if seen == 2 && borders > 2 {
                (headers, rule) = (rows.len(), Some(at));
            }
            continue;
        }
        if bare.is_empty() || is_rule(&bare.replace(' ', "")) {
            continue;
        }
        let cells = cut(line, &columns);
        match rows.last_mut() {
            Some(row) if cells.first().is_some_and(String::is_empty) && at > row.line && rows_open > 0 => {
                for (cell, more) in row.cells.iter_mut().zip(&cells) {
                    if !more.is_empty() {
                        cell.push(' ');
                        cell.push_str(more);
                    }
                }
            }
            _ => {
                rows_open += 1;
                rows.push(Row { line: at, cells });
            }
        }
    }
    (!rows.is_empty()).then_some(Table { lines, rows, headers, rule })
}

/// Where each column begins, in characters.
fn columns(border: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut before = ' ';
    for (at, sign) in border.chars().enumerate() {
        if sign == '=' && before != '=' {
            starts.push(at);
        }
        before = sign;
    }
    starts
}

/// Cuts a line at the columns; a word that stands across a border stays whole.
fn cut(line: &str, columns: &[usize]) -> Vec<String> {
    let mut cells = vec![String::new(); columns.len()];
    let mut column = 0;
    let mut before = ' ';
    for (at, letter) in line.chars().enumerate() {
        while column + 1 < columns.len() && at >= columns[column + 1] && before == ' ' {
            column += 1;
        }
        if let Some(cell) = cells.get_mut(column) {
            cell.push(letter);
        }
        before = letter;
    }
    for cell in &mut cells {
        *cell = cell.trim().to_owned();
    }
    cells
}

/// The records of a text of values, each with the number of lines it stands on; a blank line is one without cells.
/// Blanks around a value mean nothing, not even before a quote.
pub fn records(text: &str) -> Vec<(Vec<String>, usize)> {
    let mut records = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (mut cells, mut lines) = (Vec::new(), 1);
        loop {
            let (cell, after) = value(rest.trim_start_matches([' ', '\t']));
            lines += cell.matches('\n').count();
            cells.push(cell);
            rest = after.strip_prefix(',').unwrap_or(after);
            if rest.len() == after.len() {
                break;
            }
        }
        rest = rest.strip_prefix('\n').unwrap_or("");
        if cells.iter().all(String::is_empty) {
            cells.clear();
        }
        records.push((cells, lines));
    }
    records
}

/// The first value, and what stands after it: a comma, a line end or nothing.
fn value(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut rest = text;
    while let Some(quoted) = rest.strip_prefix('"') {
        // A doubled quote stands for one; what is never closed ends with its line.
        let Some(end) = quoted.find('"') else { break };
        out.push_str(&quoted[..end]);
        rest = &quoted[end + 1..];
        if rest.starts_with('"') {
            out.push('"');
        }
    }
    let end = rest.find([',', '\n']).unwrap_or(rest.len());
    out.push_str(rest[..end].trim_end());
    (out, &rest[end..])
}

/// The values of one line.
pub fn values(line: &str) -> Vec<String> {
    records(line).into_iter().next().map(|(cells, _)| cells).unwrap_or_default()
}
