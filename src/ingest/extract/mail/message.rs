//! One message into headings, paragraphs and what is attached.

use std::ops::Range;

use encoding_rs::Encoding;
use mail_parser::{MessageParser, decoders::charsets::map::charset_decoder};

use super::{
    body::{self, Found, Place},
    calendar,
    header::Header,
    part::Part,
    signed, tnef, transfer,
};
use crate::{
    index::Problem,
    ingest::{
        document::{BlockKind, Document},
        extract::{
            Limits,
            blocks::{From, Rendered},
            clean, encoding, html,
            nested::{File, Nest, Notes},
            problem, reason,
        },
    },
    types::Lines,
};

/// How deep multiparts are followed in one message.
const MAX_MULTIPARTS: u32 = 16;

/// A plain text shorter than this may stand in place of a page, saying only that there is one.
const STUB_BYTES: usize = 400;

/// Writes messages into one document.
pub struct Writer<'a> {
    pub out: Rendered,
    parser: MessageParser,
    limits: &'a Limits,
    nest: &'a mut Nest,
    notes: Notes,
    found: Found,
    encrypted: bool,
    is_cut_off: bool,
    replaced: u64,
    /// The message is a page that was saved: of its parts only the page is read, and nothing of its header.
    is_page: bool,
    /// Names of what is attached to the message at work and was not read.
    unread: Vec<String>,
    /// The message at work has said something already.
    has_text: bool,
}

/// Where a message stands.
#[derive(Clone, Copy)]
pub struct Section<'a> {
    /// Titles of what it stands in.
    pub heading: &'a [String],
    /// Its first line in the file; or the lines it is somewhere on.
    pub place: Place,
    /// It is one of several: it gets a heading even without a subject.
    pub is_one_of_several: bool,
    /// The whole of it was in UTF-16, so what its parts say of their encodings is wrong.
    pub is_decoded: bool,
}

/// The bytes of a message, and how far lines were counted in them.
struct Source<'a> {
    bytes: &'a [u8],
    section: Section<'a>,
    counted: (usize, u32),
}

impl Source<'_> {
    /// Lines of a range of bytes.
    fn lines(&mut self, range: &Range<usize>) -> Lines {
        let first = self.line(range.start);
        let last = self.line(range.end.saturating_sub(1).max(range.start));
        self.section.place.lines(Lines { first, last })
    }

    fn line(&mut self, at: usize) -> u32 {
        let (seen, line) = self.counted;
        let count = |range: Range<usize>| {
            let lines = self.bytes.get(range).unwrap_or_default().iter().filter(|&&byte| byte == b'\n').count();
            u32::try_from(lines).unwrap_or(u32::MAX)
        };
        let line = if at >= seen { line.saturating_add(count(seen..at)) } else { line.saturating_sub(count(at..seen)) };
        self.counted = (at, line);
        line
    }
}

/// What to read of a part that has other forms beside it.
#[derive(Clone, Copy, PartialEq)]
enum Want {
    All,
    /// Its text was read in another form.
    Attachments,
}

impl<'a> Writer<'a> {
    pub fn new(limits: &'a Limits, nest: &'a mut Nest, is_page: bool) -> Self {
        Self {
            out: Rendered::new(limits.max_text_bytes),
            parser: MessageParser::default(),
            limits,
            nest,
            notes: Notes::default(),
            found: Found::default(),
            encrypted: false,
            is_cut_off: false,
            replaced: 0,
            is_page,
            unread: Vec::new(),
            has_text: false,
        }
    }

    /// Writes one message: its subject as heading, who wrote it to whom, its text, what is attached. Gives its header.
    pub fn message(&mut self, bytes: &[u8], section: Section<'_>) -> Header {
        let root = Part::split(&self.parser, bytes, 0..bytes.len());
        let mut path = section.heading.to_vec();
        let mut source = Source { bytes, section, counted: (0, 1) };
        let lines = Some(source.lines(&(0..root.body.start)));
        if self.is_page {
            self.part(&root, &mut source, &path, 0, Want::All);
            return root.header;
        }
        let title = match &root.header.subject {
            Some(subject) => Some(subject.as_str()),
            None => section.is_one_of_several.then_some("(no subject)"),
        };
        if let Some(title) = title {
            path.extend(clean::title(title));
            let level = u8::try_from(path.len()).unwrap_or(u8::MAX).clamp(1, 6);
            self.out.block(BlockKind::Heading(level), From { heading: &path, lines, page: None }, title);
        }
        let mut fields: Vec<String> =
            root.header.people.iter().map(|(word, value)| format!("{word}: {value}")).collect();
        fields.extend(root.header.date.iter().map(|date| format!("Date: {date}")));
        self.out.block(BlockKind::Paragraph, From { heading: &path, lines, page: None }, &fields.join("\n"));
        let outer = (std::mem::take(&mut self.unread), std::mem::take(&mut self.has_text));
        self.part(&root, &mut source, &path, 0, Want::All);
        let unread = std::mem::replace(&mut self.unread, outer.0);
        self.has_text = outer.1;
        if !unread.is_empty() {
            let names = format!("Attachments: {}", unread.join(", "));
            self.out.block(BlockKind::Paragraph, From { heading: &path, lines, page: None }, &names);
        }
        root.header
    }

    /// Ends the document.
    pub fn finish(self, document: &mut Document) -> Result<(), Problem> {
        self.out.finish(document)?;
        let mut say = |reason: &str, message: String| document.warnings.push(problem(reason, message));
        if self.encrypted || self.found.encrypted {
            say(reason::ENCRYPTED, "an encrypted part of the mail was left out".into());
        }
        if self.is_cut_off {
            say(reason::DAMAGED, "the end of a part is missing: what is left of it was read".into());
        }
        if self.found.dropped_data {
            say(reason::DROPPED_DATA, "files written into the text (uuencode) were left out".into());
        }
        if self.replaced > 0 {
            let message = format!("{} byte sequences are not valid in their encoding", self.replaced);
            say(reason::REPLACED_CHARACTERS, message);
        }
        document.warnings.extend(self.notes.into_warnings("attachments"));
        Ok(())
    }

    fn part(&mut self, part: &Part, source: &mut Source<'_>, path: &[String], depth: u32, want: Want) {
        let kind = part.header.kind.as_str();
        if kind == "multipart/encrypted" {
            self.encrypted = true;
            return;
        }
        if kind.starts_with("multipart/")
            && depth < MAX_MULTIPARTS
            && let Some((children, is_cut_off)) = part.children(&self.parser, source.bytes)
        {
            self.is_cut_off |= is_cut_off;
            match kind {
                "multipart/related" if self.is_page => {
                    let page = children.iter().find(|child| child.header.kind == "text/html").or(children.first());
                    if let Some(page) = page {
                        self.part(page, source, path, depth + 1, want);
                    }
                }
                "multipart/alternative" => self.alternative(&children, source, path, depth + 1, want),
                _ => {
                    for child in &children {
                        self.part(child, source, path, depth + 1, want);
                    }
                }
            }
            return;
        }
        self.leaf(part, source, path, want);
    }

    /// One text in several forms: the plain one, unless it only says that there is a better one.
    fn alternative(&mut self, forms: &[Part], source: &mut Source<'_>, path: &[String], depth: u32, want: Want) {
        let plain = forms.iter().position(|form| self.first_kind(form, source.bytes) == "text/plain");
        let page = forms.iter().position(|form| self.first_kind(form, source.bytes) == "text/html");
        let chosen = match (plain, page) {
            (Some(plain), Some(page)) if self.is_stub(&forms[plain], &forms[page], source) => Some(page),
            (Some(plain), _) => Some(plain),
            (None, page) => page.or(forms.len().checked_sub(1)),
        };
        for (at, form) in forms.iter().enumerate() {
            let is_calendar = form.header.kind == "text/calendar";
            let want = if Some(at) == chosen || is_calendar { want } else { Want::Attachments };
            self.part(form, source, path, depth, want);
        }
    }

    /// The kind of the first part that holds text: a page stands in a `multipart/related` with its pictures.
    fn first_kind(&self, part: &Part, bytes: &[u8]) -> String {
        let mut kind = part.header.kind.clone();
        let mut inner = part.children(&self.parser, bytes);
        for _ in 0..MAX_MULTIPARTS {
            let Some((children, _)) = inner.filter(|_| kind.starts_with("multipart/")) else { break };
            let Some(first) = children.into_iter().next() else { break };
            inner = first.children(&self.parser, bytes);
            kind = first.header.kind;
        }
        kind
    }

    fn is_stub(&self, plain: &Part, page: &Part, source: &Source<'_>) -> bool {
        let raw = source.bytes.get(plain.body.clone()).unwrap_or_default();
        if raw.len() > STUB_BYTES * 4 {
            return false;
        }
        let text = String::from_utf8_lossy(&transfer::decode(raw, &plain.header.encoding)).trim().len();
        if text == 0 {
            return true;
        }
        let Some(page) = self.first_page(page, source.bytes) else { return false };
        let raw = source.bytes.get(page.body.clone()).unwrap_or_default();
        let html = transfer::decode(raw, &page.header.encoding);
        let shown = html::read(&String::from_utf8_lossy(&html), self.limits.max_text_bytes).out.text.len();
        text < STUB_BYTES && shown > 4 * text + STUB_BYTES / 2
    }

    fn first_page(&self, part: &Part, bytes: &[u8]) -> Option<Part> {
        let mut part = Part { header: part.header.clone(), body: part.body.clone() };
        for _ in 0..MAX_MULTIPARTS {
            if part.header.kind == "text/html" {
                return Some(part);
            }
            part = part.children(&self.parser, bytes)?.0.into_iter().next()?;
        }
        None
    }

    fn leaf(&mut self, part: &Part, source: &mut Source<'_>, path: &[String], want: Want) {
        let header = &part.header;
        let raw = source.bytes.get(part.body.clone()).unwrap_or_default();
        let lines = source.lines(&part.body);
        let place = match (source.section.place, transfer::is_encoded(&header.encoding)) {
            (Place::From(_), false) => Place::From(lines.first),
            (Place::From(_) | Place::Within(_), _) => Place::Within(lines),
        };
        let is_named = header.is_attachment || (header.name.is_some() && !header.is_inline);
        match header.kind.as_str() {
            "text/plain" | "text/html" | "text/enriched" | "text" | "text/" if !is_named => {
                if want == Want::All {
                    let text = self.decode(raw, header, source.section.is_decoded);
                    self.text(&text, header, place, path);
                }
            }
            "message/rfc822" | "message/global" | "message/news" => {
                self.inner_message(raw, header, place, source, path)
            }
            "text/calendar" | "application/ics" | "text/vcard" | "text/x-vcard" | "text/directory" => {
                let text = self.decode(raw, header, source.section.is_decoded);
                for entry in calendar::entries(&text) {
                    self.out.block(BlockKind::Record, From { heading: path, lines: Some(lines), page: None }, &entry);
                }
            }
            "application/pgp-encrypted" => self.encrypted = true,
            "application/pkcs7-mime" | "application/x-pkcs7-mime" => self.signed(raw, header, lines, path, want),
            "application/ms-tnef" | "application/vnd.ms-tnef" => self.envelope(raw, header, lines, path),
            "application/pgp-signature" | "application/pkcs7-signature" | "application/x-pkcs7-signature" => {}
            "application/pgp-keys" | "text/x-amp-html" | "text/watch-html" => {}
            kind if kind.starts_with("image/") && (header.is_inline || header.content_id || !is_named) => {}
            kind if kind.starts_with("multipart/")
                || kind.starts_with("message/")
                || (kind.starts_with("text/") && !is_named && header.name.is_none()) =>
            {
                if want == Want::All {
                    let text = self.decode(raw, header, source.section.is_decoded);
                    self.text(&text, header, place, path);
                }
            }
            _ if header.name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("winmail.dat")) => {
                self.envelope(raw, header, lines, path);
            }
            _ => {
                let name = header.name.as_deref().unwrap_or("attachment");
                let bytes = transfer::decode(raw, &header.encoding).into_owned();
                self.file(File { name, bytes, heading: path, lines: Some(lines) });
            }
        }
    }

    fn file(&mut self, file: File<'_>) {
        let name = file.name;
        match self.nest.read(file, self.limits, &mut self.out) {
            Ok(warnings) => self.notes.add(name, Ok(warnings)),
            Err(why) => self.leave_out(name, why),
        }
    }

    /// A signature that holds the part it signs, or something encrypted.
    fn signed(&mut self, raw: &[u8], header: &Header, lines: Lines, path: &[String], want: Want) {
        let Some(bytes) = signed::content(&transfer::decode(raw, &header.encoding)) else {
            if header.smime_type.as_deref() == Some("signed-data") {
                let why = problem(reason::DAMAGED, "a signature whose text cannot be found");
                self.leave_out(header.name.as_deref().unwrap_or("smime.p7m"), why);
            } else {
                self.encrypted = true;
            }
            return;
        };
        if !self.nest.enter() {
            let why = problem(reason::DEEP_NESTING, "signatures in signatures in signatures");
            self.leave_out(header.name.as_deref().unwrap_or("smime.p7m"), why);
            return;
        }
        let place = Place::Within(lines);
        let section = Section { heading: path, place, is_one_of_several: false, is_decoded: false };
        let part = Part::split(&self.parser, &bytes, 0..bytes.len());
        self.part(&part, &mut Source { bytes: &bytes, section, counted: (0, 1) }, path, 0, want);
        self.nest.leave();
    }

    /// What Outlook put into an envelope: its files, and its text where the message has none.
    fn envelope(&mut self, raw: &[u8], header: &Header, lines: Lines, path: &[String]) {
        let name = header.name.as_deref().unwrap_or("winmail.dat");
        let Some(envelope) = tnef::open(&transfer::decode(raw, &header.encoding)) else {
            self.leave_out(name, problem(reason::DAMAGED, "it is no envelope of Outlook, or not whole"));
            return;
        };
        self.is_cut_off |= envelope.is_cut_off;
        for name in &envelope.unread {
            self.leave_out(name, problem(reason::UNSUPPORTED, "something enclosed that is no file"));
        }
        if !self.nest.enter() {
            self.leave_out(name, problem(reason::DEEP_NESTING, "an envelope in messages in messages"));
            return;
        }
        let body = envelope.body.filter(|_| !self.has_text);
        for tnef::Enclosed { name, bytes } in body.into_iter().chain(envelope.files) {
            self.file(File { name: &name, bytes, heading: path, lines: Some(lines) });
        }
        self.nest.leave();
    }

    fn leave_out(&mut self, name: &str, why: Problem) {
        self.unread.push(name.to_owned());
        self.notes.add(name, Err(why));
    }

    /// A message that was forwarded, or stands in a digest.
    fn inner_message(&mut self, raw: &[u8], header: &Header, place: Place, source: &Source<'_>, path: &[String]) {
        let bytes = transfer::decode(raw, &header.encoding);
        let is_decoded = source.section.is_decoded;
        let section = Section { heading: path, place, is_one_of_several: true, is_decoded };
        // The way down goes through this writer, so the nest is lent to it anew on each level.
        if !self.nest.enter() {
            let why = problem(reason::DEEP_NESTING, "messages in messages in messages");
            self.leave_out(header.name.as_deref().unwrap_or("message"), why);
            return;
        }
        self.message(&bytes, section);
        self.nest.leave();
    }

    /// The text of a part: its transfer encoding undone, its characters decoded.
    fn decode(&mut self, raw: &[u8], header: &Header, is_decoded: bool) -> String {
        let bytes = transfer::decode(raw, &header.encoding);
        let label = header.charset.as_deref().filter(|_| !is_decoded).map(str::trim);
        if let Some(label) =
            label.filter(|label| label.eq_ignore_ascii_case("utf-7") || label.eq_ignore_ascii_case("unicode-1-1-utf-7"))
            && let Some(decode) = charset_decoder(label.as_bytes())
        {
            return decode(&bytes);
        }
        // ASCII is what programs say that do not know.
        let is_known = |label: &&str| !label.eq_ignore_ascii_case("us-ascii") && !label.eq_ignore_ascii_case("ascii");
        let said = label.filter(is_known).and_then(|label| Encoding::for_label(label.as_bytes()));
        let declared = said.or_else(|| (header.kind == "text/html").then(|| html::declared_encoding(&bytes)).flatten());
        let decoded = encoding::decode(bytes.into_owned(), declared);
        self.replaced += decoded.replaced;
        decoded.text
    }

    fn text(&mut self, text: &str, header: &Header, place: Place, path: &[String]) {
        self.has_text |= !text.trim().is_empty();
        if header.kind != "text/html" {
            let found = body::write(text, header.flowed, place, path, &mut self.out);
            self.found.encrypted |= found.encrypted;
            self.found.dropped_data |= found.dropped_data;
            return;
        }
        let page = html::read(text, self.out.room());
        let mut inner = Document::default();
        match page.out.finish(&mut inner) {
            Ok(()) => {
                self.out.append(&inner, path, |block| block.lines.map(|lines| place.lines(lines)));
                self.notes.add("text", Ok(inner.warnings));
            }
            Err(why) => self.leave_out("text", why),
        }
    }
}
