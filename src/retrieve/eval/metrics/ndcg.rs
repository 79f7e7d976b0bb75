//! Normalised discounted cumulative gain.

/// Gains of the first `k`, each divided by log₂(rank + 1), over the same sum of the best possible order. The gain is the
/// grade itself, as in trec_eval's `ndcg_cut`. Järvelin, Kekäläinen, TOIS 2002.
pub(super) fn ndcg(gains: &[u32], ideal: &[u32], k: usize) -> f64 {
    discounted(gains, k) / discounted(ideal, k)
}

fn discounted(gains: &[u32], k: usize) -> f64 {
    gains.iter().take(k).zip(2u32..).map(|(gain, after)| f64::from(*gain) / f64::from(after).log2()).sum()
}
