//! Maximal marginal relevance: results that are good and unlike those already chosen. Pure.
//!
//! Carbonell, Goldstein, SIGIR 1998: next is the candidate with the most
//! `λ · relevance − (1 − λ) · max similarity to the chosen`. Not for: dropping exact duplicates, which stay, only lower.

/// The order in which the first `wanted` of `scores.len()` candidates are chosen: indices. `scores` are 0..1 and sorted best
/// first; `similarity(i, j)` is a cosine. Ties go to the better place. O(wanted × n) similarities.
pub(super) fn mmr(
    scores: &[f32],
    lambda: f32,
    wanted: usize,
    mut similarity: impl FnMut(usize, usize) -> f32,
) -> Vec<usize> {
    let mut left: Vec<usize> = (0..scores.len()).collect();
    // The highest similarity of each candidate to any chosen one.
    let mut nearest = vec![0.0f32; scores.len()];
    let mut chosen: Vec<usize> = Vec::with_capacity(wanted.min(scores.len()));
    while chosen.len() < wanted && !left.is_empty() {
        let worth = |i: usize| lambda * scores[i] - (1.0 - lambda) * nearest[i];
        let mut best = 0;
        for (at, &i) in left.iter().enumerate().skip(1) {
            if worth(i) > worth(left[best]) {
                best = at;
            }
        }
        let next = left.remove(best);
        chosen.push(next);
        for &i in &left {
            let near = similarity(i, next);
            if near > nearest[i] {
                nearest[i] = near;
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Unit vectors in the plane, by angle in degrees.
    fn cosine(angles: &[f32]) -> impl FnMut(usize, usize) -> f32 + '_ {
        |i, j| (angles[i] - angles[j]).to_radians().cos()
    }

    #[test]
    fn by_hand() {
        let scores = [1.0, 0.95, 0.6, 0.1];
        let angles = [0.0, 2.0, 90.0, 91.0];
        for (lambda, want) in [
            (1.0, vec![0, 1, 2, 3]),
            // .5·.95 − .5·.999 < 0 < .5·.6
            (0.5, vec![0, 2, 1, 3]),
            // Diversity alone: after the first, the one at the widest angle; its own likeness (−.017) counts as none.
            (0.0, vec![0, 2, 1, 3]),
        ] {
            assert_eq!(mmr(&scores, lambda, 4, cosine(&angles)), want, "{lambda}");
        }
        assert_eq!(mmr(&scores, 0.5, 2, cosine(&angles)), [0, 2]);
        assert_eq!(mmr(&[], 0.5, 3, cosine(&[])), [] as [usize; 0]);
    }

    proptest! {
        #[test]
        fn a_permutation_that_begins_with_the_best(
            mut scores in prop::collection::vec(0.0..=1.0f32, 1..30),
            angles in prop::collection::vec(0.0..360.0f32, 30),
            lambda in 0.0..=1.0f32,
        ) {
            scores.sort_by(|a, b| b.total_cmp(a));
            let order = mmr(&scores, lambda, scores.len(), cosine(&angles));
            prop_assert_eq!(order[0], 0);
            let mut all = order.clone();
            all.sort_unstable();
            prop_assert_eq!(all, (0..scores.len()).collect::<Vec<_>>());
            let shorter = mmr(&scores, lambda, scores.len() / 2, cosine(&angles));
            prop_assert_eq!(&shorter[..], &order[..scores.len() / 2]);
            if lambda == 1.0 {
                prop_assert!(order.is_sorted());
            }
        }
    }
}
