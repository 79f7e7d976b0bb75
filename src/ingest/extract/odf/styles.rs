//! Styles of OpenDocument, as far as they decide what is read: what is hidden, what a paragraph is, how lists count.

use std::collections::HashMap;

use crate::ingest::extract::xml::{Event, Reader};

/// Longest chain of styles that are based on each other.
const MAX_CHAIN: usize = 16;

/// Levels of a list.
const LEVELS: usize = 10;

/// How a level of a list is marked.
#[derive(Debug, Clone)]
pub enum Mark {
    Bullet,
    Number { format: String, prefix: String, suffix: String, start: u64 },
}

#[derive(Debug, Default)]
struct Style {
    parent: Option<String>,
    name: String,
    is_hidden: bool,
    outline: Option<u8>,
}

/// What a paragraph is by its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Text,
    Title,
    Heading(u8),
    Quote,
    Code,
}

#[derive(Debug, Default)]
pub struct Styles {
    /// By family and name.
    styles: HashMap<(String, String), Style>,
    lists: HashMap<String, Vec<Option<Mark>>>,
}

impl Styles {
    /// Reads the styles of a part; the body is passed over.
    pub fn read(&mut self, source: &str) {
        let mut reader = Reader::new(source);
        let mut style: Option<((String, String), Style)> = None;
        let mut list: Option<String> = None;
        while let Some(event) = reader.next() {
            let element = match event {
                Event::Start(element) => element,
                Event::End("style") => {
                    if let Some((key, style)) = style.take() {
                        self.styles.insert(key, style);
                    }
                    continue;
                }
                Event::End("list-style") => {
                    list = None;
                    continue;
                }
                Event::End(_) | Event::Text(_) => continue,
            };
            let attribute = |name: &str| element.get(name).map(|value| value.into_owned());
            match element.name {
                "body" => break,
                "master-styles" | "meta" | "settings" | "scripts" | "font-face-decls" => reader.skip(),
                "style" => {
                    let name = attribute("name").unwrap_or_default();
                    let new = Style {
                        parent: attribute("parent-style-name"),
                        name: attribute("display-name").unwrap_or_else(|| name.replace("_20_", " ")).to_lowercase(),
                        is_hidden: false,
                        outline: attribute("default-outline-level").and_then(|level| level.parse().ok()),
                    };
                    style = Some(((attribute("family").unwrap_or_default(), name), new));
                }
                "text-properties" | "section-properties" | "table-properties" | "drawing-page-properties" => {
                    if let Some((_, style)) = &mut style {
                        style.is_hidden |= element.get("display").is_some_and(|on| matches!(&*on, "none" | "false"))
                            || element.get("visibility").is_some_and(|on| on == "hidden");
                    }
                }
                "list-style" => {
                    let name = attribute("name").unwrap_or_default();
                    self.lists.insert(name.clone(), vec![None; LEVELS]);
                    list = Some(name);
                }
                "list-level-style-bullet" | "list-level-style-number" | "list-level-style-image" => {
                    let level = attribute("level").and_then(|level| level.parse::<usize>().ok()).unwrap_or(0);
                    let format = attribute("num-format").unwrap_or_default();
                    let mark = if element.name == "list-level-style-number" && !format.is_empty() {
                        let start = attribute("start-value").and_then(|start| start.parse().ok()).unwrap_or(1);
                        Mark::Number {
                            format,
                            prefix: attribute("num-prefix").unwrap_or_default(),
                            suffix: attribute("num-suffix").unwrap_or_default(),
                            start,
                        }
                    } else {
                        Mark::Bullet
                    };
                    let levels = list.as_ref().and_then(|name| self.lists.get_mut(name));
                    if let Some(slot) = levels.and_then(|levels| levels.get_mut(level.wrapping_sub(1))) {
                        *slot = Some(mark);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether what has this style is hidden.
    pub fn is_hidden(&self, family: &str, name: &str) -> bool {
        self.chain(family, name).any(|style| style.is_hidden)
    }

    pub fn role(&self, name: &str) -> Role {
        for style in self.chain("paragraph", name) {
            match style.name.as_str() {
                "title" => return Role::Title,
                "quotations" | "quote" => return Role::Quote,
                "preformatted text" | "source code" | "code" => return Role::Code,
                _ => {}
            }
            if let Some(level) = style.outline.filter(|level| (1..=9).contains(level)) {
                return Role::Heading(level);
            }
        }
        Role::Text
    }

    pub fn mark(&self, list: &str, level: usize) -> Mark {
        self.lists.get(list).and_then(|levels| levels.get(level)).cloned().flatten().unwrap_or(Mark::Bullet)
    }

    fn chain(&self, family: &str, name: &str) -> impl Iterator<Item = &Style> {
        let key = |name: &str| (family.to_owned(), name.to_owned());
        let first = self.styles.get(&key(name));
        let family = family.to_owned();
        std::iter::successors(first, move |style| {
            style.parent.as_ref().and_then(|parent| self.styles.get(&(family.clone(), parent.clone())))
        })
        .take(MAX_CHAIN)
    }
}
