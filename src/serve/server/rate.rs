//! How often somebody may do something: a bucket of tokens each, for as many as are kept in mind.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// Buckets that are kept; with more, the fullest (who did least of late) are forgotten.
const MAX_BUCKETS: usize = 4096;

/// Buckets by somebody's name. Each holds a second's worth and fills at its rate.
#[derive(Debug)]
pub struct Rates<K> {
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl<K> Default for Rates<K> {
    fn default() -> Self {
        Self { buckets: Mutex::new(HashMap::new()) }
    }
}

impl<K: Eq + Hash + Clone> Rates<K> {
    /// Takes one from somebody's bucket; false: it is empty. `per_second`: how fast it fills, and, at least 1, what it holds.
    pub fn take(&self, who: &K, per_second: f64, now: Instant) -> bool {
        let size = per_second.max(1.0);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(who) {
            forget(&mut buckets);
        }
        let bucket = buckets.entry(who.clone()).or_insert(Bucket { tokens: size, at: now });
        let gained = now.saturating_duration_since(bucket.at).as_secs_f64() * per_second;
        bucket.tokens = (bucket.tokens + gained).min(size);
        bucket.at = now;
        let has_one = bucket.tokens >= 1.0;
        if has_one {
            bucket.tokens -= 1.0;
        }
        has_one
    }
}

fn forget<K: Eq + Hash + Clone>(buckets: &mut HashMap<K, Bucket>) {
    let mut ages: Vec<(Instant, K)> = buckets.iter().map(|(who, bucket)| (bucket.at, who.clone())).collect();
    ages.sort_by_key(|(at, _)| *at);
    for (_, who) in ages.into_iter().take(MAX_BUCKETS / 4) {
        buckets.remove(&who);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn n02_ten_a_second_and_no_more() {
        let rates = Rates::default();
        let begin = Instant::now();
        let taken = |at_ms: u64, n: usize| {
            (0..n).filter(|_| rates.take(&"peer", 10.0, begin + Duration::from_millis(at_ms))).count()
        };
        assert_eq!(taken(0, 50), 10);
        assert_eq!(taken(100, 50), 1);
        assert_eq!(taken(5_000, 50), 10);
        assert!(rates.take(&"another", 10.0, begin));
    }

    #[test]
    fn many_peers_take_no_more_memory() {
        let rates = Rates::default();
        let now = Instant::now();
        for peer in 0..20_000 {
            rates.take(&peer, 10.0, now + Duration::from_millis(peer));
        }
        assert!(rates.buckets.lock().unwrap().len() <= MAX_BUCKETS);
    }
}
