//! How one segment is searched: row by row, by a scan of its codes, or by a walk over its graph.
//!
//! Useful for: the cheapest way that finds what was asked for. Not for: the search itself.
//!
//! Costs are estimates in nanoseconds, from what was measured (`docs/vectors.md`): what counts is where two of them cross,
//! and there either is as good.

use super::{hnsw::GraphView, kernels::Kernels, search::Effort, segment::Segment};

/// A filter is small if a segment has this many times its ids: its rows are looked up and scored.
pub(super) const SMALL_FILTER: usize = 64;
/// A filter is large if it has three ids for four rows of a segment: it is asked about those that are good enough.
pub(super) const LARGE_FILTER: (usize, usize) = (3, 4);
/// A graph is walked under a filter if that leaves at least three rows of ten: below, most nodes of a walk count for nothing.
const WALKED_FILTER: (usize, usize) = (3, 10);
/// Nodes a filtered walk looks for beyond its share, in percent: filters are not spread evenly.
const FILTERED_EXTRA: usize = 20;
/// Rows that a scan scores again.
const RESCORED: f64 = 60.0;
/// A row of f32 from memory, and each of its values.
const ROW_NS: (f64, f64) = (60.0, 0.1);
/// A node of a walk, and each cache line of its code.
const NODE_NS: (f64, f64) = (25.0, 10.0);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Plan {
    /// Every row that counts is scored.
    Exact,
    /// Rows that codes of eight bits cannot rule out are scored.
    Proof,
    /// Codes are scanned.
    Flat,
    /// The graph is walked with a pool of `ef`, until the slack is used up. If fewer than `wanted` of what was found count,
    /// the codes are scanned after all.
    Walk { ef: usize, slack: f32, wanted: usize },
}

/// What is asked of one segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub k: usize,
    pub effort: Effort,
    /// Ids of the filter.
    pub ids: Option<usize>,
    /// Rows that are deleted.
    pub dead: usize,
}

impl Case {
    fn is_small(&self, rows: usize) -> bool {
        self.ids.is_some_and(|ids| ids.saturating_mul(SMALL_FILTER) <= rows)
    }
}

pub(super) fn choose(kernels: &Kernels, segment: &Segment, case: &Case) -> Plan {
    let rows = segment.len();
    let codes = segment.codes().filter(|_| !case.is_small(rows));
    match codes {
        Some(codes) if case.effort == Effort::Exact && codes.proof.is_some() => return Plan::Proof,
        Some(_) if case.effort != Effort::Exact => {}
        _ => return Plan::Exact,
    }
    match segment.graph().and_then(|graph| walk(kernels, graph, segment.dim(), case)) {
        Some(plan) => plan,
        // With as many rows asked for as there are, codes leave nothing out.
        None if case.k.saturating_mul(2) >= rows => Plan::Exact,
        None => Plan::Flat,
    }
}

/// A walk, if it reaches what was asked for and takes less time than a scan.
fn walk(kernels: &Kernels, graph: GraphView<'_>, dim: usize, case: &Case) -> Option<Plan> {
    let rows = graph.rows;
    let allowed = case.ids.unwrap_or(rows).min(rows).saturating_sub(case.dead);
    if allowed.saturating_mul(WALKED_FILTER.1) < rows.saturating_mul(WALKED_FILTER.0) {
        return None;
    }
    // As many more nodes as count for nothing.
    let widened = |ef: usize| match allowed == rows {
        true => ef,
        false => (ef.saturating_mul(rows) / allowed).saturating_mul(100 + FILTERED_EXTRA) / 100,
    };
    let plan = |ef: usize, slack| Plan::Walk { ef: widened(ef.max(case.k)).min(rows), slack, wanted: case.k };
    match case.effort {
        Effort::Exact | Effort::Flat => None,
        Effort::Walk { ef, slack } => Some(plan(ef, slack)),
        Effort::Recall(recall) => {
            let walk = graph.calibrated(case.k, recall)?;
            let nodes = f64::from(walk.evaluated) * rows as f64 / allowed as f64;
            let lines = (graph.header.stride / 64) as f64;
            let cost = nodes * (NODE_NS.0 + lines * NODE_NS.1);
            (cost < scan_ns(kernels, rows, dim)).then(|| plan(walk.ef as usize, walk.slack))
        }
    }
}

/// A scan of the codes of so many rows.
pub(super) fn scan_ns(kernels: &Kernels, rows: usize, dim: usize) -> f64 {
    rows as f64 * dim as f64 * kernels.scan_ns_per_value() + RESCORED * rows_ns(1, dim)
}

/// So many rows of f32, wherever they stand.
pub(super) fn rows_ns(rows: usize, dim: usize) -> f64 {
    rows as f64 * (ROW_NS.0 + dim as f64 * ROW_NS.1)
}
