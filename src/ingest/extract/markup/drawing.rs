//! The words in a drawing (SVG).

use super::LineCounter;
use crate::{
    index::Problem,
    ingest::{
        document::{BlockKind, Document},
        extract::{
            blocks::{From, Rendered},
            clean::title,
            xml::{Event, Reader},
        },
    },
};

pub fn read(source: &str, max_text_bytes: u64, document: &mut Document) -> Result<(), Problem> {
    let mut reader = Reader::new(source);
    let mut lines = LineCounter::new(source);
    let mut out = Rendered::new(max_text_bytes);
    // Depth at which the text at work was opened.
    let mut open: Option<(usize, u32)> = None;
    let mut text = String::new();
    while let Some(event) = reader.next() {
        match event {
            Event::Start(element) => match (element.name, open) {
                ("style" | "script" | "metadata", _) => reader.skip(),
                ("text" | "title" | "desc" | "flowRoot" | "foreignObject", None) => {
                    open = Some((reader.depth(), lines.line(reader.offset())));
                }
                (_, Some(_)) => text.push(' '),
                (_, None) => {}
            },
            Event::Text(piece) => {
                if open.is_some() {
                    text.push_str(&piece);
                }
            }
            Event::End(name) => {
                if let Some((_, first)) = open.filter(|&(depth, _)| reader.depth() < depth) {
                    open = None;
                    let text = std::mem::take(&mut text);
                    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    if name == "title" && document.title.is_none() {
                        document.title = title(&words);
                    }
                    let lines = lines.lines(first, reader.offset());
                    out.block(BlockKind::Paragraph, From { heading: &[], lines, page: None }, &words);
                }
            }
        }
    }
    out.finish(document)
}
