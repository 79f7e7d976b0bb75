//! `POST /v1/eval`: questions with judgements, asked of the index that is served.

use std::{collections::HashSet, sync::Arc, time::Instant};

use axum::{body::Body, extract::State as Given, http::Response};

use super::{
    body::Json,
    failure::{Failure, Result},
    guard::Caller,
    house::House,
    keys::Scope,
    requests, scope,
    search::json,
    state::{State, Work},
};
use crate::{
    index::{ChunkRecord, Snapshot, SourceRecord},
    model::Embedder,
    retrieve::{
        MAX_K, Mode, Query,
        eval::{self, Asking, DEFAULT_METRICS, DEPTH, Metric, Names, Qrels, Question, estimate},
    },
    serve::{api::EvalRequest, wire},
    types::ChunkId,
};

/// Questions of one request.
const MAX_QUESTIONS: usize = 50_000;

/// `POST /v1/eval`
pub async fn eval(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<EvalRequest>,
) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    let house = state.house(&caller)?;
    if request.queries.len() > MAX_QUESTIONS {
        return Err(Failure::usage(format!("more than {MAX_QUESTIONS} questions")));
    }
    let (own, who) = (state.clone(), caller.clone());
    let result = state.work(&caller, Work::Answer, None, move || measured(&own, &who, &house, request));
    json(&result.await?)
}

/// What judgements judge.
enum Judged {
    /// Sources, by what the judgements call them; of so many.
    Sources(Names, usize),
    /// Chunks, by id; of so many documents.
    Chunks(usize),
}

impl Judged {
    fn name(&self, chunk: &ChunkRecord) -> Option<String> {
        match self {
            Self::Sources(names, _) => names.of.get(&chunk.source).cloned(),
            Self::Chunks(_) => Some(chunk.id.to_string()),
        }
    }
}

fn measured(state: &State, caller: &Caller, house: &Arc<House>, request: EvalRequest) -> Result<wire::EvalResult> {
    let snapshot = house.snapshot()?;
    let metrics = metrics(&request.metrics)?;
    let query = requests::searched(&state.options().query, request.search(), state.options())?;
    let query = state.narrowed(caller, &snapshot, query)?;
    let mut qrels = Qrels::default();
    for (question, judged) in &request.qrels {
        for (document, grade) in judged {
            let grade = i32::try_from(*grade).map_err(|_| Failure::usage(format!("`{grade}` is no grade")))?;
            qrels.judge(question, document, grade);
        }
    }
    let answerable: HashSet<&str> = qrels.answerable().collect();
    let asked = request.queries.into_iter().filter(|question| answerable.contains(question.id.as_str()));
    let questions: Vec<Question> = asked.map(|question| Question { id: question.id, text: question.text }).collect();
    if questions.is_empty() {
        return Err(Failure::usage("nothing to measure: no question has both a text and a relevant document")
            .hint("do the ids of queries and qrels agree, and is a document relevant?"));
    }
    let mut warnings = Vec::new();
    let judged = judged(caller, &snapshot, &qrels, query.collection.as_deref(), &mut warnings)?;
    let embedder = house.embedder(state, &snapshot, query.mode)?;
    let depth = metrics.iter().filter_map(|metric| metric.cutoff()).max().unwrap_or(0).max(DEPTH);
    let begun = Instant::now();
    let run = eval::ask(
        &Asking {
            snapshot: &snapshot,
            embedder: embedder.as_deref().map(|embedder| embedder as &dyn Embedder),
            query: &query,
            depth,
            // Whoever else searches meanwhile is to have a core.
            threads: std::thread::available_parallelism().map_or(1, |cores| usize::from(cores).div_ceil(2)),
            name: &|chunk| judged.name(chunk),
            by_chunk: matches!(judged, Judged::Chunks(_)),
            told: &|| (),
            cancel: &state.options().cancel,
        },
        &questions,
    )?;
    let run = run.ok_or_else(Failure::busy)?;
    let seconds = begun.elapsed().as_secs_f64();
    let scores = eval::score(&qrels, &run, &metrics);
    let estimates = estimate(&scores.values);
    let per_query = request.per_query.then(|| {
        let query = |(id, values): (&String, &Vec<f64>)| {
            let answers = run.by_query.get(id);
            wire::EvalQuery {
                id: id.clone(),
                relevance: answers.and_then(|answers| answers.relevance).map(wire::rounded),
                found: answers.map_or(0, |answers| answers.ranking.len()),
                metrics: wire::EvalValues::new(&metrics, values.iter().map(|value| wire::rounded64(*value))),
            }
        };
        scores.queries.iter().zip(&scores.values).map(query).collect()
    });
    let documents = match &judged {
        Judged::Sources(_, documents) | Judged::Chunks(documents) => *documents,
    };
    Ok(wire::EvalResult {
        schema: "rag.eval/1".into(),
        collection: None,
        queries: scores.queries.len(),
        documents: Some(documents),
        made: None,
        metrics: wire::EvalMetrics::new(&metrics, estimates.iter().copied()),
        configurations: vec![wire::EvalMeasured {
            configuration: configuration(&query),
            metrics: wire::EvalMetrics::new(&metrics, estimates.iter().copied()),
            chunks: seen_chunks(caller, &snapshot)?,
            seconds: wire::EvalSeconds { ingest: 0.0, queries: wire::rounded64(seconds) },
            against_first: None,
            per_query,
        }],
        comparison: None,
        bars: Vec::new(),
        warnings,
    })
}

fn metrics(names: &[String]) -> Result<Vec<Metric>> {
    if names.is_empty() {
        return Ok(DEFAULT_METRICS.to_vec());
    }
    let metric = |name: &String| {
        let metric: Metric = name.parse().map_err(|error: eval::NoMetric| Failure::usage(error.to_string()))?;
        match metric.cutoff() {
            Some(k) if k > MAX_K => Err(Failure::usage(format!("at most the first {MAX_K} are looked at"))),
            Some(_) | None => Ok(metric),
        }
    };
    names.iter().map(metric).collect()
}

/// Whom judgements name: chunks, if all of them have the form of a chunk's id and one of them is there.
fn judged(
    caller: &Caller,
    snapshot: &Snapshot,
    qrels: &Qrels,
    collection: Option<&str>,
    warnings: &mut Vec<String>,
) -> Result<Judged> {
    let mut sources = snapshot.sources(collection)?;
    scope::retain(caller, &mut sources);
    let ids: Option<Vec<ChunkId>> = qrels.documents().into_iter().map(|id| id.parse().ok()).collect();
    if let Some(ids) = ids {
        let mut found = snapshot.chunks(&ids)?;
        // One that the caller may not see is not there.
        found.iter_mut().for_each(|found| *found = found.take().filter(|chunk| caller.sees(&chunk.collection)));
        if found.iter().any(Option::is_some) {
            let absent: Vec<String> =
                ids.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(id, _)| id.to_string()).collect();
            check(&absent, qrels, warnings)?;
            return Ok(Judged::Chunks(sources.len()));
        }
    }
    let spelled = |source: &SourceRecord| (source.id, vec![source.display_path(), source.path.to_string()]);
    let spellings: Vec<_> = sources.iter().map(spelled).collect();
    let names = Names::new(&spellings, &qrels.documents());
    check(&names.unknown, qrels, warnings)?;
    if let Some(first) = names.ambiguous.first() {
        warnings.push(format!(
            "the name of several documents, which all count: {} judged ids (`{first}`)",
            names.ambiguous.len()
        ));
    }
    Ok(Judged::Sources(names, sources.len()))
}

/// How many chunks the caller may see.
fn seen_chunks(caller: &Caller, snapshot: &Snapshot) -> Result<u64> {
    let counted = snapshot.stats()?.by_collection;
    Ok(counted.iter().filter(|(name, _)| caller.sees(name)).map(|(_, collection)| collection.chunks).sum())
}

/// Takes note of judged documents that are not there. Errors: none of them is.
fn check(unknown: &[String], qrels: &Qrels, warnings: &mut Vec<String>) -> Result<()> {
    let judged = qrels.documents().len();
    let Some(first) = unknown.first() else { return Ok(()) };
    if unknown.len() == judged {
        return Err(Failure::usage(format!("none of the {judged} judged documents is there, `{first}` for one"))
            .hint("are these the judgements of these documents? documents are named by id or by path"));
    }
    let more = if unknown.len() > 1 { ", …" } else { "" };
    warnings.push(format!("judged but not there: {} of {judged} documents (`{first}`{more})", unknown.len()));
    Ok(())
}

fn configuration(query: &Query) -> wire::EvalConfiguration {
    let is_hybrid = query.mode == Mode::Hybrid;
    wire::EvalConfiguration {
        mode: wire::mode_word(query.mode).into(),
        fusion: is_hybrid.then(|| wire::fusion_word(query.fusion).into()),
        alpha: query.alpha.filter(|_| is_hybrid).map(wire::rounded),
        chunk_tokens: None,
        chunk_overlap: None,
    }
}
