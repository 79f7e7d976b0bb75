//! Bytes that came from a disk: where they live, how numbers are read from them, and what is said when they are wrong.
//!
//! Useful for: reading small fields with every length checked. Not for: rows, which are viewed in place.

use std::{ops::Deref, sync::Arc};

/// Bytes that stay where they are as long as somebody holds them: a map of a file, or memory.
pub type Bytes = Arc<dyn Deref<Target = [u8]> + Send + Sync>;

/// What is wrong with bytes that should be ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}")]
pub struct Damage {
    pub offset: u64,
    pub what: String,
}

impl Damage {
    pub(super) fn new(offset: impl TryInto<u64>, what: impl Into<String>) -> Self {
        Self { offset: offset.try_into().unwrap_or(u64::MAX), what: what.into() }
    }
}

/// Reads little-endian numbers one after the other; running out of bytes is damage, never a panic.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next byte stands.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest
            .get(..length)
            .ok_or_else(|| Damage::new(self.at, format!("{length} bytes expected, {} left", rest.len())))?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        Ok(self.take(N)?.try_into().expect("as many bytes as were asked for"))
    }

    pub fn u8(&mut self) -> Result<u8, Damage> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub fn u16(&mut self) -> Result<u16, Damage> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, Damage> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn f64(&mut self) -> Result<f64, Damage> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    pub fn magic(&mut self, magic: &[u8; 8]) -> Result<(), Damage> {
        let at = self.at;
        let found = self.take(magic.len())?;
        let ours = || String::from_utf8_lossy(&magic[..6]).into_owned();
        if found == magic { Ok(()) } else { Err(Damage::new(at, format!("`{}` expected", ours()))) }
    }

    pub fn version(&mut self, known: u16) -> Result<(), Damage> {
        let at = self.at;
        let found = self.u16()?;
        if found == known {
            Ok(())
        } else {
            Err(Damage::new(at, format!("version {found}, this program reads version {known}")))
        }
    }

    /// Bytes that a later version may use and this one must not ignore.
    pub fn zeros(&mut self, length: usize) -> Result<(), Damage> {
        let at = self.at;
        if self.take(length)?.iter().all(|&byte| byte == 0) { Ok(()) } else { Err(Damage::new(at, "zeros expected")) }
    }

    /// A checksum of `over`, read here.
    pub fn checksum(&mut self, over: &[u8]) -> Result<(), Damage> {
        let at = self.at;
        let (stated, found) = (self.u32()?, crc32c::crc32c(over));
        if stated == found {
            Ok(())
        } else {
            Err(Damage::new(at, format!("checksum {stated:08x} stated, {found:08x} found")))
        }
    }
}

/// The same bytes at an address that is a multiple of 8, so that u64 and f64 can be viewed in place. Maps are, and so is
/// nearly all memory: copies only when it must.
pub(super) fn aligned(bytes: Bytes) -> Bytes {
    if bytes.as_ptr().addr().is_multiple_of(align_of::<u64>()) {
        return bytes;
    }
    let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(&bytes);
    Arc::new(Words { words, length: bytes.len() })
}

struct Words {
    words: Vec<u64>,
    length: usize,
}

impl Deref for Words {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_never_runs_over_the_end() {
        let mut reader = Reader::new(&[1, 0, 2]);
        assert_eq!(reader.u16(), Ok(1));
        assert_eq!(reader.u64(), Err(Damage::new(2, "8 bytes expected, 1 left")));
        assert_eq!(reader.take(usize::MAX), Err(Damage::new(2, format!("{} bytes expected, 1 left", usize::MAX))));
        assert_eq!(reader.u8(), Ok(2));
        assert_eq!(reader.left(), 0);
    }

    #[test]
    fn bytes_at_odd_addresses_are_moved() {
        struct Shifted(Vec<u8>, usize);
        impl Deref for Shifted {
            type Target = [u8];
            fn deref(&self) -> &[u8] {
                &self.0[self.1..]
            }
        }
        for length in [0, 1, 7, 8, 9, 100] {
            for shift in 0..8 {
                let bytes = aligned(Arc::new(Shifted((0..length + shift).collect(), shift.into())));
                assert_eq!(bytes.as_ptr().addr() % 8, 0);
                assert_eq!(bytes[..], (shift..length + shift).collect::<Vec<_>>()[..]);
            }
        }
    }
}
