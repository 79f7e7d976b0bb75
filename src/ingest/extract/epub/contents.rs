//! The table of contents of a book: which chapter is called what, and what stands above it.

use std::collections::HashMap;

use super::{
    Package, Problem,
    opf::Book,
    percent_decoded, resolve, title, xml,
    xml::{Event, Reader},
};

/// Most titles above a chapter that are kept.
const MAX_LEVELS: usize = 8;

/// Titles above a chapter, and its own.
#[derive(Debug, Default)]
pub struct Contents {
    chapters: HashMap<String, (Vec<String>, String)>,
}

impl Contents {
    /// Reads the table of contents, in whichever form there is one that names chapters.
    pub fn read(package: &mut Package, book: &Book) -> Result<Self, Problem> {
        for (name, is_page) in [(&book.nav, true), (&book.ncx, false)] {
            let Some(name) = name else { continue };
            let Some(bytes) = package.read(name)? else { continue };
            let source = xml::decode(bytes).text;
            let contents = if is_page { Self::of_page(name, &source) } else { Self::of_ncx(name, &source) };
            if !contents.chapters.is_empty() {
                return Ok(contents);
            }
        }
        Ok(Self::default())
    }

    /// Titles above a chapter, and its own, if the table names it.
    pub fn of(&self, chapter: &str) -> Option<(&[String], &str)> {
        self.chapters.get(chapter).map(|(above, own)| (above.as_slice(), own.as_str()))
    }

    /// The first place in a file names the file: what points into the middle of it are its sections.
    fn add(&mut self, from: &str, reference: &str, above: &[String], own: &str) {
        let (Some(chapter), Some(own)) = (resolve(from, &percent_decoded(reference)), title(own)) else { return };
        self.chapters.entry(chapter).or_insert_with(|| (above.to_vec(), own));
    }

    /// Of the navigation page: nested lists of links; the first `nav` is the table, others are landmarks and pages.
    fn of_page(from: &str, source: &str) -> Self {
        let mut contents = Self::default();
        let mut reader = Reader::new(source);
        let mut above: Vec<String> = Vec::new();
        let (mut in_table, mut is_done) = (false, false);
        let (mut link, mut text): (Option<String>, String) = (None, String::new());
        while let Some(event) = reader.next() {
            match event {
                Event::Start(element) => match element.name {
                    "nav" if !is_done => {
                        let kind = element.prefixed("type").or_else(|| element.plain("role"));
                        in_table = kind.is_none_or(|kind| kind.contains("toc"));
                    }
                    "ol" if in_table => {
                        above.push(title(&text).unwrap_or_default());
                        text.clear();
                    }
                    "a" | "span" if in_table => {
                        text.clear();
                        link = element.plain("href").map(|href| href.into_owned());
                    }
                    _ => {}
                },
                Event::Text(piece) if in_table => text.push_str(&piece),
                Event::Text(_) => {}
                Event::End(name) => match name {
                    "a" if in_table => {
                        if let Some(link) = link.take() {
                            // The outermost list stands under nothing.
                            let above: Vec<String> = above
                                .iter()
                                .take(MAX_LEVELS)
                                .skip(1)
                                .filter(|title| !title.is_empty())
                                .cloned()
                                .collect();
                            contents.add(from, &link, &above, &text);
                        }
                    }
                    "ol" if in_table => {
                        above.pop();
                    }
                    "nav" if in_table => (in_table, is_done) = (false, true),
                    _ => {}
                },
            }
        }
        contents
    }

    fn of_ncx(from: &str, source: &str) -> Self {
        let mut contents = Self::default();
        let mut reader = Reader::new(source);
        let mut open: Vec<String> = Vec::new();
        let (mut in_label, mut in_map) = (false, false);
        while let Some(event) = reader.next() {
            match event {
                Event::Start(element) => match element.name {
                    "navMap" => in_map = true,
                    "navPoint" => open.push(String::new()),
                    "text" => in_label = in_map,
                    "content" if in_map => {
                        if let (Some(source), Some((own, above))) = (element.plain("src"), open.split_last()) {
                            let above: Vec<String> =
                                above.iter().take(MAX_LEVELS).filter_map(|text| title(text)).collect();
                            contents.add(from, &source, &above, own);
                        }
                    }
                    _ => {}
                },
                Event::Text(piece) => {
                    if let Some(own) = open.last_mut().filter(|_| in_label) {
                        own.push_str(&piece);
                    }
                }
                Event::End(name) => match name {
                    "text" => in_label = false,
                    "navMap" => in_map = false,
                    "navPoint" => {
                        open.pop();
                    }
                    _ => {}
                },
            }
        }
        contents
    }
}
