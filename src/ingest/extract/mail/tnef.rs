//! `winmail.dat` (TNEF): the envelope that Outlook puts a message and what is attached to it into.
//!
//! Good for: attachments with their names, and the text where the message has none elsewhere (plain, HTML, or compressed
//! RTF). Not for: properties of calendars and tasks.
//!
//! Written after Microsoft's [MS-OXTNEF] and [MS-OXRTFCP].

use encoding_rs::{Encoding, UTF_16LE, WINDOWS_1252};

use crate::ingest::extract::rtf;

const SIGNATURE: u32 = 0x223e_9f78;

/// Most attributes and properties looked at.
const MAX_ATTRIBUTES: usize = 20_000;

/// Largest text that is unpacked.
const MAX_RTF_BYTES: usize = 64 << 20;

/// What is in the envelope.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    pub files: Vec<Enclosed>,
    /// The text of the message: a name that says what it is, and its bytes.
    pub body: Option<Enclosed>,
    /// Names of what is enclosed as something else than a file: a message, an object of another program.
    pub unread: Vec<String>,
    /// Its end is missing.
    pub is_cut_off: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Enclosed {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Opens an envelope; `None` if this is none. O(bytes).
pub fn open(bytes: &[u8]) -> Option<Envelope> {
    let mut rest = Bytes(bytes);
    if rest.u32()? != SIGNATURE {
        return None;
    }
    rest.take(2)?;
    let mut reading = Reading::default();
    for _ in 0..MAX_ATTRIBUTES {
        if rest.0.is_empty() {
            return Some(reading.finish(false));
        }
        let Some((id, data)) = rest.attribute() else { return Some(reading.finish(true)) };
        reading.attribute(id, data);
    }
    Some(reading.finish(true))
}

struct Reading {
    encoding: &'static Encoding,
    files: Vec<Enclosed>,
    plain: Vec<u8>,
    html: Vec<u8>,
    rtf: Vec<u8>,
}

impl Default for Reading {
    fn default() -> Self {
        Self { encoding: WINDOWS_1252, files: vec![], plain: vec![], html: vec![], rtf: vec![] }
    }
}

impl Reading {
    fn attribute(&mut self, id: u16, data: &[u8]) {
        match id {
            // The code page.
            0x9007 => {
                let number = Bytes(data).u32().and_then(|number| i32::try_from(number).ok());
                self.encoding = number.and_then(rtf::of_code_page).unwrap_or(self.encoding);
            }
            0x800c => self.plain = data.to_vec(),
            // Where an attachment begins.
            0x9002 => self.files.push(Enclosed::default()),
            0x8010 => {
                let name = self.text(data);
                if let Some(file) = self.files.last_mut().filter(|file| file.name.is_empty()) {
                    file.name = name;
                }
            }
            0x800f => {
                if let Some(file) = self.files.last_mut() {
                    file.bytes = data.to_vec();
                }
            }
            0x9005 => self.properties(data, true),
            0x9003 => self.properties(data, false),
            _ => {}
        }
    }

    fn properties(&mut self, data: &[u8], of_file: bool) {
        let mut rest = Bytes(data);
        let count = rest.u32().unwrap_or(0) as usize;
        for _ in 0..count.min(MAX_ATTRIBUTES) {
            let Some((id, kind, value)) = rest.property() else { return };
            let text = |value: &[u8]| if kind == UNICODE { utf_16(value) } else { self.text(value) };
            match (of_file, id) {
                // The whole name; the one before may be of eight letters and three.
                (true, 0x3707) => {
                    let name = text(value);
                    if let Some(file) = self.files.last_mut().filter(|_| !name.is_empty()) {
                        file.name = name;
                    }
                }
                (false, 0x1000) => self.plain = text(value).into_bytes(),
                (false, 0x1013) => self.html = value.to_vec(),
                (false, 0x1009) => self.rtf = value.to_vec(),
                _ => {}
            }
        }
    }

    fn text(&self, bytes: &[u8]) -> String {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        self.encoding.decode_without_bom_handling(&bytes[..end]).0.into_owned()
    }

    fn finish(mut self, is_cut_off: bool) -> Envelope {
        let is_plain = !self.plain.trim_ascii().is_empty();
        let body = if is_plain {
            let text = match String::from_utf8(std::mem::take(&mut self.plain)) {
                Ok(text) => text.trim_end_matches('\0').to_owned(),
                Err(error) => self.text(error.as_bytes()),
            };
            Some(("message.txt", text.into_bytes()))
        } else if !self.html.is_empty() {
            Some(("message.html", std::mem::take(&mut self.html)))
        } else {
            unpacked(&self.rtf).map(|bytes| ("message.rtf", bytes))
        };
        for (at, file) in self.files.iter_mut().enumerate() {
            if file.name.is_empty() {
                file.name = format!("attachment-{}", at + 1);
            }
        }
        let (files, empty): (Vec<_>, Vec<_>) = self.files.into_iter().partition(|file| !file.bytes.is_empty());
        let body = body.map(|(name, bytes)| Enclosed { name: name.into(), bytes });
        Envelope { files, unread: empty.into_iter().map(|file| file.name).collect(), body, is_cut_off }
    }
}

fn utf_16(bytes: &[u8]) -> String {
    UTF_16LE.decode_without_bom_handling(bytes).0.trim_end_matches('\0').to_owned()
}

const STRING: u16 = 0x1e;
const UNICODE: u16 = 0x1f;
const BINARY: u16 = 0x102;
const OBJECT: u16 = 0x0d;
const SEVERAL: u16 = 0x1000;

/// Bytes that are yet to be read; numbers are little-endian.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Level, id, kind, length, data, checksum.
    fn attribute(&mut self) -> Option<(u16, &'a [u8])> {
        self.take(1)?;
        let id = self.u16()?;
        self.take(2)?;
        let length = usize::try_from(self.u32()?).ok()?;
        let data = self.take(length)?;
        // The last sum may be missing.
        let _ = self.take(2);
        Some((id, data))
    }

    /// A property: its id, its kind, the last of its values.
    fn property(&mut self) -> Option<(u16, u16, &'a [u8])> {
        let kind = self.u16()?;
        let id = self.u16()?;
        if id >= 0x8000 {
            self.take(16)?;
            match self.u32()? {
                0 => drop(self.take(4)?),
                _ => drop(self.padded()?),
            }
        }
        let one = kind & !SEVERAL;
        let is_long = matches!(one, STRING | UNICODE | BINARY | OBJECT);
        let count = if is_long || kind & SEVERAL != 0 { self.u32()? } else { 1 };
        let mut value: &[u8] = &[];
        for _ in 0..count.min(MAX_ATTRIBUTES as u32) {
            value = match one {
                STRING | UNICODE | BINARY | OBJECT => self.padded()?,
                2 | 3 | 4 | 0x0a | 0x0b => self.take(4)?,
                5 | 6 | 7 | 0x14 | 0x40 => self.take(8)?,
                0x48 => self.take(16)?,
                _ => return None,
            };
        }
        Some((id, kind, value))
    }

    /// A length, so many bytes, and what fills the last four.
    fn padded(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let value = self.take(length)?;
        self.take(length.wrapping_neg() % 4)?;
        Some(value)
    }
}

/// What a compressed RTF may refer to before it has said anything.
const BEFORE: &[u8] =
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \
\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \
\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";

/// RTF out of its compression; `None` if it is none. Damage ends the text.
fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let mut rest = Bytes(packed);
    rest.take(4)?;
    let size = usize::try_from(rest.u32()?).ok()?.min(MAX_RTF_BYTES);
    let kind = rest.u32()?;
    rest.take(4)?;
    match kind {
        // `MELA`: as it stands.
        0x414c_454d => return Some(rest.0[..size.min(rest.0.len())].to_vec()),
        // `LZFu`
        0x7546_5a4c => {}
        _ => return None,
    }
    let mut out = Unpacked { window: [b' '; WINDOW], at: BEFORE.len(), bytes: Vec::new(), size };
    out.window[..BEFORE.len()].copy_from_slice(BEFORE);
    while let Some(&[flags]) = rest.take(1) {
        for bit in 0..8 {
            let is_whole = if flags >> bit & 1 == 0 {
                let Some(&[byte]) = rest.take(1) else { return Some(out.bytes) };
                out.push(byte)
            } else {
                let Some(&[high, low]) = rest.take(2) else { return Some(out.bytes) };
                let reference = u16::from_be_bytes([high, low]);
                out.repeat(usize::from(reference >> 4), usize::from(reference & 15) + 2)
            };
            if is_whole {
                return Some(out.bytes);
            }
        }
    }
    Some(out.bytes)
}

const WINDOW: usize = 4096;

/// RTF as it comes, and the last of it by place.
struct Unpacked {
    window: [u8; WINDOW],
    at: usize,
    bytes: Vec<u8>,
    size: usize,
}

impl Unpacked {
    /// Adds a byte; `true` when all are there.
    fn push(&mut self, byte: u8) -> bool {
        if self.bytes.len() < self.size {
            self.bytes.push(byte);
            self.window[self.at] = byte;
            self.at = (self.at + 1) % WINDOW;
        }
        self.bytes.len() >= self.size
    }

    /// Repeats what stands at a place; a reference to what is not written yet marks the end.
    fn repeat(&mut self, from: usize, count: usize) -> bool {
        from == self.at || (0..count).any(|step| self.push(self.window[(from + step) % WINDOW]))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn attribute(level: u8, id: u16, data: &[u8]) -> Vec<u8> {
        let sum = data.iter().fold(0u16, |sum, &byte| sum.wrapping_add(u16::from(byte)));
        let length = u32::try_from(data.len()).unwrap();
        [&[level][..], &id.to_le_bytes(), &[0, 0], &length.to_le_bytes(), data, &sum.to_le_bytes()].concat()
    }

    fn padded(value: &[u8]) -> Vec<u8> {
        let length = u32::try_from(value.len()).unwrap().to_le_bytes();
        [&length[..], value, &[0, 0, 0][..value.len().wrapping_neg() % 4]].concat()
    }

    fn property(kind: u16, id: u16, value: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &id.to_le_bytes(), &1u32.to_le_bytes(), &padded(value)].concat()
    }

    fn properties(all: &[Vec<u8>]) -> Vec<u8> {
        [&u32::try_from(all.len()).unwrap().to_le_bytes()[..], &all.concat()].concat()
    }

    fn envelope(attributes: &[Vec<u8>]) -> Vec<u8> {
        [&SIGNATURE.to_le_bytes()[..], &[1, 0], &attributes.concat()].concat()
    }

    /// An envelope with a text and a file.
    pub fn holding(text: &str, name: &str, bytes: &[u8]) -> Vec<u8> {
        envelope(&[
            attribute(1, 0x800c, text.as_bytes()),
            attribute(2, 0x9002, &[0; 14]),
            attribute(2, 0x8010, name.as_bytes()),
            attribute(2, 0x800f, bytes),
        ])
    }

    fn enclosed(name: &str, bytes: &[u8]) -> Enclosed {
        Enclosed { name: name.into(), bytes: bytes.to_vec() }
    }

    #[test]
    fn files_have_their_long_names() {
        let long: Vec<u8> = "größe der pumpe.csv\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let named = [
            [
                &UNICODE.to_le_bytes()[..],
                &0x8001u16.to_le_bytes(),
                &[7; 16],
                &1u32.to_le_bytes(),
                &padded(b"n\0"),
                &1u32.to_le_bytes(),
                &padded(b"x\0"),
            ]
            .concat(),
            [&3u16.to_le_bytes()[..], &0x0e20u16.to_le_bytes(), &5u32.to_le_bytes()].concat(),
            property(UNICODE, 0x3707, &long),
        ];
        let bytes = envelope(&[
            attribute(1, 0x9007, &[0xe4, 4, 0, 0, 0, 0, 0, 0]),
            attribute(2, 0x9002, &[]),
            attribute(2, 0x8010, b"GRE~1.CSV\0"),
            attribute(2, 0x800f, b"k,v\n"),
            attribute(2, 0x9005, &properties(&named)),
            attribute(2, 0x9002, &[]),
            attribute(2, 0x800f, b"data"),
        ]);
        let found = open(&bytes).unwrap();
        assert_eq!(found.files, [enclosed("größe der pumpe.csv", b"k,v\n"), enclosed("attachment-2", b"data")]);
        assert_eq!((found.body, found.is_cut_off), (None, false));
    }

    #[test]
    fn the_text_is_the_plain_one_then_the_page_then_the_rtf() {
        // The example of the specification.
        let packed = b"\x2d\0\0\0\x2b\0\0\0LZFu\xf1\xc5\xc7\xa7\x03\0\x0a\0rcpg125\x42\x32\x0a\xf3 hel\x09\0 bw\x05\xb0ld}\x0a\x80\x0f\xa0";
        let rtf = b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n";
        assert_eq!(unpacked(packed).as_deref(), Some(&rtf[..]));
        let with = |all: &[Vec<u8>]| open(&envelope(&[attribute(1, 0x9003, &properties(all))])).unwrap().body;
        let packed = property(BINARY, 0x1009, packed);
        let page = property(BINARY, 0x1013, b"<p>x");
        let plain = property(STRING, 0x1000, b"caf\xe9\0");
        assert_eq!(with(std::slice::from_ref(&packed)), Some(enclosed("message.rtf", rtf)));
        assert_eq!(with(&[packed.clone(), page.clone()]), Some(enclosed("message.html", b"<p>x")));
        assert_eq!(with(&[packed, page, plain]), Some(enclosed("message.txt", "café".as_bytes())));
    }

    #[test]
    fn what_is_cut_off_gives_what_is_there() {
        let whole = holding("text", "a.txt", b"body");
        assert_eq!(open(&whole).unwrap().files, [enclosed("a.txt", b"body")]);
        for end in 0..whole.len() {
            let found = open(&whole[..end]);
            assert_eq!(found.is_some(), end >= 6, "{end}");
        }
        assert!(open(&whole[..whole.len() - 8]).unwrap().is_cut_off);
        assert_eq!(open(b"not an envelope"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_looked_at(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), count in 0u32..9) {
            open(&envelope(std::slice::from_ref(&bytes)));
            open(&envelope(&[attribute(1, 0x9003, &[&count.to_le_bytes()[..], &bytes].concat())]));
            let header = [&[0; 4][..], &999u32.to_le_bytes(), b"LZFu", &[0; 4]].concat();
            proptest::prop_assert!(unpacked(&[header, bytes].concat()).unwrap().len() <= 999);
        }
    }
}
