//! Counts for Prometheus, in its text format.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::state::Work;

/// Upper bounds of the classes of time, in seconds.
const BOUNDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0];

/// See the module.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// By route and status.
    requests: BTreeMap<(String, u16), u64>,
    /// By route.
    seconds: BTreeMap<String, Histogram>,
    /// By kind of work, waiting counted.
    work: BTreeMap<&'static str, Histogram>,
}

#[derive(Debug, Default, Clone)]
struct Histogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn add(&mut self, seconds: f64) {
        for (count, bound) in self.counts.iter_mut().zip(BOUNDS) {
            *count += u64::from(seconds <= bound);
        }
        self.count += 1;
        self.sum += seconds;
    }

    fn print(&self, name: &str, label: &str, out: &mut String) {
        for (count, bound) in self.counts.iter().zip(BOUNDS) {
            let _ = writeln!(out, "{name}_bucket{{{label},le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(out, "{name}_bucket{{{label},le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(out, "{name}_sum{{{label}}} {}", self.sum);
        let _ = writeln!(out, "{name}_count{{{label}}} {}", self.count);
    }
}

/// What is true at this moment.
#[derive(Debug, Clone, Default)]
pub struct Now {
    /// Name, help, value.
    pub gauges: Vec<(&'static str, &'static str, f64)>,
}

impl Metrics {
    pub fn answered(&self, route: &str, status: u16, took: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry((route.to_owned(), status)).or_default() += 1;
        counts.seconds.entry(route.to_owned()).or_default().add(took.as_secs_f64());
    }

    pub fn worked(&self, work: Work, took: Duration) {
        let name = match work {
            Work::Search => "search",
            Work::Answer => "answer",
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.work.entry(name).or_default().add(took.as_secs_f64());
    }

    pub fn print(&self, now: &Now) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = String::new();
        out.push_str("# HELP rag_requests_total Requests answered.\n# TYPE rag_requests_total counter\n");
        for ((route, status), count) in &counts.requests {
            let _ = writeln!(out, "rag_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}");
        }
        out.push_str(
            "# HELP rag_request_seconds Time to the head of the answer.\n# TYPE rag_request_seconds histogram\n",
        );
        for (route, histogram) in &counts.seconds {
            histogram.print("rag_request_seconds", &format!("route=\"{route}\""), &mut out);
        }
        out.push_str(
            "# HELP rag_work_seconds Searches and answers, their waiting counted.\n# TYPE rag_work_seconds histogram\n",
        );
        for (work, histogram) in &counts.work {
            histogram.print("rag_work_seconds", &format!("work=\"{work}\""), &mut out);
        }
        for (name, help, value) in &now.gauges {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        out
    }
}
