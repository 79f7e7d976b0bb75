//! One query against one snapshot, from text to results.
//!
//! plan → allowed set → both legs at once → both scores of every candidate → one order → what to keep → what to show.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use super::{
    Error, Explain, Fusion, Hit, Hits, Mode, Query, Result, Strength, Timings,
    fuse::{self, Blend, Candidate, DENSE_WEIGHT, Fused, Gate},
    highlight,
    neighbours::neighbours,
    plan::{MAX_QUERY_BYTES, Plan, plan},
    relevance::{COVERAGE_OF, Calibration, Scale, strength},
    search::{self, Dense, Found, Legs},
    select::{Choice, Chosen, Selected, choose},
    snippet::snippet,
};
use crate::{
    index::{Allowed, LexicalQuery, QuerySyntax, Snapshot, Work},
    model::Embedder,
    types::{ChunkId, Score},
};

/// How much deeper both legs go when a cap for each source leaves too few results.
const DEEPER: usize = 8;
/// No leg brings more candidates than this.
const MAX_DEPTH: usize = 8192;

/// Ranks the chunks of a snapshot for a query. `embedder` may be `None` for lexical mode, for an index without vectors, and
/// where the query is a chunk of the index; whether it is the one that filled the index is the caller's to check.
///
/// Errors: `EmptyQuery`, `QueryTooLong`, `Filter`, `UnknownField`, `NoCollection`, `NoChunk`, `Options` (values out of range;
/// dense search without vectors or without an embedder), and those of the index and the model. Cost: one pass over the
/// vectors, the postings of the query's words, and what `k` results take.
pub fn query(snapshot: &Snapshot, embedder: Option<&dyn Embedder>, query: &Query) -> Result<Hits> {
    let plan = plan(query)?;
    let subject = Subject::of(snapshot, query)?;
    if query.mmr.is_some() && snapshot.space().is_none() {
        return Err(Error::Options { what: "`mmr` compares vectors, and this index has none".into() });
    }
    let mut notes = Vec::new();
    let (mode, dense) = settle(snapshot, embedder, &plan, &subject, &mut notes)?;
    let allowed = allowed(snapshot, query, &plan)?;
    // A chunk's text is not written in a query language.
    let syntax = if query.like.is_some() { QuerySyntax::Plain } else { query.syntax };
    let words = snapshot.lexical_query(&subject.text, syntax)?;
    if words.is_empty() && mode != Mode::Dense {
        notes.push("no word of the query can be searched for".to_owned());
    }
    if allowed.as_ref().is_some_and(Allowed::is_empty) {
        notes.push("the filter allows no chunk".to_owned());
        return Ok(nothing(snapshot, query, mode, notes));
    }

    let legs = Legs {
        snapshot,
        words: (mode != Mode::Dense).then_some(&words),
        dense,
        allowed: allowed.as_ref(),
        effort: query.effort,
        without: query.like,
    };
    let mut timings = Timings::default();
    let mut ranking = rank(&legs, &words, query, &plan, mode, plan.depth, &mut timings)?;
    let mut chosen = select(snapshot, query, &words, &ranking, &mut timings)?;
    // A cap for each source may leave few of the first candidates: look further while there may be more.
    let mut depth = plan.depth;
    while chosen.capped > 0 && chosen.results.len() < plan.k && ranking.found.cut && depth < MAX_DEPTH {
        depth = (depth * DEEPER).min(MAX_DEPTH);
        let again = Legs { dense: ranking.found.vector.as_deref().map_or(Dense::Off, Dense::Known), ..legs };
        ranking = rank(&again, &words, query, &plan, mode, depth, &mut timings)?;
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

    let begun = Instant::now();
    let coverage = Coverage::of(snapshot, &words, &ranking, &chosen.results)?;
    let relevance = ranking.relevance(&coverage);
    let shown = Shown { snapshot, query, words: &words, scale: ranking.scale, coverage: &coverage };
    let hits = shown.hits(chosen.results)?;
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
        generation: snapshot.generation(),
        candidates: ranking.fused.len(),
        work: ranking.found.work,
        effort: query.effort,
        notes,
        timings,
    })
}

/// What is searched for: a text, or a chunk's own text and vector.
struct Subject<'a> {
    text: Cow<'a, str>,
    vector: Option<Cow<'a, [f32]>>,
}

impl<'a> Subject<'a> {
    fn of(snapshot: &'a Snapshot, query: &'a Query) -> Result<Self> {
        let Some(id) = query.like else { return Ok(Self { text: query.text.as_str().into(), vector: None }) };
        let mut text = snapshot.chunk(id)?.ok_or(Error::NoChunk { id })?.text;
        text.truncate(text.floor_char_boundary(MAX_QUERY_BYTES));
        Ok(Self { text: text.into(), vector: snapshot.vector(id) })
    }
}

/// What can be searched: the mode asked for, or by words alone where there are no vectors.
fn settle<'a>(
    snapshot: &Snapshot,
    embedder: Option<&'a dyn Embedder>,
    plan: &Plan,
    subject: &'a Subject<'_>,
    notes: &mut Vec<String>,
) -> Result<(Mode, Dense<'a>)> {
    let like = subject.vector.is_some();
    match (plan.mode, snapshot.space()) {
        (Mode::Lexical, _) => Ok((Mode::Lexical, Dense::Off)),
        (Mode::Dense, None) => {
            Err(Error::Options { what: "this index has no vectors, so it cannot be searched by meaning alone".into() })
        }
        (Mode::Hybrid, None) => {
            notes.push("this index has no vectors: searched by words alone".to_owned());
            Ok((Mode::Lexical, Dense::Off))
        }
        (mode @ (Mode::Hybrid | Mode::Dense), Some(space)) => match (subject.vector.as_deref(), embedder) {
            (Some(vector), _) if like => Ok((mode, Dense::Known(vector))),
            (_, Some(embedder)) => Ok((mode, Dense::Encode { embedder, text: &subject.text })),
            (_, None) => Err(Error::Options {
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
        generation: snapshot.generation(),
        candidates: 0,
        work: Work::default(),
        effort: query.effort,
        notes,
        timings: Timings::default(),
    }
}

/// One order of all candidates, and what it rests on.
struct Ranking {
    found: Found,
    fused: Vec<Fused>,
    gate: Gate,
    weight: f32,
    scale: Scale,
}

fn rank(
    legs: &Legs<'_>,
    words: &LexicalQuery,
    query: &Query,
    plan: &Plan,
    mode: Mode,
    depth: usize,
    timings: &mut Timings,
) -> Result<Ranking> {
    let begun = Instant::now();
    let snapshot = legs.snapshot;
    let found = legs.run(depth)?;
    // Where words do not rank they are still worth a look if somebody asks why.
    let words = (mode != Mode::Dense || query.explain).then_some(words);
    let candidates = search::complete(snapshot, words, &found)?;
    let gate = search::look(snapshot, &found, plan.identifier)?;
    timings.encode_ms += millis(found.encoding);
    timings.search_ms += millis(begun.elapsed().saturating_sub(found.encoding));

    let begun = Instant::now();
    let zero = found.vector.as_deref().map_or(0.0, |vector| search::zero(snapshot, vector));
    let (fused, weight) = order(&candidates, query, mode, gate, zero);
    let scale = match snapshot.space() {
        Some(space) if mode != Mode::Lexical => {
            Scale { trust: gate.trust, calibration: Calibration::of(&space.model, zero) }
        }
        _ => Scale::WORDS,
    };
    timings.fuse_ms += millis(begun.elapsed());
    Ok(Ranking { found, fused, gate, weight, scale })
}

/// The fused list and the dense leg's weight in it.
fn order(candidates: &[Candidate], query: &Query, mode: Mode, gate: Gate, zero: Score) -> (Vec<Fused>, f32) {
    let alpha = query.alpha.unwrap_or(DENSE_WEIGHT);
    let blend = |weight: f32| (Blend { weight, zero }.fuse(candidates), weight);
    match (mode, query.fusion) {
        (Mode::Lexical, _) => blend(0.0),
        (Mode::Dense, _) => blend(1.0),
        (Mode::Hybrid, Fusion::Blend) => blend(fuse::weight(query.alpha, gate)),
        (Mode::Hybrid, Fusion::Rrf) => (fuse::rrf(candidates, alpha), alpha),
        (Mode::Hybrid, Fusion::Weighted) => (fuse::weighted(candidates, alpha), alpha),
        (Mode::Hybrid, Fusion::Dbsf) => (fuse::dbsf(candidates, alpha), alpha),
    }
}

impl Ranking {
    /// The first results, which lend the whole query their coverage.
    fn first(&self) -> impl Iterator<Item = ChunkId> + '_ {
        self.fused.iter().take(COVERAGE_OF).map(|fused| fused.candidate.id)
    }

    /// Relevance of the query as a whole: the highest cosine of the dense leg with the highest coverage of the first
    /// results.
    fn relevance(&self, coverage: &Coverage) -> f32 {
        if self.fused.is_empty() {
            return 0.0;
        }
        let cosine = self.found.dense.first().map(|(_, cosine)| *cosine);
        self.scale.relevance(cosine, self.first().map(|id| coverage.get(id)).fold(0.0, f32::max))
    }
}

/// The share of the query's words that chunks hold.
struct Coverage(HashMap<ChunkId, f32>);

impl Coverage {
    /// Of the first of a ranking and of the results, in one pass over the postings.
    fn of(snapshot: &Snapshot, words: &LexicalQuery, ranking: &Ranking, results: &[Selected]) -> Result<Self> {
        let ids: BTreeSet<ChunkId> = ranking.first().chain(results.iter().map(|result| result.chunk.id)).collect();
        let ids: Vec<ChunkId> = ids.into_iter().collect();
        let shares = snapshot.coverage(words, &ids)?;
        Ok(Self(ids.into_iter().zip(shares).collect()))
    }

    fn get(&self, id: ChunkId) -> f32 {
        self.0.get(&id).copied().unwrap_or(0.0)
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
    let mut fused = std::borrow::Cow::Borrowed(&ranking.fused);
    if let Some(least) = query.min_score {
        let ids: Vec<ChunkId> = fused.iter().map(|fused| fused.candidate.id).collect();
        let coverage = snapshot.coverage(words, &ids)?;
        let relevant = |(fused, coverage): (&Fused, f32)| {
            (ranking.scale.relevance(fused.candidate.cosine, coverage) >= least).then_some(*fused)
        };
        fused = std::borrow::Cow::Owned(ranking.fused.iter().zip(coverage).filter_map(relevant).collect());
    }
    let choice = Choice { k: query.k, mmr: query.mmr, per_source: query.per_source };
    let chosen = choose(snapshot, &fused, choice)?;
    timings.load_ms += millis(begun.elapsed());
    Ok(chosen)
}

/// What turns results into what is shown of them.
struct Shown<'a> {
    snapshot: &'a Snapshot,
    query: &'a Query,
    words: &'a LexicalQuery,
    scale: Scale,
    coverage: &'a Coverage,
}

impl Shown<'_> {
    fn hits(&self, results: Vec<Selected>) -> Result<Vec<Hit>> {
        results.into_iter().zip(1..).map(|(result, rank)| self.hit(rank, result)).collect()
    }

    fn hit(&self, rank: usize, Selected { fused, chunk, copies }: Selected) -> Result<Hit> {
        let Fused { candidate, score, lexical, dense } = fused;
        let coverage = self.coverage.get(candidate.id);
        let (before, after) = neighbours(self.snapshot, &chunk, self.query.context)?;
        let marks = if self.query.snippets { highlight::marks(self.words, &chunk) } else { Vec::new() };
        Ok(Hit {
            rank,
            score,
            relevance: self.scale.relevance(candidate.cosine, coverage),
            snippet: if self.query.snippets { snippet(&chunk.text, &marks) } else { 0..chunk.text.len() },
            highlights: highlight::ranges(marks),
            before,
            after,
            explain: self.query.explain.then_some(Explain {
                lexical_rank: candidate.lexical_rank,
                lexical_score: candidate.bm25,
                lexical_normalised: lexical,
                dense_rank: candidate.dense_rank,
                dense_score: candidate.cosine,
                dense_normalised: dense,
                coverage,
            }),
            chunk,
            copies,
        })
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests;
