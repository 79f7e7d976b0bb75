use super::*;
use crate::index::vector::{codes, kernels, testing::Random};

const METRICS: [Metric; 3] = [Metric::Dot, Metric::L2, Metric::Cosine];

fn normal(random: &mut Random, dim: usize) -> Vec<f32> {
    (0..dim).map(|_| random.normal()).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[test]
fn a_rotation_keeps_products_and_spreads_an_axis() {
    let mut random = Random::new(1);
    for dim in (1..=70).chain([100, 384, 784, 4096]) {
        let rotation = Rotation::new(dim);
        let (mut a, mut b) = (normal(&mut random, dim), normal(&mut random, dim));
        let before = [dot(&a, &a), dot(&b, &b), dot(&a, &b)];
        for kernels in kernels::available() {
            rotation.apply(&kernels, &mut a);
            rotation.apply(&kernels, &mut b);
        }
        for (before, after) in before.into_iter().zip([dot(&a, &a), dot(&b, &b), dot(&a, &b)]) {
            assert!((before - after).abs() <= 1e-5 * dim as f64, "dim {dim}: {before} {after}");
        }
        if dim >= 64 {
            for axis in [0, dim / 2, dim - 1] {
                let mut unit = vec![0.0; dim];
                unit[axis] = 1.0;
                rotation.apply(kernels::best(), &mut unit);
                let largest = unit.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                assert!(largest <= 7.0 / (dim as f32).sqrt(), "dim {dim}, axis {axis}: {largest}");
            }
        }
    }
}

/// The cosine of a row and the best grid point of two bits there is: the m largest values count three times, for every m.
fn best_cosine(row: &[f32]) -> f64 {
    let mut sorted: Vec<f64> = row.iter().map(|value| f64::from(value.abs())).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (total, length) = (sorted.iter().sum::<f64>(), dot(row, row).sqrt());
    let (mut large, mut best) = (0.0, 0.0_f64);
    for (m, value) in sorted.iter().enumerate() {
        best = best.max((total + 2.0 * large) / ((row.len() + 8 * m) as f64).sqrt());
        large += value;
    }
    best.max(3.0 * total / (3.0 * (row.len() as f64).sqrt())) / length
}

#[test]
fn codes_point_where_the_best_ones_would() {
    let mut random = Random::new(2);
    for (dim, share) in [(8, 0.97), (50, 0.99), (384, 0.998)] {
        for _ in 0..50 {
            let row = normal(&mut random, dim);
            let mut found = vec![0; dim];
            let along = encode(kernels::best(), Bits::Two, &row, &mut found);
            let point: Vec<f32> = found.iter().map(|&code| 2.0 * f32::from(code) - 3.0).collect();
            assert!((f64::from(along) - dot(&row, &point)).abs() < 1e-3 * f64::from(along));
            let cosine = dot(&row, &point) / (dot(&row, &row) * dot(&point, &point)).sqrt();
            assert!(cosine >= share * best_cosine(&row), "dim {dim}: {cosine} of {}", best_cosine(&row));
        }
    }
}

/// What an encoder makes of rows, and estimates of their scores beside true ones, with the margin of one deviation.
fn estimates(metric: Metric, bits: Bits, dim: usize) -> Vec<(f64, f64, f64)> {
    let kernels = kernels::best();
    let mut random = Random::new(3);
    let shifted = |random: &mut Random| (0..dim).map(|_| 0.7 + random.normal()).collect::<Vec<f32>>();
    let rows: Vec<Vec<f32>> = (0..200).map(|_| shifted(&mut random)).collect();
    let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
    let rotation = Rotation::new(dim);
    let centre = centre(kernels, metric, &rotation, &rows);
    let encoder = Encoder { kernels, metric, rotation: &rotation, centre: &centre };
    let mut all = Vec::new();
    for _ in 0..20 {
        let query = shifted(&mut random);
        let (mut rotated, mut prepared) = (RotatedQuery::default(), Prepared::default());
        rotated.set(kernels, metric, &rotation, &query);
        prepared.set(kernels, metric, &rotated, &centre, bits.padded(dim));
        let (mut residual, mut values) = (vec![0.0; dim], vec![0; dim]);
        for row in &rows {
            encoder.residual(row, &mut residual);
            let terms = encoder.encode(bits, &residual, &mut values);
            let mut packed = vec![0; bits.row_bytes(dim)];
            codes::pack_row(bits, &values, &mut packed);
            let mut sum = [0];
            let stride = packed.len();
            kernels.code_rows(bits, prepared.values(), kernels::Rows { bytes: &packed, stride }, &[0], &mut sum);
            let estimate = prepared.estimator(bits)(sum[0], terms);
            let margin = prepared.margin(bits, 1.0) * terms.factor;
            all.push((estimate.into(), metric.score(kernels, &query, row).into(), margin.into()));
        }
    }
    all
}

#[test]
fn estimates_are_unbiased_and_as_far_off_as_they_say() {
    for metric in METRICS {
        for bits in Bits::ALL {
            for dim in [50, 384] {
                let off: Vec<f64> = estimates(metric, bits, dim)
                    .iter()
                    .map(|(guess, truth, margin)| (guess - truth) / margin)
                    .collect();
                let count = off.len() as f64;
                let mean = off.iter().sum::<f64>() / count;
                let deviation = (off.iter().map(|off| off * off).sum::<f64>() / count).sqrt();
                let far = off.iter().filter(|off| off.abs() > 3.0).count() as f64 / count;
                let case =
                    format!("{metric:?} {bits:?} dim {dim}: mean {mean:.3}, deviation {deviation:.3}, far {far:.4}");
                // 8 bits: the rounding of the query is as large as what the code hides.
                let most = if bits == Bits::Eight { 2.0 } else { 1.2 };
                assert!(mean.abs() < 0.15 && deviation < most, "{case}");
                assert!(bits == Bits::Eight || (deviation > 0.7 && far < 0.01), "{case}");
            }
        }
    }
}

#[test]
fn rows_that_are_nothing_or_all_the_same_have_scores() {
    let kernels = kernels::best();
    for metric in METRICS {
        for row in [vec![0.0_f32; 20], vec![1e-30; 20], vec![3.0; 20]] {
            let rows = [&row[..], &row[..]];
            let rotation = Rotation::new(20);
            let centre = centre(kernels, metric, &rotation, &rows);
            let encoder = Encoder { kernels, metric, rotation: &rotation, centre: &centre };
            let (mut residual, mut values) = (vec![0.0; 20], vec![0; 20]);
            encoder.residual(&row, &mut residual);
            let terms = encoder.encode(Bits::Two, &residual, &mut values);
            assert!(terms.factor.is_finite() && terms.bias.is_finite());
            let (mut rotated, mut prepared) = (RotatedQuery::default(), Prepared::default());
            rotated.set(kernels, metric, &rotation, &[1.0; 20]);
            prepared.set(kernels, metric, &rotated, &centre, 128);
            let estimate = prepared.estimator(Bits::Two)(0, terms);
            let truth = metric.score(kernels, &[1.0; 20], &row);
            assert!((estimate - truth).abs() <= 1e-3 * (1.0 + truth.abs()), "{metric:?} {row:?}: {estimate} {truth}");
        }
    }
}
