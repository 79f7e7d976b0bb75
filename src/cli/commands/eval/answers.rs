//! `rag eval --answers`: questions whose answers are known, asked as `rag ask` asks them.

use std::{collections::HashMap, path::Path, time::Instant};

use rag::{
    index::Snapshot,
    model::{Embedder, remember::Remembering},
    retrieve::{
        Answer, Ask, Query,
        eval::{
            self, Answering,
            answers::{Kind, MEASURES, Measure, Question, Score, estimates},
        },
    },
    serve::wire,
    types::{Cancel, Kind as Failed, SourceId},
};

use super::{
    AnyBar, Args, Bar,
    bench::{Bench, interrupted},
    files,
    matrix::{Configuration, Cut},
};
use crate::cli::{
    backend::LlmFlags,
    commands::{Context, ask, show},
    config::Config,
    exit, output,
    output::{count, progress::Steps},
    report::Failure,
    signals,
};

/// Questions that are named in a warning.
const NAMED: usize = 5;

pub fn run(context: &Context, args: &Args, file: Option<&Path>) -> Result<u8, Failure> {
    let wanted = bars(&args.fail_under)?;
    let dir = args.dir.as_deref();
    if dir.is_none() && args.matrix.cuts_anew() {
        return Err(Failure::usage("the index is cut into chunks already")
            .hint("chunk sizes are measured on a collection: `rag eval DIR --answers --chunk-tokens 160`"));
    }
    let (file, questions) = files::answers(dir, file)?;
    let corpus = dir.map(|dir| files::corpus(dir, args.corpus.as_deref())).transpose()?;
    // An index that is not asked has no say.
    let own = match &corpus {
        Some(_) if !context.place.is_named => Some(Config::load(None)?),
        Some(_) | None => None,
    };
    let config = own.as_ref().unwrap_or(&context.config);
    let config = &config.for_model(None);
    let (query, cuts) = (only(args.matrix.ways(config, args.collection.as_deref())?)?, args.matrix.cuts(config)?);
    let cancel = Cancel::default();
    signals::watch(&cancel).map_err(|error| Failure::new(Failed::Io, format!("cannot watch signals: {error}")))?;
    let round = Round { context, config, args, query, cancel: &cancel };
    let mut asked = match &corpus {
        Some(corpus) => {
            let cut = only(cuts)?;
            let kept = context.place.is_named.then_some(context.place.dir.as_path());
            let bench = Bench::new(context, config, corpus, kept, false)?.with_embedder_of(&args.embed, &cancel)?;
            let filled = bench.fill(cut, bench.model(), &cancel)?;
            let asked = round.ask(&filled.snapshot, bench.model(), &questions, &filled.names)?;
            Asked { ingest_seconds: filled.seconds, cut: Some(cut), ..asked }
        }
        None => {
            let snapshot = context.place.open()?.snapshot()?;
            let embedder = context.place.queries_embedder(config, &snapshot, round.query.mode, true)?;
            round.ask(&snapshot, embedder.as_deref(), &questions, &HashMap::new())?
        }
    };
    let result = report(args, &file, &questions, &mut asked, &wanted);
    for warning in &result.warnings {
        context.screen.note(warning);
    }
    match context.screen.json {
        true => context.screen.print_json(&result)?,
        false => context.screen.print(&output::answers::text(&context.screen, &result))?,
    }
    Ok(if result.bars.iter().all(|bar| bar.met) { exit::OK } else { exit::NO })
}

/// The bars for answers. Errors: one is for retrieval.
fn bars(wanted: &[AnyBar]) -> Result<Vec<Bar<Measure>>, Failure> {
    let bar = |bar: &AnyBar| match bar {
        AnyBar::Answers(bar) => Ok(*bar),
        AnyBar::Retrieval(Bar { metric, .. }) => {
            Err(Failure::usage(format!("`{metric}` is measured of retrieval, not of answers"))
                .hint("with `--answers` there are span@answer, citation-precision, abstention and others"))
        }
    };
    wanted.iter().map(bar).collect()
}

/// Answers take their time: one configuration a run.
fn only<T>(mut all: Vec<T>) -> Result<T, Failure> {
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(Failure::usage("answers are measured in one configuration a run").hint("give each flag one value")),
    }
}

/// How everything is asked.
struct Round<'a> {
    context: &'a Context,
    config: &'a Config,
    args: &'a Args,
    query: Query,
    cancel: &'a Cancel,
}

/// What came of it.
struct Asked {
    query: Query,
    cut: Option<Cut>,
    model: Option<String>,
    answers: Vec<Answer>,
    documents: usize,
    chunks: u64,
    ingest_seconds: f64,
    query_seconds: f64,
    warnings: Vec<String>,
}

impl Round<'_> {
    /// `names`: what the collection calls its documents, where that is not their path.
    fn ask(
        &self,
        snapshot: &Snapshot,
        embedder: Option<&dyn Embedder>,
        questions: &[Question],
        names: &HashMap<SourceId, String>,
    ) -> Result<Asked, Failure> {
        let chat = match self.args.extractive {
            true => None,
            false => self.context.place.chat(self.config, &LlmFlags::default())?,
        };
        let settings = ask::configured(self.config)?;
        let query = Query { k: settings.query.k, ..self.query.clone() };
        let ask = Ask { query, stream: false, ..settings };
        let remembering = embedder.map(|embedder| Remembering::new(embedder, None)).transpose()?;
        let embedder = remembering.as_ref().map(|embedder| embedder as &dyn Embedder);
        // A model at an endpoint may be somebody's who pays for it: one question at a time unless told otherwise.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.args.jobs.map_or(if chat.is_some() { 1 } else { cores }, usize::from);
        let steps = Steps::new(&self.context.screen, "asking", questions.len() as u64);
        let told = || steps.step();
        let (chat, cancel) = (chat.as_deref(), self.cancel);
        let answering = Answering { snapshot, embedder, chat, ask: &ask, threads, told: &told, cancel };
        let begun = Instant::now();
        let answers = eval::answer(&answering, questions);
        steps.finish();
        let mut answers = answers?.ok_or_else(interrupted)?;
        for source in answers.iter_mut().flat_map(|answer| &mut answer.sources) {
            if let Some(name) = names.get(&source.source) {
                source.path.clone_from(name);
            }
        }
        Ok(Asked {
            query: self.query.clone(),
            cut: None,
            model: chat.map(|chat| chat.model().to_owned()),
            answers,
            documents: snapshot.sources(self.args.collection.as_deref())?.len(),
            chunks: snapshot.stats()?.chunks,
            ingest_seconds: 0.0,
            query_seconds: begun.elapsed().as_secs_f64(),
            warnings: stale(snapshot, questions, names)?,
        })
    }
}

/// Says which questions expect what the documents do not hold, as when they were changed since.
fn stale(
    snapshot: &Snapshot,
    questions: &[Question],
    names: &HashMap<SourceId, String>,
) -> Result<Vec<String>, Failure> {
    let name = |id: SourceId, path: String| names.get(&id).cloned().unwrap_or(path);
    let sources = snapshot.sources(None)?.into_iter();
    let sources: Vec<(SourceId, String)> =
        sources.map(|source| (source.id, name(source.id, source.display_path()))).collect();
    let mut texts: HashMap<SourceId, String> = HashMap::new();
    let mut absent: Vec<&str> = Vec::new();
    for question in questions {
        for gold in &question.gold {
            let mut found = false;
            for (id, _) in sources.iter().filter(|(_, name)| gold.is_of(name)) {
                if !texts.contains_key(id) {
                    let chunks: Vec<wire::Chunk> = snapshot.chunks_of(*id)?.iter().map(wire::Chunk::from).collect();
                    texts.insert(*id, show::stored(&chunks));
                }
                found |= texts.get(id).is_some_and(|text| gold.is_in(text));
            }
            if !found && absent.last() != Some(&question.id.as_str()) {
                absent.push(&question.id);
            }
        }
    }
    if absent.is_empty() {
        return Ok(Vec::new());
    }
    let mut named = absent[..absent.len().min(NAMED)].join(", ");
    if absent.len() > NAMED {
        named.push_str(", …");
    }
    let number = count(absent.len() as u64, "question");
    Ok(vec![format!("gold that is not in the documents as they are indexed: {number} ({named})")])
}

fn report(
    args: &Args,
    file: &Path,
    questions: &[Question],
    asked: &mut Asked,
    wanted: &[Bar<Measure>],
) -> wire::AnswersResult {
    let scores: Vec<Score> =
        questions.iter().zip(&asked.answers).map(|(question, answer)| Score::of(question, answer)).collect();
    let of = |kind: Option<Kind>| {
        let scores: Vec<Score> = questions
            .iter()
            .zip(&scores)
            .filter(|(question, _)| kind.is_none_or(|kind| kind == question.kind))
            .map(|(_, score)| *score)
            .collect();
        (scores.len(), wire::ByMeasure::new(&MEASURES, estimates(&scores, &MEASURES)))
    };
    let (_, metrics) = of(None);
    let kinds = [Kind::Direct, Kind::Paraphrased, Kind::Unanswerable].map(|kind| (kind, of(Some(kind))));
    let kinds = kinds.into_iter().filter(|(_, (questions, _))| *questions > 0);
    let kinds = kinds.map(|(kind, (questions, metrics))| wire::AnswersKind { kind, questions, metrics }).collect();
    let mut warnings = std::mem::take(&mut asked.warnings);
    let bar = |bar: &Bar<Measure>| {
        let Some(value) = metrics.get(bar.metric) else {
            warnings.push(format!("there was nothing to measure for `{}`", bar.metric));
            let (metric, at_least) = (bar.metric.to_string(), bar.at_least);
            return wire::EvalBar { metric, at_least, mean: 0.0, met: false };
        };
        let (metric, at_least) = (bar.metric.to_string(), bar.at_least);
        wire::EvalBar { metric, at_least, mean: value.mean, met: value.mean >= at_least }
    };
    let bars = wanted.iter().map(bar).collect();
    let each = questions.iter().zip(&asked.answers).zip(&scores);
    let each = each.map(|((question, answer), score)| wire::AnsweredQuestion::new(question, answer, score)).collect();
    let configuration = Configuration { cut: asked.cut, query: asked.query.clone() };
    wire::AnswersResult {
        schema: "rag.eval-answers/1",
        file: file.display().to_string(),
        collection: args.dir.as_ref().map(|dir| dir.display().to_string()),
        by: wire::AnswersBy { extractive: asked.model.is_none(), model: asked.model.take() },
        configuration: configuration.wire(),
        documents: asked.documents,
        chunks: asked.chunks,
        metrics,
        kinds,
        bars,
        seconds: wire::EvalSeconds {
            ingest: wire::rounded64(asked.ingest_seconds),
            queries: wire::rounded64(asked.query_seconds),
        },
        questions: each,
        warnings,
    }
}
