//! Recall.

/// The share of the relevant documents that is among the first `k`: trec_eval's `recall`.
pub(super) fn recall(gains: &[u32], relevant: usize, k: usize) -> f64 {
    gains.iter().take(k).filter(|gain| **gain > 0).count() as f64 / relevant as f64
}
