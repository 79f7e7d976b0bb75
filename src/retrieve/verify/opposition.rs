//! Where a passage says otherwise: another number for the same thing, a negation more or less, an opposite, a narrower
//! case, the same names the other way round.

use super::{
    claim::Claim,
    evidence::{Clause, Evidence, binding},
    facts::{Bound, Fact, tells_a_kind},
    has_word,
    names::Name,
    polarity::{are_opposites, denies, has_scope, is_opposable_stop, unclear_words, widened},
};
use crate::retrieve::words::{Word, same_word};

/// A clause whose share of the claim's telling words is this much above that of the clause with the claim's own number
/// is what the claim speaks of.
const MARGIN: f32 = 0.35;
const ABOUT: f32 = 0.65;
/// Clauses that hold so many of the telling words are about the same thing.
const ALIGNED: f32 = 0.5;
const NEAR: f32 = 0.1;

/// Why the passages contradict the claim, if they do.
pub(super) fn contradiction(claim: &Claim, cited: &[&Evidence]) -> Option<String> {
    let said: Vec<Said> =
        cited.iter().flat_map(|evidence| evidence.clauses.iter().map(move |clause| (*evidence, clause))).collect();
    claim.clauses.iter().find_map(|own| {
        let aligned = align(&claim.content_of(own), &[], &said);
        other_number(claim, own, &said)
            .or_else(|| other_count(claim, own, &said))
            .or_else(|| turned_span(claim, own, &said))
            .or_else(|| flipped(claim, own, &said, &aligned))
            .or_else(|| only_denied(claim, own, &said))
            .or_else(|| reversed(claim, &said, &aligned))
    })
}

/// A clause of a passage.
type Said<'a> = (&'a Evidence<'a>, &'a Clause);

/// The share of telling words and facts each clause holds. One tells the more, the fewer clauses have it; what no clause
/// has tells nothing.
fn align(words: &[&Word], facts: &[&Fact], said: &[Said]) -> Vec<f32> {
    let mut shares = vec![0.0; said.len()];
    let mut total = 0.0;
    let by_word =
        words.iter().map(|word| said.iter().map(|(e, clause)| clause.find(word, e.german)).collect::<Vec<bool>>());
    let by_fact = facts.iter().map(|fact| said.iter().map(|(_, clause)| clause.says(fact)).collect::<Vec<bool>>());
    for holds in by_word.chain(by_fact) {
        let count = holds.iter().filter(|h| **h).count();
        if count == 0 {
            continue;
        }
        let weight = (1.0 + said.len() as f32 / count as f32).ln();
        total += weight;
        shares.iter_mut().zip(holds).filter(|(_, h)| *h).for_each(|(share, _)| *share += weight);
    }
    if total > 0.0 {
        shares.iter_mut().for_each(|share| *share /= total);
    }
    shares
}

/// A clause that is far more about what the claim says has another number of the kind.
fn other_number(claim: &Claim, own: &Clause, said: &[Said]) -> Option<String> {
    let words = claim.content_of(own);
    for fact in own.facts.iter().filter(binding) {
        // `… and takes 5 days`: who takes them was said before.
        let bare = !words.is_empty() && words.iter().all(|word| tells_a_kind(&word.norm));
        if bare && fact.is_number() && claim.clauses.len() > 1 {
            continue;
        }
        // Numbers of one kind, `five to seven`, move together: only what else is said tells which thing is meant.
        let others: Vec<&Fact> = own.facts.iter().filter(binding).filter(|other| !fact.is_like(other)).collect();
        let aligned = align(&words, &others, said);
        let best = |keep: &dyn Fn(&Clause) -> bool| {
            let kept = said.iter().zip(&aligned).filter(|((_, clause), _)| keep(clause));
            kept.max_by(|a, b| a.1.total_cmp(b.1)).map(|((evidence, clause), share)| (*evidence, *clause, *share))
        };
        let Some((_, _, mine)) = best(&|clause| clause.says(fact)) else { continue };
        let another = |clause: &Clause, other: &Fact| {
            let like = fact.is_like(other) || clause.row && fact.is_number() && other.is_bare_number();
            binding(&other) && like && !own.facts.iter().any(|known| known.agrees(other))
        };
        let rival = |clause: &Clause| !clause.says(fact) && clause.facts.iter().any(|other| another(clause, other));
        if let Some((evidence, clause, theirs)) = best(&rival)
            && theirs >= ABOUT
            && theirs - mine >= MARGIN
            && let Some(other) = clause.facts.iter().find(|other| another(clause, other))
        {
            return Some(instead(claim, fact, evidence, clause, other));
        }
        if let Some(reason) = other_side(claim, fact, said, &aligned, mine) {
            return Some(reason);
        }
    }
    None
}

fn instead(claim: &Claim, fact: &Fact, evidence: &Evidence, clause: &Clause, other: &Fact) -> String {
    let start = clause_start(evidence, clause);
    let text =
        evidence.passage.text.get(start + other.range.start..start + other.range.end).unwrap_or("another number");
    format!("the passage has `{text}` where the answer has `{}`", &claim.text[fact.range.clone()])
}

/// The claim counts one thing by a number with which the passages count only other things.
fn other_count(claim: &Claim, own: &Clause, said: &[Said]) -> Option<String> {
    for fact in own.facts.iter().filter(binding).filter(|fact| fact.is_number()) {
        let Some(thing) = own.counted(fact) else { continue };
        let mut rival = None;
        let mut elsewhere = true;
        for (evidence, clause) in said {
            for other in clause.facts.iter().filter(|other| other.is_number()) {
                let same_thing = clause.counted(other).map(|word| same_word(word, thing, evidence.german));
                match (fact.agrees(other), same_thing) {
                    (true, Some(false)) => {}
                    (true, _) => elsewhere = false,
                    (false, Some(true)) if fact.is_like(other) => rival = Some((*evidence, *clause, other)),
                    (false, _) => {}
                }
            }
        }
        if let (true, Some((evidence, clause, other))) = (elsewhere, rival) {
            return Some(instead(claim, fact, evidence, clause, other));
        }
    }
    None
}

/// Where a clause's unit begins: its words and facts count from there.
fn clause_start(evidence: &Evidence, clause: &Clause) -> usize {
    evidence.units[clause.unit].range.start
}

/// `at most 30` where the passage says `at least 30`.
fn other_side(claim: &Claim, fact: &Fact, said: &[Said], aligned: &[f32], mine: f32) -> Option<String> {
    let bound = fact.bound()?;
    let about = said.iter().zip(aligned).filter(|(_, share)| **share >= mine - NEAR);
    let bounds: Vec<Option<Bound>> = about
        .filter(|((_, clause), _)| clause.polarity.negations == 0 && !clause.polarity.unclear)
        .flat_map(|((_, clause), _)| clause.facts.iter().filter(|other| fact.agrees(other)).map(|other| other.bound()))
        .collect();
    let opposed = !bounds.is_empty() && bounds.iter().all(|other| other.is_some_and(|other| other != bound));
    let plain = claim.clauses.iter().all(|clause| clause.polarity.negations == 0);
    (opposed && plain).then(|| format!("the passage sets the other limit at `{}`", &claim.text[fact.range.clone()]))
}

/// The clauses that speak of what the claim speaks of all deny what it asserts, or assert what it denies.
fn flipped(claim: &Claim, own: &Clause, said: &[Said], aligned: &[f32]) -> Option<String> {
    let best = aligned.iter().copied().fold(0.0, f32::max);
    if best < ALIGNED {
        return None;
    }
    // `on Mondays it stays closed` is what is said of Mondays, whatever its sentence says before.
    let told = |clause: &Clause| own.facts.iter().filter(binding).all(|fact| clause.says(fact));
    let days = own.facts.iter().any(|fact| binding(&fact) && !fact.is_number());
    let whole = |at: usize| {
        let (evidence, clause) = said[at];
        let same = |other: &Said| std::ptr::eq(other.0, evidence) && other.1.unit == clause.unit;
        said.iter().zip(aligned).filter(|(other, _)| same(other)).map(|(_, share)| *share).sum::<f32>()
    };
    let of_day = days && said.iter().enumerate().any(|(at, (_, clause))| told(clause) && whole(at) >= ALIGNED);
    let mut reason = None;
    for (at, ((evidence, clause), share)) in said.iter().zip(aligned).enumerate() {
        let counts = match of_day {
            true => told(clause) && whole(at) >= ALIGNED,
            false => *share >= (best - NEAR).max(ALIGNED),
        };
        if !counts {
            continue;
        }
        // One clause that agrees is enough.
        reason = Some(conflict(claim, own, evidence, clause)?);
    }
    reason
}

/// A word that the passages have in denials alone, and that the claim asserts: `three eggs and no sugar`.
fn only_denied(claim: &Claim, own: &Clause, said: &[Said]) -> Option<String> {
    if !has_scope(&claim.lang) || own.polarity.negations > 0 || own.polarity.unclear {
        return None;
    }
    claim.content_of(own).into_iter().find_map(|word| {
        let mut denied = false;
        for (evidence, clause) in said {
            for (at, other) in clause.words.iter().enumerate() {
                if !same_word(other, word, evidence.german) {
                    continue;
                }
                let denies = clause.polarity.negated.contains(&at) && !is_warned_of(own, clause, word);
                if clause.polarity.unclear || !denies {
                    return None;
                }
                denied = true;
            }
            if clause.borrowed.iter().any(|other| same_word(other, word, evidence.german)) {
                return None;
            }
        }
        let word = claim.text.get(word.range.clone()).unwrap_or(&word.norm);
        denied.then(|| format!("`{word}` is negated in the passage"))
    })
}

/// `from 5.4 to 6.1` where the passage has `from 6.1 to 5.4`.
fn turned_span(claim: &Claim, own: &Clause, said: &[Said]) -> Option<String> {
    let spans = |clause: &Clause| -> Vec<(Fact, Fact)> {
        let after = |word: &str, fact: &Fact| {
            let before = clause.words.iter().rfind(|before| before.range.end <= fact.range.start);
            before.is_some_and(|before| before.norm == word)
        };
        let numbers: Vec<&Fact> = clause.facts.iter().filter(|fact| fact.is_number()).collect();
        let pairs = numbers.windows(2).filter(|pair| after("from", pair[0]) && after("to", pair[1]));
        pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    };
    let all: Vec<(Fact, Fact)> = said.iter().flat_map(|(_, clause)| spans(clause)).collect();
    spans(own).into_iter().find_map(|(from, to)| {
        let same = all.iter().any(|(a, b)| from.agrees(a) && to.agrees(b));
        let turned = all.iter().any(|(a, b)| from.agrees(b) && to.agrees(a));
        let text = |fact: &Fact| &claim.text[fact.range.clone()];
        (turned && !same).then(|| format!("the passage has `{}` and `{}` the other way round", text(&from), text(&to)))
    })
}

fn conflict(claim: &Claim, own: &Clause, evidence: &Evidence, clause: &Clause) -> Option<String> {
    let german = evidence.german;
    let said = &evidence.passage.text;
    let as_said = |word: &Word| {
        let start = clause_start(evidence, clause);
        said.get(start + word.range.start..start + word.range.end).unwrap_or(&word.norm).to_owned()
    };
    // `is not prohibited` and `is prohibited` deny in the same word, so the rest is plain.
    let unclear =
        (own.polarity.unclear || clause.polarity.unclear) && unclear_words(&own.words) != unclear_words(&clause.words);
    if !has_scope(&claim.lang) {
        if (own.polarity.negations == 0) != (clause.polarity.negations == 0) && !unclear {
            return Some("the passage and the answer differ in a negation".to_owned());
        }
    } else if !unclear {
        let denied = own.polarity.negated.iter().map(|at| &own.words[*at]).find(|word| clause.find(word, german));
        let denied_there =
            clause.polarity.negated.iter().map(|at| &clause.words[*at]).find(|word| has_word(&own.words, word, german));
        match (denied, denied_there) {
            (Some(word), None) => {
                return Some(format!("`{}` is not negated in the passage", &claim.text[word.range.clone()]));
            }
            // Where both deny, and the claim's deed has another word, nothing is turned round.
            (None, Some(word)) if own.polarity.negations == 0 && !is_warned_of(own, clause, word) => {
                return Some(format!("`{}` is negated in the passage", as_said(word)));
            }
            (None, Some(_)) | (Some(_), Some(_)) | (None, None) => {}
        }
    }
    for (at, word) in own.words.iter().enumerate() {
        let silent = word.stop && !is_opposable_stop(&word.norm);
        if silent || own.is_measured(word) || has_word(&clause.words, word, german) {
            continue;
        }
        let negated = own.polarity.negated.contains(&at);
        let opposite = clause.words.iter().enumerate().find(|(there, other)| {
            let opposed = are_opposites(&word.stem, &other.stem) || are_opposites(&word.norm, &other.norm);
            let denied = denies(&other.norm, &word.norm) || denies(&word.norm, &other.norm);
            let same_way = negated == clause.polarity.negated.contains(there);
            let absent = !own.words.iter().any(|mine| mine.norm == other.norm);
            let fits = !word.stop || follows_alike(own, at, clause, *there, german);
            let converse =
                claim.names.len() > 1 && are_converse(std::slice::from_ref(word), std::slice::from_ref(other));
            (opposed || denied) && !converse && same_way && absent && fits && !clause.is_measured(other)
        });
        if let Some((_, other)) = opposite {
            return Some(format!(
                "the passage says `{}`, the answer `{}`",
                as_said(other),
                &claim.text[word.range.clone()]
            ));
        }
    }
    let (wide, narrow) = widened(&own.words, &clause.words)?;
    Some(format!("the passage says `{narrow}`, the answer `{wide}`"))
}

/// `Never mix …` forbids a deed and does not deny it: `Mixing … gives` tells what comes of it.
fn is_warned_of(own: &Clause, clause: &Clause, word: &Word) -> bool {
    let forbids = clause.words.first().is_some_and(|first| matches!(first.norm.as_str(), "never" | "do" | "don't"));
    let deed = own.words.first().filter(|first| first.norm.ends_with("ing"));
    forbids && deed.is_some_and(|deed| same_word(deed, word, false))
}

/// The same word, or a number on both sides, follows two function words.
fn follows_alike(own: &Clause, at: usize, clause: &Clause, there: usize, german: bool) -> bool {
    let figure = |word: &Word| word.norm.starts_with(|c: char| c.is_numeric());
    // `after the gate`, `off the gas`: an article stands between.
    let article =
        |word: &&Word| matches!(word.norm.as_str(), "a" | "an" | "the" | "der" | "die" | "das" | "el" | "la" | "le");
    let next = |words: &[Word], at: usize| words.iter().skip(at + 1).find(|word| !article(word)).cloned();
    match (next(&own.words, at).as_ref(), next(&clause.words, there).as_ref()) {
        (Some(a), Some(b)) => has_word(std::slice::from_ref(a), b, german) && !a.stop || figure(a) && figure(b),
        _ => false,
    }
}

/// What one buys from another, the other sells to him.
fn are_converse(own: &[Word], said: &[Word]) -> bool {
    const CONVERSES: [(&str, &str); 4] = [("buy", "sell"), ("receiv", "give"), ("borrow", "lend"), ("learn", "teach")];
    let has = |words: &[Word], stem: &str| words.iter().any(|word| word.stem == stem);
    CONVERSES.iter().any(|(a, b)| has(own, a) && has(said, b) || has(own, b) && has(said, a))
}

/// Two names stand round one word in the claim, and the other way round in the clause about it.
fn reversed(claim: &Claim, said: &[Said], aligned: &[f32]) -> Option<String> {
    let passive = |words: &[Word]| {
        words.iter().any(|w| {
            matches!(w.norm.as_str(), "by" | "von" | "por" | "par" | "was" | "were" | "been" | "wurde" | "fue")
        })
    };
    let own: Vec<&Word> = claim.clauses.iter().flat_map(|clause| &clause.words).collect();
    let at = |name: &Name| own.iter().position(|word| word.range.start == name.at);
    let pairs = claim.names.windows(2).filter_map(|pair| Some((&pair[0], &pair[1], at(&pair[0])?, at(&pair[1])?)));
    for (first, second, from, to) in pairs {
        // `The head of the Lagos office is Dr. Yusuf` says what `Dr. Yusuf heads the Lagos office` says.
        if matches!(own.get(to.wrapping_sub(1)).map_or("", |word| word.norm.as_str()), "is" | "was" | "are" | "were") {
            continue;
        }
        let between: Vec<&Word> = own.get(from + 1..to)?.iter().copied().filter(|word| !word.stop).collect();
        if between.is_empty() || said.is_empty() {
            continue;
        }
        let mut turned = None;
        for ((evidence, clause), share) in said.iter().zip(aligned) {
            if *share < 0.9 {
                continue;
            }
            let place = |norm: &str| clause.words.iter().position(|word| word.norm == norm);
            let (Some(a), Some(b)) = (place(&first.norm), place(&second.norm)) else { continue };
            let verb = |from: usize, to: usize| {
                clause
                    .words
                    .get(from + 1..to)
                    .is_some_and(|inside| between.iter().any(|w| has_word(inside, w, evidence.german)))
            };
            if a < b && verb(a, b) {
                return None;
            }
            let own_words: Vec<Word> = own.iter().map(|word| (*word).clone()).collect();
            let other_voice = passive(&own_words) != passive(&clause.words);
            if b < a && verb(b, a) && !other_voice && !are_converse(&own_words, &clause.words) {
                turned = Some(format!("the passage has `{}` and `{}` the other way round", first.word, second.word));
            }
        }
        if turned.is_some() {
            return turned;
        }
    }
    None
}
