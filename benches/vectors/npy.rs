//! Tables of numbers as NumPy saves them (`numpy/lib/format.py`), version 1 to 3, read in place.

use std::{marker::PhantomData, path::Path};

use bytemuck::AnyBitPattern;
use memmap2::Mmap;

use crate::{Result, map::map};

/// A number as it stands in a file.
pub trait Element: AnyBitPattern {
    const DESCR: &str;
}

impl Element for f32 {
    const DESCR: &str = "<f4";
}

impl Element for i32 {
    const DESCR: &str = "<i4";
}

/// A table in C order.
pub struct Npy<T> {
    bytes: Mmap,
    start: usize,
    pub rows: usize,
    pub width: usize,
    element: PhantomData<T>,
}

impl<T: Element> Npy<T> {
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = map(path)?;
        let (start, rows, width) = head::<T>(&bytes)
            .ok_or_else(|| format!("{}: no table of {} in C order in an .npy file", path.display(), T::DESCR))?;
        Ok(Self { bytes, start, rows, width, element: PhantomData })
    }

    /// All rows, one after the other.
    pub fn values(&self) -> &[T] {
        let length = size_of::<T>() * self.rows * self.width;
        bytemuck::cast_slice(&self.bytes[self.start..][..length])
    }

    pub fn row(&self, row: usize) -> &[T] {
        &self.values()[row * self.width..][..self.width]
    }
}

/// Where the numbers start, rows, and numbers of a row.
fn head<T: Element>(bytes: &[u8]) -> Option<(usize, usize, usize)> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    // A header's length has two bytes in version 1 and four in later ones.
    let (length, before) = match rest.first()? {
        1 => (usize::from(u16::from_le_bytes(*rest.get(2..)?.first_chunk()?)), 10),
        _ => (usize::try_from(u32::from_le_bytes(*rest.get(2..)?.first_chunk()?)).ok()?, 12),
    };
    let text = std::str::from_utf8(bytes.get(before..)?.get(..length)?).ok()?;
    let has = |entry: String| text.contains(&entry).then_some(());
    has(format!("'descr': '{}'", T::DESCR))?;
    has("'fortran_order': False".to_owned())?;
    let shape = text.split_once("'shape': (")?.1.split_once(')')?.0;
    let sides: Vec<usize> = shape.split(',').map_while(|side| side.trim().parse().ok()).collect();
    let &[rows, width] = &sides[..] else { return None };
    let start = before + length;
    (bytes.len() - start == size_of::<T>().checked_mul(rows)?.checked_mul(width)?).then_some((start, rows, width))
}
