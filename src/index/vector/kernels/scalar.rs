//! The specification: what every other set computes, in plain Rust. Compilers turn it into the vector instructions every
//! CPU of the target has (SSE2, NEON).

use super::{BlockQuery, Kernels, Rows};
use crate::index::vector::codes::{self, BLOCK_ROWS, Bits};

pub(super) const SCALAR: Kernels = Kernels {
    name: "scalar",
    dot,
    dot_rows: |query, rows, scores| each_row(dot, query, rows, scores),
    l2,
    l2_rows: |query, rows, distances| each_row(l2, query, rows, distances),
    code_rows: [
        |query, rows, ids, sums| code_rows(Bits::One, query, rows, ids, sums),
        |query, rows, ids, sums| code_rows(Bits::Two, query, rows, ids, sums),
        |query, rows, ids, sums| code_rows(Bits::Four, query, rows, ids, sums),
        |query, rows, ids, sums| code_rows(Bits::Eight, query, rows, ids, sums),
    ],
    blocks,
    rotate,
    grid,
    round,
    fetch: |_| {},
    scan_ns_per_value: 0.4,
};

/// Independent sums, so that one addition need not wait for the last.
const LANES: usize = 16;

/// Σ aᵢ × bᵢ: lane i mod 16 adds its products in f32, then the lanes are added in their order. A partial sum beyond ±3.4e38
/// becomes infinite, at any dim.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    sum(a, b, |a, b| a * b)
}

/// Σ (aᵢ − bᵢ)², added as in [`dot`].
fn l2(a: &[f32], b: &[f32]) -> f32 {
    sum(a, b, |a, b| (a - b) * (a - b))
}

#[inline(always)]
fn sum(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += term(a[lane], b[lane]);
        }
    }
    for ((lane, &a), &b) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
        *lane += term(a, b);
    }
    lanes.iter().sum()
}

fn each_row(term: fn(&[f32], &[f32]) -> f32, query: &[f32], rows: &[f32], scores: &mut [f32]) {
    for (row, score) in scores.iter_mut().enumerate() {
        *score = term(query, &rows[row * query.len()..][..query.len()]);
    }
}

/// Signs, then a transform of the first window and of the last by turns.
#[inline(always)]
pub(super) fn rotate(signs: &[f32], window: usize, values: &mut [f32]) {
    let last = values.len() - window;
    for (round, signs) in signs.chunks_exact(values.len()).enumerate() {
        values.iter_mut().zip(signs).for_each(|(value, sign)| *value *= sign);
        let start = if round % 2 == 0 { 0 } else { last };
        hadamard(&mut values[start..start + window]);
    }
}

/// Pairs of values become sum and difference: first those half a window apart, then a quarter, and so on.
#[inline(always)]
fn hadamard(values: &mut [f32]) {
    let mut half = values.len() / 2;
    while half >= LANES {
        for pair in values.chunks_exact_mut(2 * half) {
            let (a, b) = pair.split_at_mut(half);
            for (a, b) in a.as_chunks_mut::<LANES>().0.iter_mut().zip(b.as_chunks_mut::<LANES>().0) {
                // Whole before it is stored: else a compiler takes it value by value.
                let sums: [f32; LANES] = std::array::from_fn(|lane| a[lane] + b[lane]);
                let differences: [f32; LANES] = std::array::from_fn(|lane| a[lane] - b[lane]);
                (*a, *b) = (sums, differences);
            }
        }
        half /= 2;
    }
    // Pairs that are less than a vector register apart. Whole registers are turned in place; fewer values are those of a
    // window that is shorter than one.
    let (registers, rest) = values.as_chunks_mut::<LANES>();
    for values in registers {
        *values = crossed::<1>(crossed::<2>(crossed::<4>(crossed::<8>(*values))));
    }
    while half > 0 && !rest.is_empty() {
        for pair in rest.chunks_exact_mut(2 * half) {
            let (a, b) = pair.split_at_mut(half);
            for (a, b) in a.iter_mut().zip(b) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half /= 2;
    }
    let scale = 1.0 / (values.len() as f32).sqrt();
    values.iter_mut().for_each(|value| *value *= scale);
}

/// Sums and differences of values `HALF` apart: as two additions, of a value and of its negative, each of a whole register.
#[inline(always)]
fn crossed<const HALF: usize>(values: [f32; LANES]) -> [f32; LANES] {
    let other: [f32; LANES] = std::array::from_fn(|lane| values[lane ^ HALF]);
    let signed: [f32; LANES] = std::array::from_fn(|lane| if lane & HALF == 0 { values[lane] } else { -values[lane] });
    std::array::from_fn(|lane| other[lane] + signed[lane])
}

/// A float of this size has whole numbers as its steps: adding it rounds to the nearest, halves to even, and the low bits
/// are the number itself, in two's complement. Holds for values within ±2²².
const MIDDLE: f32 = 12_582_912.0;

/// Sums a lane each, in the order of the values, then the lanes in their order.
#[inline(always)]
pub(super) fn grid(bits: Bits, scale: f32, values: &[f32], codes: &mut [u8]) -> (f32, f32) {
    let inverse = 1.0 / scale;
    match bits {
        Bits::Eight => points(values, codes, |value| {
            let moved = (value * inverse).clamp(-127.0, 127.0) + MIDDLE;
            (moved.to_bits() as u8, moved - MIDDLE)
        }),
        Bits::One | Bits::Two | Bits::Four => {
            let half = (1 << (bits.count() - 1)) as f32;
            points(values, codes, |value| {
                // Odd number 2 u − (2 half − 1) for the code u.
                let moved = (value * inverse * 0.5 + (half - 0.5)).clamp(0.0, 2.0 * half - 1.0) + MIDDLE;
                (moved.to_bits() as u8, 2.0 * (moved - MIDDLE) - (2.0 * half - 1.0))
            })
        }
    }
}

#[inline(always)]
fn points(values: &[f32], codes: &mut [u8], point: impl Fn(f32) -> (u8, f32)) -> (f32, f32) {
    let (mut dots, mut norms) = ([0.0; LANES], [0.0; LANES]);
    let ((values, rest), (codes, codes_rest)) = (values.as_chunks::<LANES>(), codes.as_chunks_mut::<LANES>());
    for (values, codes) in values.iter().zip(codes) {
        for lane in 0..LANES {
            let (code, number) = point(values[lane]);
            codes[lane] = code;
            dots[lane] += values[lane] * number;
            norms[lane] += number * number;
        }
    }
    for (lane, (&value, code)) in rest.iter().zip(codes_rest).enumerate() {
        let (own, number) = point(value);
        *code = own;
        dots[lane] += value * number;
        norms[lane] += number * number;
    }
    (dots.iter().sum(), norms.iter().sum())
}

/// The step is the largest magnitude ÷ 127.
#[inline(always)]
pub(super) fn round(values: &[f32], rounded: &mut [i8]) -> (f32, i32) {
    let mut largest = [0.0_f32; LANES];
    let mut finite = [0.0_f32; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            let magnitude = chunk[lane].abs();
            largest[lane] = if magnitude > largest[lane] { magnitude } else { largest[lane] };
            // Stays zero unless a value is infinite or no number.
            finite[lane] += chunk[lane] * 0.0;
        }
    }
    let largest = largest.iter().chain(rest).fold(0.0_f32, |most, value| most.max(value.abs()));
    let finite: f32 = finite.iter().sum::<f32>() + rest.iter().map(|value| value * 0.0).sum::<f32>();
    let step = largest / 127.0;
    let inverse = 1.0 / step;
    if finite != 0.0 || !inverse.is_finite() {
        rounded.fill(0);
        return (0.0, 0);
    }
    let number = |value: f32| {
        let moved = (value * inverse).clamp(-127.0, 127.0) + MIDDLE;
        (moved.to_bits() as u8, moved - MIDDLE)
    };
    // Whole numbers below 2²⁴: exact in f32.
    let mut sums = [0.0_f32; LANES];
    let (rounded, rounded_rest) = rounded.as_chunks_mut::<LANES>();
    for (chunk, rounded) in chunks.iter().zip(rounded) {
        for lane in 0..LANES {
            let (bits, number) = number(chunk[lane]);
            rounded[lane] = bits.cast_signed();
            sums[lane] += number;
        }
    }
    for (lane, (&value, rounded)) in rest.iter().zip(rounded_rest).enumerate() {
        let (bits, number) = number(value);
        *rounded = bits.cast_signed();
        sums[lane] += number;
    }
    (step, sums.iter().map(|&sum| sum as i32).sum())
}

/// Σ code × query by [`Bits::place`], in i32. 255 × 127 × 65,536 < 2³¹.
fn code_rows(bits: Bits, query: &[i8], rows: Rows<'_>, ids: &[u32], sums: &mut [i32]) {
    let mask = u8::MAX >> (8 - bits.count());
    for (&id, sum) in ids.iter().zip(sums) {
        let row = &rows.bytes[id as usize * rows.stride..][..rows.stride];
        let code = |value: usize| {
            let (byte, shift) = bits.place(value);
            let code = row[byte] >> shift & mask;
            if bits == Bits::Eight { i32::from(code.cast_signed()) } else { i32::from(code) }
        };
        *sum = query.iter().enumerate().map(|(value, &query)| code(value) * i32::from(query)).sum();
    }
}

/// Sums by [`codes::block_place`] in i32, then the formula of [`BlockQuery`] in f32, one rounding an operation.
fn blocks(query: &BlockQuery<'_>, blocks: &[u8], bar: f32, scores: &mut [f32], hits: &mut [u16]) {
    let block_bytes = codes::block_bytes(query.values.len());
    let each = blocks.chunks_exact(block_bytes).zip(scores.chunks_exact_mut(BLOCK_ROWS)).zip(hits);
    for ((block, scores), hits) in each {
        let (factors, biases) = codes::block_terms(block);
        *hits = 0;
        for (row, score) in scores.iter_mut().enumerate() {
            let code = |value: usize| {
                let (byte, shift) = codes::block_place(row, value);
                i32::from(block[byte] >> shift & 3)
            };
            let sum: i32 = query.values.iter().enumerate().map(|(value, &query)| code(value) * i32::from(query)).sum();
            let sum = sum as f32 * query.scale + query.offset;
            *score = factors[row] * sum + biases[row] * query.lean + query.base;
            *hits |= u16::from(*score >= bar) << row;
        }
    }
}
