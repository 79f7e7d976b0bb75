use std::collections::{BTreeMap, BTreeSet as Ids};

use proptest::{prelude::*, test_runner::RngSeed};

use super::*;
use crate::index::vector::{NewRow, SegmentOptions, dot, encode_segment, merge};

type Row = (u64, Vec<f32>);

fn hash(id: u64) -> [u8; 16] {
    u128::from(id % 16).to_le_bytes()
}

fn segment(dim: usize, rows: &[Row]) -> Segment {
    let rows: Vec<_> = rows.iter().map(|(id, vector)| NewRow { id: *id, hash: hash(*id), vector }).collect();
    Segment::open(Arc::new(encode_segment(dim, &rows, &SegmentOptions::default()))).unwrap()
}

/// Every table of kernels this CPU has, for as long as the tests run.
fn kernel_sets() -> impl Iterator<Item = &'static Kernels> {
    kernels::available().into_iter().map(|set| &*Box::leak(Box::new(set)))
}

/// What search means, in the plainest words: score everything, sort everything.
fn naive(
    kernels: &Kernels,
    live: &BTreeMap<u64, Vec<f32>>,
    query: &[f32],
    k: usize,
    filter: Option<&[u64]>,
) -> Vec<(u64, f32)> {
    let allowed = |id: &u64| filter.is_none_or(|ids| ids.contains(id));
    let mut hits: Vec<(u64, f32)> = live
        .iter()
        .filter(|(id, _)| allowed(id))
        .map(|(id, vector)| (*id, kernels.dot(query, vector) + 0.0))
        .filter(|(_, score)| !score.is_nan())
        .collect();
    hits.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    hits.truncate(k);
    hits
}

fn bits(hits: &[(u64, f32)]) -> Vec<(u64, u32)> {
    hits.iter().map(|(id, score)| (*id, score.to_bits())).collect()
}

/// A history: parts of rows with ids that are unique among the live, and tombstones for the rest.
#[derive(Debug, Clone)]
struct History {
    dim: usize,
    parts: Vec<(Vec<Row>, Vec<usize>)>,
    live: BTreeMap<u64, Vec<f32>>,
}

impl History {
    fn set(&self) -> Set {
        let part = |(rows, dead): &(Vec<Row>, Vec<usize>)| {
            let mut tombstones = Tombstones::default();
            dead.iter().for_each(|&row| tombstones.insert(row));
            (segment(self.dim, rows), tombstones)
        };
        Set::new(self.dim, self.parts.iter().map(part).collect())
    }
}

prop_compose! {
    /// Few ids, few values and few dimensions, so that ids come again, vectors are equal and scores tie.
    fn histories()(
        dim in prop::sample::select(vec![1usize, 2, 7, 16, 33]),
        batches in prop::collection::vec(prop::collection::vec((0u64..400, 0u8..4, prop::bool::weighted(0.2)), 0..150), 0..5),
    ) -> History {
        let mut history = History { dim, parts: Vec::new(), live: BTreeMap::new() };
        for batch in batches {
            let mut rows: Vec<Row> = Vec::new();
            for (id, value, deleted) in batch {
                if rows.iter().any(|row| row.0 == id) {
                    continue;
                }
                // An id that comes again replaces the row of an earlier part.
                for (rows, dead) in &mut history.parts {
                    dead.extend(rows.iter().position(|row| row.0 == id));
                }
                let vector: Vec<f32> = (0..dim).map(|i| ((usize::from(value) * (i + 3)) % 5) as f32 - 2.0).collect();
                history.live.insert(id, vector.clone());
                rows.push((id, vector));
                if deleted {
                    history.live.remove(&id);
                }
            }
            let dead = (0..rows.len()).filter(|&row| !history.live.contains_key(&rows[row].0)).collect();
            history.parts.push((rows, dead));
        }
        history
    }
}

fn filters() -> impl Strategy<Value = Option<Vec<u64>>> {
    let some =
        |most: usize| prop::collection::btree_set(0u64..420, 0..=most).prop_map(|ids| Some(ids.into_iter().collect()));
    prop_oneof![Just(None), some(2), some(20), some(300), Just(Some((0..500).collect()))]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn search_is_what_it_means(
        history in histories(),
        filter in filters(),
        k in prop_oneof![0usize..5, 5usize..500, Just(usize::MAX)],
        seed in 0u32..1000,
    ) {
        let query: Vec<f32> = (0..history.dim).map(|i| ((seed as usize * (i + 1)) % 7) as f32 - 3.0).collect();
        for kernels in kernel_sets() {
            let set = history.set().with_kernels(kernels);
            let expected = naive(kernels, &history.live, &query, k, filter.as_deref());
            prop_assert_eq!(bits(&set.search(&query, k, filter.as_deref())), bits(&expected));
        }
    }

    #[test]
    fn a_merge_changes_no_answer(history in histories(), filter in filters(), k in 0usize..50) {
        // Values that round, so that another order of additions would show.
        let query: Vec<f32> = (0..history.dim).map(|i| 1.0 / (i + 3) as f32).collect();
        let set = history.set();
        let parts: Vec<_> = set.parts().iter().map(|(segment, dead)| (segment, dead)).collect();
        let merged = merge(&parts, &SegmentOptions::default()).unwrap().map(|bytes| (Segment::open(Arc::new(bytes)).unwrap(), Tombstones::default()));
        let merged = Set::new(history.dim, merged.into_iter().collect());
        prop_assert_eq!(merged.len(), set.len());
        let filter = filter.as_deref();
        prop_assert_eq!(bits(&merged.search(&query, k, filter)), bits(&set.search(&query, k, filter)));
    }

    #[test]
    fn ids_and_hashes_find_the_live_row(history in histories()) {
        let set = history.set();
        prop_assert_eq!(set.len(), history.live.len());
        for id in 0..420 {
            let vector = set.vector(id);
            prop_assert_eq!(vector.as_deref(), history.live.get(&id).map(Vec::as_slice));
            if let Some((part, row)) = set.locate(id) {
                prop_assert_eq!(set.parts()[part].0.ids()[row], id);
            }
        }
        for of in 0..16 {
            let vectors: Vec<&[f32]> = history.live.iter().filter(|(id, _)| *id % 16 == of).map(|(_, v)| &v[..]).collect();
            match set.vector_by_hash(&hash(of)) {
                Some(found) => prop_assert!(vectors.contains(&&*found)),
                None => prop_assert!(vectors.is_empty()),
            }
        }
    }
}

/// Rows that differ in every value, the same on every machine.
fn rows(dim: usize, count: u64) -> Vec<Row> {
    let value = |id: u64, i: usize| ((id * 7919 + i as u64 * 104_729) % 1009) as f32 / 1009.0 - 0.5;
    (0..count).map(|id| (id, (0..dim).map(|i| value(id, i)).collect())).collect()
}

#[test]
fn a_score_depends_on_nothing_but_query_and_row() {
    let (dim, all) = (100, rows(100, 1000));
    let query = &all[17].1;
    for kernels in kernel_sets() {
        let alone: Vec<u32> = all.iter().map(|row| kernels.dot(query, &row.1).to_bits()).collect();
        // Whole, in pieces of odd sizes, and backwards; with filters that are looked up, spread sparsely and spread densely.
        let backwards: Vec<Row> = all.iter().rev().cloned().collect();
        let cuts = [vec![&all[..]], vec![&all[..1], &all[1..66], &all[66..67], &all[67..]], vec![&backwards[..]]];
        for cut in cuts {
            let parts = cut.iter().map(|rows| (segment(dim, rows), Tombstones::default())).collect();
            let set = Set::new(dim, parts).with_kernels(kernels);
            for step in [1, 2, 3, 10, 200] {
                let filter: Vec<u64> = (0..1000).step_by(step).collect();
                let hits = set.search(query, 1000, Some(&filter));
                assert_eq!(hits.len(), filter.len());
                for (id, score) in hits {
                    assert_eq!(score.to_bits(), alone[id as usize], "{kernels:?} row {id}");
                }
            }
        }
    }
}

#[test]
fn the_free_function_gives_the_score_of_search() {
    let rows = rows(384, 50);
    let set = Set::new(384, vec![(segment(384, &rows), Tombstones::default())]);
    for (id, score) in set.search(&rows[3].1, 50, None) {
        assert_eq!(score, dot(&rows[3].1, &rows[id as usize].1));
        assert_eq!(score, dot(&rows[3].1, &set.vector(id).unwrap()));
    }
}

#[test]
fn nothing_comes_of_nothing() {
    let none = Set::default();
    assert!(none.is_empty() && none.parts().is_empty() && none.merge_candidates().is_none());
    assert_eq!((none.search(&[1.0], 5, None), none.vector(1), none.vector_by_hash(&[0; 16])), (vec![], None, None));

    let mut all_dead = Tombstones::default();
    (0..3).for_each(|row| all_dead.insert(row));
    let rows = rows(2, 3);
    let dead = Set::new(2, vec![(segment(2, &[]), Tombstones::default()), (segment(2, &rows), all_dead)]);
    assert!(dead.is_empty());
    assert_eq!(dead.search(&[1.0, 1.0], 5, Some(&[0, 1, 2])), []);
    assert_eq!(dead.merge_candidates(), Some(Ids::from([1])));

    let set = Set::new(2, vec![(segment(2, &rows), Tombstones::default())]);
    assert_eq!(set.search(&[1.0, 1.0], 0, None), []);
    assert_eq!(set.search(&[1.0, 1.0], 5, Some(&[])), []);
    assert_eq!(set.search(&[1.0, 1.0], usize::MAX, None).len(), 3);
}

#[test]
fn scores_that_are_no_numbers_are_left_out() {
    let rows = vec![(1, vec![f32::MAX, 0.0]), (2, vec![0.0, 1.0]), (3, vec![-f32::MAX, f32::MAX])];
    let set = Set::new(2, vec![(segment(2, &rows), Tombstones::default())]);
    assert_eq!(set.search(&[f32::NAN, 1.0], 9, None), []);
    let hits = set.search(&[f32::INFINITY, f32::INFINITY], 9, None);
    // 0 × ∞ and ∞ − ∞ are no numbers.
    assert_eq!(hits, []);
    let hits = set.search(&[4.0, 0.0], 9, None);
    assert_eq!(hits, [(1, f32::INFINITY), (2, 0.0), (3, f32::NEG_INFINITY)]);
}

#[test]
fn equal_vectors_come_in_the_order_of_their_ids() {
    let same: Vec<Row> = (0..300).map(|i| (i * 7919 % 300, vec![0.6, 0.8])).collect();
    let (first, second) = same.split_at(130);
    let parts = [second, first].map(|rows| (segment(2, rows), Tombstones::default()));
    let set = Set::new(2, parts.into());
    for k in [1, 2, 64, 65, 300] {
        let ids: Vec<u64> = set.search(&[0.6, 0.8], k, None).iter().map(|hit| hit.0).collect();
        assert_eq!(ids, (0..k as u64).collect::<Vec<_>>());
    }
}

#[test]
fn an_id_that_a_filter_names_twice_is_found_once() {
    let set = Set::new(1, vec![(segment(1, &rows(1, 300)), Tombstones::default())]);
    for copies in [2, 200] {
        assert_eq!(set.search(&[1.0], 9, Some(&vec![7; copies])).len(), 1);
    }
}

#[test]
fn a_damaged_table_of_ids_finds_nothing_false() {
    let rows = rows(1, 200);
    let mut bytes = {
        let rows: Vec<_> = rows.iter().map(|(id, vector)| NewRow { id: *id, hash: hash(*id), vector }).collect();
        encode_segment(1, &rows, &SegmentOptions::default())
    };
    let sound = Segment::open(Arc::new(bytes.clone())).unwrap();
    // The rows of the table, behind its keys: every one of them out of range, or another's.
    let table = sound.id_rows().as_ptr().addr() - sound.ids().as_ptr().addr() + 256;
    for value in [0xff, 0x00] {
        bytes[table..table + 4 * 200].fill(value);
        let set = Set::new(1, vec![(Segment::open(Arc::new(bytes.clone())).unwrap(), Tombstones::default())]);
        // Looked up, as a bitmap, and asked last.
        for filter in [vec![7], (0..50).collect(), (0..200).collect::<Vec<_>>()] {
            for (id, score) in set.search(&[1.0], 10, Some(&filter)) {
                assert_eq!(score, rows[id as usize].1[0]);
                assert!(filter.contains(&id));
            }
        }
        assert_eq!(set.vector(7), None);
    }
}

#[test]
fn damage_that_was_not_looked_for_gives_no_panic() {
    let all = rows(1, 130);
    let bytes = {
        let rows: Vec<_> = all.iter().map(|(id, vector)| NewRow { id: *id, hash: hash(*id), vector }).collect();
        encode_segment(1, &rows, &SegmentOptions::default())
    };
    let filters = [None, Some(vec![7, 90]), Some((0..40).collect()), Some((0..130).collect::<Vec<_>>())];
    let mut opened = 0;
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at * 5 % 8);
        let Ok(segment) = Segment::open(Arc::new(flipped)) else { continue };
        opened += 1;
        assert!(segment.verify().is_err(), "byte {at}");
        let set = Set::new(1, vec![(segment, Tombstones::default())]);
        for filter in &filters {
            assert!(set.search(&[1.0], 10, filter.as_deref()).len() <= 10);
        }
        for id in [0, 64, 129, u64::MAX] {
            let _ = (set.vector(id), set.vector_by_hash(&hash(id)));
        }
    }
    assert!(opened > bytes.len() / 2, "opening reads the head only");
}

#[test]
#[should_panic(expected = "dimension of the query")]
fn a_query_of_another_dimension_is_a_mistake() {
    Set::new(2, vec![(segment(2, &rows(2, 1)), Tombstones::default())]).search(&[1.0], 1, None);
}

#[test]
#[should_panic(expected = "tombstones of another segment")]
fn tombstones_must_fit() {
    let mut dead = Tombstones::default();
    dead.insert(1);
    Set::new(2, vec![(segment(2, &rows(2, 1)), dead)]);
}

/// Under a filter that keeps the nearest away scores lie close together, and codes tell them no longer apart: then every row
/// is scored.
#[test]
fn where_codes_tell_nothing_apart_rows_are_scored() {
    let mut random = crate::index::vector::testing::Random::new(7);
    let rows: Vec<Row> = (0..12_000).map(|id| (id, (0..8).map(|_| 1.0 + 0.01 * random.normal()).collect())).collect();
    let set = Set::new(8, vec![(segment(8, &rows), Tombstones::default())]);
    let far: Vec<u64> = rows.iter().filter(|row| row.1[0] < 1.0).map(|row| row.0).collect();
    let (mut scratch, mut found, mut truth) = (Scratch::default(), Vec::new(), Vec::new());
    for filter in [None, Some(&far[..])] {
        let query = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let search = Search { margin: 1e6, ..Search::new(10, filter) };
        let work = set.search_with(&mut scratch, &query, &search, &mut found);
        let exact = Search { effort: crate::index::vector::Effort::Exact, ..search };
        set.search_with(&mut scratch, &query, &exact, &mut truth);
        assert_eq!(found, truth);
        assert_eq!((work.flat, work.exact, work.rescored), (0, 1, 0));
    }
}
