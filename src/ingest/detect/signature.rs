//! What bytes say that could hardly begin a text: signatures, the members of packages, the streams of compound files.

use super::{super::extract::is_tar, Format, SAMPLE_BYTES, is_container, names::office_name};

/// Formats that say what they are in their first bytes, where text could hardly begin so.
pub(super) fn by_signature(extension: &str, bytes: &[u8]) -> Option<Format> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let within = |magic: &[u8], limit: usize| bytes[..bytes.len().min(limit)].windows(magic.len()).any(|w| w == magic);
    if start.starts_with(b"%PDF-") || (extension == "pdf" && within(b"%PDF-", 1024)) {
        return Some(Format::Pdf);
    }
    if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") || starts(b"PK\x07\x08") {
        return Some(match zip_format(bytes) {
            // No members tell, but the name does: it is to be one, and its reader says what is missing.
            Format::Zip => {
                let named = if extension == "epub" { Some(Format::Epub) } else { office_name(extension) };
                named.filter(|format| is_container(*format)).unwrap_or(Format::Zip)
            }
            format => format,
        });
    }
    if starts(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return Some(compound_format(extension, bytes));
    }
    if starts(b"\x1f\x8b\x08") {
        return Some(Format::Gzip);
    }
    if is_tar(bytes) {
        return Some(Format::Tar);
    }
    if let Some(format) = flat_opendocument(start) {
        return Some(format);
    }
    if start.starts_with(b"{\\rtf") {
        return Some(Format::Rtf);
    }
    None
}

/// What a zip is, by the names of its members: never by what stands inside of them, which may be a package too.
fn zip_format(bytes: &[u8]) -> Format {
    // OpenDocument and EPUB begin with a member that says what they are, not packed.
    let kind = bytes.get(30..).and_then(|rest| rest.strip_prefix(b"mimetype")).unwrap_or_default();
    let kind = kind.strip_prefix(b"application/").unwrap_or_default();
    let kinds: [(&[u8], Format); 4] = [
        (b"epub+zip", Format::Epub),
        (b"vnd.oasis.opendocument.text", Format::Odt),
        (b"vnd.oasis.opendocument.spreadsheet", Format::Ods),
        (b"vnd.oasis.opendocument.presentation", Format::Odp),
    ];
    if let Some(&(_, format)) = kinds.iter().find(|(word, _)| kind.starts_with(word)) {
        return format;
    }
    let names = member_names(bytes);
    let has = |start: &str| names.iter().any(|name| name.starts_with(start));
    if has("xl/workbook.bin") {
        return Format::Unsupported("xlsb");
    }
    let folders: [(&str, Format); 4] = [
        ("word/", Format::Docx),
        ("xl/", Format::Xlsx),
        ("ppt/", Format::Pptx),
        ("meta-inf/container.xml", Format::Epub),
    ];
    // The first that tells: where the directory is lost, later names may be those of a package in it.
    let of_name = |name: &String| folders.iter().find(|(start, _)| name.starts_with(start)).map(|&(_, format)| format);
    names.iter().find_map(of_name).unwrap_or(Format::Zip)
}

/// Most members of a zip whose names are looked at.
const MAX_NAMES: usize = 10_000;

/// Names of the members of a zip, in lower case: from its directory, or from the head of each member where the directory
/// is lost.
fn member_names(bytes: &[u8]) -> Vec<String> {
    let number = |at: usize, size: usize| {
        let field = at.checked_add(size).and_then(|end| bytes.get(at..end)).unwrap_or_default();
        field.iter().rev().fold(0usize, |number, &byte| number << 8 | usize::from(byte))
    };
    let name = |at: usize, size: usize| {
        let name = at.checked_add(size).and_then(|end| bytes.get(at..end)).unwrap_or_default();
        String::from_utf8_lossy(name).replace('\\', "/").to_lowercase()
    };
    let mut names = Vec::new();
    // The end of the directory may be followed by a comment.
    let tail = bytes.len().saturating_sub(SAMPLE_BYTES + 22);
    let end = bytes.get(tail..).unwrap_or_default().windows(4).rposition(|window| window == b"PK\x05\x06");
    if let Some(end) = end.map(|end| tail + end) {
        let mut at = end.saturating_sub(number(end + 12, 4));
        while names.len() < MAX_NAMES && bytes.get(at..at + 4) == Some(b"PK\x01\x02") {
            names.push(name(at + 46, number(at + 28, 2)));
            at += 46 + number(at + 28, 2) + number(at + 30, 2) + number(at + 32, 2);
        }
    }
    if names.is_empty() {
        let head = &bytes[..bytes.len().min(SAMPLE_BYTES)];
        let heads = head.windows(4).enumerate().filter(|(_, window)| window == b"PK\x03\x04");
        names.extend(heads.take(MAX_NAMES).map(|(at, _)| name(at + 30, number(at + 26, 2))));
    }
    names
}

/// What a compound file is, by the names of its streams; a package in it is one that needs a password.
fn compound_format(extension: &str, bytes: &[u8]) -> Format {
    let number = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    // The header says how large a sector is and which one the directory begins in.
    let shift = bytes.get(30).copied().filter(|shift| (7..=16).contains(shift)).unwrap_or(9);
    let place = number(48).and_then(|sector| (u64::from(sector) + 1).checked_mul(1 << shift));
    let place = place.and_then(|place| usize::try_from(place).ok()).unwrap_or(usize::MAX);
    let directory = bytes.get(place..).unwrap_or_default();
    let directory = &directory[..directory.len().min(SAMPLE_BYTES)];
    let has = |name: &str| {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        directory.windows(name.len()).any(|w| w == name)
    };
    if has("EncryptedPackage") {
        return office_name(extension).unwrap_or(Format::Docx);
    }
    match extension {
        _ if has("WordDocument") => Format::Unsupported("doc"),
        _ if has("Workbook") || has("Book") => Format::Xls,
        _ if has("PowerPoint Document") => Format::Unsupported("ppt"),
        _ if has("__properties_version1.0") => Format::Unsupported("msg"),
        "doc" | "dot" => Format::Unsupported("doc"),
        "xls" | "xlt" => Format::Xls,
        "ppt" | "pps" => Format::Unsupported("ppt"),
        "msg" => Format::Unsupported("msg"),
        _ => Format::Unsupported("ole"),
    }
}

/// OpenDocument in one XML file says so in its root element.
fn flat_opendocument(start: &[u8]) -> Option<Format> {
    let head = &start[..start.len().min(8192)];
    let has = |what: &[u8]| head.windows(what.len()).any(|w| w == what);
    if !head.starts_with(b"<") || !has(b"<office:document") {
        return None;
    }
    let kinds: [(&[u8], Format); 3] = [
        (b"application/vnd.oasis.opendocument.text", Format::Odt),
        (b"application/vnd.oasis.opendocument.spreadsheet", Format::Ods),
        (b"application/vnd.oasis.opendocument.presentation", Format::Odp),
    ];
    kinds.iter().find(|(mark, _)| has(mark)).map(|&(_, kind)| kind)
}
