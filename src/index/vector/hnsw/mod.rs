//! A navigable small-world graph over the rows of a segment: HNSW (Malkov and Yashunin, arXiv:1603.09320) of one layer.
//!
//! `m`, `ef_construction` and `ef_search` mean what they mean there. Layers above the first are left out: they save one
//! distance of a hundred (arXiv:2412.01940 for more than 32 values a row; `docs/vectors.md` for what we measured), and a walk
//! starts at the row nearest to the mean instead. Neighbours are chosen as in the paper's heuristic with the slack α of Vamana (NeurIPS 2019).
//!
//! Useful for: many rows, answered in a time that hardly grows with them. Not for: filters that leave few rows, or the last
//! thousandth of recall (see [`blocks`](super::blocks)).

mod build;
mod calibrate;
mod nodes;
mod order;
mod prune;
mod reuse;
mod search;
mod section;
mod twins;
mod walk;

use super::codes::Bits;

/// How a graph is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphOptions {
    /// Links a new node looks for; a node has up to `m0 = 2 m`.
    pub m: usize,
    /// Nodes of the pool when the neighbours of a new node are looked for.
    pub ef_construction: usize,
    /// Bits a value of the codes that are walked over. `None`: as many as fit the cache lines of two.
    pub bits: Option<Bits>,
}

impl GraphOptions {
    pub const MIN_M: usize = 2;
    pub const MAX_M: usize = walk::MAX_LINKS / 2;
    pub const DEFAULT_M: usize = 16;
    pub const MAX_EF: usize = 4096;
    /// More finds little: on 20,000 rows of 384 values a recall of 0.99 takes 1,036 nodes with 64, 967 with 96, 964 with 128.
    pub const DEFAULT_EF_CONSTRUCTION: usize = 96;

    pub(super) fn m0(&self) -> usize {
        2 * self.m.clamp(Self::MIN_M, Self::MAX_M)
    }

    fn bits_for(&self, dim: usize) -> Bits {
        self.bits.unwrap_or_else(|| nodes::bits_for(dim))
    }

    fn ef_construction(&self) -> usize {
        self.ef_construction.clamp(self.m0(), Self::MAX_EF)
    }
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { m: Self::DEFAULT_M, ef_construction: Self::DEFAULT_EF_CONSTRUCTION, bits: None }
    }
}

pub(super) use build::build;
pub(super) use reuse::Reused;
pub(super) use search::GraphView;
pub(super) use section::GraphHeader;
pub(super) use walk::{NO_LINK, TWIN, Walk};

#[cfg(test)]
mod tests;
