//! Feeds (RSS, Atom): each entry under its title, with its people and date, and its text as the page it is.

use super::{LineCounter, plain};
use crate::{
    index::Problem,
    ingest::{
        document::{Block, BlockKind, Document},
        extract::{
            blocks::{From, Rendered},
            clean::title,
            html,
            xml::{Event, Reader},
        },
    },
    types::Lines,
};

/// An entry, or the feed itself.
#[derive(Default)]
struct Entry {
    first_line: u32,
    title: String,
    people: String,
    date: String,
    summary: String,
    content: String,
}

pub fn read(source: &str, max_text_bytes: u64, document: &mut Document) -> Result<(), Problem> {
    let mut reader = Reader::new(source);
    let mut lines = LineCounter::new(source);
    let mut out = Rendered::new(max_text_bytes);
    let mut feed = Entry { first_line: 1, ..Entry::default() };
    let mut feed_is_written = false;
    let mut entry: Option<Entry> = None;
    // The field at work: its name, and how deep it is.
    let mut field: Option<(&str, usize)> = None;
    while let Some(event) = reader.next() {
        match event {
            Event::Start(element) => {
                if matches!(element.name, "item" | "entry") && entry.is_none() {
                    if !std::mem::replace(&mut feed_is_written, true) {
                        write(&feed, &[], Some(Lines { first: 1, last: 1 }), &mut out);
                    }
                    entry = Some(Entry { first_line: lines.line(reader.offset()), ..Entry::default() });
                } else if field.is_none() {
                    let is_prefixed = !matches!(element.prefix, "" | "dc" | "content" | "atom" | "itunes");
                    match element.name {
                        "image" | "textInput" | "source" if entry.is_none() || element.name == "source" => {
                            reader.skip()
                        }
                        "title" | "author" | "creator" | "pubDate" | "published" | "updated" | "date"
                        | "description" | "summary" | "subtitle" | "encoded" | "content"
                            if !is_prefixed =>
                        {
                            field = Some((element.name, reader.depth()));
                        }
                        _ => {}
                    }
                } else if let Some((name, _)) = field {
                    // XHTML in an entry is a page in itself.
                    if let Some(text) =
                        target(&mut entry, &mut feed, name).filter(|_| name == "content" || name == "summary")
                    {
                        text.push_str(&format!("<{}>", element.name));
                    } else if element.name == "uri" || element.name == "email" {
                        reader.skip();
                    }
                }
            }
            Event::Text(text) => {
                if let Some((name, _)) = field
                    && let Some(target) = target(&mut entry, &mut feed, name)
                {
                    target.push_str(&text);
                }
            }
            Event::End(name) => {
                if let Some((open, depth)) = field {
                    if reader.depth() < depth {
                        field = None;
                    } else if matches!(open, "content" | "summary")
                        && let Some(text) = target(&mut entry, &mut feed, open)
                    {
                        text.push_str(&format!("</{name}>"));
                    }
                } else if matches!(name, "item" | "entry")
                    && let Some(entry) = entry.take()
                {
                    let lines = lines.lines(entry.first_line, reader.offset());
                    let path: Vec<String> = title(&plain(&entry.title)).into_iter().collect();
                    write(&entry, &path, lines, &mut out);
                }
            }
        }
        if out.is_full() {
            break;
        }
    }
    if !feed_is_written {
        write(&feed, &[], Some(Lines { first: 1, last: 1 }), &mut out);
    }
    document.title = title(&plain(&feed.title));
    document.author = title(&feed.people);
    out.finish(document)
}

/// Where the text of a field goes. What a field says twice is taken once.
fn target<'a>(entry: &'a mut Option<Entry>, feed: &'a mut Entry, name: &str) -> Option<&'a mut String> {
    let entry = entry.as_mut().unwrap_or(feed);
    Some(match name {
        "title" => &mut entry.title,
        "author" | "creator" => &mut entry.people,
        "pubDate" | "published" | "updated" | "date" => &mut entry.date,
        "description" | "summary" | "subtitle" => &mut entry.summary,
        "encoded" | "content" => &mut entry.content,
        _ => return None,
    })
}

fn write(entry: &Entry, path: &[String], lines: Option<Lines>, out: &mut Rendered) {
    let from = From { heading: path, lines, page: None };
    out.block(BlockKind::Heading(1), from, &plain(&entry.title));
    let about: Vec<String> = [&entry.people, &entry.date].into_iter().filter_map(|text| title(text)).collect();
    out.block(BlockKind::Record, from, &about.join("\n"));
    // The summary is most often the beginning of the content.
    let body = if entry.content.trim().is_empty() { &entry.summary } else { &entry.content };
    let mut inner = Document::default();
    if html::read(body, out.room()).out.finish(&mut inner).is_ok() {
        out.append(&inner, path, |_: &Block| lines);
    }
}
