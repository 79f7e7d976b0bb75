//! One query against one snapshot, from text to results.
//!
//! plan → allowed set → both legs at once → both scores of every candidate → one order → what to keep → what to show.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use super::{
    Error, Hits, Mode, Query, Result, Strength, Timings,
    fuse::Fused,
    hints::{near_miss, spelling, types},
    plan::{Plan, plan},
    ranking::{Coverage, Ranking, rank},
    relevance::{Calibration, Scale, strength},
    rerank::{self, Judged},
    search::{Dense, Legs},
    select::{Choice, Chosen, choose},
    show::Shown,
    subject::Subject,
};
use crate::{
    index::{Allowed, LexicalQuery, QuerySyntax, Snapshot, Work},
    model::Embedder,
    types::ChunkId,
};

/// How much deeper both legs go when copies and a cap for each source leave too few results.
const DEEPER: usize = 8;
/// No leg brings more candidates than this.
const MAX_DEPTH: usize = 8192;

/// Ranks the chunks of a snapshot for a query. `embedder` may be `None` for lexical mode, for an index without vectors, and
/// where the query is chunks of the index; whether it is the one that filled the index is the caller's to check.
///
/// Errors: `EmptyQuery`, `QueryTooLong`, `Filter`, `UnknownField`, `NoCollection`, `NoChunk`, `Options` (values out of range;
/// dense search without vectors or without an embedder), and those of the index and the models. Cost: one pass over the
/// vectors, the postings of the query's words, what `k` results take, and the reranker where one is asked for.
pub fn query(snapshot: &Snapshot, embedder: Option<&dyn Embedder>, query: &Query) -> Result<Hits> {
    let mut hits = match search(snapshot, embedder, query, None)? {
        Sought::Nothing { mode, notes } => nothing(snapshot, query, mode, notes),
        Sought::Ranked(searched) => shown(snapshot, query, *searched)?,
    };
    if hits.hits.is_empty() || hits.strength == Strength::Nothing {
        // What a condition kept out is compared with what it let in.
        let shown = if hits.hits.is_empty() { 0.0 } else { hits.relevance };
        hits.near_miss = near_miss(snapshot, embedder, query, shown)?;
    }
    Ok(hits)
}

/// What a search came to.
pub(super) enum Sought {
    /// No chunk may be seen.
    Nothing {
        mode: Mode,
        notes: Vec<String>,
    },
    Ranked(Box<Searched>),
}

/// Everything a search found out, before anything is made of it.
pub(super) struct Searched {
    pub mode: Mode,
    pub words: LexicalQuery,
    pub ranking: Ranking,
    pub judged: Judged,
    pub chosen: Chosen,
    /// How many candidates each leg was asked for.
    pub depth: usize,
    pub notes: Vec<String>,
    pub timings: Timings,
}

/// Searches and chooses. `depth`: candidates of each leg in place of the usual number.
pub(super) fn search(
    snapshot: &Snapshot,
    embedder: Option<&dyn Embedder>,
    query: &Query,
    depth: Option<usize>,
) -> Result<Sought> {
    let plan = plan(query)?;
    let subject = Subject::of(snapshot, query)?;
    if query.mmr.is_some() && snapshot.space().is_none() {
        return Err(Error::Options { what: "`mmr` compares vectors, and this index has none".into() });
    }
    let mut notes = Vec::new();
    let known = subject.known(snapshot);
    let (mode, dense) = settle(snapshot, embedder, &plan, &subject, known.as_deref(), &mut notes)?;
    let allowed = allowed(snapshot, query, &plan)?;
    // A chunk's text is not written in a query language.
    let syntax = if query.like.is_empty() { query.syntax } else { QuerySyntax::Plain };
    let words = snapshot.lexical_query(&subject.words, syntax)?;
    if words.is_empty() && mode != Mode::Dense {
        notes.push("no word of the query can be searched for".to_owned());
    }
    if allowed.as_ref().is_some_and(Allowed::is_empty) {
        notes.push("the filter allows no chunk".to_owned());
        if let Some(filter) = &plan.filter {
            notes.extend(types(snapshot, filter)?);
        }
        return Ok(Sought::Nothing { mode, notes });
    }

    let without: Vec<ChunkId> = query.like.iter().chain(&query.unlike).copied().collect();
    let legs = Legs {
        snapshot,
        words: (mode != Mode::Dense).then_some(&words),
        dense,
        allowed: allowed.as_ref(),
        effort: query.effort,
        without: &without,
    };
    let mut timings = Timings::default();
    let mut depth = depth.unwrap_or(plan.depth);
    let mut ranking = rank(&legs, &words, query, &plan, mode, depth, &mut timings)?;
    let begun = Instant::now();
    let mut judged = match &query.rerank {
        Some(by) => rerank::judge(snapshot, by, &subject.words, &ranking.fused, &mut notes)?,
        None => Judged::default(),
    };
    timings.rerank_ms = query.rerank.as_ref().map(|_| millis(begun.elapsed()));
    judged.reorder(&mut ranking.fused);
    let mut chosen = select(snapshot, query, &words, &ranking, &mut timings)?;
    // Copies and a cap for each source may leave few of the first candidates: look further while there may be more.
    while !chosen.passed.is_empty() && chosen.results.len() < plan.k && ranking.found.cut && depth < MAX_DEPTH {
        depth = (depth * DEEPER).min(MAX_DEPTH);
        let again = Legs { dense: ranking.found.vector.as_deref().map_or(Dense::Off, Dense::Known), ..legs };
        ranking = rank(&again, &words, query, &plan, mode, depth, &mut timings)?;
        judged.reorder(&mut ranking.fused);
        chosen = select(snapshot, query, &words, &ranking, &mut timings)?;
    }
    if chosen.lost > 0 {
        notes.push(format!(
            "{} chunks that were found are missing from the index; `rag verify` tells more",
            chosen.lost
        ));
    }
    if ranking.fused.is_empty() && snapshot.generation() == 0 {
        notes.push("nothing was ingested yet".to_owned());
    }
    if chosen.results.is_empty() && !ranking.fused.is_empty() && chosen.lost == 0 {
        notes.push("no result is as relevant as was asked for".to_owned());
    }
    if query.explain
        && matches!(ranking.scale, Scale { calibration: Calibration::Estimated { .. }, trust } if trust > 0.0)
    {
        notes.push("relevance is an estimate: it was calibrated with another embedding model".to_owned());
    }
    Ok(Sought::Ranked(Box::new(Searched { mode, words, ranking, judged, chosen, depth, notes, timings })))
}

/// What is shown of a search.
fn shown(snapshot: &Snapshot, query: &Query, searched: Searched) -> Result<Hits> {
    let Searched { mode, words, ranking, judged, chosen, mut notes, mut timings, .. } = searched;
    let begun = Instant::now();
    let coverage = Coverage::of(snapshot, &words, &ranking, &chosen.results)?;
    let relevance = ranking.relevance(&coverage);
    let shown = Shown { snapshot, query, words: &words, ranking: &ranking, judged: &judged, coverage: &coverage };
    let hits = shown.hits(chosen.results)?;
    if query.like.is_empty() {
        notes.extend(spelling(snapshot, &words)?);
    }
    timings.load_ms += millis(begun.elapsed());
    Ok(Hits {
        hits,
        relevance,
        strength: strength(relevance),
        mode,
        fusion: query.fusion,
        weight: ranking.weight,
        fertility: ranking.gate.fertility,
        code: ranking.gate.code,
        trust: ranking.gate.trust,
        generation: snapshot.generation(),
        candidates: ranking.fused.len(),
        work: ranking.found.work,
        effort: query.effort,
        near_miss: None,
        notes,
        timings,
    })
}

/// What can be searched: the mode asked for, or by words alone where there are no vectors. `known`: the query's vector, if
/// no text has to be encoded for it.
fn settle<'a>(
    snapshot: &Snapshot,
    embedder: Option<&'a dyn Embedder>,
    plan: &Plan,
    subject: &'a Subject<'_>,
    known: Option<&'a [f32]>,
    notes: &mut Vec<String>,
) -> Result<(Mode, Dense<'a>)> {
    match (plan.mode, snapshot.space()) {
        (Mode::Lexical, _) => Ok((Mode::Lexical, Dense::Off)),
        (Mode::Dense, None) => {
            Err(Error::Options { what: "this index has no vectors, so it cannot be searched by meaning alone".into() })
        }
        (Mode::Hybrid, None) => {
            notes.push("this index has no vectors: searched by words alone".to_owned());
            Ok((Mode::Lexical, Dense::Off))
        }
        (mode @ (Mode::Hybrid | Mode::Dense), Some(space)) => match (known, embedder) {
            (Some(vector), _) => Ok((mode, Dense::Known(vector))),
            (None, Some(embedder)) => {
                let text = if subject.text.is_empty() { &subject.words } else { subject.text };
                Ok((mode, Dense::Encode { embedder, text, lean: subject.lean.as_deref() }))
            }
            (None, None) => Err(Error::Options {
                what: format!("the model `{}` is needed to search this index other than by words", space.model),
            }),
        },
    }
}

/// The chunks the query may see; `None`: all. Errors: `NoCollection` with the names there are.
fn allowed(snapshot: &Snapshot, query: &Query, plan: &Plan) -> Result<Option<Allowed>> {
    let collection = query.collection.as_deref();
    if plan.filter.is_none() && collection.is_none() {
        return Ok(None);
    }
    let allowed = snapshot.allowed(plan.filter.as_ref(), collection)?;
    // Counting collections reads all sources, so it is done only where the answer may be "there is none".
    if let Some(name) = collection.filter(|_| allowed.is_empty()) {
        let collections = snapshot.stats()?.by_collection;
        if !collections.contains_key(name) {
            let known = collections.into_keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none yet".to_owned() } else { known };
            return Err(Error::NoCollection { name: name.to_owned(), known });
        }
    }
    Ok(Some(allowed))
}

fn nothing(snapshot: &Snapshot, query: &Query, mode: Mode, notes: Vec<String>) -> Hits {
    Hits {
        hits: Vec::new(),
        relevance: 0.0,
        strength: Strength::Nothing,
        mode,
        fusion: query.fusion,
        weight: 0.0,
        fertility: 0.0,
        code: 0.0,
        trust: 0.0,
        generation: snapshot.generation(),
        candidates: 0,
        work: Work::default(),
        effort: query.effort,
        near_miss: None,
        notes,
        timings: Timings::default(),
    }
}

/// What is kept of a ranking: results that are relevant enough, different enough, and not too many of one source.
fn select(
    snapshot: &Snapshot,
    query: &Query,
    words: &LexicalQuery,
    ranking: &Ranking,
    timings: &mut Timings,
) -> Result<Chosen> {
    let begun = Instant::now();
    let mut fused = Cow::Borrowed(&ranking.fused);
    if let Some(least) = query.min_score {
        let ids: Vec<ChunkId> = fused.iter().map(|fused| fused.candidate.id).collect();
        let coverage = snapshot.coverage(words, &ids)?;
        let relevant = |(fused, coverage): (&Fused, f32)| {
            (ranking.scale.relevance(fused.candidate.cosine, coverage) >= least).then_some(*fused)
        };
        fused = Cow::Owned(ranking.fused.iter().zip(coverage).filter_map(relevant).collect());
    }
    let choice = Choice { k: query.k, mmr: query.mmr, per_source: query.per_source, duplicates: query.duplicates };
    let chosen = choose(snapshot, &fused, choice)?;
    timings.load_ms += millis(begun.elapsed());
    Ok(chosen)
}

/// Milliseconds of a duration.
pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
pub(super) mod tests;
