//! A walk over a graph: from node to node, always the nearest whose links were not yet followed, until none is near enough.
//!
//! Useful for: the nodes nearest to a query and to a new node alike. Not for: true scores; those of the walk are estimates.

use crate::index::vector::{kernels::Kernels, metric::Metric};

/// Where a list of links ends before its length.
pub(in crate::index::vector) const NO_LINK: u32 = u32::MAX;
/// The only link of a row that equals the one before it: it is no node of its own. A walk finds the first of equal rows and
/// with it all others, which so never stand in the way.
pub(in crate::index::vector) const TWIN: u32 = u32::MAX - 1;
/// Links of a node at most: their scores are one batch.
pub(super) const MAX_LINKS: usize = 128;
/// A node of the pool whose links were followed. So a graph has at most 2³¹ nodes.
const DONE: u32 = 1 << 31;
pub(super) const MAX_NODES: usize = DONE as usize;

/// Scores of nodes, higher is nearer.
pub(super) trait Scores {
    /// Every node is one of the graph's.
    fn scores(&mut self, nodes: &[u32], scores: &mut [f32]);
}

/// The lists of links of all nodes: `width` a node, ended by [`NO_LINK`] or the width. A link that names no node ends a list
/// too, so damage leads nowhere.
#[derive(Clone, Copy)]
pub(super) struct Links<'a> {
    pub all: &'a [u32],
    pub width: usize,
    pub nodes: usize,
}

impl<'a> Links<'a> {
    fn of(&self, node: u32) -> &'a [u32] {
        let start = node as usize * self.width;
        self.all.get(start..start + self.width).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub score: f32,
    node: u32,
}

impl Found {
    pub fn node(&self) -> u32 {
        self.node & !DONE
    }
}

/// When a walk ends.
#[derive(Debug, Clone, Copy)]
pub(in crate::index::vector) struct Stop {
    /// Nodes of the pool: the walk ends when the links of all of them were followed.
    pub ef: usize,
    /// It ends too when the next node is farther than the k-th best by more than this factor of the distance. Distance-based
    /// stopping as in arXiv:2505.15636, rule 3. Infinite: never.
    pub slack: f32,
    pub k: usize,
    /// The squared distance of a score s is `reach − scale × s`.
    pub reach: f32,
    pub scale: f32,
}

impl Stop {
    /// Only when the pool is done.
    pub fn at(ef: usize) -> Self {
        Self { ef, slack: f32::INFINITY, k: ef, reach: 0.0, scale: 1.0 }
    }

    /// For a query of this squared length over rows of which the longest has the squared length `reach`: the distance of unit
    /// vectors, of rows lifted to one length (see [`Nodes`](super::nodes::Nodes)), or the distance itself.
    pub fn for_query(metric: Metric, squared: f32, reach: f32, ef: usize, slack: f32, k: usize) -> Self {
        let (reach, scale) = match metric {
            Metric::Dot => (squared + reach, 2.0),
            Metric::Cosine => (2.0, 2.0),
            Metric::L2 => (0.0, 1.0),
        };
        Self { ef, slack, k, reach, scale }
    }

    /// The score of a node that is just too far, given that of the k-th best.
    fn bar(&self, kth: f32) -> f32 {
        let distance = (self.reach - self.scale * kth).max(0.0);
        let factor = 1.0 + self.slack;
        (self.reach - factor * factor * distance) / self.scale
    }
}

/// Buffers of walks over graphs of any size.
#[derive(Debug, Default)]
pub(in crate::index::vector) struct Walk {
    /// Best first.
    pool: Vec<Found>,
    /// A bit a node; all zero between walks.
    seen: Vec<u64>,
    /// The nodes whose bits are set.
    touched: Vec<u32>,
    /// Nodes whose links were followed in the last walk.
    pub hops: usize,
    /// The k best scores of nodes that count, if not all do; best first.
    counted: Vec<f32>,
}

impl Walk {
    /// The nodes nearest by score, best first: at most `ef` of them. [`evaluated`](Self::evaluated) counts the scores. With
    /// `counts`, the k-th best of the slack is that of the nodes that count; the others only lead on.
    pub(super) fn walk(
        &mut self,
        kernels: &Kernels,
        links: Links<'_>,
        entries: &[u32],
        scores: &mut impl Scores,
        stop: Stop,
        counts: Option<&dyn Fn(u32) -> bool>,
    ) -> &[Found] {
        for node in self.touched.drain(..) {
            self.seen[node as usize / 64] = 0;
        }
        if self.seen.len() * 64 < links.nodes {
            self.seen.resize(links.nodes.div_ceil(64), 0);
        }
        self.pool.clear();
        self.counted.clear();
        self.pool.reserve(stop.ef + 1);
        self.hops = 0;
        let mut fresh = [0; MAX_LINKS];
        let mut scored = [0.0; MAX_LINKS];
        for entries in entries.chunks(MAX_LINKS) {
            let fresh = self.unseen(entries, links.nodes, &mut fresh);
            scores.scores(fresh, &mut scored[..fresh.len()]);
            for (&node, &score) in fresh.iter().zip(&scored) {
                self.insert(stop.ef, score, node);
                self.count(&stop, counts, score, node);
            }
        }
        let mut bar = self.bar(&stop, counts.is_some());
        let mut next = 0;
        while let Some(&Found { score, node }) = self.pool.get(next) {
            if node & DONE != 0 {
                next += 1;
                continue;
            }
            if score < bar && next >= stop.k {
                break;
            }
            self.pool[next].node |= DONE;
            self.hops += 1;
            let fresh = self.unseen(links.of(node), links.nodes, &mut fresh);
            // Likely to be next.
            if let Some(then) = self.pool[next..].iter().find(|found| found.node & DONE == 0) {
                kernels.fetch(bytemuck::cast_slice(links.of(then.node)));
            }
            scores.scores(fresh, &mut scored[..fresh.len()]);
            let mut first = next + 1;
            for (&node, &score) in fresh.iter().zip(&scored) {
                // What is too far now is too far at the end: the k-th best only becomes better.
                if score <= bar && self.pool.len() >= stop.k.min(stop.ef) {
                    continue;
                }
                let at = self.insert(stop.ef, score, node);
                first = first.min(at);
                if self.count(&stop, counts, score, node) || at < stop.k || self.pool.len() == stop.ef {
                    bar = self.bar(&stop, counts.is_some());
                }
            }
            next = first;
        }
        &self.pool
    }

    /// The score that a node must be above to be of use.
    fn bar(&self, stop: &Stop, counted: bool) -> f32 {
        let worst = if self.pool.len() < stop.ef { None } else { self.pool.last().map(|worst| worst.score) };
        let kth = stop.k.checked_sub(1).filter(|_| stop.slack.is_finite());
        let kth =
            kth.and_then(|at| if counted { self.counted.get(at).copied() } else { self.pool.get(at).map(|f| f.score) });
        let far = kth.map_or(f32::NEG_INFINITY, |kth| stop.bar(kth));
        worst.map_or(far, |worst| worst.max(far))
    }

    /// Takes note of a node if it counts and is one of the k best that do, where not all do.
    fn count(&mut self, stop: &Stop, counts: Option<&dyn Fn(u32) -> bool>, score: f32, node: u32) -> bool {
        let Some(counts) = counts else { return false };
        let at = self.counted.partition_point(|&counted| counted >= score || score.is_nan());
        if at >= stop.k || !counts(node) {
            return false;
        }
        self.counted.truncate(stop.k - 1);
        self.counted.insert(at, score);
        true
    }

    /// How many nodes the last walk scored.
    pub fn evaluated(&self) -> usize {
        self.touched.len()
    }

    pub(super) fn pool(&self) -> &[Found] {
        &self.pool
    }

    /// The nodes of a list that this walk has not scored, marked as seen.
    fn unseen<'a>(&mut self, list: &[u32], nodes: usize, fresh: &'a mut [u32; MAX_LINKS]) -> &'a [u32] {
        let mut count = 0;
        for &node in list.iter().take(MAX_LINKS) {
            // Damage leads nowhere.
            if node as usize >= nodes {
                break;
            }
            let (word, bit) = (&mut self.seen[node as usize / 64], 1 << (node % 64));
            fresh[count] = node;
            count += usize::from(*word & bit == 0);
            *word |= bit;
        }
        self.touched.extend_from_slice(&fresh[..count]);
        &fresh[..count]
    }

    /// Puts a node behind all that are as good, drops the worst beyond `ef`. Returns its place. A score that is not a number
    /// is worse than all others.
    fn insert(&mut self, ef: usize, score: f32, node: u32) -> usize {
        let at = self.pool.partition_point(|found| found.score >= score || score.is_nan());
        if self.pool.len() >= ef {
            self.pool.pop();
        }
        let at = at.min(self.pool.len());
        self.pool.insert(at, Found { score, node });
        at
    }
}
