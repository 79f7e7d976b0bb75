//! Vectors as a few bits a value, and what a query can tell of them: extended RaBitQ.
//!
//! A row x is seen from the centre c of its segment and rotated: r = R(x − c). Its code k is the point of a grid of odd
//! numbers whose direction is nearest to r, and `⟨r, r⟩ / ⟨r, k⟩ × ⟨q, k⟩` estimates ⟨q, r⟩ without bias over rotations
//! (Gao and Long, arXiv:2405.12497, equation 20 for one bit; Gao and others, arXiv:2409.09913, section 3 for more). The
//! query is rounded to signed bytes, so all sums are integers. Nothing is trained: the centre is the mean.
//!
//! Useful for: scores that are good enough to choose what is scored again. Not for: scores that are shown.

mod encode;
mod query;
mod rotation;

use super::{codes::Bits, kernels::Kernels, metric::Metric};

pub(super) use encode::{Encoder, Terms, encode};
pub(super) use query::{Prepared, RotatedQuery};
pub(super) use rotation::{Rotation, splitmix};

/// The mean of rows as they are encoded, rotated. The rows may be any; near them is better.
pub(super) fn centre(kernels: &Kernels, metric: Metric, rotation: &Rotation, rows: &[&[f32]]) -> Vec<f32> {
    let dim = rows.first().map_or(0, |row| row.len());
    let mut sum = vec![0.0_f64; dim];
    for row in rows {
        let length = match metric {
            Metric::Cosine => f64::from(kernels.dot(row, row)).sqrt(),
            Metric::Dot | Metric::L2 => 1.0,
        };
        if length > 0.0 {
            sum.iter_mut().zip(*row).for_each(|(sum, &value)| *sum += f64::from(value) / length);
        }
    }
    let mut centre: Vec<f32> = sum.iter().map(|sum| (sum / rows.len() as f64) as f32).collect();
    rotation.apply(kernels, &mut centre);
    centre
}

/// One standard deviation of what a code hides, for a query of length 1, before the row's factor: `|k| √(1 − o²) / √(dim −
/// 1)` with o the cosine of row and code.
///
/// For a code k whose direction has the cosine o to its row, the estimate is off by `√((1 − o²) / o²) × g / √(dim − 1)` of
/// |q||r|, where g exceeds ε in one case of exp(ε² / 2) at most (arXiv:2405.12497, theorem 3.2); with |r| = factor × o × |k|
/// that is this times the factor. o and |k| are those of a rotated row, whose values are nearly normal: distortion and mean
/// square of the best uniform quantizer (Max, 1960). The query's own rounding is smaller by far and within it.
pub(super) fn hidden(bits: Bits, dim: usize) -> f32 {
    let (distortion, mean_square) = match bits {
        Bits::One => (0.363_4, 1.0),
        Bits::Two => (0.118_8, 3.555),
        Bits::Four => (0.011_54, 35.2),
        Bits::Eight => (0.000_11, 1054.0),
    };
    let dim = dim.max(2) as f32;
    (mean_square * distortion * dim / (dim - 1.0)).sqrt()
}

#[cfg(test)]
mod tests;
