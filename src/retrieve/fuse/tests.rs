use proptest::prelude::*;

use super::{
    blend::{FERTILITY_END, LEAST_DENSE_WEIGHT},
    *,
};

/// (id, bm25, cosine).
type Row = (u64, f32, Option<f32>);

/// Ranks follow the scores, as two legs that bring every candidate they score above 0.
fn candidates(rows: &[Row]) -> Vec<Candidate> {
    let rank = |id: u64, score: &dyn Fn(&Row) -> Option<f32>| {
        let own = rows.iter().find(|row| row.0 == id).and_then(score)?;
        let better = |row: &&Row| score(row).is_some_and(|other| other > own || (other == own && row.0 < id));
        Some(rows.iter().filter(better).count() + 1)
    };
    let lexical = |row: &Row| Some(row.1).filter(|&score| score > 0.0);
    rows.iter()
        .map(|&(id, bm25, cosine)| Candidate {
            id: ChunkId(id),
            lexical_rank: rank(id, &lexical),
            bm25,
            dense_rank: rank(id, &|row| row.2),
            cosine,
        })
        .collect()
}

fn ids(fused: &[Fused]) -> Vec<u64> {
    fused.iter().map(|f| f.candidate.id.0).collect()
}

fn close(found: f32, want: f32) {
    assert!((found - want).abs() < 1e-6, "{found} is not {want}");
}

#[test]
fn blend_by_hand() {
    let list = candidates(&[(1, 8.0, Some(0.2)), (2, 4.0, Some(0.7)), (3, 0.0, Some(0.45)), (4, 2.0, Some(0.1))]);
    // zero .2, so cosines above it are 0, .5, .25, 0 of .5; bm25 1, .5, 0, .25.
    let fused = Blend { weight: 0.5, zero: 0.2 }.fuse(&list);
    assert_eq!(ids(&fused), [2, 1, 3, 4]);
    for (fused, (score, lexical, dense)) in
        fused.iter().zip([(0.75, 0.5, 1.0), (0.5, 1.0, 0.0), (0.25, 0.0, 0.5), (0.125, 0.25, 0.0)])
    {
        close(fused.score, score);
        close(fused.lexical, lexical);
        close(fused.dense, dense);
    }
    assert_eq!(ids(&Blend { weight: 0.0, zero: 0.2 }.fuse(&list)), [1, 2, 4, 3]);
    assert_eq!(ids(&Blend { weight: 1.0, zero: 0.2 }.fuse(&list)), [2, 3, 1, 4], "equal scores: the higher cosine");
}

#[test]
fn rrf_by_hand() {
    let list = candidates(&[(1, 8.0, Some(0.1)), (2, 4.0, Some(0.7)), (3, 0.0, Some(0.5))]);
    let fused = rrf(&list, 0.5);
    // 1: 1/61 + 1/63; 2: 1/62 + 1/61; 3: 1/62 (not in the lexical list).
    assert_eq!(ids(&fused), [2, 1, 3]);
    close(fused[0].score, 1.0 / 62.0 + 1.0 / 61.0);
    close(fused[1].score, 1.0 / 61.0 + 1.0 / 63.0);
    close(fused[2].score, 1.0 / 62.0);
    assert_eq!(ids(&rrf(&list, 0.0)), [1, 2, 3]);
    assert_eq!(ids(&rrf(&list, 1.0)), [2, 3, 1]);
}

#[test]
fn weighted_by_hand() {
    let list = candidates(&[(1, 8.0, Some(0.1)), (2, 4.0, Some(0.7)), (3, 0.0, Some(0.4)), (4, 6.0, None)]);
    let fused = weighted(&list, 0.25);
    // lexical 1 .5 0 .75, dense 0 1 .5 0 → .75, .625, .125, .5625.
    assert_eq!(ids(&fused), [1, 2, 4, 3]);
    for (fused, want) in fused.iter().zip([0.75, 0.625, 0.5625, 0.125]) {
        close(fused.score, want);
    }
}

#[test]
fn dbsf_by_hand() {
    // bm25 mean 4, deviation 2: reach 6, so 2 → 4/12 and 6 → 8/12. cosine mean .5, deviation .1: .4 → 1/3, .6 → 2/3.
    let fused = dbsf(&candidates(&[(1, 2.0, Some(0.4)), (2, 6.0, Some(0.6))]), 0.5);
    assert_eq!(ids(&fused), [2, 1]);
    close(fused[0].score, 2.0 / 3.0);
    close(fused[1].score, 1.0 / 3.0);
}

#[test]
fn gate_by_hand() {
    let english = [(1.2, 0.01); 12];
    let code = [(1.3, 0.12); 12];
    let mixed = |fertility: f32| [(fertility, 0.0)];
    let check = |gate: Gate, fertility: f32, code: f32, trust: f32| {
        close(gate.fertility, fertility);
        close(gate.code, code);
        close(gate.trust, trust);
    };
    check(gate(&english, &english, false, false), 1.2, 0.0, 1.0);
    check(gate(&code, &code, false, false), 1.3, 1.0, 1.0);
    check(gate(&code, &code, true, false), 1.3, 0.0, 1.0);
    check(gate(&english, &code, false, false), 1.2, 0.5, 1.0);
    check(gate(&[], &code, false, false), 1.3, 1.0, 1.0);
    check(gate(&mixed(1.8), &english, false, false), 1.8, 0.0, 0.5);
    check(gate(&mixed(6.0), &english, false, false), 6.0, 0.0, 0.0);
    check(gate(&mixed(6.0), &english, false, true), 6.0, 0.0, 1.0);
    check(gate(&[], &[], false, false), 0.0, 0.0, 1.0);
    check(gate(&[(1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (f32::NAN, 0.0)], &[], false, false), 2.0, 0.0, 1.0 / 6.0);
    check(gate(&[(1.0, 0.0), (2.0, 0.0)], &[], false, false), 1.5, 0.0, 1.0);
    // Only the first ten are looked at, and the limit itself is not code.
    let tail: Vec<_> = english[..10].iter().copied().chain([(9.0, 1.0); 5]).collect();
    check(gate(&tail, &[(1.2, 0.065)], false, false), 1.2, 0.0, 1.0);
}

#[test]
fn weight_by_hand() {
    let with = |trust: f32, code: f32| Gate { fertility: 1.2, code, trust };
    for (alpha, gate, want) in [
        (None, with(1.0, 0.0), 0.5),
        (None, with(1.0, 1.0), 0.75),
        (None, with(0.5, 1.0), 0.375),
        (None, with(0.0, 1.0), 0.02),
        (Some(0.0), with(1.0, 0.0), 0.02),
        (Some(1.0), with(1.0, 1.0), 1.0),
        (Some(0.3), with(1.0, 0.4), 0.4),
    ] {
        close(weight(alpha, gate), want);
    }
}

#[test]
fn ties_go_to_cosine_then_id() {
    let list = candidates(&[(9, 0.0, None), (5, 0.0, Some(-0.2)), (7, 0.0, Some(-0.1)), (3, 0.0, None)]);
    assert_eq!(ids(&Blend { weight: 0.5, zero: 0.0 }.fuse(&list)), [7, 5, 3, 9]);
}

type Method = fn(&[Candidate], f32) -> Vec<Fused>;
const METHODS: [(&str, Method); 4] = [
    ("blend", |list, weight| Blend { weight, zero: 0.15 }.fuse(list)),
    ("rrf", rrf),
    ("weighted", weighted),
    ("dbsf", dbsf),
];

#[test]
fn degenerate_lists_give_finite_scores() {
    let lists: [&[Row]; 8] = [
        &[],
        &[(1, 3.0, Some(0.5))],
        &[(1, 0.0, None)],
        &[(1, 0.0, Some(0.0)), (2, 0.0, Some(0.0))],
        &[(1, 2.0, Some(0.5)), (2, 2.0, Some(0.5))],
        &[(1, -2.0, Some(-0.5)), (2, -1.0, Some(-0.25))],
        &[(1, 2.0, None), (2, 1.0, None)],
        &[(1, f32::MAX, Some(f32::MIN_POSITIVE)), (2, f32::MIN_POSITIVE, Some(1.0))],
    ];
    for (name, method) in METHODS {
        for rows in lists {
            for alpha in [0.0, 0.02, 0.5, 1.0] {
                let fused = method(&candidates(rows), alpha);
                assert_eq!(fused.len(), rows.len());
                for one in fused {
                    assert!((0.0..=1.0).contains(&one.score), "{name} {rows:?} {alpha}: {one:?}");
                }
            }
        }
    }
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    // Few distinct values, so that ties are common.
    let score = prop_oneof![Just(0.0f32), (0..8u8).prop_map(|n| f32::from(n) * 0.7), 0.0..30.0f32];
    let cosine = prop_oneof![
        Just(None),
        (0..8u8).prop_map(|n| Some(f32::from(n) * 0.125 - 0.25)),
        (-1.0..1.0f32).prop_map(Some)
    ];
    prop::collection::btree_map(0..40u64, (score, cosine), 1..25)
        .prop_map(|rows| rows.into_iter().map(|(id, (bm25, cosine))| (id, bm25, cosine)).collect())
}

proptest! {
    #[test]
    fn order_of_candidates_does_not_matter(
        (rows, shuffled) in rows().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        alpha in 0.0..=1.0f32,
    ) {
        for (name, method) in METHODS {
            let (one, two) = (method(&candidates(&rows), alpha), method(&candidates(&shuffled), alpha));
            prop_assert_eq!(ids(&one), ids(&two), "{}", name);
            prop_assert!(one.windows(2).all(|w| w[0].score >= w[1].score), "{}", name);
        }
    }

    /// A better score in one leg, all else equal, never costs a chunk its place.
    #[test]
    fn monotone_in_each_score(rows in rows(), pick in any::<prop::sample::Index>(), rise in 0.0..5.0f32, alpha in 0.0..=1.0f32) {
        let at = pick.index(rows.len());
        let id = rows[at].0;
        let mut lexical = rows.clone();
        lexical[at].1 += rise;
        let mut dense = rows.clone();
        dense[at].2 = dense[at].2.map(|cosine| cosine + rise / 5.0);
        for (name, method) in METHODS {
            // The spread of the whole list may shrink as one score moves, so DBSF promises only the leg's own part.
            let before = method(&candidates(&rows), alpha);
            let part = |fused: &[Fused], leg: fn(&Fused) -> f32| {
                fused.iter().find(|f| f.candidate.id.0 == id).map_or(0.0, leg)
            };
            let place = |fused: &[Fused]| ids(fused).iter().position(|&other| other == id);
            for (better, leg) in [(&lexical, (|f| f.lexical) as fn(&Fused) -> f32), (&dense, |f| f.dense)] {
                let after = method(&candidates(better), alpha);
                prop_assert!(part(&after, leg) >= part(&before, leg) - 1e-5, "{}", name);
                if name != "dbsf" {
                    prop_assert!(place(&after) <= place(&before), "{} {:?} → {:?}", name, before, after);
                }
            }
        }
    }

    #[test]
    fn less_trust_never_raises_the_weight(low in 1.0..3.0f32, more in 0.0..3.0f32, code in 0.0..=1.0f32) {
        let at = |fertility: f32| weight(None, Gate { code, ..gate(&[(fertility, 0.0)], &[], false, false) });
        prop_assert!(at(low + more) <= at(low));
        prop_assert!(at(FERTILITY_END + more) == LEAST_DENSE_WEIGHT);
    }
}
