//! `pdf_oxide` as an engine: a page's text in reading order, and what the document says of itself.

use std::collections::HashSet;

use pdf_oxide::{
    PdfDocument,
    extractors::warnings::WarningCategory,
    layout::TextSpan,
    object::Object,
    optional_content::{compute_default_off_ocgs, decode_pdf_text_string},
};

use super::{
    assemble::{self, Run},
    engine::{Failure, Page, Sizes, guarded},
    outline::{self, Bookmark},
    shown::{Shown, shown},
    tidy,
};
use crate::{
    index::Problem,
    ingest::extract::{Passwords, clean, problem, reason},
};

pub struct Oxide {
    document: PdfDocument,
    pages: u32,
    /// Layers that are not shown.
    hidden: HashSet<String>,
    /// It has an order of reading of its own.
    is_tagged: bool,
}

/// Why a document was not opened.
pub enum Closed {
    /// It needs a password, and none of those at hand fits.
    Encrypted,
    Damaged(Failure),
}

/// Opens a document. A file with an empty user password is read, and one with one of `passwords`; else it is
/// [`Closed::Encrypted`]: the engine itself would give empty pages.
pub fn open(bytes: Vec<u8>, passwords: &Passwords) -> Result<Oxide, Closed> {
    let opened = guarded(|| {
        let document = match PdfDocument::from_bytes(bytes) {
            Ok(document) => document,
            Err(pdf_oxide::Error::EncryptedPdf) => return Ok(Err(Closed::Encrypted)),
            Err(error) => return Err(sentence(&error)),
        };
        if document.is_encrypted() && !document.is_authenticated() {
            let mut tried = std::iter::once("").chain(passwords.iter());
            if !tried.any(|password| document.authenticate(password.as_bytes()).ok() == Some(true)) {
                return Ok(Err(Closed::Encrypted));
            }
        }
        if outline::is_endless(&document) {
            return Err("its page tree leads in circles".into());
        }
        let pages = document.page_count().map_err(|error| sentence(&error))?;
        let hidden = compute_default_off_ocgs(&document);
        let is_tagged = document.prefers_structure_reading_order();
        Ok(Ok(Oxide { document, pages: u32::try_from(pages).unwrap_or(u32::MAX), hidden, is_tagged }))
    });
    opened.unwrap_or_else(|why| Err(Closed::Damaged(why)))
}

/// What a document that is not opened is told.
pub fn encrypted() -> Problem {
    problem(reason::ENCRYPTED, "it needs a password: give it with --password, or save a copy without one")
}

/// An error of the engine as one sentence of ours, without line ends and without the dump of its parser's state.
fn sentence(error: &pdf_oxide::Error) -> String {
    let text = error.to_string();
    let plain = text.split("Parsing Error: Error {").next().unwrap_or(&text).trim_end_matches([' ', ':', '(']);
    clean::title(plain).unwrap_or_else(|| "unknown damage".into())
}

/// Longest run of letters that may be a heading, and most of a page that are kept.
const MAX_RUN_LETTERS: usize = 240;
const MAX_RUN_BYTES: usize = 64 << 10;

impl Oxide {
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Whether two pages are one page that stands twice in the tree, or two of the same content and resources.
    pub fn is_repeated(&self, number: u32, other: u32) -> bool {
        let page = |number: u32| self.document.get_page(number.saturating_sub(1) as usize);
        let same = guarded(|| {
            let (Ok(one), Ok(other)) = (page(number), page(other)) else { return Ok(false) };
            let (Some(one), Some(other)) = (one.as_dict(), other.as_dict()) else { return Ok(false) };
            // The parent counts: a page may inherit its resources.
            Ok(one.len() == other.len() && one.iter().all(|(key, value)| other.get(key) == Some(value)))
        });
        same.unwrap_or(false)
    }

    /// Text of a page, from 1.
    pub fn page(&self, number: u32) -> Result<Page, Failure> {
        guarded(|| {
            let at = number.saturating_sub(1) as usize;
            let text = self.document.extract_text_filtered(at, self.hidden.clone(), HashSet::new());
            let text = text.map_err(|error| sentence(&error))?;
            let mut page = Page { text: tidy::bullets(text), ..Page::default() };
            // Places and sizes are an extra: a page without them has the engine's order, and no headings.
            if let Ok(spans) = guarded(|| self.document.extract_spans(at).map_err(|error| sentence(&error))) {
                measure(&spans, &mut page);
                if self.hidden.is_empty() && !self.is_tagged {
                    in_place(&spans, &mut page);
                }
            }
            Ok(page)
        })
    }

    /// How much text the page's own content shows.
    pub fn shown(&self, number: u32) -> Shown {
        let content = guarded(|| {
            self.document.get_page_content_data(number.saturating_sub(1) as usize).map_err(|error| sentence(&error))
        });
        content.map_or(Shown { paints_objects: true, ..Shown::default() }, |content| shown(&content))
    }

    /// An entry of the information dictionary.
    pub fn info(&self, key: &str) -> Option<String> {
        let found = guarded(|| {
            let resolve = |object: &Object| {
                if let Object::Reference(place) = object {
                    return self.document.load_object(*place).ok();
                }
                Some(object.clone())
            };
            let value = || {
                let info = resolve(self.document.trailer().as_dict()?.get("Info")?)?;
                let value = resolve(info.as_dict()?.get(key)?)?;
                Some(decode_pdf_text_string(value.as_string()?))
            };
            Ok(value())
        });
        found.ok().flatten()
    }

    /// The language of the document, as it says.
    pub fn language(&self) -> Option<String> {
        let found = guarded(|| {
            let catalog = self.document.catalog().map_err(|error| sentence(&error))?;
            let language = catalog.as_dict().and_then(|dict| dict.get("Lang"));
            Ok(language.and_then(Object::as_string).map(decode_pdf_text_string))
        });
        found.ok().flatten()
    }

    pub fn bookmarks(&self) -> Vec<Bookmark> {
        guarded(|| Ok(outline::bookmarks(&self.document, self.pages))).unwrap_or_default()
    }

    /// What it had to repair or leave out: the index of objects, and content after the most operators it follows.
    pub fn repairs(&self) -> Repairs {
        let warnings = guarded(|| Ok(self.document.structured_warnings())).unwrap_or_default();
        let has = |category: WarningCategory| warnings.iter().any(|warning| warning.category == category);
        Repairs { index: has(WarningCategory::XrefRecovery), cut: has(WarningCategory::OperatorCapExceeded) }
    }
}

/// Finds the size of most letters, and the runs of other sizes.
fn measure(spans: &[TextSpan], page: &mut Page) {
    let mut sizes = Sizes::default();
    let mut bytes = 0;
    let mut run = (String::new(), 0.0f32);
    for span in spans {
        let bare: String = span.text.chars().filter(|c| !c.is_whitespace()).collect();
        if bare.is_empty() {
            continue;
        }
        let size = (span.font_size * 2.0).round() / 2.0;
        let letters = bare.chars().count();
        sizes.add(size, letters);
        if run.1 != size {
            keep(&mut run, &mut page.large, &mut bytes);
            run.1 = size;
        }
        if run.0.len() <= 4 * MAX_RUN_LETTERS {
            run.0.push_str(&bare);
        }
    }
    keep(&mut run, &mut page.large, &mut bytes);
    if let Some((size, letters)) = sizes.usual() {
        (page.body_size, page.body_letters) = (size, letters);
    }
}

/// Letters that may be turned, and still leave the page upright, in percent.
const MAX_TURNED: usize = 20;

/// Puts the letters of a page that is read from left to right, or in columns from the top, in the order of their places. Pages of which the
/// engine gives other letters as text (fields, notes, replaced text) are left as they are.
fn in_place(spans: &[TextSpan], page: &mut Page) {
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let (mut upright, mut turned) = (0, 0);
    let mut runs = Vec::new();
    let mut beside = String::new();
    let vertical: usize = spans.iter().filter(|span| span.wmode == 1).map(|span| letters(&span.text)).sum();
    let is_vertical = vertical * 2 > letters(&page.text);
    for span in spans {
        if span.text.contains(tidy::rtl::is_rtl) || (vertical > 0 && !is_vertical) {
            return;
        }
        if span.rotation_degrees.abs() > 1.0 && !is_vertical {
            turned += letters(&span.text);
            beside.push_str(&span.text);
            beside.push(' ');
            continue;
        }
        upright += letters(&span.text);
        let (text, size) = (span.text.clone(), span.font_size);
        let (x, y) = (span.bbox.x, span.bbox.y);
        runs.push(if is_vertical && span.wmode == 1 {
            // A column is a line of a page that is turned: it runs from the top, and the next one stands left of it.
            Run { left: -y, right: -y + span.bbox.width.abs(), base: x, size, text }
        } else if is_vertical {
            Run { left: -y - size, right: -y, base: x, size, text }
        } else {
            Run { left: x, right: x + span.bbox.width, base: y, size, text }
        });
    }
    let (own, theirs) = (upright + turned, letters(&page.text));
    let is_same = theirs == 0 || (own * 100 >= theirs * 98 && own * 4 <= theirs * 5);
    if own == 0 || !is_same || turned * 100 > own * MAX_TURNED {
        return;
    }
    let (text, paragraphs) = assemble::assemble(runs);
    page.text = tidy::bullets(text);
    if !beside.is_empty() {
        page.text.push_str("\n\n");
        page.text.push_str(beside.trim_end());
    }
    page.large.clear();
    let mut bytes = 0;
    for (text, size) in paragraphs {
        let bare = text.chars().filter(|c| !c.is_whitespace()).collect();
        keep(&mut (bare, (size * 2.0).round() / 2.0), &mut page.large, &mut bytes);
    }
}

/// See [`Oxide::repairs`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Repairs {
    pub index: bool,
    pub cut: bool,
}

fn keep(run: &mut (String, f32), kept: &mut Vec<(String, f32)>, bytes: &mut usize) {
    let text = tidy::page(std::mem::take(&mut run.0));
    let is_short = text.chars().take(MAX_RUN_LETTERS + 1).count() <= MAX_RUN_LETTERS;
    if !text.is_empty() && is_short && *bytes + text.len() <= MAX_RUN_BYTES {
        *bytes += text.len();
        kept.push((text, run.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PDF whose pages have these entries beside what all have.
    fn pages(entries: &[&str]) -> Vec<u8> {
        let kids: Vec<String> = (5..5 + entries.len()).map(|number| format!("{number} 0 R")).collect();
        let content = "BT /F 24 Tf 72 700 Td (Hello pages) Tj ET";
        let mut objects = vec![
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            format!("<</Type/Pages/Kids[{}]/Count {}/MediaBox[0 0 612 792]>>", kids.join(" "), kids.len()),
            format!("<</Length {}>>\nstream\n{content}\nendstream", content.len()),
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        ];
        objects.extend(entries.iter().map(|entries| format!("<</Type/Page/Parent 2 0 R/Contents 3 0 R{entries}>>")));
        let mut pdf = "%PDF-1.4\n".to_owned();
        let mut index = "0000000000 65535 f \n".to_owned();
        for (number, object) in objects.iter().enumerate() {
            index.push_str(&format!("{:010} 00000 n \n", pdf.len()));
            pdf.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
        }
        let (place, count) = (pdf.len(), objects.len() + 1);
        pdf.push_str(&format!(
            "xref\n0 {count}\n{index}trailer\n<</Size {count}/Root 1 0 R>>\nstartxref\n{place}\n%%EOF\n"
        ));
        pdf.into_bytes()
    }

    #[test]
    fn a_page_that_is_there_twice_is_known() {
        let resources = "/Resources<</Font<</F 4 0 R>>>>";
        let turned = format!("{resources}/Rotate 90");
        let Ok(engine) = open(pages(&[resources, resources, &turned, ""]), &Passwords::default()) else {
            panic!("not opened");
        };
        let found: Vec<_> = (1..=4).map(|number| engine.is_repeated(number, 1)).collect();
        assert_eq!(found, [true, true, false, false]);
        assert!(!engine.is_repeated(9, 9), "there is no such page");
        assert!(engine.page(2).unwrap().text.contains("Hello pages"));
    }
}
