//! Which value of a setting to propose: a better one only where that is no accident. Pure.

use super::compare::{Comparison, compare};

/// A setting is not changed for less.
pub const MIN_GAIN: f64 = 0.01;
/// A proposal is wrong once in so many settings that make no difference.
const SIGNIFICANT: f64 = 0.05;
/// Means this near to the best are as good.
const AS_GOOD: f64 = 0.01;

/// Values of a setting against the current one.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Of each value tried.
    pub comparisons: Vec<Comparison>,
    /// The one to propose: its place among those tried. `None`: keep the current one.
    pub best: Option<usize>,
    /// Places of all that are better beyond chance.
    pub better: Vec<usize>,
}

/// Chooses the value with the highest mean, if it gains at least [`MIN_GAIN`] and is better than the current one at the
/// 5 % level, corrected for the number of values tried (Bonferroni). `current`, `tried`: the same metric for the same
/// questions.
pub fn choose(current: &[f64], tried: &[Vec<f64>]) -> Choice {
    let comparisons: Vec<Comparison> = tried.iter().map(|values| compare(current, values)).collect();
    let gain = |at: &usize| comparisons[*at].difference.mean;
    let better = better(&comparisons);
    let best = better.iter().copied().max_by(|a, b| gain(a).total_cmp(&gain(b)).then(b.cmp(a)));
    Choice { comparisons, best, better }
}

/// As [`choose`], of values that cost more and more: the first that is as good as the best, within a hundredth.
pub fn choose_least(current: &[f64], tried: &[Vec<f64>]) -> Choice {
    let comparisons: Vec<Comparison> = tried.iter().map(|values| compare(current, values)).collect();
    let better = better(&comparisons);
    let gain = |at: &usize| comparisons[*at].difference.mean;
    let most = better.iter().map(gain).fold(0.0, f64::max);
    let best = better.iter().find(|at| gain(at) >= most - AS_GOOD - 1e-9).copied();
    Choice { comparisons, best, better }
}

/// Places of those that are better for sure.
fn better(comparisons: &[Comparison]) -> Vec<usize> {
    let tests = comparisons.len() as f64;
    let is_better = |one: &Comparison| one.difference.mean >= MIN_GAIN && one.p * tests < SIGNIFICANT;
    (0..comparisons.len()).filter(|&at| is_better(&comparisons[at])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ones` of a hundred questions are answered.
    fn answered(ones: usize) -> Vec<f64> {
        (0..100).map(|i| if i < ones { 1.0 } else { 0.0 }).collect()
    }

    #[test]
    fn only_what_is_surely_better_is_proposed() {
        let best =
            |tried: &[usize]| choose(&answered(50), &tried.iter().map(|ones| answered(*ones)).collect::<Vec<_>>()).best;
        assert_eq!(best(&[40, 70, 80]), Some(2));
        assert_eq!(best(&[52, 49]), None, "two questions are an accident");
        assert_eq!(best(&[]), None);
        // Six of six have p = 1/32: significant alone, not among ten.
        assert_eq!(best(&[56]), Some(0));
        assert_eq!(best(&[56, 50, 50, 50, 50, 50, 50, 50, 50, 50]), None);
        // Better everywhere, but by nothing to speak of.
        let all: Vec<f64> = answered(50).iter().map(|value| value + 0.005).collect();
        assert_eq!(choose(&answered(50), &[all]).best, None);
    }

    #[test]
    fn of_equals_the_least_is_enough() {
        let tried: Vec<Vec<f64>> = [40, 60, 79, 80, 80].into_iter().map(answered).collect();
        assert_eq!(choose_least(&answered(50), &tried).best, Some(2));
        assert_eq!(choose_least(&answered(80), &tried).best, None);
    }
}
