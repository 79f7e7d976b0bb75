//! x86-64: AVX2 with FMA, AVX-512, and AVX-512 with VNNI. Three tables, each the one before with what it does better.
//!
//! All hold several sums of a row in registers, so that an addition need not wait for the one before, and f32 kernels work
//! on several rows at once, so that a value of the query is loaded once for all of them.
//!
//! A row's f32 sums are added in an order that depends on the dimension alone, never on how many rows go together: the same
//! function, with another number of rows, is the single product. Accumulators are f32: a partial sum beyond ±3.4e38 becomes
//! infinite, at any dim. Integer kernels state at each narrow sum why it cannot overflow.
#![allow(unsafe_code)]

mod avx2;
mod avx512;

use std::arch::x86_64::*;

pub(super) use avx2::avx2;
pub(super) use avx512::{avx512, avx512_vnni};

/// What the f32 kernels add up.
mod term {
    pub const DOT: u8 = 0;
    pub const L2: u8 = 1;
}

/// Sums a row of f32: enough that an addition need not wait for the one before.
const SUMS: usize = 4;

/// How many rows before it is needed a row of a batch is fetched. Measured: 5 to 20 % less time over 10,000 and 100,000 rows
/// of 384 values with 4, less gain with 8, none with 16, and none lost where the rows are in the nearest cache.
const AHEAD: usize = 4;
/// The same for rows of codes that stand anywhere: eight of them are on their way while one is summed.
const CODES_AHEAD: usize = 8;
/// The same for blocks of codes, which follow each other.
const BLOCKS_AHEAD: usize = 8;
const LINE: usize = 64;

/// `ROWS` rows from row `first` on.
fn group<const ROWS: usize>(rows: &[f32], dim: usize, first: usize) -> [&[f32]; ROWS] {
    std::array::from_fn(|row| &rows[(first + row) * dim..][..dim])
}

/// Asks for the cache line of a row's value `at`, [`AHEAD`] rows further on.
#[inline(always)]
fn fetch_ahead(row: &[f32], at: usize) {
    fetch_line(row.as_ptr().wrapping_add(at + AHEAD * row.len()).cast());
}

#[inline(always)]
fn fetch_line(at: *const u8) {
    // SAFETY: a prefetch reads nothing and cannot fault, wherever it points; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

#[inline(always)]
fn fetch_bytes(at: *const u8, bytes: usize) {
    let mut line = 0;
    while line < bytes {
        fetch_line(at.wrapping_add(line));
        line += LINE;
    }
}

fn fetch(bytes: &[u8]) {
    fetch_bytes(bytes.as_ptr(), bytes.len());
}
