//! What a question asks that a passage does not say: the near miss, right subject, wrong matter.
//!
//! A word of the question that the passage has in no form may still be meant by other words of it: `employees` by `34 people`.
//! Then the sentence is nearer to the question with the word than to the question without it. Where the sentence is nearer
//! *without* the word, it speaks of the rest and not of that: `Who is the chief executive of Brightwater Pumps?` and
//! `Welcome to Brightwater Pumps`. The difference of the two cosines is the word's pull.
//!
//! Useful for: embedders that know the language. Not for: words that a passage has with another meaning.

use std::ops::Range;

use super::{
    super::{
        Result,
        passages::Passage,
        relevance::WEAK,
        verify::tells_a_kind,
        words::{Tongue, Word, WordList, same_word},
    },
    candidates::{Candidate, lang_of},
    kinds::asks_for_a_time,
    vectors::{cosine, of_query},
};
use crate::model::Embedder;

/// Pull that is noise: `long` and `prepare` weigh so much where a person sees an answer.
const NOISE: f32 = 0.02;
/// How much surer of a sentence one must be, in log-odds of its relevance, for a pull of -1.
const DOUBT: f32 = 45.0;
/// The same for a row or a record, which names all that it tells.
const ROW_DOUBT: f32 = 90.0;
/// Words that stand for anybody and anything, so that no passage need say them.
static INDEFINITE: WordList = WordList::new(
    "somebody someone something anybody anyone anything everybody everyone everything whoever man jemand etwas quelqu'un \
    alguien algo",
);
/// Runs of missing words that are looked at; a question with more lacks enough already.
const MAX_RUNS: usize = 4;

/// The runs of neighbouring content words of a question that a passage, with what it stands under, has in no form. Words
/// that only ask for a kind of answer are left out where the sentence has one of that kind.
fn missing(question: &str, passage: &Passage, candidate: &Candidate) -> Vec<Range<usize>> {
    let record = passage.record();
    let lang = lang_of(record.lang.as_deref());
    let mut tongue = Tongue::of(Some(&lang));
    let german = tongue.is_german();
    let title = record.title.as_deref().unwrap_or_default();
    let (path, heading, context) = (&record.path, record.heading.join("\n"), passage.context());
    // Identifiers are words joined by signs that the text keeps together.
    let evidence = format!("{path}\n{title}\n{heading}\n{context}\n{}", passage.text).replace(['_', '/', '.'], " ");
    let evidence = tongue.words(&evidence);
    let asked = tongue.words(question);
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut before: Option<&Word> = None;
    let mut open = false;
    for word in &asked {
        let kind = candidate.figure && (tells_a_kind(&word.norm) || asks_for_a_time(before, word));
        let content = !word.stop && !INDEFINITE.has(&word.norm) && word.norm.chars().any(char::is_alphanumeric);
        let lacks = content && !kind && !evidence.iter().any(|own| same_word(own, word, german));
        match runs.last_mut() {
            Some(run) if lacks && open => run.end = word.range.end,
            _ if lacks => runs.push(word.range.clone()),
            _ => {}
        }
        open = lacks;
        before = Some(word);
    }
    // Without its only matter a question asks nothing.
    let left = |run: &Range<usize>| asked.iter().any(|word| !word.stop && !run.contains(&word.range.start));
    runs.retain(left);
    runs.truncate(MAX_RUNS);
    runs
}

/// The least pull of what the passage lacks; `None`: it lacks nothing. Below 0 the sentence speaks of the rest.
fn pull(
    question: &str,
    asked: &[f32],
    passage: &Passage,
    candidate: &Candidate,
    embedder: &dyn Embedder,
) -> Result<Option<f32>> {
    let Some(own) = candidate.vector.as_deref() else { return Ok(None) };
    let near = cosine(asked, own);
    let mut least: Option<f32> = None;
    for run in missing(question, passage, candidate) {
        let rest = format!("{}{}", &question[..run.start], question[run.end..].trim_start());
        let pull = near - cosine(&of_query(&rest, embedder)?, own);
        least = Some(least.map_or(pull, |least| least.min(pull)));
    }
    Ok(least)
}

/// A sentence of the question's subject that does not say what is asked of it.
pub(super) fn misses(
    question: &str,
    asked: &[f32],
    passage: &Passage,
    candidate: &Candidate,
    embedder: &dyn Embedder,
) -> Result<bool> {
    // One row of a table is about what stands in it.
    let row = candidate.record || candidate.row;
    if row && candidate.covered <= 0.0 {
        return Ok(true);
    }
    let Some(relevance) = candidate.relevance.map(|relevance| relevance.clamp(1e-6, 1.0 - 1e-6)) else {
        return Ok(false);
    };
    let Some(pull) = pull(question, asked, passage, candidate, embedder)? else { return Ok(false) };
    let doubt = if row { ROW_DOUBT * (-pull).max(0.0) } else { DOUBT * (-pull - NOISE).max(0.0) };
    let odds = |p: f32| (p / (1.0 - p)).ln();
    Ok(odds(relevance) < odds(WEAK) + doubt)
}
