//! The sheets of an OpenDocument workbook, onto the same grid as those of Excel.
//!
//! What is repeated (`number-rows-repeated`) is written once: writers repeat blanks to the end of the sheet.

use super::styles::Styles;
use crate::ingest::{
    document::Document,
    extract::{
        flow::Flow,
        sheets::grid::Grid,
        xml::{Element, Event, Reader},
    },
};

/// Most times that a cell which holds something is repeated in its row.
const MAX_REPEATED: u32 = 64;

/// Reads all sheets that are shown.
pub fn read(reader: &mut Reader<'_>, styles: &Styles, flow: &mut Flow, document: &mut Document) {
    let (mut number, mut hidden) = (0u32, 0usize);
    while let Some(event) = reader.next() {
        let Event::Start(element) = event else { continue };
        match element.name {
            "table" => {
                number = number.saturating_add(1);
                if styles.is_hidden("table", &element.get("style-name").unwrap_or_default()) {
                    hidden += 1;
                    reader.skip();
                } else {
                    let name = element.get("name").unwrap_or_default().into_owned();
                    let mut grid = Grid::new(flow, number, &name);
                    sheet(reader, &mut grid);
                    grid.finish();
                }
            }
            "document" | "document-content" | "body" | "spreadsheet" => {}
            _ => reader.skip(),
        }
        if flow.is_full() {
            break;
        }
    }
    document.pages = (number > 0).then_some(number);
    if hidden > 0 {
        document.metadata.insert("hidden_sheets".into(), hidden.to_string());
    }
}

/// A cell at work.
#[derive(Default)]
struct Cell {
    text: String,
    value: Option<String>,
    columns: u32,
    rows: u32,
}

/// Reads the table that has just begun, to its end.
fn sheet(reader: &mut Reader<'_>, grid: &mut Grid<'_>) {
    let depth = reader.depth();
    let (mut row, mut column, mut repeated) = (0u32, 0u32, 1u32);
    let mut cell: Option<Cell> = None;
    let mut paragraphs = 0;
    while reader.depth() >= depth
        && let Some(event) = reader.next()
    {
        match event {
            Event::Start(element) => match element.name {
                "table-row" => {
                    column = 0;
                    repeated = count(&element, "number-rows-repeated");
                }
                "table-cell" | "covered-table-cell" => {
                    paragraphs = 0;
                    cell = Some(Cell {
                        text: String::new(),
                        value: value(&element),
                        columns: count(&element, "number-columns-repeated"),
                        rows: count(&element, "number-rows-spanned"),
                    });
                }
                "annotation" | "shapes" | "forms" | "frame" | "custom-shape" | "detective" | "ruby-text"
                | "named-expressions" | "database-ranges" | "table-source" | "scenario" | "dde-links" => reader.skip(),
                "p" => {
                    if let Some(cell) = cell.as_mut().filter(|_| paragraphs > 0) {
                        cell.text.push('\n');
                    }
                    paragraphs += 1;
                }
                "s" | "tab" | "line-break" => {
                    if let Some(cell) = &mut cell {
                        cell.text.push(' ');
                    }
                }
                _ => {}
            },
            Event::Text(text) => {
                if let Some(cell) = cell.as_mut().filter(|_| paragraphs > 0) {
                    cell.text.push_str(&text);
                }
            }
            Event::End("table-cell" | "covered-table-cell") => {
                let Some(done) = cell.take() else { continue };
                let text = done.value.unwrap_or(done.text);
                if !text.trim().is_empty() {
                    if done.rows > 1 {
                        grid.merge((row, column), row.saturating_add(done.rows - 1));
                    }
                    for at in 0..done.columns.min(MAX_REPEATED) {
                        grid.cell((row, column.saturating_add(at)), text.clone());
                    }
                }
                column = column.saturating_add(done.columns);
            }
            Event::End("table-row") => row = row.saturating_add(repeated),
            Event::End(_) => {}
        }
        if grid.is_full() {
            break;
        }
    }
}

fn count(element: &Element<'_>, name: &str) -> u32 {
    element.get(name).and_then(|count| count.parse().ok()).unwrap_or(1).max(1)
}

/// What is better taken from the value than from what is shown: dates, and numbers that are shown short.
fn value(element: &Element<'_>) -> Option<String> {
    match element.get("value-type").as_deref() {
        Some("date") => element.get("date-value").map(|date| date.trim_end_matches("T00:00:00").replacen('T', " ", 1)),
        Some("float") => {
            // Shown as `1.23E+14`, it would lose its digits; other formats are what a reader sees.
            let number = element.get("value").and_then(|value| value.parse::<f64>().ok())?;
            (number.fract() == 0.0 && (1e10..9e15).contains(&number.abs())).then(|| format!("{number}"))
        }
        _ => None,
    }
}
