//! Asks every question of a set, on all cores: the one part of the room that is not pure.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::trec::{Answers, Run, Scored};
use crate::{
    index::{ChunkRecord, Snapshot},
    model::Embedder,
    retrieve::{Error, Hits, MAX_QUERY_BYTES, Query, Result, query},
    types::Cancel,
};

/// Documents looked at for a question. Chunks are searched as deep as that takes.
pub const DEPTH: usize = 100;

/// A question of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub id: String,
    pub text: String,
}

/// How questions are asked.
pub struct Asking<'a> {
    pub snapshot: &'a Snapshot,
    pub embedder: Option<&'a dyn Embedder>,
    /// All but the text and the number of results, and of those of one source where sources are judged.
    pub query: &'a Query,
    /// Documents to find, 1..=1000.
    pub depth: usize,
    pub threads: usize,
    /// What the judgements call what a chunk belongs to; `None`: nothing of theirs.
    pub name: &'a (dyn Fn(&ChunkRecord) -> Option<String> + Sync),
    /// They judge chunks, not sources.
    pub by_chunk: bool,
    /// Is told after each question.
    pub told: &'a (dyn Fn() + Sync),
    pub cancel: &'a Cancel,
}

/// Asks the questions; `None` if that was cancelled. A question without a word finds nothing, a long one is cut at
/// [`MAX_QUERY_BYTES`]. Errors: those of [`query`], the first one ends it all.
pub fn ask(asking: &Asking<'_>, questions: &[Question]) -> Result<Option<Run>> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || -> Result<()> {
        while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
            if asking.cancel.is_asked() {
                return Ok(());
            }
            let answers = one(asking, question).inspect_err(|_| next.store(questions.len(), Ordering::Relaxed))?;
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(question.id.clone(), answers);
            (asking.told)();
        }
        Ok(())
    };
    let threads = asking.threads.clamp(1, questions.len().max(1));
    let results: Vec<Result<()>> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let join =
            |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    });
    results.into_iter().collect::<Result<()>>()?;
    let by_query = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((!asking.cancel.is_asked()).then_some(Run { by_query }))
}

fn one(asking: &Asking<'_>, question: &Question) -> Result<Answers> {
    let mut text = question.text.clone();
    text.truncate(text.floor_char_boundary(MAX_QUERY_BYTES));
    let asked = Query {
        text,
        k: asking.depth,
        per_source: if asking.by_chunk { asking.query.per_source } else { Some(1) },
        context: 0,
        explain: false,
        snippets: false,
        // Each document is judged for itself.
        duplicates: true,
        ..asking.query.clone()
    };
    match query(asking.snapshot, asking.embedder, &asked) {
        Ok(hits) => Ok(answers(asking, &hits)),
        Err(Error::EmptyQuery) => Ok(Answers::default()),
        Err(error) => Err(error),
    }
}

/// Copies of a result are documents of their own here, with the same score.
fn answers(asking: &Asking<'_>, hits: &Hits) -> Answers {
    let mut found = Vec::new();
    for hit in &hits.hits {
        // Diversity orders otherwise than by score.
        let score = if asking.query.mmr.is_some() { 1.0 / hit.rank as f32 } else { hit.score };
        for chunk in std::iter::once(&hit.chunk).chain(&hit.copies) {
            found.extend((asking.name)(chunk).map(|document| Scored { document, score }));
        }
    }
    let mut answers = Answers::new(found, Some(hits.relevance));
    answers.ranking.truncate(asking.depth);
    answers
}
