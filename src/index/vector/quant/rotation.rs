//! A random rotation that costs O(dim × log dim): signs and Hadamard transforms, in rounds.
//!
//! Useful for: making every direction alike, so that a grid fits all of them. Not for: hiding anything.

use crate::index::vector::kernels::Kernels;

/// Rounds of signs and a transform: two for each end of a vector.
const ROUNDS: usize = 4;

/// The rotation of format 1 for a dimension: always the same.
///
/// Each round flips signs, then transforms the first w values, or the last w in every second one, w being the largest power of
/// two that is not larger than dim; where the two windows overlap they mix. Every step keeps lengths, so their product does.
/// Sums are added in one order on every machine: the same bits everywhere. (As FhtKacRotator of the RaBitQ library, without
/// its last step.)
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    /// ±1, `ROUNDS` times `dim`.
    signs: Vec<f32>,
    window: usize,
    dim: usize,
}

impl Rotation {
    pub fn new(dim: usize) -> Self {
        let bits = |word: usize| splitmix(word as u64);
        let sign = |at: usize| if bits(at / 64) >> (at % 64) & 1 == 0 { 1.0 } else { -1.0 };
        let window = if dim == 0 { 0 } else { 1 << dim.ilog2() };
        Self { signs: (0..ROUNDS * dim).map(sign).collect(), window, dim }
    }

    /// Rotates in place. Panics if there are not `dim` values.
    pub fn apply(&self, kernels: &Kernels, values: &mut [f32]) {
        assert_eq!(values.len(), self.dim, "values to rotate");
        if self.dim > 0 {
            kernels.rotate(&self.signs, self.window, values);
        }
    }
}

/// The numbers of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) from seed 0.
pub(crate) fn splitmix(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
