//! `rag tune`: settings that are better for these documents, where that can be said.

mod chunks;
mod settings_file;

use std::path::PathBuf;

use rag::{
    model::{Embedder, remember::Remembering},
    retrieve::{
        Fusion, Mode, Query,
        eval::{self, Choice, Metric, auto, choose, choose_least, estimate},
    },
    serve::wire,
    types::{Cancel, Kind},
};

use super::{
    Context,
    eval::{
        MadeSet, MakeArgs,
        matrix::MatrixArgs,
        measure::{Measured, Measuring},
        set::Set,
    },
};
use crate::cli::{args::collection, config::INDEX_FILE, exit, output, report::Failure, signals};

/// Weights of the dense leg that are tried.
const ALPHAS: [f32; 7] = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
/// Numbers of results that are tried.
const KS: [usize; 7] = [5, 8, 10, 15, 20, 30, 50];
/// What fusions are compared by.
const BEST_FIRST: Metric = Metric::Ndcg(10);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ask these questions instead of ones made from the documents
    #[arg(long, value_name = "FILE", requires = "qrels")]
    queries: Option<PathBuf>,
    /// Judge by these; documents are named by path
    #[arg(long, value_name = "FILE", requires = "queries")]
    qrels: Option<PathBuf>,
    #[command(flatten)]
    make: MakeArgs,
    /// Tune for this collection of the index
    #[arg(long, value_name = "NAME", value_parser = collection)]
    collection: Option<String>,
    /// Try chunks of so many word pieces too: reads and embeds the documents again for each [default: 128,254 in an index of
    /// less than 2,000 chunks]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(32..=254))]
    chunk_tokens: Vec<u16>,
    /// Write what is proposed to rag.toml in the index
    #[arg(long)]
    write: bool,
    /// Ask so many questions at once [default: one a core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

/// A setting, the values that were tried, and what they gave.
struct Tried {
    key: &'static str,
    metric: String,
    current: f64,
    /// Values of the metric, question by question.
    current_values: Vec<f64>,
    others: Vec<(f64, Vec<f64>)>,
    choice: Choice,
    /// Better values that are not proposed, by value.
    discarded: Vec<f64>,
}

impl Tried {
    /// `costs`: a greater value costs more, so that the least that is good enough is wanted.
    fn new(
        key: &'static str,
        metric: String,
        current: (f64, Vec<f64>),
        others: Vec<(f64, Vec<f64>)>,
        costs: bool,
    ) -> Self {
        let values: Vec<Vec<f64>> = others.iter().map(|(_, values)| values.clone()).collect();
        let choice = if costs { choose_least(&current.1, &values) } else { choose(&current.1, &values) };
        Self { key, metric, current: current.0, current_values: current.1, others, choice, discarded: Vec::new() }
    }

    /// Proposes a greater value or none.
    fn upwards(mut self) -> Self {
        let smaller = |at: usize| self.others[at].0 < self.current;
        self.discarded =
            self.choice.better.iter().copied().filter(|&at| smaller(at)).map(|at| self.others[at].0).collect();
        self.discarded.sort_by(f64::total_cmp);
        if self.proposal().is_some_and(|value| value < self.current) {
            let greater: Vec<usize> = (0..self.others.len()).filter(|&at| self.others[at].0 > self.current).collect();
            let values: Vec<Vec<f64>> = greater.iter().map(|&at| self.others[at].1.clone()).collect();
            self.choice.best = choose(&self.current_values, &values).best.map(|at| greater[at]);
        }
        self
    }

    fn proposal(&self) -> Option<f64> {
        self.choice.best.map(|at| self.others[at].0)
    }

    fn wire(&self) -> wire::TuneSetting {
        let estimated = |values: &[f64]| {
            let rows: Vec<Vec<f64>> = values.iter().map(|value| vec![*value]).collect();
            estimate(&rows).pop().unwrap_or_default().into()
        };
        let other = |((value, values), comparison): (&(f64, Vec<f64>), &eval::Comparison)| wire::TuneTrial {
            value: *value,
            estimate: estimated(values),
            against_current: Some((*comparison).into()),
        };
        let current =
            wire::TuneTrial { value: self.current, estimate: estimated(&self.current_values), against_current: None };
        let mut trials: Vec<_> = self.others.iter().zip(&self.choice.comparisons).map(other).chain([current]).collect();
        trials.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (metric, proposal) = (self.metric.clone(), self.proposal());
        let discarded = self.discarded.clone();
        wire::TuneSetting { key: self.key.into(), metric, current: self.current, proposal, discarded, trials }
    }
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let config = &context.config;
    let snapshot = context.place.open()?.snapshot()?;
    let collection = args.collection.as_deref();
    let (mut set, made) = match &args.queries {
        Some(queries) => (Set::read(None, Some(queries), args.qrels.as_deref())?, None),
        None => {
            let made = MadeSet::new(&snapshot, collection, &args.make)?;
            (made.set()?, Some(made))
        }
    };
    let cancel = Cancel::default();
    signals::watch(&cancel).map_err(|error| Failure::new(Kind::Io, format!("cannot watch signals: {error}")))?;
    let current_k = config.number("retrieve.k").unwrap_or(10);
    let metrics = [&[BEST_FIRST, Metric::Recall(current_k)][..], &KS.map(Metric::Recall)].concat();
    let measuring = Measuring {
        context,
        config,
        metrics: &metrics,
        ways: MatrixArgs::default().ways(config, collection)?,
        jobs: args.jobs.map(usize::from).or(std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1),
        cancel: &cancel,
    };
    let embedder = measuring.embedder(&snapshot)?;
    let remembering = embedder.as_deref().map(|embedder| Remembering::new(embedder, None)).transpose()?;
    let asking = remembering.as_ref().map(|embedder| embedder as &dyn Embedder);
    let judged = measuring.judged(&snapshot, &mut set)?;
    let current = &measuring.ways(&snapshot, asking, &judged, (None, 0.0), &set)?[0];

    let mut tried = vec![results(current, current_k)];
    let is_blend =
        current.configuration.query.mode == Mode::Hybrid && current.configuration.query.fusion == Fusion::Blend;
    if is_blend && snapshot.space().is_some() {
        let now = current.configuration.query.alpha.unwrap_or(rag::retrieve::DENSE_WEIGHT);
        let alphas: Vec<f32> = ALPHAS.into_iter().filter(|alpha| (alpha - now).abs() > 1e-6).collect();
        let way = |alpha: &f32| Query { alpha: Some(*alpha), ..current.configuration.query.clone() };
        let others = Measuring { ways: alphas.iter().map(way).collect(), ..measuring.clone() };
        let measured = others.ways(&snapshot, asking, &judged, (None, 0.0), &set)?;
        let values = measured.iter().map(|one| one.scores.column(0));
        let others = alphas.iter().map(|alpha| wire::rounded(*alpha)).zip(values).collect();
        let current = (wire::rounded(now), current.scores.column(0));
        let alpha = Tried::new("retrieve.alpha", BEST_FIRST.to_string(), current, others, false);
        // A question that was made shares its words with its answer: that words do better with it says nothing.
        tried.push(if made.is_some() { alpha.upwards() } else { alpha });
    } else {
        set.warnings.push("one leg alone, or another fusion than `blend`: no weight was tried".to_owned());
    }
    let trial = chunks::Trial { measuring: &measuring, snapshot: &snapshot, set: &set, made: made.as_ref() };
    match chunks::sizes(&args.chunk_tokens, config, snapshot.stats()?.chunks) {
        Ok(sizes) => tried.extend(trial.run(&sizes, collection, embedder)?.map_err(|why| set.warnings.push(why)).ok()),
        Err(why) => set.warnings.push(why),
    }
    finish(context, &args, &set, made.as_ref(), &tried)
}

/// How many results are worth having.
fn results(current: &Measured, now: usize) -> Tried {
    let recall = |k: usize| {
        let at = current.scores.metrics.iter().position(|metric| *metric == Metric::Recall(k)).unwrap_or(0);
        current.scores.column(at)
    };
    let others = KS.into_iter().filter(|k| *k != now).map(|k| (k as f64, recall(k))).collect();
    Tried::new("retrieve.k", "recall@k".to_owned(), (now as f64, recall(now)), others, true)
}

fn finish(context: &Context, args: &Args, set: &Set, made: Option<&MadeSet>, tried: &[Tried]) -> Result<u8, Failure> {
    let proposals: Vec<(&str, f64)> = tried.iter().filter_map(|one| Some((one.key, one.proposal()?))).collect();
    let path = context.place.dir.join(INDEX_FILE);
    let written = (args.write && !proposals.is_empty()).then(|| path.display().to_string());
    if written.is_some() {
        settings_file::set(&path, &proposals)?;
    }
    let kinds = made.map(|made| auto::kinds(&made.made));
    let result = wire::TuneResult {
        schema: "rag.tune/1".into(),
        queries: set.questions.len(),
        made: kinds.map(|kinds| wire::EvalMade::new(args.make.seed, kinds)),
        settings: tried.iter().map(Tried::wire).collect(),
        written,
        warnings: set.warnings.clone(),
    };
    result.warnings.iter().for_each(|warning| context.screen.note(warning));
    if context.screen.json {
        context.screen.print_json(&result)?;
    } else {
        context.screen.print(&output::eval::tuned(&context.screen, &result))?;
    }
    Ok(exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_value_that_made_questions_cannot_speak_for_is_named() {
        let ones = |count: usize| (0..100).map(|at| if at < count { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
        let others = vec![(0.3, ones(90)), (0.2, ones(95)), (0.7, ones(50))];
        let tried = |others| Tried::new("retrieve.alpha", "ndcg@10".into(), (0.5, ones(50)), others, false);
        assert_eq!(tried(others.clone()).proposal(), Some(0.2));
        let made = tried(others).upwards();
        assert_eq!((made.proposal(), made.discarded.clone()), (None, vec![0.2, 0.3]));
        assert_eq!(made.wire().discarded, [0.2, 0.3]);
        let greater = tried(vec![(0.7, ones(90)), (0.2, ones(95))]).upwards();
        assert_eq!((greater.proposal(), greater.discarded), (Some(0.7), vec![0.2]));
        assert!(tried(vec![(0.2, ones(50))]).upwards().discarded.is_empty());
    }
}
