//! The arithmetic, one set of kernels an instruction set, chosen once by what the CPU has.
//!
//! Useful for: one query against many rows, in f32 or in codes. Not for: ranking (see [`Set`](super::Set)).
//!
//! Sums of codes are integers: every set gives the same. Sums of f32 are added in another order by each set and may differ in
//! the last bits; within one set the score of a query and a row is always the same bits: alone or among others, wherever the
//! row stands. `scalar.rs` is the specification of what they compute; a new set is a file that makes a [`Kernels`], and
//! a line in [`available`].

#[cfg(target_arch = "aarch64")]
mod arm;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::{fmt, sync::LazyLock};

use super::codes::{self, BLOCK_ROWS, Bits};

/// The kernels of one instruction set.
#[derive(Clone, Copy)]
pub struct Kernels {
    name: &'static str,
    dot: fn(&[f32], &[f32]) -> f32,
    dot_rows: fn(&[f32], &[f32], &mut [f32]),
    l2: fn(&[f32], &[f32]) -> f32,
    l2_rows: fn(&[f32], &[f32], &mut [f32]),
    /// By [`Bits`].
    code_rows: [CodeRows; 4],
    blocks: fn(&BlockQuery<'_>, &[u8], f32, &mut [f32], &mut [u16]),
    rotate: fn(&[f32], usize, &mut [f32]),
    grid: Grid,
    round: fn(&[f32], &mut [i8]) -> (f32, i32),
    fetch: fn(&[u8]),
    scan_ns_per_value: f64,
}

type Grid = fn(Bits, f32, &[f32], &mut [u8]) -> (f32, f32);
type CodeRows = fn(&[i8], Rows<'_>, &[u32], &mut [i32]);

/// Rows of codes that stand `stride` bytes apart.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub bytes: &'a [u8],
    pub stride: usize,
}

/// A query for [`Kernels::blocks`]. Row r with the sum of codes S scores
/// `factor[r] × (S × scale + offset) + bias[r] × lean + base`, in f32, in this order, nothing fused.
#[derive(Debug, Clone, Copy)]
pub struct BlockQuery<'a> {
    /// Whole lines of values, −127 to 127.
    pub values: &'a [i8],
    pub scale: f32,
    pub offset: f32,
    pub lean: f32,
    pub base: f32,
}

impl Kernels {
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Sum of the products. Panics if the lengths differ.
    pub fn dot(&self, a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len(), "lengths of two vectors");
        (self.dot)(a, b)
    }

    /// Scores of one query and many rows that stand one after the other: `scores[i]` becomes the dot product with row i.
    /// `rows` has `query.len() × scores.len()` values; panics if not.
    pub fn dot_rows(&self, query: &[f32], rows: &[f32], scores: &mut [f32]) {
        assert_eq!(Some(rows.len()), query.len().checked_mul(scores.len()), "values of the rows");
        (self.dot_rows)(query, rows, scores);
    }

    /// Sum of the squared differences. Panics if the lengths differ.
    pub fn l2(&self, a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len(), "lengths of two vectors");
        (self.l2)(a, b)
    }

    /// As [`dot_rows`](Self::dot_rows), of squared differences.
    pub fn l2_rows(&self, query: &[f32], rows: &[f32], distances: &mut [f32]) {
        assert_eq!(Some(rows.len()), query.len().checked_mul(distances.len()), "values of the rows");
        (self.l2_rows)(query, rows, distances);
    }

    /// Sums of codes times values for rows that stand anywhere: `sums[i]` becomes Σ code × query of row `ids[i]`. Fetches
    /// rows before their turn.
    ///
    /// `query` is [`Bits::padded`] long with values of −127 to 127. Codes of 1, 2 and 4 bits are unsigned; of 8 bits signed,
    /// −127 to 127. Sums fit i32 up to [`MAX_DIM`](super::MAX_DIM). Panics if a row does not lie within the bytes, or a
    /// stride is too short for the query.
    pub fn code_rows(&self, bits: Bits, query: &[i8], rows: Rows<'_>, ids: &[u32], sums: &mut [i32]) {
        assert_eq!(ids.len(), sums.len(), "a sum for each row");
        assert!(query.len().is_multiple_of(bits.padded(1)) && query.len() <= 1 << 16, "whole blocks of a query");
        assert!(bits.row_bytes(query.len()) <= rows.stride, "bytes of a row");
        if let Some(&last) = ids.iter().max() {
            let end = (last as usize + 1).checked_mul(rows.stride);
            assert!(end.is_some_and(|end| end <= rows.bytes.len()), "row {last} of the codes");
            (self.code_rows[bits as usize])(query, rows, ids, sums);
        }
    }

    /// Scores of blocks of 16 rows of two-bit codes (see `docs/format.md`) that stand one after the other. `scores` gets 16 a
    /// block; bit r of a block's `hits` says that row r scores `bar` or more. A score that is not a number is no hit.
    ///
    /// Panics if the lengths do not agree.
    pub fn blocks(&self, query: &BlockQuery<'_>, blocks: &[u8], bar: f32, scores: &mut [f32], hits: &mut [u16]) {
        assert_eq!(query.values.len(), codes::block_values(query.values.len()), "whole lines of a query");
        assert!(query.values.len() <= 1 << 16, "values of a query");
        assert_eq!(blocks.len(), hits.len() * codes::block_bytes(query.values.len()), "bytes of the blocks");
        assert_eq!(scores.len(), hits.len() * BLOCK_ROWS, "a score for each row");
        (self.blocks)(query, blocks, bar, scores, hits);
    }

    /// Rotates in place, for each `values.len()` of `signs` once: signs, then a Hadamard transform of the first `window` values
    /// (a power of two), in every second round of the last, divided by √window. The same bits in every set.
    pub(super) fn rotate(&self, signs: &[f32], window: usize, values: &mut [f32]) {
        assert!(window.is_power_of_two() && window <= values.len(), "window of a rotation");
        (self.rotate)(signs, window, values);
    }

    /// The nearest points of a grid: odd multiples of `scale`, up to 2^bits − 1 times; for 8 bits whole ones up to 127 times.
    /// Codes are one a byte. Returns ⟨values, k⟩ and ⟨k, k⟩. The same bits in every set.
    pub(super) fn grid(&self, bits: Bits, scale: f32, values: &[f32], codes: &mut [u8]) -> (f32, f32) {
        assert_eq!(values.len(), codes.len(), "a code for each value");
        (self.grid)(bits, scale, values, codes)
    }

    /// Rounds values to −127 to 127 steps. Returns the step, 0 if all values are, and the sum of the numbers. The same in
    /// every set. A value that is not finite makes all numbers 0.
    pub(super) fn round(&self, values: &[f32], rounded: &mut [i8]) -> (f32, i32) {
        assert_eq!(values.len(), rounded.len(), "a number for each value");
        (self.round)(values, rounded)
    }

    /// What a value of a scan by [`blocks`](Self::blocks) takes about, from one level of cache or another: for choosing what
    /// to do, not for showing.
    pub(super) fn scan_ns_per_value(&self) -> f64 {
        self.scan_ns_per_value
    }

    /// Asks for the cache lines of bytes that will be needed soon.
    pub fn fetch(&self, bytes: &[u8]) {
        (self.fetch)(bytes);
    }
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every set this CPU can run, from the plainest to the fastest.
pub fn available() -> Vec<Kernels> {
    #[cfg(target_arch = "x86_64")]
    let sets = [Some(scalar::SCALAR), x86::avx2(), x86::avx512(), x86::avx512_vnni()];
    #[cfg(target_arch = "aarch64")]
    let sets = [Some(scalar::SCALAR), arm::neon(), arm::dotprod()];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let sets = [Some(scalar::SCALAR)];
    sets.into_iter().flatten().collect()
}

/// The fastest set of this CPU; looked up once a process.
pub fn best() -> &'static Kernels {
    static BEST: LazyLock<Kernels> = LazyLock::new(|| available().pop().unwrap_or(scalar::SCALAR));
    &BEST
}

#[cfg(test)]
mod tests;
