//! Products and distances of f32, alone and over rows.

use super::*;

/// A kernel alone and over rows, what two values add to its sum, and how many roundings that takes.
struct Sum {
    name: &'static str,
    one: fn(&Kernels, &[f32], &[f32]) -> f32,
    rows: fn(&Kernels, &[f32], &[f32], &mut [f32]),
    term: fn(f64, f64) -> f64,
    roundings: usize,
}

const SUMS: [Sum; 2] = [
    Sum { name: "dot", one: Kernels::dot, rows: Kernels::dot_rows, term: |a, b| a * b, roundings: 1 },
    Sum { name: "l2", one: Kernels::l2, rows: Kernels::l2_rows, term: |a, b| (a - b).powi(2), roundings: 3 },
];

/// A rounding is off by at most half a unit in the last place, ε/2 of what it gives. A term has its own (that of the
/// difference in `l2` counts twice, as it is squared) and those of less than n additions. Where terms vanish, each is off
/// by at most the smallest number.
fn check(kernels: &Kernels, a: &[f32], b: &[f32]) {
    for sum in SUMS {
        let terms = || a.iter().zip(b).map(|(&a, &b)| (sum.term)(a.into(), b.into()));
        let (got, want): (f64, f64) = ((sum.one)(kernels, a, b).into(), terms().sum());
        let (n, roundings) = (a.len() as f64, (a.len() + sum.roundings) as f64);
        let bound = roundings * 0.5 * f64::from(f32::EPSILON) * terms().map(f64::abs).sum::<f64>()
            + n * f64::from(f32::from_bits(1));
        assert!((got - want).abs() <= bound, "{kernels:?} {} n={} {got} {want}", sum.name, a.len());
    }
}

/// Four registers of the widest set four times over, and a rest of each length.
const LENGTHS: std::ops::RangeInclusive<usize> = 0..=4 * 4 * 16 + 19;

#[test]
fn every_set_agrees_with_f64_at_every_length_and_start() {
    for kernels in available() {
        for length in LENGTHS {
            let (a, b) = (values(length as u64, length + 16), values(!(length as u64), length + 16));
            for start in [0, 1, 2, 3, 5, 15] {
                check(&kernels, &a[start..][..length], &b[..length]);
                check(&kernels, &a[..length], &b[start..][..length]);
            }
        }
    }
}

#[test]
fn every_set_agrees_with_f64_at_extremes() {
    let extremes = [0.0, -0.0, 1e-45, -1e-38, 1e-20, 3e17, -3e17, 1.0, -1.0, f32::EPSILON];
    for kernels in available() {
        for length in LENGTHS {
            let pick = |step: usize| (0..length).map(|i| extremes[i * step % extremes.len()]).collect::<Vec<_>>();
            check(&kernels, &pick(1), &pick(3));
            check(&kernels, &pick(7), &pick(7));
        }
    }
}

#[test]
fn infinite_and_undefined_sums_are_so_in_every_set() {
    for kernels in available() {
        for length in LENGTHS.skip(1) {
            let (ones, huge) = (vec![1.0; length], vec![f32::MAX; length]);
            for (at, sum) in [0, length / 2, length - 1].into_iter().flat_map(|at| SUMS.map(|sum| (at, sum))) {
                let at_one = |value: f32| {
                    let mut a = ones.clone();
                    a[at] = value;
                    [(sum.one)(&kernels, &a, &ones), (sum.one)(&kernels, &ones, &a)]
                };
                assert_eq!(at_one(f32::INFINITY), [f32::INFINITY; 2], "{kernels:?} {} n={length} {at}", sum.name);
                assert!(at_one(f32::NAN)[0].is_nan(), "{kernels:?} {} n={length} {at}", sum.name);
                assert!(at_one(f32::NAN)[1].is_nan(), "{kernels:?} {} n={length} {at}", sum.name);
            }
            assert_eq!(kernels.dot(&huge, &huge), f32::INFINITY, "{kernels:?} n={length}");
            assert_eq!(kernels.l2(&huge, &huge), 0.0, "{kernels:?} n={length}");
            assert_eq!(kernels.l2(&huge, &vec![f32::MIN; length]), f32::INFINITY, "{kernels:?} n={length}");
            let infinite = vec![f32::INFINITY; length];
            assert!(kernels.l2(&infinite, &infinite).is_nan(), "{kernels:?} n={length}");
        }
    }
}

#[test]
fn a_score_is_the_same_bits_alone_and_in_any_batch() {
    for (kernels, sum) in available().into_iter().flat_map(|kernels| SUMS.map(|sum| (kernels, sum))) {
        for dim in [1, 3, 8, 31, 64, 100, 384] {
            let (query, row) = (values(1, dim), values(2, dim));
            let alone = (sum.one)(&kernels, &query, &row).to_bits();
            assert_eq!((sum.one)(&kernels, &row, &query).to_bits(), alone);
            for rows in 1..=9 {
                for at in 0..rows {
                    let mut batch = values(3, dim * rows);
                    batch[at * dim..][..dim].copy_from_slice(&row);
                    let mut scores = vec![f32::NAN; rows];
                    (sum.rows)(&kernels, &query, &batch, &mut scores);
                    let name = sum.name;
                    assert_eq!(scores[at].to_bits(), alone, "{kernels:?} {name} dim {dim}, row {at} of {rows}");
                    assert!(scores.iter().all(|score| score.is_finite()));
                }
            }
        }
    }
}

#[test]
fn rows_of_no_values_score_zero() {
    for (kernels, sum) in available().into_iter().flat_map(|kernels| SUMS.map(|sum| (kernels, sum))) {
        let mut scores = [1.0; 7];
        (sum.rows)(&kernels, &[], &[], &mut scores);
        assert_eq!(scores, [0.0; 7]);
        (sum.rows)(&kernels, &[1.0], &[], &mut []);
    }
}

#[test]
#[should_panic(expected = "lengths of two vectors")]
fn vectors_of_two_lengths_have_no_product() {
    best().dot(&[1.0, 2.0], &[1.0]);
}

#[test]
#[should_panic(expected = "lengths of two vectors")]
fn vectors_of_two_lengths_have_no_distance() {
    best().l2(&[1.0], &[1.0, 2.0]);
}

#[test]
#[should_panic(expected = "values of the rows")]
fn rows_must_be_whole() {
    best().dot_rows(&[1.0, 2.0], &[1.0, 2.0, 3.0], &mut [0.0, 0.0]);
}

#[test]
#[should_panic(expected = "values of the rows")]
fn rows_of_distances_must_be_whole() {
    best().l2_rows(&[1.0, 2.0], &[1.0, 2.0, 3.0, 4.0], &mut [0.0]);
}
