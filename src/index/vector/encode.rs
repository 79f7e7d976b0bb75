//! Rows to the bytes of a segment, and several segments to the rows of one.
//!
//! Useful for: writing what [`Segment`] reads, in one pass over the rows for the checksums and one for the bytes. Not for:
//! deciding what to merge (see [`Set::merge_candidates`](super::Set::merge_candidates)).

use std::{collections::BTreeSet, io};

use super::{
    bytes::Damage,
    layout::{
        ALIGN, END, FOOTER_BYTES, HEADER_BYTES, Header, KINDS, MAX_DIM, MAX_ROWS, REQUIRED, SECTION_BYTES, Section,
        kind,
    },
    segment::{Segment, add},
    tombstones::Tombstones,
};

/// One row to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a> {
    /// The chunk's id; unique among live rows.
    pub id: u64,
    /// Hash of the text that was embedded.
    pub hash: [u8; 16],
    /// `dim` values, all finite.
    pub vector: &'a [f32],
}

/// The bytes of a segment of these rows, in their order.
///
/// Panics if a row has another length than `dim` or a value that is not finite, if two rows have one id, if `dim` is not
/// 1 to [`MAX_DIM`], or if there are more than [`MAX_ROWS`] rows: what it writes always verifies.
pub fn encode_segment(dim: usize, rows: &[NewRow<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    write_segment(dim, rows, &mut out).expect("writing to memory");
    out
}

/// Writes a segment of these rows piece by piece, so that a large one is never whole in memory: about 40 bytes a row are.
/// `out` gets many small writes; give it a buffer. Panics as [`encode_segment`] does, before anything is written.
pub fn write_segment(dim: usize, rows: &[NewRow<'_>], out: &mut dyn io::Write) -> io::Result<()> {
    check(dim, rows);
    let small = SmallSections::of(dim, rows);
    let mut sections = Vec::with_capacity(KINDS.len());
    let mut free = HEADER_BYTES + SECTION_BYTES * KINDS.len();
    for kind in KINDS {
        let (length, checksum) = match small.content(kind) {
            Some(bytes) => (bytes.len(), crc32c::crc32c(bytes)),
            None => {
                let append = |checksum, row: &NewRow<'_>| crc32c::crc32c_append(checksum, row_bytes(row));
                (4 * dim * rows.len(), rows.iter().fold(0, append))
            }
        };
        let offset = free.next_multiple_of(ALIGN);
        sections.push(Section { kind, flags: REQUIRED, offset: offset as u64, length: length as u64, checksum });
        free = offset + length;
    }
    let footer = free.next_multiple_of(ALIGN);
    let header = Header { dim, rows: rows.len(), sections };

    let mut out = Sink { out, at: 0, checksum: 0 };
    out.write(&header.encode((footer + FOOTER_BYTES) as u64))?;
    for kind in KINDS {
        out.pad()?;
        match small.content(kind) {
            Some(bytes) => out.write(bytes)?,
            None => rows.iter().try_for_each(|row| out.write(row_bytes(row)))?,
        }
    }
    out.pad()?;
    debug_assert_eq!(out.at, footer);
    let checksum = out.checksum;
    out.write(&checksum.to_le_bytes())?;
    out.write(&[0; 4])?;
    out.write(&END)
}

fn check(dim: usize, rows: &[NewRow<'_>]) {
    assert!((1..=MAX_DIM).contains(&dim), "dimension {dim}, 1 to {MAX_DIM} expected");
    assert!(rows.len() <= MAX_ROWS, "{} rows, at most {MAX_ROWS} expected", rows.len());
    for row in rows {
        assert_eq!(row.vector.len(), dim, "length of the vector of {}", row.id);
        assert!(row.vector.iter().all(|value| value.is_finite()), "the vector of {} is not finite", row.id);
    }
}

fn row_bytes<'a>(row: &NewRow<'a>) -> &'a [u8] {
    bytemuck::cast_slice(row.vector)
}

/// Every section but the rows.
struct SmallSections {
    ids: Vec<u8>,
    id_table: Vec<u8>,
    hashes: Vec<u8>,
    hash_order: Vec<u8>,
    sum: Vec<u8>,
}

impl SmallSections {
    fn of(dim: usize, rows: &[NewRow<'_>]) -> Self {
        let count = u32::try_from(rows.len()).expect("at most MAX_ROWS");
        let row = |index: u32| &rows[index as usize];
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_unstable_by_key(|&index| row(index).id);
        for pair in order.windows(2) {
            assert_ne!(row(pair[0]).id, row(pair[1]).id, "two rows have one id");
        }
        let keys = order.iter().flat_map(|&index| row(index).id.to_le_bytes());
        let id_table = keys.chain(order.iter().flat_map(|index| index.to_le_bytes())).collect();

        order.sort_unstable_by_key(|&index| (row(index).hash, index));
        let hash_order = order.iter().flat_map(|index| index.to_le_bytes()).collect();

        let mut sum = vec![0.0; dim];
        rows.iter().for_each(|row| add(&mut sum, row.vector));
        Self {
            ids: rows.iter().flat_map(|row| row.id.to_le_bytes()).collect(),
            id_table,
            hashes: rows.iter().flat_map(|row| row.hash).collect(),
            hash_order,
            sum: sum.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    /// `None` for the rows themselves.
    fn content(&self, kind: u32) -> Option<&[u8]> {
        match kind {
            kind::IDS => Some(&self.ids),
            kind::ID_TABLE => Some(&self.id_table),
            kind::HASHES => Some(&self.hashes),
            kind::HASH_ORDER => Some(&self.hash_order),
            kind::SUM => Some(&self.sum),
            _ => None,
        }
    }
}

/// Counts and checksums what goes out.
struct Sink<'a> {
    out: &'a mut dyn io::Write,
    at: usize,
    checksum: u32,
}

impl Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len();
        self.checksum = crc32c::crc32c_append(self.checksum, bytes);
        Ok(())
    }

    /// Zeros up to the next place a section may start at.
    fn pad(&mut self) -> io::Result<()> {
        const ZEROS: [u8; ALIGN] = [0; ALIGN];
        self.write(&ZEROS[..self.at.next_multiple_of(ALIGN) - self.at])
    }
}

/// The live rows of several parts, in their order, ready to be written as one segment. The parts are verified first, so
/// that damage is never written again under a new checksum; an id that is alive twice is damage too.
pub fn live_rows<'a>(parts: &[(&'a Segment, &Tombstones)]) -> Result<Vec<NewRow<'a>>, Damage> {
    let mut rows = Vec::new();
    for &(segment, dead) in parts {
        segment.verify()?;
        rows.reserve(segment.len().saturating_sub(dead.len()));
        let live = segment.ids().iter().enumerate().filter(|&(row, _)| !dead.contains(row));
        rows.extend(live.map(|(row, &id)| NewRow { id, hash: segment.hash(row), vector: segment.row(row) }));
    }
    let mut ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Damage::new(0, format!("id {} is alive in two rows", pair[0]))),
        None => Ok(rows),
    }
}

/// The bytes of one segment of the live rows of several parts of one dimension; `None` if no row is alive, for then there
/// is nothing to write. For a merge that does not fit into memory: [`live_rows`], then [`write_segment`].
pub fn merge(parts: &[(&Segment, &Tombstones)]) -> Result<Option<Vec<u8>>, Damage> {
    let dims: BTreeSet<usize> = parts.iter().map(|(segment, _)| segment.dim()).collect();
    assert!(dims.len() <= 1, "segments of dimensions {dims:?} cannot be one");
    let rows = live_rows(parts)?;
    Ok(dims.first().filter(|_| !rows.is_empty()).map(|&dim| encode_segment(dim, &rows)))
}
