//! x86-64: AVX2 with FMA, and AVX-512F. Both hold four sums of a row in registers and work on several rows at once, so that
//! a value of the query is loaded once for all of them.
//!
//! A row's sums are added in an order that depends on the dimension alone, never on how many rows go together: the same
//! function, with another number of rows, is the single dot product. Accumulators are f32: a partial sum beyond ±3.4e38
//! becomes infinite, at any dim.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::Kernels;

/// Sums a row: enough that an addition need not wait for the one before.
const SUMS: usize = 4;

pub(super) fn avx2() -> Option<Kernels> {
    let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    has.then_some(Kernels {
        name: "avx2",
        dot: |a, b| {
            // SAFETY: this table leaves the function only if avx2 and fma were detected on this CPU.
            let [score] = unsafe { avx2_rows(a, [b]) };
            score
        },
        dot_rows: |query, rows, scores| {
            // SAFETY: as above.
            unsafe { avx2_dot_rows(query, rows, scores) }
        },
    })
}

pub(super) fn avx512() -> Option<Kernels> {
    is_x86_feature_detected!("avx512f").then_some(Kernels {
        name: "avx512",
        dot: |a, b| {
            // SAFETY: this table leaves the function only if avx512f was detected on this CPU.
            let [score] = unsafe { avx512_rows(a, [b]) };
            score
        },
        dot_rows: |query, rows, scores| {
            // SAFETY: as above.
            unsafe { avx512_dot_rows(query, rows, scores) }
        },
    })
}

/// `count` rows from row `first` on.
fn group<const ROWS: usize>(rows: &[f32], dim: usize, first: usize) -> [&[f32]; ROWS] {
    std::array::from_fn(|row| &rows[(first + row) * dim..][..dim])
}

#[target_feature(enable = "avx2,fma")]
fn avx2_dot_rows(query: &[f32], rows: &[f32], scores: &mut [f32]) {
    let (groups, rest) = scores.as_chunks_mut::<2>();
    let rest_from = 2 * groups.len();
    for (index, scores) in groups.iter_mut().enumerate() {
        *scores = avx2_rows(query, group(rows, query.len(), 2 * index));
    }
    for (index, score) in rest.iter_mut().enumerate() {
        [*score] = avx2_rows(query, group(rows, query.len(), rest_from + index));
    }
}

#[target_feature(enable = "avx512f")]
fn avx512_dot_rows(query: &[f32], rows: &[f32], scores: &mut [f32]) {
    let (groups, rest) = scores.as_chunks_mut::<4>();
    let rest_from = 4 * groups.len();
    for (index, scores) in groups.iter_mut().enumerate() {
        *scores = avx512_rows(query, group(rows, query.len(), 4 * index));
    }
    for (index, score) in rest.iter_mut().enumerate() {
        [*score] = avx512_rows(query, group(rows, query.len(), rest_from + index));
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn avx2_rows<const ROWS: usize>(query: &[f32], rows: [&[f32]; ROWS]) -> [f32; ROWS] {
    const LANES: usize = 8;
    let dim = query.len();
    for row in rows {
        assert_eq!(row.len(), dim, "length of a row");
    }
    // SAFETY: callers pass `at` with `at + LANES <= values.len()`.
    let load = |values: &[f32], at: usize| unsafe { _mm256_loadu_ps(values.as_ptr().add(at)) };
    let mut sums = [[_mm256_setzero_ps(); SUMS]; ROWS];
    let mut at = 0;
    while at + SUMS * LANES <= dim {
        for sum in 0..SUMS {
            let values = load(query, at + sum * LANES);
            for row in 0..ROWS {
                sums[row][sum] = _mm256_fmadd_ps(values, load(rows[row], at + sum * LANES), sums[row][sum]);
            }
        }
        at += SUMS * LANES;
    }
    while at + LANES <= dim {
        let values = load(query, at);
        for row in 0..ROWS {
            sums[row][0] = _mm256_fmadd_ps(values, load(rows[row], at), sums[row][0]);
        }
        at += LANES;
    }
    if at < dim {
        // A rest shorter than a register is moved to one that is zero elsewhere.
        let padded = |values: &[f32]| {
            let mut lanes = [0.0; LANES];
            lanes[..dim - at].copy_from_slice(&values[at..]);
            load(&lanes, 0)
        };
        let values = padded(query);
        for row in 0..ROWS {
            sums[row][1] = _mm256_fmadd_ps(values, padded(rows[row]), sums[row][1]);
        }
    }
    sums.map(|[a, b, c, d]| {
        let eight = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
        let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
    })
}

#[target_feature(enable = "avx512f")]
#[inline]
fn avx512_rows<const ROWS: usize>(query: &[f32], rows: [&[f32]; ROWS]) -> [f32; ROWS] {
    const LANES: usize = 16;
    let dim = query.len();
    for row in rows {
        assert_eq!(row.len(), dim, "length of a row");
    }
    // SAFETY: callers pass `at` with `at + LANES <= values.len()`.
    let load = |values: &[f32], at: usize| unsafe { _mm512_loadu_ps(values.as_ptr().add(at)) };
    let mut sums = [[_mm512_setzero_ps(); SUMS]; ROWS];
    let mut at = 0;
    while at + SUMS * LANES <= dim {
        for sum in 0..SUMS {
            let values = load(query, at + sum * LANES);
            for row in 0..ROWS {
                sums[row][sum] = _mm512_fmadd_ps(values, load(rows[row], at + sum * LANES), sums[row][sum]);
            }
        }
        at += SUMS * LANES;
    }
    while at + LANES <= dim {
        let values = load(query, at);
        for row in 0..ROWS {
            sums[row][0] = _mm512_fmadd_ps(values, load(rows[row], at), sums[row][0]);
        }
        at += LANES;
    }
    if at < dim {
        let lanes: __mmask16 = (1 << (dim - at)) - 1;
        // SAFETY: the mask has a bit for each value from `at` on, and memory behind a bit that is not set is not read.
        let rest = |values: &[f32]| unsafe { _mm512_maskz_loadu_ps(lanes, values.as_ptr().add(at)) };
        let values = rest(query);
        for row in 0..ROWS {
            sums[row][1] = _mm512_fmadd_ps(values, rest(rows[row]), sums[row][1]);
        }
    }
    sums.map(|[a, b, c, d]| _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d))))
}
