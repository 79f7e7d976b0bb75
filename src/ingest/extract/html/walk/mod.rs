//! Tokens of a page into blocks of text.

mod write;

use std::{cell::RefCell, collections::BTreeMap};

use html5ever::{
    LocalName,
    tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult},
};

use super::{
    elements::{attribute, description, heading_level, is_block, is_hidden, is_sign, is_void, raw_kind},
    regions::{Region, Regions, region},
    stack::Stack,
};
use crate::{
    ingest::extract::{blocks::Rendered, clean::title, table::Table},
    types::Lines,
};

/// Deepest indentation of a list.
const MAX_INDENT: usize = 8;

const HEADINGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];

/// What was read of a page.
pub struct Page {
    pub out: Rendered,
    pub title: Option<String>,
    pub metadata: BTreeMap<String, String>,
}

/// Receives the tokens. (The tokenizer lends it out shared, hence the cell.)
pub struct Walk(RefCell<State>);

impl Walk {
    pub fn new(max_text_bytes: u64, source_bytes: usize, is_xml: bool) -> Self {
        Self(RefCell::new(State::new(max_text_bytes, source_bytes, is_xml)))
    }

    pub fn next_line(&self) {
        let line = &mut self.0.borrow_mut().line;
        *line = line.saturating_add(1);
    }

    pub fn finish(self) -> Page {
        self.0.into_inner().finish()
    }
}

impl TokenSink for Walk {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => state.text(&text),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                let raw = state.start(&tag);
                if let Some(kind) = raw.then(|| raw_kind(&tag.name)).flatten() {
                    return TokenSinkResult::RawData(kind);
                }
            }
            Token::TagToken(tag) => state.end(&tag.name),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

struct State {
    out: Rendered,
    line: u32,
    is_xml: bool,
    stack: Stack,
    metadata: BTreeMap<String, String>,
    /// Text of the `title` element, while open and after.
    title: String,
    in_title: bool,
    first_heading: Option<String>,
    /// Running text of the block at work, white space collapsed, and where it came from.
    run: String,
    run_lines: Option<Lines>,
    heading: Option<u8>,
    path: Vec<(u8, String)>,
    titles: Vec<String>,
    /// Open lists, with the number of the next item of a numbered one.
    lists: Vec<Option<u64>>,
    marker: Option<String>,
    list: String,
    list_lines: Option<Lines>,
    quotes: usize,
    tables: Vec<Table>,
    /// Text of a `pre`, and the word for its language.
    pre: Option<(String, String)>,
    pre_lines: Option<Lines>,
    carry_budget: usize,
    regions: Regions,
    /// Places in the stack of the elements that began the open regions.
    open_regions: Vec<usize>,
    /// Open elements that may have furniture of their own.
    contents: usize,
    /// What the open links, formulas and raised letters have to be looked at for when they end; innermost last.
    marks: Vec<Mark>,
    links: usize,
}

/// A place in the running text where an element began that may be changed when it ends.
struct Mark {
    element: LocalName,
    /// Length of the run.
    at: usize,
    /// Links begun before it.
    links: usize,
}

/// Most marks that are kept: elements beyond are read as they stand.
const MAX_MARKS: usize = 1000;

impl State {
    fn new(max_text_bytes: u64, source_bytes: usize, is_xml: bool) -> Self {
        Self {
            out: Rendered::new(max_text_bytes),
            line: 1,
            is_xml,
            stack: Stack::default(),
            metadata: BTreeMap::new(),
            title: String::new(),
            in_title: false,
            first_heading: None,
            run: String::new(),
            run_lines: None,
            heading: None,
            path: Vec::new(),
            titles: Vec::new(),
            lists: Vec::new(),
            marker: None,
            list: String::new(),
            list_lines: None,
            quotes: 0,
            tables: Vec::new(),
            pre: None,
            pre_lines: None,
            carry_budget: source_bytes,
            regions: Regions::default(),
            open_regions: Vec::new(),
            contents: 0,
            marks: Vec::new(),
            links: 0,
        }
    }

    fn finish(mut self) -> Page {
        self.close_to(0);
        self.break_run();
        self.flush_list();
        self.regions.apply(&mut self.out);
        Page { out: self.out, title: title(&self.title).or(self.first_heading), metadata: self.metadata }
    }

    // ---- text ----

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
            return;
        }
        if self.stack.is_hidden() || self.out.is_full() {
            return;
        }
        if let Some((pre, _)) = &mut self.pre {
            pre.push_str(text);
            saw(&mut self.pre_lines, self.line);
            return;
        }
        for letter in text.chars() {
            // Only what HTML calls white space: a no-break space is a character.
            if matches!(letter, ' ' | '\t' | '\n' | '\r' | '\x0c') {
                if !self.run.is_empty() && !self.run.ends_with([' ', '\n']) {
                    self.run.push(' ');
                }
            } else {
                self.run.push(if letter == '\u{a0}' { ' ' } else { letter });
                saw(&mut self.run_lines, self.line);
            }
        }
    }

    // ---- tags ----

    /// Takes a start tag; says whether what is inside may have to be read raw.
    fn start(&mut self, tag: &Tag) -> bool {
        let name: &str = &tag.name;
        if name == "meta" {
            self.meta(tag);
            return false;
        }
        if let Some(place) = self.stack.closed_by_start(name) {
            self.close_to(place);
        }
        if is_block(name) {
            self.break_run();
        }
        if is_void(name) {
            self.void(name, tag);
            return false;
        }
        let closes_itself = tag.self_closing && (self.is_xml || self.stack.last_place("svg").is_some());
        if closes_itself {
            return false;
        }
        // A second title is none.
        let hides = is_hidden(tag) || (name == "title" && !self.title.is_empty());
        if self.stack.push(tag.name.clone(), hides) && !self.stack.is_hidden() {
            self.opened(name, tag);
        }
        true
    }

    fn end(&mut self, name: &str) {
        if name == "title" {
            self.in_title = false;
        }
        match self.stack.closed_by_end(name) {
            Some(place) => self.close_to(place),
            None if is_block(name) => self.break_run(),
            None => {}
        }
    }

    fn close_to(&mut self, place: usize) {
        let closed = self.stack.close_to(place);
        let innermost = place + closed.len();
        for (at, element) in (place..innermost).rev().zip(closed) {
            if element.was_read {
                self.closed(&element.name, at);
            } else if is_block(&element.name) {
                self.break_run();
            }
        }
    }

    fn void(&mut self, name: &str, tag: &Tag) {
        // A picture in a link is a button, a badge or a thumbnail.
        if name == "img"
            && self.stack.last_place("a").is_none()
            && let Some(words) = description(tag)
        {
            let gap = !(self.run.is_empty() || self.run.ends_with([' ', '\n'])) && words.contains(' ');
            self.text(if gap { " " } else { "" });
            self.text(words);
            self.text(if words.contains(' ') { " " } else { "" });
        }
        if name != "br" || self.stack.is_hidden() {
            return;
        }
        if let Some((pre, _)) = &mut self.pre {
            pre.push('\n');
            return;
        }
        let is_line = self.heading.is_none() && self.lists.is_empty() && !self.in_cell();
        self.run.truncate(self.run.trim_end_matches(' ').len());
        if !self.run.is_empty() && !self.run.ends_with('\n') {
            self.run.push(if is_line { '\n' } else { ' ' });
        }
    }

    /// An element that is read has begun.
    fn opened(&mut self, name: &str, tag: &Tag) {
        if is_content(name) {
            self.contents += 1;
        }
        if let Some(region) = region(name, tag, self.contents > usize::from(is_content(name))) {
            self.begin_region(region);
        }
        match name {
            "a" | "math" | "annotation" | "sup" => self.mark(name, tag),
            "title" => self.in_title = true,
            "html" => {
                if let Some(lang) = attribute(tag, "lang").and_then(title) {
                    self.metadata.insert("lang".into(), lang);
                }
            }
            "ul" | "menu" | "dir" | "dl" => self.lists.push(None),
            "ol" => self.lists.push(Some(attribute(tag, "start").and_then(|s| s.trim().parse().ok()).unwrap_or(1))),
            "li" | "dt" => self.item(attribute(tag, "value")),
            "blockquote" => {
                self.flush_list();
                self.quotes += 1;
            }
            "table" => self.begin_table(),
            "thead" => self.with_table(|table| table.in_head = true),
            "tr" => self.with_table(Table::end_row),
            "td" | "th" => {
                let columns = span(attribute(tag, "colspan")).max(1);
                // No rows means all the rest.
                let rows = match span(attribute(tag, "rowspan")) {
                    0 => usize::MAX,
                    rows => rows,
                };
                self.with_table(|table| table.begin_cell(name == "th", columns, rows));
            }
            "pre" if self.pre.is_none() && (!self.in_cell() || self.is_bare_table()) => {
                // A program in a table of its own, beside its line numbers.
                self.lay_out();
                self.flush_list();
                self.pre = Some((String::new(), language(tag).unwrap_or_default()));
            }
            "code" => {
                if let (Some((_, word)), Some(language)) = (&mut self.pre, language(tag))
                    && word.is_empty()
                {
                    *word = language;
                }
            }
            _ => {
                if let Some(level) = heading_level(name) {
                    self.flush_list();
                    self.lay_out();
                    self.heading = Some(level);
                }
            }
        }
    }

    /// An element has ended, by its end tag or another's.
    fn closed(&mut self, name: &str, place: usize) {
        if is_block(name) {
            self.break_run();
        }
        self.contents = self.contents.saturating_sub(usize::from(is_content(name)));
        if self.open_regions.last() == Some(&place) {
            self.end_region();
        }
        match name {
            "a" | "math" | "annotation" | "sup" => self.end_mark(name),
            "ul" | "ol" | "menu" | "dir" | "dl" => {
                if self.lists.pop().is_some() && self.lists.is_empty() {
                    self.flush_list();
                }
                self.marker = None;
            }
            "li" | "dt" => self.marker = None,
            "blockquote" => {
                self.flush_list();
                self.quotes = self.quotes.saturating_sub(1);
            }
            "thead" => self.with_table(|table| {
                table.end_row();
                table.in_head = false;
            }),
            "td" | "th" => self.with_table(Table::end_cell),
            "tr" => self.with_table(Table::end_row),
            "table" => self.end_table(),
            "pre" => self.end_pre(),
            _ => {}
        }
    }

    // ---- regions and marks ----

    fn begin_region(&mut self, region: Region) {
        self.flush_list();
        self.lay_out();
        if region == Region::Main {
            // Headings around the main part are those of the site.
            self.path.clear();
            self.titles.clear();
        }
        self.regions.begin(region, self.out.text.len());
        self.open_regions.push(self.stack.len().saturating_sub(1));
    }

    fn end_region(&mut self) {
        self.flush_list();
        self.open_regions.pop();
        self.regions.end(self.out.text.len());
    }

    fn mark(&mut self, name: &str, tag: &Tag) {
        self.links += usize::from(name == "a");
        let is_marked = match name {
            "a" => attribute(tag, "href").is_some_and(|href| href.starts_with('#')),
            _ => true,
        };
        if is_marked && self.pre.is_none() && self.marks.len() < MAX_MARKS {
            self.marks.push(Mark { element: tag.name.clone(), at: self.run.len(), links: self.links });
        }
    }

    fn end_mark(&mut self, name: &str) {
        if self.marks.last().is_none_or(|mark| *mark.element != *name) {
            return;
        }
        let Some(mark) = self.marks.pop() else { return };
        let Some(inside) = self.run.get(mark.at..) else { return };
        match name {
            "a" if is_sign(inside) => self.run.truncate(mark.at),
            // A formula as it was written says more than its parts in a row.
            "annotation" => {
                let formula = inside.trim();
                let formula =
                    formula.strip_prefix("{\\displaystyle").and_then(|f| f.strip_suffix('}')).unwrap_or(formula);
                let formula = formula.trim().to_owned();
                if let Some(math) =
                    self.marks.last().filter(|mark| *mark.element == *"math" && mark.at <= self.run.len())
                {
                    let start = math.at;
                    self.run.truncate(start);
                    self.run.push_str(&formula);
                }
            }
            // Ten to the sixth is not a hundred and six.
            "sup" if mark.links == self.links && is_power(inside) => {
                let before = self.run.get(..mark.at).and_then(|run| run.chars().next_back());
                if before.is_some_and(|c| c.is_alphanumeric() || c == ')') {
                    self.run.insert(mark.at, '^');
                }
            }
            _ => {}
        }
    }

    fn meta(&mut self, tag: &Tag) {
        let Some(content) = attribute(tag, "content").and_then(title) else { return };
        let Some(name) = attribute(tag, "name").or_else(|| attribute(tag, "property")) else { return };
        let key = match name.to_ascii_lowercase().as_str() {
            "author" => "author",
            "description" => "description",
            "keywords" => "keywords",
            "date" | "dcterms.date" | "article:published_time" => "date",
            _ => return,
        };
        self.metadata.entry(key.into()).or_insert(content);
    }
}

/// How far a cell spans; 1 if it does not say.
fn span(value: Option<&str>) -> usize {
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(1)
}

/// Elements whose headers, footers and asides are their own.
fn is_content(name: &str) -> bool {
    matches!(name, "article" | "section" | "main" | "blockquote" | "figure" | "li" | "td" | "dd" | "details")
}

/// What stands raised as an exponent: a number or a letter, with a sign.
fn is_power(text: &str) -> bool {
    let text = text.trim();
    let bare = text.trim_start_matches(['-', '+', '−', '–']);
    let is_number = !bare.is_empty() && bare.len() <= 4 && bare.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (bare.len() == 1 && matches!(bare, "n" | "x" | "k" | "m" | "i"))
}

fn saw(lines: &mut Option<Lines>, line: u32) {
    *lines = Some(Lines { first: lines.map_or(line, |lines| lines.first), last: line });
}

/// The language that a class like `language-rust` or `highlight-source-rust` names.
fn language(tag: &Tag) -> Option<String> {
    let class = attribute(tag, "class")?;
    let prefixes = ["language-", "lang-", "highlight-source-"];
    let word =
        class.split_ascii_whitespace().find_map(|word| prefixes.iter().find_map(|prefix| word.strip_prefix(prefix)))?;
    let is_word =
        word.len() <= 20 && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'#'));
    is_word.then(|| word.to_owned())
}
