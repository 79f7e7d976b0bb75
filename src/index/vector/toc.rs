//! The manifest of one generation: its files, their lengths and checksums, and the sum of all live rows.
//!
//! Useful for: knowing what to open and that it is the right file. Not for: opening it; nothing here touches a disk.

use std::collections::BTreeSet;

use super::{
    bytes::{Damage, Reader},
    layout::MAX_DIM,
};

const MAGIC: [u8; 8] = *b"RAGTOC\x1a\n";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 32;
const HEADER_CHECKSUM: usize = 28;
const CHECKSUM_BYTES: usize = 4;
/// Rows, live rows, a flag and a file with a name of one byte.
const MIN_ENTRY_BYTES: usize = 4 + 4 + 1 + 2 + 1 + 8 + 4;
const MAX_NAME_BYTES: usize = 255;

/// The most segments of one generation. [`MAX_PARTS`](super::MAX_PARTS) is what merging keeps it to.
pub const MAX_ENTRIES: usize = 65_536;

/// A file named by the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    pub name: String,
    pub bytes: u64,
    /// crc32c of the whole file.
    pub checksum: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TocEntry {
    pub segment: FileEntry,
    pub tombstones: Option<FileEntry>,
    pub rows: u32,
    pub live: u32,
}

/// The manifest of one generation: which segments and tombstones there are, and the sum of all live rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Toc {
    pub generation: u64,
    /// 0 only where there are no entries.
    pub dim: usize,
    pub entries: Vec<TocEntry>,
    /// `dim` finite values.
    pub live_sum: Vec<f64>,
}

impl FileEntry {
    /// The entry of a file with this content.
    pub fn of(name: impl Into<String>, content: &[u8]) -> Self {
        Self { name: name.into(), bytes: content.len() as u64, checksum: crc32c::crc32c(content) }
    }

    /// Whether a file of this content is the one that is meant. Reads all of it.
    pub fn matches(&self, content: &[u8]) -> bool {
        self.bytes == content.len() as u64 && self.checksum == crc32c::crc32c(content)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(u16::try_from(self.name.len()).expect("a plain name is short").to_le_bytes());
        out.extend(self.name.as_bytes());
        out.extend(self.bytes.to_le_bytes());
        out.extend(self.checksum.to_le_bytes());
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let at = reader.at();
        let length = reader.u16()?;
        let name = std::str::from_utf8(reader.take(length.into())?).ok().filter(|name| is_plain_name(name));
        let name = name.ok_or_else(|| Damage::new(at, "plain file name expected"))?;
        Ok(Self { name: name.to_owned(), bytes: reader.u64()?, checksum: reader.u32()? })
    }
}

/// Whether a name may stand in a manifest: 1 to 255 ASCII letters, digits, `.`, `-`, `_`, the first no dot.
pub fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain)
}

impl Toc {
    /// The bytes of the file. Panics on what [`decode`](Self::decode) would refuse: such a manifest is a mistake of ours.
    pub fn encode(&self) -> Vec<u8> {
        self.check().expect("a manifest keeps its own rules");
        let number = |value: usize| u32::try_from(value).expect("checked").to_le_bytes();
        let mut out = Vec::new();
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend([0; 2]);
        out.extend(number(self.dim));
        out.extend(self.generation.to_le_bytes());
        out.extend(number(self.entries.len()));
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        out.extend(self.live_sum.iter().flat_map(|value| value.to_le_bytes()));
        for entry in &self.entries {
            out.extend(entry.rows.to_le_bytes());
            out.extend(entry.live.to_le_bytes());
            out.push(u8::from(entry.tombstones.is_some()));
            entry.segment.encode(&mut out);
            if let Some(file) = &entry.tombstones {
                file.encode(&mut out);
            }
        }
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        out
    }

    /// Checks length, checksum and names (plain file names only) before it allocates.
    pub fn decode(bytes: &[u8]) -> Result<Self, Damage> {
        let mut reader = Reader::new(bytes);
        reader.magic(&MAGIC)?;
        reader.version(VERSION)?;
        reader.zeros(2)?;
        let dim = reader.u32()? as usize;
        let generation = reader.u64()?;
        let count = reader.u32()? as usize;
        reader.checksum(&bytes[..HEADER_CHECKSUM])?;

        let body = bytes.len().saturating_sub(CHECKSUM_BYTES).max(HEADER_BYTES);
        Reader::new(&bytes[body..])
            .checksum(&bytes[..body])
            .map_err(|damage| Damage::new(body, format!("{} of the whole file", damage.what)))?;
        let mut reader = Reader::new(&bytes[..body]);
        reader.take(HEADER_BYTES)?;
        if dim > MAX_DIM || count > MAX_ENTRIES || 8 * dim + MIN_ENTRY_BYTES * count > reader.left() {
            let what = format!("dimension {dim} and {count} entries in {} bytes", reader.left());
            return Err(Damage::new(12, what));
        }
        let live_sum = (0..dim).map(|_| reader.f64()).collect::<Result<_, _>>()?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            let (rows, live) = (reader.u32()?, reader.u32()?);
            let at = reader.at();
            let has_tombstones = match reader.u8()? {
                0 => false,
                1 => true,
                other => return Err(Damage::new(at, format!("0 or 1 expected, {other} found"))),
            };
            let segment = FileEntry::decode(&mut reader)?;
            let tombstones = has_tombstones.then(|| FileEntry::decode(&mut reader)).transpose()?;
            entries.push(TocEntry { segment, tombstones, rows, live });
        }
        if reader.left() != 0 {
            return Err(Damage::new(reader.at(), format!("{} bytes too many", reader.left())));
        }
        let toc = Self { generation, dim, entries, live_sum };
        toc.check().map_err(|what| Damage::new(HEADER_BYTES, what))?;
        Ok(toc)
    }

    /// What must hold of every manifest, read or written.
    fn check(&self) -> Result<(), String> {
        let Self { generation: _, dim, entries, live_sum } = self;
        if *dim > MAX_DIM || entries.len() > MAX_ENTRIES || (*dim == 0 && !entries.is_empty()) {
            return Err(format!("dimension {dim} with {} entries", entries.len()));
        }
        if live_sum.len() != *dim || live_sum.iter().any(|value| !value.is_finite()) {
            return Err(format!("a sum of {dim} finite values expected"));
        }
        let mut names = BTreeSet::new();
        for TocEntry { segment, tombstones, rows, live } in entries {
            for FileEntry { name, .. } in [Some(segment), tombstones.as_ref()].into_iter().flatten() {
                if !is_plain_name(name) || !names.insert(name) {
                    return Err(format!("file name `{}` is not plain or stands twice", name.escape_default()));
                }
            }
            if live > rows || (tombstones.is_none() && live != rows) {
                return Err(format!("{live} live rows of {rows} in `{}`", segment.name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> FileEntry {
        FileEntry::of(name, name.as_bytes())
    }

    fn toc() -> Toc {
        let entries = vec![
            TocEntry { segment: file("a.vec"), tombstones: None, rows: 3, live: 3 },
            TocEntry { segment: file("b.vec"), tombstones: Some(file("b.7.del")), rows: 3, live: 1 },
        ];
        Toc { generation: 7, dim: 2, entries, live_sum: vec![0.5, -2.0] }
    }

    /// The bytes with both checksums made right again after a change.
    fn resealed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = toc().encode();
        change(&mut bytes);
        let header = crc32c::crc32c(&bytes[..HEADER_CHECKSUM]);
        bytes[HEADER_CHECKSUM..HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
        let body = bytes.len() - CHECKSUM_BYTES;
        let whole = crc32c::crc32c(&bytes[..body]);
        bytes[body..].copy_from_slice(&whole.to_le_bytes());
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let empty = Toc { generation: 0, dim: 384, entries: vec![], live_sum: vec![0.0; 384] };
        let nothing = Toc { generation: u64::MAX, dim: 0, entries: vec![], live_sum: vec![] };
        for toc in [toc(), empty, nothing] {
            assert_eq!(Toc::decode(&toc.encode()), Ok(toc));
        }
    }

    #[test]
    fn the_file_is_as_the_page_says() {
        let bytes = toc().encode();
        assert_eq!(bytes[..8], [0x52, 0x41, 0x47, 0x54, 0x4f, 0x43, 0x1a, 0x0a]);
        assert_eq!(bytes[8..28], [1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes[28..32], crc32c::crc32c(&bytes[..28]).to_le_bytes());
        assert_eq!(bytes[32..48], [0.5f64.to_le_bytes(), (-2.0f64).to_le_bytes()].concat()[..]);
        let name = [5, 0, b'a', b'.', b'v', b'e', b'c', 5, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes[48..57], [3, 0, 0, 0, 3, 0, 0, 0, 0]);
        assert_eq!(bytes[57..72], name);
        assert_eq!(bytes[72..76], crc32c::crc32c(b"a.vec").to_le_bytes());
        assert_eq!(bytes[76..85], [3, 0, 0, 0, 1, 0, 0, 0, 1]);
        assert_eq!(bytes.len(), 85 + 19 + 21 + 4);
        assert_eq!(bytes[bytes.len() - 4..], crc32c::crc32c(&bytes[..bytes.len() - 4]).to_le_bytes());
    }

    #[test]
    fn no_flipped_bit_and_no_cut_is_read() {
        let bytes = toc().encode();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                assert!(Toc::decode(&flipped).is_err(), "bit {bit} of byte {at}");
            }
            assert!(Toc::decode(&bytes[..at]).is_err(), "cut at {at}");
        }
        assert!(Toc::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn false_fields_under_true_checksums_are_refused() {
        let put =
            |at: usize, value: &'static [u8]| resealed(|bytes| bytes[at..at + value.len()].copy_from_slice(value));
        let cases = [
            ("version 2", put(8, &[2])),
            ("zeros expected", put(10, &[1])),
            ("dimension 4294967295 and 2 entries", put(12, &[0xff; 4])),
            (
                "dimension 3 and 2 entries",
                resealed(|bytes| {
                    bytes[12] = 3;
                    bytes.drain(60..);
                }),
            ),
            ("dimension 2 and 4294967295 entries", put(24, &[0xff; 4])),
            ("bytes too many", put(24, &[1])),
            ("left", put(24, &[3])),
            ("a sum of 2 finite values expected", put(32, &[0, 0, 0, 0, 0, 0, 0xf0, 0x7f])),
            ("4 live rows of 3 in `a.vec`", put(52, &[4])),
            ("2 live rows of 3 in `a.vec`", put(52, &[2])),
            ("0 or 1 expected, 2 found", put(56, &[2])),
            ("bytes expected", put(57, &[0xff, 0xff])),
            ("plain file name expected", put(57, &[0])),
            ("plain file name expected", put(59, b"../..")),
            ("plain file name expected", put(59, b"\xff")),
            ("`b.vec` is not plain or stands twice", put(59, b"b")),
        ];
        for (expected, bytes) in cases {
            let damage = Toc::decode(&bytes).expect_err(expected);
            assert!(damage.what.contains(expected), "{damage}: {expected}");
        }
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        for name in ["a", "0123-ab_c.9.del", &"x".repeat(255)] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", ".", "..", ".hidden", "a/b", "a\\b", "C:x", "ä", "a b", "a\n", "a\0", &"x".repeat(256)] {
            assert!(!is_plain_name(name), "{name}");
        }
    }

    #[test]
    #[should_panic(expected = "a manifest keeps its own rules")]
    fn a_false_manifest_is_not_written() {
        Toc { live_sum: vec![], ..toc() }.encode();
    }

    #[test]
    fn a_file_is_known_by_length_and_checksum() {
        assert!(file("abc").matches(b"abc"));
        assert!(!file("abc").matches(b"abd") && !file("abc").matches(b"abc\0"));
    }
}
