//! Does a passage say what a sentence says? Answered from words, numbers, names, quotations and negations alone.
//!
//! Useful for: flagging invented numbers and names, flipped negations, swapped amounts, and sentences about something
//! else; the same input always gives the same verdict. Not for: entailment that needs knowledge or reasoning: a true
//! paraphrase in other words is `weak`, as is a sentence with a word that its passages have in no form, and a sum of two
//! numbers is `unsupported`.

mod alike;
mod calendar;
mod claim;
mod evidence;
mod facts;
mod mixed;
mod names;
mod numerals;
mod opposition;
mod polarity;
mod quote;
mod reading;
mod sections;
mod strangers;
mod together;
mod units;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod pairs;

pub use alike::difference;
pub(super) use evidence::{plain, units_of};
pub(super) use facts::tells_a_kind;
pub(super) use polarity::{is_abstention, is_negation};
pub(super) use quote::{best_quote, part};

use claim::Claim;
use evidence::Evidence;
use facts::Fact;

use super::{Support, passages::Passage, sentences::Kind, words::same_word};

/// Share of a sentence's content words that a passage must hold to support it.
pub(super) const SUPPORTED: f32 = 0.6;
/// Share below which a sentence is about something else.
pub(super) const WEAK: f32 = 0.35;
/// Words strewn over a whole passage count less than words that stand together,
const STREWN: f32 = 0.8;
/// and never so much that they support a sentence.
const STREWN_MOST: f32 = 0.55;

/// A word names a month in a date.
pub(super) fn is_month(word: &str) -> bool {
    calendar::month_of(word).is_some()
}

/// A word names a day of the week.
pub(super) fn is_day(word: &str) -> bool {
    calendar::weekday_of(word).is_some()
        || word.strip_suffix('s').is_some_and(|day| calendar::weekday_of(day).is_some())
}

/// A text holds a number, a date, a time or a day.
pub(super) fn has_figure(text: &str, lang: &str) -> bool {
    reading::facts(text, lang).iter().any(|fact| evidence::binding(&fact))
}

/// A text holds a date.
pub(super) fn has_date(text: &str, lang: &str) -> bool {
    reading::facts(text, lang).iter().any(Fact::is_date)
}

/// A text holds a sum of money.
pub(super) fn has_sum(text: &str, lang: &str) -> bool {
    reading::facts(text, lang).iter().any(Fact::is_money)
}

/// What a sentence is worth against the passages it cites.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub state: Support,
    /// Share of the sentence's content words found, 0..1.
    pub score: f32,
    /// Why it is not supported, for people.
    pub reason: Option<String>,
    /// Something of the sentence contradicts the passages or is missing from them, whatever its words.
    pub mismatch: bool,
}

/// Passages prepared for checking.
pub(super) struct Checker<'p> {
    evidence: Vec<Evidence<'p>>,
    question: String,
}

impl<'p> Checker<'p> {
    /// O(bytes of the passages).
    pub fn new(passages: &'p [Passage], question: &str) -> Self {
        Self { evidence: passages.iter().map(Evidence::new).collect(), question: question.to_owned() }
    }

    pub fn len(&self) -> usize {
        self.evidence.len()
    }

    /// Prepares a sentence (without markers) for checking, in each language of the passages.
    pub fn claim(&self, sentence: &str, kind: Kind) -> Prepared {
        let mut by_lang: Vec<Claim> = Vec::new();
        for evidence in &self.evidence {
            if by_lang.iter().all(|claim| claim.lang != evidence.lang) {
                by_lang.push(Claim::new(sentence, &self.question, &evidence.lang));
            }
        }
        Prepared { text: sentence.to_owned(), kind, by_lang }
    }

    /// Checks a sentence against passages, by index, taken together.
    pub fn judge(&self, sentence: &Prepared, cited: &[usize]) -> Verdict {
        let cited: Vec<&Evidence> = cited.iter().filter_map(|at| self.evidence.get(*at)).collect();
        let Some(claim) = cited.first().and_then(|first| sentence.in_language_of(first)) else {
            return Verdict {
                state: Support::Unsupported,
                score: 0.0,
                reason: Some("it cites no passage".into()),
                mismatch: false,
            };
        };
        if sentence.kind == Kind::Code {
            return code(&sentence.text, &cited);
        }
        let found = together::coverage(claim, &cited);
        let score = found.near.max((STREWN * found.anywhere).min(STREWN_MOST));
        let missing = self.missing(claim, &cited);
        if let Some(Missing::Hard(reason)) = missing {
            return Verdict { state: Support::Unsupported, score, reason: Some(reason), mismatch: true };
        }
        if let Some(reason) = opposition::contradiction(claim, &cited).or_else(|| mixed::swapped(claim, &cited)) {
            return Verdict { state: Support::Unsupported, score, reason: Some(reason), mismatch: true };
        }
        if !claim.has_words() {
            let reason = Some("it is too short to be checked".to_owned());
            return Verdict { state: Support::Weak, score: 0.0, reason, mismatch: false };
        }
        let few = || {
            let near = format!("{:.0} % of its words are in the passage", found.near * 100.0);
            let strewn = found.anywhere > found.near;
            if strewn { format!("{near} together, {:.0} % strewn over it", found.anywhere * 100.0) } else { near }
        };
        if score < WEAK {
            return Verdict { state: Support::Unsupported, score, reason: Some(few()), mismatch: false };
        }
        let reason = match missing {
            Some(Missing::Soft(reason)) if score >= SUPPORTED => Some(reason),
            _ => together::apart(claim, &cited, &self.evidence)
                .or_else(|| (score < SUPPORTED).then(few))
                .or_else(|| mixed::turned(claim, &cited))
                .or_else(|| mixed::merged(claim, &cited))
                .or_else(|| mixed::lent(claim, &cited))
                .or_else(|| strangers::strange(claim, &cited)),
        };
        let state = if reason.is_none() { Support::Supported } else { Support::Weak };
        Verdict { state, score, reason, mismatch: false }
    }

    /// The first number, name or quotation of a claim that the passages do not have.
    fn missing(&self, claim: &Claim, cited: &[&Evidence]) -> Option<Missing> {
        let place = if cited.len() == 1 { "the passage" } else { "the passages" };
        for fact in claim.facts.iter().filter(|fact| !fact.soft) {
            if !cited.iter().any(|evidence| fact.is_in(&evidence.facts, &evidence.squeezed)) {
                return Some(Missing::Hard(format!("`{}` is not in {place}", &claim.text[fact.range.clone()])));
            }
        }
        for quotation in &claim.quotations {
            if !quotation.iter().all(|part| cited.iter().any(|evidence| evidence.plain.contains(part.as_str()))) {
                return Some(Missing::Hard(format!("\"{}\" is not said so in {place}", quotation.join(" … "))));
            }
        }
        let mut soft = None;
        for name in claim.names_missing_from(cited, &self.evidence) {
            if claim.is_of_question(&name) {
                soft = Some(Missing::Soft(format!("`{name}` is in the question, not in {place}")));
            } else {
                return Some(Missing::Hard(format!("`{name}` is not in {place}")));
            }
        }
        soft
    }
}

/// A sentence prepared for checking.
pub(super) struct Prepared {
    text: String,
    kind: Kind,
    by_lang: Vec<Claim>,
}

impl Prepared {
    fn in_language_of(&self, evidence: &Evidence) -> Option<&Claim> {
        self.by_lang.iter().find(|claim| claim.lang == evidence.lang)
    }
}

enum Missing {
    Hard(String),
    Soft(String),
}

/// Code is supported if its lines stand in the passages as they are.
fn code(block: &str, cited: &[&Evidence]) -> Verdict {
    let lines: Vec<String> = block
        .lines()
        .filter(|line| !line.trim_start().starts_with("```") && !line.trim_start().starts_with("~~~"))
        .map(|line| evidence::plain(line).trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let found = lines.iter().filter(|line| cited.iter().any(|evidence| evidence.plain.contains(line.as_str()))).count();
    let score = if lines.is_empty() { 0.0 } else { found as f32 / lines.len() as f32 };
    let whole = found == lines.len() && found > 0;
    let state = if whole { Support::Supported } else { Support::Unsupported };
    let reason =
        (!whole).then(|| format!("{} of its {} lines are not in the passage", lines.len() - found, lines.len()));
    Verdict { state, score, reason, mismatch: !whole }
}

/// Whether a word of the claim is one of these.
fn has_word(words: &[super::words::Word], word: &super::words::Word, german: bool) -> bool {
    words.iter().any(|own| same_word(own, word, german))
}
