//! May two questions that mean nearly the same have one answer? Only if everything that can be compared exactly is equal:
//! numbers, dates, times, names, quotations, negations, and no word of one is the opposite of a word of the other.
//!
//! Useful for: the last word over a similarity of vectors, which hardly sees a digit or a `not`. Not for: finding such
//! questions; two questions without any of these things are always alike here.

use super::{
    names::names,
    polarity::{are_opposites, denies, is_opposable_stop, polarity},
    reading,
};
use crate::retrieve::words::{Tongue, Word, normal};

/// Languages in which numbers and negations are read; a text may be of any, so every reading must agree.
const READINGS: [&str; 5] = ["en", "de", "es", "fr", "zh"];

const QUOTES: [(char, char); 8] =
    [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』'), ('`', '`'), ('‘', '’')];

/// What keeps two questions apart, if anything does. The same in both directions. O(bytes).
pub fn difference(a: &str, b: &str) -> Option<&'static str> {
    if quotations(a) != quotations(b) {
        return Some("quotation");
    }
    READINGS.iter().find_map(|lang| differs(a, b, lang))
}

fn differs(a: &str, b: &str, lang: &str) -> Option<&'static str> {
    let (x, y) = (reading::facts(a, lang), reading::facts(b, lang));
    // In their order: `from 5 to 7` is not `from 7 to 5`.
    let equal = x.len() == y.len()
        && x.iter()
            .zip(&y)
            .all(|(p, q)| p.agrees(q) && q.agrees(p) && p.is_like(q) == p.is_like(p) && p.bound() == q.bound());
    if !equal {
        return Some("number");
    }
    let mut tongue = Tongue::of(Some(lang));
    let mut named = |text: &str| {
        let mut all: Vec<String> =
            names(text, &mut tongue).into_iter().filter(|n| !n.first || n.follows).map(|n| n.norm).collect();
        all.sort();
        all
    };
    if named(a) != named(b) {
        return Some("name");
    }
    let (words_a, words_b) = (tongue.words(a), tongue.words(b));
    let (p, q) = (polarity(a, &words_a, lang), polarity(b, &words_b, lang));
    if p.negations != q.negations || p.unclear != q.unclear {
        return Some("negation");
    }
    is_turned(&words_a, &words_b).then_some("opposite")
}

/// A word that only one of them has is the opposite of one that only the other has.
fn is_turned(a: &[Word], b: &[Word]) -> bool {
    let counts = |word: &&Word| !word.stop || is_opposable_stop(&word.norm);
    let own = |from: &'_ [Word], other: &[Word]| -> Vec<Word> {
        from.iter().filter(counts).filter(|word| other.iter().all(|known| known.norm != word.norm)).cloned().collect()
    };
    let (only_a, only_b) = (own(a, b), own(b, a));
    only_a.iter().any(|x| {
        only_b.iter().any(|y| {
            are_opposites(&x.stem, &y.stem)
                || are_opposites(&x.norm, &y.norm)
                || denies(&x.norm, &y.norm)
                || denies(&y.norm, &x.norm)
        })
    })
}

/// Everything between quotation marks, in order, but for case and space.
fn quotations(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((at, letter)) = rest.char_indices().find(|(_, c)| QUOTES.iter().any(|(open, _)| open == c)) {
        let body = &rest[at + letter.len_utf8()..];
        let end = QUOTES
            .iter()
            .filter(|(open, _)| *open == letter)
            .find_map(|(_, close)| body.find(*close).map(|end| (end, close.len_utf8())));
        match end {
            Some((end, close)) => {
                found.push(normal(&body[..end]).split_whitespace().collect::<Vec<_>>().join(" "));
                rest = &body[end + close..];
            }
            None => rest = body,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_may_share_an_answer() {
        for (a, b) in [
            ("How long is the warranty of the Otter 3?", "what is the warranty period of the Otter 3"),
            ("How do I reset my password?", "how can i reset my password"),
            ("Is it open on 3 May 2024?", "is it open on May 3, 2024?"),
            ("Why is the pump not starting?", "Why isn't the pump starting?"),
            ("What does \"E4\" mean?", "what is the meaning of “E4”"),
            ("Wie lange gilt die Garantie?", "Wie lange gilt die Garantie"),
        ] {
            assert_eq!(difference(a, b), None, "{a} | {b}");
            assert_eq!(difference(b, a), None, "{b} | {a}");
        }
    }

    #[test]
    fn questions_that_may_not() {
        for (a, b, want) in [
            ("How do I reset the Otter 3?", "How do I reset the Otter 4?", "number"),
            ("What is 12 times 7?", "What is 12 times 8?", "number"),
            ("List three reasons", "List four reasons", "number"),
            ("Convert 5 to 7", "Convert 7 to 5", "number"),
            ("Is 5 km far?", "Is 5 miles far?", "number"),
            ("Events of 3 May 2024", "Events of 4 May 2024", "number"),
            ("Is it open on Monday?", "Is it open on Tuesday?", "number"),
            ("Was kostet das für zwei Personen", "Was kostet das für drei Personen", "number"),
            ("Can I return it?", "Can I not return it?", "negation"),
            ("Darf ich das öffnen?", "Darf ich das nicht öffnen?", "negation"),
            ("Is it allowed?", "Is it never allowed?", "negation"),
            ("Which plants tolerate frost, without cover?", "Which plants tolerate frost, with cover?", "negation"),
            ("Translate \"good morning\"", "Translate \"good evening\"", "quotation"),
            ("Explain `fn main`", "Explain `fn test`", "quotation"),
            ("What is the capital of France?", "What is the capital of Spain?", "name"),
            ("Does Berlin have more people than Paris?", "Does Berlin have more people than Rome?", "name"),
            ("How do I enable logging?", "How do I disable logging?", "opposite"),
            ("What is the maximum load?", "What is the minimum load?", "opposite"),
            ("Is the service available?", "Is the service unavailable?", "opposite"),
        ] {
            assert_eq!(difference(a, b), Some(want), "{a} | {b}");
            assert_eq!(difference(b, a), Some(want), "{b} | {a}");
        }
    }
}
