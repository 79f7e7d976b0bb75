//! `rag eval`: how good retrieval is, measured on questions with judgements, and how good answers are.

mod answers;
pub mod bench;
pub mod files;
mod made;
pub mod matrix;
pub mod measure;
pub mod set;
mod there;

use std::{
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

use rag::{
    retrieve::{
        Mode,
        eval::{self, DEFAULT_METRICS, Estimate, Metric, Scores, answers::Measure, compare, estimate},
    },
    serve::wire,
    types::{Cancel, Kind},
};

pub use self::made::{MadeSet, MakeArgs};
use self::{
    matrix::MatrixArgs,
    measure::{Measured, Measuring},
    set::Set,
};
use super::{Context, ingest::EmbedArgs};
use crate::cli::{args::collection, config::Config, exit, output, report::Failure, signals};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure on this collection in BEIR's layout: corpus.jsonl (or .gz, or a folder corpus), queries.jsonl, qrels.tsv or
    /// qrels/test.tsv. Without it, on the index there is
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Take the documents from this file or folder
    #[arg(long, value_name = "PATH", requires = "dir")]
    corpus: Option<PathBuf>,
    /// Ask these questions: JSON lines with `_id` and `text`
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Judge by these: query, document and grade between tabs, or TREC's four columns
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// Measure on questions made from the documents of the index: headings, definitions, names, gaps
    #[arg(long, conflicts_with_all = ["dir", "queries", "qrels", "compare"])]
    auto: bool,
    #[command(flatten)]
    make: MakeArgs,
    /// Keep the made questions in this folder, in BEIR's layout, each chunk a document
    #[arg(long, value_name = "DIR", requires = "auto")]
    write: Option<PathBuf>,
    #[command(flatten)]
    matrix: MatrixArgs,
    /// Search this collection of the index only
    #[arg(long, value_name = "NAME", value_parser = collection, conflicts_with = "dir")]
    collection: Option<String>,
    /// Measure these: `ndcg@K`, `recall@K`, `mrr@K`, `map`
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = metric)]
    metrics: Vec<Metric>,
    /// Measure answers: ask the questions of this file, JSON lines with `id`, `question`, `kind` (direct, paraphrased,
    /// unanswerable) and `gold` of `path` and `text` [default: DIR/answers.jsonl]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["queries", "qrels", "auto", "metrics", "run_out", "compare"])]
    answers: Option<Option<PathBuf>>,
    /// Measure the answers without a model
    #[arg(long, requires = "answers")]
    extractive: bool,
    /// Exit with 1 where a metric is lower: `ndcg@10=0.40`, with --answers `span@answer=0.85` (can be repeated). Every
    /// configuration that the flags list has to reach it; of the legs that --auto sets beside each other the settings' own
    #[arg(long, value_name = "METRIC=MEAN")]
    fail_under: Vec<AnyBar>,
    /// Write what was found as a TREC run; with several configurations one file each, numbered
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    run_out: Option<PathBuf>,
    /// Compare with this saved run, or two saved runs with each other
    #[arg(long, value_name = "RUN", num_args = 1..=2)]
    compare: Vec<PathBuf>,
    /// Give the values of each question too (with --json)
    #[arg(long)]
    per_query: bool,
    /// Ask so many questions at once [default: one a core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    #[command(flatten)]
    embed: EmbedArgs,
}

/// A made question has one answer.
const AUTO_METRICS: [Metric; 5] =
    [Metric::Recall(1), Metric::Recall(5), Metric::Recall(10), Metric::Mrr(10), Metric::Ndcg(10)];

/// A mean that is not to be missed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bar<M = Metric> {
    metric: M,
    at_least: f64,
}

/// A bar for retrieval, or one for answers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum AnyBar {
    Retrieval(Bar),
    Answers(Bar<Measure>),
}

impl FromStr for AnyBar {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('=').ok_or("write METRIC=MEAN, as in `ndcg@10=0.40`")?;
        let at_least = number.trim().parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
        let at_least = at_least.ok_or("a number from 0 to 1 is wanted");
        match name.parse() {
            Ok(Measure::FalseAbstention) => {
                Err("`false-abstention` is the better the lower it is; write `answered=` with the rest to 1".to_owned())
            }
            Ok(metric) => Ok(Self::Answers(Bar { metric, at_least: at_least? })),
            Err(_) => Ok(Self::Retrieval(Bar { metric: metric(name)?, at_least: at_least? })),
        }
    }
}

impl Args {
    /// The bars for retrieval. Errors: one is for answers.
    fn bars(&self) -> Result<Vec<Bar>, Failure> {
        let bar = |bar: &AnyBar| match bar {
            AnyBar::Retrieval(bar) => Ok(*bar),
            AnyBar::Answers(Bar { metric, .. }) => Err(Failure::usage(format!("`{metric}` is measured of answers"))
                .hint("name questions with `--answers FILE`")),
        };
        self.fail_under.iter().map(bar).collect()
    }
}

/// A metric that can be measured: nobody looks deeper than a query goes.
fn metric(text: &str) -> Result<Metric, String> {
    let metric: Metric = text.parse().map_err(|error: eval::NoMetric| error.to_string())?;
    match metric.cutoff() {
        Some(k) if k > rag::retrieve::MAX_K => Err(format!("at most the first {} are looked at", rag::retrieve::MAX_K)),
        Some(_) | None => Ok(metric),
    }
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(file) = &args.answers {
        if context.remote.is_some() {
            return Err(Failure::usage("answers are measured on an index here, not on a server's")
                .hint("leave out `--remote`, or run it on the server's machine"));
        }
        return answers::run(context, &args, file.as_deref());
    }
    let wanted = args.bars()?;
    let mut metrics = match &args.metrics[..] {
        [] if args.auto => AUTO_METRICS.to_vec(),
        [] => DEFAULT_METRICS.to_vec(),
        metrics => metrics.to_vec(),
    };
    for metric in wanted.iter().map(|bar| bar.metric).chain(args.metrics.iter().copied()) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    if let [first, second] = &args.compare[..] {
        return saved(context, &args, &metrics, &wanted, [first, second]);
    }
    if let Some(remote) = &context.remote {
        return print(context, &there::measured(remote, &args, &metrics, &wanted)?);
    }
    let saved = args.compare.first().map(|path| files::run(path).map(|run| (path, run))).transpose()?;
    let dir = args.dir.as_deref();
    if dir.is_none() && args.matrix.cuts_anew() {
        return Err(Failure::usage("the index is cut into chunks already")
            .hint("chunk sizes are measured on a collection: `rag eval DIR --chunk-tokens 160,200`"));
    }
    let (mut set, made) = match args.auto {
        true => made(context, &args).map(|(set, made)| (set, Some(made)))?,
        false => (Set::read(dir, args.queries.as_deref(), args.qrels.as_deref())?, None),
    };
    let corpus = dir.map(|dir| files::corpus(dir, args.corpus.as_deref())).transpose()?;

    // An index that is not asked has no say.
    let own = match &corpus {
        Some(_) if !context.place.is_named => Some(Config::load(None)?),
        Some(_) | None => None,
    };
    let config = own.as_ref().unwrap_or(&context.config);
    let cancel = Cancel::default();
    signals::watch(&cancel).map_err(|error| Failure::new(Kind::Io, format!("cannot watch signals: {error}")))?;
    let measuring = Measuring {
        context,
        config,
        metrics: &metrics,
        ways: match &made {
            Some(made) => {
                args.matrix.clone().legs(made.has_vectors, config).ways(config, args.collection.as_deref())?
            }
            None => args.matrix.ways(config, args.collection.as_deref())?,
        },
        jobs: args.jobs.map(usize::from).or(std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1),
        cancel: &cancel,
    };
    let measured = match &corpus {
        Some(corpus) => measuring.collection(corpus, &args.matrix.cuts(config)?, &args.embed, &mut set)?,
        None => measuring.index(&mut set)?,
    };
    if let Some(path) = &args.run_out {
        write_runs(path, &measured)?;
    }
    let comparison = saved.map(|(path, run)| {
        let old = eval::score(&set.qrels, &run, &metrics);
        compared((path.display().to_string(), &old), (measured[0].configuration.label(), &measured[0].scores))
    });
    let mut result = report(&args, &metrics, &wanted, &set, &measured, comparison);
    if let Some(made) = made {
        result.made = Some(wire::EvalMade::new(args.make.seed, made.kinds));
        if is_for_words(&measured) {
            result.warnings.push(FOR_WORDS.to_owned());
        }
    }
    print(context, &result)
}

/// Said where made questions set words beside meaning.
const FOR_WORDS: &str = "questions made from the documents repeat their words, so that they favour `lexical` over what \
                         people ask; your own questions tell more: `--queries` and `--qrels`";

/// Whether words alone stand beside another way to search.
fn is_for_words(measured: &[Measured]) -> bool {
    let is_lexical = |one: &Measured| one.configuration.query.mode == Mode::Lexical;
    measured.iter().any(is_lexical) && !measured.iter().all(is_lexical)
}

/// What is said of questions that were made.
struct MadeOf {
    kinds: std::collections::BTreeMap<&'static str, usize>,
    has_vectors: bool,
}

fn made(context: &Context, args: &Args) -> Result<(Set, MadeOf), Failure> {
    let snapshot = context.place.open()?.snapshot()?;
    let made = MadeSet::new(&snapshot, args.collection.as_deref(), &args.make)?;
    let set = made.set()?;
    if let Some(dir) = &args.write {
        made.write(dir, &set)?;
    }
    Ok((set, MadeOf { kinds: eval::auto::kinds(&made.made), has_vectors: snapshot.space().is_some() }))
}

/// Compares two runs that were saved: nothing is searched.
fn saved(
    context: &Context,
    args: &Args,
    metrics: &[Metric],
    wanted: &[Bar],
    [first, second]: [&Path; 2],
) -> Result<u8, Failure> {
    let qrels = files::qrels(args.dir.as_deref(), args.qrels.as_deref())?;
    let scores = |path: &Path| -> Result<Scores, Failure> { Ok(eval::score(&qrels, &files::run(path)?, metrics)) };
    let (old, new) = (scores(first)?, scores(second)?);
    if old.queries.is_empty() {
        return Err(Failure::usage("no question has a relevant document"));
    }
    let shown = |path: &Path| path.display().to_string();
    let comparison = compared((shown(first), &old), (shown(second), &new));
    let means: Vec<(Metric, f64)> =
        comparison.second_metrics.0.iter().map(|(metric, value)| (*metric, value.mean)).collect();
    let result = wire::EvalResult {
        schema: "rag.eval/1".into(),
        collection: args.dir.as_deref().map(shown),
        queries: old.queries.len(),
        documents: None,
        made: None,
        metrics: comparison.second_metrics.clone(),
        configurations: Vec::new(),
        comparison: Some(comparison),
        bars: bars(wanted, &[means]),
        warnings: Vec::new(),
    };
    print(context, &result)
}

fn report(
    args: &Args,
    metrics: &[Metric],
    wanted: &[Bar],
    set: &Set,
    measured: &[Measured],
    comparison: Option<wire::EvalComparison>,
) -> wire::EvalResult {
    let estimates: Vec<Vec<Estimate>> = measured.iter().map(|measured| estimate(&measured.scores.values)).collect();
    let means: Vec<Vec<(Metric, f64)>> = estimates
        .iter()
        .map(|row| metrics.iter().copied().zip(row.iter().map(|estimate| estimate.mean)).collect())
        .collect();
    let configurations = measured.iter().zip(&estimates).enumerate().map(|(at, (one, estimates))| wire::EvalMeasured {
        configuration: one.configuration.wire(),
        metrics: wire::EvalMetrics::new(metrics, estimates.iter().copied()),
        chunks: one.chunks,
        seconds: wire::EvalSeconds {
            ingest: wire::rounded64(one.ingest_seconds),
            queries: wire::rounded64(one.query_seconds),
        },
        against_first: (at > 0).then(|| differences(&measured[0].scores, &one.scores)),
        per_query: args.per_query.then(|| per_query(one)),
    });
    wire::EvalResult {
        schema: "rag.eval/1".into(),
        collection: args.dir.as_ref().map(|dir| dir.display().to_string()),
        queries: measured[0].scores.queries.len(),
        documents: Some(measured[0].documents),
        made: None,
        metrics: wire::EvalMetrics::new(metrics, estimates[0].iter().copied()),
        configurations: configurations.collect(),
        comparison,
        bars: bars(wanted, &means[..judged(args, measured)]),
        warnings: set.warnings.clone(),
    }
}

fn per_query(one: &Measured) -> Vec<wire::EvalQuery> {
    let query = |(id, values): (&String, &Vec<f64>)| {
        let answers = one.run.by_query.get(id);
        wire::EvalQuery {
            id: id.clone(),
            relevance: answers.and_then(|answers| answers.relevance).map(wire::rounded),
            found: answers.map_or(0, |answers| answers.ranking.len()),
            metrics: wire::EvalValues::new(&one.scores.metrics, values.iter().map(|value| wire::rounded64(*value))),
        }
    };
    one.scores.queries.iter().zip(&one.scores.values).map(query).collect()
}

fn differences(old: &Scores, new: &Scores) -> wire::EvalDifferences {
    let columns = (0..old.metrics.len()).map(|at| compare(&old.column(at), &new.column(at)));
    wire::EvalDifferences::new(&old.metrics, columns)
}

fn compared((first, old): (String, &Scores), (second, new): (String, &Scores)) -> wire::EvalComparison {
    wire::EvalComparison {
        first,
        second,
        first_metrics: wire::EvalMetrics::new(&old.metrics, estimate(&old.values)),
        second_metrics: wire::EvalMetrics::new(&new.metrics, estimate(&new.values)),
        differences: differences(old, new),
    }
}

/// How many configurations, from the first, the bars are for: all that the flags list, but not the legs that nobody
/// asked for.
fn judged(args: &Args, measured: &[Measured]) -> usize {
    if !args.auto || args.matrix.names_modes() {
        return measured.len();
    }
    let mode = |one: &Measured| one.configuration.query.mode;
    measured.iter().take_while(|one| mode(one) == mode(&measured[0])).count()
}

/// Every configuration has to reach every bar.
fn bars(wanted: &[Bar], means: &[Vec<(Metric, f64)>]) -> Vec<wire::EvalBar> {
    let bar = |bar: &Bar| {
        let means = means.iter().flatten().filter(|(metric, _)| *metric == bar.metric).map(|(_, mean)| *mean);
        let mean = means.fold(f64::INFINITY, f64::min);
        let (metric, met) = (bar.metric.to_string(), mean >= bar.at_least);
        wire::EvalBar { metric, at_least: bar.at_least, mean: wire::rounded64(mean), met }
    };
    wanted.iter().map(bar).collect()
}

fn write_runs(path: &Path, measured: &[Measured]) -> Result<(), Failure> {
    for (one, number) in measured.iter().zip(1..) {
        let path = if measured.len() == 1 { path.to_path_buf() } else { numbered(path, number) };
        fs::write(&path, one.run.to_trec(&one.configuration.tag()))
            .map_err(|error| Failure::new(Kind::Io, format!("cannot write `{}`: {error}", path.display())))?;
    }
    Ok(())
}

/// `run.trec` → `run-2.trec`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let stem = part(path.file_stem()).unwrap_or_default();
    let extension = part(path.extension()).map_or_else(String::new, |extension| format!(".{extension}"));
    path.with_file_name(format!("{stem}-{number}{extension}"))
}

fn print(context: &Context, result: &wire::EvalResult) -> Result<u8, Failure> {
    for warning in &result.warnings {
        context.screen.note(warning);
    }
    if context.screen.json {
        context.screen.print_json(result)?;
    } else {
        context.screen.print(&output::eval::text(&context.screen, result))?;
    }
    Ok(if result.bars.iter().all(|bar| bar.met) { exit::OK } else { exit::NO })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_read() {
        let bar = |metric, at_least| Ok(AnyBar::Retrieval(Bar { metric, at_least }));
        assert_eq!("ndcg@10=0.40".parse(), bar(Metric::Ndcg(10), 0.4));
        assert_eq!("MAP = 1".parse(), bar(Metric::Map, 1.0));
        for text in
            ["ndcg@10", "ndcg@10=", "ndcg@10=1.1", "ndcg@10=-0.1", "ndcg@10=NaN", "speed=0.5", "recall@2000=0.1"]
        {
            assert!(text.parse::<AnyBar>().is_err(), "{text}");
        }
        let span = AnyBar::Answers(Bar { metric: Measure::SpanAtAnswer, at_least: 0.85 });
        assert_eq!("span@answer=0.85".parse(), Ok(span));
        let lower = "false-abstention=0.1".parse::<AnyBar>().unwrap_err();
        assert!(lower.contains("`answered="), "{lower}");
    }

    #[test]
    fn the_least_of_all_configurations_counts() {
        let means =
            [vec![(Metric::Map, 0.5), (Metric::Ndcg(10), 0.9)], vec![(Metric::Map, 0.3), (Metric::Ndcg(10), 0.8)]];
        let wanted = [Bar { metric: Metric::Map, at_least: 0.3 }, Bar { metric: Metric::Ndcg(10), at_least: 0.85 }];
        let got: Vec<_> = bars(&wanted, &means).iter().map(|bar| (bar.mean, bar.met)).collect();
        assert_eq!(got, [(0.3, true), (0.8, false)]);
    }

    #[test]
    fn files_are_numbered() {
        for (path, want) in [("a/run.trec", "a/run-2.trec"), ("run", "run-2"), ("x.tar.gz", "x.tar-2.gz")] {
            assert_eq!(numbered(Path::new(path), 2), Path::new(want));
        }
    }
}
