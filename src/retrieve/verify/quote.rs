//! The words of a passage that support a sentence, verbatim, with their place in the document.

use std::{cmp::Reverse, collections::HashSet, ops::Range};

use unicode_segmentation::UnicodeSegmentation;

use super::{Checker, Prepared, claim::Claim, evidence::Evidence};
use crate::{
    retrieve::words::{Word, is_cjk, same_word},
    types::Span,
};

/// A sentence of this many words is quoted whole; a shorter one with what follows on its line. A character of Chinese or
/// Japanese counts half a word.
const MIN_WORDS: usize = 6;
const MAX_WORDS: usize = 25;

/// How many of a sentence's words and facts a range has, then whether it is more than a heading, then how short it is.
type Rank = (usize, bool, Reverse<usize>);

/// Where a text has something of a sentence: which word or fact, and the bytes. A word said twice is one word.
type Mark = (usize, Range<usize>);

/// How many different words and facts a range has.
fn distinct(marks: &[Mark], range: &Range<usize>) -> usize {
    let inside = marks.iter().filter(|(_, mark)| range.start <= mark.start && mark.end <= range.end);
    inside.map(|(which, _)| which).collect::<HashSet<_>>().len()
}

/// The part of a passage that has most of a sentence's words and figures: its text and its span in the document.
/// `None` only if the passage has no words at all.
pub(in crate::retrieve) fn best_quote(
    checker: &Checker,
    sentence: &Prepared,
    passage: usize,
) -> Option<(String, Span)> {
    let evidence = checker.evidence.get(passage)?;
    let marks = marks(sentence.in_language_of(evidence)?, evidence);
    let mut best: Option<(Rank, Range<usize>)> = None;
    for whole in evidence.passage.quotable() {
        for (at, unit) in evidence.units.iter().enumerate() {
            let unit = unit.range.start.max(whole.start)..unit.range.end.min(whole.end);
            if unit.is_empty() {
                continue;
            }
            let range = fit(&evidence.passage.text, unit, &whole, &marks);
            let body = !evidence.is_heading(at);
            let rank = (distinct(&marks, &range), body, Reverse(range.len()));
            if best.as_ref().is_none_or(|(most, _)| rank > *most) {
                best = Some((rank, range));
            }
        }
    }
    let (_, range) = best?;
    let span = evidence.passage.document_span(range.clone())?;
    Some((evidence.passage.text[range].to_owned(), span))
}

/// Where the passage has words and facts of the claim.
fn marks(claim: &Claim, evidence: &Evidence) -> Vec<Mark> {
    let mut content: Vec<&Word> = Vec::new();
    for word in claim.content() {
        if content.iter().all(|known| !same_word(known, word, evidence.german)) {
            content.push(word);
        }
    }
    let mut marks = Vec::new();
    for clause in &evidence.clauses {
        let start = evidence.units[clause.unit].range.start;
        for word in clause.words.iter().filter(|word| !word.stop) {
            let own = content.iter().enumerate().filter(|(_, own)| same_word(own, word, evidence.german));
            marks.extend(own.map(|(which, _)| (which, start + word.range.start..start + word.range.end)));
        }
        for fact in &clause.facts {
            let own = claim.facts.iter().enumerate().filter(|(_, own)| own.agrees(fact));
            let place = start + fact.range.start..start + fact.range.end;
            marks.extend(own.map(|(which, _)| (content.len() + which, place.clone())));
        }
    }
    marks
}

/// A sentence cut or extended to the length of a quotation, inside `whole`.
fn fit(text: &str, unit: Range<usize>, whole: &Range<usize>, marks: &[Mark]) -> Range<usize> {
    let words: Vec<Range<usize>> = text[unit.start..whole.end]
        .unicode_word_indices()
        .map(|(at, word)| unit.start + at..unit.start + at + word.len())
        .take(4 * MAX_WORDS + unit.len())
        .collect();
    let weight = |word: &Range<usize>| if text[word.clone()].chars().all(is_cjk) { 1 } else { 2 };
    let inside = words.iter().take_while(|word| word.end <= unit.end).count();
    let total: usize = words[..inside].iter().map(weight).sum();
    if total <= 2 * MAX_WORDS {
        if total >= 2 * MIN_WORDS || inside == 0 {
            return unit;
        }
        return extend(text, unit, whole, &words[inside..], total, weight);
    }
    densest(text, unit, &words[..inside], marks, 2 * MAX_WORDS, weight)
}

/// The stretch of a unit with the most marks, the earliest of equals, that weighs at most `limit`; what room is left goes
/// to the words before it, then to those after. `words` are the unit's.
fn densest(
    text: &str,
    unit: Range<usize>,
    words: &[Range<usize>],
    marks: &[Mark],
    limit: usize,
    weight: impl Fn(&Range<usize>) -> usize,
) -> Range<usize> {
    let mut best: Option<(usize, usize, usize)> = None;
    let (mut from, mut held) = (0, 0);
    for to in 0..words.len() {
        held += weight(&words[to]);
        while held > limit && from < to {
            held -= weight(&words[from]);
            from += 1;
        }
        let stretch = words[from].start..words[to].end;
        let score = distinct(marks, &stretch);
        if best.is_none_or(|(most, ..)| score > most) {
            best = Some((score, from, to));
        }
    }
    let Some((_, mut from, mut to)) = best else { return unit };
    let mut held: usize = words[from..=to].iter().map(&weight).sum();
    while from > 0 && held + weight(&words[from - 1]) <= limit {
        from -= 1;
        held += weight(&words[from]);
    }
    while to + 1 < words.len() && held + weight(&words[to + 1]) <= limit {
        to += 1;
        held += weight(&words[to]);
    }
    let start = if from == 0 { unit.start } else { words[from].start };
    let end = if to + 1 == words.len() { unit.end } else { words[to].end };
    text.get(start..end).map_or(unit, |_| start..end)
}

/// The part of a unit of at most `max_words` words that has most of the marked ranges.
pub(in crate::retrieve) fn part(
    text: &str,
    unit: Range<usize>,
    marks: &[Range<usize>],
    max_words: usize,
) -> Range<usize> {
    let words: Vec<Range<usize>> = text[unit.clone()]
        .unicode_word_indices()
        .map(|(at, word)| unit.start + at..unit.start + at + word.len())
        .collect();
    if words.len() <= max_words {
        return unit;
    }
    let marks: Vec<Mark> = marks.iter().cloned().enumerate().collect();
    densest(text, unit, &words, &marks, max_words, |_| 1)
}

/// Adds words that follow until the quotation is long enough, to the end of the line at most.
fn extend(
    text: &str,
    unit: Range<usize>,
    whole: &Range<usize>,
    following: &[Range<usize>],
    mut held: usize,
    weight: impl Fn(&Range<usize>) -> usize,
) -> Range<usize> {
    let mut end = unit.end;
    for word in following {
        if held >= 2 * MIN_WORDS || text[end..word.start].contains('\n') {
            break;
        }
        held += weight(word);
        end = word.end;
    }
    // The sign that closes the last word's sentence belongs to it.
    let rest = &text[end..whole.end];
    end += rest.chars().next().filter(|c| matches!(c, '.' | '!' | '?' | '。' | '"' | '”')).map_or(0, char::len_utf8);
    unit.start..end.max(unit.end)
}
