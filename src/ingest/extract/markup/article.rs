//! Articles and books: their elements are told to the HTML reader in its own words, line by line, so that headings, lists
//! and tables are made in one place and lines stay those of the source.

use super::{
    LineCounter,
    article_names::{Role, role},
};
use crate::{
    index::Problem,
    ingest::{
        document::Document,
        extract::{
            clean::title,
            html,
            xml::{Element, Event, Reader},
        },
    },
};

/// Most authors that are named.
const MAX_AUTHORS: usize = 200;

/// Most bytes of a name.
const MAX_NAME_BYTES: usize = 400;

pub fn read(source: &str, max_text_bytes: u64, document: &mut Document) -> Result<(), Problem> {
    let mut translation = Translation::new(source);
    let mut reader = Reader::new(source);
    while let Some(event) = reader.next() {
        let at = reader.offset();
        match event {
            Event::Start(element) => {
                if translation.start(&element, at) == Role::Skip {
                    reader.skip();
                    translation.open.pop();
                }
            }
            Event::End(_) => translation.end(at),
            Event::Text(text) => translation.text(&text, at),
        }
    }
    let page = html::read(&translation.html, max_text_bytes);
    document.title = translation.title.as_deref().and_then(title).or(page.title);
    page.out.finish(document)?;
    if !translation.authors.is_empty() {
        document.author = Some(translation.authors.join(", "));
    }
    document.metadata.extend(translation.date.map(|date| ("date".to_owned(), date)));
    document.metadata.extend(translation.language.map(|language| ("lang".to_owned(), language)));
    Ok(())
}

/// The parts of a name as they come.
#[derive(Default)]
struct Author {
    names: String,
    surname: String,
    is_author: bool,
}

struct Translation<'a> {
    html: String,
    /// Line ends written so far.
    written: u32,
    lines: LineCounter<'a>,
    /// Roles of the open elements, and what closes each.
    open: Vec<(Role, &'static str)>,
    sections: usize,
    /// Open elements that are said of the document; that are captions or citations; that hold preformatted text.
    meta: usize,
    captions: usize,
    citations: usize,
    preformatted: usize,
    heads: usize,
    /// Open elements whose inside is text, whatever it is called.
    words: usize,
    /// The name of a section that has shown no title yet.
    unnamed: Option<&'static str>,
    title: Option<String>,
    in_title: bool,
    author: Option<Author>,
    authors: Vec<String>,
    /// An author was written last, so another one stands beside.
    after_author: bool,
    date: Option<String>,
    /// Parts of a date, or a date as it is written.
    date_parts: Option<Vec<String>>,
    language: Option<String>,
}

impl<'a> Translation<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            html: String::new(),
            written: 0,
            lines: LineCounter::new(source),
            open: Vec::new(),
            sections: 0,
            meta: 0,
            captions: 0,
            citations: 0,
            preformatted: 0,
            heads: 0,
            words: 0,
            unnamed: None,
            title: None,
            in_title: false,
            author: None,
            authors: Vec::new(),
            after_author: false,
            date: None,
            date_parts: None,
            language: None,
        }
    }

    /// Writes a tag, on its line.
    fn tag(&mut self, tag: &str, at: usize) {
        let line = self.lines.line(at);
        while self.written + 1 < line {
            self.html.push('\n');
            self.written += 1;
        }
        self.html.push_str(tag);
        self.after_author &= tag.is_empty();
    }

    fn start(&mut self, element: &Element<'_>, at: usize) -> Role {
        if self.open.is_empty()
            && let Some(language) = element.get("lang")
        {
            self.language = title(&language);
        }
        let mut role = role(element.name, self.meta > 0 && self.words == 0);
        if self.date_parts.is_some() && role == Role::Skip {
            role = Role::Inline;
        }
        // The number of a section stands for its place, which its title tells.
        if element.name == "label" && matches!(self.open.last(), Some((Role::Section(_), _))) {
            role = Role::Skip;
        }
        if let Some(name) = self.unnamed.take()
            && role != Role::Title
        {
            let level = self.sections.clamp(1, 6);
            self.tag(&format!("<h{level}>{name}</h{level}>"), at);
        }
        self.words += usize::from(holds_words(role));
        let (open, close): (String, &'static str) = match role {
            Role::Section(name) => {
                self.sections += 1;
                self.unnamed = name;
                ("<div>".into(), "</div>")
            }
            Role::Title if self.captions + self.citations > 0 => (" ".into(), " "),
            Role::Title => {
                const CLOSE: [&str; 6] = ["</h1>", "</h2>", "</h3>", "</h4>", "</h5>", "</h6>"];
                let level = self.sections.clamp(1, 6);
                self.in_title = level == 1 && self.title.is_none();
                (format!("<h{level}>"), CLOSE[level - 1])
            }
            Role::As("pre") => {
                self.preformatted += 1;
                ("<pre>".into(), "</pre>")
            }
            Role::As("thead") => {
                self.heads += 1;
                ("<thead>".into(), "</thead>")
            }
            Role::As(name) => as_html(name, element),
            Role::Cell => self.cell(element),
            Role::Caption => {
                self.captions += 1;
                ("<div>".into(), "</div>")
            }
            Role::Citation => {
                self.citations += 1;
                if self.citations == 1 && element.name != "related-object" {
                    ("<p>".into(), "</p>")
                } else {
                    (String::new(), "")
                }
            }
            Role::Line => ("".into(), "<br>"),
            Role::Meta => {
                self.meta += 1;
                ("<div>".into(), "</div>")
            }
            Role::Author if self.meta > 0 || element.name == "contrib" => {
                let is_author =
                    element.plain("contrib-type").is_none_or(|kind| kind == "author") && element.name != "editor";
                self.author = Some(Author { is_author, ..Author::default() });
                (String::new(), "")
            }
            Role::Date => {
                self.date_parts = Some(Vec::new());
                (String::new(), "")
            }
            Role::Keywords => {
                self.captions += 1;
                ("<p>Keywords: ".into(), "</p>")
            }
            // Outside of running text, what is not known stands by itself.
            Role::Inline if self.words + self.captions + self.citations == 0 && self.meta == 0 => {
                ("<div>".into(), "</div>")
            }
            Role::Author | Role::Name | Role::Surname | Role::Skip | Role::Inline => (String::new(), ""),
        };
        if !open.is_empty() {
            self.tag(&open, at);
        }
        self.open.push((role, close));
        role
    }

    fn cell(&self, element: &Element<'_>) -> (String, &'static str) {
        let is_header =
            element.name == "th" || self.heads > 0 || element.get("role").is_some_and(|role| role == "label");
        let mut open = if is_header { "<th".to_owned() } else { "<td".to_owned() };
        for name in ["colspan", "rowspan"] {
            if let Some(number) = element.plain(name).and_then(|value| value.trim().parse::<u16>().ok()) {
                open.push_str(&format!(" {name}={number}"));
            }
        }
        if let Some(more) = element.plain("morerows").and_then(|value| value.trim().parse::<u16>().ok()) {
            open.push_str(&format!(" rowspan={}", u32::from(more) + 1));
        }
        open.push('>');
        (open, if is_header { "</th>" } else { "</td>" })
    }

    fn end(&mut self, at: usize) {
        let Some((role, close)) = self.open.pop() else { return };
        self.unnamed = None;
        self.words -= usize::from(holds_words(role));
        match role {
            Role::Section(_) => self.sections = self.sections.saturating_sub(1),
            Role::Title => self.in_title = false,
            Role::As("pre") => self.preformatted = self.preformatted.saturating_sub(1),
            Role::As("thead") => self.heads = self.heads.saturating_sub(1),
            Role::Caption | Role::Keywords => self.captions = self.captions.saturating_sub(1),
            Role::Citation => self.citations = self.citations.saturating_sub(1),
            Role::Meta => self.meta = self.meta.saturating_sub(1),
            Role::Author => self.end_author(at),
            Role::Date => self.end_date(),
            Role::As(_) | Role::Cell | Role::Line | Role::Name | Role::Surname | Role::Skip | Role::Inline => {}
        }
        if !close.is_empty() {
            self.tag(close, at);
        } else if matches!(role, Role::Inline) && self.is_apart() {
            self.html.push(' ');
        }
    }

    /// Elements without text between them stand apart: keywords, parts of a citation.
    fn is_apart(&self) -> bool {
        self.open.last().is_some_and(|(role, _)| matches!(role, Role::Keywords | Role::Citation | Role::Caption))
    }

    fn end_author(&mut self, at: usize) {
        let Some(author) = self.author.take() else { return };
        let Some(name) = title(&format!("{} {}", author.names, author.surname)) else { return };
        let gap = if std::mem::replace(&mut self.after_author, true) { ", " } else { "" };
        self.html.push_str(gap);
        self.tag(&html_escaped(&name), at);
        self.after_author = true;
        if author.is_author && self.authors.len() < MAX_AUTHORS {
            self.authors.push(name);
        }
    }

    /// Year, month and day come in any order of elements; JATS writes the day first.
    fn end_date(&mut self) {
        let Some(parts) = self.date_parts.take() else { return };
        let numbers: Vec<u32> = parts.iter().filter_map(|part| part.parse().ok()).collect();
        let date = match (numbers.as_slice(), parts.len()) {
            (&[day, month, year], 3) if year > 1000 => Some(format!("{year:04}-{month:02}-{day:02}")),
            (&[year, month, day], 3) if year > 1000 => Some(format!("{year:04}-{month:02}-{day:02}")),
            (&[month, year], 2) if year > 1000 => Some(format!("{year:04}-{month:02}")),
            _ => title(&parts.join(" ")),
        };
        self.date = self.date.take().or(date);
    }

    fn text(&mut self, text: &str, at: usize) {
        if let Some(parts) = &mut self.date_parts {
            if !text.trim().is_empty() && parts.len() < 10 {
                parts.push(text.trim().to_owned());
            }
            return;
        }
        if let Some(author) = &mut self.author {
            let part = match self.open.last() {
                Some((Role::Surname, _)) => &mut author.surname,
                Some((Role::Name | Role::Author, _)) => &mut author.names,
                _ => return,
            };
            if part.len() < MAX_NAME_BYTES {
                part.push(' ');
                part.push_str(text);
            }
            return;
        }
        let is_blank = text.trim().is_empty();
        // Loose words between the things that are said of the document are none of its text.
        if self.open.last().is_some_and(|(role, _)| *role == Role::Meta) {
            return;
        }
        if self.in_title {
            self.title.get_or_insert_default().push_str(text);
        }
        if !is_blank {
            self.tag("", at);
        }
        let escaped = html_escaped(text);
        self.written += u32::try_from(escaped.matches('\n').count()).unwrap_or(0);
        self.html.push_str(&escaped);
    }
}

fn holds_words(role: Role) -> bool {
    matches!(role, Role::Section(Some(_)) | Role::Title | Role::As(_) | Role::Cell | Role::Keywords)
}

fn as_html(name: &'static str, element: &Element<'_>) -> (String, &'static str) {
    let is_numbered = || {
        let said = element.get("list-type").or_else(|| element.get("type")).or_else(|| element.get("rend"));
        said.is_some_and(|said| matches!(&*said, "order" | "ordered" | "numbered"))
    };
    match name {
        "ul" if is_numbered() => ("<ol>".into(), "</ol>"),
        "p" => ("<p>".into(), "</p>"),
        "blockquote" => ("<blockquote>".into(), "</blockquote>"),
        "ul" => ("<ul>".into(), "</ul>"),
        "ol" => ("<ol>".into(), "</ol>"),
        "dl" => ("<dl>".into(), "</dl>"),
        "li" => ("<li>".into(), "</li>"),
        "dt" => ("<dt>".into(), "</dt>"),
        "dd" => ("<dd>".into(), "</dd>"),
        "table" => ("<table>".into(), "</table>"),
        "tbody" => ("<tbody>".into(), "</tbody>"),
        "tfoot" => ("<tfoot>".into(), "</tfoot>"),
        "tr" => ("<tr>".into(), "</tr>"),
        _ => (String::new(), ""),
    }
}

/// Text as HTML writes it.
pub fn html_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(letter),
        }
    }
    out
}
