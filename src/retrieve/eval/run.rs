//! Asks every question of a set, on all cores: the one part of the room that is not pure.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    answers,
    trec::{Answers, Run, Scored},
};
use crate::{
    index::{ChunkRecord, Snapshot},
    model::{Chat, Embedder},
    retrieve::{self, Answer, Ask, Error, Hits, MAX_QUERY_BYTES, Query, Result, query},
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
    let found = each(questions, asking.threads, asking.told, asking.cancel, &|question| one(asking, question))?;
    let named = |found: Vec<Answers>| questions.iter().map(|question| question.id.clone()).zip(found).collect();
    Ok(found.map(|found| Run { by_query: named(found) }))
}

/// How questions are answered.
pub struct Answering<'a> {
    pub snapshot: &'a Snapshot,
    pub embedder: Option<&'a dyn Embedder>,
    /// `None`: the documents' own sentences.
    pub chat: Option<&'a dyn Chat>,
    /// All but the text.
    pub ask: &'a Ask,
    pub threads: usize,
    /// Is told after each question.
    pub told: &'a (dyn Fn() + Sync),
    pub cancel: &'a Cancel,
}

/// Has the questions answered; `None` if that was cancelled. Errors: those of [`retrieve::ask`], the first one ends it all.
pub fn answer(answering: &Answering<'_>, questions: &[answers::Question]) -> Result<Option<Vec<Answer>>> {
    let Answering { snapshot, embedder, chat, threads, told, cancel, .. } = *answering;
    let one = |question: &answers::Question| {
        let mut ask = answering.ask.clone();
        ask.query.text.clone_from(&question.question);
        retrieve::ask(snapshot, embedder, chat, &ask, &mut |_| match cancel.is_asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    };
    match each(questions, threads, told, cancel, &one) {
        Err(_) if cancel.is_asked() => Ok(None),
        other => other,
    }
}

/// Does the work for each item, on so many threads, and gives what came of it in the items' order; `None` if that was
/// cancelled. The first error ends it all.
fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    told: &(dyn Fn() + Sync),
    cancel: &Cancel,
    work: &(dyn Fn(&T) -> Result<R> + Sync),
) -> Result<Option<Vec<R>>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let worker = || -> Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at).filter(|_| !cancel.is_asked()) else { return Ok(()) };
            let came = work(item).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, came);
            told();
        }
    };
    let threads = threads.clamp(1, items.len().max(1));
    let results: Vec<Result<()>> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let own = worker();
        let join =
            |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    });
    results.into_iter().collect::<Result<()>>()?;
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((!cancel.is_asked()).then(|| done.into_values().collect()))
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
        Ok(hits) => Ok(ranking(asking, &hits)),
        Err(Error::EmptyQuery) => Ok(Answers::default()),
        Err(error) => Err(error),
    }
}

/// Copies of a result are documents of their own here, with the same score.
fn ranking(asking: &Asking<'_>, hits: &Hits) -> Answers {
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
