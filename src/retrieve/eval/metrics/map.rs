//! Average precision, whose mean is MAP.

/// The precision at the rank of each relevant document, summed, over the number of relevant ones, found or not:
/// trec_eval's `map`.
pub(super) fn average_precision(gains: &[u32], relevant: usize) -> f64 {
    let mut found = 0;
    let mut sum = 0.0;
    for (gain, rank) in gains.iter().zip(1..) {
        if *gain > 0 {
            found += 1;
            sum += f64::from(found) / f64::from(rank);
        }
    }
    sum / relevant as f64
}
