//! Tokens into paragraphs: groups with their states, fonts with their character sets, and what each word changes.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use super::{
    charset,
    lexer::Token,
    sheet::{Kind, Sheet},
    words::{Field, Sink, character, destination},
};

/// Groups deeper than this share the state of the one at this depth.
const MAX_DEPTH: usize = 10_000;

/// Most fonts and styles that are remembered.
const MAX_ENTRIES: usize = 20_000;

/// Most bytes kept of a field that is not text: a title, the name of a style.
const MAX_FIELD_BYTES: usize = 4096;

/// What a group inherits and may change.
#[derive(Clone, Copy)]
struct State {
    sink: Sink,
    font: i32,
    /// Characters that stand after `\u` for readers that do not know it.
    fallback: u32,
    hidden: bool,
    deleted: bool,
    style: i32,
    outline: Option<u8>,
    list: bool,
    item_level: u8,
    in_table: bool,
    nested: bool,
}

const START: State = State {
    sink: Sink::Body,
    font: -1,
    fallback: 1,
    hidden: false,
    deleted: false,
    style: 0,
    outline: None,
    list: false,
    item_level: 0,
    in_table: false,
    nested: false,
};

/// What is known of a style: the level of heading it makes.
#[derive(Default, Clone, Copy)]
struct Style {
    heading: Option<u8>,
    is_title: bool,
}

pub struct Reader {
    pub sheet: Sheet,
    pub info: HashMap<&'static str, String>,
    pub created: [i32; 5],
    state: State,
    stack: Vec<State>,
    /// Groups open beyond [`MAX_DEPTH`].
    beyond: usize,
    has_begun: bool,
    pub has_ended: bool,
    /// `\*` was seen: the next word says what the group is for, and may be unknown.
    is_ignorable: bool,
    /// A group has just begun: the next word may say what it is for.
    at_start: bool,
    encoding: &'static Encoding,
    default_font: i32,
    fonts: HashMap<i32, &'static Encoding>,
    /// The font, or style, that the table at work is defining.
    defined: i32,
    defined_outline: Option<u8>,
    styles: HashMap<i32, Style>,
    /// Bytes of text whose encoding is that of `bytes_in`.
    bytes: Vec<u8>,
    bytes_in: &'static Encoding,
    high_surrogate: Option<u16>,
    /// Characters still to be passed over after `\u`.
    skip: u32,
    run: String,
    note: String,
    marker: String,
    field: String,
    pub replaced: u64,
}

impl Reader {
    pub fn new(max_text_bytes: u64, source_bytes: usize) -> Self {
        Self {
            sheet: Sheet::new(max_text_bytes, source_bytes),
            info: HashMap::new(),
            created: [0; 5],
            state: START,
            stack: Vec::new(),
            beyond: 0,
            has_begun: false,
            has_ended: false,
            is_ignorable: false,
            at_start: false,
            encoding: WINDOWS_1252,
            default_font: -1,
            fonts: HashMap::new(),
            defined: -1,
            defined_outline: None,
            styles: HashMap::new(),
            bytes: Vec::new(),
            bytes_in: WINDOWS_1252,
            high_surrogate: None,
            skip: 0,
            run: String::new(),
            note: String::new(),
            marker: String::new(),
            field: String::new(),
            replaced: 0,
        }
    }

    pub fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Open => self.open(),
            Token::Close => self.close(),
            Token::Word(word, number) => {
                // After `\u` a whole word counts as one character; data has been passed over already.
                if self.skip > 0 && word != "u" && !matches!(word, "par" | "cell" | "row" | "uc") {
                    self.skip -= 1;
                    return;
                }
                self.skip = 0;
                let at_start = std::mem::take(&mut self.at_start);
                let is_ignorable = std::mem::take(&mut self.is_ignorable);
                if (at_start || is_ignorable)
                    && let Some(sink) = destination(word, is_ignorable)
                {
                    self.flush();
                    self.enter(sink);
                    return;
                }
                self.word(word, number);
            }
            Token::Symbol(b'*') => self.is_ignorable = true,
            Token::Symbol(symbol) => {
                if self.skip > 0 {
                    self.skip -= 1;
                    return;
                }
                match symbol {
                    b'~' => self.letter('\u{a0}'),
                    b'_' => self.letter('-'),
                    b'\n' | b'\r' => self.word("par", None),
                    b'\t' => self.letter('\t'),
                    b'\\' | b'{' | b'}' => self.byte(symbol),
                    _ => {}
                }
            }
            Token::Byte(byte) => {
                if self.skip > 0 {
                    self.skip -= 1;
                } else {
                    self.byte(byte);
                }
                self.at_start = false;
            }
            Token::Text(text) => {
                let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(text.len());
                self.skip -= u32::try_from(skipped).unwrap_or(0);
                for &byte in text.get(skipped..).unwrap_or_default() {
                    self.byte(byte);
                }
                self.at_start = false;
            }
        }
    }

    /// Ends the document, whole or not.
    pub fn finish(&mut self) {
        while !self.stack.is_empty() {
            self.close();
        }
        self.flush();
        self.end_paragraph();
    }

    // ---- groups ----

    fn open(&mut self) {
        self.flush();
        self.skip = 0;
        self.has_begun = true;
        self.at_start = true;
        if self.stack.len() < MAX_DEPTH {
            self.stack.push(self.state);
        } else {
            self.beyond += 1;
        }
    }

    fn close(&mut self) {
        self.flush();
        self.skip = 0;
        self.at_start = false;
        self.is_ignorable = false;
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let Some(outer) = self.stack.pop() else { return };
        let ended = self.state.sink;
        // Only what is a table's own is undone in a table of fonts; all else returns to what it was.
        self.state = outer;
        if ended != outer.sink {
            self.leave(ended);
        } else if ended == Sink::StyleSheet {
            self.end_style();
        }
        self.has_ended = self.has_begun && self.stack.is_empty();
    }

    /// The group turns out to be for something else than the one around it.
    fn enter(&mut self, sink: Sink) {
        // What is inside of a thing that is not read is not read; but Unicode has its own group in such a one.
        if self.state.sink == Sink::Nothing {
            return;
        }
        let is_aside = |sink| matches!(sink, Sink::Note | Sink::Box);
        if is_aside(sink) && is_aside(self.state.sink) {
            return;
        }
        self.state.sink = sink;
        match sink {
            Sink::Marker => self.marker.clear(),
            Sink::Info(_) => self.field.clear(),
            Sink::StyleSheet => {
                self.field.clear();
                self.defined = 0;
                self.defined_outline = None;
            }
            Sink::FontTable => self.defined = -1,
            Sink::Body | Sink::Note | Sink::Box | Sink::About | Sink::Nothing => {}
        }
    }

    fn leave(&mut self, sink: Sink) {
        match sink {
            Sink::Note => {
                let note = std::mem::take(&mut self.note);
                self.sheet.note(&note);
            }
            Sink::Box => {
                let text = std::mem::take(&mut self.note);
                self.sheet.text_box(&text);
            }
            Sink::Info(field) => {
                let text = std::mem::take(&mut self.field);
                self.info.entry(Field::key(field)).or_insert(text);
            }
            Sink::StyleSheet => self.end_style(),
            Sink::Body | Sink::Marker | Sink::FontTable | Sink::About | Sink::Nothing => {}
        }
    }

    /// A style has its name: remembers what heading it makes.
    fn end_style(&mut self) {
        let name = std::mem::take(&mut self.field);
        let name = name.trim().trim_end_matches(';').to_lowercase();
        let named = name.strip_prefix("heading ").and_then(|level| level.trim().parse::<u8>().ok());
        let heading = named.filter(|level| (1..=9).contains(level)).or(self.defined_outline.map(|level| level + 1));
        let style = Style { heading, is_title: name == "title" };
        if (style.heading.is_some() || style.is_title) && self.styles.len() < MAX_ENTRIES {
            self.styles.insert(self.defined, style);
        }
        self.defined = 0;
        self.defined_outline = None;
    }

    // ---- words ----

    fn word(&mut self, word: &str, number: Option<i32>) {
        if word == "u" {
            self.unit(number.unwrap_or(0));
            return;
        }
        if let Some(letter) = character(word) {
            self.letter(letter);
            return;
        }
        let on = number != Some(0);
        let value = number.unwrap_or(0);
        match word {
            "uc" => self.state.fallback = u32::try_from(value).unwrap_or(1).min(100),
            "f" if self.state.sink == Sink::FontTable => self.defined = value,
            "fcharset" | "cpg" if self.state.sink == Sink::FontTable => {
                let encoding = if word == "cpg" { charset::of_code_page(value) } else { charset::of_font(value) };
                if let Some(encoding) = encoding.filter(|_| self.fonts.len() < MAX_ENTRIES) {
                    self.fonts.insert(self.defined, encoding);
                }
            }
            "f" => self.state.font = value,
            "plain" => {
                (self.state.hidden, self.state.deleted) = (false, false);
                self.state.font = self.default_font;
            }
            "ansicpg" => self.encoding = charset::of_code_page(value).unwrap_or(self.encoding),
            "mac" => self.encoding = encoding_rs::MACINTOSH,
            "deff" => (self.default_font, self.state.font) = (value, value),
            "v" => self.state.hidden = on,
            "deleted" => self.state.deleted = on,
            "s" if self.state.sink == Sink::StyleSheet => self.defined = value,
            "cs" | "ts" | "ds" if self.state.sink == Sink::StyleSheet => self.defined = -1,
            "outlinelevel" => {
                let level = u8::try_from(value).ok().filter(|&level| level < 9);
                if self.state.sink == Sink::StyleSheet {
                    self.defined_outline = level;
                } else {
                    self.state.outline = level;
                }
            }
            "yr" | "mo" | "dy" | "hr" | "min" if self.state.sink == Sink::About => {
                let at = ["yr", "mo", "dy", "hr", "min"].iter().position(|&name| name == word);
                if let Some(part) = at.and_then(|at| self.created.get_mut(at)) {
                    *part = value;
                }
            }
            // The group of Unicode text in a group of both.
            "ud" => {
                self.state.sink = self
                    .stack
                    .iter()
                    .rev()
                    .map(|state| state.sink)
                    .find(|&sink| sink != Sink::Nothing)
                    .unwrap_or(Sink::Body)
            }
            _ => self.paragraph_word(word, number),
        }
    }

    /// Words of paragraphs and tables.
    fn paragraph_word(&mut self, word: &str, number: Option<i32>) {
        let value = number.unwrap_or(0);
        match self.state.sink {
            Sink::Note | Sink::Box => {
                if matches!(word, "par" | "sect" | "page" | "cell" | "row") {
                    self.flush();
                    self.note.push('\n');
                }
                return;
            }
            Sink::Body => {}
            Sink::Marker | Sink::FontTable | Sink::StyleSheet | Sink::Info(_) | Sink::About | Sink::Nothing => return,
        }
        match word {
            "chftn" => {
                let mark = self.sheet.mark();
                self.flush();
                mark.chars().for_each(|letter| self.put(letter));
            }
            "pard" => {
                let State { sink, font, fallback, hidden, deleted, .. } = self.state;
                self.state = State { sink, font, fallback, hidden, deleted, ..START };
            }
            "s" => self.state.style = value,
            "ls" => self.state.list = value > 0,
            "ilvl" => self.state.item_level = u8::try_from(value).unwrap_or(0),
            "intbl" => self.state.in_table = number != Some(0),
            "itap" => {
                self.state.in_table = value > 0;
                self.state.nested = value > 1;
            }
            "par" | "sect" | "page" => self.end_paragraph(),
            "cell" => {
                self.flush();
                let run = std::mem::take(&mut self.run);
                let marker = self.take_marker();
                self.sheet.cell(&run, marker.as_deref());
            }
            "nestcell" | "nestrow" => {
                self.flush();
                let run = std::mem::take(&mut self.run);
                self.sheet.inner_cell(&run, if word == "nestcell" { "," } else { ";" });
            }
            "trowd" => self.sheet.begin_row(),
            "trhdr" => self.sheet.header_row(),
            "row" => {
                self.flush();
                self.sheet.end_row();
            }
            _ => {}
        }
    }

    fn take_marker(&mut self) -> Option<String> {
        let marker = std::mem::take(&mut self.marker);
        let marker = marker.trim();
        (!marker.is_empty()).then(|| marker.to_owned())
    }

    fn end_paragraph(&mut self) {
        self.flush();
        let run = std::mem::take(&mut self.run);
        let marker = self.take_marker();
        let style = self.styles.get(&self.state.style).copied().unwrap_or_default();
        let heading = self.state.outline.map(|level| level + 1).or(style.heading);
        let kind = Kind {
            heading: heading.or(style.is_title.then_some(1)),
            item: self.state.list.then_some(self.state.item_level),
            in_table: self.state.in_table,
        };
        self.sheet.paragraph(&run, kind, marker.as_deref());
    }

    // ---- text ----

    fn byte(&mut self, byte: u8) {
        if self.state.sink == Sink::Nothing {
            return;
        }
        let encoding = self.fonts.get(&self.state.font).copied().unwrap_or(self.encoding);
        if encoding != self.bytes_in {
            self.flush();
            self.bytes_in = encoding;
        }
        self.high_surrogate = None;
        self.bytes.push(byte);
    }

    /// A unit of UTF-16.
    fn unit(&mut self, value: i32) {
        self.flush();
        self.skip = self.state.fallback;
        // Written signed; some writers do not.
        let unit = (value & 0xffff) as u16;
        match (unit, self.high_surrogate.take()) {
            (0xd800..=0xdbff, _) => self.high_surrogate = Some(unit),
            (0xdc00..=0xdfff, Some(high)) => {
                for letter in char::decode_utf16([high, unit]) {
                    self.put(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
            (0xdc00..=0xdfff, None) => self.put(char::REPLACEMENT_CHARACTER),
            // Symbol fonts have their letters there.
            (0xf020..=0xf0ff, _) => self.put(if unit == 0xf0b7 { '•' } else { '\u{fffd}' }),
            _ => self.put(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }

    fn letter(&mut self, letter: char) {
        self.flush();
        self.put(letter);
    }

    /// Decodes the bytes at work.
    fn flush(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let (text, has_bad) = self.bytes_in.decode_without_bom_handling(&bytes);
        if has_bad {
            self.replaced += text.chars().filter(|&letter| letter == char::REPLACEMENT_CHARACTER).count() as u64;
        }
        for letter in text.chars() {
            self.put(letter);
        }
    }

    fn put(&mut self, letter: char) {
        let State { sink, hidden, deleted, .. } = self.state;
        match sink {
            Sink::Body | Sink::Note | Sink::Box | Sink::Marker if hidden || deleted => {}
            Sink::Body => self.run.push(if letter == '\u{a0}' { ' ' } else { letter }),
            Sink::Note | Sink::Box => self.note.push(letter),
            Sink::Marker if self.marker.len() < MAX_FIELD_BYTES => self.marker.push(letter),
            Sink::Info(_) | Sink::StyleSheet if self.field.len() < MAX_FIELD_BYTES => self.field.push(letter),
            Sink::Marker | Sink::Info(_) | Sink::StyleSheet | Sink::FontTable | Sink::About | Sink::Nothing => {}
        }
    }
}
