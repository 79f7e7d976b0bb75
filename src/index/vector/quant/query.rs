//! A query as the codes of a segment see it.
//!
//! Useful for: turning a sum of codes into an estimate of a score. Not for: the sum (see
//! [`kernels`](crate::index::vector::kernels)).

use super::{Rotation, Terms};
use crate::index::vector::{
    codes::Bits,
    kernels::{BlockQuery, Kernels},
    metric::{self, Metric},
};

/// A query that was rotated: once for all segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct RotatedQuery {
    values: Vec<f32>,
    /// |q|².
    squared: f32,
}

impl RotatedQuery {
    pub fn set(&mut self, kernels: &Kernels, metric: Metric, rotation: &Rotation, query: &[f32]) {
        self.values.clear();
        self.values.extend_from_slice(query);
        if metric == Metric::Cosine {
            metric::normalize(kernels, &mut self.values);
        }
        self.squared = kernels.dot(&self.values, &self.values);
        rotation.apply(kernels, &mut self.values);
    }

    pub fn squared(&self) -> f32 {
        self.squared
    }
}

/// A query for the codes of one segment, with q the query, c the centre and r a row, all rotated and seen from the origin.
///
/// Inner product: q = lean × c + v with v across c, so ⟨q, r + c⟩ = ⟨v, r⟩ + lean × ⟨c, r⟩ + ⟨q, c⟩; only ⟨v, r⟩ is
/// estimated, and v is as short as it can be. Squared distance: −|q − c − r|² = 2⟨q − c, r⟩ − |r|² − |q − c|².
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    /// v in signed bytes, padded with zeros.
    values: Vec<i8>,
    across: Vec<f32>,
    step: f32,
    sum: i32,
    /// |v|, doubled for squared distances as the step is.
    length: f32,
    lean: f32,
    base: f32,
    is_distance: bool,
    /// |q| + |c|, or more.
    reach: f32,
}

/// Scores and how far off they may be (see [`proof`](crate::index::vector::proof)).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    step: f32,
    lean: f32,
    base: f32,
    rounding: f32,
    length: f32,
    slack: f32,
    reach: f32,
}

impl Bounds {
    /// Of a row with this sum of codes: the score, and what it may be off by.
    pub fn of(&self, sum: i32, scale: f32, length: f32, hidden: f32, bias: f32) -> (f32, f32) {
        let score = scale * self.step * sum as f32 + bias * self.lean + self.base;
        let all = self.reach + length + hidden;
        (score, self.rounding * length + self.length * hidden + self.slack * all * all)
    }
}

impl Prepared {
    /// `padded`: how many values the kernel wants.
    pub fn set(&mut self, kernels: &Kernels, metric: Metric, query: &RotatedQuery, centre: &[f32], padded: usize) {
        let lean = match metric {
            Metric::Dot | Metric::Cosine => {
                let norm = kernels.dot(centre, centre);
                let along = kernels.dot(&query.values, centre);
                self.base = along;
                self.lean = if norm > 0.0 { along / norm } else { 0.0 };
                self.lean
            }
            Metric::L2 => {
                self.base = -kernels.l2(&query.values, centre);
                self.lean = -1.0;
                1.0
            }
        };
        self.across.clear();
        self.across.extend(query.values.iter().zip(centre).map(|(query, centre)| query - lean * centre));
        self.values.clear();
        self.values.resize(padded, 0);
        (self.step, self.sum) = kernels.round(&self.across, &mut self.values[..self.across.len()]);
        self.length = kernels.dot(&self.across, &self.across).sqrt();
        self.is_distance = metric == Metric::L2;
        self.reach = query.squared.sqrt() + kernels.dot(centre, centre).sqrt();
        if metric == Metric::L2 {
            self.step *= 2.0;
            self.length *= 2.0;
        }
    }

    pub fn values(&self) -> &[i8] {
        &self.values
    }

    /// What turns a sum of codes into ⟨v, code⟩: sum × scale + offset. A code is u × 2 − (2^bits − 1), of 8 bits a number.
    fn linear(&self, bits: Bits) -> (f32, f32) {
        match bits {
            Bits::Eight => (self.step, 0.0),
            Bits::One | Bits::Two | Bits::Four => {
                let shift = (1 << bits.count()) - 1;
                (2.0 * self.step, -(shift as f32) * self.step * self.sum as f32)
            }
        }
    }

    /// How far from ⟨v, code⟩ lies what a score should be, times `deviations`: factor × this is the margin of a row.
    pub fn margin(&self, bits: Bits, deviations: f32) -> f32 {
        deviations * self.length * super::hidden(bits, self.across.len())
    }

    /// For upper bounds: estimates that are `margin` higher.
    pub fn blocks(&self, margin: f32) -> BlockQuery<'_> {
        let (scale, offset) = self.linear(Bits::Two);
        BlockQuery { values: &self.values, scale, offset: offset + margin, lean: self.lean, base: self.base }
    }

    /// For scores that are bounded on both sides.
    pub fn bounds(&self) -> Bounds {
        // The step is doubled for squared distances, and so is v.
        let doubled = self.is_distance;
        let step = if doubled { self.step / 2.0 } else { self.step };
        let rounded = self.values.iter().map(|&value| f64::from(step) * f64::from(value));
        let off = |(value, rounded): (&f32, f64)| (f64::from(*value) - rounded).powi(2);
        let off = self.across.iter().zip(rounded).map(off).sum::<f64>().sqrt() as f32;
        Bounds {
            step: self.step,
            lean: self.lean,
            base: self.base,
            rounding: if doubled { 2.0 * off } else { off }.next_up(),
            length: self.length.next_up(),
            // As many roundings as there are values, of what is as long as query, centre and row together.
            slack: self.across.len() as f32 * f32::EPSILON,
            reach: self.reach,
        }
    }

    /// The estimated score of a row from its sum of codes.
    pub fn estimator(&self, bits: Bits) -> impl Fn(i32, Terms) -> f32 + use<> {
        let (scale, offset) = self.linear(bits);
        let (lean, base) = (self.lean, self.base);
        move |sum, Terms { factor, bias }| factor * (sum as f32 * scale + offset) + bias * lean + base
    }
}
