//! Building: nodes come in batches; those of a batch look for neighbours in the graph as it was before, side by side, then
//! their neighbours get the links back, each on its own.
//!
//! So no node is ever locked, and the graph is the same whatever the number of threads (ParlayANN, PPoPP 2024, algorithm 3).
//! Distances are of signed bytes, a fourth of the time of f32 and near enough to choose neighbours by.
//!
//! Useful for: graphs from rows, and from a graph and more rows. Not for: the order they are stored in (see [`order`]).
//!
//! [`order`]: super::order

use super::{
    GraphHeader, GraphOptions, calibrate,
    nodes::{self, NodeScores, Nodes},
    order::{self, Ordered},
    prune::{Candidate, prune},
    reuse::Reused,
    twins::Distinct,
    walk::{Links, MAX_NODES, NO_LINK, Scores, Stop, Walk},
};
use crate::index::vector::{
    kernels::Kernels,
    parallel::for_each_chunk,
    quant::{Encoder, splitmix},
};

/// A batch is at most one of so many parts of all nodes. Smaller ones find better neighbours and idle more.
const BATCHES: usize = 50;
/// And is at most this many nodes where those are more.
const SMALL_BATCH: usize = 1000;
/// Nodes a thread takes at once.
const TURN: usize = 16;

/// The graph of a segment.
pub(in crate::index::vector) struct Graph {
    pub header: GraphHeader,
    /// The row of each node, in the order they are to be stored in.
    pub order: Vec<u32>,
    /// By node.
    pub codes: Vec<u8>,
    /// `m0` for each node, by node.
    pub links: Vec<u32>,
}

/// Builds a graph. `keys`: what decides the order in which rows come in.
pub(in crate::index::vector) fn build(
    encoder: &Encoder<'_>,
    rows: &[&[f32]],
    keys: &[u64],
    options: &GraphOptions,
    reused: Option<&Reused<'_>>,
    threads: usize,
) -> Graph {
    assert!(rows.len() < MAX_NODES, "{} nodes of a graph, at most {MAX_NODES} expected", rows.len());
    let distinct = Distinct::of(rows);
    let reused = reused.filter(|reused| reused.fits(&distinct));
    let unlike: Vec<&[f32]> = distinct.first.iter().map(|&row| rows[row as usize]).collect();
    let keys: Vec<u64> = distinct.first.iter().map(|&row| keys[row as usize]).collect();
    let linked = reused.map_or(0, |reused| reused.kept.len());
    let coming = arrival(encoder, &unlike, &keys, linked);
    let ordered: Vec<&[f32]> = coming.iter().map(|&row| unlike[row as usize]).collect();
    let nodes = Nodes::of(encoder, &ordered, threads);
    let bits = options.bits_for(encoder.centre.len());
    let codes = nodes::encode(encoder, bits, &ordered, threads);
    let mut builder = Builder::new(encoder.kernels, &nodes, options, threads);
    let mut done = 1.min(nodes.len());
    if let Some(reused) = reused.filter(|reused| !reused.kept.is_empty()) {
        builder.take(reused);
        done = linked;
    }
    let most = (nodes.len() / BATCHES).max(SMALL_BATCH);
    // The last to come are strangers to the graph: they measure what it finds.
    let strangers = calibrate::strangers(nodes.len()).min(nodes.len() - done);
    let mut calibration = Vec::new();
    let reach = encoder.reach(rows);
    while done < nodes.len() {
        let known = nodes.len() - strangers;
        if done == known && strangers > 0 {
            builder.finish();
            let view = calibrate::Trial { encoder, bits, codes: &codes, rows: &ordered, known, reach };
            calibration = view.run(&builder);
        }
        let end = if done < known { known } else { nodes.len() }.min(done + done.min(most));
        builder.insert(done, end);
        done = end;
    }
    builder.finish();
    let Ordered { order, links, entries } = order::in_walking_order(&mut builder);
    let stride = nodes::row_stride(bits, encoder.centre.len());
    let header = GraphHeader {
        m0: options.m0(),
        bits,
        stride,
        ef_construction: options.ef_construction(),
        reach,
        entries,
        calibration,
    };
    let of_rows = |node: u32| coming[node as usize] as usize;
    distinct.put_back(
        header,
        order.iter().map(|&node| (of_rows(node), &codes[node as usize * stride..][..stride])),
        &links,
    )
}

/// The rows in the order in which they come in: those that have links first, as they are; then by the hash of
/// their key, but that one near the centre begins if none is there.
fn arrival(encoder: &Encoder<'_>, rows: &[&[f32]], keys: &[u64], linked: usize) -> Vec<u32> {
    let number = |row: usize| u32::try_from(row).expect("at most MAX_NODES");
    let mut coming: Vec<u32> = (number(linked)..number(rows.len())).collect();
    let hash = |row: u32| splitmix(keys[row as usize]);
    coming.sort_by_cached_key(|&row| (hash(row), row));
    if linked == 0 {
        let mut residual = vec![0.0; encoder.centre.len()];
        let mut length = |row: u32| encoder.residual(rows[row as usize], &mut residual);
        let nearest = (0..coming.len().min(STARTS))
            .map(|at| (length(coming[at]), at))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if let Some((_, at)) = nearest {
            coming[..=at].rotate_right(1);
        }
    }
    (0..number(linked)).chain(coming).collect()
}

pub(super) struct Builder<'a> {
    pub kernels: &'a Kernels,
    pub nodes: &'a Nodes,
    pub m0: usize,
    ef: usize,
    pub threads: usize,
    /// Links of a node while the graph grows: more than m0, so that not every new one is a choice among all.
    room: usize,
    lists: Vec<u32>,
}

/// Rows of which the nearest to the centre is where walks start.
const STARTS: usize = 1024;

/// What a thread works with.
struct Worker<'a> {
    scores: NodeScores<'a>,
    walk: Walk,
    candidates: Vec<Candidate>,
    chosen: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(kernels: &'a Kernels, nodes: &'a Nodes, options: &GraphOptions, threads: usize) -> Self {
        let m0 = options.m0();
        let room = 2 * m0;
        Self {
            kernels,
            nodes,
            m0,
            ef: options.ef_construction(),
            threads,
            room,
            lists: vec![NO_LINK; nodes.len() * room],
        }
    }

    fn worker(&self) -> Worker<'a> {
        Worker {
            scores: NodeScores::new(self.kernels, self.nodes),
            walk: Walk::default(),
            candidates: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// Fills lists of `width` links side by side; `fill` gets the number of its list.
    fn each_list(&self, lists: &mut [u32], width: usize, fill: impl Fn(&mut Worker<'a>, usize, &mut [u32]) + Sync) {
        for_each_chunk(
            self.threads,
            lists,
            TURN * width,
            || self.worker(),
            |worker, first, lists| {
                for (at, list) in lists.chunks_exact_mut(width).enumerate() {
                    fill(worker, first / width + at, list);
                }
            },
        );
    }

    pub fn list(&self, node: u32) -> &[u32] {
        let list = &self.lists[node as usize * self.room..][..self.room];
        &list[..list.iter().position(|&link| link == NO_LINK).unwrap_or(self.room)]
    }

    pub fn set_list(&mut self, node: u32, links: &[u32]) {
        let list = &mut self.lists[node as usize * self.room..][..self.room];
        list[..links.len()].copy_from_slice(links);
        list[links.len()..].fill(NO_LINK);
    }

    pub fn links(&self, nodes: usize) -> Links<'_> {
        Links { all: &self.lists, width: self.room, nodes }
    }

    /// Takes over the links of a graph.
    fn take(&mut self, reused: &Reused<'_>) {
        let mut lists = std::mem::take(&mut self.lists);
        let this = &*self;
        let taken = &mut lists[..reused.kept.len() * this.room];
        this.each_list(taken, this.room, |worker, node, list| {
            reused.links_of(node, &mut worker.chosen);
            if worker.chosen.len() > this.m0 {
                this.choose(worker, node as u32);
            }
            list[..worker.chosen.len()].copy_from_slice(&worker.chosen);
        });
        self.lists = lists;
    }

    /// The nodes nearest to a node among the first `nodes`, by rank.
    pub fn nearest(
        &self,
        walk: &mut Walk,
        scores: &mut NodeScores<'_>,
        node: u32,
        nodes: usize,
        near: &mut Vec<Candidate>,
    ) {
        let found = walk.walk(self.kernels, self.links(nodes), &[0], scores.from(node), Stop::at(self.ef), None);
        near.clear();
        near.extend(found.iter().map(|found| Candidate { distance: -found.score, node: found.node() }));
        near.sort_unstable_by(Candidate::rank);
    }

    /// Inserts nodes `from` to `to`; all before them are in.
    fn insert(&mut self, from: usize, to: usize) {
        let mut chosen = vec![NO_LINK; (to - from) * self.m0];
        let this = &*self;
        this.each_list(&mut chosen, this.m0, |worker, at, list| {
            let Worker { scores, walk, candidates, chosen } = worker;
            this.nearest(walk, scores, (from + at) as u32, from, candidates);
            prune(scores, candidates, this.m0, chosen);
            list[..chosen.len()].copy_from_slice(chosen);
        });
        let mut back: Vec<u64> = Vec::with_capacity(chosen.len());
        for (node, list) in (from as u32..).zip(chosen.chunks_exact(self.m0)) {
            let end = list.iter().position(|&link| link == NO_LINK).unwrap_or(self.m0);
            self.set_list(node, &list[..end]);
            back.extend(list[..end].iter().map(|&target| u64::from(target) << 32 | u64::from(node)));
        }
        back.sort_unstable();
        self.link_back(&back);
    }

    /// Gives nodes links back: sorted pairs of a node and its new neighbour.
    fn link_back(&mut self, pairs: &[u64]) {
        let groups: Vec<&[u64]> = pairs.chunk_by(|a, b| a >> 32 == b >> 32).collect();
        let mut lists = vec![NO_LINK; groups.len() * self.room];
        let this = &*self;
        this.each_list(&mut lists, this.room, |worker, at, list| {
            let node = (groups[at][0] >> 32) as u32;
            let new = groups[at].iter().map(|&pair| pair as u32);
            worker.chosen.clear();
            worker.chosen.extend(this.list(node).iter().copied().chain(new));
            if worker.chosen.len() > this.room {
                this.choose(worker, node);
            }
            list[..worker.chosen.len()].copy_from_slice(&worker.chosen);
        });
        for (group, list) in groups.iter().zip(lists.chunks_exact(self.room)) {
            let start = (group[0] >> 32) as usize * self.room;
            self.lists[start..start + self.room].copy_from_slice(list);
        }
    }

    /// Leaves m0 of the nodes in `worker.chosen` as neighbours of a node.
    fn choose(&self, worker: &mut Worker<'_>, node: u32) {
        let Worker { scores, candidates, chosen, .. } = worker;
        let mut found = vec![0.0; chosen.len()];
        scores.from(node);
        for (nodes, found) in chosen.chunks(super::walk::MAX_LINKS).zip(found.chunks_mut(super::walk::MAX_LINKS)) {
            scores.scores(nodes, found);
        }
        candidates.clear();
        candidates.extend(chosen.iter().zip(&found).map(|(&node, score)| Candidate { distance: -score, node }));
        candidates.sort_unstable_by(Candidate::rank);
        prune(scores, candidates, self.m0, chosen);
    }

    /// Leaves no more than m0 links to any node.
    fn finish(&mut self) {
        let mut lists = std::mem::take(&mut self.lists);
        let this = &*self;
        this.each_list(&mut lists, this.room, |worker, node, list| {
            let end = list.iter().position(|&link| link == NO_LINK).unwrap_or(this.room);
            if end > this.m0 {
                worker.chosen.clear();
                worker.chosen.extend_from_slice(&list[..end]);
                this.choose(worker, node as u32);
                list.fill(NO_LINK);
                list[..worker.chosen.len()].copy_from_slice(&worker.chosen);
            }
        });
        self.lists = lists;
    }
}
