//! Every input of `docs/vectors.md`, "What comes of odd input", by every way to search.

use std::sync::Arc;

use super::*;
use crate::index::vector::{
    Effort, Metric, Scratch, Search, Segment, SegmentOptions, Set, Tombstones, encode_segment, testing::clustered,
};

const METRICS: [Metric; 3] = [Metric::Dot, Metric::L2, Metric::Cosine];
const EFFORTS: [Effort; 5] = [
    Effort::Exact,
    Effort::Flat,
    Effort::Walk { ef: 64, slack: f32::INFINITY },
    Effort::Walk { ef: 64, slack: 0.1 },
    Effort::Recall(0.99),
];

fn rows<'a>(vectors: &'a [Vec<f32>]) -> Vec<NewRow<'a>> {
    (0..).zip(vectors).map(|(id, vector)| NewRow { id, hash: [0; 16], vector }).collect()
}

/// Rows alone, rows with codes, rows with codes and a graph, with codes that prove.
fn sets(dim: usize, vectors: &[Vec<f32>], metric: Metric) -> Vec<Set> {
    let of = |codes_from, graph_from, exact_codes| {
        let options = SegmentOptions { metric, codes_from, graph_from, exact_codes, ..SegmentOptions::default() };
        let segment = Segment::open(Arc::new(encode_segment(dim, &rows(vectors), &options))).unwrap();
        segment.verify().unwrap();
        Set::new(dim, vec![(segment, Tombstones::default())])
    };
    vec![of(usize::MAX, usize::MAX, false), of(1, usize::MAX, false), of(1, 1, false), of(1, 1, true)]
}

/// What every way to search finds, the first of them beside the plain answer.
fn all(dim: usize, vectors: &[Vec<f32>], query: &[f32], k: usize, check: impl Fn(Metric, Effort, &[(u64, f32)])) {
    for metric in METRICS {
        for set in sets(dim, vectors, metric) {
            for effort in EFFORTS {
                let mut hits = Vec::new();
                let search = Search { effort, ..Search::new(k, None) };
                set.search_with(&mut Scratch::default(), query, &search, &mut hits);
                assert!(hits.len() <= k.min(vectors.len()), "{metric:?} {effort}");
                assert!(hits.iter().all(|hit| !hit.1.is_nan()), "{metric:?} {effort}: {hits:?}");
                check(metric, effort, &hits);
            }
        }
    }
}

#[test]
fn rows_that_mean_nothing_are_refused_by_name() {
    let row = |id: u64, vector| NewRow { id, hash: [0; 16], vector };
    let check = |dim, rows: &[NewRow<'_>], format| check_rows(dim, rows, format).unwrap_err().to_string();
    let full = RowFormat::F32;
    assert_eq!(check(0, &[], full), "dimension 0, 1 to 65536 expected");
    assert_eq!(check(65_537, &[], full), "dimension 65537, 1 to 65536 expected");
    assert_eq!(check(2, &[row(4, &[1.0])], full), "length of the vector of 4: 1 values, 2 expected");
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let bad = check_rows(2, &[NewRow { id: 4, hash: [0; 16], vector: &[1.0, value] }], full);
        assert_eq!(bad, Err(BadInput::NotFinite { id: 4, at: 1 }));
    }
    assert_eq!(check(1, &[row(4, &[7e4])], RowFormat::F16), "the vector of 4 is not finite: value 0");
    assert_eq!(check_rows(1, &[row(4, &[7e4])], full), Ok(()));
    let twice = [row(4, &[1.0]), row(3, &[1.0]), row(4, &[1.0])];
    assert_eq!(check(1, &twice, full), "two rows have one id: 4");
    // More rows than there can be numbers for are refused before they are looked at.
    assert_eq!(check_size(384, MAX_ROWS), Ok(()));
    let more = check_size(384, MAX_ROWS + 1).unwrap_err();
    assert_eq!(more.to_string(), format!("{} rows, at most {MAX_ROWS} expected: make segments of them", MAX_ROWS + 1));
    assert!(u32::try_from(MAX_ROWS).is_ok(), "a row's number is a u32");
}

#[test]
fn queries_that_mean_nothing_are_refused_or_find_nothing() {
    let vectors = clustered(1, 300, 6);
    for set in sets(6, &vectors, Metric::L2) {
        assert_eq!(set.check_query(&[1.0; 6]), Ok(()));
        assert_eq!(set.check_query(&[1.0; 5]), Err(BadInput::Query { found: 5, dim: 6 }));
        assert_eq!(set.check_query(&[1.0, 2.0, f32::NAN, 1.0, 1.0, 1.0]), Err(BadInput::QueryNotFinite(2)));
    }
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        // Told of by the check; who does not ask gets no panic and no number that is none.
        all(6, &vectors, &[1.0, value, 1.0, 1.0, 1.0, 1.0], 5, |_, _, _| {});
    }
}

#[test]
fn no_rows_no_k_and_more_k_than_rows() {
    let vectors = clustered(1, 200, 6);
    let query = &vectors[3].clone();
    all(6, &vectors, query, 0, |_, _, hits| assert_eq!(hits, []));
    for k in [200, 201, usize::MAX] {
        all(6, &vectors, query, k, |metric, effort, hits| {
            let found = hits.len();
            // A walk finds at most what its pool holds.
            let least = if matches!(effort, Effort::Walk { .. }) { 64 } else { 200 };
            assert!(found >= least, "{metric:?} {effort}: {found} of 200");
        });
    }
    all(6, &[], query, 5, |_, _, hits| assert_eq!(hits, []));
}

#[test]
fn rows_and_queries_of_zeros_have_scores() {
    let mut vectors = clustered(1, 300, 6);
    vectors[100..200].fill(vec![0.0; 6]);
    let zero = [0.0; 6];
    all(6, &vectors, &zero, 10, |metric, effort, hits| {
        assert_eq!(hits.len(), 10, "{metric:?} {effort}");
        // A product and a cosine are 0 with every row; the nearest are the zeros.
        assert!(hits.iter().all(|hit| hit.1 == 0.0), "{metric:?} {effort}: {hits:?}");
    });
    all(6, &vec![vec![0.0; 6]; 300], &[1.0; 6], 10, |metric, effort, hits| {
        assert_eq!(hits.len(), 10, "{metric:?} {effort}");
        assert!(hits.windows(2).all(|pair| pair[0].1 == pair[1].1), "{metric:?} {effort}: {hits:?}");
    });
}

#[test]
fn rows_that_are_all_the_same_come_in_the_order_of_their_ids() {
    let vectors = vec![vec![0.6, 0.8, 0.1]; 300];
    all(3, &vectors, &[1.0, 2.0, 3.0], 7, |metric, effort, hits| {
        let ids: Vec<u64> = hits.iter().map(|hit| hit.0).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6], "{metric:?} {effort}");
    });
}

#[test]
fn one_value_and_thousands_are_dimensions_as_others() {
    for dim in [1, 4096] {
        let vectors = clustered(1, 300, dim);
        all(dim, &vectors, &vectors[5].clone(), 3, |metric, effort, hits| {
            let best = (0..).zip(&vectors).map(|(id, row)| {
                let score = metric.score(crate::index::vector::kernels::best(), &vectors[5], row);
                (id, score)
            });
            let best = best.max_by(|a: &(u64, f32), b| a.1.total_cmp(&b.1)).unwrap();
            let enough = best.1 - 1e-6 * best.1.abs();
            assert!(hits.len() == 3 && hits[0].1 >= enough, "{metric:?} {effort} {dim}: {hits:?}, {best:?}");
        });
    }
}
