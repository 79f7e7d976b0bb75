//! The body of a text or a presentation from event to event.

use super::styles::{Mark, Role, Styles};
use crate::ingest::{
    document::Document,
    extract::{
        clean,
        flow::{Flow, one_line},
        numerals::{letters, roman},
        problem, reason,
        xml::{Element, Event, Reader},
    },
};

/// Most blanks that `text:s` stands for.
const MAX_BLANKS: usize = 100;

/// Reads the whole document into `flow`, and its pages and title into `document`.
pub fn read(reader: &mut Reader<'_>, styles: &Styles, flow: &mut Flow, document: &mut Document, max_pages: u32) {
    let mut walk = Walk {
        styles,
        flow,
        now: State::default(),
        around: Vec::new(),
        lists: Vec::new(),
        frames: Vec::new(),
        tables: Vec::new(),
        notes: 0,
        note: None,
        page: 0,
        max_pages,
        hidden_pages: 0,
        is_cut: false,
        in_notes: false,
        begins_notes: false,
        title: None,
    };
    while let Some(event) = reader.next() {
        match event {
            Event::Start(element) => walk.start(&element, reader),
            Event::End(name) => walk.end(name),
            Event::Text(text) => walk.text(&text),
        }
        if walk.flow.is_full() {
            break;
        }
    }
    if walk.page > 0 {
        document.pages = Some(walk.page);
    }
    if walk.hidden_pages > 0 {
        document.metadata.insert("hidden_slides".into(), walk.hidden_pages.to_string());
    }
    if walk.is_cut {
        let message = format!("only the first {max_pages} slides were read");
        document.warnings.push(problem(reason::TRUNCATED, message));
    }
    if document.title.is_none() {
        document.title = walk.title;
    }
}

/// A paragraph at work.
#[derive(Default)]
struct State {
    run: String,
    style: String,
    /// Level of a heading that says so itself.
    heading: Option<u8>,
    is_open: bool,
    /// Another paragraph is open around it.
    is_nested: bool,
    is_hidden: bool,
    /// Open spans, and whether each is hidden.
    spans: Vec<bool>,
    hidden_spans: usize,
}

/// An open list.
struct List {
    style: String,
    count: Option<u64>,
    /// The item at work has no paragraph yet.
    is_new: bool,
}

struct Note {
    text: String,
    /// Lists around it.
    lists: Vec<List>,
}

struct Walk<'a> {
    styles: &'a Styles,
    flow: &'a mut Flow,
    now: State,
    /// What was at work where a text box or a note begins.
    around: Vec<State>,
    lists: Vec<List>,
    /// Open frames, and whether each holds the title of its slide.
    frames: Vec<bool>,
    /// Open tables, and whether each is at its header rows.
    tables: Vec<bool>,
    notes: usize,
    note: Option<Note>,
    page: u32,
    max_pages: u32,
    hidden_pages: usize,
    is_cut: bool,
    in_notes: bool,
    begins_notes: bool,
    title: Option<String>,
}

impl Walk<'_> {
    fn start(&mut self, element: &Element<'_>, reader: &mut Reader<'_>) {
        let style = || element.get("style-name").unwrap_or_default().into_owned();
        match element.name {
            "automatic-styles" | "styles" | "master-styles" | "font-face-decls" | "settings" | "scripts" | "meta"
            | "forms" | "tracked-changes" | "annotation" | "table-of-content" | "illustration-index"
            | "table-index" | "object-index" | "ruby-text" | "hidden-text" | "note-citation" | "desc"
            | "event-listeners" | "footer-decl" | "header-decl" | "date-time-decl" | "binary-data" | "object-ole"
            | "tab-stops" | "sequence-decls" | "variable-decls" | "user-field-decls" | "annotation-end" => {
                reader.skip()
            }
            // The title of a drawing, for those who cannot see it; not a field of the text.
            "title" if element.prefix == "svg" => reader.skip(),
            "section" if is_hidden_section(element) || self.styles.is_hidden("section", &style()) => reader.skip(),
            "page" => self.begin_page(element, reader),
            "notes" if element.prefix == "presentation" => (self.in_notes, self.begins_notes) = (true, true),
            "frame" | "custom-shape" => self.begin_frame(element, reader),
            "p" | "h" => {
                let is_nested = self.now.is_open;
                if is_nested {
                    self.around.push(std::mem::take(&mut self.now));
                }
                let style = style();
                self.now = State {
                    is_open: true,
                    is_nested,
                    is_hidden: self.styles.is_hidden("paragraph", &style),
                    heading: (element.name == "h").then(|| {
                        element.get("outline-level").and_then(|level| level.parse().ok()).unwrap_or(1u8).clamp(1, 9)
                    }),
                    style,
                    ..State::default()
                };
            }
            "hidden-paragraph" if element.get("is-hidden").is_none_or(|is| is == "true") => self.now.is_hidden = true,
            "span" => {
                let is_hidden = self.styles.is_hidden("text", &style());
                self.now.spans.push(is_hidden);
                self.now.hidden_spans += usize::from(is_hidden);
            }
            "s" => {
                let count = element.get("c").and_then(|count| count.parse().ok()).unwrap_or(1usize).min(MAX_BLANKS);
                self.push(&" ".repeat(count));
            }
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "note" => {
                self.around.push(std::mem::take(&mut self.now));
                if self.note.is_none() {
                    self.note = Some(Note { text: String::new(), lists: std::mem::take(&mut self.lists) });
                }
            }
            "list" => {
                let inherited = self.lists.last().map(|list| list.style.clone()).unwrap_or_default();
                let style = Some(style()).filter(|style| !style.is_empty()).unwrap_or(inherited);
                self.lists.push(List { style, count: None, is_new: false });
            }
            "list-item" => self.begin_item(element),
            "list-header" => {
                if let Some(list) = self.lists.last_mut() {
                    list.is_new = false;
                }
            }
            "table" if element.prefix == "table" || element.prefix.is_empty() => {
                if self.styles.is_hidden("table", &style()) {
                    reader.skip();
                } else {
                    self.tables.push(false);
                    self.flow.begin_table();
                }
            }
            "table-header-rows" => self.in_header(true),
            "table-row" => self.flow.begin_row(self.tables.last().is_some_and(|&is_header| is_header)),
            "table-cell" => {
                let span = |name: &str| element.get(name).and_then(|span| span.parse().ok()).unwrap_or(1usize);
                let columns = span("number-columns-spanned").max(span("number-columns-repeated"));
                self.flow.begin_cell(columns, span("number-rows-spanned"));
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" | "h" if self.now.is_open => {
                let is_nested = self.now.is_nested;
                self.end_paragraph();
                self.now = if is_nested { self.around.pop().unwrap_or_default() } else { State::default() };
            }
            "span" if self.now.spans.pop().is_some_and(|is_hidden| is_hidden) => {
                self.now.hidden_spans -= 1;
            }
            "note" => self.end_note(),
            "notes" => self.in_notes = false,
            "frame" | "custom-shape" => {
                self.frames.pop();
            }
            "list" => {
                self.lists.pop();
            }
            "table-header-rows" => self.in_header(false),
            "table-cell" => self.flow.end_cell(),
            "table-row" => self.flow.end_row(),
            "table" if self.tables.pop().is_some() => {
                self.flow.end_table(true);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if !self.now.is_open {
            return;
        }
        // White space of the source is one blank; others are elements.
        for piece in text.split_inclusive([' ', '\n', '\t', '\r']) {
            let word = piece.trim_end_matches([' ', '\n', '\t', '\r']);
            self.push(word);
            if word.len() < piece.len() && !self.now.run.ends_with([' ', '\n', '\t']) {
                self.push(" ");
            }
        }
    }

    fn push(&mut self, text: &str) {
        if self.now.is_open && !self.now.is_hidden && self.now.hidden_spans == 0 {
            self.now.run.push_str(text);
        }
    }

    // ---- slides ----

    fn begin_page(&mut self, element: &Element<'_>, reader: &mut Reader<'_>) {
        self.page = self.page.saturating_add(1);
        self.in_notes = false;
        if self.page > self.max_pages {
            self.page = self.max_pages;
            self.is_cut = true;
            reader.skip();
        } else if self.styles.is_hidden("drawing-page", &element.get("style-name").unwrap_or_default()) {
            self.hidden_pages += 1;
            reader.skip();
        } else {
            self.flow.begin_page(self.page);
        }
    }

    fn begin_frame(&mut self, element: &Element<'_>, reader: &mut Reader<'_>) {
        let class = element.get("class");
        // Empty placeholders, and what every slide repeats.
        let is_repeated = matches!(class.as_deref(), Some("header" | "footer" | "date-time" | "page-number" | "page"));
        if is_repeated || element.get("placeholder").is_some_and(|is| is == "true") {
            reader.skip();
        } else {
            self.frames.push(class.as_deref() == Some("title") && !self.in_notes);
        }
    }

    // ---- lists, tables, notes ----

    fn begin_item(&mut self, element: &Element<'_>) {
        let level = self.lists.len().saturating_sub(1);
        let Some(list) = self.lists.last_mut() else { return };
        list.is_new = true;
        let start = match self.styles.mark(&list.style, level) {
            Mark::Number { start, .. } => start,
            Mark::Bullet => 1,
        };
        let own = element.get("start-value").and_then(|start| start.parse().ok());
        list.count = own.or_else(|| Some(list.count.map_or(start, |count| count.saturating_add(1))));
    }

    fn in_header(&mut self, is_header: bool) {
        if let Some(table) = self.tables.last_mut() {
            *table = is_header;
        }
    }

    fn end_note(&mut self) {
        self.now = self.around.pop().unwrap_or_default();
        let Some(note) = self.note.take() else { return };
        self.lists = note.lists;
        if !note.text.trim().is_empty() {
            self.notes += 1;
            let mark = format!("[{}]", self.notes);
            self.push(&mark);
            self.flow.note(&mark, &note.text);
        }
    }

    // ---- paragraphs ----

    fn end_paragraph(&mut self) {
        let state = std::mem::take(&mut self.now);
        if state.run.trim().is_empty() {
            return;
        }
        if let Some(note) = &mut self.note {
            note.text.push_str(&one_line(&state.run));
            note.text.push(' ');
            return;
        }
        if self.in_notes {
            let mark = if std::mem::take(&mut self.begins_notes) { "Notes: " } else { "" };
            self.flow.paragraph(&format!("{mark}{}", one_line(&state.run)));
            return;
        }
        if self.frames.last().is_some_and(|&is_title| is_title) {
            self.flow.heading(1, &state.run);
            return;
        }
        let role = match state.heading {
            Some(level) => Role::Heading(level),
            None => self.styles.role(&state.style),
        };
        match role {
            Role::Heading(level) => self.flow.heading(level, &state.run),
            Role::Title => {
                if self.title.is_none() {
                    self.title = clean::title(&state.run);
                }
                self.flow.heading(1, &state.run);
            }
            Role::Code => self.flow.code(&state.run),
            Role::Text | Role::Quote if !self.lists.is_empty() => self.item(&state.run),
            Role::Quote => self.flow.quote(&state.run),
            Role::Text => self.flow.paragraph(&state.run),
        }
    }

    fn item(&mut self, text: &str) {
        let level = self.lists.len().saturating_sub(1);
        let Some(list) = self.lists.last_mut() else { return };
        let marker = if std::mem::take(&mut list.is_new) {
            match (self.styles.mark(&list.style, level), list.count) {
                (Mark::Number { format, prefix, suffix, .. }, Some(count)) => {
                    format!("{prefix}{}{suffix}", spell(count, &format))
                }
                (Mark::Bullet | Mark::Number { .. }, _) => String::new(),
            }
        } else {
            " ".into()
        };
        self.flow.item(level, &marker, text);
    }
}

fn spell(number: u64, format: &str) -> String {
    match format {
        "a" => letters(number),
        "A" => letters(number).to_uppercase(),
        "i" => roman(number),
        "I" => roman(number).to_uppercase(),
        _ => number.to_string(),
    }
}

/// A section is not shown.
fn is_hidden_section(element: &Element<'_>) -> bool {
    element.get("display").is_some_and(|display| display == "none")
        || element.get("is-hidden").is_some_and(|is| is == "true")
}
