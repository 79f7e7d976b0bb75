//! PDF: the text of each page, with its page number.
//!
//! Two engines read pages, `tidy` makes prose of them, `layout` blocks. The second engine is asked where the text of the
//! first is doubtful, and the better text is taken. What an engine does not say is found out here: that a file is
//! encrypted, cut off, or without a text layer. Images are never decoded.

mod assemble;
mod engine;
mod headings;
mod layout;
mod outline;
mod oxide;
mod quality;
mod second;
mod shown;
mod tidy;

use self::{
    engine::{Failure, Page},
    outline::Bookmark,
    oxide::{Closed, Oxide},
    quality::Counts,
    second::Second,
};
use super::{Extract, Input, Limits, PageText, blocks::Rendered, clean, problem, reason};
use crate::{index::Problem, ingest::document::Document};

/// Most pages named in a warning.
const NAMED_PAGES: usize = 20;

/// Largest file that the second engine is given: it holds all objects in memory, beside the first.
const MAX_SECOND_BYTES: usize = 96 << 20;

/// Largest content of a page that is read, and that is read again by the second engine, in bytes.
const MAX_CONTENT_BYTES: usize = 64 << 20;
const MAX_AGAIN_BYTES: usize = 16 << 20;

/// Content of all pages that is read, in bytes, and how many times the size of a file it may be. Pages may share one
/// content, so a small file can ask for any amount of work.
const MAX_ALL_CONTENT_BYTES: u64 = 48 << 20;
const MAX_CONTENT_RATIO: u64 = 50;

/// Pages that fail one after the other before the rest is given up: a page tree may promise any number.
const MAX_FAILURES: usize = 100;

pub struct Pdf;

impl Extract for Pdf {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let limits = input.limits;
        let is_cut_off = is_cut_off(&input.bytes);
        let max_content = (input.bytes.len() as u64).saturating_mul(MAX_CONTENT_RATIO).max(MAX_ALL_CONTENT_BYTES);
        let spare = (!limits.cautious && input.bytes.len() <= MAX_SECOND_BYTES).then(|| input.bytes.clone());
        let mut why = String::new();
        let first = match oxide::open(input.bytes, input.passwords) {
            Ok(engine) => Some(engine),
            Err(Closed::Encrypted) => return Err(oxide::encrypted()),
            Err(Closed::Damaged(failure)) => {
                why = failure;
                None
            }
        };
        let open_second = || second::open(spare.as_deref()?, input.passwords).ok();
        let mut source =
            Source { first: first.as_ref().filter(|engine| engine.pages() > 0), last: None, second: None, open_second };
        let mut document = Document::default();
        if is_cut_off {
            let what = "the end of the file is missing: what is left of it was read";
            document.warnings.push(problem(reason::DAMAGED, what));
        }
        let bookmarks = first.as_ref().map(Oxide::bookmarks).unwrap_or_default();
        let plan = Plan { limits, max_content, bookmarks: &bookmarks, texts: input.pages };
        let read = read(&mut source, &plan, &mut document);
        read.map_err(
            |problem| if problem.reason == reason::DAMAGED && !why.is_empty() { unreadable(&why) } else { problem },
        )?;
        if let Some(engine) = &first {
            describe(engine, &mut document);
        }
        Ok(document)
    }
}

/// Writes down what the document says of itself.
fn describe(engine: &Oxide, document: &mut Document) {
    document.title = engine.info("Title").and_then(|text| sensible_title(&text));
    document.author = engine.info("Author").and_then(|text| sensible(&text));
    let language = engine.language().and_then(|text| sensible(&text));
    document.metadata.extend(language.map(|value| ("language".into(), value)));
    for (key, name) in [("Subject", "subject"), ("Keywords", "keywords"), ("CreationDate", "created")] {
        if let Some(value) = engine.info(key).and_then(|text| sensible(&text)) {
            document.metadata.insert(name.into(), value);
        }
    }
    let repairs = engine.repairs();
    if repairs.index {
        // Nothing is lost by it as far as can be told, so it is no warning.
        document.metadata.insert("repaired".into(), "index".into());
    }
    if repairs.cut {
        document.warnings.push(problem(reason::TRUNCATED, "pages with too many operators were read in part"));
    }
}

fn unreadable(why: &str) -> Problem {
    problem(reason::DAMAGED, format!("cannot be read as a PDF: {why}"))
}

/// Where pages come from.
trait Pages {
    /// How many there are.
    fn count(&mut self) -> u32;
    /// A page, from 1, and whether another reading of it may be better.
    fn page(&mut self, number: u32) -> (Result<Page, Failure>, bool);
    /// Other readings of pages. Those that cannot be read are not among them.
    fn again(&mut self, numbers: &[u32], take: &mut dyn FnMut(u32, Page));
}

/// Two engines. The second is opened when it is asked.
struct Source<'a, F> {
    first: Option<&'a Oxide>,
    /// The page read last of those that repeat no other.
    last: Option<(u32, Page)>,
    second: Option<Option<Second>>,
    open_second: F,
}

impl<F: FnMut() -> Option<Second>> Source<'_, F> {
    fn second(&mut self) -> Option<&Second> {
        self.second.get_or_insert_with(&mut self.open_second).as_ref()
    }
}

impl<F: FnMut() -> Option<Second>> Pages for Source<'_, F> {
    fn count(&mut self) -> u32 {
        match self.first {
            Some(first) => first.pages(),
            None => self.second().map_or(0, Second::pages),
        }
    }

    fn page(&mut self, number: u32) -> (Result<Page, Failure>, bool) {
        let Some(first) = self.first else { return (Ok(Page::default()), true) };
        if let Some((last, page)) = &self.last
            && first.is_repeated(number, *last)
        {
            // It costs nothing, and another reading would say the same again.
            return (Ok(Page { content_bytes: 0, ..page.clone() }), false);
        }
        let shown = first.shown(number);
        if shown.bytes > MAX_CONTENT_BYTES {
            return (Err(format!("it has {} MiB of content", shown.bytes >> 20)), false);
        }
        let page = first.page(number).map(|page| Page {
            may_picture_text: shown.may_picture_text(),
            shown: shown.characters,
            content_bytes: shown.bytes,
            ..page
        });
        let is_doubtful = page.as_ref().map_or(true, |page| quality::is_doubtful(&Counts::of(&page.text), shown));
        self.last = page.as_ref().ok().filter(|_| !is_doubtful).map(|page| (number, page.clone()));
        (page, is_doubtful && shown.bytes <= MAX_AGAIN_BYTES)
    }

    fn again(&mut self, numbers: &[u32], take: &mut dyn FnMut(u32, Page)) {
        if let Some(second) = self.second() {
            second.read(numbers, take);
        }
    }
}

/// How pages are to be read.
struct Plan<'a> {
    limits: &'a Limits,
    /// Bytes of content of all pages.
    max_content: u64,
    bookmarks: &'a [Bookmark],
    /// What another program made of pages.
    texts: &'a [PageText],
}

/// Reads all pages into blocks, and says which pages gave none.
fn read(source: &mut impl Pages, plan: &Plan<'_>, document: &mut Document) -> Result<(), Problem> {
    let &Plan { limits, max_content, texts, .. } = plan;
    let all = source.count();
    let count = all.min(limits.max_pages);
    let mut pages: Vec<Page> = Vec::new();
    let (mut failed, mut doubtful) = (Vec::new(), Vec::new());
    let mut bytes = 0u64;
    let mut why = String::new();
    let mut content = 0u64;
    for number in 1..=count {
        let is_hopeless = failed.len() >= MAX_FAILURES && failed.len() == pages.len();
        if content > max_content || is_hopeless {
            break;
        }
        let (page, is_doubtful) = source.page(number);
        if is_doubtful {
            doubtful.push(number);
        }
        let page = page.unwrap_or_else(|error| {
            failed.push(number);
            why = error;
            Page::default()
        });
        content += page.content_bytes as u64;
        bytes += page.text.len() as u64;
        if bytes > limits.max_text_bytes {
            return Err(super::blocks::too_large(limits.max_text_bytes));
        }
        pages.push(page);
    }
    if !doubtful.is_empty() {
        source.again(&doubtful, &mut |number, page| {
            let Some(known) = at(&mut pages, number) else { return };
            if bytes <= limits.max_text_bytes && quality::is_better(&Counts::of(&known.text), &Counts::of(&page.text)) {
                bytes += page.text.len() as u64;
                *known = Page { shown: known.shown, may_picture_text: known.may_picture_text, ..page };
            }
        });
        if bytes > limits.max_text_bytes {
            return Err(super::blocks::too_large(limits.max_text_bytes));
        }
    }
    for PageText { page: number, text } in texts {
        if let Some(page) = at(&mut pages, *number) {
            bytes += text.len() as u64;
            *page = Page { text: text.clone(), content_bytes: page.content_bytes, ..Page::default() };
        }
    }
    if bytes > limits.max_text_bytes {
        return Err(super::blocks::too_large(limits.max_text_bytes));
    }
    failed.retain(|&number| pages.get(number as usize - 1).is_none_or(|page| page.text.is_empty()));
    if count == 0 || failed.len() == pages.len() {
        return Err(unreadable(if why.is_empty() { "no pages were found" } else { &why }));
    }
    let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    write(pages, &failed, plan, document)?;
    if all > count {
        let message = format!("it has {all} pages, of which {count} were read");
        document.warnings.push(problem(reason::TRUNCATED, message));
    }
    document.pages = Some(all);
    Ok(())
}

/// The page of a number, which begins at 1.
fn at(pages: &mut [Page], number: u32) -> Option<&mut Page> {
    pages.get_mut(number.checked_sub(1)? as usize)
}

/// Cleans pages and writes them as blocks.
fn write(mut pages: Vec<Page>, failed: &[u32], plan: &Plan<'_>, document: &mut Document) -> Result<(), Problem> {
    let count = pages.len();
    let (mut pictures, mut garbled, mut partial) = (Vec::new(), Vec::new(), Vec::new());
    let mut with_text = count;
    for (number, page) in (1u32..).zip(&mut pages) {
        if page.text.trim().is_empty() {
            with_text -= 1;
            if page.may_picture_text && !failed.contains(&number) {
                pictures.push(number);
            }
        } else if quality::is_garbled(&page.text) {
            garbled.push(number);
            with_text -= 1;
            *page = Page::default();
        } else if quality::is_partial(&page.text, page.shown) {
            partial.push(number);
        }
    }
    document.unread_pages = [failed, &pictures, &garbled, &partial].concat();
    document.unread_pages.sort_unstable();
    if !plan.texts.is_empty() {
        let numbers: Vec<u32> = plan.texts.iter().map(|text| text.page).collect();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        document.metadata.insert("pages_read_by_other_programs".into(), listed(&numbers, count));
    }
    document.metadata.insert("pages_with_text".into(), with_text.to_string());
    let mut texts: Vec<String> = pages.iter_mut().map(|page| tidy::page(std::mem::take(&mut page.text))).collect();
    tidy::document(&mut texts);
    for (page, text) in pages.iter_mut().zip(texts) {
        page.text = text;
    }
    let mut out = Rendered::new(plan.limits.max_text_bytes);
    layout::write(&pages, plan.bookmarks, &mut out);
    out.finish(document)?;
    document.warnings.extend(page_warnings(u32::try_from(count).unwrap_or(u32::MAX), failed, &pictures, &garbled));
    if !partial.is_empty() {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let message = format!(
            "much of the text of {} has fonts without a key to its letters, and is missing",
            listed(&partial, count)
        );
        document.warnings.push(problem(reason::GARBLED, message));
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
            format!("no text layer on {}: scanned pages can be searched after OCR (`--ocr`)", listed(blank, count));
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

    /// Pages of a first engine, and what a second one makes of them.
    struct Fake {
        first: Vec<Result<&'static str, &'static str>>,
        second: Vec<&'static str>,
    }

    impl Pages for Fake {
        fn count(&mut self) -> u32 {
            self.first.len() as u32
        }
        fn page(&mut self, number: u32) -> (Result<Page, Failure>, bool) {
            let page = self.first[number as usize - 1];
            let page = page
                .map(|text| Page { text: text.into(), may_picture_text: true, ..Page::default() })
                .map_err(str::to_owned);
            let is_doubtful = page.as_ref().is_ok_and(|page| page.text.is_empty()) || page.is_err();
            (page, is_doubtful)
        }
        fn again(&mut self, numbers: &[u32], take: &mut dyn FnMut(u32, Page)) {
            for &number in numbers {
                if let Some(text) = self.second.get(number as usize - 1) {
                    take(number, Page { text: (*text).into(), ..Page::default() });
                }
            }
        }
    }

    fn check_both(
        first: Vec<Result<&'static str, &'static str>>,
        second: Vec<&'static str>,
        texts: &[PageText],
        max_pages: u32,
    ) -> Result<Document, Problem> {
        let mut document = Document::default();
        let limits = Limits { max_pages, max_text_bytes: 1 << 20, ..Limits::default() };
        let plan = Plan { limits: &limits, max_content: 1 << 30, bookmarks: &[], texts };
        read(&mut Fake { first, second }, &plan, &mut document)?;
        assert_eq!(document.check(), Ok(()));
        Ok(document)
    }

    fn check(pages: Vec<Result<&'static str, &'static str>>, max_pages: u32) -> Result<Document, Problem> {
        check_both(pages, Vec::new(), &[], max_pages)
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
    fn a_second_reading_is_taken_where_the_first_is_none() {
        let document =
            check_both(vec![Ok("one"), Ok(""), Err("bad")], vec!["ONE", "two", "three"], &[], 9).expect("pages");
        assert_eq!(document.text, "one\n\ntwo\n\nthree");
        assert_eq!((document.warnings.len(), document.metadata["pages_with_text"].as_str()), (0, "3"));
    }

    #[test]
    fn another_program_may_read_what_is_unread() {
        let pages = || vec![Ok("one"), Ok(""), Err("bad")];
        let document = check_both(pages(), Vec::new(), &[], 9).expect("pages");
        assert_eq!(document.unread_pages, [2, 3]);
        let text = |page, text: &str| PageText { page, text: text.into() };
        let texts = [text(2, "two"), text(3, "three"), text(4, "no such page"), text(0, "nor this")];
        let document = check_both(pages(), Vec::new(), &texts, 9).expect("pages");
        assert_eq!(document.text, "one\n\ntwo\n\nthree");
        assert_eq!((document.unread_pages.len(), document.warnings.len()), (0, 0));
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
