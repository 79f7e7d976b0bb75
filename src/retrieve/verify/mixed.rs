//! Whether a sentence mixes up what its passages say of different things: two halves of one sentence swapped, the predicate
//! of a neighbouring sentence, a subject and an object turned round, a word that only a heading further up has.
//!
//! Useful for: sentences all of whose words, numbers and names stand near each other, in another relation. Not for: words
//! that stand far apart (`together`), and languages whose word order is free.

use std::ops::Range;

use super::{
    claim::Claim,
    evidence::{Clause, Evidence, binding, is_pronoun},
    facts::{Fact, tells_a_kind},
    has_word,
    strangers::is_light,
};
use crate::retrieve::words::{Word, same_word};

/// A passage's clause with this share of a claim's words is about the same.
const ALIKE: f32 = 0.8;
/// A sentence whose first words point back goes on with what the one before it speaks of.
const POINTING_WORDS: usize = 3;

/// A number of the claim that the passages give for another half of the same sentence.
pub(super) fn swapped(claim: &Claim, cited: &[&Evidence]) -> Option<String> {
    claim.clauses.iter().find_map(|own| {
        let numbers = own.facts.iter().filter(binding).filter(|fact| fact.is_number());
        numbers.into_iter().find_map(|fact| {
            let mut reason = None;
            for evidence in cited {
                for (at, clause) in evidence.clauses.iter().enumerate().filter(|(_, clause)| clause.says(fact)) {
                    // One clause that says it of the same is enough.
                    reason = Some(of_sibling(claim, own, fact, evidence, at, clause)?);
                }
            }
            reason
        })
    })
}

/// The word of the claim that a sibling of this clause has with another number, where this clause has a subject of its own.
fn of_sibling(
    claim: &Claim,
    own: &Clause,
    fact: &Fact,
    evidence: &Evidence,
    at: usize,
    clause: &Clause,
) -> Option<String> {
    if clause.row {
        return None;
    }
    let said = clause.facts.iter().find(|other| other.agrees(fact))?;
    let subject = clause.words.iter().find(|word| {
        word.range.end <= said.range.start
            && !word.stop
            && !clause.is_measured(word)
            && !has_word(&own.words, word, evidence.german)
    })?;
    let siblings = evidence.clauses.iter().enumerate().filter(|(other, sibling)| {
        *other != at
            && sibling.unit == clause.unit
            && sibling.facts.iter().any(|rival| {
                binding(&rival) && fact.is_like(rival) && !own.facts.iter().any(|known| known.agrees(rival))
            })
    });
    let siblings: Vec<&Clause> = siblings.map(|(_, sibling)| sibling).collect();
    // A word that both halves have tells neither from the other.
    if siblings.iter().any(|sibling| has_word(&sibling.words, subject, evidence.german)) {
        return None;
    }
    let head = own.words.iter().find(|word| !word.stop)?;
    let word = own.words.iter().find(|word| {
        !word.stop
            && !own.is_measured(word)
            && (std::ptr::eq(*word, head) || !tells_a_kind(&word.norm))
            && !clause.find(word, evidence.german)
            && siblings.iter().any(|sibling| has_word(&sibling.words, word, evidence.german))
    })?;
    let (number, other) = (&claim.text[fact.range.clone()], &claim.text[word.range.clone()]);
    Some(format!("the passage says `{number}` of `{}`, not of `{other}`", subject.norm))
}

/// The claim takes a word from a neighbouring sentence that speaks of something else.
pub(super) fn merged(claim: &Claim, cited: &[&Evidence]) -> Option<String> {
    claim.clauses.iter().find_map(|own| {
        let words: Vec<&Word> = claim.content_of(own).into_iter().filter(|word| counts(own, word)).collect();
        let subject = words.first()?;
        let mut best = 0;
        let mut reason: Option<String> = None;
        for evidence in cited {
            for unit in 0..evidence.units.len() {
                let clauses = of_unit(evidence, unit);
                let held: Vec<bool> =
                    words.iter().map(|word| clauses.iter().any(|c| c.find(word, evidence.german))).collect();
                let count = held.iter().filter(|held| **held).count();
                if count == 0 || count < best {
                    continue;
                }
                let missing = words.iter().zip(&held).filter(|(_, held)| !**held).map(|(word, _)| *word);
                let taken = missing
                    .into_iter()
                    .find_map(|word| taken_from_another(own, word, subject, cited).map(|of| (word, of)))
                    .or_else(|| {
                        let held = words.iter().zip(&held).rev().find(|(_, held)| **held);
                        let of = speaks_of_another(own, subject, evidence, unit, cited)?;
                        held.map(|(word, _)| (*word, of))
                    });
                let why = taken.map(|(word, of)| {
                    let word = claim.text.get(word.range.clone()).unwrap_or(&word.norm);
                    format!("the passage says `{word}` of `{of}`")
                });
                match (count > best, why) {
                    (true, why) => reason = why,
                    (false, None) => reason = None,
                    (false, Some(_)) => {}
                }
                best = count;
                if reason.is_none() && count == words.len() {
                    return None;
                }
            }
        }
        reason
    })
}

fn counts(own: &Clause, word: &Word) -> bool {
    !own.is_measured(word) && !is_light(word) && !tells_a_kind(&word.norm)
}

fn of_unit<'e>(evidence: &'e Evidence, unit: usize) -> &'e [Clause] {
    let from = evidence.clauses.partition_point(|clause| clause.unit < unit);
    let to = evidence.clauses.partition_point(|clause| clause.unit <= unit);
    &evidence.clauses[from..to]
}

/// What the sentences with this word speak of, if each of them speaks of something that the claim does not name.
fn taken_from_another(own: &Clause, word: &Word, subject: &Word, cited: &[&Evidence]) -> Option<String> {
    let mut of = None;
    for evidence in cited {
        for unit in (0..evidence.units.len()).filter(|unit| !evidence.is_heading(*unit)) {
            let clauses = of_unit(evidence, unit);
            if !clauses.iter().any(|clause| has_word(&clause.words, word, evidence.german)) {
                continue;
            }
            let all = || clauses.iter().flat_map(|clause| &clause.words);
            let points = all().take(POINTING_WORDS).any(|word| is_pronoun(&word.norm) || points_back(&word.norm));
            let first = all().find(|word| !word.stop)?;
            let named = same_word(first, word, evidence.german) || has_word(&own.words, first, evidence.german);
            let shares = clauses.iter().any(|clause| has_word(&clause.words, subject, evidence.german));
            if points || named || shares {
                return None;
            }
            of = Some(first.norm.clone());
        }
    }
    of
}

/// What a unit speaks of, if that is neither named by the claim nor what the claim speaks of, of which another unit does.
fn speaks_of_another(
    own: &Clause,
    subject: &Word,
    evidence: &Evidence,
    unit: usize,
    cited: &[&Evidence],
) -> Option<String> {
    let clauses = of_unit(evidence, unit);
    let known = |evidence: &&Evidence| evidence.clauses.iter().any(|clause| clause.find(subject, evidence.german));
    if clauses.iter().any(|clause| clause.find(subject, evidence.german)) || !cited.iter().any(known) {
        return None;
    }
    let all = || clauses.iter().flat_map(|clause| &clause.words);
    let points = all().take(POINTING_WORDS).any(|word| is_pronoun(&word.norm) || points_back(&word.norm));
    let first = all().find(|word| !word.stop)?;
    (!points && !has_word(&own.words, first, evidence.german)).then(|| first.norm.clone())
}

/// Words that stand for something named before, or for nobody in particular.
fn points_back(norm: &str) -> bool {
    matches!(
        norm,
        "you"
            | "your"
            | "we"
            | "our"
            | "one"
            | "there"
            | "then"
            | "here"
            | "both"
            | "such"
            | "otherwise"
            | "below"
            | "above"
    )
}

/// Subject and object of the claim stand the other way round in the clause about it.
pub(super) fn turned(claim: &Claim, cited: &[&Evidence]) -> Option<String> {
    if !matches!(claim.lang.as_str(), "en" | "es" | "fr" | "it" | "pt") {
        return None;
    }
    claim.clauses.iter().find_map(|own| {
        let words: Vec<&Word> = own.words.iter().filter(|word| !word.stop && !own.is_measured(word)).collect();
        if words.len() < 3 {
            return None;
        }
        let mut reason = None;
        for evidence in cited {
            for clause in &evidence.clauses {
                let found = words.iter().filter(|word| has_word(&clause.words, word, evidence.german)).count();
                if (found as f32) < ALIKE * words.len() as f32 {
                    continue;
                }
                // One clause that agrees is enough.
                reason = Some(turned_in(claim, own, &words, evidence, clause)?);
            }
        }
        reason
    })
}

fn turned_in(claim: &Claim, own: &Clause, words: &[&Word], evidence: &Evidence, clause: &Clause) -> Option<String> {
    // `B was acquired by A` says what `A acquired B` says.
    let other_voice = is_passive(&own.words) != is_passive(&clause.words);
    let places = |word: &Word| -> Vec<usize> {
        let own = clause.words.iter().enumerate().filter(|(_, other)| same_word(other, word, evidence.german));
        own.map(|(at, _)| at).collect()
    };
    let placed: Vec<Vec<usize>> = words.iter().map(|word| places(word)).collect();
    let start = evidence.units[clause.unit].range.start;
    let text = &evidence.passage.text;
    for (i, x) in words.iter().enumerate() {
        for (k, y) in words.iter().enumerate().skip(i + 2) {
            for (j, verb) in words.iter().enumerate().take(k).skip(i + 1) {
                let between = |low: &[usize], mid: &[usize], high: &[usize]| {
                    let mut triples = mid.iter().flat_map(|m| low.iter().map(move |l| (*l, *m)));
                    triples.find_map(|(l, m)| high.iter().find(|h| l < m && m < **h).map(|h| (l, m, *h)))
                };
                let same_way = between(&placed[i], &placed[j], &placed[k]);
                let turned = between(&placed[k], &placed[j], &placed[i]);
                let (right, wrong) = if other_voice { (turned, same_way) } else { (same_way, turned) };
                let (None, Some((first, middle, last))) = (right, wrong) else { continue };
                let said = |from: usize, to: usize| {
                    let range = start + clause.words[from].range.end..start + clause.words[to].range.start;
                    text.get(range).unwrap_or_default()
                };
                let claimed =
                    |from: &Word, to: &Word| claim.text.get(from.range.end..to.range.start).unwrap_or_default();
                let passive = |before: &str, after: &str| has_any(before, &FORMS_OF_BE) && has_any(after, &BY);
                if other_voice
                    && !passive(claimed(x, verb), claimed(verb, y))
                    && !passive(said(first, middle), said(middle, last))
                {
                    continue;
                }
                let is_list =
                    |part: &str| part.contains(',') || has_any(part, &["and", "or", "y", "o", "et", "ou", "e"]);
                let lists = is_list(said(first, last)) || is_list(claimed(x, y));
                // `the pump of the controller of the boat` is a boat's controller pump.
                let of = |part: &str| has_any(part, &["of", "for", "in", "on", "at", "de", "du", "del", "di", "da"]);
                if !lists && !of(said(first, middle)) && !of(claimed(x, verb)) {
                    let (x, y) = (&claim.text[x.range.clone()], &claim.text[y.range.clone()]);
                    return Some(format!("the passage has `{x}` and `{y}` the other way round"));
                }
            }
        }
    }
    None
}

fn has_any(part: &str, words: &[&str]) -> bool {
    part.split(|c: char| !c.is_alphanumeric()).any(|word| words.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// `is … by`, in each of these languages.
fn is_passive(words: &[Word]) -> bool {
    let is = |known: &[&str]| words.iter().any(|word| known.contains(&word.norm.as_str()));
    is(&FORMS_OF_BE) && is(&BY)
}

const FORMS_OF_BE: [&str; 16] = [
    "is", "are", "was", "were", "been", "be", "being", "fue", "fueron", "es", "son", "est", "sont", "été", "sono",
    "foi",
];
const BY: [&str; 4] = ["by", "por", "par", "da"];

/// A word of the claim that no text of the passages has, only a heading above the one they stand under.
pub(super) fn lent(claim: &Claim, cited: &[&Evidence]) -> Option<String> {
    let is_lent = |word: &&Word| {
        let known = |evidence: &&Evidence| evidence.clauses.iter().any(|clause| clause.find(word, evidence.german));
        cited.iter().any(known) && !cited.iter().any(|evidence| has_itself(evidence, word))
    };
    let words = claim.content();
    let word =
        words.iter().copied().filter(|word| !is_light(word) && !tells_a_kind(&word.norm)).find(|w| is_lent(w))?;
    let word = claim.text.get(word.range.clone()).unwrap_or(&word.norm);
    Some(format!("only a heading further up has `{word}`"))
}

/// The passage's text, its title or path, its table's head or the heading right above has the word.
fn has_itself(evidence: &Evidence, word: &Word) -> bool {
    let clauses = evidence.clauses.iter().enumerate().filter(|(_, clause)| {
        !evidence.is_heading(clause.unit) || is_last_of_its_kind(evidence, clause.unit..clause.unit + 1)
    });
    let mut own = clauses.flat_map(|(_, clause)| &clause.words).chain(&evidence.titled);
    own.any(|own| same_word(own, word, evidence.german))
        || evidence.nearest.iter().flatten().any(|own| same_word(own, word, evidence.german))
}

/// A heading that text follows, not another heading.
fn is_last_of_its_kind(evidence: &Evidence, unit: Range<usize>) -> bool {
    unit.end >= evidence.units.len() || !evidence.is_heading(unit.end)
}
