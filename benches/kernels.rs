//! Speed of the vector core: `cargo bench --bench kernels`.
//!
//! Ratios between kernels of one run are what counts; times are those of one machine. State first what is possible: a scan
//! of rows that no cache holds takes bytes ÷ bandwidth of memory, whatever the kernel.

use std::{hint::black_box, ops::Deref, sync::Arc};

use divan::{Bencher, counter::ItemsCount};
use rag::index::vector::{
    Bits, NewRow, Segment, SegmentOptions, Set, Tombstones, encode_segment,
    kernels::{self, BlockQuery, Kernels, Rows},
};

fn main() {
    divan::main();
}

fn kernel_names() -> Vec<&'static str> {
    kernels::available().iter().map(Kernels::name).collect()
}

fn named(name: &str) -> Kernels {
    kernels::available().into_iter().find(|set| set.name() == name).expect("a set of this CPU")
}

/// Values from −0.5 to 0.5, the same in every run.
fn values(count: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

/// Memory whose first byte stands where a map would put it: rows that cross cache lines cost up to twice the time.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn copy(from: &[u8]) -> Self {
        let mut bytes = vec![0; from.len() + 64];
        let start = bytes.as_ptr().align_offset(64);
        bytes[start..][..from.len()].copy_from_slice(from);
        Self { bytes, start, length: from.len() }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..][..self.length]
    }
}

/// One query against one row, both in the nearest cache.
#[divan::bench(args = kernel_names(), consts = [256, 384, 768, 1024])]
fn dot<const DIM: usize>(bencher: Bencher<'_, '_>, name: &str) {
    let (kernels, query, row) = (named(name), values(DIM), Aligned::copy(bytemuck::cast_slice(&values(DIM))));
    let row = bytemuck::cast_slice(&row);
    bencher.bench_local(|| kernels.dot(black_box(&query), black_box(row)));
}

/// One query against 16 rows in one call, all in the nearest cache up to 384 values: time of a row is this ÷ 16.
#[divan::bench(args = kernel_names(), consts = [256, 384, 768, 1024])]
fn dot_rows<const DIM: usize>(bencher: Bencher<'_, '_>, name: &str) {
    let (kernels, query, rows) = (named(name), values(DIM), Aligned::copy(bytemuck::cast_slice(&values(16 * DIM))));
    let rows = bytemuck::cast_slice(&rows);
    let mut scores = [0.0; 16];
    bencher.counter(ItemsCount::new(16u32)).bench_local(|| {
        kernels.dot_rows(black_box(&query), black_box(rows), &mut scores);
        scores[15]
    });
}

/// One query against 10,000 rows of 384 values, 15 MB, by blocks of 64 rows.
#[divan::bench(args = kernel_names())]
fn scan(bencher: Bencher<'_, '_>, name: &str) {
    const DIM: usize = 384;
    let (kernels, query, rows) = (named(name), values(DIM), Aligned::copy(bytemuck::cast_slice(&values(10_000 * DIM))));
    let rows: &[f32] = bytemuck::cast_slice(&rows);
    let mut scores = [0.0; 64];
    bencher.counter(ItemsCount::new(10_000u32)).bench_local(|| {
        rows.chunks(64 * DIM).fold(f32::MIN, |best, block| {
            let scores = &mut scores[..block.len() / DIM];
            kernels.dot_rows(black_box(&query), block, scores);
            scores.iter().copied().fold(best, f32::max)
        })
    });
}

fn signed(count: usize) -> Vec<i8> {
    values(count).iter().map(|value| (value * 254.0) as i8).collect()
}

/// 32 of 64 rows of codes in the nearest cache, as a walk scores them: time of a row is this ÷ 32.
#[divan::bench(args = kernel_names(), consts = [1, 2, 4, 8])]
fn code_rows_384<const BITS: usize>(bencher: Bencher<'_, '_>, name: &str) {
    let bits = Bits::of(BITS).expect("1, 2, 4 or 8");
    let stride = (bits.row_bytes(384) + 8).next_multiple_of(64);
    let bytes =
        Aligned::copy(&signed(64 * stride).iter().map(|value| value.cast_unsigned() & 0x7f).collect::<Vec<_>>());
    let (kernels, query) = (named(name), signed(bits.padded(384)));
    let ids: Vec<u32> = (0..32).map(|at| at * 29 % 64).collect();
    let mut sums = [0; 32];
    bencher.counter(ItemsCount::new(32u32)).bench_local(|| {
        kernels.code_rows(bits, black_box(&query), Rows { bytes: &bytes, stride }, &ids, &mut sums);
        sums[31]
    });
}

/// Blocks of two-bit codes, 64 rows in the nearest cache and 100,000 that are not: time of a row is this ÷ rows.
#[divan::bench(args = kernel_names(), consts = [64, 100_000])]
fn blocks_384<const ROWS: usize>(bencher: Bencher<'_, '_>, name: &str) {
    const BLOCK: usize = 384 * 4 + 128;
    let bytes = Aligned::copy(bytemuck::cast_slice(&signed(ROWS / 16 * BLOCK)));
    let (kernels, query) = (named(name), signed(384));
    let query = BlockQuery { values: &query, scale: 1.0, offset: 0.0, lean: 0.0, base: 0.0 };
    let (mut scores, mut hits) = ([0.0; 256], [0; 16]);
    bencher.counter(ItemsCount::new(ROWS)).bench_local(|| {
        for run in bytes.chunks(16 * BLOCK) {
            let blocks = run.len() / BLOCK;
            let (scores, hits) = (&mut scores[..16 * blocks], &mut hits[..blocks]);
            kernels.blocks(black_box(&query), run, f32::INFINITY, scores, hits);
        }
    });
}

/// Ids in an order that says nothing of their rows.
fn set(dim: usize, count: usize) -> Set {
    let values = values(dim * count);
    let id = |row: usize| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let row = |(row, vector)| NewRow { id: id(row), hash: [0; 16], vector };
    let rows: Vec<_> = values.chunks(dim).enumerate().map(row).collect();
    let segment = Segment::open(Arc::new(Aligned::copy(&encode_segment(dim, &rows, &SegmentOptions::default()))))
        .expect("just written");
    Set::new(dim, vec![(segment, Tombstones::default())])
}

/// The ten best of 10,000 rows of 384 values: a scan, and what ranking adds to it.
#[divan::bench]
fn search(bencher: Bencher<'_, '_>) {
    let (set, query) = (set(384, 10_000), values(384));
    bencher.counter(ItemsCount::new(10_000u32)).bench_local(|| set.search(black_box(&query), 10, None));
}

/// The ten best of 100,000 rows of 384 values under a filter that allows one row of `args`.
#[divan::bench(args = [1, 2, 4, 16, 64, 256, 1024], sample_count = 20)]
fn filtered(bencher: Bencher<'_, '_>, one_of: usize) {
    let (set, query) = (set(384, 100_000), values(384));
    let mut allowed: Vec<u64> =
        set.parts()[0].0.ids().iter().copied().filter(|id| id.is_multiple_of(one_of as u64)).collect();
    allowed.sort_unstable();
    bencher.bench_local(|| set.search(black_box(&query), 10, Some(&allowed)));
}
