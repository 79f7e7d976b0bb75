//! Tables of AsciiDoc: cells between bars, as many a row as there are columns.

use crate::ingest::extract::lined::{Lined, Row};

/// Most columns of a table.
const MAX_COLUMNS: usize = 1000;

pub struct Table {
    pub lines: usize,
    pub rows: Vec<Row>,
    pub headers: usize,
}

/// `|===`, and `,===`, `:===`, `!===`.
pub fn is_border(bare: &str) -> bool {
    bare.len() >= 4 && bare.starts_with(['|', ',', ':', '!']) && bare[1..].bytes().all(|byte| byte == b'=')
}

/// Reads the table whose border is the line at hand; one that is never closed ends with the text.
pub fn read(lined: &Lined<'_>, style: &str) -> Table {
    let border = lined.line().unwrap_or("").trim();
    let separator = match border.chars().next() {
        _ if style.contains("format=csv") || style.contains("format=\"csv\"") || border.starts_with(',') => ',',
        Some(sign @ (':' | '!')) => sign,
        _ => '|',
    };
    let body = lined.ahead().skip(1).take_while(|line| line.trim() != border).count();
    let mut cells: Vec<(usize, String)> = Vec::new();
    let (mut first_line_cells, mut blank_after_first) = (0, false);
    for (at, line) in lined.ahead().enumerate().skip(1).take(body) {
        let bare = line.trim();
        if bare.is_empty() {
            blank_after_first |= cells.len() == first_line_cells && !cells.is_empty();
            continue;
        }
        if bare.starts_with("//") && !bare.starts_with("///") {
            continue;
        }
        if separator == '|' || separator == '!' {
            bars(bare, separator, at, &mut cells);
        } else {
            cells.extend(bare.split(separator).map(|cell| (at, cell.trim().trim_matches('"').to_owned())));
        }
        if first_line_cells == 0 {
            first_line_cells = cells.len();
            // A header only if the table begins right under its border.
            if at > 1 {
                first_line_cells = first_line_cells.max(1);
            }
        }
    }
    let columns = columns(style).unwrap_or(first_line_cells).clamp(1, MAX_COLUMNS);
    let mut rows: Vec<Row> = Vec::new();
    for (at, (line, cell)) in cells.into_iter().enumerate() {
        match rows.last_mut() {
            Some(row) if at % columns > 0 => row.cells.push(cell),
            // Two rows on one line are one: a line holds one row.
            Some(row) if row.line == line => row.cells.push(cell),
            _ => rows.push(Row { line, cells: vec![cell] }),
        }
    }
    let says_header = style.contains("header") && !style.contains("noheader");
    let is_implicit = blank_after_first && columns == first_line_cells;
    Table {
        lines: (body + 2).min(lined.ahead().take(body + 2).count()),
        rows,
        headers: usize::from(says_header || is_implicit),
    }
}

/// Adds the cells of a line; what stands before its first bar belongs to the cell before.
fn bars(bare: &str, separator: char, at: usize, cells: &mut Vec<(usize, String)>) {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut before = ' ';
    for letter in bare.chars() {
        if letter == separator && before != '\\' {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
        before = letter;
    }
    parts.push(part);
    let last = parts.len() - 1;
    let mut copies = 1;
    for (number, part) in parts.into_iter().enumerate() {
        // What makes a cell wide or bold stands before its bar.
        let (text, next) = if number == last { (part.as_str(), 1) } else { specification(&part) };
        let text = text.trim();
        if number == 0 {
            if let Some((_, cell)) = cells.last_mut().filter(|_| !text.is_empty()) {
                if !cell.is_empty() {
                    cell.push(' ');
                }
                cell.push_str(text);
            } else if !text.is_empty() {
                cells.push((at, text.to_owned()));
            }
        } else {
            for copy in 0..copies {
                cells.push((at, if copy == 0 { text.to_owned() } else { String::new() }));
            }
        }
        copies = next;
    }
}

/// Splits off the specification of the next cell (`2+^.>a`), and says how many columns it spans.
fn specification(part: &str) -> (&str, usize) {
    let at = part.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = part.get(at..).unwrap_or("");
    let rest = word.trim_end_matches(['a', 'd', 'e', 'h', 'l', 'm', 's', 'v']);
    let is_specification = !word.is_empty()
        && word.len() - rest.len() <= 1
        && rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '*' | '<' | '>' | '^'))
        && (rest.is_empty() || rest.contains(['+', '*', '<', '>', '^']));
    if !is_specification {
        return (part, 1);
    }
    let span = rest.split_once('+').and_then(|(number, _)| number.split('.').next()?.parse().ok()).unwrap_or(1usize);
    (part.get(..at).unwrap_or(""), span.clamp(1, 64))
}

/// How many columns the attributes name: `cols="1,2"`, `cols="3*"`.
fn columns(style: &str) -> Option<usize> {
    let value = style.split_once("cols=")?.1;
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split(',').next()?,
    };
    let mut total = 0usize;
    for part in value.split([',', ';']) {
        let times = part.trim().split_once('*').map_or(Some(1), |(times, _)| times.parse::<usize>().ok());
        total += times.unwrap_or(1).min(MAX_COLUMNS);
        if total > MAX_COLUMNS {
            return None;
        }
    }
    Some(total)
}
