//! When parts are worth writing again as one: by their size, and by how much of them is dead.
//!
//! Useful for: a bounded number of parts whatever came in. Not for: the merge itself (see [`merge`](super::merge)).
//!
//! A part belongs to a tier by its live rows: tier 0 below 256, then one tier for each factor of 4. Four parts of a tier
//! become one, together with all parts of lower tiers, which are small beside them. So each row is written again once a
//! tier, about log₄(rows / 256) times in its life. A part of which more than 30 % are dead is written again too: for each
//! row so dropped, at most 2⅓ are copied.
//!
//! One merge a commit is enough, whatever the commit added or deleted: where no tier has four parts, there are at most 3 a
//! tier; where one has, the merge leaves a single part of all tiers up to the highest that has. So a history of up to 2³²
//! live rows never has more than 3 × 13 = [`MAX_PARTS`] parts after a commit, and one of 100,000 rows no more than 18.

use std::collections::BTreeSet;

use super::layout::MAX_ROWS;

const FANOUT: usize = 4;
const SMALLEST: usize = 256;
/// Tiers 0 to 12: 256 × 4¹² is 2³².
const TIERS: usize = 13;
const DEAD_PERCENT: usize = 30;

/// The most parts after a commit that merged what [`Set::merge_candidates`](super::Set::merge_candidates) named, once.
pub const MAX_PARTS: usize = (FANOUT - 1) * TIERS;

#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub rows: usize,
    pub live: usize,
}

/// Which parts to write again as one; `None` if none are worth it. Never more live rows than a segment can have. A single
/// part is named only for its dead rows.
pub(super) fn candidates(sizes: &[Size]) -> Option<BTreeSet<usize>> {
    let mut members = [0; TIERS];
    for size in sizes {
        members[tier(size.live)] += 1;
    }
    let crowded = (0..TIERS).rev().find(|&tier| members[tier] >= FANOUT);
    let small = |size: &Size| crowded.is_some_and(|crowded| tier(size.live) <= crowded);
    let sparse = |size: &Size| (size.rows - size.live) * 100 > size.rows * DEAD_PERCENT;

    // Smallest first, for the case that not all fit into one segment.
    let mut chosen: Vec<usize> = (0..sizes.len()).filter(|&part| small(&sizes[part]) || sparse(&sizes[part])).collect();
    chosen.sort_by_key(|&part| sizes[part].live);
    let mut live: usize = 0;
    let fits = |part: &usize| {
        live = live.saturating_add(sizes[*part].live);
        live <= MAX_ROWS
    };
    let chosen: BTreeSet<usize> = chosen.into_iter().take_while(fits).collect();
    let worth = chosen.len() > 1 || chosen.iter().any(|&part| sparse(&sizes[part]));
    worth.then_some(chosen)
}

fn tier(live: usize) -> usize {
    let tier = if live < SMALLEST { 0 } else { 1 + (live / SMALLEST).ilog(FANOUT) as usize };
    tier.min(TIERS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(live: usize) -> Size {
        Size { rows: live, live }
    }

    fn check(sizes: &[Size], expected: Option<&[usize]>) {
        assert_eq!(candidates(sizes), expected.map(|parts| parts.iter().copied().collect()), "{sizes:?}");
    }

    #[test]
    fn a_tier_is_a_factor_of_four() {
        let cases = [(0, 0), (255, 0), (256, 1), (1023, 1), (1024, 2), (100_000, 5), (MAX_ROWS, 12), (usize::MAX, 12)];
        for (live, expected) in cases {
            assert_eq!(tier(live), expected, "{live}");
        }
    }

    #[test]
    fn four_of_a_tier_and_all_below_are_worth_it() {
        check(&[], None);
        check(&[whole(1); 3], None);
        check(&[whole(1); 4], Some(&[0, 1, 2, 3]));
        check(&[300, 9, 1000, 256, 700, 5000].map(whole), Some(&[0, 1, 2, 3, 4]));
        check(&[300, 9, 1000, 256, 1024, 5000].map(whole), None);
        check(&[1, 1, 300, 300, 5000, 300, 1, 1, 300].map(whole), Some(&[0, 1, 2, 3, 5, 6, 7, 8]));
    }

    #[test]
    fn a_part_of_which_much_is_dead_is_worth_it() {
        check(&[Size { rows: 1000, live: 700 }], None);
        check(&[whole(5), Size { rows: 1000, live: 699 }], Some(&[1]));
        check(&[Size { rows: 1, live: 0 }], Some(&[0]));
        check(&[whole(0)], None);
    }

    #[test]
    fn more_than_a_segment_holds_is_never_merged() {
        check(&[whole(MAX_ROWS / 3 + 1); 4], Some(&[0, 1]));
        check(&[whole(MAX_ROWS); 4], None);
    }

    /// Parts after each commit of a history, merged once a commit: the most there were, and rows written for a row put.
    fn history(commits: impl Iterator<Item = (usize, f64)>) -> (usize, f64) {
        let (mut parts, mut most, mut put, mut written) = (Vec::<Size>::new(), 0, 0, 0);
        for (rows, deleted) in commits {
            parts.push(whole(rows));
            put += rows;
            // A share of some part, the older the likelier to be large.
            let part = put % parts.len();
            parts[part].live -= (parts[part].live as f64 * deleted) as usize;
            if let Some(chosen) = candidates(&parts) {
                let live = chosen.iter().map(|&part| parts[part].live).sum();
                parts = (0..parts.len()).filter(|part| !chosen.contains(part)).map(|part| parts[part]).collect();
                parts.extend((live > 0).then_some(whole(live)));
                written += live;
            }
            most = most.max(parts.len());
        }
        (most, written as f64 / put as f64)
    }

    #[test]
    fn no_history_makes_many_parts() {
        for seed in 1..=40u64 {
            let mut state = seed;
            let mut random = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % below
            };
            let commits = (0..1000).map(|_| {
                let large = [1, 10, 300, 3000, 50_000, 1_000_000][random(6)];
                (1 + random(large), [0.0, 0.0, 0.01, 0.2, 0.9, 1.0][random(6)])
            });
            let (most, _) = history(commits);
            assert!(most <= MAX_PARTS, "seed {seed}: {most} parts");
        }
    }

    #[test]
    fn small_commits_make_few_parts_and_write_each_row_a_few_times() {
        for (rows, commits, parts, writes) in [(1, 100_000, 18, 60.0), (100, 1000, 18, 10.0), (2000, 50, 18, 4.0)] {
            let (most, written) = history(std::iter::repeat_n((rows, 0.0), commits));
            assert!(most <= parts && written <= writes, "{rows} rows a commit: {most} parts, each row {written} times");
        }
    }

    #[test]
    fn the_worst_history_has_as_many_parts_as_there_may_be() {
        // Three parts of each tier, from the largest down: nothing is crowded, and one more of any tier is merged.
        let sizes = |tier: u32| if tier == 0 { 1 } else { SMALLEST << (2 * (tier - 1)) };
        let parts: Vec<Size> = (0..TIERS as u32).rev().flat_map(|tier| [whole(sizes(tier)); 3]).collect();
        assert_eq!(parts.len(), MAX_PARTS);
        check(&parts, None);
        let one_more = [&parts[..], &[whole(1)]].concat();
        assert_eq!(candidates(&one_more).unwrap().len(), 4);
    }
}
