//! `pdf_oxide` as an engine: a page's text in reading order.

use pdf_oxide::{PdfDocument, object::Object, optional_content::decode_pdf_text_string};

use super::Engine;
use crate::{
    index::Problem,
    ingest::extract::{problem, reason},
};

pub struct Oxide {
    document: PdfDocument,
    pages: u32,
}

/// Opens a document. A file with an empty user password is read; one that needs a password fails with `encrypted`: the
/// engine itself would give empty pages.
pub fn open(bytes: Vec<u8>) -> Result<Oxide, Problem> {
    let damaged = |error: pdf_oxide::Error| {
        if matches!(error, pdf_oxide::Error::EncryptedPdf) {
            return encrypted();
        }
        problem(reason::DAMAGED, format!("cannot be read as a PDF: {}", sentence(&error)))
    };
    let document = PdfDocument::from_bytes(bytes).map_err(damaged)?;
    if document.is_encrypted() && !document.is_authenticated() && document.authenticate(b"").ok() != Some(true) {
        return Err(encrypted());
    }
    let pages = document.page_count().map_err(damaged)?;
    Ok(Oxide { document, pages: u32::try_from(pages).unwrap_or(u32::MAX) })
}

fn encrypted() -> Problem {
    problem(reason::ENCRYPTED, "it needs a password; save a copy without one to have it searched")
}

/// An error of the engine as one sentence of ours, without line ends and without the dump of its parser's state.
fn sentence(error: &pdf_oxide::Error) -> String {
    let text = error.to_string();
    let plain = text.split("Parsing Error: Error {").next().unwrap_or(&text).trim_end_matches([' ', ':', '(']);
    crate::ingest::extract::clean::title(plain).unwrap_or_else(|| "unknown damage".into())
}

impl Engine for Oxide {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn text(&self, page: u32) -> Result<String, String> {
        self.document.extract_text(page as usize).map_err(|error| sentence(&error))
    }

    fn info(&self, key: &str) -> Option<String> {
        let resolve = |object: &Object| {
            if let Object::Reference(place) = object {
                return self.document.load_object(*place).ok();
            }
            Some(object.clone())
        };
        let info = resolve(self.document.trailer().as_dict()?.get("Info")?)?;
        let value = resolve(info.as_dict()?.get(key)?)?;
        Some(decode_pdf_text_string(value.as_string()?))
    }
}
