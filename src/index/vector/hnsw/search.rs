//! A search in the graph of one segment.
//!
//! Useful for: the rows that are worth scoring by their values. Not for: their scores.

use super::{
    GraphHeader, calibrate,
    nodes::{self, QueryScores},
    section::Calibrated,
    walk::{Links, Stop, TWIN, Walk},
};
use crate::index::vector::{
    kernels::{Kernels, Rows},
    metric::Metric,
    quant::Prepared,
};

/// The graph of a segment, in place.
#[derive(Clone, Copy)]
pub(in crate::index::vector) struct GraphView<'a> {
    pub header: &'a GraphHeader,
    pub codes: &'a [u8],
    pub links: &'a [u32],
    pub rows: usize,
}

/// A node that a walk found, with what its code says of its score.
pub(in crate::index::vector) struct Hit {
    pub node: u32,
    pub estimate: f32,
    pub factor: f32,
}

impl<'g> GraphView<'g> {
    /// The cheapest walk that was measured to reach a recall for k neighbours.
    pub fn calibrated(&self, k: usize, recall: f32) -> Option<Calibrated> {
        calibrate::cheapest(&self.header.calibration, k, recall)
    }

    /// When a walk for a query of this squared length ends: with a pool of `ef`, or a slack on the k-th best.
    pub fn stop(&self, metric: Metric, squared: f32, (ef, slack, k): (usize, f32, usize)) -> Stop {
        Stop::for_query(metric, squared, self.header.reach, ef, slack, k)
    }

    /// Walks. [`found`](Self::found) tells where it led.
    pub fn walk(
        &self,
        kernels: &Kernels,
        query: &Prepared,
        stop: Stop,
        walk: &mut Walk,
        counts: Option<&dyn Fn(u32) -> bool>,
    ) {
        let rows = Rows { bytes: self.codes, stride: self.header.stride };
        let mut scores = QueryScores { kernels, query, bits: self.header.bits, rows };
        let links = Links { all: self.links, width: self.header.m0, nodes: self.rows };
        walk.walk(kernels, links, &self.header.entries, &mut scores, stop, counts);
    }

    /// What the last walk found, best first.
    pub fn found<'w>(&self, walk: &'w Walk) -> impl Iterator<Item = Hit> + use<'w, 'g> {
        let this = *self;
        walk.pool().iter().map(move |found| {
            let factor = nodes::terms(this.codes, this.header.stride, found.node()).factor;
            Hit { node: found.node(), estimate: found.score, factor }
        })
    }

    /// The row of a node and those that equal it.
    pub fn rows_of(self, node: u32) -> impl Iterator<Item = usize> + use<'g> {
        let first = node as usize;
        let twins = (first + 1..self.rows).take_while(move |&row| self.is_twin(row));
        std::iter::once(first).chain(twins)
    }

    /// Whether a row equals the one before it.
    pub(super) fn is_twin(&self, row: usize) -> bool {
        self.links.get(row * self.header.m0) == Some(&TWIN)
    }
}
