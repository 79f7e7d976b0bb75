//! Exact search in one part: every row that is alive and allowed is scored.
//!
//! Useful for: the true answer, at any size and any filter. Not for: millions of rows in milliseconds.
//!
//! Rows are scored in blocks of 64, a word of every bitmap. A block in which most rows count goes to the batch kernel whole;
//! in another each row that counts is scored alone.
//!
//! A filter is asked in one of three ways, by how many ids it has beside the rows of the segment. Few: the rows are looked
//! up. Many: every row is scored, and only those that would be among the best are looked for in the filter. Between: the
//! filter becomes a bitmap, and the rows it leaves out are not read. Measured: looking up and spreading to a bitmap cost the
//! same at one row in 64, for 5,000 rows as for 100,000; from three ids for four rows on, blocks would be scored whole anyway,
//! and to ask last takes 0.9 of the time of a bitmap.

use super::{
    kernels::Kernels,
    plan::{LARGE_FILTER, SMALL_FILTER},
    segment::Segment,
    tombstones::Tombstones,
    top::Top,
};

/// Rows of a block: the bits of a word.
const BLOCK: usize = 64;
/// From this many rows of a block on, the batch kernel scores all 64. Measured (384 values, 5,000 and 100,000 rows): reading
/// rows that do not count costs more than scoring the others one by one up to 65 to 80 % of them.
const DENSE: u32 = 45;

/// Offers the live rows of one part that `filter` (sorted ids) allows to `top`.
pub(super) fn search(
    kernels: &Kernels,
    (segment, dead): (&Segment, &Tombstones),
    query: &[f32],
    filter: Option<&[u64]>,
    (allowed, room): (&mut Vec<u64>, &mut Vec<f32>),
    top: &mut Top,
) {
    let Some(ids) = filter else {
        return scan(kernels, segment, query, room, top, |word| !dead.word(word), |_| true);
    };
    if ids.len().saturating_mul(SMALL_FILTER) <= segment.len() {
        // Look-ups miss branches and rows miss caches: apart, a CPU works on several rows at once.
        let (mut found, mut count) = ([0; BLOCK], 0);
        matches(segment, ids, |row| {
            if !dead.contains(row) {
                found[count] = row;
                count += 1;
                if count == BLOCK {
                    score_each(kernels, segment, query, &found, room, top);
                    count = 0;
                }
            }
        });
        score_each(kernels, segment, query, &found[..count], room, top);
    } else if ids.len().saturating_mul(LARGE_FILTER.1) >= segment.len().saturating_mul(LARGE_FILTER.0) {
        scan(kernels, segment, query, room, top, |word| !dead.word(word), |id| ids.binary_search(&id).is_ok());
    } else {
        mark(segment, dead, ids, allowed);
        marked(kernels, segment, query, allowed, room, top);
    }
}

/// Makes a bitmap of the live rows that a filter allows; returns how many there are.
pub(super) fn mark(segment: &Segment, dead: &Tombstones, ids: &[u64], allowed: &mut Vec<u64>) -> usize {
    allowed.clear();
    allowed.resize(segment.len().div_ceil(BLOCK), 0);
    matches(segment, ids, |row| allowed[row / BLOCK] |= 1 << (row % BLOCK));
    let live = allowed.iter_mut().enumerate().map(|(word, bits)| {
        *bits &= !dead.word(word);
        bits.count_ones() as usize
    });
    live.sum()
}

/// Scores the rows of a bitmap.
pub(super) fn marked(
    kernels: &Kernels,
    segment: &Segment,
    query: &[f32],
    allowed: &[u64],
    room: &mut Vec<f32>,
    top: &mut Top,
) {
    scan(kernels, segment, query, room, top, |word| allowed[word], |_| true);
}

/// Scores rows that stand anywhere.
fn score_each(kernels: &Kernels, segment: &Segment, query: &[f32], rows: &[usize], room: &mut Vec<f32>, top: &mut Top) {
    let ids = segment.ids();
    for &row in rows {
        let score = segment.metric().score(kernels, query, segment.rows(row..row + 1, room));
        if score >= top.bar() {
            top.offer(ids[row], score);
        }
    }
}

/// Scores the rows of a segment whose bit is set: `wanted(i)` has the bits of rows 64 × i to 64 × i + 63. `allowed` is asked
/// only of those that are good enough.
fn scan(
    kernels: &Kernels,
    segment: &Segment,
    query: &[f32],
    room: &mut Vec<f32>,
    top: &mut Top,
    wanted: impl Fn(usize) -> u64,
    allowed: impl Fn(u64) -> bool,
) {
    let mut scores = [0.0; BLOCK];
    for (index, ids) in segment.ids().chunks(BLOCK).enumerate() {
        let first = index * BLOCK;
        let mut bits = wanted(index) & (u64::MAX >> (BLOCK - ids.len()));
        let batch = bits.count_ones() >= DENSE;
        if batch {
            let rows = segment.rows(first..first + ids.len(), room);
            segment.metric().score_rows(kernels, query, rows, &mut scores[..ids.len()]);
        }
        while bits != 0 {
            let row = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let score = if batch {
                scores[row]
            } else {
                segment.metric().score(kernels, query, segment.rows(first + row..first + row + 1, room))
            };
            if score >= top.bar() && allowed(ids[row]) {
                top.offer(ids[row], score);
            }
        }
    }
}

/// Calls `found` with the row of every id of a sorted list that the segment has. The shorter of list and table is
/// walked, the longer one leapt through: O(shorter × log(longer / shorter)).
fn matches(segment: &Segment, ids: &[u64], mut found: impl FnMut(usize)) {
    let (keys, rows, by_row) = (segment.id_keys(), segment.id_rows(), segment.ids());
    // A damaged table may name any row: only one that has the id counts.
    let mut at_key = |key: usize| {
        let (id, row) = (keys[key], rows[key] as usize);
        if by_row.get(row) == Some(&id) {
            found(row);
        }
    };
    if ids.len() <= keys.len() {
        let mut from = 0;
        for &id in ids {
            from += leap(&keys[from..], id);
            if keys.get(from) == Some(&id) {
                at_key(from);
                from += 1;
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
    let end = sorted.len().min(step);
    let start = (step / 2).min(end);
    start + sorted[start..end].partition_point(|&other| other < id)
}
