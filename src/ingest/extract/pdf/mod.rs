//! PDF: the text of each page, with its page number.
//!
//! An engine reads pages, `tidy` makes prose of them. What an engine does not say is found out here: that a file is
//! encrypted, cut off, or without a text layer. Images are never decoded.

mod oxide;
mod quality;
mod rtl;
mod tidy;

use super::{
    Extract, Input,
    blocks::{From, Rendered},
    clean, problem, reason,
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
};

/// Reads the pages of one document. A second engine for pages the first one reads badly is another implementor.
trait Engine {
    fn pages(&self) -> u32;
    /// Text of a page, from 0. An error is one sentence.
    fn text(&self, page: u32) -> Result<String, String>;
    /// An entry of the information dictionary.
    fn info(&self, key: &str) -> Option<String>;
}

/// Most pages named in a warning.
const NAMED_PAGES: usize = 20;

pub struct Pdf;

impl Extract for Pdf {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let limits = input.limits;
        let is_cut_off = is_cut_off(&input.bytes);
        let engine = oxide::open(input.bytes)?;
        let mut document = Document { pages: Some(engine.pages()), ..Document::default() };
        if is_cut_off {
            let what = "the end of the file is missing: what is left of it was read";
            document.warnings.push(problem(reason::DAMAGED, what));
        }
        read(&engine, limits.max_pages, limits.max_text_bytes, &mut document)?;
        document.title = engine.info("Title").and_then(|text| sensible_title(&text));
        document.author = engine.info("Author").and_then(|text| sensible(&text));
        for (key, name) in [("Subject", "subject"), ("Keywords", "keywords"), ("CreationDate", "created")] {
            if let Some(value) = engine.info(key).and_then(|text| sensible(&text)) {
                document.metadata.insert(name.into(), value);
            }
        }
        Ok(document)
    }
}

/// Reads all pages into blocks, and says which pages gave none.
fn read(engine: &impl Engine, max_pages: u32, max_text_bytes: u64, document: &mut Document) -> Result<(), Problem> {
    let count = engine.pages().min(max_pages);
    let mut pages = Vec::new();
    let mut bytes = 0u64;
    let (mut failed, mut blank, mut garbled) = (Vec::new(), Vec::new(), Vec::new());
    let mut why = String::new();
    for page in 0..count {
        let text = engine.text(page).unwrap_or_else(|error| {
            failed.push(page + 1);
            why = error;
            String::new()
        });
        bytes += text.len() as u64;
        if bytes > max_text_bytes {
            return Err(super::blocks::too_large(max_text_bytes));
        }
        if text.trim().is_empty() && failed.last() != Some(&(page + 1)) {
            blank.push(page + 1);
        }
        if quality::is_garbled(&text) {
            garbled.push(page + 1);
            pages.push(String::new());
            continue;
        }
        pages.push(text);
    }
    if count == 0 || (failed.len() == pages.len() && !pages.is_empty()) {
        let why = if why.is_empty() { "no pages were found".into() } else { why };
        return Err(problem(reason::DAMAGED, format!("cannot be read as a PDF: {why}")));
    }
    let pages = tidy::tidy(pages);
    let mut out = Rendered::new(max_text_bytes);
    for (page, text) in (1u32..).zip(&pages) {
        for paragraph in tidy::paragraphs(text) {
            out.block(BlockKind::Paragraph, From { heading: &[], lines: None, page: Some(page) }, paragraph);
        }
    }
    out.finish(document)?;
    document.warnings.extend(page_warnings(count, &failed, &blank, &garbled));
    if engine.pages() > max_pages {
        let message = format!("it has {} pages, of which {max_pages} were read", engine.pages());
        document.warnings.push(problem(reason::TRUNCATED, message));
    }
    Ok(())
}

fn page_warnings(count: u32, failed: &[u32], blank: &[u32], garbled: &[u32]) -> Vec<Problem> {
    let mut warnings = Vec::new();
    if !failed.is_empty() {
        warnings.push(problem(reason::DAMAGED, format!("{} could not be read", listed(failed, count))));
    }
    if !blank.is_empty() {
        let message =
            format!("no text layer on {}: scanned pages need OCR before they can be searched", listed(blank, count));
        warnings.push(problem(reason::NO_TEXT_LAYER, message));
    }
    if !garbled.is_empty() {
        let message = format!(
            "the text of {} does not stand for what is shown (a font without a key to its letters) and was left out",
            listed(garbled, count)
        );
        warnings.push(problem(reason::GARBLED, message));
    }
    warnings
}

/// `all 6 pages`, or `pages 1-3, 7`.
fn listed(pages: &[u32], count: u32) -> String {
    if pages.len() as u64 == u64::from(count) {
        return if count == 1 { "its only page".into() } else { format!("all {count} pages") };
    }
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &page in pages {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == page => *last = page,
            _ => ranges.push((page, page)),
        }
    }
    let mut words: Vec<String> = ranges
        .iter()
        .take(NAMED_PAGES)
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    if ranges.len() > NAMED_PAGES {
        words.push("…".into());
    }
    format!("{} {}", if pages.len() == 1 { "page" } else { "pages" }, words.join(", "))
}

/// Writers end a PDF with `%%EOF` after the place of its index. Without it the end is missing, whatever an engine makes
/// of the rest.
fn is_cut_off(bytes: &[u8]) -> bool {
    const TAIL_BYTES: usize = 2048;
    let tail = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
    !tail.windows(5).any(|w| w == b"%%EOF") && !tail.windows(9).any(|w| w == b"startxref")
}

/// What a writer said, unless it is what programs say in place of nothing.
fn sensible(text: &str) -> Option<String> {
    let value = clean::title(text)?;
    let bare = value.trim_matches(['(', ')']).to_lowercase();
    (!matches!(bare.as_str(), "" | "anonymous" | "unspecified" | "unknown" | "none" | "null")).then_some(value)
}

/// The title a writer gave, unless it is a file name or a template's.
fn sensible_title(text: &str) -> Option<String> {
    let title = sensible(text)?;
    let lower = title.to_lowercase();
    let endings = [
        ".doc", ".docx", ".odt", ".tex", ".dvi", ".indd", ".qxd", ".pdf", ".ps", ".ppt", ".pptx", ".xls", ".xlsx",
        ".rtf", ".txt", ".html",
    ];
    let starts = ["untitled", "microsoft word - ", "microsoft powerpoint - ", "document1", "no title", "slide 1"];
    let is_name = endings.iter().any(|end| lower.ends_with(end)) || starts.iter().any(|start| lower.starts_with(start));
    let letters = title.chars().filter(|c| c.is_alphabetic()).count();
    (!is_name && letters >= 3 && !title.contains('\u{fffd}')).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(Vec<Result<&'static str, &'static str>>);

    impl Engine for Fake {
        fn pages(&self) -> u32 {
            self.0.len() as u32
        }
        fn text(&self, page: u32) -> Result<String, String> {
            self.0[page as usize].map(str::to_owned).map_err(str::to_owned)
        }
        fn info(&self, _key: &str) -> Option<String> {
            None
        }
    }

    fn check(pages: Vec<Result<&'static str, &'static str>>, max_pages: u32) -> Result<Document, Problem> {
        let mut document = Document::default();
        read(&Fake(pages), max_pages, 1 << 20, &mut document)?;
        assert_eq!(document.check(), Ok(()));
        Ok(document)
    }

    #[test]
    fn pages_keep_their_numbers() {
        let document = check(vec![Ok("one\n\ntwo"), Ok(""), Ok("three")], 10).expect("pages");
        let found: Vec<_> =
            document.blocks.iter().map(|b| (&document.text[b.span.range()], b.pages.map_or(0, |p| p.first))).collect();
        assert_eq!(found, [("one", 1), ("two", 1), ("three", 3)]);
        assert_eq!(document.text, "one\n\ntwo\n\nthree");
        assert_eq!(document.warnings.len(), 1);
        assert!(document.warnings[0].message.contains("page 2"), "{:?}", document.warnings);
    }

    #[test]
    fn what_went_wrong_is_said() {
        let reasons = |pages, max| {
            check(pages, max)
                .map(|d| d.warnings.iter().map(|w| w.reason.clone()).collect::<Vec<_>>())
                .map_err(|p| p.reason)
        };
        assert_eq!(reasons(vec![], 9), Err("damaged".into()));
        assert_eq!(reasons(vec![Err("bad"), Err("bad")], 9), Err("damaged".into()));
        assert_eq!(reasons(vec![Ok("a"), Err("bad")], 9), Ok(vec!["damaged".into()]));
        assert_eq!(reasons(vec![Ok(""), Ok(" ")], 9), Ok(vec!["no_text_layer".into()]));
        assert_eq!(reasons(vec![Ok("a"), Ok("b"), Ok("c")], 2), Ok(vec!["truncated".into()]));
    }

    #[test]
    fn page_lists_are_short() {
        assert_eq!(listed(&[1, 2, 3], 3), "all 3 pages");
        assert_eq!(listed(&[1], 1), "its only page");
        assert_eq!(listed(&[2], 3), "page 2");
        assert_eq!(listed(&[1, 2, 3, 7, 9, 10], 12), "pages 1-3, 7, 9-10");
        let odd: Vec<u32> = (0..1000).map(|i| 2 * i + 1).collect();
        assert!(listed(&odd, 2000).len() < 120);
    }

    #[test]
    fn titles_that_are_none() {
        for text in
            ["", "untitled", "Microsoft Word - report.doc", "thesis.dvi", "12", "(anonymous)", "\u{fffd}\u{fffd}abc"]
        {
            assert_eq!(sensible_title(text), None, "{text}");
        }
        assert_eq!(sensible_title(" Pump\nmanual "), Some("Pump manual".into()));
    }
}
