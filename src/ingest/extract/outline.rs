//! A document as a test compares it: a line of what each block is, then its text.

use super::{Limits, extract};
use crate::ingest::document::{BlockKind, Document};

/// Extracts, and writes each block as `kind page heading > heading: text`; the words of warnings come last.
pub fn outline(name: &str, bytes: Vec<u8>) -> String {
    match extract(name, bytes, &Limits::default()) {
        Ok(document) => {
            assert_eq!(document.check(), Ok(()), "{name}");
            of(&document)
        }
        Err(problem) => format!("error {}", problem.reason),
    }
}

fn of(document: &Document) -> String {
    let mut out: Vec<String> = Vec::new();
    for block in &document.blocks {
        let kind = match &block.kind {
            BlockKind::Heading(level) => format!("h{level}"),
            BlockKind::Paragraph => "p".into(),
            BlockKind::List => "list".into(),
            BlockKind::Quote => "quote".into(),
            BlockKind::Fence => "code".into(),
            BlockKind::Table { header, .. } if header.is_empty() => "rows".into(),
            BlockKind::Table { .. } => "table".into(),
            BlockKind::Code | BlockKind::Record => "other".into(),
        };
        let page = block.pages.map(|pages| format!(" {}", pages.first)).unwrap_or_default();
        let lines = block.lines.map(|lines| format!(" l{}-{}", lines.first, lines.last)).unwrap_or_default();
        // The path of a heading ends with itself.
        let above = block.heading.len() - usize::from(matches!(block.kind, BlockKind::Heading(_)));
        let path = block.heading.iter().take(above).map(|title| format!(" {title} >")).collect::<String>();
        out.push(format!("{kind}{page}{lines}{path} {}", &document.text[block.span.range()]));
    }
    out.extend(document.warnings.iter().map(|warning| format!("warning {}", warning.reason)));
    out.join("\n")
}

/// Extracts a text that stays its own source, and compares its blocks: kind, headings, first line and text of each.
pub fn check_lines(name: &str, text: &str, want: &[&str]) -> Document {
    let document = extract(name, text.into(), &Limits::default()).expect("it is text");
    let place = |at: usize| 1 + document.text[..at].matches('\n').count();
    let lines: Vec<String> = document
        .blocks
        .iter()
        .map(|block| {
            let kind = match &block.kind {
                BlockKind::Heading(level) => format!("h{level}"),
                BlockKind::Table { header, .. } => format!("table({})", &document.text[header.range()]),
                other => format!("{other:?}").to_lowercase(),
            };
            let text = &document.text[block.span.range()];
            format!("{kind} {} {}: {text}", block.heading.join("/"), place(block.span.start)).replace('\n', "⏎")
        })
        .collect();
    assert_eq!(lines, want, "{text}");
    assert!(document.text_is_source && document.warnings.is_empty());
    document
}
