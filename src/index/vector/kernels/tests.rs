use super::*;

/// Values from −1 to 1, the same for a seed on every machine.
fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Every product and every addition is off by at most half a unit in the last place of what it gives, so n of both are off
/// by less than n × ε × Σ|aᵢbᵢ|, and by n of the smallest number where products vanish.
fn check(kernels: &Kernels, a: &[f32], b: &[f32]) {
    let products = || a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b));
    let (got, want): (f64, f64) = (kernels.dot(a, b).into(), products().sum());
    let n = a.len() as f64;
    let bound = n * f64::from(f32::EPSILON) * products().map(f64::abs).sum::<f64>() + n * f64::from(f32::from_bits(1));
    assert!((got - want).abs() <= bound, "{kernels:?} n={} {got} {want}", a.len());
}

/// Four registers of the widest set four times over, and a rest of each length.
const LENGTHS: std::ops::RangeInclusive<usize> = 0..=4 * 4 * 16 + 19;

#[test]
fn the_first_set_is_plain_and_the_last_is_used() {
    let sets = available();
    assert_eq!(sets[0].name(), "scalar");
    assert_eq!(sets.last().unwrap().name(), best().name());
}

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
            for at in [0, length / 2, length - 1] {
                let mut a = vec![1.0; length];
                let b = vec![1.0; length];
                for (value, same) in [(f32::INFINITY, f32::is_infinite as fn(f32) -> bool), (f32::NAN, f32::is_nan)] {
                    a[at] = value;
                    assert!(same(kernels.dot(&a, &b)), "{kernels:?} n={length} at {at}");
                }
            }
            let huge = vec![f32::MAX; length];
            assert_eq!(kernels.dot(&huge, &huge), f32::INFINITY, "{kernels:?} n={length}");
        }
    }
}

#[test]
fn a_score_is_the_same_bits_alone_and_in_any_batch() {
    for kernels in available() {
        for dim in [1, 3, 8, 31, 64, 100, 384] {
            let (query, row) = (values(1, dim), values(2, dim));
            let alone = kernels.dot(&query, &row).to_bits();
            assert_eq!(kernels.dot(&row, &query).to_bits(), alone);
            for rows in 1..=9 {
                for at in 0..rows {
                    let mut batch = values(3, dim * rows);
                    batch[at * dim..][..dim].copy_from_slice(&row);
                    let mut scores = vec![f32::NAN; rows];
                    kernels.dot_rows(&query, &batch, &mut scores);
                    assert_eq!(scores[at].to_bits(), alone, "{kernels:?} dim {dim}, row {at} of {rows}");
                    assert!(scores.iter().all(|score| score.is_finite()));
                }
            }
        }
    }
}

#[test]
fn rows_of_no_values_score_zero() {
    for kernels in available() {
        let mut scores = [1.0; 7];
        kernels.dot_rows(&[], &[], &mut scores);
        assert_eq!(scores, [0.0; 7]);
        kernels.dot_rows(&[1.0], &[], &mut []);
    }
}

#[test]
#[should_panic(expected = "lengths of two vectors")]
fn vectors_of_two_lengths_have_no_product() {
    best().dot(&[1.0, 2.0], &[1.0]);
}

#[test]
#[should_panic(expected = "values of the rows")]
fn rows_must_be_whole() {
    best().dot_rows(&[1.0, 2.0], &[1.0, 2.0, 3.0], &mut [0.0, 0.0]);
}
