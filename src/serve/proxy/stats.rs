//! What the proxy has done: counters, as JSON and for Prometheus.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use super::store::StoreStats;

/// Counters since the start.
#[derive(Debug, Default)]
pub struct Counters {
    pub hits: AtomicU64,
    pub semantic_hits: AtomicU64,
    pub misses: AtomicU64,
    pub coalesced: AtomicU64,
    pub bypassed: AtomicU64,
    pub uncacheable: AtomicU64,
    pub refused: AtomicU64,
    pub stored: AtomicU64,
    pub upstream_calls: AtomicU64,
    pub upstream_errors: AtomicU64,
    pub element_hits: AtomicU64,
    pub element_misses: AtomicU64,
    pub saved_prompt_tokens: AtomicU64,
    pub saved_completion_tokens: AtomicU64,
}

/// One more.
pub fn bump(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// `GET /stats`, and what `rag cache stats` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub schema: String,
    /// The process that was asked runs a proxy.
    pub running: bool,
    pub upstream: Option<String>,
    pub uptime_seconds: u64,
    pub hits: u64,
    pub semantic_hits: u64,
    pub misses: u64,
    pub coalesced: u64,
    pub bypassed: u64,
    pub uncacheable: u64,
    /// Requests that were not let in.
    pub refused: u64,
    pub stored: u64,
    pub upstream_calls: u64,
    pub upstream_errors: u64,
    /// Texts whose vectors were here, and those whose were not.
    pub element_hits: u64,
    pub element_misses: u64,
    /// Tokens of answers that nobody had to pay again.
    pub saved_prompt_tokens: u64,
    pub saved_completion_tokens: u64,
    /// Answers under way.
    pub in_flight: u64,
    pub cache: StoreStats,
}

/// Name of the schema of [`Stats`].
pub const SCHEMA: &str = "rag.proxy.stats/1";

impl Counters {
    pub fn snapshot(&self, cache: StoreStats) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            schema: SCHEMA.to_owned(),
            running: true,
            upstream: None,
            uptime_seconds: 0,
            hits: read(&self.hits),
            semantic_hits: read(&self.semantic_hits),
            misses: read(&self.misses),
            coalesced: read(&self.coalesced),
            bypassed: read(&self.bypassed),
            uncacheable: read(&self.uncacheable),
            refused: read(&self.refused),
            stored: read(&self.stored),
            upstream_calls: read(&self.upstream_calls),
            upstream_errors: read(&self.upstream_errors),
            element_hits: read(&self.element_hits),
            element_misses: read(&self.element_misses),
            saved_prompt_tokens: read(&self.saved_prompt_tokens),
            saved_completion_tokens: read(&self.saved_completion_tokens),
            in_flight: 0,
            cache,
        }
    }
}

impl Stats {
    /// The text that Prometheus reads.
    pub fn prometheus(&self) -> String {
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, help: &str, lines: &[(&str, u64)]| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in lines {
                let _ = writeln!(out, "{name}{labels} {value}");
            }
        };
        family(
            "rag_proxy_requests_total",
            "counter",
            "Requests by what the cache did.",
            &[
                ("{cache=\"hit\"}", self.hits),
                ("{cache=\"miss\"}", self.misses),
                ("{cache=\"coalesced\"}", self.coalesced),
                ("{cache=\"bypass\"}", self.bypassed),
                ("{cache=\"uncacheable\"}", self.uncacheable),
            ],
        );
        for (name, kind, help, value) in [
            ("rag_proxy_semantic_hits_total", "counter", "Hits by the meaning of the question.", self.semantic_hits),
            ("rag_proxy_refused_total", "counter", "Requests that were not let in.", self.refused),
            ("rag_proxy_stored_total", "counter", "Answers that were kept.", self.stored),
            ("rag_proxy_upstream_calls_total", "counter", "Requests to the upstream server.", self.upstream_calls),
            ("rag_proxy_upstream_errors_total", "counter", "Those that failed.", self.upstream_errors),
            ("rag_proxy_evicted_total", "counter", "Entries that went for want of room.", self.cache.evicted),
            ("rag_proxy_expired_total", "counter", "Entries that had grown old when asked for.", self.cache.expired),
            ("rag_proxy_store_errors_total", "counter", "Failures of the cache's own files.", self.cache.errors),
            ("rag_proxy_entries", "gauge", "Entries of the cache.", self.cache.entries),
            ("rag_proxy_bytes", "gauge", "Bytes of the cache.", self.cache.bytes),
            ("rag_proxy_max_bytes", "gauge", "Bytes the cache may have.", self.cache.max_bytes),
            ("rag_proxy_pending", "gauge", "Entries not yet in the database.", self.cache.pending),
            ("rag_proxy_in_flight", "gauge", "Answers under way.", self.in_flight),
            ("rag_proxy_uptime_seconds", "gauge", "Seconds since the start.", self.uptime_seconds),
        ] {
            family(name, kind, help, &[("", value)]);
        }
        family(
            "rag_proxy_elements_total",
            "counter",
            "Texts to embed by what the cache did.",
            &[("{cache=\"hit\"}", self.element_hits), ("{cache=\"miss\"}", self.element_misses)],
        );
        family(
            "rag_proxy_saved_tokens_total",
            "counter",
            "Tokens that were not asked for again.",
            &[("{kind=\"prompt\"}", self.saved_prompt_tokens), ("{kind=\"completion\"}", self.saved_completion_tokens)],
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_reaches_prometheus() {
        let stats = Counters { hits: 7.into(), saved_prompt_tokens: 9.into(), ..Counters::default() };
        let text = stats.snapshot(StoreStats { entries: 3, ..StoreStats::default() }).prometheus();
        for line in [
            "rag_proxy_requests_total{cache=\"hit\"} 7",
            "rag_proxy_saved_tokens_total{kind=\"prompt\"} 9",
            "rag_proxy_entries 3",
            "# TYPE rag_proxy_entries gauge",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (_, value) = line.rsplit_once(' ').unwrap();
            value.parse::<u64>().unwrap();
        }
    }
}
