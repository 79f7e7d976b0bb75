//! How far a mean over questions may be off: percentile bootstrap.

use super::random::{Random, SEED};

/// Samples drawn. An end of the interval has an error of about 2 % of its width.
const SAMPLES: usize = 10_000;

/// A mean with the interval that holds 95 % of the means of samples of as many questions, drawn with replacement (Efron,
/// 1979). Of no question all three are 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// Estimates the mean of each column. `rows`: a row a question. The seed is fixed and the samples are the same for all
/// columns, so equal rows give equal bits. O(10,000 × rows × columns).
pub fn estimate(rows: &[Vec<f64>]) -> Vec<Estimate> {
    let columns = rows.first().map_or(0, Vec::len);
    let count = rows.len() as f64;
    let mut random = Random::new(SEED);
    let mut means = vec![Vec::with_capacity(SAMPLES); columns];
    let mut sums = vec![0.0; columns];
    for _ in 0..SAMPLES {
        sums.fill(0.0);
        for _ in 0..rows.len() {
            let row = &rows[random.below(rows.len())];
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        means.iter_mut().zip(&sums).for_each(|(means, sum)| means.push(sum / count));
    }
    let mean = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / count;
    let of = |(at, mut means): (usize, Vec<f64>)| {
        means.sort_by(f64::total_cmp);
        Estimate { mean: mean(at), low: quantile(&means, 0.025), high: quantile(&means, 0.975) }
    };
    means.into_iter().enumerate().map(of).collect()
}

/// So many of so many: one question's part of a share.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Share {
    pub part: f64,
    pub whole: f64,
}

/// Estimates shares that are sums over questions: of citations, or of the questions of one kind. `rows`: a row a question, a
/// column a share. `None`: no question has anything of it. Same samples as [`estimate`], a sample without anything of a
/// share is left out of it.
pub fn estimate_shares(rows: &[Vec<Share>], columns: usize) -> Vec<Option<Estimate>> {
    let mut random = Random::new(SEED);
    let mut shares = vec![Vec::with_capacity(SAMPLES); columns];
    let mut sums = vec![Share::default(); columns];
    for _ in 0..if rows.is_empty() { 0 } else { SAMPLES } {
        sums.fill(Share::default());
        for _ in 0..rows.len() {
            let row = &rows[random.below(rows.len())];
            sums.iter_mut().zip(row).for_each(|(sum, share)| sum.add(*share));
        }
        shares.iter_mut().zip(&sums).for_each(|(shares, sum)| shares.extend(sum.value()));
    }
    let of = |(at, mut shares): (usize, Vec<f64>)| {
        let mut whole = Share::default();
        rows.iter().for_each(|row| whole.add(row[at]));
        let mean = whole.value()?;
        shares.sort_by(f64::total_cmp);
        // One question of many may be in no sample at all.
        let end = |share: f64| if shares.is_empty() { mean } else { quantile(&shares, share) };
        Some(Estimate { mean, low: end(0.025), high: end(0.975) })
    };
    shares.into_iter().enumerate().map(of).collect()
}

impl Share {
    fn add(&mut self, other: Self) {
        self.part += other.part;
        self.whole += other.whole;
    }

    /// `None` where there is no whole.
    pub fn value(self) -> Option<f64> {
        (self.whole > 0.0).then(|| self.part / self.whole)
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_normal_one_where_there_are_many() {
        // Half zeros, half ones: standard error .5 ÷ √400 = .025.
        let rows: Vec<Vec<f64>> = (0..400).map(|i| vec![f64::from(i % 2), 0.7]).collect();
        let found = estimate(&rows);
        assert_eq!(found[0].mean, 0.5);
        assert!((found[0].low - 0.451).abs() < 0.004 && (found[0].high - 0.549).abs() < 0.004, "{found:?}");
        assert!([found[1].mean, found[1].low, found[1].high].iter().all(|x| (x - 0.7).abs() < 1e-12));
        assert_eq!(found, estimate(&rows));
    }

    #[test]
    fn shares_are_of_sums_and_not_of_means() {
        // Nine of ten citations in one answer, none of two in the other: 9 of 12.
        let row =
            |part: f64, whole: f64| vec![Share { part, whole }, Share::default(), Share { part: 1.0, whole: 1.0 }];
        let found = estimate_shares(&[row(9.0, 10.0), row(0.0, 2.0)], 3);
        assert_eq!(found[0], Some(Estimate { mean: 0.75, low: 0.0, high: 0.9 }));
        assert_eq!(found[1], None);
        assert_eq!(found[2], Some(Estimate { mean: 1.0, low: 1.0, high: 1.0 }));
        assert_eq!(estimate_shares(&[], 1), [None]);
        // Where each question has one of the whole, a share is a mean.
        let rows: Vec<Vec<f64>> = (0..50).map(|i| vec![f64::from(i % 3 == 0)]).collect();
        let shares: Vec<Vec<Share>> = rows.iter().map(|row| vec![Share { part: row[0], whole: 1.0 }]).collect();
        assert_eq!(estimate_shares(&shares, 1), [Some(estimate(&rows)[0])]);
    }

    #[test]
    fn few_and_none() {
        assert!(estimate(&[]).is_empty());
        assert_eq!(estimate(&[vec![0.25]]), [Estimate { mean: 0.25, low: 0.25, high: 0.25 }]);
    }
}
