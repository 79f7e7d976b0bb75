//! Is one configuration better than another, or are these questions too few to tell? Paired over questions.

use super::{
    bootstrap::{Estimate, estimate},
    random::{Random, SEED},
};

/// Random flips of signs; with fewer questions that differ than [`EXACT`] all of them are counted.
const FLIPS: u32 = 10_000;
const EXACT: usize = 13;
/// Sums that differ by less are the same sum, added up in another order.
const SAME: f64 = 1e-12;

/// What one configuration gives over another, in one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Mean difference, with its 95 % interval.
    pub difference: Estimate,
    /// How often a difference at least as large would come if the two were alike: two-sided paired randomization test
    /// (Fisher, 1935; Smucker, Allan, Carterette, CIKM 2007).
    pub p: f64,
    /// Questions that it answers better, alike, and worse.
    pub better: usize,
    pub alike: usize,
    pub worse: usize,
}

/// Compares the values of one metric for the same questions in the same order: `new` over `old`. The seed is fixed.
pub fn compare(old: &[f64], new: &[f64]) -> Comparison {
    assert_eq!(old.len(), new.len(), "the same questions");
    let differences: Vec<f64> = new.iter().zip(old).map(|(new, old)| new - old).collect();
    let count = |is: &dyn Fn(f64) -> bool| differences.iter().filter(|difference| is(**difference)).count();
    let rows: Vec<Vec<f64>> = differences.iter().map(|difference| vec![*difference]).collect();
    Comparison {
        difference: estimate(&rows).pop().unwrap_or_default(),
        p: p_value(&differences),
        better: count(&|difference| difference > SAME),
        alike: count(&|difference| difference.abs() <= SAME),
        worse: count(&|difference| difference < -SAME),
    }
}

/// Of no difference at all it is 1.
fn p_value(differences: &[f64]) -> f64 {
    let moved: Vec<f64> = differences.iter().copied().filter(|difference| difference.abs() > SAME).collect();
    let seen = moved.iter().sum::<f64>().abs();
    let as_large = |flips: &mut dyn FnMut() -> bool| {
        let sum: f64 = moved.iter().map(|difference| if flips() { -difference } else { *difference }).sum();
        sum.abs() >= seen - SAME
    };
    if moved.len() <= EXACT {
        let all = 1u32 << moved.len();
        let large = (0..all).filter(|signs| {
            let mut at = 0;
            as_large(&mut || {
                at += 1;
                signs >> (at - 1) & 1 == 1
            })
        });
        return large.count() as f64 / f64::from(all);
    }
    let mut random = Random::new(SEED);
    let large = (0..FLIPS).filter(|_| {
        let (mut bits, mut left) = (0, 0);
        as_large(&mut || {
            if left == 0 {
                (bits, left) = (random.next(), u64::BITS);
            }
            left -= 1;
            bits >> left & 1 == 1
        })
    });
    // The order that was seen is one of them.
    (large.count() + 1) as f64 / f64::from(FLIPS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_are_exact() {
        for (old, new, want) in [
            (&[0.0, 0.0, 0.0][..], &[1.0, 1.0, 1.0][..], 2.0 / 8.0),
            (&[0.0, 0.0, 1.0], &[1.0, 1.0, 0.0], 1.0),
            (&[0.5, 0.5], &[0.5, 0.5], 1.0),
            (&[], &[], 1.0),
            // Sums of ±1 ±1 ±1 ±2 that reach 3: 5 in two ways, 3 in two times three.
            (&[0.0; 4], &[1.0, 1.0, -1.0, 2.0], 8.0 / 16.0),
        ] {
            assert_eq!(compare(old, new).p, want, "{old:?} {new:?}");
        }
        let made = compare(&[0.0, 0.5, 1.0], &[0.5, 0.5, 0.0]);
        assert_eq!((made.better, made.alike, made.worse), (1, 1, 1));
        assert!((made.difference.mean + 1.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn many_questions_are_sampled() {
        let old = vec![0.0; 100];
        let same: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 0.1 } else { -0.1 }).collect();
        assert!(compare(&old, &same).p > 0.9);
        assert!(compare(&old, &vec![0.1; 100]).p < 0.001);
        // Sixty of a hundred: the sign test has .057.
        let sixty: Vec<f64> = (0..100).map(|i| if i < 60 { 0.1 } else { -0.1 }).collect();
        let p = compare(&old, &sixty).p;
        assert!((0.045..0.07).contains(&p), "{p}");
        assert_eq!(p, compare(&old, &sixty).p);
    }
}
