//! Which rows are worth scoring by their values, by what their codes say: none that may be among the best is left out, but
//! for one case in many.
//!
//! Each row comes with an upper bound of its score; the lower bound is as far on the other side of the estimate. A row
//! whose upper bound is below the k-th best lower bound is not among the best k, whatever the codes hide. How far the bounds
//! are apart is the margin of [`Prepared`](super::quant::Prepared): so the list is long where codes say little (few values
//! a row) and short where they say much.
//!
//! Useful for: rescoring as much as is needed and no more. Not for: scores.

use super::top::Top;

/// A row, by a number of the caller's, and its upper bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub key: u64,
    pub upper: f32,
}

#[derive(Debug, Default)]
pub(super) struct Shortlist {
    lower: Top,
    candidates: Vec<Candidate>,
    limit: usize,
    overflows: bool,
}

impl Shortlist {
    /// Candidates for each of k that may be worth it, and how many in any case. Where there are more, codes tell too little
    /// apart, and to score every row takes less time than to choose.
    const MOST: (usize, usize) = (16, 4096);

    /// Starts anew. `most`: how many rows can come at most.
    pub fn reset(&mut self, k: usize, most: usize) {
        self.lower.reset(k, most);
        self.candidates.clear();
        self.limit = k.saturating_mul(Self::MOST.0).max(Self::MOST.1);
        self.overflows = false;
    }

    /// There were more candidates than are worth it: those that are left are not all.
    pub fn overflows(&self) -> bool {
        self.overflows
    }

    /// The upper bound below which a row has no place.
    pub fn bar(&self) -> f32 {
        self.lower.bar()
    }

    pub fn offer(&mut self, candidate: Candidate, lower: f32) {
        // An upper bound that is not a number reaches nothing.
        let reaches = candidate.upper >= self.bar();
        if !reaches {
            return;
        }
        self.lower.offer(candidate.key, lower);
        self.candidates.push(candidate);
        if self.candidates.len() >= self.limit.saturating_mul(2) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let bar = self.bar();
        self.candidates.retain(|candidate| candidate.upper >= bar);
        if self.candidates.len() > self.limit {
            self.overflows = true;
            self.candidates.truncate(self.limit);
        }
    }

    /// Those that may be among the best, by falling upper bound; `None` if there were more than are worth it.
    pub fn sorted(&mut self) -> Option<&[Candidate]> {
        self.lower.settle();
        self.shrink();
        self.candidates.sort_unstable_by(rank);
        (!self.overflows).then_some(&self.candidates)
    }
}

fn rank(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.upper.total_cmp(&a.upper).then(a.key.cmp(&b.key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortlist(k: usize, rows: impl Iterator<Item = (f32, f32)>) -> Vec<u64> {
        let mut list = Shortlist::default();
        list.reset(k, usize::MAX);
        for (key, (estimate, margin)) in (0..).zip(rows) {
            list.offer(Candidate { key, upper: estimate + margin }, estimate - margin);
        }
        list.sorted().unwrap().iter().map(|candidate| candidate.key).collect()
    }

    #[test]
    fn what_may_be_among_the_best_stays() {
        let scores = || (0..100).map(|score| score as f32);
        assert_eq!(shortlist(3, scores().map(|score| (score, 0.0))), [99, 98, 97]);
        assert_eq!(shortlist(3, scores().map(|score| (score, 1.0))), [99, 98, 97, 96, 95]);
        assert_eq!(shortlist(3, scores().rev().map(|score| (score, 1.0))), [0, 1, 2, 3, 4]);
        assert_eq!(shortlist(200, scores().map(|score| (score, 1.0))).len(), 100);
        assert_eq!(shortlist(1, [(f32::NAN, 1.0), (1.0, 0.0), (0.0, 0.5)].into_iter()), [1]);
    }

    #[test]
    fn it_never_grows_without_end_and_says_so() {
        let mut list = Shortlist::default();
        list.reset(2, usize::MAX);
        for key in 0..100_000 {
            list.offer(Candidate { key, upper: key as f32 + 1e6 }, key as f32 - 1e6);
            assert!(list.candidates.len() <= 2 * Shortlist::MOST.1);
        }
        assert!(list.overflows() && list.sorted().is_none());
        list.reset(2, usize::MAX);
        assert!(!list.overflows() && list.sorted().unwrap().is_empty());
    }
}
