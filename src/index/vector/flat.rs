//! Exact search in one part: every row that is alive and allowed is scored.
//!
//! Useful for: the true answer, at any size and any filter. Not for: millions of rows in milliseconds.
//!
//! Rows are scored in blocks of 64, a word of every bitmap. A block in which most rows count goes to the batch kernel whole;
//! in another each row that counts is scored alone. A filter of few ids is not spread to a bitmap: its rows are looked up.

use super::{kernels::Kernels, segment::Segment, tombstones::Tombstones, top::Top};

/// Rows of a block: the bits of a word.
const BLOCK: usize = 64;
/// From this many rows of a block on, the batch kernel scores all 64.
const DENSE: u32 = 32;
/// A filter is small if a segment has this many times its ids.
const SMALL_FILTER: usize = 64;

/// Offers the live rows of one part that `filter` (sorted ids) allows to `top`.
pub(super) fn search(
    kernels: &Kernels,
    segment: &Segment,
    dead: &Tombstones,
    query: &[f32],
    filter: Option<&[u64]>,
    top: &mut Top,
) {
    let Some(ids) = filter else {
        return scan(kernels, segment, query, top, |word| !dead.word(word));
    };
    if ids.len().saturating_mul(SMALL_FILTER) <= segment.len() {
        matches(segment, ids, |row, id| {
            if !dead.contains(row) {
                top.offer(id, kernels.dot(query, segment.row(row)));
            }
        });
    } else {
        let mut allowed = vec![0u64; segment.len().div_ceil(BLOCK)];
        matches(segment, ids, |row, _| allowed[row / BLOCK] |= 1 << (row % BLOCK));
        scan(kernels, segment, query, top, |word| allowed[word] & !dead.word(word));
    }
}

/// Scores the rows of a segment whose bit is set: `wanted(i)` has the bits of rows 64 × i to 64 × i + 63.
fn scan(kernels: &Kernels, segment: &Segment, query: &[f32], top: &mut Top, wanted: impl Fn(usize) -> u64) {
    let dim = segment.dim();
    let mut scores = [0.0; BLOCK];
    let blocks = segment.rows().chunks(BLOCK * dim).zip(segment.ids().chunks(BLOCK));
    for (index, (rows, ids)) in blocks.enumerate() {
        let mut bits = wanted(index) & (u64::MAX >> (BLOCK - ids.len()));
        let batch = bits.count_ones() >= DENSE;
        if batch {
            kernels.dot_rows(query, rows, &mut scores[..ids.len()]);
        }
        while bits != 0 {
            let row = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let score = if batch { scores[row] } else { kernels.dot(query, &rows[row * dim..][..dim]) };
            if score >= top.bar() {
                top.offer(ids[row], score);
            }
        }
    }
}

/// Calls `found` with row and id of every id of a sorted list that the segment has. The shorter of list and table is
/// walked, the longer one leapt through: O(shorter × log(longer / shorter)).
fn matches(segment: &Segment, ids: &[u64], mut found: impl FnMut(usize, u64)) {
    let (keys, rows, by_row) = (segment.id_keys(), segment.id_rows(), segment.ids());
    // A damaged table may name any row: only one that has the id counts.
    let mut at_key = |key: usize| {
        let (id, row) = (keys[key], rows[key] as usize);
        if by_row.get(row) == Some(&id) {
            found(row, id);
        }
    };
    if ids.len() <= keys.len() {
        let mut from = 0;
        for &id in ids {
            from += leap(&keys[from..], id);
            if keys.get(from) == Some(&id) {
                at_key(from);
            }
        }
    } else {
        let mut from = 0;
        for (index, &key) in keys.iter().enumerate() {
            from += leap(&ids[from..], key);
            if ids.get(from) == Some(&key) {
                at_key(index);
            }
        }
    }
}

/// How many of the sorted ids are smaller than `id`: steps of doubling length, then binary search in the last one.
fn leap(sorted: &[u64], id: u64) -> usize {
    let mut step = 1;
    while step < sorted.len() && sorted[step] < id {
        step *= 2;
    }
    let end = sorted.len().min(step + 1);
    let start = (step / 2).min(end);
    start + sorted[start..end].partition_point(|&other| other < id)
}
