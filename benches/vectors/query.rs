//! Recall against speed: every operating point in turn, several rounds, the best of each.

use std::thread;

use clap::Args;
use rag::index::vector::{Effort, Scratch, Search, Set, Work};
use serde_json::{Value, json};

use crate::{
    K, Opened, Result,
    data::Data,
    emit,
    index::{self, Kind},
    measure::{Clock, Times, Watch, memory_mb, round},
};

/// A pool that a slack ends long before it is full.
const WIDE: usize = 768;

#[derive(Args)]
pub struct Query {
    #[command(flatten)]
    opened: Opened,
    /// How often every point is measured; the points of one round follow each other.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// A way to search, and its name in the table.
pub struct Point {
    pub name: String,
    pub search: Search<'static>,
}

impl Point {
    fn new(name: String, effort: Effort) -> Self {
        Self { name, search: Search { effort, ..Search::new(K, None) } }
    }

    pub fn slack(slack: f32) -> Self {
        Self::new(format!("slack {slack}"), Effort::Walk { ef: WIDE, slack })
    }

    pub fn ef(ef: usize) -> Self {
        Self::new(format!("ef {ef}"), Effort::Walk { ef, slack: f32::INFINITY })
    }

    pub fn recall(recall: f32) -> Self {
        Self::new(format!("recall {recall}"), Effort::Recall(recall))
    }

    pub fn margin(margin: f32) -> Self {
        let point = Self::new(format!("margin {margin}"), Effort::Flat);
        Self { search: Search { margin, ..point.search }, ..point }
    }
}

fn points(kind: Kind) -> Vec<Point> {
    match kind {
        Kind::Flat => [1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5].map(Point::margin).into(),
        Kind::Graph => {
            let slacks = [0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3].map(Point::slack);
            let efs = [16, 24, 40, 64, 100, 160, 256, 400].map(Point::ef);
            let recalls = [0.9, 0.95, 0.98, 0.99, 0.995, 0.999].map(Point::recall);
            slacks.into_iter().chain(efs).chain(recalls).collect()
        }
    }
}

/// The best round of one point.
struct Best {
    qps1: f64,
    qps1_cpu: f64,
    qps2: f64,
    p50: f64,
    p99: f64,
    /// Of the last round; every round finds the same.
    found: Vec<Vec<u64>>,
    work: Work,
}

impl Query {
    pub fn run(&self) -> Result<()> {
        let Opened { set, index, kind } = &self.opened;
        let data = set.open()?;
        // Into memory, and so into what is there before.
        let _ = data.queries.values().iter().sum::<f32>();
        let (rss, anon) = (memory_mb("VmRSS"), memory_mb("RssAnon"));

        let points = points(*kind);
        let opening = Watch::start(Clock::Process);
        let set = index::open(index)?;
        let open = opening.wall();
        let mut scratch = Scratch::default();
        let first = Watch::start(Clock::Process);
        set.search_with(&mut scratch, data.queries.row(0), &points[0].search, &mut Vec::new());
        let first = first.wall();
        let rss_first = memory_mb("VmRSS") - rss;

        let mut best: Vec<Best> = points.iter().map(|_| Best::nothing()).collect();
        for _ in 0..self.rounds.max(1) {
            for (point, best) in points.iter().zip(&mut best) {
                best.round(&data, &set, &mut scratch, &point.search);
            }
        }
        let (rss, anon) = (memory_mb("VmRSS") - rss, memory_mb("RssAnon") - anon);

        let built = index::built(index);
        for (point, best) in points.iter().zip(&best) {
            let mut line = json!({ "set": data.name, "peer": kind.peer(), "point": point.name });
            let all = best.json(&data)?;
            extend(&mut line, all);
            extend(&mut line, Value::Object(built.clone()));
            extend(
                &mut line,
                json!({
                    "open_ms": round(open * 1e3, 3),
                    "first_ms": round(first * 1e3, 3),
                    "rss_mb": round(rss, 1),
                    "anon_mb": round(anon, 1),
                    // Later searches fault in rows, and rows around them, until all of the map counts.
                    "rss_first_mb": round(rss_first, 1),
                    "queries": data.asked,
                }),
            );
            extend(&mut line, per_query(&best.work, data.queries.rows));
            emit(&line)?;
        }
        Ok(())
    }
}

/// Adds the fields of one object to another.
fn extend(line: &mut Value, fields: Value) {
    if let (Value::Object(line), Value::Object(fields)) = (line, fields) {
        line.extend(fields);
    }
}

/// What a search did, on average.
pub fn per_query(work: &Work, queries: usize) -> Value {
    let mean = |total: usize| round(total as f64 / queries.max(1) as f64, 2);
    json!({
        "evaluated": mean(work.evaluated), "hops": mean(work.hops), "rescored": mean(work.rescored),
        "exact_parts": mean(work.exact), "flat_parts": mean(work.flat), "graph_parts": mean(work.graph),
    })
}

pub fn add(sum: &mut Work, one: Work) {
    sum.exact += one.exact;
    sum.flat += one.flat;
    sum.graph += one.graph;
    sum.evaluated += one.evaluated;
    sum.hops += one.hops;
    sum.rescored += one.rescored;
}

impl Best {
    fn nothing() -> Self {
        let (found, work) = (Vec::new(), Work::default());
        Self { qps1: 0.0, qps1_cpu: 0.0, qps2: 0.0, p50: f64::INFINITY, p99: f64::INFINITY, found, work }
    }

    fn round(&mut self, data: &Data, set: &Set, scratch: &mut Scratch, search: &Search<'_>) {
        let count = data.queries.rows;
        let (mut times, mut hits) = (Times::default(), Vec::with_capacity(K));
        (self.found, self.work) = (Vec::with_capacity(count), Work::default());
        let watch = Watch::start(Clock::Process);
        for query in 0..count {
            let work = times.time(|| set.search_with(scratch, data.queries.row(query), search, &mut hits));
            add(&mut self.work, work);
            self.found.push(hits.iter().map(|hit| hit.0).collect());
        }
        let (wall, cpu) = (watch.wall(), watch.cpu());
        self.qps1 = self.qps1.max(count as f64 / wall);
        self.qps1_cpu = self.qps1_cpu.max(count as f64 / cpu);
        self.p50 = self.p50.min(times.median());
        self.p99 = self.p99.min(times.quantile(0.99));
        self.qps2 = self.qps2.max(count as f64 / two_threads(data, set, search));
    }

    fn json(&self, data: &Data) -> Result<Value> {
        Ok(json!({
            "recall10": round(data.recall(&self.found)?, 4),
            "qps1": round(self.qps1, 1),
            "qps1_cpu": round(self.qps1_cpu, 1),
            "qps2": round(self.qps2, 1),
            "p50_us": round(self.p50 * 1e6, 1),
            "p99_us": round(self.p99 * 1e6, 1),
        }))
    }
}

/// Seconds for all queries, every other on another thread.
fn two_threads(data: &Data, set: &Set, search: &Search<'_>) -> f64 {
    let watch = Watch::start(Clock::Process);
    let every_other = |first: usize| {
        let (mut scratch, mut hits) = (Scratch::default(), Vec::with_capacity(K));
        for query in (first..data.queries.rows).step_by(2) {
            set.search_with(&mut scratch, data.queries.row(query), search, &mut hits);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| every_other(1));
        every_other(0);
    });
    watch.wall()
}
