//! Which rows of one segment are deleted: one bit a row, and the file that holds them.
//!
//! Useful for: asking row by row or 64 rows at once. Not for: deleted ids (see [`Set::locate`](super::Set::locate)).

use super::{
    bytes::{Damage, Reader},
    layout::MAX_ROWS,
};

const MAGIC: [u8; 8] = *b"RAGDEL\x1a\n";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 32;
const HEADER_CHECKSUM: usize = 28;
const CHECKSUM_BYTES: usize = 4;

/// Rows of one segment that are deleted. Immutable on disk: a later generation writes a new file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tombstones {
    /// Bit r mod 64 of word r div 64 is row r; the last word is not zero.
    words: Vec<u64>,
    len: usize,
}

impl Tombstones {
    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let number = |value: usize| u32::try_from(value).expect("at most MAX_ROWS").to_le_bytes();
        let mut out = Vec::with_capacity(file_bytes(self.words.len()));
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend([0; 2]);
        out.extend(number(self.len));
        out.extend(number(self.words.len()));
        out.resize(HEADER_CHECKSUM, 0);
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        out.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        out
    }

    /// Reads a file and checks all of it. `rows`: length of the segment they belong to.
    pub fn decode(bytes: &[u8], rows: usize) -> Result<Self, Damage> {
        let mut reader = Reader::new(bytes);
        reader.magic(&MAGIC)?;
        reader.version(VERSION)?;
        reader.zeros(2)?;
        let len = reader.u32()? as usize;
        let count = reader.u32()? as usize;
        reader.zeros(HEADER_CHECKSUM - reader.at())?;
        reader.checksum(&bytes[..HEADER_CHECKSUM])?;
        if count > rows.div_ceil(64) {
            return Err(Damage::new(16, format!("{count} words for a segment of {rows} rows")));
        }
        if bytes.len() != file_bytes(count) {
            return Err(Damage::new(16, format!("{} bytes expected, {} found", file_bytes(count), bytes.len())));
        }
        let words: Vec<u64> =
            reader.take(8 * count)?.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
        reader.checksum(&bytes[..bytes.len() - CHECKSUM_BYTES])?;

        let found = words.iter().map(|word| word.count_ones() as usize).sum();
        let dead = Self { words, len: found };
        if dead.words.last() == Some(&0) || dead.end() > rows {
            return Err(Damage::new(HEADER_BYTES, format!("the last deleted row is none of {rows}")));
        }
        if found != len {
            return Err(Damage::new(12, format!("{len} deleted rows stated, {found} found")));
        }
        Ok(dead)
    }

    /// Marks a row as deleted; again is nothing new. Panics if no segment can have so many rows.
    pub fn insert(&mut self, row: usize) {
        assert!(row < MAX_ROWS, "row {row} of at most {MAX_ROWS}");
        let (word, bit) = (row / 64, 1 << (row % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.len += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    pub fn contains(&self, row: usize) -> bool {
        self.word(row / 64) & (1 << (row % 64)) != 0
    }

    /// The bits of rows 64 × `index` to 64 × `index` + 63.
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// How many rows are deleted.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the last deleted row.
    pub(super) fn end(&self) -> usize {
        self.words.last().map_or(0, |word| 64 * self.words.len() - word.leading_zeros() as usize)
    }
}

fn file_bytes(words: usize) -> usize {
    HEADER_BYTES + 8 * words + CHECKSUM_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[usize]) -> Tombstones {
        let mut dead = Tombstones::default();
        rows.iter().for_each(|&row| dead.insert(row));
        dead
    }

    #[test]
    fn rows_are_deleted_once() {
        let dead = of(&[3, 64, 3, 0, 130]);
        assert_eq!((dead.len(), dead.end(), dead.is_empty()), (4, 131, false));
        let found: Vec<usize> = (0..1000).filter(|&row| dead.contains(row)).collect();
        assert_eq!(found, [0, 3, 64, 130]);
        assert_eq!(dead, of(&[130, 64, 3, 0]));
        assert!(!dead.contains(usize::MAX));
        assert_eq!((Tombstones::default().len(), Tombstones::default().end()), (0, 0));
    }

    #[test]
    fn what_is_written_is_read() {
        for rows in [&[][..], &[0], &[63], &[64], &[5, 700, 1000]] {
            let dead = of(rows);
            let end = dead.end();
            for rows in [end, end + 1, 1 << 20] {
                assert_eq!(Tombstones::decode(&dead.encode(), rows), Ok(dead.clone()));
            }
            if end > 0 {
                assert!(Tombstones::decode(&dead.encode(), end - 1).is_err());
            }
        }
    }

    #[test]
    fn the_file_is_as_the_page_says() {
        let bytes = of(&[1, 66]).encode();
        assert_eq!(bytes.len(), 36 + 8 * 2);
        assert_eq!(bytes[..8], [0x52, 0x41, 0x47, 0x44, 0x45, 0x4c, 0x1a, 0x0a]);
        assert_eq!(bytes[8..28], [1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[28..32], crc32c::crc32c(&bytes[..28]).to_le_bytes());
        assert_eq!(bytes[32..48], [2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[48..], crc32c::crc32c(&bytes[..48]).to_le_bytes());
    }

    #[test]
    fn no_flipped_bit_and_no_cut_is_read() {
        let bytes = of(&[1, 66, 90]).encode();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                assert!(Tombstones::decode(&flipped, 1000).is_err(), "bit {bit} of byte {at}");
            }
            assert!(Tombstones::decode(&bytes[..at], 1000).is_err(), "cut at {at}");
        }
        assert!(Tombstones::decode(&[&bytes[..], &[0]].concat(), 1000).is_err());
    }

    #[test]
    fn false_counts_under_true_checksums_are_refused() {
        let cases = [
            (12, 4, "4 deleted rows stated, 3 found"),
            (16, 3, "60 bytes expected, 52 found"),
            (16, u32::MAX, "4294967295 words for a segment of 1000 rows"),
            (40, 0, "the last deleted row is none of 1000"),
        ];
        for (at, value, expected) in cases {
            let mut bytes = of(&[1, 66, 90]).encode();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let header = crc32c::crc32c(&bytes[..HEADER_CHECKSUM]);
            bytes[HEADER_CHECKSUM..HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
            let body = bytes.len() - CHECKSUM_BYTES;
            let whole = crc32c::crc32c(&bytes[..body]);
            bytes[body..].copy_from_slice(&whole.to_le_bytes());
            assert_eq!(Tombstones::decode(&bytes, 1000).unwrap_err().what, expected, "byte {at}");
        }
    }
}
