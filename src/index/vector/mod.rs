//! The vector core: rows of f32 in immutable, checksummed segments; exact search by dispatched kernels.
//! Imports nothing of ours: bytes come in from the caller (mapped or in memory) and go out as bytes.
//!
//! Useful for: dot products of one query with many rows, and the bytes of a segment. Not for: files, commits, texts.

use std::{collections::BTreeSet, ops::Deref, sync::Arc};

/// Bytes that stay where they are as long as somebody holds them: a map of a file, or memory.
pub type Bytes = Arc<dyn Deref<Target = [u8]> + Send + Sync>;

/// What is wrong with bytes that should be ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}")]
pub struct Damage {
    pub offset: u64,
    pub what: String,
}

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

/// The bytes of a segment of these rows. Panics if a row has another length than `dim`.
pub fn encode_segment(dim: usize, rows: &[NewRow<'_>]) -> Vec<u8> {
    let _ = (dim, rows);
    todo!()
}

/// One immutable segment. Opening checks header and lengths, touches no row.
#[derive(Clone)]
pub struct Segment {}

impl Segment {
    pub fn open(bytes: Bytes) -> Result<Self, Damage> {
        let _ = bytes;
        todo!()
    }
    /// Reads everything: checksums, order of the tables, finite rows.
    pub fn verify(&self) -> Result<(), Damage> {
        todo!()
    }
    pub fn dim(&self) -> usize {
        todo!()
    }
    pub fn len(&self) -> usize {
        todo!()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Ids by row.
    pub fn ids(&self) -> &[u64] {
        todo!()
    }
    pub fn hash(&self, row: usize) -> [u8; 16] {
        let _ = row;
        todo!()
    }
    pub fn row(&self, row: usize) -> &[f32] {
        let _ = row;
        todo!()
    }
    /// Binary search in the table of ids.
    pub fn find_id(&self, id: u64) -> Option<usize> {
        let _ = id;
        todo!()
    }
    /// Binary search in the table of hashes; the first row that has it.
    pub fn find_hash(&self, hash: &[u8; 16]) -> Option<usize> {
        let _ = hash;
        todo!()
    }
    /// Sum of all rows, `dim` values.
    pub fn sum(&self) -> &[f64] {
        todo!()
    }
}

/// Rows of one segment that are deleted. Immutable on disk: a later generation writes a new file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tombstones {}

impl Tombstones {
    pub fn encode(&self) -> Vec<u8> {
        todo!()
    }
    /// `rows`: length of the segment they belong to.
    pub fn decode(bytes: &[u8], rows: usize) -> Result<Self, Damage> {
        let _ = (bytes, rows);
        todo!()
    }
    pub fn insert(&mut self, row: usize) {
        let _ = row;
        todo!()
    }
    pub fn contains(&self, row: usize) -> bool {
        let _ = row;
        todo!()
    }
    pub fn len(&self) -> usize {
        todo!()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

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
    pub dim: usize,
    pub entries: Vec<TocEntry>,
    pub live_sum: Vec<f64>,
}

impl Toc {
    pub fn encode(&self) -> Vec<u8> {
        todo!()
    }
    /// Checks length, checksum and names (plain file names only) before it allocates.
    pub fn decode(bytes: &[u8]) -> Result<Self, Damage> {
        let _ = bytes;
        todo!()
    }
}

/// All segments of one generation, searched as one.
#[derive(Clone, Default)]
pub struct Set {}

impl Set {
    /// All segments have dimension `dim`.
    pub fn new(dim: usize, parts: Vec<(Segment, Tombstones)>) -> Self {
        let _ = (dim, parts);
        todo!()
    }
    pub fn parts(&self) -> &[(Segment, Tombstones)] {
        todo!()
    }
    /// Live rows.
    pub fn len(&self) -> usize {
        todo!()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The `k` best live rows by dot product: (id, score), best first, ties to the smaller id. `filter`: sorted ids that
    /// are allowed. Exact.
    pub fn search(&self, query: &[f32], k: usize, filter: Option<&[u64]>) -> Vec<(u64, f32)> {
        let _ = (query, k, filter);
        todo!()
    }
    /// The live row of an id.
    pub fn vector(&self, id: u64) -> Option<&[f32]> {
        let _ = id;
        todo!()
    }
    pub fn vector_by_hash(&self, hash: &[u8; 16]) -> Option<&[f32]> {
        let _ = hash;
        todo!()
    }
    /// Where the live row of an id stands: (part, row).
    pub fn locate(&self, id: u64) -> Option<(usize, usize)> {
        let _ = id;
        todo!()
    }
    /// Which adjacent small or sparse parts are worth writing again as one; `None` if none are.
    pub fn merge_candidates(&self) -> Option<BTreeSet<usize>> {
        todo!()
    }
}

/// Dot product by the best kernel of this CPU. Lengths must be equal.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let _ = (a, b);
    todo!()
}
