//! Does a graph stay good when rows come and go? Half of the rows are indexed; then, in steps, half of those make way for
//! others, through tombstones and merges.

use clap::Args;
use rag::index::vector::{
    Effort, NewRow, Scratch, Search, Segment, SegmentOptions, Set, Tombstones, encode_segment, merge,
};
use serde_json::{Value, json};

use crate::{
    K, Result,
    data::{self, Data, Random},
    emit,
    index::{Kind, Options},
    measure::{Clock, Times, Watch, round},
    query::Point,
};

#[derive(Args)]
pub struct Churn {
    #[command(flatten)]
    set: data::SetArgs,
    #[arg(long, value_enum, default_value = "graph")]
    kind: Kind,
    #[command(flatten)]
    options: Options,
    /// In how many steps, each with a merge.
    #[arg(long, default_value_t = 5)]
    steps: usize,
}

impl Churn {
    pub fn run(&self) -> Result<()> {
        let data = self.set.open()?;
        let options = self.options.segment(&data, self.kind)?;
        let values = data.base()?.values().to_vec();
        let (old, spare) = values.split_at(values.len() / data.dim() / 2 * data.dim());
        let old = data::rows_of(old, data.dim(), 0);
        let spare = data::rows_of(spare, data.dim(), old.len());
        let new = spare[..old.len() / 2].chunks((old.len() / 2).div_ceil(self.steps.max(1)));

        let watch = Watch::start(Clock::Process);
        let mut segment = encode(data.dim(), &old, &options)?;
        self.report(&data, "built", &alone(&segment), watch.cpu(), None)?;
        // Old rows go in an order that says nothing of them.
        let mut leaving: Vec<u64> = old.iter().map(|row| row.id).collect();
        Random(1).shuffle(&mut leaving);
        let mut leaving = leaving.into_iter();
        let mut spent = 0.0;
        for new in new {
            let mut dead = Tombstones::default();
            leaving.by_ref().take(new.len()).filter_map(|id| segment.find_id(id)).for_each(|row| dead.insert(row));
            let watch = Watch::start(Clock::Process);
            // A graph of its own would be thrown away by the merge.
            let small = SegmentOptions { graph_from: usize::MAX, ..options.clone() };
            let tail = encode(data.dim(), new, &small)?;
            let none = Tombstones::default();
            let merged = merge(&[(&segment, &dead), (&tail, &none)], &options)?.ok_or("no rows are left")?;
            spent += watch.cpu();
            segment = Segment::open(std::sync::Arc::new(merged))?;
        }

        let vectors: Vec<_> = (0..segment.len()).map(|row| segment.row(row)).collect();
        let row = |(row, vector)| NewRow { id: segment.ids()[row], hash: segment.hash(row), vector };
        let rows: Vec<NewRow<'_>> = vectors.iter().map(|vector| &**vector).enumerate().map(row).collect();
        let watch = Watch::start(Clock::Process);
        let fresh = alone(&encode(data.dim(), &rows, &options)?);
        let fresh_cpu = watch.cpu();
        self.report(&data, "churned", &alone(&segment), spent, Some(self.steps))?;
        self.report(&data, "fresh", &fresh, fresh_cpu, None)
    }

    fn report(&self, data: &Data, state: &str, set: &Set, cpu: f64, merges: Option<usize>) -> Result<()> {
        let points = match self.kind {
            Kind::Flat => vec![Point::margin(1.0), Point::margin(2.0)],
            Kind::Graph => {
                vec![Point::ef(40), Point::ef(100), Point::slack(0.05), Point::slack(0.1), Point::recall(0.99)]
            }
        };
        let (mut scratch, mut hits, mut truth) = (Scratch::default(), Vec::new(), Vec::new());
        let queries = || (0..data.queries.rows).map(|query| data.queries.row(query));
        let exact = Search { effort: Effort::Exact, ..Search::new(K, None) };
        let bars: Vec<f32> = queries()
            .map(|query| {
                set.search_with(&mut scratch, query, &exact, &mut truth);
                truth.last().map_or(f32::INFINITY, |hit| hit.1)
            })
            .collect();
        for Point { name, search } in &points {
            let (mut found, mut times) = (0, Times::default());
            for (query, &bar) in queries().zip(&bars) {
                times.time(|| set.search_with(&mut scratch, query, search, &mut hits));
                found += hits.iter().filter(|hit| hit.1 >= bar).count().min(K);
            }
            emit(&json!({
                "step": "churn", "set": data.name, "peer": self.kind.peer(), "state": state, "rows": set.len(),
                "point": name, "recall10": round(found as f64 / (K * bars.len()) as f64, 4),
                "p50_us": round(times.median() * 1e6, 1), "cpu_s": round(cpu, 2),
                "merges": merges.map_or(Value::Null, Value::from),
            }))?;
        }
        Ok(())
    }
}

fn encode(dim: usize, rows: &[NewRow<'_>], options: &SegmentOptions) -> Result<Segment> {
    Ok(Segment::open(std::sync::Arc::new(encode_segment(dim, rows, options)))?)
}

/// A set of one segment.
fn alone(segment: &Segment) -> Set {
    Set::new(segment.dim(), vec![(segment.clone(), Tombstones::default())])
}
