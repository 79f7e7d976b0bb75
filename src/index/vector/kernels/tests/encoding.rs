//! What must be the same bits in every set because it becomes part of a file, or of a query for one.

use super::*;

const DIMS: std::ops::RangeInclusive<usize> = 1..=80;
const LARGE_DIMS: [usize; 5] = [384, 500, 784, 1024, 1536];

/// Values of each kind at each dim: of one size, of many sizes, and with one that is special, at either end.
fn cases() -> impl Iterator<Item = Vec<f32>> {
    DIMS.chain(LARGE_DIMS).flat_map(|dim| {
        let sizes = [1.0, 1e-40, 1e-20, 1e20, 1e38, 1e-3, 0.0];
        let plain = values(dim as u64, dim);
        let scaled = |size: f32| plain.iter().map(|value| value * size).collect::<Vec<_>>();
        let mut cases = sizes.map(scaled).to_vec();
        cases.push(plain.iter().enumerate().map(|(at, value)| value * sizes[at % sizes.len()]).collect());
        for (special, at) in SPECIAL.into_iter().flat_map(|special| [(special, 0), (special, dim - 1)]) {
            let mut case = plain.clone();
            case[at] = special;
            cases.push(case);
        }
        cases
    })
}

#[track_caller]
fn assert_same(kernels: &Kernels, got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len());
    for (at, (&got, &want)) in got.iter().zip(want).enumerate() {
        assert!(same(got, want), "{kernels:?}, value {at}: {got} {want}");
    }
}

#[test]
fn every_set_rotates_to_the_same_bits() {
    for case in cases().chain([values(1, 1 << 16), values(2, 50_000)]) {
        let largest = 1 << case.len().ilog2();
        let signs: Vec<f32> = values(3, 3 * case.len()).iter().map(|value| value.signum()).collect();
        for window in [largest, (largest / 2).max(1), 1] {
            let mut want = case.clone();
            scalar::SCALAR.rotate(&signs, window, &mut want);
            for kernels in available() {
                let mut got = case.clone();
                kernels.rotate(&signs, window, &mut got);
                assert_same(&kernels, &got, &want);
            }
        }
    }
}

#[test]
fn a_rotation_is_signs_and_sums() {
    for kernels in available() {
        let mut turned = [1.0, 2.0, 3.0];
        kernels.rotate(&[1.0, -1.0, 1.0, 1.0, 1.0, 1.0], 2, &mut turned);
        let half = 0.5_f32.sqrt();
        let second = (1.0 + 2.0) * half;
        for (got, want) in turned.into_iter().zip([(1.0 - 2.0) * half, (second + 3.0) * half, (second - 3.0) * half]) {
            assert!((got - want).abs() < 1e-6, "{kernels:?} {turned:?}");
        }
    }
}

/// As the definition has it, pair by pair: what files were written with.
#[test]
fn a_transform_is_sums_and_differences_of_pairs() {
    for window in (0..11).map(|log| 1_usize << log) {
        let given = values(7, window);
        let mut want = given.clone();
        let mut half = window / 2;
        while half > 0 {
            for first in (0..window).filter(|at| at & half == 0) {
                let (a, b) = (want[first], want[first + half]);
                (want[first], want[first + half]) = (a + b, a - b);
            }
            half /= 2;
        }
        let scale = 1.0 / (window as f32).sqrt();
        want.iter_mut().for_each(|value| *value *= scale);
        for kernels in available() {
            let mut got = given.clone();
            kernels.rotate(&vec![1.0; window], window, &mut got);
            assert_same(&kernels, &got, &want);
        }
    }
}

#[test]
fn every_set_finds_the_same_points_of_a_grid() {
    for case in cases() {
        for (bits, scale) in Bits::ALL.into_iter().flat_map(|bits| [0.11, 1e-3, 1e-42, 0.0].map(|scale| (bits, scale)))
        {
            let mut want = vec![0xaa; case.len()];
            let (want_dot, want_norm) = scalar::SCALAR.grid(bits, scale, &case, &mut want);
            for kernels in available() {
                let mut got = vec![0x55; case.len()];
                let (dot, norm) = kernels.grid(bits, scale, &case, &mut got);
                assert_eq!(got, want, "{kernels:?} {bits:?} {scale}");
                assert_same(&kernels, &[dot, norm], &[want_dot, want_norm]);
            }
        }
    }
}

#[test]
fn a_point_is_the_nearest_one_and_the_last_one_beyond_them() {
    let of = |bits: Bits, scale: f32, values: &[f32]| {
        let mut all = available().into_iter().map(|kernels| {
            let mut codes = vec![9; values.len()];
            let sums = kernels.grid(bits, scale, values, &mut codes);
            (codes, sums)
        });
        let first = all.next().unwrap();
        assert!(all.all(|other| other == first));
        first
    };
    assert_eq!(of(Bits::One, 2.0, &[0.1, -0.1, 9.0]), (vec![1, 0, 1], (0.1 + 0.1 + 9.0, 3.0)));
    assert_eq!(of(Bits::Two, 1.0, &[-9.0, -1.0, 1.5, 2.5]), (vec![0, 1, 2, 3], (27.0 + 1.0 + 1.5 + 7.5, 20.0)));
    assert_eq!(of(Bits::Four, 0.5, &[-100.0, 0.5, 7.5]), (vec![0, 8, 15], (1500.0 + 0.5 + 112.5, 451.0)));
    assert_eq!(of(Bits::Eight, 1.0, &[-200.0, -1.0, 2.5, 3.5]), (vec![129, 255, 2, 4], (25_420.0, 16_150.0)));
}

#[test]
fn every_set_rounds_to_the_same_numbers() {
    for case in cases() {
        let mut want = vec![1; case.len()];
        let (want_step, want_sum) = scalar::SCALAR.round(&case, &mut want);
        let zero = case.iter().any(|value| !value.is_finite()) || case.iter().all(|value| *value == 0.0);
        assert!(!zero || want_step == 0.0 && want_sum == 0 && want.iter().all(|&value| value == 0), "{case:?}");
        assert_eq!(want.iter().copied().map(i32::from).sum::<i32>(), want_sum);
        for kernels in available() {
            let mut got = vec![2; case.len()];
            let (step, sum) = kernels.round(&case, &mut got);
            assert_eq!((got, sum), (want.clone(), want_sum), "{kernels:?}");
            assert_same(&kernels, &[step], &[want_step]);
        }
    }
}

#[test]
fn rounded_values_are_at_most_half_a_step_off() {
    for dim in DIMS {
        let values = values(dim as u64, dim);
        for kernels in available() {
            let mut rounded = vec![0; dim];
            let (step, _) = kernels.round(&values, &mut rounded);
            assert!(rounded.iter().any(|value| value.unsigned_abs() == 127));
            for (&value, &number) in values.iter().zip(&rounded) {
                assert!((value - step * f32::from(number)).abs() <= 0.5001 * step, "{kernels:?} {value} {number}");
            }
        }
    }
}

#[test]
fn no_values_have_no_codes() {
    for kernels in available() {
        assert_eq!(kernels.grid(Bits::Two, 1.0, &[], &mut []), (0.0, 0.0));
        assert_eq!(kernels.round(&[], &mut []), (0.0, 0));
    }
}

#[test]
#[should_panic(expected = "window of a rotation")]
fn a_window_must_be_a_power_of_two() {
    best().rotate(&[1.0; 8], 3, &mut [0.0; 8]);
}

#[test]
#[should_panic(expected = "window of a rotation")]
fn a_window_must_not_be_wider_than_the_values() {
    best().rotate(&[1.0; 3], 4, &mut [0.0; 3]);
}

#[test]
#[should_panic(expected = "a code for each value")]
fn every_value_must_have_a_code() {
    best().grid(Bits::One, 1.0, &[0.0; 3], &mut [0; 2]);
}

#[test]
#[should_panic(expected = "a number for each value")]
fn every_value_must_have_a_number() {
    best().round(&[0.0; 3], &mut [0; 4]);
}
