//! Maximal marginal relevance: results that are good and unlike those already chosen. Pure.
//!
//! Carbonell, Goldstein, SIGIR 1998: next is the candidate with the most
//! `λ · relevance − (1 − λ) · max similarity to the chosen`. Not for: dropping exact duplicates, which stay, only lower.

/// The order in which candidates are chosen, one at a time: indices of `scores`, which are 0..1 and sorted best first.
/// `similarity(i, j)` is a cosine. Ties go to the better place. O(candidates) similarities for each that is taken.
pub(super) struct Mmr<'s, S> {
    scores: &'s [f32],
    lambda: f32,
    similarity: S,
    left: Vec<usize>,
    /// The highest similarity of each candidate to any chosen one.
    nearest: Vec<f32>,
    /// The one chosen last, with which nothing was compared yet.
    last: Option<usize>,
}

impl<'s, S: FnMut(usize, usize) -> f32> Mmr<'s, S> {
    pub fn new(scores: &'s [f32], lambda: f32, similarity: S) -> Self {
        let count = scores.len();
        Self { scores, lambda, similarity, left: (0..count).collect(), nearest: vec![0.0; count], last: None }
    }
}

impl<S: FnMut(usize, usize) -> f32> Iterator for Mmr<'_, S> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Self { scores, lambda, similarity, left, nearest, last } = self;
        if let Some(last) = last.take() {
            for &i in left.iter() {
                let near = similarity(i, last);
                if near > nearest[i] {
                    nearest[i] = near;
                }
            }
        }
        let worth = |i: usize| *lambda * scores[i] - (1.0 - *lambda) * nearest[i];
        let mut best = 0;
        for (at, &i) in left.iter().enumerate().skip(1) {
            if worth(i) > worth(left[best]) {
                best = at;
            }
        }
        if left.is_empty() {
            return None;
        }
        let next = left.remove(best);
        *last = Some(next);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mmr(scores: &[f32], lambda: f32, wanted: usize, similarity: impl FnMut(usize, usize) -> f32) -> Vec<usize> {
        Mmr::new(scores, lambda, similarity).take(wanted).collect()
    }

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
