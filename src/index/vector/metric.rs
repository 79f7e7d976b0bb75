//! What a score is and which of two is better. The one metric is the dot product: for vectors of length 1 it is the cosine,
//! and the order is that of Euclidean distance.
//!
//! Useful for: comparing results. Not for: many rows at once (see [`kernels`](super::kernels)).

use std::cmp::Ordering;

use super::kernels;

/// Dot product by the best kernel of this CPU. Lengths must be equal; panics if they are not. The same two slices give the
/// same bits as [`Set::search`](super::Set::search) does.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    kernels::best().dot(a, b)
}

/// One row that was scored. The score is a number, and never −0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub id: u64,
    pub score: f32,
}

impl Scored {
    /// `None` for a score that is not a number: it has no place in an order.
    pub fn new(id: u64, score: f32) -> Option<Self> {
        // −0 + 0 is 0, so that equal scores have equal bits.
        (!score.is_nan()).then_some(Self { id, score: score + 0.0 })
    }

    /// Best first: by falling score, then by rising id. A total order.
    pub fn rank(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.id.cmp(&other.id))
    }
}
