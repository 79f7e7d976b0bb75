//! Why a document is not among the results of a query: where its chunks stand in each leg and in the fused list, however
//! deep, and what kept the best of them out.
//!
//! Useful for: a question about one document. Not for: documents that are not in the index, of which the catalog and the
//! rules of the walk know more.

use super::{
    Error, Explain, Hit, Query, Result, filter,
    plan::MAX_K,
    query::{Searched, Sought, query, search},
    select::Passed,
    show::explain,
};
use crate::{
    index::{ChunkRecord, Effort, LexicalQuery, Snapshot, SourceRecord},
    model::Embedder,
    types::{ChunkId, SourceId},
};

/// What keeps a document out of the results.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// It has no chunk that could be found.
    NoChunk,
    /// Another collection was searched.
    Collection {
        of: String,
    },
    Filter,
    /// Words alone were looked for, and it has none of them.
    NoWord,
    /// Meaning alone was looked for, and the chunk has no vector.
    NoVector,
    /// Neither leg brought it among its first candidates; `k` that makes it one and shows it, if there is such a `k`.
    Depth {
        depth: usize,
        k: Option<usize>,
    },
    /// The walk of the graph missed it.
    Approximate,
    MinScore {
        least: f32,
    },
    /// A result says the same, in another document or another place.
    Copy {
        of: Box<ChunkRecord>,
    },
    /// Its document had its share of results.
    PerSource,
    /// Diversity put others before it.
    Mmr,
    /// The reranker put others before it.
    Rerank,
    /// It is further down; `k` that would show it.
    Rank {
        k: usize,
    },
    /// It was named as `like` or `unlike`, which are never results.
    Named,
}

/// Where a chunk stands in all lists, without end.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub chunk: ChunkRecord,
    /// In the fused list of everything, from 1.
    pub rank: Option<usize>,
    pub explain: Explain,
    /// Calibrated, 0..1.
    pub relevance: f32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WhyNot {
    /// Its best place among the results, if it is one; a result may stand for its copies.
    pub found: Option<usize>,
    /// `None` where it was found.
    pub kept: Option<Kept>,
    /// The document's best chunk for the query; `None` without chunks.
    pub best: Option<Place>,
    /// How many chunks the lists hold.
    pub compared: usize,
    /// The last result that is shown.
    pub last: Option<Hit>,
    /// Words of the query that the best chunk, its headings and its file's name hold.
    pub holds: Vec<String>,
    /// Words that only other chunks of the document hold.
    pub elsewhere: Vec<String>,
    pub lacks: Vec<String>,
    /// What the search itself had to say.
    pub notes: Vec<String>,
}

/// Explains what became of a document (or of one of its chunks, `only`) in a query. Both legs are run over everything,
/// exactly. Errors: as [`query`]. Cost: O(chunks · log chunks), and the query itself.
pub fn why_not(
    snapshot: &Snapshot,
    embedder: Option<&dyn Embedder>,
    asked: &Query,
    source: &SourceRecord,
    only: Option<ChunkId>,
) -> Result<WhyNot> {
    let asked = Query { explain: true, ..asked.clone() };
    let hits = query(snapshot, embedder, &asked)?;
    let mut chunks = snapshot.chunks_of(source.id)?;
    chunks.retain(|chunk| only.is_none_or(|id| id == chunk.id));
    let mut answer = WhyNot {
        found: None,
        kept: None,
        best: None,
        compared: 0,
        last: hits.hits.last().cloned(),
        holds: Vec::new(),
        elsewhere: Vec::new(),
        lacks: Vec::new(),
        notes: hits.notes,
    };
    if chunks.is_empty() {
        answer.kept = Some(Kept::NoChunk);
        return Ok(answer);
    }
    let own = |chunk: &ChunkRecord| chunk.source == source.id && only.is_none_or(|id| id == chunk.id);
    answer.found = hits.hits.iter().find(|hit| own(&hit.chunk)).map(|hit| hit.rank);

    // Conditions on documents would hide it from the lists; where it does not meet them, its place without them counts.
    let barred = barred(snapshot, &asked, source)?;
    let open = if barred.is_some() { Query { filter: None, collection: None, ..asked.clone() } } else { asked.clone() };
    let whole = Query {
        effort: Effort::Exact,
        duplicates: true,
        mmr: None,
        rerank: None,
        min_score: None,
        per_source: None,
        ..open.clone()
    };
    let everything = usize::try_from(snapshot.chunk_count()).unwrap_or(usize::MAX).max(1);
    let Sought::Ranked(deep) = search(snapshot, embedder, &whole, Some(everything))? else {
        answer.kept = barred.or(Some(Kept::Filter));
        return Ok(answer);
    };
    answer.compared = deep.ranking.fused.len();
    let best = best(snapshot, &deep, &chunks)?;
    (answer.holds, answer.elsewhere, answer.lacks) = words(&deep.words, &best.chunk, &chunks);
    if answer.found.is_none() {
        let named = asked.like.contains(&best.chunk.id) || asked.unlike.contains(&best.chunk.id);
        answer.kept = match barred {
            _ if named => Some(Kept::Named),
            Some(kept) => Some(kept),
            None => Some(kept(snapshot, embedder, &asked, &best)?),
        };
    }
    answer.best = Some(best);
    Ok(answer)
}

/// The condition on documents that a source does not meet.
fn barred(snapshot: &Snapshot, asked: &Query, source: &SourceRecord) -> Result<Option<Kept>> {
    if asked.collection.as_deref().is_some_and(|name| name != source.collection) {
        return Ok(Some(Kept::Collection { of: source.collection.clone() }));
    }
    let Some(text) = asked.filter.as_deref().filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let allowed = snapshot.sources_where(&filter::parse(text)?, None)?;
    let holds = |id: SourceId| allowed.iter().any(|source| source.id == id);
    Ok((!holds(source.id)).then_some(Kept::Filter))
}

/// The chunk that stands first in the list of everything; the first of the document where none is in it.
fn best(snapshot: &Snapshot, deep: &Searched, chunks: &[ChunkRecord]) -> Result<Place> {
    let fused = &deep.ranking.fused;
    let found = fused.iter().enumerate().find_map(|(at, fused)| {
        let chunk = chunks.iter().find(|chunk| chunk.id == fused.candidate.id)?;
        Some((at, fused, chunk))
    });
    let chunk = found.map_or_else(|| chunks.first().cloned(), |(_, _, chunk)| Some(chunk.clone()));
    let Some(chunk) = chunk else { return Err(Error::NoChunk { id: ChunkId(0) }) };
    let coverage = snapshot.coverage(&deep.words, &[chunk.id])?.first().copied().unwrap_or_default();
    let explain = match found {
        Some((_, fused, _)) => explain(&deep.ranking, &deep.judged, fused, coverage),
        None => Explain { coverage, ..Explain::default() },
    };
    let relevance = deep.ranking.scale.relevance(explain.dense_score, coverage);
    Ok(Place { chunk, rank: found.map(|(at, ..)| at + 1), explain, relevance })
}

/// What kept a chunk out that meets all conditions on documents.
fn kept(snapshot: &Snapshot, embedder: Option<&dyn Embedder>, asked: &Query, best: &Place) -> Result<Kept> {
    let Sought::Ranked(searched) = search(snapshot, embedder, asked, None)? else { return Ok(Kept::Filter) };
    let id = best.chunk.id;
    let Some(at) = searched.ranking.fused.iter().position(|fused| fused.candidate.id == id) else {
        let within = |rank: Option<usize>| rank.is_some_and(|rank| rank <= searched.depth);
        return Ok(match (best.explain.lexical_rank, best.explain.dense_rank) {
            (None, None) if best.explain.dense_score.is_none() && searched.ranking.found.vector.is_some() => {
                Kept::NoVector
            }
            (None, None) => Kept::NoWord,
            (lexical, dense) if within(dense) && !within(lexical) => Kept::Approximate,
            (lexical, dense) => {
                // The legs go as deep as `k`, and what they bring stands no further down than it does among all chunks.
                let nearest = [lexical, dense].into_iter().flatten().min();
                let k = nearest.zip(best.rank).map(|(nearest, rank)| nearest.max(rank)).filter(|&k| k <= MAX_K);
                Kept::Depth { depth: searched.depth, k }
            }
        });
    };
    if let Some(least) = asked.min_score
        && best.relevance < least
    {
        return Ok(Kept::MinScore { least });
    }
    let passed = searched.chosen.passed.iter().find(|(passed, _)| *passed == id);
    match passed {
        Some((_, Passed::SourceFull)) => return Ok(Kept::PerSource),
        Some((_, Passed::Copy(of) | Passed::Duplicate(of))) => {
            if let Some(of) = snapshot.chunk(*of)? {
                return Ok(Kept::Copy { of: Box::new(of) });
            }
        }
        None => {}
    }
    let first = best.rank.is_some_and(|rank| rank <= asked.k);
    Ok(if first && !searched.judged.is_empty() {
        Kept::Rerank
    } else if asked.mmr.is_some() && at < asked.k {
        Kept::Mmr
    } else {
        Kept::Rank { k: (at + 1).min(MAX_K) }
    })
}

/// The query's words: those the chunk holds, those only other chunks hold, those the document lacks.
fn words(query: &LexicalQuery, best: &ChunkRecord, chunks: &[ChunkRecord]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let all = query.words();
    let held_by = |chunk: &ChunkRecord| {
        let mut held = vec![false; all.len()];
        let name = chunk.path.rsplit('/').next().unwrap_or_default();
        let parts = [chunk.text.as_str(), chunk.context.as_str(), name];
        let names = chunk.title.iter().chain(&chunk.heading).map(String::as_str);
        for part in parts.into_iter().chain(names) {
            query.marks(part, chunk.lang.as_deref()).iter().for_each(|(_, place)| held[*place] = true);
        }
        held
    };
    let own = held_by(best);
    let mut others = vec![false; all.len()];
    for chunk in chunks.iter().filter(|chunk| chunk.id != best.id) {
        others.iter_mut().zip(held_by(chunk)).for_each(|(held, here)| *held |= here);
    }
    let which = |wanted: &dyn Fn(usize) -> bool| -> Vec<String> {
        (0..all.len()).filter(|&at| wanted(at)).map(|at| all[at].clone()).collect()
    };
    (which(&|at| own[at]), which(&|at| !own[at] && others[at]), which(&|at| !own[at] && !others[at]))
}

#[cfg(test)]
mod tests;
