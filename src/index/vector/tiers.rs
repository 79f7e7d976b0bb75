//! When parts are worth writing again as one: by their size, and by how much of them is dead.
//!
//! Useful for: a bounded number of parts whatever came in. Not for: the merge itself (see [`merge`](super::merge)).
//!
//! A part belongs to a tier by its live rows: tier 0 below 256, then one tier for each factor of 4. Four parts of a tier
//! become one, together with all parts of lower tiers, which are small beside them. So each row is written again once a
//! tier, about log₄(rows / 256) times in its life. A part of which more than 30 % are dead is written again too: for each
//! row so dropped, at most 2⅓ are copied.
//!
//! Once nothing is left to merge there are at most 3 parts a tier: 3 × 13 = [`MAX_PARTS`] for any history of up to 2³²
//! live rows, and 18 for 100,000.

use std::collections::BTreeSet;

use super::layout::MAX_ROWS;

const FANOUT: usize = 4;
const SMALLEST: usize = 256;
/// Tiers 0 to 12: 256 × 4¹² is 2³².
const TIERS: usize = 13;
const DEAD_PERCENT: usize = 30;

/// The most parts a set has once [`Set::merge_candidates`](super::Set::merge_candidates) has nothing to say.
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
