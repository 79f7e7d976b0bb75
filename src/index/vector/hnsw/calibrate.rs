//! What a graph finds, measured while it is built: with rows that are not in it yet.
//!
//! Useful for: choosing how far to walk for a recall that is asked for. Not for: queries that are unlike the rows; those find
//! less.

use super::{
    build::Builder,
    nodes::{NodeScores, QueryScores, row_stride, terms},
    section::Calibrated,
    walk::{MAX_LINKS, Scores, Stop, Walk},
};
use crate::index::vector::{
    codes::Bits,
    kernels::Rows,
    parallel::for_each_chunk,
    quant::{Encoder, Prepared, RotatedQuery},
    search::Search,
    shortlist::{Candidate, Shortlist},
};

/// Rows that measure, at most: a recall of 0.95 is then known to about 0.004. They take some 3 s of a build.
const STRANGERS: usize = 1024;
/// And at most one of so many.
const SHARE: usize = 20;
/// Neighbours that are asked for.
const KS: [usize; 2] = [10, 100];
/// A pool that a slack ends long before it is done.
const WIDE: usize = 768;

/// How many rows measure a graph of so many.
pub(super) fn strangers(rows: usize) -> usize {
    STRANGERS.min(rows / SHARE)
}

/// Walks that are tried: all with a wide pool, until a slack is used up. A pool of less with none takes a quarter more
/// nodes for the same recall (measured, `docs/vectors.md`).
fn trials(k: usize) -> impl Iterator<Item = (usize, f32)> {
    const SLACKS: [f32; 13] = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3];
    SLACKS.into_iter().filter(move |&slack| k == KS[0] || slack <= 0.1).map(|slack| (WIDE, slack))
}

/// A graph of the first `known` rows, asked by the rows behind them.
pub(super) struct Trial<'a> {
    pub encoder: &'a Encoder<'a>,
    pub bits: Bits,
    pub codes: &'a [u8],
    pub rows: &'a [&'a [f32]],
    pub known: usize,
    /// See [`Encoder::reach`].
    pub reach: f32,
}

/// What one stranger found and met with each trial.
type Outcome = Vec<(usize, usize)>;

impl Trial<'_> {
    pub fn run(&self, builder: &Builder<'_>) -> Vec<Calibrated> {
        let all: Vec<(usize, usize, f32)> =
            KS.into_iter().flat_map(|k| trials(k).map(move |(ef, slack)| (k, ef, slack))).collect();
        let mut outcomes: Vec<Outcome> = vec![Vec::new(); self.rows.len() - self.known];
        let state = || (NodeScores::new(builder.kernels, builder.nodes), Walk::default());
        for_each_chunk(builder.threads, &mut outcomes, 1, state, |(scores, walk), at, outcome| {
            outcome[0] = self.ask(builder, (self.known + at) as u32, scores, walk, &all);
        });
        let mean = |trial: usize, k: usize| {
            let (found, met) = outcomes.iter().fold((0, 0), |sum, one| (sum.0 + one[trial].0, sum.1 + one[trial].1));
            let asked = outcomes.len() * k.min(self.known);
            (found as f32 / asked as f32, (met / outcomes.len()) as u32)
        };
        let calibrated = |(trial, &(k, ef, slack)): (usize, &(usize, usize, f32))| {
            let (recall, evaluated) = mean(trial, k);
            Calibrated { k: k as u32, ef: ef as u32, slack, recall, evaluated }
        };
        all.iter().enumerate().map(calibrated).collect()
    }

    fn ask(
        &self,
        builder: &Builder<'_>,
        stranger: u32,
        scores: &mut NodeScores<'_>,
        walk: &mut Walk,
        trials: &[(usize, usize, f32)],
    ) -> Outcome {
        let Encoder { kernels, metric, rotation, centre } = *self.encoder;
        let truth = self.truth(scores.from(stranger));
        let (mut rotated, mut query) = (RotatedQuery::default(), Prepared::default());
        rotated.set(kernels, metric, rotation, self.rows[stranger as usize]);
        query.set(kernels, metric, &rotated, centre, self.bits.padded(centre.len()));
        let rows = Rows { bytes: self.codes, stride: row_stride(self.bits, centre.len()) };
        let margin = query.margin(self.bits, Search::MARGIN);
        let (mut shortlist, mut near, mut nodes) = (Shortlist::default(), vec![0.0; WIDE], Vec::with_capacity(WIDE));
        let mut each = |&(k, ef, slack): &(usize, usize, f32)| {
            let mut codes = QueryScores { kernels, query: &query, bits: self.bits, rows };
            let stop = Stop::for_query(metric, rotated.squared(), self.reach, ef, slack, k);
            let found = walk.walk(kernels, builder.links(self.known), &[0], &mut codes, stop, None);
            // As a search does: only what may be among the best by its code is scored again.
            shortlist.reset(k, WIDE);
            for found in found {
                let margin = margin * terms(self.codes, rows.stride, found.node()).factor;
                let candidate = Candidate { key: found.node().into(), upper: found.score + margin };
                shortlist.offer(candidate, found.score - margin);
            }
            nodes.clear();
            nodes.extend(shortlist.sorted().unwrap_or_default().iter().map(|candidate| candidate.key as u32));
            for (nodes, near) in nodes.chunks(MAX_LINKS).zip(near.chunks_mut(MAX_LINKS)) {
                scores.scores(nodes, near);
            }
            let kth = truth[k.min(truth.len()) - 1];
            let hits = near[..nodes.len()].iter().filter(|&&score| score >= kth).count();
            (hits.min(k), walk.evaluated())
        };
        trials.iter().map(&mut each).collect()
    }

    /// The scores of the nearest of all known nodes, best first.
    fn truth(&self, scores: &mut NodeScores<'_>) -> Vec<f32> {
        let mut all = vec![0.0; self.known];
        let known: Vec<u32> = (0..self.known as u32).collect();
        for (nodes, scored) in known.chunks(MAX_LINKS).zip(all.chunks_mut(MAX_LINKS)) {
            scores.scores(nodes, scored);
        }
        let most = KS[KS.len() - 1].min(self.known);
        let best = |a: &f32, b: &f32| b.total_cmp(a);
        all.select_nth_unstable_by(most - 1, best);
        all.truncate(most);
        all.sort_unstable_by(best);
        all
    }
}

/// The cheapest walk that reaches a recall for k neighbours; `None` if none was measured to.
pub(super) fn cheapest(calibration: &[Calibrated], k: usize, recall: f32) -> Option<Calibrated> {
    let measured = KS.into_iter().find(|&measured| measured >= k)?;
    let reaches = |one: &&Calibrated| one.k as usize == measured && one.recall >= recall;
    calibration.iter().filter(reaches).min_by_key(|one| one.evaluated).copied()
}
