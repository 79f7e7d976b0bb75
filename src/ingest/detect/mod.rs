//! What format is this? First bytes, then the name.
//!
//! Content wins over the name: a PDF called `.docx` is a PDF. The name decides between formats that are all plain text.
//! Not for reading anything: an answer may be wrong about a file that is damaged.

mod names;
mod signature;
mod texts;

pub use names::extension_for;

use self::{
    names::by_name,
    signature::by_signature,
    texts::{by_shebang, is_manual, is_text, looks_like_html, looks_like_log, mail_kind},
};

/// A format, as far as extraction tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Markdown,
    Html,
    Pdf,
    /// Program text or configuration, with the name of its language.
    Code(&'static str),
    Csv,
    Json,
    Jsonl,
    /// One mail message.
    Eml,
    /// Many of them.
    Mbox,
    /// A web page saved as a mail message.
    Mhtml,
    Rtf,
    /// XML that is no program's configuration by its name.
    Xml,
    Epub,
    Docx,
    Pptx,
    Xlsx,
    /// The old binary workbook.
    Xls,
    /// OpenDocument, as a package or as one flat XML file.
    Odt,
    Ods,
    Odp,
    Rst,
    AsciiDoc,
    Org,
    Latex,
    Notebook,
    Log,
    Man,
    Subtitles,
    /// Archives of files, which are read only if that is asked for.
    Zip,
    Tar,
    Gzip,
    /// Known, but not read: the word for what it is.
    Unsupported(&'static str),
    /// Neither text nor known.
    Binary,
}

impl Format {
    /// The stable word, as in `SourceRecord::format`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Code(_) => "code",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Eml => "eml",
            Self::Mbox => "mbox",
            Self::Mhtml => "mhtml",
            Self::Rtf => "rtf",
            Self::Xml => "xml",
            Self::Epub => "epub",
            Self::Docx => "docx",
            Self::Pptx => "pptx",
            Self::Xlsx => "xlsx",
            Self::Xls => "xls",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Odp => "odp",
            Self::Rst => "rst",
            Self::AsciiDoc => "asciidoc",
            Self::Org => "org",
            Self::Latex => "latex",
            Self::Notebook => "notebook",
            Self::Log => "log",
            Self::Man => "man",
            Self::Subtitles => "subtitles",
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::Gzip => "gzip",
            Self::Unsupported(what) => what,
            Self::Binary => "binary",
        }
    }
}

/// Bytes looked at from each end of a file. Only the wide encodings are judged by the whole of it.
const SAMPLE_BYTES: usize = 64 << 10;

/// Decides the format of a file by its bytes and its name.
pub fn detect(name: &str, bytes: &[u8]) -> Format {
    let extension = extension(name);
    if let Some(format) = by_signature(&extension, bytes) {
        return format;
    }
    if !is_text(bytes) {
        let wanted = by_name(name, &extension);
        return match infer::get(bytes) {
            Some(kind) => Format::Unsupported(kind.extension()),
            // A damaged file may have lost its first bytes.
            None => wanted.filter(|format| is_container(*format)).unwrap_or(Format::Binary),
        };
    }
    let named = by_name(name, &extension);
    if matches!(named, None | Some(Format::Text))
        && let Some(mail) = mail_kind(bytes)
    {
        return mail;
    }
    match named {
        Some(Format::Code(_) | Format::Markdown | Format::Csv | Format::Json | Format::Jsonl | Format::Html) => {}
        Some(Format::Rst | Format::AsciiDoc | Format::Org | Format::Latex | Format::Notebook | Format::Log) => {}
        Some(Format::Man | Format::Subtitles) => {}
        Some(Format::Eml | Format::Mbox | Format::Mhtml) => {}
        _ if looks_like_html(bytes) => return Format::Html,
        None | Some(Format::Text) if bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).starts_with(b"<?xml") => {
            return Format::Xml;
        }
        // Text under a name that promises a container: what it is called is not what it is.
        Some(format) if is_container(format) && !bytes.is_empty() => return Format::Text,
        Some(Format::Unsupported(_) | Format::Binary) if !bytes.is_empty() => return Format::Text,
        _ => {}
    }
    match named.or_else(|| by_shebang(bytes)).unwrap_or(Format::Text) {
        Format::Text if is_manual(&extension, bytes) => Format::Man,
        Format::Text if looks_like_log(bytes) => Format::Log,
        format => format,
    }
}

fn extension(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

/// Formats that are no text whatever their name says.
pub fn is_container(format: Format) -> bool {
    match format {
        Format::Pdf
        | Format::Rtf
        | Format::Epub
        | Format::Docx
        | Format::Pptx
        | Format::Xlsx
        | Format::Xls
        | Format::Odt
        | Format::Ods
        | Format::Odp
        | Format::Zip
        | Format::Tar
        | Format::Gzip => true,
        Format::Text
        | Format::Markdown
        | Format::Html
        | Format::Code(_)
        | Format::Csv
        | Format::Json
        | Format::Jsonl
        | Format::Rst
        | Format::AsciiDoc
        | Format::Org
        | Format::Latex
        | Format::Notebook
        | Format::Log
        | Format::Man
        | Format::Subtitles
        | Format::Eml
        | Format::Mbox
        | Format::Mhtml
        | Format::Xml
        | Format::Unsupported(_)
        | Format::Binary => false,
    }
}

#[cfg(test)]
mod tests;
