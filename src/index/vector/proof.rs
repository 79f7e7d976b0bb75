//! Exact search by codes of eight bits: what they hide is bounded for each row, so a row whose upper bound is below the k-th
//! best score is proven not to be among the best.
//!
//! Useful for: the true answer from a fourth of the bytes. Not for: less than the true answer (see
//! [`blocks`](super::blocks)).
//!
//! For a row r of a code k with the scale s, and a query v rounded to w: `⟨v, r⟩ = s ⟨w, k⟩ + ⟨v − w, s k⟩ + ⟨v, r − s k⟩`, so
//! the first term is off by no more than `|v − w||s k| + |v||r − s k|` (Cauchy and Schwarz), and what f32 rounds.

use super::{
    codes::Bits,
    kernels::{Kernels, Rows},
    parallel::for_each_chunk,
    quant::{self, Encoder, Prepared},
};

const LINE: usize = 64;
/// Scale, |s k|, |r − s k| and bias, f32, the last bytes of a row. They may stand where the query is padded with zeros.
const TERM_BYTES: usize = 16;
/// Rows that go to the kernel at once.
const RUN: usize = 64;

/// Bytes of a row.
pub(super) const fn stride(dim: usize) -> usize {
    let used = dim + TERM_BYTES;
    let padded = Bits::Eight.padded(dim);
    (if used > padded { used } else { padded }).next_multiple_of(LINE)
}

/// The section of codes for these rows.
pub(super) fn encode(encoder: &Encoder<'_>, rows: &[&[f32]], threads: usize) -> Vec<u8> {
    const TURN: usize = 256;
    let dim = encoder.centre.len();
    let stride = stride(dim);
    let mut bytes = vec![0; rows.len() * stride];
    let buffers = || (vec![0.0; dim], vec![0; dim]);
    for_each_chunk(threads, &mut bytes, TURN * stride, buffers, |(residual, values), first, bytes| {
        for (row, bytes) in rows[first / stride..].iter().zip(bytes.chunks_exact_mut(stride)) {
            encoder.residual(row, residual);
            let bias = encoder.encode(Bits::Eight, residual, values).bias;
            let dot = quant::encode(encoder.kernels, Bits::Eight, residual, values);
            let points = || values.iter().map(|&value| f64::from(value.cast_signed()));
            let squares: f64 = points().map(|point| point * point).sum();
            let scale = if squares > 0.0 { (f64::from(dot) / squares) as f32 } else { 0.0 };
            let hidden = |(value, point): (&f32, f64)| (f64::from(*value) - f64::from(scale) * point).powi(2);
            let hidden = residual.iter().zip(points()).map(hidden).sum::<f64>().sqrt();
            bytes[..dim].copy_from_slice(values);
            let length = f64::from(scale) * squares.sqrt();
            // Rounded up, so that bounds stay bounds.
            let terms = [scale, (length as f32).next_up(), (hidden as f32).next_up(), bias];
            for (at, term) in terms.into_iter().enumerate() {
                bytes[stride - TERM_BYTES + 4 * at..][..4].copy_from_slice(&term.to_le_bytes());
            }
        }
    });
    bytes
}

/// Offers row, upper and lower bound of every row whose upper bound reaches the bar that `offer` gave last; an infinite one
/// ends the scan. Returns how many rows were looked at.
pub(super) fn scan(
    kernels: &Kernels,
    query: &Prepared,
    codes: &[u8],
    dim: usize,
    mut bar: f32,
    mut offer: impl FnMut(usize, f32, f32) -> f32,
) -> usize {
    let stride = stride(dim);
    let bytes = Rows { bytes: codes, stride };
    let bounds = query.bounds();
    let (mut ids, mut sums) = ([0_u32; RUN], [0; RUN]);
    let rows = codes.len() / stride;
    let mut first = 0;
    while first < rows && bar < f32::INFINITY {
        let count = RUN.min(rows - first);
        for (at, id) in ids[..count].iter_mut().enumerate() {
            *id = (first + at) as u32;
        }
        kernels.code_rows(Bits::Eight, query.values(), bytes, &ids[..count], &mut sums[..count]);
        for (at, &sum) in sums[..count].iter().enumerate() {
            let end = (first + at + 1) * stride;
            let terms = codes[end - TERM_BYTES..end].as_chunks::<4>().0;
            let [scale, length, hidden, bias] = std::array::from_fn(|term| f32::from_le_bytes(terms[term]));
            let (score, off) = bounds.of(sum, scale, length, hidden, bias);
            if score + off >= bar {
                bar = offer(first + at, score + off, score - off);
            }
        }
        first += count;
    }
    first
}
