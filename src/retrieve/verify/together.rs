//! Whether what a sentence puts together stands together in a passage.
//!
//! Useful for: words strewn over a long passage, and numbers, dates and names that the passage says of something else.
//! Not for: what stands in one sentence in another relation, which is `opposition`'s matter as far as it can be seen.

use std::ops::Range;

use super::{
    SUPPORTED,
    claim::Claim,
    evidence::{Clause, Evidence, binding},
    facts::{Fact, tells_a_kind},
};
use crate::retrieve::words::Word;

/// A word that the passages have, but not where the fact is, counts against it as two that they do not have: the fact is
/// said of something else.
const ELSEWHERE: f32 = 2.0;
/// Characters of a passage's sentence in a reason.
const SHOWN_CHARS: usize = 80;

/// Shares of a claim's content words, 0..1.
pub(super) struct Coverage {
    /// In a few neighbouring sentences under one heading, each of its clauses for itself.
    pub near: f32,
    /// In the passages, wherever.
    pub anywhere: f32,
}

/// How much of the claim the passages have. Each gives its best window, and the windows are taken together.
pub(super) fn coverage(claim: &Claim, cited: &[&Evidence]) -> Coverage {
    let (mut total, mut near, mut anywhere) = (0, 0, 0);
    for own in &claim.clauses {
        let words = claim.content_of(own);
        let mut together = vec![false; words.len()];
        let mut strewn = vec![false; words.len()];
        for evidence in cited {
            let by_unit = words_by_unit(evidence, &words);
            let mut best = together.clone();
            for window in &evidence.windows {
                let mut joined = together.clone();
                by_unit[window.clone()].iter().for_each(|unit| join(&mut joined, unit));
                if count(&joined) > count(&best) {
                    best = joined;
                }
            }
            together = best;
            by_unit.iter().for_each(|unit| join(&mut strewn, unit));
        }
        total += words.len();
        near += count(&together);
        anywhere += count(&strewn);
    }
    let share = |found: usize| if total == 0 { 0.0 } else { found as f32 / total as f32 };
    Coverage { near: share(near), anywhere: share(anywhere) }
}

fn join(to: &mut [bool], more: &[bool]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to |= more);
}

fn count(found: &[bool]) -> usize {
    found.iter().filter(|found| **found).count()
}

/// For each unit of a passage, which words it has.
fn words_by_unit(evidence: &Evidence, words: &[&Word]) -> Vec<Vec<bool>> {
    let mut by_unit = vec![vec![false; words.len()]; evidence.units.len()];
    for clause in &evidence.clauses {
        for (at, word) in words.iter().enumerate() {
            by_unit[clause.unit][at] |= clause.find(word, evidence.german);
        }
    }
    by_unit
}

/// What must stand where the rest of its clause stands.
struct Anchor<'c> {
    /// As the claim writes it.
    label: &'c str,
    fact: Option<&'c Fact>,
    /// Which of the clause's words are the name.
    name: Vec<usize>,
}

/// The window that has an anchor and most of what the claim says of it.
struct Found<'e, 'p> {
    evidence: &'e Evidence<'p>,
    window: Range<usize>,
    share: f32,
    /// Which of the clause's words the window lacks and the passages have.
    elsewhere: Vec<usize>,
}

/// Why a number, a date or a name of the claim does not stand with what the claim says of it, if so.
pub(super) fn apart(claim: &Claim, cited: &[&Evidence], all: &[Evidence]) -> Option<String> {
    claim.clauses.iter().find_map(|own| {
        let words = claim.content_of(own);
        let by_unit: Vec<Vec<Vec<bool>>> = cited.iter().map(|evidence| words_by_unit(evidence, &words)).collect();
        let mut anywhere = vec![false; words.len()];
        by_unit.iter().flatten().for_each(|unit| join(&mut anywhere, unit));
        anchors(claim, own, &words, cited, all).into_iter().find_map(|anchor| {
            let mut best: Option<Found> = None;
            for (evidence, by_unit) in cited.iter().zip(&by_unit) {
                for window in &evidence.windows {
                    let mut held = vec![false; words.len()];
                    by_unit[window.clone()].iter().for_each(|unit| join(&mut held, unit));
                    let Some(found) = weigh(&anchor, own, &words, evidence, window, &held, &anywhere) else { continue };
                    if best.as_ref().is_none_or(|best| found.share > best.share) {
                        best = Some(found);
                    }
                }
            }
            // What no window has stands in the title or in parts, and has been looked for already.
            let best = best?;
            let of_another = || anchor.fact.is_some_and(|fact| has_rival(fact, own, &words, &best.elsewhere, cited));
            (best.share < SUPPORTED || of_another()).then(|| reason(&anchor, &words, &claim.text, &best))
        })
    })
}

fn anchors<'c>(
    claim: &'c Claim,
    own: &'c Clause,
    words: &[&Word],
    cited: &[&Evidence],
    all: &[Evidence],
) -> Vec<Anchor<'c>> {
    let hard = own.facts.iter().filter(|fact| !fact.soft);
    let mut anchors: Vec<Anchor> = hard
        .map(|fact| Anchor { label: &claim.text[fact.range.clone()], fact: Some(fact), name: Vec::new() })
        .collect();
    let mut end = None;
    for (at, name) in claim.names.iter().enumerate() {
        // The words lent by the question stand last and have ranges of their own.
        let own_words = words.iter().take(own.words.len());
        let place = own.range.contains(&name.at).then(|| own_words.enumerate().find(|(_, w)| w.range.start == name.at));
        let Some(Some((place, _))) = place else { continue };
        if name.first && !claim.is_surely_a_name(at, cited, all) {
            continue;
        }
        match anchors.last_mut().filter(|last| name.follows && end == Some(at) && last.fact.is_none()) {
            Some(last) => last.name.push(place),
            None => {
                let label = &claim.text[name.at..name.at + name.word.len()];
                anchors.push(Anchor { label, fact: None, name: vec![place] });
            }
        }
        end = Some(at + 1);
    }
    anchors
}

/// What a window has of the clause round the anchor; `None` if it lacks the anchor.
fn weigh<'e, 'p>(
    anchor: &Anchor,
    own: &Clause,
    words: &[&Word],
    evidence: &'e Evidence<'p>,
    window: &Range<usize>,
    held: &[bool],
    anywhere: &[bool],
) -> Option<Found<'e, 'p>> {
    let says = |fact: &Fact| evidence.says_in(window, fact);
    let present = match anchor.fact {
        Some(fact) => says(fact),
        None => anchor.name.iter().all(|at| held[*at]),
    };
    if !present {
        return None;
    }
    let others = || (0..held.len()).filter(|at| !anchor.name.contains(at));
    let facts = || own.facts.iter().filter(|f| !f.soft && !anchor.fact.is_some_and(|fact| std::ptr::eq(fact, *f)));
    let implied = |at: &usize| anchor.fact.is_some_and(Fact::is_number) && tells_a_kind(&words[*at].norm);
    let elsewhere: Vec<usize> = others().filter(|at| !held[*at] && anywhere[*at] && !implied(at)).collect();
    // A fact of the claim that is in no passage has been found missing before.
    let apart = elsewhere.len() + facts().filter(|fact| !says(fact)).count();
    let with = others().filter(|at| held[*at]).count() + facts().filter(|fact| says(fact)).count();
    // What no passage has is weighed by `coverage`, but a fact of which nothing is said supports nothing.
    let alone = with == 0 && others().any(|at| !held[at]);
    let all = with as f32 + ELSEWHERE * apart as f32;
    let share = if all > 0.0 { with as f32 / all } else { f32::from(u8::from(!alone)) };
    Some(Found { evidence, window: window.clone(), share, elsewhere })
}

/// The passages have other numbers of the kind for a word of the claim that does not stand where the claim's own are.
fn has_rival(fact: &Fact, own: &Clause, words: &[&Word], elsewhere: &[usize], cited: &[&Evidence]) -> bool {
    let like = |other: &Fact| binding(&other) && fact.is_like(other);
    let others = |clause: &Clause| {
        clause.facts.iter().any(like) && !own.facts.iter().filter(|own| like(own)).all(|own| clause.says(own))
    };
    cited.iter().any(|evidence| {
        let mut rivals = evidence.clauses.iter().filter(|clause| others(clause));
        rivals.any(|clause| elsewhere.iter().any(|at| clause.find(words[*at], evidence.german)))
    })
}

fn reason(anchor: &Anchor, words: &[&Word], claim: &str, found: &Found) -> String {
    let evidence = found.evidence;
    let said = |unit: &usize| match anchor.fact {
        Some(fact) => evidence.says_in(&(*unit..*unit + 1), fact),
        None => anchor.name.iter().any(|at| {
            let own = evidence.clauses.iter().filter(|clause| clause.unit == *unit);
            own.flat_map(|clause| &clause.words).any(|word| word.norm == words[*at].norm)
        }),
    };
    let unit = found.window.clone().find(said).unwrap_or(found.window.start);
    let sentence = &evidence.passage.text[evidence.units[unit].range.clone()];
    let mut shown: String = sentence.chars().take(SHOWN_CHARS).map(|c| if c == '\n' { ' ' } else { c }).collect();
    if shown.len() < sentence.len() {
        shown.push('…');
    }
    let label = anchor.label;
    match found
        .elsewhere
        .iter()
        .find_map(|at| claim.get(words[*at].range.clone()).filter(|w| is_as_written(w, words[*at])))
    {
        Some(word) => format!("the passage has `{label}` in \"{shown}\", apart from `{word}`"),
        None => format!("the passage has `{label}` in \"{shown}\", apart from what the answer says of it"),
    }
}

/// The words lent by the question have ranges in another text.
fn is_as_written(text: &str, word: &Word) -> bool {
    crate::retrieve::words::normal(text) == word.norm
}
