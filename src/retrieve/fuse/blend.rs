//! The centroid-zero blend: the default fusion, with its language gate and code weight.
//!
//! All constants are the recipe's (design page RETRIEVAL, sections 1 and 2: measured on 14 collections with
//! all-MiniLM-L6-v2 int8); leaving one collection out moved none of them by more than .007 nDCG@10.

use super::{Candidate, Fused, convex};
use crate::types::Score;

/// Weight of the dense leg where nothing speaks for or against it: flat around .5 in every collection.
pub const DENSE_WEIGHT: f32 = 0.5;
/// Added where all top candidates are code: a question in words shares few words with code.
pub(in crate::retrieve) const CODE_WEIGHT: f32 = 0.25;
/// Fertility at which the encoder's trust is gone (Spanish 1.9, German 2.3, Russian 6).
pub(in crate::retrieve) const FERTILITY_END: f32 = 2.1;
/// From full trust (1.5: English prose and code) to none.
pub(in crate::retrieve) const FERTILITY_WIDTH: f32 = 0.6;
/// The dense leg keeps so much, so that it still orders what no word tells apart.
pub(in crate::retrieve) const LEAST_DENSE_WEIGHT: f32 = 0.02;
/// A chunk is code-like above this share of code characters (functions .08–.21, prose under .05).
pub(in crate::retrieve) const CODE_SHARE: f32 = 0.065;
/// So many first candidates of each leg are looked at for fertility and code.
pub(in crate::retrieve) const LOOKED_AT: usize = 10;

/// What the first candidates say of the collection's language and kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::retrieve) struct Gate {
    /// Median fertility of the first candidates.
    pub fertility: f32,
    /// Share of code-like ones among them, 0 where the query names an identifier.
    pub code: f32,
    /// How far the encoder knows the language: 1 whole, 0 not at all.
    pub trust: f32,
}

/// Reads the gate from (fertility, code share) of each leg's first candidates, in their order; only the first
/// [`LOOKED_AT`] count. A multilingual encoder is always trusted.
pub(in crate::retrieve) fn gate(
    lexical: &[(f32, f32)],
    dense: &[(f32, f32)],
    identifier: bool,
    multilingual: bool,
) -> Gate {
    let first = |leg: &[(f32, f32)]| leg.get(..LOOKED_AT).unwrap_or(leg).to_vec();
    let (lexical, dense) = (first(lexical), first(dense));
    let speakers = if lexical.is_empty() { &dense } else { &lexical };
    let fertility = median(speakers.iter().map(|(fertility, _)| *fertility).collect());
    let seen = lexical.len() + dense.len();
    let code_like = lexical.iter().chain(&dense).filter(|(_, share)| *share > CODE_SHARE).count();
    let code = if identifier || seen == 0 { 0.0 } else { code_like as f32 / seen as f32 };
    let trust = if multilingual { 1.0 } else { ((FERTILITY_END - fertility) / FERTILITY_WIDTH).clamp(0.0, 1.0) };
    Gate { fertility, code, trust }
}

/// The middle value, or the mean of the two in the middle; 0 of nothing. Values that are no number are left out.
fn median(mut values: Vec<f32>) -> f32 {
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f32::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle.wrapping_sub(1)), values.get(middle)) {
        (Some(below), Some(above)) if values.len().is_multiple_of(2) => (below + above) / 2.0,
        (_, Some(middle)) => *middle,
        (_, None) => 0.0,
    }
}

/// The dense leg's weight: `(alpha + 0.25 · code) · trust`, in 0.02..=1.
pub(in crate::retrieve) fn weight(alpha: Option<f32>, gate: Gate) -> f32 {
    ((alpha.unwrap_or(DENSE_WEIGHT) + CODE_WEIGHT * gate.code) * gate.trust).clamp(LEAST_DENSE_WEIGHT, 1.0)
}

/// The blend's numbers for one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::retrieve) struct Blend {
    /// Weight of the dense leg, 0..=1.
    pub weight: f32,
    /// Dot product of the query with the mean of all chunk vectors: the cosine of an average chunk, which counts 0.
    pub zero: f32,
}

impl Blend {
    /// `w · D + (1 − w) · L` with `D = max(0, cos − zero) / (max cos − zero)` and `L = bm25 / max bm25`; a side whose
    /// maximum is not above its zero is 0 for all. O(n log n).
    pub fn fuse(self, candidates: &[Candidate]) -> Vec<Fused> {
        let most = |values: &mut dyn Iterator<Item = Score>| values.fold(0.0f32, f32::max);
        let top_lexical = most(&mut candidates.iter().map(|c| c.bm25));
        let above_zero = |c: &Candidate| c.cosine.map_or(0.0, |cosine| (cosine - self.zero).max(0.0));
        let top_dense = most(&mut candidates.iter().map(above_zero));
        let share = |value: f32, top: f32| if top > 0.0 { (value / top).clamp(0.0, 1.0) } else { 0.0 };
        convex(candidates, self.weight, |c| (share(c.bm25, top_lexical), share(above_zero(c), top_dense)))
    }
}
