//! One segment, read in place: which rows it has, whose they are, and whether its bytes are sound.
//!
//! Useful for: opening in constant time and looking up ids and hashes. Not for: deleted rows (see [`Tombstones`]), search
//! (see [`Set`]).
//!
//! [`Tombstones`]: super::Tombstones
//! [`Set`]: super::Set

use std::{fmt, ops::Range};

use super::{
    bytes::{Bytes, Damage, Reader, aligned},
    layout::{FOOTER_BYTES, Header, Section, kind},
};

/// One immutable segment. Opening checks header and lengths, touches no row. Cloning is cheap.
///
/// Until [`verify`](Self::verify) has passed, tables and rows may hold anything; then look-ups find nothing rather than
/// something false, and no method panics for it.
#[derive(Clone)]
pub struct Segment {
    bytes: Bytes,
    dim: usize,
    rows: usize,
    at: Places,
}

/// Where the sections stand, checked against the file's length when it was opened.
#[derive(Clone)]
struct Places {
    ids: Range<usize>,
    rows: Range<usize>,
    id_keys: Range<usize>,
    id_rows: Range<usize>,
    hashes: Range<usize>,
    hash_order: Range<usize>,
    sum: Range<usize>,
}

impl Segment {
    /// Reads the head of a segment: O(1) in rows. Bytes at an odd address are copied once.
    pub fn open(bytes: Bytes) -> Result<Self, Damage> {
        let bytes = aligned(bytes);
        let header = Header::decode(&bytes)?;
        let (dim, rows) = (header.dim, header.rows);
        let place = |kind| {
            let missing = || Damage::new(0, format!("section of kind {kind} is missing"));
            let Section { offset, length, .. } = *header.section(kind).ok_or_else(missing)?;
            let start = usize::try_from(offset).map_err(|_| missing())?;
            let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
            Ok::<_, Damage>(start..end.ok_or_else(missing)?)
        };
        let id_table = place(kind::ID_TABLE)?;
        let split = id_table.start + 8 * rows;
        let at = Places {
            ids: place(kind::IDS)?,
            rows: place(kind::ROWS)?,
            id_keys: id_table.start..split,
            id_rows: split..id_table.end,
            hashes: place(kind::HASHES)?,
            hash_order: place(kind::HASH_ORDER)?,
            sum: place(kind::SUM)?,
        };
        Ok(Self { bytes, dim, rows, at })
    }

    fn view<T: bytemuck::AnyBitPattern>(&self, at: &Range<usize>) -> &[T] {
        bytemuck::cast_slice(&self.bytes[at.clone()])
    }

    /// How many values a row has.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many rows there are, deleted ones included.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ids by row.
    pub fn ids(&self) -> &[u64] {
        self.view(&self.at.ids)
    }

    /// Hash of the text that was embedded. Panics if there is no such row.
    pub fn hash(&self, row: usize) -> [u8; 16] {
        self.hashes()[row]
    }

    fn hashes(&self) -> &[[u8; 16]] {
        self.view(&self.at.hashes)
    }

    /// `dim` values. Panics if there is no such row.
    pub fn row(&self, row: usize) -> &[f32] {
        assert!(row < self.rows, "row {row} of a segment of {}", self.rows);
        &self.rows()[row * self.dim..][..self.dim]
    }

    /// All rows, one after the other: `len × dim` values, the first at an address that is a multiple of 64 in a map.
    pub fn rows(&self) -> &[f32] {
        self.view(&self.at.rows)
    }

    /// The ids in rising order.
    pub(super) fn id_keys(&self) -> &[u64] {
        self.view(&self.at.id_keys)
    }

    /// The row of each of [`id_keys`](Self::id_keys).
    pub(super) fn id_rows(&self) -> &[u32] {
        self.view(&self.at.id_rows)
    }

    /// Binary search in the table of ids.
    pub fn find_id(&self, id: u64) -> Option<usize> {
        let at = self.id_keys().binary_search(&id).ok()?;
        let row = usize::try_from(*self.id_rows().get(at)?).ok()?;
        (self.ids().get(row) == Some(&id)).then_some(row)
    }

    /// Binary search in the table of hashes; the first row that has it.
    pub fn find_hash(&self, hash: &[u8; 16]) -> Option<usize> {
        self.rows_with_hash(hash).next()
    }

    /// All rows that have a hash, in rising order.
    pub fn rows_with_hash<'a>(&'a self, hash: &'a [u8; 16]) -> impl Iterator<Item = usize> + 'a {
        let (order, hashes) = (self.view::<u32>(&self.at.hash_order), self.hashes());
        let hash_of = move |row: u32| usize::try_from(row).ok().and_then(|row| hashes.get(row));
        let start = order.partition_point(|&row| hash_of(row).is_some_and(|other| other < hash));
        let same = order[start..].iter().take_while(move |&&row| hash_of(row) == Some(hash));
        same.map(|&row| row as usize)
    }

    /// Sum of all rows, `dim` values.
    pub fn sum(&self) -> &[f64] {
        self.view(&self.at.sum)
    }

    /// Reads everything: checksums, order of the tables, finite rows. O(bytes); allocates nothing but one row's sum.
    pub fn verify(&self) -> Result<(), Damage> {
        let file: &[u8] = &self.bytes;
        let header = Header::decode(file)?;
        for section in &header.sections {
            let found = crc32c::crc32c(section.of(file));
            if found != section.checksum {
                let Section { kind, checksum, .. } = section;
                let what = format!("checksum {checksum:08x} of section {kind} stated, {found:08x} found");
                return Err(Damage::new(section.offset, what));
            }
        }
        let footer = file.len().saturating_sub(FOOTER_BYTES);
        Reader::new(&file[footer..])
            .checksum(&file[..footer])
            .map_err(|damage| Damage::new(footer, format!("{} of the whole file", damage.what)))?;
        self.verify_ids()?;
        self.verify_hashes()?;
        self.verify_rows()
    }

    fn verify_ids(&self) -> Result<(), Damage> {
        let (keys, rows, ids) = (self.id_keys(), self.id_rows(), self.ids());
        if let Some(at) = keys.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(Damage::new(self.at.id_keys.start + 8 * at, "ids of the table do not rise"));
        }
        // Rising keys that each find themselves name every row once.
        let stray = keys.iter().zip(rows).position(|(id, &row)| ids.get(row as usize) != Some(id));
        match stray {
            Some(at) => Err(Damage::new(self.at.id_rows.start + 4 * at, "the table names another row than the id's")),
            None => Ok(()),
        }
    }

    fn verify_hashes(&self) -> Result<(), Damage> {
        let (order, hashes) = (self.view::<u32>(&self.at.hash_order), self.hashes());
        let key = |row: u32| hashes.get(row as usize).map(|hash| (hash, row));
        // As many strictly rising pairs (hash, row) as there are rows name every row once.
        let rises = |pair: &[u32]| key(pair[0]).is_some() && key(pair[0]) < key(pair[1]);
        let broken = match order {
            [only] => key(*only).is_none().then_some(0),
            _ => order.windows(2).position(|pair| !rises(pair)),
        };
        match broken {
            Some(at) => Err(Damage::new(self.at.hash_order.start + 4 * at, "hashes of the table do not rise")),
            None => Ok(()),
        }
    }

    fn verify_rows(&self) -> Result<(), Damage> {
        let rows = self.rows();
        if let Some(at) = rows.iter().position(|value| !value.is_finite()) {
            return Err(Damage::new(self.at.rows.start + 4 * at, "a value of a row is not finite"));
        }
        let mut sum = vec![0.0; self.dim];
        for row in rows.chunks_exact(self.dim) {
            add(&mut sum, row);
        }
        let same = sum.iter().zip(self.sum()).position(|(found, stated)| found.to_bits() != stated.to_bits());
        match same {
            Some(at) => Err(Damage::new(self.at.sum.start + 8 * at, "the sum is not that of the rows")),
            None => Ok(()),
        }
    }
}

/// Adds a row to the sum by column. In the order of the rows the sum is the same to the last bit on every machine.
pub(super) fn add(sum: &mut [f64], row: &[f32]) {
    for (sum, &value) in sum.iter_mut().zip(row) {
        *sum += f64::from(value);
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("dim", &self.dim).field("rows", &self.rows).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
