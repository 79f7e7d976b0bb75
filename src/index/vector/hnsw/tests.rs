use std::sync::Arc;

use super::*;
use crate::index::vector::{
    Effort, Metric, NewRow, Scratch, Search, Segment, SegmentOptions, Set, Tombstones, encode_segment, merge,
    testing::{Random, clustered, segment, set},
};

const DIM: usize = 32;

fn options(metric: Metric) -> SegmentOptions {
    SegmentOptions { metric, codes_from: 1, graph_from: 1, threads: 1, ..SegmentOptions::default() }
}

fn ids(set: &Set, query: &[f32], search: &Search<'_>) -> Vec<u64> {
    let mut hits = Vec::new();
    set.search_with(&mut Scratch::default(), query, search, &mut hits);
    hits.into_iter().map(|(id, _)| id).collect()
}

/// ann_recall@10 of an effort against exact search in the same set.
fn recall(set: &Set, queries: &[Vec<f32>], effort: Effort) -> f64 {
    let (mut found, mut wanted) = (0, 0);
    for query in queries {
        let exact = ids(set, query, &Search { effort: Effort::Exact, ..Search::new(10, None) });
        let near = ids(set, query, &Search { effort, ..Search::new(10, None) });
        found += exact.iter().filter(|id| near.contains(id)).count();
        wanted += exact.len();
    }
    found as f64 / wanted as f64
}

fn walk(ef: usize) -> Effort {
    Effort::Walk { ef, slack: f32::INFINITY }
}

#[test]
fn walks_find_the_nearest_by_every_metric() {
    let (rows, queries) = (clustered(1, 3000, DIM), clustered(2, 100, DIM));
    for metric in [Metric::Dot, Metric::L2, Metric::Cosine] {
        let set = set(&rows, &options(metric));
        assert!(recall(&set, &queries, walk(64)) >= 0.97, "{metric:?} {}", recall(&set, &queries, walk(64)));
        assert!(recall(&set, &queries, walk(300)) >= 0.995, "{metric:?} {}", recall(&set, &queries, walk(300)));
        assert!(recall(&set, &queries, Effort::Flat) >= 0.995, "{metric:?} {}", recall(&set, &queries, Effort::Flat));
    }
}

#[test]
fn the_same_bytes_come_of_any_number_of_threads() {
    let rows = clustered(1, 2500, 20);
    let new: Vec<_> = (0..).zip(&rows).map(|(id, row)| NewRow { id, hash: [0; 16], vector: row }).collect();
    let bytes = |threads| encode_segment(20, &new, &SegmentOptions { threads, ..options(Metric::L2) });
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(5));
}

/// Every row can be met from where walks start.
fn assert_connected(segment: &Segment) {
    let graph = segment.graph().unwrap();
    let mut met = vec![false; segment.len()];
    let mut open: Vec<u32> = graph.header.entries.clone();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut met[node as usize], true) {
            let list = &graph.links[node as usize * graph.header.m0..][..graph.header.m0];
            open.extend(list.iter().take_while(|&&link| link != NO_LINK));
            let twins = |row: &usize| graph.links.get(row * graph.header.m0) == Some(&TWIN);
            (node as usize + 1..segment.len()).take_while(twins).for_each(|row| met[row] = true);
        }
    }
    assert!(
        met.iter().all(|met| *met),
        "{} of {} rows are out of reach",
        met.iter().filter(|met| !**met).count(),
        met.len()
    );
}

#[test]
fn equal_rows_and_few_rows_are_found() {
    let one = vec![vec![1.0; DIM]; 500];
    let mut half = clustered(1, 500, DIM);
    half.extend(one.iter().cloned());
    let mut zeros = clustered(3, 200, DIM);
    zeros.extend(vec![vec![0.0; DIM]; 400]);
    let few: Vec<Vec<Vec<f32>>> = (1..5).map(|rows| clustered(1, rows, DIM)).collect();
    for rows in [one, half, zeros].into_iter().chain(few) {
        for metric in [Metric::Dot, Metric::L2, Metric::Cosine] {
            let segment = segment(&rows, &options(metric));
            segment.verify().unwrap();
            assert_connected(&segment);
            let set = Set::new(DIM, vec![(segment, Tombstones::default())]);
            for query in [&rows[0], &rows[rows.len() - 1], &vec![1.0; DIM]] {
                let search = Search { effort: walk(100), ..Search::new(10, None) };
                let mut hits = Vec::new();
                set.search_with(&mut Scratch::default(), query, &search, &mut hits);
                let exact = Search { effort: Effort::Exact, ..search };
                let mut truth = Vec::new();
                set.search_with(&mut Scratch::default(), query, &exact, &mut truth);
                let scores = |hits: &[(u64, f32)]| hits.iter().map(|hit| hit.1).collect::<Vec<_>>();
                assert_eq!(scores(&hits), scores(&truth), "{metric:?} of {} rows", rows.len());
            }
        }
    }
}

#[test]
fn dimensions_of_one_and_of_thousands_work() {
    for dim in [1, 2, 3, 4096] {
        let (rows, queries) = (clustered(1, 300, dim), clustered(2, 5, dim));
        for metric in [Metric::Dot, Metric::L2, Metric::Cosine] {
            let set = set(&rows, &options(metric));
            for effort in [walk(200), Effort::Flat] {
                for query in &queries {
                    let mut hits = Vec::new();
                    set.search_with(
                        &mut Scratch::default(),
                        query,
                        &Search { effort, ..Search::new(1, None) },
                        &mut hits,
                    );
                    let exact = set.search(query, 1, Some(&(0..300).collect::<Vec<u64>>()[..1]));
                    assert!(hits.len() == 1 && hits[0].1 >= exact[0].1, "{metric:?} dim {dim}: {hits:?} {exact:?}");
                }
            }
        }
    }
}

/// Half of the rows are replaced, four times an eighth, each time merged into the same segment.
#[test]
fn recall_outlives_churn() {
    let (rows, queries) = (clustered(1, 4500, DIM), clustered(2, 100, DIM));
    let options = options(Metric::L2);
    let new = |range: std::ops::Range<usize>| -> Vec<NewRow<'_>> {
        range.map(|at| NewRow { id: at as u64, hash: [0; 16], vector: &rows[at] }).collect()
    };
    let mut churned = Segment::open(Arc::new(encode_segment(DIM, &new(0..3000), &options))).unwrap();
    let first = churned.clone();
    for round in 0..4 {
        let mut dead = Tombstones::default();
        let gone = |id: u64| (375 * round..375 * (round + 1)).contains(&(id as usize));
        let rows_of = churned.ids().iter().enumerate().filter(|(_, id)| gone(**id));
        rows_of.for_each(|(row, _)| dead.insert(row));
        assert_eq!(dead.len(), 375);
        let tail = encode_segment(DIM, &new(3000 + 375 * round..3000 + 375 * (round + 1)), &SegmentOptions::default());
        let tail = Segment::open(Arc::new(tail)).unwrap();
        let merged = merge(&[(&tail, &Tombstones::default()), (&churned, &dead)], &options).unwrap().unwrap();
        churned = Segment::open(Arc::new(merged)).unwrap();
        churned.verify().unwrap();
        assert_connected(&churned);
    }
    assert_eq!(churned.len(), 3000);
    let fresh = Segment::open(Arc::new(encode_segment(DIM, &new(1500..4500), &options))).unwrap();
    let of = |segment| recall(&Set::new(DIM, vec![(segment, Tombstones::default())]), &queries, walk(64));
    let (churned, fresh, first) = (of(churned), of(fresh), of(first));
    assert!(churned >= fresh - 0.01, "{churned} after churn, {fresh} fresh, {first} before");
}

#[test]
fn what_is_deleted_or_not_allowed_is_not_found_and_what_is_allowed_is() {
    let (rows, queries) = (clustered(1, 4000, DIM), clustered(2, 20, DIM));
    let segment = segment(&rows, &options(Metric::L2));
    let mut dead = Tombstones::default();
    let mut random = Random::new(5);
    (0..800).for_each(|_| dead.insert(random.below(4000)));
    let set = Set::new(DIM, vec![(segment.clone(), dead.clone())]);
    let live: Vec<u64> = (0..4000).filter(|&row| !dead.contains(row)).map(|row| segment.ids()[row]).collect();
    for share in [0.0001, 0.001, 0.01, 0.1, 0.35, 0.6, 0.9] {
        let (mut found, mut wanted) = (0, 0);
        for (at, query) in queries.iter().enumerate() {
            let mut nearest = live.clone();
            // Half of the filters are spread, the others are the nearest or the farthest rows.
            let distance =
                |id: &u64| Metric::L2.score(crate::index::vector::kernels::best(), query, &rows[*id as usize]);
            match at % 4 {
                0 => nearest.sort_by(|a, b| distance(b).total_cmp(&distance(a))),
                1 => nearest.sort_by(|a, b| distance(a).total_cmp(&distance(b))),
                _ => nearest.sort_by_key(|id| crate::index::vector::quant::splitmix(*id + at as u64)),
            }
            nearest.truncate(((live.len() as f64 * share) as usize).max(1));
            nearest.sort_unstable();
            let search = Search::new(10, Some(&nearest));
            let exact = ids(&set, query, &Search { effort: Effort::Exact, ..search });
            for effort in [Effort::default(), walk(64), Effort::Flat] {
                let near = ids(&set, query, &Search { effort, ..search });
                assert!(near.iter().all(|id| nearest.binary_search(id).is_ok()), "{share} {effort}");
                assert_eq!(near.len(), exact.len(), "{share} {effort}");
                found += exact.iter().filter(|id| near.contains(id)).count();
                wanted += exact.len();
            }
        }
        assert!(found as f64 >= 0.99 * wanted as f64, "{share}: {found} of {wanted}");
    }
}

#[test]
fn a_recall_that_is_asked_for_is_reached() {
    let (rows, queries) = (clustered(1, 4000, DIM), clustered(2, 200, DIM));
    let set = set(&rows, &options(Metric::L2));
    let graph = set.parts()[0].0.graph().unwrap();
    for target in [0.8, 0.9, 0.95, 0.98] {
        let chosen = graph.calibrated(10, target).unwrap();
        let effort = Effort::Walk { ef: chosen.ef as usize, slack: chosen.slack };
        let reached = recall(&set, &queries, effort);
        assert!(reached >= f64::from(target) - 0.03, "{target}: {reached} with slack {}", chosen.slack);
    }
    assert!(graph.calibrated(10, 1.1).is_none() && graph.calibrated(101, 0.5).is_none());
    let of_ten: Vec<_> = graph.header.calibration.iter().filter(|one| one.k == 10).collect();
    assert!(of_ten.len() > 5 && of_ten.is_sorted_by(|a, b| a.evaluated < b.evaluated && a.recall <= b.recall + 0.01));
}

#[test]
fn a_query_that_is_no_number_finds_nothing_and_no_query_panics() {
    let set = set(&clustered(1, 300, DIM), &options(Metric::Dot));
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 0.0, f32::MIN_POSITIVE] {
        for at in [0, DIM - 1] {
            let mut query = vec![0.5; DIM];
            query[at] = value;
            for effort in [walk(50), Effort::Flat, Effort::Exact, Effort::default()] {
                let mut hits = Vec::new();
                set.search_with(&mut Scratch::default(), &query, &Search { effort, ..Search::new(5, None) }, &mut hits);
                assert!(hits.iter().all(|hit| !hit.1.is_nan()) && (value.is_finite() || hits.len() <= 5));
                assert!(!value.is_nan() || hits.is_empty());
            }
        }
    }
}

#[test]
fn graph_headers_are_refused_by_what_is_false_in_them() {
    let header = GraphHeader {
        m0: 32,
        bits: Bits::Two,
        stride: nodes::row_stride(Bits::Two, 100),
        ef_construction: 96,
        reach: 1.0,
        entries: vec![7],
        calibration: vec![section::Calibrated { k: 10, ef: 768, slack: 0.1, recall: 0.99, evaluated: 500 }],
    };
    let bytes = header.encode();
    assert_eq!(GraphHeader::decode(&bytes, 100, 8), Ok(header));
    let cases: [(&str, usize, u32); 8] = [
        ("0 links a node", 0, 0),
        ("129 links a node", 0, 129),
        ("3 bits a value", 4, 3),
        ("128 bytes a node, 64 expected", 8, 128),
        ("a length that is not finite", 16, f32::NAN.to_bits()),
        ("0 entries", 20, 0),
        ("4294967295 entries", 20, u32::MAX),
        ("entry 8 of 8 nodes", 32, 8),
    ];
    for (expected, at, value) in cases {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let damage = GraphHeader::decode(&bytes, 100, 8).expect_err(expected);
        assert!(damage.what.contains(expected), "{damage}: {expected}");
    }
    for cut in 0..bytes.len() {
        assert!(GraphHeader::decode(&bytes[..cut], 100, 8).is_err(), "cut at {cut}");
    }
}

#[test]
fn damage_is_found_and_never_a_panic() {
    let rows = clustered(1, 200, 16);
    let new: Vec<_> = (0..).zip(&rows).map(|(id, row)| NewRow { id, hash: [0; 16], vector: row }).collect();
    let bytes = encode_segment(16, &new, &options(Metric::Dot));
    let mut random = Random::new(9);
    for _ in 0..600 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(damaged.len());
            damaged[at] ^= 1 << random.below(8);
        }
        let Ok(segment) = Segment::open(Arc::new(damaged)) else { continue };
        assert!(segment.verify().is_err());
        let set = Set::new(16, vec![(segment, Tombstones::default())]);
        for effort in [walk(50), Effort::Flat, Effort::Exact] {
            ids(&set, &rows[random.below(rows.len())], &Search { effort, ..Search::new(5, None) });
        }
    }
}

#[test]
fn codes_of_eight_bits_prove_exact_answers() {
    let (rows, queries) = (clustered(1, 3000, DIM), clustered(2, 30, DIM));
    let filter: Vec<u64> = (0..3000).filter(|id| id % 3 != 0).collect();
    for metric in [Metric::Dot, Metric::L2, Metric::Cosine] {
        let plain = SegmentOptions { graph_from: usize::MAX, ..options(metric) };
        let proven = set(&rows, &SegmentOptions { exact_codes: true, ..plain.clone() });
        let plain = set(&rows, &plain);
        let (mut scratch, mut found, mut truth) = (Scratch::default(), Vec::new(), Vec::new());
        for (at, query) in queries.iter().enumerate() {
            for k in [1, 10, 100] {
                let filter = (at % 2 == 1).then_some(&filter[..]);
                let search = Search { effort: Effort::Exact, ..Search::new(k, filter) };
                let work = proven.search_with(&mut scratch, query, &search, &mut found);
                assert_eq!((work.evaluated, work.code_bits), (3000, 8));
                assert!(work.rescored < 1500, "{metric:?} k {k}: {} rows were scored", work.rescored);
                plain.search_with(&mut scratch, query, &search, &mut truth);
                assert_eq!(found, truth, "{metric:?} k {k}");
            }
        }
    }
}

/// Rows that differ by less than f16 can tell are equal when they are read again.
#[test]
fn rows_that_rounding_made_equal_are_merged() {
    let mut rows = clustered(1, 300, DIM);
    let near: Vec<Vec<f32>> =
        rows.iter().take(100).map(|row| row.iter().map(|value| value * 1.000_01).collect()).collect();
    rows.extend(near);
    let options = SegmentOptions { rows: crate::index::vector::RowFormat::F16, ..options(Metric::L2) };
    let first = segment(&rows, &options);
    let mut dead = Tombstones::default();
    (0..40).for_each(|row| dead.insert(7 * row));
    let merged = Segment::open(Arc::new(merge(&[(&first, &dead)], &options).unwrap().unwrap())).unwrap();
    merged.verify().unwrap();
    assert_connected(&merged);
    assert_eq!(merged.len(), 360);
    let set = Set::new(DIM, vec![(merged, Tombstones::default())]);
    assert!(recall(&set, &clustered(2, 30, DIM), walk(200)) >= 0.98);
}
