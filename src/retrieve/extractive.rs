//! An answer without a model: the sentences of the best chunks that answer the question, quoted.
//!
//! Useful for: every day, offline, at no cost; all it says is supported because it is quoted. Not for: putting two
//! passages together, or answering where the documents use none of the question's words and no embedder is there.

use std::collections::HashSet;

mod candidates;
mod choice;
mod kept;
mod kinds;
mod lacks;
mod spread;
mod subject;
mod vectors;

use super::{
    Hit, Result, Sentence,
    passages::Passage,
    relevance::{Calibration, Scale, WEAK},
    sentences::Unit,
    verify::units_of,
};
use crate::model::Embedder;
use candidates::{Candidate, Idf, collect};
use choice::{choose, write};
use kinds::{asks_for_a_date, asks_for_a_figure, asks_for_a_price};
use spread::paragraph;
use vectors::embed;

/// Chunks whose sentences are looked at.
const MAX_CHUNKS: usize = 8;
/// Weights of the parts of a sentence's score; without an embedder the rest is scaled up.
const BY_WORDS: f32 = 0.55;
const BY_RANK: f32 = 0.15;
const BY_VECTOR: f32 = 0.3;
const FIGURE_BONUS: f32 = 0.1;
/// What a fragment, and what a record, is worth beside a sentence.
const FRAGMENT: f32 = 0.7;
const RECORD: f32 = 0.8;
/// A sentence with this share of the question's words answers by itself; another is shown with its paragraph, if that is
/// short: what follows often says what the sentence only names.
const BY_ITSELF: f32 = 0.8;
/// From this trust in the embedder on its vectors are asked.
const TRUSTED: f32 = 0.25;
/// The first sentences that are asked whether they say what is asked; the answer is among them or nowhere.
const MAX_JUDGED: usize = 3;
/// A cosine from which a sentence may answer without sharing a word.
const CLOSE: f32 = 0.5;

/// Sentences that answer, and the passages they stand in: numbered in order of first use, then the others.
pub(super) struct Extract {
    pub text: String,
    pub sentences: Vec<Sentence>,
    pub passages: Vec<Passage>,
    /// Of the best sentence, where it is calibrated.
    pub relevance: Option<f32>,
}

/// What is known of the query as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sure {
    /// How far the embedder knows the language, 0..=1.
    pub trust: f32,
    /// The best chunks are relevant. Where they are not, a sentence of them may still be: a chunk has many, of which one
    /// answers.
    pub found: bool,
}

/// Picks the sentences. `None` if none is relevant, or the documents lack what the question names. Relevance is that of
/// queries, [`Scale::relevance`], of the sentence under its heading; where it is not calibrated a sentence must share a
/// telling word with the question or be close to it.
pub(super) fn extract(
    hits: &[Hit],
    question: &str,
    embedder: Option<&dyn Embedder>,
    sure: Sure,
) -> Result<Option<Extract>> {
    let calibration = embedder.map(|embedder| Calibration::of(&embedder.space().model, 0.0));
    let calibrated = calibration == Some(Calibration::Fitted);
    if !sure.found && !calibrated {
        return Ok(None);
    }
    let subject = subject::Subject::of(question, hits);
    if subject.is_unknown() {
        return Ok(None);
    }
    let passages: Vec<Passage> = distinct(hits).into_iter().map(whole).collect();
    let idf = Idf::of(hits, question);
    let units: Vec<Vec<Unit>> = passages.iter().map(units_of).collect();
    let mut candidates: Vec<Candidate> = Vec::new();
    for (chunk, passage) in passages.iter().enumerate() {
        collect((chunk, passage, &units[chunk]), question, &idf, &mut candidates);
    }
    for candidate in &mut candidates {
        candidate.names = subject.is_in(&passages[candidate.chunk], &candidate.shown);
    }
    if candidates.iter().any(|candidate| candidate.names) {
        candidates.retain(|candidate| candidate.names);
    }
    let wants_figure = asks_for_a_figure(question);
    let lexical = |c: &Candidate| c.overlap * BY_WORDS + BY_RANK / (1.0 + c.chunk as f32 * 0.5);
    candidates.sort_by(|a, b| {
        lexical(b).total_cmp(&lexical(a)).then((a.chunk, a.range.start).cmp(&(b.chunk, b.range.start)))
    });
    // Vectors of a language that the embedder does not know tell nothing, and its words take long.
    let trusted = embedder.filter(|_| !calibrated || sure.trust >= TRUSTED);
    let asked = trusted.map(|embedder| embed(&mut candidates, question, embedder)).transpose()?.unwrap_or_default();
    for candidate in &mut candidates {
        let scale = if candidate.cosine.is_none() && trusted.is_none() { 1.0 / (1.0 - BY_VECTOR) } else { 1.0 };
        let bonus = if wants_figure && candidate.figure && candidate.own > 0.0 { FIGURE_BONUS } else { 0.0 };
        let whole = match (candidate.fragment, candidate.record) {
            (true, _) => FRAGMENT,
            (false, true) => RECORD,
            (false, false) => 1.0,
        };
        candidate.score = scale * lexical(candidate) + candidate.cosine.unwrap_or(0.0).max(0.0) * BY_VECTOR + bonus;
        candidate.score *= whole;
    }
    let scale = Scale { trust: sure.trust, calibration: Calibration::Fitted };
    for candidate in candidates.iter_mut().filter(|c| calibrated && (c.cosine.is_some() || trusted.is_none())) {
        candidate.relevance = Some(scale.relevance(candidate.cosine, candidate.covered));
    }
    candidates.retain(|c| match calibrated {
        true => c.relevance.is_some_and(|relevance| relevance >= WEAK) && (trusted.is_some() || c.rare),
        false => c.rare || c.cosine.is_some_and(|cosine| cosine >= CLOSE),
    });
    if asks_for_a_price(question) {
        candidates.retain(|c| c.money);
    }
    if let Some(embedder) = trusted.filter(|_| calibrated) {
        candidates = that_answer(candidates, question, &asked, &passages, embedder)?;
    }
    for candidate in candidates.iter_mut().filter(|c| c.prose && c.own < BY_ITSELF) {
        let passage = &passages[candidate.chunk];
        candidate.range = paragraph(&units[candidate.chunk], candidate.range.clone(), passage.record().text.len());
        candidate.shown = passage.text[candidate.range.clone()].to_owned();
        candidate.paragraph = true;
    }
    let chosen: Vec<Candidate> = choose(candidates);
    let relevance = chosen.iter().filter_map(|c| c.relevance).reduce(f32::max);
    Ok((!chosen.is_empty())
        .then(|| Extract { relevance, ..write(chosen, passages, &units, asks_for_a_date(question)) }))
}

/// The candidates without the near misses: where all of the best are, there is no answer.
fn that_answer(
    mut candidates: Vec<Candidate>,
    question: &str,
    asked: &[f32],
    passages: &[Passage],
    embedder: &dyn Embedder,
) -> Result<Vec<Candidate>> {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let rest = candidates.split_off(candidates.len().min(MAX_JUDGED));
    let mut kept = Vec::new();
    for candidate in candidates {
        if !lacks::misses(question, asked, &passages[candidate.chunk], &candidate, embedder)? {
            kept.push(candidate);
        }
    }
    if !kept.is_empty() {
        kept.extend(rest);
    }
    Ok(kept)
}

/// A chunk as a passage; with the next one if it ends where a list or code is about to begin.
fn whole(hit: &Hit) -> Passage {
    let passage = Passage::of_hit(0, hit);
    if hit.chunk.text.trim_end().ends_with([':', '：']) { passage.continued(hit) } else { passage }
}

/// The best chunks without those that only repeat another one.
fn distinct(hits: &[Hit]) -> Vec<&Hit> {
    let mut texts: HashSet<String> = HashSet::new();
    hits.iter()
        .filter(|hit| texts.insert(hit.chunk.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()))
        .take(MAX_CHUNKS)
        .collect()
}

#[cfg(test)]
mod tests;
