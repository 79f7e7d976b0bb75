//! Workbooks: each sheet under its name, its number as the page, its tables row by row with the numbers of their rows.
//!
//! Behind the cells stand the charts of a sheet and the comments on its cells. Hidden sheets are left out. Values are what a cell shows, but dates are ISO dates and numbers keep their digits. The
//! cells are read by `calamine`, from a package that was measured first. Not for OpenDocument sheets, which `odf` reads
//! onto the same [`Grid`].

mod beside;
pub mod grid;
mod value;

use std::{
    io::Cursor,
    panic::{AssertUnwindSafe, catch_unwind},
};

use calamine::{Data, DataRef, Reader as _, SheetType, SheetVisible, Xls, XlsError, Xlsx};

use super::{Extract, Input, Limits, flow::Flow, ooxml, package::Package, problem, reason};
use crate::{
    index::Problem,
    ingest::{detect::Format, document::Document},
};
use grid::Grid;
use value::shown;

/// Most merged cells of a sheet whose text is repeated.
const MAX_MERGED: usize = 10_000;

pub struct Workbook;

impl Extract for Workbook {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let is_old = input.format == Format::Xls;
        // The crate that reads the cells is not ours: should it panic, the file is to blame, and no other.
        let read = || if is_old { old(input.bytes, input.limits) } else { package(input.bytes, input.limits) };
        catch_unwind(AssertUnwindSafe(read))
            .unwrap_or_else(|_| Err(problem(reason::DAMAGED, "its cells cannot be read")))
    }
}

/// The sheets to read, with their numbers from 1, and how many are hidden.
fn visible(sheets: &[calamine::Sheet]) -> (Vec<(u32, String)>, usize) {
    let is_shown = |sheet: &&(usize, &calamine::Sheet)| sheet.1.visible == SheetVisible::Visible;
    let all: Vec<_> = sheets.iter().enumerate().filter(|(_, sheet)| sheet.typ == SheetType::WorkSheet).collect();
    let shown: Vec<_> = all.iter().filter(is_shown).collect();
    let hidden = all.len() - shown.len();
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX).saturating_add(1);
    (shown.into_iter().map(|(at, sheet)| (number(*at), sheet.name.clone())).collect(), hidden)
}

fn package(bytes: Vec<u8>, limits: &Limits) -> Result<Document, Problem> {
    let source_bytes = bytes.len();
    let mut document = Document::default();
    let mut package = Package::open(bytes, limits)?;
    let workbook = ooxml::main_part(&mut package, "xl/workbook.xml", "workbook")?;
    ooxml::core_properties(&mut package, &mut document)?;
    // What unpacks to too much must be known before others unpack it.
    let names: Vec<String> = package.names().iter().filter(|name| is_xml(name)).cloned().collect();
    for name in names {
        package.read(&name)?;
    }
    let beside = beside::of_sheets(&mut package, &workbook)?;
    document.warnings.extend(package.warning());
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(package.into_bytes())).map_err(|error| damaged(&error))?;
    let (sheets, hidden) = visible(book.sheets_metadata());
    note_sheets(&mut document, &sheets, hidden);
    let mut flow = Flow::new(limits.max_text_bytes, source_bytes);
    for (number, name) in sheets.into_iter().take(limits.max_pages as usize) {
        let merged = book.merge_cells_by_sheet_name(&name).unwrap_or_default();
        let mut grid = Grid::new(&mut flow, number, &name);
        for one in merged.iter().take(MAX_MERGED) {
            grid.merge(one.start, one.end.0);
        }
        let failure = match book.worksheet_cells_reader(&name) {
            Ok(mut cells) => loop {
                match cells.next_cell_with_style_id() {
                    Ok(Some((cell, style))) => {
                        let format = cells.styles().get(style).and_then(|style| style.number_format.as_ref());
                        let code = format.map_or("General", |format| format.format_code.as_str());
                        if let Some(text) = shown(cell.get_value(), code) {
                            grid.cell(cell.get_position(), text);
                        }
                        if grid.is_full() {
                            break None;
                        }
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                }
            },
            Err(error) => Some(error),
        };
        grid.finish();
        if let Some(beside) = beside.get(&name) {
            beside.write(&mut flow);
        }
        if let Some(error) = failure {
            note_damage(&mut document, &name, &error);
        }
    }
    finish(flow, document)
}

fn old(bytes: Vec<u8>, limits: &Limits) -> Result<Document, Problem> {
    let source_bytes = bytes.len();
    let mut document = Document::default();
    let mut book: Xls<_> = Xls::new(Cursor::new(bytes)).map_err(|error| match error {
        XlsError::Password => problem(reason::ENCRYPTED, "it needs a password"),
        error => damaged(&error),
    })?;
    if let Ok(properties) = book.workbook_properties() {
        document.title = properties.title.as_deref().and_then(super::clean::title);
        document.author = properties.creator.as_deref().and_then(super::clean::title);
        for (key, value) in [("subject", properties.subject), ("keywords", properties.keywords)] {
            if let Some(value) = value.as_deref().and_then(super::clean::title) {
                document.metadata.insert(key.into(), value);
            }
        }
    }
    let (sheets, hidden) = visible(book.sheets_metadata());
    note_sheets(&mut document, &sheets, hidden);
    let mut flow = Flow::new(limits.max_text_bytes, source_bytes);
    for (number, name) in sheets.into_iter().take(limits.max_pages as usize) {
        let range = match book.worksheet_range(&name) {
            Ok(range) => range,
            Err(error) => {
                note_damage(&mut document, &name, &error);
                continue;
            }
        };
        let mut grid = Grid::new(&mut flow, number, &name);
        for one in book.merge_cells_by_sheet_name(&name).unwrap_or_default().iter().take(MAX_MERGED) {
            grid.merge(one.start, one.end.0);
        }
        let first = range.start().unwrap_or_default();
        for (row, column, data) in range.used_cells() {
            let place = |from: u32, at: usize| from.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
            let value = match data {
                Data::Int(number) => DataRef::Int(*number),
                Data::Float(number) => DataRef::Float(*number),
                Data::String(text) => DataRef::SharedString(text),
                Data::Bool(is) => DataRef::Bool(*is),
                Data::DateTime(time) => DataRef::DateTime(*time),
                Data::DateTimeIso(text) => DataRef::DateTimeIso(text.clone()),
                Data::DurationIso(text) => DataRef::DurationIso(text.clone()),
                Data::Error(error) => DataRef::Error(error.clone()),
                Data::Empty => DataRef::Empty,
            };
            if let Some(text) = shown(&value, "General") {
                grid.cell((place(first.0, row), place(first.1, column)), text);
            }
            if grid.is_full() {
                break;
            }
        }
        grid.finish();
    }
    finish(flow, document)
}

/// Parts that hold cells, and what they refer to; not pictures.
fn is_xml(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with(".xml") || name.ends_with(".rels") || name.ends_with(".vml")
}

fn note_sheets(document: &mut Document, sheets: &[(u32, String)], hidden: usize) {
    document.pages = sheets.last().map(|&(number, _)| number);
    if hidden > 0 {
        document.metadata.insert("hidden_sheets".into(), hidden.to_string());
    }
}

fn note_damage(document: &mut Document, sheet: &str, error: &dyn std::error::Error) {
    document.warnings.push(problem(reason::DAMAGED, format!("not all of its sheet `{sheet}` can be read: {error}")));
}

fn damaged(error: &dyn std::error::Error) -> Problem {
    problem(reason::DAMAGED, format!("its workbook cannot be read: {error}"))
}

fn finish(flow: Flow, mut document: Document) -> Result<Document, Problem> {
    let is_damaged = document.warnings.iter().any(|warning| warning.reason == reason::DAMAGED);
    if flow.is_empty() && is_damaged {
        return Err(document.warnings.swap_remove(0));
    }
    let title = document.title.take();
    flow.finish(&mut document)?;
    // The name of a sheet is no title of a workbook.
    document.title = title;
    Ok(document)
}

#[cfg(test)]
pub mod tests;
