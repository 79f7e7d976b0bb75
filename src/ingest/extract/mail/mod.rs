//! Mail: a message or a mailbox as subject, people, date, text and what is attached.
//!
//! The subject is the heading. Of a text in several forms the plain one is read, or the page where the plain one says
//! nothing. Attachments are read as the files they are, under their names; messages in messages likewise. Signatures of
//! programs, pictures that are part of a page, and encrypted parts are left out, the last with a warning. Outlook's
//! `winmail.dat` and signatures that hold their text are opened.

mod body;
mod calendar;
mod header;
mod mbox;
mod message;
mod part;
mod signed;
mod tnef;
mod transfer;

use super::{Extract, Input, clean::title, encoding, nested::Nest};
use crate::{
    index::Problem,
    ingest::{detect::Format, document::Document},
};
use body::Place;
use header::Header;
use message::{Section, Writer};

pub struct Eml;

impl Extract for Eml {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        self.extract_nested(input, &mut Nest::default())
    }

    fn extract_nested(&self, input: Input<'_>, nest: &mut Nest) -> Result<Document, Problem> {
        let is_page = input.format == Format::Mhtml;
        let source = Source::new(input.bytes);
        let (bytes, skipped) = source.message();
        let mut writer = Writer::new(input.limits, nest, is_page);
        let section = Section {
            heading: &[],
            place: Place::From(1 + skipped),
            is_one_of_several: false,
            is_decoded: source.is_decoded,
        };
        let header = writer.message(bytes, section);
        let mut document = Document::default();
        writer.finish(&mut document)?;
        if is_page {
            document.title = header.subject.as_deref().and_then(title);
        } else {
            describe(&mut document, header);
        }
        Ok(document)
    }
}

pub struct Mbox;

impl Extract for Mbox {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        self.extract_nested(input, &mut Nest::default())
    }

    fn extract_nested(&self, input: Input<'_>, nest: &mut Nest) -> Result<Document, Problem> {
        let source = Source::new(input.bytes);
        let mut writer = Writer::new(input.limits, nest, false);
        let messages = mbox::messages(&source.bytes);
        let (mut line, mut counted) = (1u32, 0);
        for range in &messages {
            let newlines = source.bytes[counted..range.start].iter().filter(|&&byte| byte == b'\n').count();
            line = line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
            counted = range.start;
            let section = Section {
                heading: &[],
                place: Place::From(line),
                is_one_of_several: true,
                is_decoded: source.is_decoded,
            };
            writer.message(&mbox::unescaped(&source.bytes[range.clone()]), section);
            if writer.out.is_full() {
                break;
            }
        }
        let mut document = Document::default();
        document.metadata.insert("messages".into(), messages.len().to_string());
        writer.finish(&mut document)?;
        Ok(document)
    }
}

/// What a message says of itself as title, author and metadata.
fn describe(document: &mut Document, header: Header) {
    for (field, key) in [("From", "from"), ("To", "to"), ("Cc", "cc")] {
        if let Some(people) = header.person(field) {
            document.metadata.insert(key.into(), people.into());
        }
    }
    document.author = header.person("From").map(str::to_owned);
    document.title = header.subject.as_deref().and_then(title);
    if let Some(date) = header.iso_date {
        document.metadata.insert("date".into(), date);
    }
}

/// The bytes of a file as mail: mail is ASCII at heart, so UTF-16 is undone first.
struct Source {
    bytes: Vec<u8>,
    is_decoded: bool,
}

impl Source {
    fn new(bytes: Vec<u8>) -> Self {
        if encoding::is_wide(&bytes) {
            return Self { bytes: encoding::decode(bytes, None).text.into_bytes(), is_decoded: true };
        }
        Self { bytes, is_decoded: false }
    }

    /// A single message without what programs put before it: a byte order mark, blank lines, and Apple's count of bytes.
    /// The second number: lines that are left out.
    fn message(&self) -> (&[u8], u32) {
        let mut rest = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes);
        let mut skipped = 0;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line = rest[..end].trim_ascii();
            if !line.iter().all(u8::is_ascii_digit) || line.len() > 12 {
                break;
            }
            skipped += 1;
            rest = &rest[end + 1..];
            // What Apple counts ends where its own notes begin.
            let count = std::str::from_utf8(line).ok().and_then(|digits| digits.parse::<usize>().ok());
            if let Some(count) = count.filter(|&count| count <= rest.len()) {
                rest = &rest[..count];
                break;
            }
        }
        (rest, skipped)
    }
}

#[cfg(test)]
mod tests;
