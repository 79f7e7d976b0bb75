//! The `k` best of a stream of scores, in memory that depends on `k` alone.
//!
//! Useful for: one pass over many rows of which nearly all are too bad. Not for: rows without a limit.

use super::metric::Scored;

/// Keeps up to 2k candidates; when they are full the worse half goes and the worst that stays becomes the bar. O(1) a row,
/// amortised, against O(log k) of a heap, and nearly every row only meets the bar.
#[derive(Debug, Default)]
pub(super) struct Top {
    k: usize,
    bar: Option<Scored>,
    kept: Vec<Scored>,
}

impl Top {
    /// Starts anew. `most`: how many rows can come at most.
    pub fn reset(&mut self, k: usize, most: usize) {
        self.k = k.min(most);
        self.bar = None;
        self.kept.clear();
        self.kept.reserve(self.k.saturating_mul(2).min(most));
    }

    /// The score below which [`offer`](Self::offer) has no use for a row.
    pub fn bar(&self) -> f32 {
        self.bar.map_or(f32::NEG_INFINITY, |bar| bar.score)
    }

    pub fn offer(&mut self, id: u64, score: f32) {
        let Some(scored) = Scored::new(id, score) else { return };
        if self.k == 0 || self.bar.is_some_and(|bar| scored.rank(&bar).is_gt()) {
            return;
        }
        self.kept.push(scored);
        if self.kept.len() >= self.k.saturating_mul(2) {
            self.settle();
        }
    }

    /// Makes the bar that of what came so far, if k came.
    pub fn settle(&mut self) {
        if self.kept.len() >= self.k && self.k > 0 {
            let (_, worst, _) = self.kept.select_nth_unstable_by(self.k - 1, Scored::rank);
            self.bar = Some(*worst);
            self.kept.truncate(self.k);
        }
    }

    /// The best, best first, in place of what was in `out`.
    pub fn sorted_into(&mut self, out: &mut Vec<(u64, f32)>) {
        self.kept.sort_unstable_by(Scored::rank);
        self.kept.truncate(self.k);
        out.clear();
        out.extend(self.kept.iter().map(|scored| (scored.id, scored.score)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(k: usize, scores: &[f32]) -> Vec<(u64, f32)> {
        let (mut top, mut sorted) = (Top::default(), Vec::new());
        top.reset(k, scores.len());
        for (id, &score) in scores.iter().enumerate() {
            top.offer(id as u64, score);
        }
        top.sorted_into(&mut sorted);
        sorted
    }

    #[test]
    fn keeps_the_best_whatever_the_order() {
        let up: Vec<f32> = (0..100).map(|i| i as f32).collect();
        let down: Vec<f32> = up.iter().rev().copied().collect();
        for k in [0, 1, 2, 3, 50, 99, 100, 101, usize::MAX] {
            let expected: Vec<f32> = down.iter().take(k).copied().collect();
            for scores in [&up, &down] {
                assert_eq!(top(k, scores).iter().map(|hit| hit.1).collect::<Vec<_>>(), expected, "k = {k}");
            }
        }
    }

    #[test]
    fn ties_go_to_the_smaller_id_and_nan_goes_nowhere() {
        assert_eq!(top(3, &[1.0; 20]), [(0, 1.0), (1, 1.0), (2, 1.0)]);
        assert_eq!(top(2, &[f32::NAN, -0.0, 0.0, f32::NAN]), [(1, 0.0), (2, 0.0)]);
        assert!(top(2, &[-0.0])[0].1.is_sign_positive());
        assert_eq!(top(2, &[f32::NEG_INFINITY, f32::NAN, f32::INFINITY]), [(2, f32::INFINITY), (0, f32::NEG_INFINITY)]);
        assert_eq!(top(2, &[f32::NAN; 9]), []);
    }
}
