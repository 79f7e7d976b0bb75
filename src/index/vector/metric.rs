//! What a score is and which of two is better. Higher is better for every metric.
//!
//! Useful for: comparing results. Not for: many rows at once (see [`kernels`](super::kernels)).

use std::cmp::Ordering;

use super::kernels::{self, Kernels};

/// How two vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Metric {
    /// ⟨q, x⟩. For vectors of length 1 it is the cosine, and the order is that of Euclidean distance.
    #[default]
    Dot,
    /// −|q − x|²: the negated square of the Euclidean distance.
    L2,
    /// ⟨q, x⟩ / |q||x|; 0 where one of them has no length.
    Cosine,
}

impl Metric {
    /// The number in a segment's header.
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Dot => 1,
            Self::L2 => 2,
            Self::Cosine => 3,
        }
    }

    pub(super) fn from_code(code: u32) -> Option<Self> {
        [Self::Dot, Self::L2, Self::Cosine].into_iter().find(|metric| metric.code() == code)
    }

    /// The score of one row. Lengths must be equal; panics if they are not.
    pub(super) fn score(self, kernels: &Kernels, query: &[f32], row: &[f32]) -> f32 {
        match self {
            Self::Dot => kernels.dot(query, row),
            Self::L2 => -kernels.l2(query, row),
            Self::Cosine => cosine(kernels.dot(query, row), kernels.dot(query, query), kernels.dot(row, row)),
        }
    }

    /// Scores rows that stand one after the other, each as [`score`](Self::score) does.
    pub(super) fn score_rows(self, kernels: &Kernels, query: &[f32], rows: &[f32], scores: &mut [f32]) {
        match self {
            Self::Dot => kernels.dot_rows(query, rows, scores),
            Self::L2 => {
                kernels.l2_rows(query, rows, scores);
                scores.iter_mut().for_each(|score| *score = -*score);
            }
            Self::Cosine => {
                kernels.dot_rows(query, rows, scores);
                let norm = kernels.dot(query, query);
                for (score, row) in scores.iter_mut().zip(rows.chunks_exact(query.len())) {
                    *score = cosine(*score, norm, kernels.dot(row, row));
                }
            }
        }
    }
}

/// Lengths are multiplied in f64: the product of two squares may not fit f32.
fn cosine(dot: f32, a: f32, b: f32) -> f32 {
    let lengths = (f64::from(a) * f64::from(b)).sqrt();
    if lengths > 0.0 { (f64::from(dot) / lengths) as f32 } else { 0.0 }
}

/// Makes a vector one of length 1; one without length stays.
pub(super) fn normalize(kernels: &Kernels, vector: &mut [f32]) {
    let length = kernels.dot(vector, vector).sqrt();
    if length > 0.0 && length.is_finite() {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

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
