//! The header fields of a message or of a part of one, decoded.

use mail_parser::{Address, HeaderName, HeaderValue, MessageParser, MimeHeaders};

use crate::ingest::extract::{clean::title, encoding, flow::one_line};

/// Most bytes of header fields that are looked at.
const MAX_HEADER_BYTES: usize = 256 << 10;

/// Most addresses written of one field.
const MAX_ADDRESSES: usize = 50;

/// What the fields say. Words that are compared (types, encodings) are in lower case.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Header {
    pub subject: Option<String>,
    /// From, To, Cc, Reply-To as `Name <address>, …`, in this order.
    pub people: Vec<(&'static str, String)>,
    /// As a person reads it.
    pub date: Option<String>,
    /// In ISO 8601.
    pub iso_date: Option<String>,
    /// `text/plain`, if nothing is said.
    pub kind: String,
    pub charset: Option<String>,
    pub boundary: Option<String>,
    pub encoding: String,
    /// The file name.
    pub name: Option<String>,
    pub is_attachment: bool,
    pub is_inline: bool,
    pub content_id: bool,
    /// `format=flowed`, and whether the blank at line ends is to be deleted.
    pub flowed: Option<bool>,
    pub smime_type: Option<String>,
}

impl Header {
    /// Parses the fields of a header; bytes that are not in any declared encoding are guessed.
    pub fn parse(parser: &MessageParser, bytes: &[u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(MAX_HEADER_BYTES)];
        if std::str::from_utf8(bytes).is_ok() {
            return Self::parse_utf8(parser, bytes);
        }
        Self::parse_utf8(parser, encoding::decode(bytes.to_vec(), None).text.as_bytes())
    }

    fn parse_utf8(parser: &MessageParser, bytes: &[u8]) -> Self {
        let mut header = Self { kind: "text/plain".into(), ..Self::default() };
        let Some(parsed) = parser.parse_headers(bytes) else { return header };
        let Some(part) = parsed.parts.first() else { return header };
        if let Some(content) = part.content_type() {
            header.kind = format!("{}/{}", content.ctype(), content.subtype().unwrap_or("")).to_ascii_lowercase();
            header.charset = content.attribute("charset").map(str::to_owned);
            header.boundary = content.attribute("boundary").map(str::to_owned).filter(|boundary| !boundary.is_empty());
            header.smime_type = content.attribute("smime-type").map(str::to_ascii_lowercase);
            if content.attribute("format").is_some_and(|format| format.eq_ignore_ascii_case("flowed")) {
                header.flowed = Some(content.attribute("delsp").is_some_and(|value| value.eq_ignore_ascii_case("yes")));
            }
        }
        if let Some(disposition) = part.content_disposition() {
            header.is_attachment = disposition.ctype().eq_ignore_ascii_case("attachment");
            header.is_inline = disposition.ctype().eq_ignore_ascii_case("inline");
        }
        header.encoding = part.content_transfer_encoding().unwrap_or("").trim().to_ascii_lowercase();
        header.name = part.attachment_name().and_then(title);
        header.content_id = part.content_id().is_some();
        header.subject = parsed.subject().map(one_line).filter(|subject| !subject.is_empty());
        for (word, field) in [
            ("From", HeaderName::From),
            ("To", HeaderName::To),
            ("Cc", HeaderName::Cc),
            ("Reply-To", HeaderName::ReplyTo),
        ] {
            // A field that is given twice is read to its end.
            let mut all = Vec::new();
            for value in parsed.header_values(field) {
                if let HeaderValue::Address(address) = value {
                    addresses(address, &mut all);
                }
            }
            let more = all.len().saturating_sub(MAX_ADDRESSES);
            all.truncate(MAX_ADDRESSES);
            if more > 0 {
                all.push(format!("and {more} more"));
            }
            if !all.is_empty() {
                header.people.push((word, all.join(", ")));
            }
        }
        let date = parsed.date().filter(|date| date.is_valid());
        header.date = date.map(|date| date.to_rfc822()).or_else(|| parsed.header_raw(HeaderName::Date).and_then(title));
        header.iso_date = date.map(|date| date.to_rfc3339());
        header
    }

    /// The value of one of the fields about people.
    pub fn person(&self, field: &str) -> Option<&str> {
        self.people.iter().find(|(word, _)| *word == field).map(|(_, value)| value.as_str())
    }
}

fn addresses(address: &Address<'_>, all: &mut Vec<String>) {
    for one in address.iter() {
        let (name, address) = (one.name().and_then(title), one.address().and_then(title));
        match (name, address) {
            (Some(name), Some(address)) if name != address => all.push(format!("{name} <{address}>")),
            (Some(one), _) | (None, Some(one)) => all.push(one),
            (None, None) => {}
        }
    }
}

/// Where the header of a message ends and its body begins. A line that is no field ends a header too.
pub fn end(bytes: &[u8]) -> (usize, usize) {
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let text = line.trim_ascii_end();
        if text.is_empty() {
            return (at, at + line.len());
        }
        let is_first = at == 0;
        let is_envelope = is_first && (line.starts_with(b"From ") || line.starts_with(b">From "));
        if !(is_field(line) || is_envelope || (!is_first && matches!(line.first(), Some(b' ' | b'\t')))) {
            return (at, at);
        }
        at += line.len();
    }
    (at, at)
}

/// A line that begins a header field: a word of printable ASCII and a colon.
pub fn is_field(line: &[u8]) -> bool {
    let Some(colon) = line.iter().take(100).position(|&byte| byte == b':') else { return false };
    let name = line[..colon].trim_ascii_end();
    !name.is_empty() && name.iter().all(|byte| matches!(byte, b'!'..=b'~'))
}
