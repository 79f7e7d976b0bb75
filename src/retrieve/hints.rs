//! What to try where a query finds nothing: the best that one of its conditions left out, and words spelled otherwise.
//!
//! Not for: changing a query by itself. What was asked is what is answered.

use super::{
    LeftOutBy, Mode, NearMiss, Query, Result,
    query::{Sought, search},
    words::Tongue,
};
use crate::{
    index::{LexicalQuery, Snapshot},
    model::Embedder,
    types::ChunkId,
};

/// So many unknown words are looked up.
const MAX_UNKNOWN: usize = 8;

/// The best chunk of the same query without one of its conditions, the weakest first: least relevance, filter, collection,
/// words alone. Cost: a search each.
pub(super) fn near_miss(
    snapshot: &Snapshot,
    embedder: Option<&dyn Embedder>,
    query: &Query,
) -> Result<Option<NearMiss>> {
    let plain = Query { k: 1, mmr: None, rerank: None, explain: false, ..query.clone() };
    let filter = query.filter.as_deref().is_some_and(|filter| !filter.trim().is_empty());
    // By meaning everything is near something; without a model it cannot be tried.
    let mode = query.mode == Mode::Lexical && embedder.is_some();
    let tries = [
        (query.min_score.is_some(), LeftOutBy::MinScore(0.0), Query { min_score: None, ..plain.clone() }),
        (filter, LeftOutBy::Filter, Query { filter: None, ..plain.clone() }),
        (query.collection.is_some(), LeftOutBy::Collection, Query { collection: None, ..plain.clone() }),
        (mode, LeftOutBy::Mode, Query { mode: Mode::Hybrid, ..plain }),
    ];
    for (_, by, relaxed) in tries.into_iter().filter(|(wanted, ..)| *wanted) {
        let Sought::Ranked(found) = search(snapshot, embedder, &relaxed, None)? else { continue };
        let Some(best) = found.chosen.results.into_iter().next() else { continue };
        let id: ChunkId = best.chunk.id;
        let coverage = snapshot.coverage(&found.words, &[id])?.first().copied().unwrap_or_default();
        let relevance = found.ranking.scale.relevance(best.fused.candidate.cosine, coverage);
        // Rounded down, so that the number that is shown lets it in.
        let enough = (relevance * 100.0).floor() / 100.0;
        let left_out_by = if matches!(by, LeftOutBy::MinScore(_)) { LeftOutBy::MinScore(enough) } else { by };
        return Ok(Some(NearMiss { chunk: best.chunk, relevance, left_out_by }));
    }
    Ok(None)
}

/// For each word of the query that occurs nowhere and is spelled almost like one that does: which.
pub(super) fn spelling(snapshot: &Snapshot, words: &LexicalQuery) -> Result<Option<String>> {
    let mut near = Vec::new();
    let mut tongue = Tongue::of(Some("en"));
    for word in words.unknown().iter().take(MAX_UNKNOWN) {
        // A function word that the documents happen to lack is no slip of the pen: `may` for `many`.
        if tongue.is_stop(word) {
            continue;
        }
        if let Some(known) = snapshot.nearest_word(word)? {
            near.push(format!("`{known}` for `{word}`"));
        }
    }
    Ok((!near.is_empty()).then(|| format!("did you mean {}?", near.join(", "))))
}
