//! The package document of a book: what it is called, what it is made of, in which order it is read.

use std::collections::{BTreeMap, HashMap};

use super::{
    percent_decoded, resolve, title,
    xml::{Event, Reader},
};

#[derive(Debug, Default)]
pub struct Book {
    pub title: Option<String>,
    pub authors: Vec<String>,
    pub metadata: BTreeMap<String, String>,
    /// Members that are chapters, in reading order.
    pub spine: Vec<String>,
    /// The page that is the table of contents (EPUB 3).
    pub nav: Option<String>,
    /// The table of contents as a file of its own (EPUB 2).
    pub ncx: Option<String>,
}

/// A member, as the manifest names it.
struct Item {
    name: String,
    kind: String,
}

impl Book {
    /// Reads the package document that stands in the member `name`.
    pub fn read(name: &str, source: &str) -> Self {
        let mut book = Self::default();
        let mut items: HashMap<String, Item> = HashMap::new();
        let mut order: Vec<String> = Vec::new();
        let mut ncx = None;
        let mut field: Option<&str> = None;
        let mut text = String::new();
        let mut reader = Reader::new(source);
        while let Some(event) = reader.next() {
            match event {
                Event::Start(element) => match element.name {
                    "item" => {
                        let href = element.plain("href").and_then(|href| resolve(name, &percent_decoded(&href)));
                        let (Some(id), Some(href)) = (element.plain("id"), href) else { continue };
                        let kind = element.plain("media-type").unwrap_or_default().to_ascii_lowercase();
                        if element.plain("properties").is_some_and(|words| words.split(' ').any(|word| word == "nav")) {
                            book.nav = Some(href.clone());
                        }
                        if kind == "application/x-dtbncx+xml" {
                            book.ncx = Some(href.clone());
                        }
                        items.insert(id.into_owned(), Item { name: href, kind });
                    }
                    "spine" => ncx = element.plain("toc").map(|id| id.into_owned()),
                    "itemref" => order.extend(element.plain("idref").map(|id| id.into_owned())),
                    "title" | "creator" | "language" | "date" | "publisher" | "description" | "subject" => {
                        field = Some(element.name);
                        text.clear();
                    }
                    _ => {}
                },
                Event::Text(piece) if field.is_some() => text.push_str(&piece),
                Event::Text(_) => {}
                Event::End(ended) => {
                    if field == Some(ended) {
                        field = None;
                        book.say(ended, &text);
                    }
                }
            }
        }
        book.ncx = ncx.and_then(|id| items.get(&id)).map(|item| item.name.clone()).or(book.ncx);
        let is_page =
            |item: &&Item| item.kind.contains("html") || item.kind.contains("dtbook") || is_page_name(&item.name);
        book.spine =
            order.iter().filter_map(|id| items.get(id)).filter(is_page).map(|item| item.name.clone()).collect();
        book
    }

    /// A book that does not say what it is made of: all pages, in the order of their names.
    pub fn of_pages(names: &[String]) -> Self {
        let mut spine: Vec<String> = names.iter().filter(|name| is_page_name(name)).cloned().collect();
        spine.sort_by_key(|name| natural(name));
        Self { spine, ..Self::default() }
    }

    fn say(&mut self, field: &str, text: &str) {
        let Some(value) = title(text) else { return };
        match field {
            "title" => drop(self.title.get_or_insert(value)),
            "creator" if self.authors.len() < 50 => self.authors.push(value),
            "creator" => {}
            "language" => drop(self.metadata.entry("lang".into()).or_insert(value)),
            _ => drop(self.metadata.entry(field.into()).or_insert(value)),
        }
    }
}

fn is_page_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    [".xhtml", ".html", ".htm", ".xht"].iter().any(|end| lower.ends_with(end))
}

/// Chapter 2 comes before chapter 10.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut parts = vec![(0u64, String::new())];
    for letter in name.chars() {
        let Some((number, word)) = parts.last_mut() else { break };
        match letter.to_digit(10) {
            Some(digit) if word.is_empty() => *number = number.saturating_mul(10).saturating_add(digit.into()),
            Some(digit) => parts.push((digit.into(), String::new())),
            None => word.push(letter),
        }
    }
    parts
}
