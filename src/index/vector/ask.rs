//! One search, part by part: by rows at once, or by codes first and then by the rows that may be among the best.
//!
//! Useful for: carrying out a [`Plan`]. Not for: choosing it.

use super::{
    Set, blocks,
    codes::{self, Bits},
    flat,
    hnsw::GraphView,
    plan::{self, Case, LARGE_FILTER, Plan},
    proof,
    search::{Scratch, Search, Work},
    segment::Segment,
    shortlist::Candidate,
    tombstones::Tombstones,
};

/// How many rows before it is needed a row is fetched that is scored again.
const AHEAD: usize = 8;

pub(super) struct Ask<'a> {
    pub set: &'a Set,
    pub query: &'a [f32],
    pub search: &'a Search<'a>,
    pub scratch: &'a mut Scratch,
    pub work: &'a mut Work,
    pub is_rotated: bool,
}

/// A row of any part as one number.
fn key(part: usize, row: usize) -> u64 {
    (part as u64) << 32 | row as u64
}

impl Ask<'_> {
    /// Searches one part. Rows found by their codes wait for [`rescore`](Self::rescore).
    pub fn part(&mut self, part: usize) {
        let Some((segment, dead)) = self.set.parts().get(part) else { return };
        let Search { k, filter, effort, .. } = *self.search;
        let case = Case { k, effort, ids: filter.map(<[u64]>::len), dead: dead.len() };
        match plan::choose(self.set.kernels, segment, &case) {
            Plan::Exact => self.exact(segment, dead),
            Plan::Proof => self.proof(part, segment, dead),
            Plan::Flat => self.flat(part, segment, dead),
            Plan::Walk { ef, slack, wanted } => {
                let walked = segment.graph().is_some_and(|graph| {
                    let stop = (ef, slack, k);
                    self.walk(part, (segment, dead), graph, stop, wanted)
                });
                if !walked {
                    self.flat(part, segment, dead);
                }
            }
        }
    }

    fn exact(&mut self, segment: &Segment, dead: &Tombstones) {
        let Scratch { allowed, room, best, .. } = &mut *self.scratch;
        self.work.exact += 1;
        flat::search(self.set.kernels, (segment, dead), self.query, self.search.filter, (allowed, room), best);
    }

    /// Finds the rows that may be among the best, each with a bound that holds.
    fn proof(&mut self, part: usize, segment: &Segment, dead: &Tombstones) {
        let Some((centre, proof)) = segment.codes().and_then(|codes| Some((codes.centre, codes.proof?))) else {
            return self.exact(segment, dead);
        };
        self.rotate();
        let Self { set, search, scratch, work, .. } = self;
        let Scratch { rotated, prepared, shortlist, .. } = &mut **scratch;
        prepared.set(set.kernels, set.metric, rotated, centre, Bits::Eight.padded(segment.dim()));
        work.exact += 1;
        work.code_bits = Bits::Eight.count();
        let bar = shortlist.bar();
        work.evaluated += proof::scan(set.kernels, prepared, proof, segment.dim(), bar, |row, upper, lower| {
            let allowed = |ids: &[u64]| ids.binary_search(&segment.ids()[row]).is_ok();
            if !dead.contains(row) && search.filter.is_none_or(allowed) {
                shortlist.offer(Candidate { key: key(part, row), upper }, lower);
            }
            if shortlist.overflows() { f32::INFINITY } else { shortlist.bar() }
        });
    }

    fn flat(&mut self, part: usize, segment: &Segment, dead: &Tombstones) {
        let rows = segment.len();
        match self.search.filter {
            None => self.scan(part, segment, |word, _| !dead.word(word), |_| true),
            Some(ids) if ids.len().saturating_mul(LARGE_FILTER.1) >= rows.saturating_mul(LARGE_FILTER.0) => {
                let allowed = |row: usize| ids.binary_search(&segment.ids()[row]).is_ok();
                self.scan(part, segment, |word, _| !dead.word(word), allowed);
            }
            Some(ids) => {
                let Scratch { allowed, room, best, .. } = &mut *self.scratch;
                let count = flat::mark(segment, dead, ids, allowed);
                let kernels = self.set.kernels;
                if plan::rows_ns(count, segment.dim()) < plan::scan_ns(kernels, rows, segment.dim()) {
                    self.work.exact += 1;
                    flat::marked(kernels, segment, self.query, allowed, room, best);
                } else {
                    self.scan(part, segment, |word, allowed| allowed[word], |_| true);
                }
            }
        }
    }

    /// Scans the codes of rows whose bit is set; `allowed` is asked only of those that are good enough.
    fn scan(
        &mut self,
        part: usize,
        segment: &Segment,
        wanted: impl Fn(usize, &[u64]) -> u64,
        allowed: impl Fn(usize) -> bool,
    ) {
        let Some(codes) = segment.codes() else { return };
        self.rotate();
        let Self { set, search, scratch, work, .. } = self;
        let Scratch { rotated, prepared, scores, shortlist, allowed: bits, .. } = &mut **scratch;
        prepared.set(set.kernels, set.metric, rotated, codes.centre, codes::block_values(segment.dim()));
        let margin = prepared.margin(Bits::Two, search.margin);
        let bar = shortlist.bar();
        work.flat += 1;
        work.code_bits = work.code_bits.max(Bits::Two.count());
        work.evaluated += blocks::scan(
            set.kernels,
            &prepared.blocks(margin),
            (codes.blocks, segment.len()),
            scores,
            |word| wanted(word, bits),
            bar,
            |row, factor, upper| {
                if allowed(row) {
                    let lower = upper - 2.0 * margin * factor;
                    shortlist.offer(Candidate { key: key(part, row), upper }, lower);
                }
                if shortlist.overflows() { f32::INFINITY } else { shortlist.bar() }
            },
        );
    }

    /// Walks a graph. If too few of the nodes that were found are alive and allowed, they count for nothing.
    fn walk(
        &mut self,
        part: usize,
        (segment, dead): (&Segment, &Tombstones),
        graph: GraphView<'_>,
        stop: (usize, f32, usize),
        wanted: usize,
    ) -> bool {
        let Some(codes) = segment.codes() else { return false };
        self.rotate();
        let Self { set, search, scratch, work, .. } = self;
        let Scratch { rotated, prepared, shortlist, walk, .. } = &mut **scratch;
        let bits = graph.header.bits;
        prepared.set(set.kernels, set.metric, rotated, codes.centre, bits.padded(segment.dim()));
        let counts = |row: usize| {
            let allowed = |ids: &[u64]| ids.binary_search(&segment.ids()[row]).is_ok();
            !dead.contains(row) && search.filter.is_none_or(allowed)
        };
        let node_counts = |node: u32| graph.rows_of(node).any(counts);
        let is_whole = search.filter.is_none() && dead.is_empty();
        let some = (!is_whole).then_some(&node_counts as &dyn Fn(u32) -> bool);
        let stop = graph.stop(set.metric, rotated.squared(), stop);
        graph.walk(set.kernels, prepared, stop, walk, some);
        work.hops += walk.hops;
        work.evaluated += walk.evaluated();
        if !is_whole {
            // Where the walk was, at least half as many must count as anywhere: else the filter keeps the nearest away, and
            // what was found says little of what there is.
            let tally = |(all, counted), row| (all + 1, counted + usize::from(counts(row)));
            let (all, counted) = graph.found(walk).flat_map(|hit| graph.rows_of(hit.node)).fold((0, 0), tally);
            let allowed = search.filter.map_or(segment.len(), |ids| ids.len().min(segment.len()));
            let usual = all * allowed.saturating_sub(dead.len()) / segment.len();
            if counted < wanted || counted * 2 < usual {
                return false;
            }
        }
        work.graph += 1;
        let margin = prepared.margin(bits, search.margin);
        for hit in graph.found(walk) {
            let margin = margin * hit.factor;
            let (upper, lower) = (hit.estimate + margin, hit.estimate - margin);
            // Most of what a wide pool holds. Whether other rows equal it, which takes a line of memory, is not asked.
            let reaches = upper >= shortlist.bar();
            if !reaches {
                continue;
            }
            for row in graph.rows_of(hit.node).filter(|&row| is_whole || counts(row)) {
                shortlist.offer(Candidate { key: key(part, row), upper }, lower);
            }
        }
        true
    }

    fn rotate(&mut self) {
        if !self.is_rotated {
            let Set { kernels, metric, rotation, .. } = self.set;
            self.scratch.rotated.set(kernels, *metric, rotation, self.query);
            self.is_rotated = true;
        }
    }

    /// Scores those that may be among the best by their rows, from the likeliest down, until no other may be. Where those are
    /// too many, all rows of all parts.
    pub fn rescore(&mut self) {
        let Self { set, query, search, scratch, work, .. } = self;
        let Scratch { shortlist, room, best, .. } = &mut **scratch;
        let Some(chosen) = shortlist.sorted() else {
            best.reset(search.k, usize::MAX);
            // What was done before counts for nothing, and each segment once.
            (work.exact, work.flat, work.graph) = (0, 0, 0);
            for (segment, dead) in set.parts() {
                self.exact(segment, dead);
            }
            return;
        };
        let row_of = |candidate: &Candidate| {
            let segment = &set.parts().get((candidate.key >> 32) as usize)?.0;
            Some((segment, (candidate.key & u64::from(u32::MAX)) as usize))
        };
        for (at, candidate) in chosen.iter().enumerate() {
            if candidate.upper < best.bar() {
                break;
            }
            if let Some((segment, row)) = chosen.get(at + AHEAD).and_then(row_of) {
                set.kernels.fetch(segment.row_bytes(row));
            }
            if let Some((segment, row)) = row_of(candidate) {
                let values = segment.rows(row..row + 1, room);
                best.offer(segment.ids()[row], set.metric.score(set.kernels, query, values));
                work.rescored += 1;
                if work.rescored.is_multiple_of(search.k) {
                    best.settle();
                }
            }
        }
    }
}
