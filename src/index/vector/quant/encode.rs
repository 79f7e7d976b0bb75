//! A rotated row to its code.
//!
//! Useful for: 100,000 rows of 384 values in about a second. Not for: what a code is good for (see [`super`]).

use super::Rotation;
use crate::index::vector::{
    codes::Bits,
    kernels::Kernels,
    metric::{self, Metric},
};

/// Assignments to the grid and new scales by turns. Three come within 0.1 % of the best cosine there is (a test compares
/// with all scales); more change the third digit of it.
const TURNS: usize = 3;

/// What stands beside a code: the score of a row is `factor × ⟨q, code⟩ + bias × lean + base` (see
/// [`Prepared`](super::Prepared)).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Terms {
    pub factor: f32,
    pub bias: f32,
}

/// A code of `bits` for a rotated row: one byte a value. Returns ⟨r, k⟩, 0 only for a row of zeros.
///
/// Extended RaBitQ looks for the grid point with the largest cosine over all scales; this takes nearest points and the best
/// scale for them by turns, from the scale that is best for normal values (Max, 1960, table of uniform quantizers).
pub(crate) fn encode(kernels: &Kernels, bits: Bits, rotated: &[f32], codes: &mut [u8]) -> f32 {
    let norm = kernels.dot(rotated, rotated);
    if norm == 0.0 || !norm.is_finite() {
        codes.fill(0);
        return 0.0;
    }
    let deviation = (norm / rotated.len() as f32).sqrt();
    // Half a step of the best uniform quantizer for a deviation of one; of 8 bits, whose step is a whole one, a step.
    let step = match bits {
        Bits::One => 0.7979,
        Bits::Two => 0.4979,
        Bits::Four => 0.1676,
        Bits::Eight => 0.0308,
    };
    let mut scale = step * deviation;
    for _ in 0..TURNS {
        let (dot, norm) = kernels.grid(bits, scale, rotated, codes);
        if norm == 0.0 {
            break;
        }
        scale = dot / norm;
    }
    kernels.grid(bits, scale, rotated, codes).0
}

/// Encodes the rows of one segment.
pub(crate) struct Encoder<'a> {
    pub kernels: &'a Kernels,
    pub metric: Metric,
    pub rotation: &'a Rotation,
    /// The centre, rotated.
    pub centre: &'a [f32],
}

impl Encoder<'_> {
    /// The row as it is encoded: a unit vector for the cosine, seen from the centre, rotated. Returns its squared length.
    pub fn residual(&self, row: &[f32], residual: &mut [f32]) -> f32 {
        residual.copy_from_slice(row);
        if self.metric == Metric::Cosine {
            metric::normalize(self.kernels, residual);
        }
        self.rotation.apply(self.kernels, residual);
        residual.iter_mut().zip(self.centre).for_each(|(value, centre)| *value -= centre);
        self.kernels.dot(residual, residual)
    }

    /// The greatest squared length of a row under an inner product, 1 for the cosine, 0 for squared distances.
    pub fn reach(&self, rows: &[&[f32]]) -> f32 {
        match self.metric {
            Metric::Dot => rows.iter().map(|row| self.kernels.dot(row, row)).fold(0.0, f32::max),
            Metric::Cosine => 1.0,
            Metric::L2 => 0.0,
        }
    }

    /// The code of a residual and what stands beside it.
    pub fn encode(&self, bits: Bits, residual: &[f32], codes: &mut [u8]) -> Terms {
        let norm = self.kernels.dot(residual, residual);
        let dot = encode(self.kernels, bits, residual, codes);
        let factor = if dot > 0.0 { norm / dot } else { 0.0 };
        let bias = match self.metric {
            Metric::Dot | Metric::Cosine => self.kernels.dot(self.centre, residual),
            Metric::L2 => norm,
        };
        Terms { factor, bias }
    }
}
