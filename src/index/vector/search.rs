//! What is asked of a [`Set`](super::Set), and how it was answered.
//!
//! Useful for: choosing between time and recall, and seeing what was chosen. Not for: the choice itself (see
//! [`plan`](super::plan)).

use std::fmt;

use super::{
    blocks::Scores,
    hnsw::Walk,
    quant::{Prepared, RotatedQuery},
    shortlist::Shortlist,
    top::Top,
};

/// One search.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    pub k: usize,
    /// Sorted ids that are allowed.
    pub filter: Option<&'a [u64]>,
    pub effort: Effort,
    /// How many standard deviations of what codes hide a row is given the benefit of before it is left out unscored. See
    /// [`Search::MARGIN`].
    pub margin: f32,
}

/// How much a search may miss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effort {
    /// Nothing: every row that counts is scored in f32.
    Exact,
    /// Reaches this ann_recall@10 on queries like the rows, by the calibration of each graph. A scan of codes reaches more.
    Recall(f32),
    /// Graphs are walked with this `ef_search`, whatever it reaches, and until the next node is farther than the k-th best by
    /// more than the factor 1 + slack.
    Walk { ef: usize, slack: f32 },
    /// Codes are scanned, graphs are not walked.
    Flat,
}

impl Effort {
    pub const DEFAULT_RECALL: f32 = 0.99;
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Recall(recall) => write!(f, "recall {recall}"),
            Self::Walk { ef, slack } if slack.is_finite() => write!(f, "ef {ef}, slack {slack}"),
            Self::Walk { ef, .. } => write!(f, "ef {ef}"),
            Self::Flat => f.write_str("flat"),
        }
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self::Recall(Self::DEFAULT_RECALL)
    }
}

impl<'a> Search<'a> {
    /// The default of [`margin`](Self::margin). Measured recall@10 of a scan, with 2 / 2.5 / 3 (rows scored again in brackets):
    /// 384 values .9983 (23) / .9997 (28) / 1.0 (34); 784 values .9997 (46) / 1.0 (61) / 1.0 (80); 50 values 1.0 (364) / 1.0 (624)
    /// / 1.0 (1,021).
    pub const MARGIN: f32 = 2.5;

    pub fn new(k: usize, filter: Option<&'a [u64]>) -> Self {
        Self { k, filter, effort: Effort::default(), margin: Self::MARGIN }
    }
}

/// What one search did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Segments whose rows were scored in f32, whose codes were scanned, whose graph was walked.
    pub exact: usize,
    pub flat: usize,
    pub graph: usize,
    /// Bits a value of the codes that were summed, the most of them.
    pub code_bits: usize,
    /// Codes that were summed.
    pub evaluated: usize,
    /// Nodes whose links were followed.
    pub hops: usize,
    /// Rows that were scored in f32.
    pub rescored: usize,
}

/// Buffers of a search. With the same one, searches allocate nothing once it has grown.
#[derive(Default)]
pub struct Scratch {
    pub(super) rotated: RotatedQuery,
    pub(super) prepared: Prepared,
    pub(super) scores: Box<Scores>,
    /// Keys: part and row as one number.
    pub(super) shortlist: Shortlist,
    pub(super) best: Top,
    pub(super) allowed: Vec<u64>,
    /// Rows that are not stored as f32.
    pub(super) room: Vec<f32>,
    pub(super) walk: Walk,
}
