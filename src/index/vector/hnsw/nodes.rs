//! Rows as nodes: signed bytes with what a distance between two of them needs, for building; codes of few bits with their
//! terms beside them, for searching.
//!
//! Useful for: one fetch a node. Not for: whole blocks (see [`blocks`](crate::index::vector::blocks)).

use super::walk::Scores;
use crate::index::vector::{
    codes::{self, Bits},
    kernels::{Kernels, Rows},
    metric::Metric,
    parallel::for_each_chunk,
    quant::{Encoder, Prepared, Terms},
};

const LINE: usize = 64;

#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
struct Line([u8; LINE]);
/// Rows a thread takes at once.
const TURN: usize = 256;

/// Bytes of a node of `bits` a value: codes and terms in whole cache lines.
pub(in crate::index::vector) fn row_stride(bits: Bits, dim: usize) -> usize {
    (bits.used_bytes(dim) + TERM_BYTES).max(bits.row_bytes(dim)).next_multiple_of(LINE)
}

/// Factor and bias, f32, the last bytes of a node. They may stand where the query is padded with zeros.
const TERM_BYTES: usize = 8;

/// The most bits that take no more lines than two.
pub(super) fn bits_for(dim: usize) -> Bits {
    let lines = row_stride(Bits::Two, dim);
    [Bits::Eight, Bits::Four].into_iter().find(|&bits| row_stride(bits, dim) <= lines).unwrap_or(Bits::Two)
}

/// Codes for searching, in the order of `rows`.
pub(super) fn encode(encoder: &Encoder<'_>, bits: Bits, rows: &[&[f32]], threads: usize) -> Vec<u8> {
    let dim = encoder.centre.len();
    let stride = row_stride(bits, dim);
    let mut nodes = vec![0; rows.len() * stride];
    let buffers = || (vec![0.0; dim], vec![0; dim]);
    for_each_chunk(threads, &mut nodes, TURN * stride, buffers, |(residual, values), first, bytes| {
        for (row, node) in rows[first / stride..].iter().zip(bytes.chunks_exact_mut(stride)) {
            encoder.residual(row, residual);
            let Terms { factor, bias } = encoder.encode(bits, residual, values);
            codes::pack_row(bits, values, node);
            node[stride - 8..stride - 4].copy_from_slice(&factor.to_le_bytes());
            node[stride - 4..].copy_from_slice(&bias.to_le_bytes());
        }
    });
    nodes
}

/// The last `N` numbers of a node.
#[inline]
fn last<const N: usize>(bytes: &[u8], stride: usize, node: u32) -> [f32; N] {
    let end = (node as usize + 1) * stride;
    let numbers = bytes[end - 4 * N..end].as_chunks::<4>().0;
    std::array::from_fn(|at| f32::from_le_bytes(numbers[at]))
}

/// Codes for searching, as a query sees them.
pub(super) struct QueryScores<'a> {
    pub kernels: &'a Kernels,
    pub query: &'a Prepared,
    pub bits: Bits,
    pub rows: Rows<'a>,
}

/// What stands beside the code of a node.
pub(super) fn terms(codes: &[u8], stride: usize, node: u32) -> Terms {
    let [factor, bias] = last(codes, stride, node);
    Terms { factor, bias }
}

impl Scores for QueryScores<'_> {
    fn scores(&mut self, nodes: &[u32], scores: &mut [f32]) {
        let mut sums = [0; super::walk::MAX_LINKS];
        let sums = &mut sums[..nodes.len()];
        self.kernels.code_rows(self.bits, self.query.values(), self.rows, nodes, sums);
        let estimate = self.query.estimator(self.bits);
        for ((&node, &sum), score) in nodes.iter().zip(&*sums).zip(scores) {
            *score = estimate(sum, terms(self.rows.bytes, self.rows.stride, node));
        }
    }
}

/// Nodes for building: residuals in signed bytes. The squared distance of two is `n + n′ − 2 (scale × scale′ × sum + lift ×
/// lift′)`, with n the squared length, lift included.
///
/// Rows under an inner product that are not of one length are lifted to one by a further value √(M² − |x|²), M being the
/// greatest length; then the row of the greatest product is the nearest (Bachrach and others, RecSys 2014).
pub(super) struct Nodes {
    /// In whole lines of the cache: a node that began between two would touch one more.
    lines: Vec<Line>,
    stride: usize,
    dim: usize,
    padded: usize,
}

/// Scale, squared length, lift.
const NODE_TERM_BYTES: usize = 12;

impl Nodes {
    pub fn of(encoder: &Encoder<'_>, rows: &[&[f32]], threads: usize) -> Self {
        let dim = encoder.centre.len();
        let padded = Bits::Eight.padded(dim);
        let stride = (dim + NODE_TERM_BYTES).max(padded).next_multiple_of(LINE);
        let kernels = encoder.kernels;
        let squared = |row: &&[f32]| match encoder.metric {
            Metric::Dot => kernels.dot(row, row),
            Metric::L2 | Metric::Cosine => 0.0,
        };
        let most = encoder.reach(rows);
        let mut lines = vec![Line([0; LINE]); rows.len() * stride / LINE];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut lines);
        let buffers = || (vec![0.0; dim], vec![0; dim]);
        for_each_chunk(threads, bytes, TURN * stride, buffers, |(residual, values), first, bytes| {
            for (row, node) in rows[first / stride..].iter().zip(bytes.chunks_exact_mut(stride)) {
                let length = encoder.residual(row, residual);
                let dot = crate::index::vector::quant::encode(kernels, Bits::Eight, residual, values);
                node[..dim].copy_from_slice(values);
                let points: f32 = values.iter().map(|&value| f32::from(value.cast_signed()).powi(2)).sum();
                let scale = if points > 0.0 { dot / points } else { 0.0 };
                // Lengths of one are equal but for rounding, which is not to be seen as a distance.
                let lift = (most - squared(row)).max(0.0);
                let lift = if lift < 1e-4 * most { 0.0 } else { lift.sqrt() };
                for (at, term) in [scale, length + lift * lift, lift].into_iter().enumerate() {
                    node[stride - NODE_TERM_BYTES + 4 * at..][..4].copy_from_slice(&term.to_le_bytes());
                }
            }
        });
        Self { lines, stride, dim, padded }
    }

    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }

    pub fn len(&self) -> usize {
        self.bytes().len() / self.stride
    }

    fn terms(&self, node: u32) -> [f32; 3] {
        last(self.bytes(), self.stride, node)
    }
}

/// Scores of nodes seen from one of them: negated squared distances.
pub(super) struct NodeScores<'a> {
    kernels: &'a Kernels,
    nodes: &'a Nodes,
    /// The node's values, zeros behind them.
    query: Vec<i8>,
    terms: [f32; 3],
}

impl<'a> NodeScores<'a> {
    /// Seen from nowhere yet.
    pub fn new(kernels: &'a Kernels, nodes: &'a Nodes) -> Self {
        Self { kernels, nodes, query: vec![0; nodes.padded], terms: [0.0; 3] }
    }

    /// Seen from this node.
    pub fn from(&mut self, node: u32) -> &mut Self {
        let values = &self.nodes.bytes()[node as usize * self.nodes.stride..][..self.nodes.dim];
        self.query[..values.len()].copy_from_slice(bytemuck::cast_slice(values));
        self.terms = self.nodes.terms(node);
        self
    }
}

impl Scores for NodeScores<'_> {
    fn scores(&mut self, nodes: &[u32], scores: &mut [f32]) {
        let mut sums = [0; super::walk::MAX_LINKS];
        let sums = &mut sums[..nodes.len()];
        let rows = Rows { bytes: self.nodes.bytes(), stride: self.nodes.stride };
        self.kernels.code_rows(Bits::Eight, &self.query, rows, nodes, sums);
        let [scale, length, lift] = self.terms;
        for ((&node, &sum), score) in nodes.iter().zip(&*sums).zip(scores) {
            let [other_scale, other_length, other_lift] = self.nodes.terms(node);
            let product = scale * other_scale * sum as f32 + lift * other_lift;
            *score = (2.0 * product - length - other_length).min(0.0);
        }
    }
}
