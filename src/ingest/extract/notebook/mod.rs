//! Jupyter notebooks, formats 3 and 4: cells in their order, with the text of their outputs.
//!
//! Markdown cells are read as Markdown, and their headings rule the cells that follow; where none stands, a cell's number
//! is its heading. Pictures and data are left out; of an output its plain text is taken, else the words of its HTML.
//! Blocks know the lines of the JSON that their cell stands on. Of a damaged file the cells before the damage are kept.

mod cells;

use super::{
    Extract, Input,
    blocks::{From, Rendered},
    html, json, markdown, problem, reason,
    sections::Sections,
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
    types::Lines,
};
use cells::{Cell, Kind, Output};

pub struct Notebook;

impl Extract for Notebook {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let limits = input.limits;
        let (format, passwords) = (input.format, input.passwords);
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut page = Page {
            out: Rendered::new(limits.max_text_bytes),
            sections: Sections::default(),
            max_text_bytes: limits.max_text_bytes,
            count: 0,
        };
        let (facts, end) = cells::read(&source, |cell| {
            page.cell(&cell);
            !page.out.is_full()
        });
        if page.count == 0 {
            // No notebook, whatever it is called.
            let mut other =
                json::Json.extract(Input { bytes: source.into_bytes(), format, limits, passwords, pages: &[] })?;
            other.encoding = document.encoding;
            other.warnings.extend(document.warnings);
            return Ok(other);
        }
        if let Err(error) = end {
            let message = format!("not valid JSON after cell {}: {error}", page.count);
            document.warnings.push(problem(reason::DAMAGED, message));
        }
        document.title = facts.title.or_else(|| page.sections.title());
        document.author = facts.author;
        document.metadata.extend(facts.language.map(|language| ("language".into(), language)));
        document.metadata.insert("cells".into(), page.count.to_string());
        page.out.finish(&mut document)?;
        Ok(document)
    }
}

struct Page {
    out: Rendered,
    sections: Sections,
    max_text_bytes: u64,
    count: u32,
}

impl Page {
    fn cell(&mut self, cell: &Cell) {
        self.count += 1;
        match cell.kind {
            Kind::Markdown => self.markdown(cell),
            Kind::Heading(level) => {
                self.sections.open(level, &cell.source);
                self.block(BlockKind::Heading(level), cell.lines, &cell.source);
            }
            Kind::Code => {
                self.block(BlockKind::Fence, cell.lines, &cell.source);
                for output in &cell.outputs {
                    self.output(cell.lines, output);
                }
            }
            Kind::Raw => self.block(BlockKind::Paragraph, cell.lines, &cell.source),
        }
    }

    /// The sections, or the number of the cell.
    fn heading(&self) -> Vec<String> {
        match self.sections.path() {
            [] => vec![format!("Cell {}", self.count)],
            path => path.to_vec(),
        }
    }

    fn block(&mut self, kind: BlockKind, lines: Lines, text: &str) {
        let heading = self.heading();
        self.out.block(kind, From { heading: &heading, lines: Some(lines), page: None }, text);
    }

    fn markdown(&mut self, cell: &Cell) {
        let number = self.heading();
        let (text, blocks) = markdown::part(&cell.source, &mut self.sections);
        for block in blocks {
            let heading = if block.heading.is_empty() { number.as_slice() } else { &block.heading };
            let from = From { heading, lines: Some(cell.lines), page: None };
            let body = &text[block.span.range()];
            match block.kind {
                BlockKind::Table { header, .. } if header.start >= block.span.start => {
                    let header = &text[header.range()];
                    self.out.table(from, header, body.get(header.len()..).unwrap_or("").trim_start_matches('\n'));
                }
                kind => self.out.block(kind, from, body),
            }
        }
    }

    fn output(&mut self, lines: Lines, output: &Output) {
        let text = without_ansi(&output.text);
        // The name of an object that is shown as a picture.
        let is_name = output.has_picture && text.trim().starts_with('<') && text.trim().ends_with('>');
        if !text.trim().is_empty() && !is_name {
            return self.block(BlockKind::Fence, lines, &text);
        }
        if text.trim().is_empty() && !output.html.is_empty() {
            let said = html::text(&output.html, self.max_text_bytes);
            self.block(BlockKind::Fence, lines, &said);
        }
    }
}

/// The text without what colours it in a terminal, and with only the last state of a line that was written over.
fn without_ansi(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '\r', '\u{8}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
            let end = sequence.find(|c: char| ('@'..='~').contains(&c)).map_or(0, |end| end + 1);
            rest = &sequence[end..];
        } else if rest.starts_with('\r') {
            rest = rest.trim_start_matches('\r');
            // A progress bar writes over its line.
            if !rest.is_empty() && !rest.starts_with('\n') {
                out.truncate(out.rfind('\n').map_or(0, |end| end + 1));
            }
        } else {
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
