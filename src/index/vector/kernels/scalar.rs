//! The specification: what every other set computes, in plain Rust. Compilers turn it into the vector instructions every
//! CPU of the target has (SSE2, NEON).

use super::Kernels;

pub(super) const SCALAR: Kernels = Kernels { name: "scalar", dot, dot_rows };

/// Independent sums, so that one addition need not wait for the last.
const LANES: usize = 16;

/// Σ aᵢ × bᵢ: lane i mod 16 adds its products in f32, then the lanes are added in their order. A partial sum beyond ±3.4e38
/// becomes infinite, at any dim.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    for ((lane, a), b) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
        *lane += a * b;
    }
    lanes.iter().sum()
}

fn dot_rows(query: &[f32], rows: &[f32], scores: &mut [f32]) {
    for (row, score) in scores.iter_mut().enumerate() {
        *score = dot(query, &rows[row * query.len()..][..query.len()]);
    }
}
