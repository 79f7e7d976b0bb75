//! Reciprocal rank, whose mean is MRR.

/// 1 ÷ the rank of the first relevant document; 0 where none is among the first `k`: trec_eval's `recip_rank`, cut.
pub(super) fn reciprocal_rank(gains: &[u32], k: usize) -> f64 {
    gains.iter().take(k).position(|gain| *gain > 0).map_or(0.0, |at| 1.0 / (at + 1) as f64)
}
