//! Search under filters, from a few rows to nearly all, and also where the filter knows the query: allowed are the rows that
//! are nearest to it, or farthest from it.

use clap::Args;
use rag::index::vector::{Effort, Metric, Scratch, Search, Set, Work, dot};
use serde_json::json;

use crate::{
    K, Opened, Result,
    data::{Data, Random},
    emit, index,
    measure::{Times, round},
    query::{add, per_query},
};

const SHARES: [f64; 11] = [0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.75, 0.9];

/// Which rows are allowed.
const FILTERS: [&str; 3] = ["random", "near", "far"];

#[derive(Args)]
pub struct Filters {
    #[command(flatten)]
    opened: Opened,
    /// How many queries; each meets every filter.
    #[arg(long, default_value_t = 100)]
    count: usize,
    /// What recall is asked for.
    #[arg(long, value_delimiter = ',', default_values_t = [Effort::DEFAULT_RECALL, 0.999])]
    recall: Vec<f32>,
}

/// One filter at one recall.
#[derive(Default)]
struct Case {
    times: Times,
    exact: Times,
    found: usize,
    wanted: usize,
    work: Work,
}

impl Filters {
    pub fn run(&self) -> Result<()> {
        let data = self.opened.set.open()?;
        let set = index::open(&self.opened.index)?;
        let count = self.count.min(data.queries.rows);
        let base = data.base()?;
        let norms: Vec<f32> = (0..base.rows).map(|row| dot(base.row(row), base.row(row))).collect();

        let (mut scratch, mut hits, mut truth) = (Scratch::default(), Vec::new(), Vec::new());
        let (mut scan, mut free) = (Times::default(), Times::default());
        let mut cases: Vec<Case> = Vec::new();
        cases.resize_with(FILTERS.len() * SHARES.len() * self.recall.len(), Case::default);
        let mut random = Random(1);
        for query in (0..count).map(|query| data.queries.row(query)) {
            let mut case = cases.iter_mut();
            free.time(|| set.search_with(&mut scratch, query, &Search::new(K, None), &mut hits));
            let exact = Search { effort: Effort::Exact, ..Search::new(K, None) };
            scan.time(|| set.search_with(&mut scratch, query, &exact, &mut truth));
            let score = |row: usize| score(data.metric, query, base.row(row), norms[row]);
            for order in orders(base.rows, score, &mut random) {
                for share in SHARES {
                    let allowed = allowed(&order, share);
                    let filter = Some(&allowed[..]);
                    let mut times = Times::default();
                    let exact = Search { filter, ..exact };
                    for &recall in &self.recall {
                        let Some(case) = case.next() else { break };
                        let search = Search { effort: Effort::Recall(recall), ..Search::new(K, filter) };
                        let work = case.times.time(|| set.search_with(&mut scratch, query, &search, &mut hits));
                        // After it, so that it finds no row in a cache that the exact search put there.
                        times.time(|| set.search_with(&mut scratch, query, &exact, &mut truth));
                        case.exact.push(times.quantile(0.0));
                        let bar = truth.last().map_or(f32::INFINITY, |hit| hit.1);
                        case.found += hits.iter().filter(|hit| hit.1 >= bar).count().min(truth.len());
                        case.wanted += truth.len();
                        add(&mut case.work, work);
                    }
                }
            }
        }
        self.report(&data, &set, cases, (scan.median(), free.median()), count)
    }

    fn report(&self, data: &Data, set: &Set, cases: Vec<Case>, (scan, free): (f64, f64), count: usize) -> Result<()> {
        let mut cases = cases.into_iter();
        let microseconds = |seconds: f64| round(seconds * 1e6, 1);
        for filter in FILTERS {
            for share in SHARES {
                for recall in &self.recall {
                    let Some(mut case) = cases.next() else { return Ok(()) };
                    let mut line = json!({
                        "step": "filters", "set": data.name, "peer": self.opened.kind.peer(),
                        "filter": filter, "selectivity": share, "allowed": how_many(set.len(), share),
                        "target": round(f64::from(*recall), 4),
                        "recall10": round(case.found as f64 / case.wanted as f64, 4),
                        "p50_us": microseconds(case.times.median()), "p99_us": microseconds(case.times.quantile(0.99)),
                        "exact_us": microseconds(case.exact.median()),
                        "scan_us": microseconds(scan), "unfiltered_us": microseconds(free),
                    });
                    if let (Some(line), Some(work)) = (line.as_object_mut(), per_query(&case.work, count).as_object()) {
                        line.extend(work.clone());
                    }
                    emit(&line)?;
                }
            }
        }
        Ok(())
    }
}

/// As many rows as there are, in three orders: by chance, nearest first, farthest first.
fn orders(rows: usize, score: impl Fn(usize) -> f32, random: &mut Random) -> [Vec<u32>; 3] {
    let mut by_chance: Vec<u32> = (0..rows as u32).collect();
    random.shuffle(&mut by_chance);
    let scores: Vec<f32> = (0..rows).map(score).collect();
    let mut near: Vec<u32> = (0..rows as u32).collect();
    near.sort_unstable_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
    let far = near.iter().rev().copied().collect();
    [by_chance, near, far]
}

fn how_many(rows: usize, share: f64) -> usize {
    ((rows as f64 * share).round() as usize).max(1)
}

/// The ids of the first rows of an order, sorted.
fn allowed(order: &[u32], share: f64) -> Vec<u64> {
    let mut is_allowed = vec![false; order.len()];
    order[..how_many(order.len(), share)].iter().for_each(|&row| is_allowed[row as usize] = true);
    (0..).zip(is_allowed).filter_map(|(id, is_allowed)| is_allowed.then_some(id)).collect()
}

/// Higher is nearer; not the core's score, but in its order.
fn score(metric: Metric, query: &[f32], row: &[f32], norm: f32) -> f32 {
    match metric {
        Metric::Dot => dot(query, row),
        Metric::L2 => 2.0 * dot(query, row) - norm,
        Metric::Cosine => dot(query, row) / norm.sqrt(),
    }
}
