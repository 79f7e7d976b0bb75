//! Which files are likely to fail, by a look at their first and last bytes: for a run that reads only some of them.
//!
//! Not for: saying that a file fails. That is found out by reading it.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use super::{
    detect::{self, Format},
    walk::{Found, Place},
};

/// So much of the beginning tells the format.
const HEAD_BYTES: u64 = 8 << 10;
/// Where a PDF says that it is encrypted, if it does, and where a package lists what is in it.
const TAIL_BYTES: u64 = 16 << 10;

/// Documents by their extension, what they have to be, and the part without which a package is none.
const DOCUMENTS: [(&str, Format, &[u8]); 9] = [
    ("pdf", Format::Pdf, b"%%EOF"),
    ("docx", Format::Docx, b"word/document"),
    ("docm", Format::Docx, b"word/document"),
    ("pptx", Format::Pptx, b"ppt/"),
    ("xlsx", Format::Xlsx, b"xl/"),
    ("epub", Format::Epub, b"META-INF/container.xml"),
    ("odt", Format::Odt, b"content.xml"),
    ("ods", Format::Ods, b"content.xml"),
    ("odp", Format::Odp, b"content.xml"),
];

/// Empty, encrypted, binary, or not what its name says. A file that cannot be opened is odd, too.
pub fn is_odd(found: &Found) -> bool {
    let Place::File(path) = &found.place else { return false };
    let size = found.stat.size_bytes;
    if size == 0 {
        return true;
    }
    let extension = found.name.path.extension();
    let document = DOCUMENTS.iter().find(|(known, ..)| *known == extension);
    let Ok((head, tail)) = ends(path, size, document.is_some()) else { return true };
    let format = detect::detect(found.hint(), &head);
    match document {
        Some((_, Format::Pdf, end)) => format != Format::Pdf || holds(&tail, b"/Encrypt") || !holds(&tail, end),
        // Of a large package the list of its parts may begin before what was looked at: it is read if that is all.
        Some((_, wanted, part)) => {
            let is_package = head.starts_with(b"PK\x03\x04");
            !(is_package && (format == *wanted || holds(&tail, part) || holds(&head, part)))
        }
        None => matches!(format, Format::Binary | Format::Unsupported(_)) || head.trim_ascii().is_empty(),
    }
}

fn ends(path: &Path, size: u64, wants_tail: bool) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let mut file = File::open(path)?;
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    Read::by_ref(&mut file).take(HEAD_BYTES).read_to_end(&mut head)?;
    if wants_tail {
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES)))?;
        file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    }
    Ok((head, tail))
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
