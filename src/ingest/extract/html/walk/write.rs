//! What was gathered of a page, written out: runs of text, lists, tables, fences.

use super::{HEADINGS, MAX_INDENT, State};
use crate::{
    ingest::{
        document::BlockKind,
        extract::{
            blocks::From,
            clean::title,
            table::{self, Table},
        },
    },
    types::Lines,
};

impl State {
    pub(super) fn in_cell(&self) -> bool {
        self.tables.last().is_some_and(Table::has_cell)
    }

    /// Ends the run of text: into a cell, a list item, a heading or a paragraph.
    pub(super) fn break_run(&mut self) {
        if let Some((pre, _)) = &mut self.pre {
            if !pre.is_empty() && !pre.ends_with('\n') {
                pre.push('\n');
            }
            return;
        }
        if let Some(level) = self.heading
            && self.stack.last_place(HEADINGS[usize::from(level) - 1]).is_some()
        {
            // A block inside a heading that is still open.
            if !self.run.is_empty() && !self.run.ends_with(' ') {
                self.run.push(' ');
            }
            return;
        }
        self.marks.clear();
        let run = std::mem::take(&mut self.run);
        let lines = self.run_lines.take();
        let text = run.trim();
        let heading = self.heading.take();
        if text.is_empty() {
            return;
        }
        if let Some(level) = heading {
            self.emit_heading(level, text, lines);
        } else if let Some(table) = self.tables.last_mut().filter(|table| table.has_cell()) {
            table.push(text);
        } else if !self.lists.is_empty() {
            self.push_item(text, lines);
        } else {
            let kind = if self.quotes > 0 { BlockKind::Quote } else { BlockKind::Paragraph };
            self.emit(kind, text, lines);
        }
    }

    pub(super) fn emit(&mut self, kind: BlockKind, text: &str, lines: Option<Lines>) {
        self.out.block(kind, From { heading: &self.titles, lines, page: None }, text);
    }

    pub(super) fn emit_heading(&mut self, level: u8, text: &str, lines: Option<Lines>) {
        while self.path.last().is_some_and(|(open, _)| *open >= level) {
            self.path.pop();
        }
        if let Some(words) = title(text) {
            if level == 1 && self.first_heading.is_none() {
                self.first_heading = Some(words.clone());
            }
            self.path.push((level, words));
        }
        self.titles = self.path.iter().map(|(_, words)| words.clone()).collect();
        self.emit(BlockKind::Heading(level), &text.replace('\n', " "), lines);
    }

    // ---- lists ----

    pub(super) fn item(&mut self, value: Option<&str>) {
        if let (Some(Some(number)), Some(value)) = (self.lists.last_mut(), value.and_then(|v| v.trim().parse().ok())) {
            *number = value;
        }
        self.marker = Some(match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "- ".into(),
        });
    }

    pub(super) fn push_item(&mut self, text: &str, lines: Option<Lines>) {
        if !self.list.is_empty() {
            self.list.push('\n');
        }
        let indent = (self.lists.len() - 1).min(MAX_INDENT);
        self.list.push_str(&"  ".repeat(indent));
        self.list.push_str(&self.marker.take().unwrap_or_else(|| "  ".into()));
        self.list.push_str(&text.replace('\n', " "));
        if let Some(lines) = lines {
            let first = self.list_lines.map_or(lines.first, |list| list.first);
            self.list_lines = Some(Lines { first, last: lines.last });
        }
    }

    pub(super) fn flush_list(&mut self) {
        let list = std::mem::take(&mut self.list);
        let lines = self.list_lines.take();
        self.emit(BlockKind::List, &list, lines);
    }

    // ---- tables and code ----

    pub(super) fn with_table(&mut self, change: impl FnOnce(&mut Table)) {
        if let Some(table) = self.tables.last_mut() {
            change(table);
        }
    }

    pub(super) fn begin_table(&mut self) {
        self.flush_list();
        self.lay_out();
        self.tables.push(Table::new(self.line, self.carry_budget / 4));
        self.carry_budget -= self.carry_budget / 4;
    }

    pub(super) fn is_bare_table(&self) -> bool {
        self.tables.last().is_some_and(Table::is_bare)
    }

    /// The open table turns out to lay out a page: what it holds so far is written, the rest is running text.
    pub(super) fn lay_out(&mut self) {
        if self.in_cell() {
            self.emit_table();
            self.with_table(|table| table.is_layout = true);
        }
    }

    pub(super) fn end_table(&mut self) {
        self.emit_table();
        self.tables.pop();
    }

    pub(super) fn emit_table(&mut self) {
        let Some(table) = self.tables.last_mut() else { return };
        let lines = Some(Lines { first: table.first_line, last: self.line });
        match table.render() {
            table::Rendered::Rows { header, rows } => {
                let from = From { heading: &self.titles, lines, page: None };
                self.out.table(from, &header, &rows);
            }
            table::Rendered::Paragraphs(paragraphs) => {
                for text in paragraphs {
                    self.emit(BlockKind::Paragraph, &text, lines);
                }
            }
        }
    }

    pub(super) fn end_pre(&mut self) {
        let Some((text, language)) = self.pre.take() else { return };
        let lines = self.pre_lines.take();
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.trim().is_empty() {
            return;
        }
        // The fence must be longer than any in the text.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat((longest + 1).clamp(3, 64));
        self.emit(BlockKind::Fence, &format!("{fence}{language}\n{text}\n{fence}"), lines);
    }
}
