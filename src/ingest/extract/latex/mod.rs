//! LaTeX: the words of a document, under the headings of its sections.
//!
//! No TeX is run and no macro of the document is expanded. The source is read once from start to end; every line end is
//! written again, so a line of the text is a line of the source. The preamble, comments and commands of the machinery are
//! left out, commands around words keep the words, formulas stay as they are written.

mod commands;
mod environments;
mod scan;
mod table;

use super::{
    Extract, Input,
    blocks::{Blocks, too_large},
    clean::title,
    sections::Sections,
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
    types::Span,
};
use commands::{Meaning, meaning};
use scan::Scan;
use table::Tabular;

/// Deepest braces whose ends are known; deeper ones close nothing.
const MAX_BRACES: usize = 10_000;

/// Most readers inside each other (the term of an item in the term of an item).
const MAX_DEPTH: usize = 3;

/// Most of a heading that is looked at for its words.
const MAX_HEADING_BYTES: usize = 2000;

pub struct Latex;

impl Extract for Latex {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let max_text_bytes = input.limits.max_text_bytes;
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut reader = Reader::new(&source);
        let body = scan::body(&source);
        reader.preamble(&source[..body.start]);
        reader.read(Scan::new(&source[body.clone()]));
        let rest = &source[body.end..];
        reader.out.extend(rest.chars().filter(|&letter| letter == '\n'));
        if reader.out.len() as u64 > max_text_bytes {
            return Err(too_large(max_text_bytes));
        }
        document.title = reader.title.take();
        document.author = reader.author.take();
        document.metadata.extend(reader.date.take().map(|date| ("date".into(), date)));
        document.text = reader.out;
        document.blocks = reader.blocks.into_list();
        Ok(document)
    }
}

/// What ends with a brace.
#[derive(Debug, Clone, Copy)]
enum Brace {
    Plain,
    /// A heading of a level, whose words began there.
    Heading(u8, usize),
    /// A remark in brackets of its own.
    Note,
    /// A paragraph of its own: a caption.
    Apart,
}

#[derive(Debug, Clone, Copy)]
enum Fact {
    Title,
    Author,
    Date,
}

struct Reader {
    out: String,
    blocks: Blocks,
    sections: Sections,
    /// Where the block at work began.
    start: usize,
    braces: Vec<Brace>,
    lists: usize,
    quotes: usize,
    /// The table at work, and how many are inside each other.
    table: Option<Tabular>,
    tables: usize,
    title: Option<String>,
    author: Option<String>,
    date: Option<String>,
    /// How many readers are at work inside each other.
    depth: usize,
}

impl Reader {
    fn new(source: &str) -> Self {
        Self {
            out: String::with_capacity(source.len()),
            blocks: Blocks::default(),
            sections: Sections::default(),
            start: 0,
            braces: Vec::new(),
            lists: 0,
            quotes: 0,
            table: None,
            tables: 0,
            title: None,
            author: None,
            date: None,
            depth: 0,
        }
    }

    /// Of what stands before the document only its title, author and date are read.
    fn preamble(&mut self, source: &str) {
        for (command, fact) in [("\\title", Fact::Title), ("\\author", Fact::Author), ("\\date", Fact::Date)] {
            let Some(argument) = scan::argument_of(source, command) else { continue };
            let text = self.inner(argument);
            self.fact(fact, &text);
        }
        self.out.extend(source.chars().filter(|&letter| letter == '\n'));
        self.start = self.out.len();
    }

    fn fact(&mut self, fact: Fact, text: &str) {
        let place = match fact {
            Fact::Title => &mut self.title,
            Fact::Author => &mut self.author,
            Fact::Date => &mut self.date,
        };
        *place = title(text);
    }

    fn read(&mut self, mut scan: Scan<'_>) {
        while let Some(letter) = scan.peek() {
            match letter {
                '\\' => self.command(&mut scan),
                '%' => self.drop(scan.take_line_rest()),
                '{' => {
                    scan.take();
                    self.open(Brace::Plain);
                }
                '}' => {
                    scan.take();
                    self.close();
                }
                '$' => self.formula(&mut scan),
                '\n' => {
                    scan.take();
                    self.line_end();
                    if scan.is_blank_line() && self.lists == 0 && self.table.is_none() {
                        self.cut(None);
                    }
                }
                '&' if self.table.is_some() => {
                    scan.take();
                    self.next_cell();
                }
                '~' => {
                    scan.take();
                    self.out.push(' ');
                }
                '-' if scan.take_text("---") => self.push('—'),
                '-' if scan.take_text("--") => self.push('–'),
                '`' if scan.take_text("``") => self.push('“'),
                '\'' if scan.take_text("''") => self.push('”'),
                _ => {
                    scan.take();
                    self.push(letter);
                }
            }
        }
        if let Some(table) = self.table.take() {
            self.end_table(table);
        }
        self.cut(None);
    }

    fn push(&mut self, letter: char) {
        if let Some(table) = &mut self.table {
            if letter.is_whitespace() && self.out.ends_with(' ') {
                return;
            }
            if !letter.is_whitespace() {
                table.begin_cell(&mut self.out);
            }
        }
        self.out.push(letter);
    }

    fn push_str(&mut self, text: &str) {
        for letter in text.chars() {
            if letter == '\n' { self.line_end() } else { self.push(letter) }
        }
    }

    /// Leaves out text, but not its line ends.
    fn drop(&mut self, text: &str) {
        for _ in text.bytes().filter(|&byte| byte == b'\n') {
            self.line_end();
        }
    }

    /// A row of a table is one line: line ends inside it are written after it.
    fn line_end(&mut self) {
        match &mut self.table {
            Some(table) => table.line_end(&mut self.out),
            None => self.out.push('\n'),
        }
    }

    /// Ends the block at work.
    fn cut(&mut self, kind: Option<BlockKind>) {
        let kind = kind.unwrap_or(if self.lists > 0 {
            BlockKind::List
        } else if self.quotes > 0 {
            BlockKind::Quote
        } else {
            BlockKind::Paragraph
        });
        if self.table.is_some() {
            return;
        }
        let span = Span::new(self.start, self.out.len());
        self.start = self.out.len();
        self.blocks.push(&self.out, kind, span, self.sections.path());
    }

    fn open(&mut self, brace: Brace) {
        if self.braces.len() < MAX_BRACES {
            self.braces.push(brace);
        }
    }

    fn close(&mut self) {
        match self.braces.pop() {
            Some(Brace::Heading(level, start)) => {
                let end = self.out.floor_char_boundary(self.out.len().min(start + MAX_HEADING_BYTES));
                let words = self.out[start..end].to_owned();
                self.sections.open(level, &words);
                self.cut(Some(BlockKind::Heading(level)));
            }
            Some(Brace::Note) => self.push(')'),
            Some(Brace::Apart) => self.cut(None),
            Some(Brace::Plain) | None => {}
        }
    }

    /// `$…$` and `$$…$$` stay as they are; a paragraph's end ends them.
    fn formula(&mut self, scan: &mut Scan<'_>) {
        let text = scan.take_formula();
        let is_apart = text.starts_with("$$") && self.table.is_none();
        if is_apart {
            self.cut(None);
        }
        self.push_str(text);
        if is_apart {
            self.cut(Some(BlockKind::Fence));
        }
    }

    fn command(&mut self, scan: &mut Scan<'_>) {
        let name = scan.take_command();
        match meaning(name) {
            Meaning::Begin => self.begin(scan),
            Meaning::End => self.end(scan),
            Meaning::Heading(level) => {
                if self.table.is_some() {
                    return;
                }
                self.drop(scan.take_options());
                let blanks = scan.take_blanks();
                self.drop(blanks);
                if scan.take_text("{") {
                    self.cut(None);
                    self.open(Brace::Heading(level, self.out.len()));
                }
            }
            Meaning::Nothing(arguments) => {
                let dropped = scan.take_arguments(arguments);
                self.drop(dropped);
            }
            Meaning::Key => {
                let options = scan.take_options();
                self.drop(options);
                let keys = scan.take_argument().trim();
                if !keys.is_empty() {
                    self.push_str(&format!("[{keys}]"));
                }
            }
            Meaning::Reference => {
                let key = scan.take_argument();
                self.push_str(key);
            }
            Meaning::Second => {
                let dropped = scan.take_arguments(1);
                self.drop(dropped);
            }
            Meaning::Third => {
                let dropped = scan.take_arguments(2);
                self.drop(dropped);
            }
            Meaning::Note => {
                self.drop(scan.take_options());
                if scan.take_text("{") {
                    self.push_str(" (");
                    self.open(Brace::Note);
                }
            }
            Meaning::Caption => {
                self.drop(scan.take_options());
                if scan.take_text("{") {
                    if self.table.is_none() {
                        self.cut(None);
                        self.open(Brace::Apart);
                    } else {
                        self.open(Brace::Plain);
                    }
                }
            }
            Meaning::Title => self.begin_fact(scan, Fact::Title),
            Meaning::Author => self.begin_fact(scan, Fact::Author),
            Meaning::Date => self.begin_fact(scan, Fact::Date),
            Meaning::Item => self.item(scan),
            Meaning::LineEnd => {
                self.drop(scan.take_options());
                match &mut self.table {
                    Some(table) if self.tables == 1 => table.end_row(&mut self.out),
                    _ => self.out.push(' '),
                }
            }
            Meaning::Rule(is_header) => {
                let dropped = scan.take_arguments(1);
                self.drop(dropped);
                if let Some(table) = &mut self.table {
                    table.rule(is_header);
                }
            }
            Meaning::Says(text) => {
                scan.take_empty_argument();
                self.push_str(text);
            }
            Meaning::Accent(mark) => {
                let letters = scan.take_accented();
                match commands::accented(letters, mark) {
                    Some(letter) => self.push(letter),
                    None => self.push_str(letters),
                }
            }
            Meaning::Verbatim => {
                let text = scan.take_delimited();
                self.push_str(text);
            }
            Meaning::Formula(end) => {
                let text = scan.take_formula_until(end);
                let is_apart = end == "\\]" && self.table.is_none();
                if is_apart {
                    self.cut(None);
                }
                self.push_str(text);
                if is_apart {
                    self.cut(Some(BlockKind::Fence));
                }
            }
            // The words it is about stand in its argument.
            Meaning::Words => self.drop(scan.take_options()),
        }
    }

    fn begin_fact(&mut self, scan: &mut Scan<'_>, fact: Fact) {
        self.drop(scan.take_options());
        let words = scan.take_argument();
        if !words.is_empty() {
            let text = self.inner(words);
            self.fact(fact, &text);
            self.drop(words);
        }
    }

    fn item(&mut self, scan: &mut Scan<'_>) {
        if self.lists == 0 {
            return;
        }
        self.push_str(&"  ".repeat(self.lists.min(8) - 1));
        self.push_str("-");
        let blanks = scan.take_blanks();
        if let Some(term) = scan.take_option_words() {
            self.push_str(" ");
            self.nested(term);
            self.push_str(":");
        }
        self.drop(blanks);
        self.push_str(" ");
        while scan.take_text(" ") {}
    }

    /// Reads a short piece of the source as text.
    fn nested(&mut self, source: &str) {
        let text = self.inner(source);
        self.push_str(&text);
    }

    fn inner(&self, source: &str) -> String {
        if self.depth >= MAX_DEPTH {
            return source.to_owned();
        }
        let mut inner = Reader { depth: self.depth + 1, ..Reader::new(source) };
        inner.read(Scan::new(source));
        inner.out
    }
}

#[cfg(test)]
mod tests;
