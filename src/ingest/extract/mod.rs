//! One format a file, behind one trait; and the worker process that runs them, so that a hostile file costs one file.
//!
//! [`extract`] goes from bytes to a document in this process, without any containment. [`Extractor`] does the same in a
//! child process under limits. A new format is a file here, a line in `extractor` and a word in [`Format`].

mod archive;
mod asciidoc;
#[cfg(test)]
mod battery;
pub(super) mod blocks;
pub(super) mod clean;
mod code;
mod csv;
mod docx;
mod drawing;
mod encoding;
mod epub;
mod flow;
mod front_matter;
mod html;
mod json;
mod latex;
mod lined;
mod log;
mod mail;
mod man;
mod markdown;
mod markup;
mod nested;
mod notebook;
mod numerals;
mod odf;
mod ooxml;
mod org;
#[cfg(test)]
mod outline;
mod package;
mod passwords;
#[cfg(feature = "pdf")]
mod pdf;
mod pool;
mod pptx;
mod rows;
mod rst;
mod rtf;
mod sections;
mod sheets;
mod subtitles;
mod table;
mod text;
mod wire;
pub mod worker;
mod xml;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    detect::{Format, detect, is_container},
    document::Document,
};
use crate::index::Problem;
use archive::Archive;
pub(super) use archive::is_tar;
pub(super) use encoding::is_wide;
pub(super) use log::is_log;
use nested::Nest;
pub use passwords::Passwords;
pub use pool::Extractor;

/// How extraction is run.
#[derive(Debug, Clone)]
pub enum Worker {
    /// In a child process under limits: program and arguments (`rag __extract`).
    Process { program: PathBuf, arguments: Vec<OsString> },
    /// In this process, without limits: for tests of what stands around it.
    InProcess,
}

/// Version of everything in this room that decides the text and the blocks of a document; part of the pipeline's version.
pub const VERSION: u32 = 3;

/// Whether files of this extension are archives, which are read only if that is asked for.
pub(super) fn archive_extension(extension: &str) -> bool {
    matches!(extension, "zip" | "tar" | "tgz" | "gz")
}

/// What one file may cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time; a file over it fails with `timeout`.
    pub timeout: Duration,
    /// Address space of a worker process.
    pub memory_bytes: u64,
    /// Extracted text; a file over it fails with `too_large`.
    pub max_text_bytes: u64,
    /// Pages read of a paged document; the rest is left out with a warning.
    pub max_pages: u32,
    /// One engine only, where a format has two.
    pub cautious: bool,
    /// Archives are read; else they fail with `unsupported`.
    pub archives: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            memory_bytes: 1 << 30,
            max_text_bytes: 256 << 20,
            max_pages: 20_000,
            cautious: false,
            archives: false,
        }
    }
}

/// The stable words of [`Problem::reason`] that extraction uses.
pub mod reason {
    /// Failure: bytes that are no text and no known format; the source is to be skipped.
    pub const BINARY: &str = "binary";
    /// Failure: a known format that is not read. Warning: files in it (attachments) are of such formats.
    pub const UNSUPPORTED: &str = "unsupported";
    /// Failure or warning: nothing in it.
    pub const EMPTY: &str = "empty";
    /// Failure: needs a password or a key. Warning: a part of it does.
    pub const ENCRYPTED: &str = "encrypted";
    /// Failure: more text than the limit.
    pub const TOO_LARGE: &str = "too_large";
    /// Failure: took longer than the limit. Transient: a busy machine is slow too, so the bytes are not to blame.
    pub const TIMEOUT: &str = "timeout";
    /// Failure: needed more memory than the limit, which the same bytes will again.
    pub const OOM: &str = "oom";
    /// Failure: the worker died, or the extractor panicked. Transient where somebody ended the worker.
    pub const CRASHED: &str = "crashed";
    /// Failure: the worker could not be started or spoken to; a later try may succeed.
    pub const WORKER: &str = "worker";
    /// Failure or warning: not as its format wants it; a warning if text was found all the same.
    pub const DAMAGED: &str = "damaged";
    /// Warning: pages without text, which look scanned.
    pub const NO_TEXT_LAYER: &str = "no_text_layer";
    /// Warning: the text that was found is not what a reader sees (a font without a key to its letters).
    pub const GARBLED: &str = "garbled";
    /// Warning: what comes after a limit (pages, files inside) was left out.
    pub const TRUNCATED: &str = "truncated";
    /// Warning: byte sequences that are not valid in the encoding.
    pub const REPLACED_CHARACTERS: &str = "replaced_characters";
    /// Warning: characters that hide or reorder text were taken out.
    pub const HIDDEN_CHARACTERS: &str = "hidden_characters";
    /// Warning: embedded data (base64) was left out.
    pub const DROPPED_DATA: &str = "dropped_data";
    /// Warning: nested deeper than is followed; its text is kept without its structure.
    pub const DEEP_NESTING: &str = "deep_nesting";
}

/// Makes a problem that the same bytes will have again.
fn problem(reason: &str, message: impl Into<String>) -> Problem {
    Problem { reason: reason.into(), message: message.into(), transient: false }
}

/// The text of one page (from 1), as another program read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageText {
    pub page: u32,
    pub text: String,
}

/// What comes along with a file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Aid {
    /// For what is encrypted.
    pub passwords: Passwords,
    /// In place of pages that gave no text.
    pub pages: Vec<PageText>,
}

/// One file on its way into an extractor.
struct Input<'a> {
    bytes: Vec<u8>,
    format: Format,
    limits: &'a Limits,
    passwords: &'a Passwords,
    /// What programs of the user made of pages that are not readable here.
    pages: &'a [PageText],
}

/// Reads one format.
trait Extract {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem>;

    /// Reads a file that stands in another one. Only what holds files itself has to know.
    fn extract_nested(&self, input: Input<'_>, _nest: &mut Nest) -> Result<Document, Problem> {
        self.extract(input)
    }
}

/// The extractor of each format.
fn extractor(format: Format) -> Result<&'static dyn Extract, Problem> {
    Ok(match format {
        Format::Text => &text::Text,
        Format::Markdown => &markdown::Markdown,
        Format::Html => &html::Html,
        Format::Code(_) => &code::Code,
        Format::Csv => &csv::Csv,
        Format::Json => &json::Json,
        Format::Jsonl => &json::Jsonl,
        Format::Eml | Format::Mhtml => &mail::Eml,
        Format::Mbox => &mail::Mbox,
        Format::Rtf => &rtf::Rtf,
        Format::Xml => &markup::Xml,
        Format::Epub => &epub::Epub,
        Format::Docx => &docx::Docx,
        Format::Pptx => &pptx::Pptx,
        Format::Xlsx | Format::Xls => &sheets::Workbook,
        Format::Odt | Format::Ods | Format::Odp => &odf::OpenDocument,
        Format::Rst => &rst::Rst,
        Format::AsciiDoc => &asciidoc::AsciiDoc,
        Format::Org => &org::Org,
        Format::Latex => &latex::Latex,
        Format::Notebook => &notebook::Notebook,
        Format::Log => &log::Log,
        Format::Man => &man::Man,
        Format::Subtitles => &subtitles::Subtitles,
        #[cfg(feature = "pdf")]
        Format::Pdf => &pdf::Pdf,
        #[cfg(not(feature = "pdf"))]
        Format::Pdf => return Err(problem(reason::UNSUPPORTED, "pdf (this build reads none)")),
        Format::Unsupported(what @ ("doc" | "ppt")) => {
            let message = format!("{what} (the old binary format is not read: save it as {what}x or PDF)");
            return Err(problem(reason::UNSUPPORTED, message));
        }
        Format::Zip => &Archive::Zip,
        Format::Tar => &Archive::Tar,
        Format::Gzip => &Archive::Gzip,
        Format::Unsupported(what) => return Err(problem(reason::UNSUPPORTED, format!("{what} (not read yet)"))),
        Format::Binary => return Err(problem(reason::BINARY, "binary data, no text")),
    })
}

/// Extracts one file in this process. `name` is its file name, a hint only. The document obeys its contract and its
/// limits on text and pages; time and memory are bounded by an [`Extractor`] alone. Errors are the file's problems.
pub fn extract(name: &str, bytes: Vec<u8>, limits: &Limits) -> Result<Document, Problem> {
    extract_with(name, bytes, limits, Aid::default())
}

/// [`extract`], with what else is known of the file.
pub fn extract_with(name: &str, bytes: Vec<u8>, limits: &Limits, aid: Aid) -> Result<Document, Problem> {
    extract_nested(name, bytes, limits, &mut Nest::new(aid))
}

fn extract_nested(name: &str, bytes: Vec<u8>, limits: &Limits, nest: &mut Nest) -> Result<Document, Problem> {
    let format = detect(name, &bytes);
    if bytes.is_empty() {
        return empty_file(format);
    }
    let (passwords, pages) = (nest.passwords().clone(), nest.take_pages());
    nest.set_name(name);
    let input = Input { bytes, format, limits, passwords: &passwords, pages: &pages };
    let mut document = extractor(format)?.extract_nested(input, nest)?;
    document.format = format.word().into();
    if document.text.trim().is_empty() && document.warnings.is_empty() {
        document.warnings.push(problem(reason::EMPTY, "it has no text"));
    }
    debug_assert_eq!(document.check(), Ok(()));
    Ok(document)
}

/// An empty file is an empty text, but nothing that is packed.
fn empty_file(format: Format) -> Result<Document, Problem> {
    let nothing = problem(reason::EMPTY, "the file is empty");
    if is_container(format) || matches!(format, Format::Unsupported(_) | Format::Binary) {
        return Err(nothing);
    }
    Ok(Document { format: format.word().into(), warnings: vec![nothing], text_is_source: true, ..Document::default() })
}

impl Input<'_> {
    /// Makes a document of a source that is text: decoded, cleaned, without blocks.
    fn decode(self) -> Result<Document, Problem> {
        self.decode_as(None)
    }

    fn decode_as(self, declared: Option<&'static encoding_rs::Encoding>) -> Result<Document, Problem> {
        // Decoding at most triples the size, so a file over the limit is not even tried.
        if self.bytes.len() as u64 / 4 > self.limits.max_text_bytes {
            return Err(blocks::too_large(self.limits.max_text_bytes));
        }
        let decoded = encoding::decode(self.bytes, declared);
        let mut document = Document {
            encoding: Some(decoded.encoding.into()),
            warnings: decoded.warning().into_iter().collect(),
            text_is_source: true,
            ..Document::default()
        };
        let mut removed = clean::Removed::default();
        document.text = clean::clean(decoded.text, &mut removed);
        blocks::note_removed(&mut document, removed);
        if document.text.len() as u64 > self.limits.max_text_bytes {
            return Err(blocks::too_large(self.limits.max_text_bytes));
        }
        Ok(document)
    }
}
