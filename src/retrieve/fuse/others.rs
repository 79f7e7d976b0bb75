//! The other fusions a user may ask for: reciprocal ranks, min-max, and distribution-based.

use super::{Candidate, Fused, convex, sorted};
use crate::types::Score;

/// Softens the first ranks of RRF. Cormack, Clarke, Büttcher, SIGIR 2009.
pub(in crate::retrieve) const RRF_K: f32 = 60.0;
/// What a chunk scores that is first in both lists.
pub(in crate::retrieve) const RRF_UNIT: f32 = 2.0 / (RRF_K + 1.0);
/// DBSF: so many standard deviations below the mean are 0, above it 1.
pub(in crate::retrieve) const DBSF_DEVIATIONS: f32 = 3.0;
/// Where all scores of a leg are equal they say nothing: each counts the middle.
const NO_INFORMATION: f32 = 0.5;

/// Reciprocal rank fusion: `2α / (60 + dense rank) + 2(1 − α) / (60 + lexical rank)`, ranks from 1, 0 for a list that did
/// not bring the chunk. With `alpha` one half this is the formula of Cormack, Clarke, Büttcher, SIGIR 2009.
pub(in crate::retrieve) fn rrf(candidates: &[Candidate], alpha: f32) -> Vec<Fused> {
    let part = |rank: Option<usize>| rank.map_or(0.0, |rank| 1.0 / (RRF_K + rank as f32));
    let fuse = |candidate: &Candidate| {
        let (lexical, dense) = (part(candidate.lexical_rank), part(candidate.dense_rank));
        // Normalised parts are shares of what the first rank brings.
        let share = |part: f32| part * (RRF_K + 1.0);
        Fused {
            candidate: *candidate,
            score: 2.0 * (alpha * dense + (1.0 - alpha) * lexical),
            lexical: share(lexical),
            dense: share(dense),
        }
    };
    sorted(candidates.iter().map(fuse).collect())
}

/// Convex sum of both legs after `(score − min) / (max − min)` over the completed lists. A chunk without a vector has the
/// lowest cosine.
pub(in crate::retrieve) fn weighted(candidates: &[Candidate], alpha: f32) -> Vec<Fused> {
    let scale = |scores: &dyn Fn(&Candidate) -> Option<Score>| {
        let low = candidates.iter().filter_map(scores).fold(f32::INFINITY, f32::min);
        let high = candidates.iter().filter_map(scores).fold(f32::NEG_INFINITY, f32::max);
        move |score: Option<Score>| match score {
            None => 0.0,
            Some(_) if high <= low => NO_INFORMATION,
            Some(score) => ((score - low) / (high - low)).clamp(0.0, 1.0),
        }
    };
    let (lexical, dense) = (scale(&|c| Some(c.bm25)), scale(&|c| c.cosine));
    convex(candidates, alpha, |c| (lexical(Some(c.bm25)), dense(c.cosine)))
}

/// Distribution-based fusion: mean − 3 standard deviations (of the completed list, population) is 0, mean + 3 is 1, cut
/// at both ends; then the convex sum. A chunk without a vector counts 0 in the dense leg.
pub(in crate::retrieve) fn dbsf(candidates: &[Candidate], alpha: f32) -> Vec<Fused> {
    let scale = |scores: &dyn Fn(&Candidate) -> Option<Score>| {
        let known: Vec<f64> = candidates.iter().filter_map(scores).map(f64::from).collect();
        let count = known.len().max(1) as f64;
        let mean = known.iter().sum::<f64>() / count;
        let deviation = (known.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / count).sqrt();
        let reach = f64::from(DBSF_DEVIATIONS) * deviation;
        move |score: Option<Score>| match score {
            None => 0.0,
            Some(_) if reach <= f64::EPSILON * mean.abs() => NO_INFORMATION,
            Some(score) => (((f64::from(score) - mean + reach) / (2.0 * reach)) as f32).clamp(0.0, 1.0),
        }
    };
    let (lexical, dense) = (scale(&|c| Some(c.bm25)), scale(&|c| c.cosine));
    convex(candidates, alpha, |c| (lexical(Some(c.bm25)), dense(c.cosine)))
}
