//! Dot products in f32, one set of kernels an instruction set, chosen once by what the CPU has.
//!
//! Useful for: one query against many rows that stand one after the other. Not for: ranking (see [`Set`](super::Set)).
//!
//! Within one set the score of a query and a row is always the same bits: alone or among others, wherever the row stands.
//! Two sets may differ in the last bits, for they add in another order. [`scalar`] is the specification of what they
//! compute; a new set is a file that makes a [`Kernels`], and a line in [`available`].

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::{fmt, sync::LazyLock};

/// The kernels of one instruction set.
#[derive(Clone, Copy)]
pub struct Kernels {
    name: &'static str,
    dot: fn(&[f32], &[f32]) -> f32,
    dot_rows: fn(&[f32], &[f32], &mut [f32]),
}

impl Kernels {
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Sum of the products. Panics if the lengths differ.
    pub fn dot(&self, a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len(), "lengths of two vectors");
        (self.dot)(a, b)
    }

    /// Scores of one query and many rows that stand one after the other: `scores[i]` becomes the dot product with row i.
    /// `rows` has `query.len() × scores.len()` values; panics if not.
    pub fn dot_rows(&self, query: &[f32], rows: &[f32], scores: &mut [f32]) {
        assert_eq!(Some(rows.len()), query.len().checked_mul(scores.len()), "values of the rows");
        (self.dot_rows)(query, rows, scores);
    }
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every set this CPU can run, from the plainest to the fastest.
pub fn available() -> Vec<Kernels> {
    #[cfg(target_arch = "x86_64")]
    let sets = [Some(scalar::SCALAR), x86::avx2(), x86::avx512()];
    #[cfg(not(target_arch = "x86_64"))]
    let sets = [Some(scalar::SCALAR)];
    sets.into_iter().flatten().collect()
}

/// The fastest set of this CPU; looked up once a process.
pub fn best() -> &'static Kernels {
    static BEST: LazyLock<Kernels> = LazyLock::new(|| available().pop().unwrap_or(scalar::SCALAR));
    &BEST
}

#[cfg(test)]
mod tests;
