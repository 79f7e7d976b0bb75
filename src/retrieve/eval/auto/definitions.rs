//! `X is a …`: what is X?

use std::collections::HashMap;

use super::{Candidate, MadeFrom, View, is_content, words};

/// Longer subjects are clauses.
const MAX_WORDS: usize = 5;
/// Fewer words after the subject say too little.
const MIN_SAID: usize = 4;

/// What comes between a subject and what it is.
const IS: [&str; 9] =
    [" is a ", " is an ", " is the ", " are the ", " means ", " refers to ", " ist ein ", " ist eine ", " est un "];

/// Subjects that mean something said before, or nothing.
const EMPTY: [&str; 26] = [
    "it", "this", "that", "these", "those", "there", "he", "she", "they", "we", "you", "who", "which", "what", "where",
    "here", "one", "each", "all", "and", "but", "if", "when", "because", "so", "not",
];

/// Of subjects that are defined once.
pub(super) fn make(view: &View<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (at, range) in view.sentences() {
        let sentence = &view.chunks[at].text[range.clone()];
        if let Some(subject) = subject(sentence) {
            found.push((at, range, subject.to_owned()));
        }
    }
    let mut times: HashMap<String, usize> = HashMap::new();
    found.iter().for_each(|(_, _, subject)| *times.entry(subject.to_lowercase()).or_default() += 1);
    found.retain(|(_, _, subject)| times.get(&subject.to_lowercase()) == Some(&1));
    let question = |(at, range, subject): (usize, _, String)| {
        view.candidate(at, range, MadeFrom::Definition, format!("what is {subject}?"))
    };
    found.into_iter().map(question).collect()
}

/// The subject of a sentence that says what it is, without its article.
fn subject(sentence: &str) -> Option<&str> {
    let (before, after) = IS.iter().filter_map(|is| sentence.split_once(is)).min_by_key(|(before, _)| before.len())?;
    let article = ["The ", "A ", "An ", "Der ", "Die ", "Das "].iter().find_map(|article| before.strip_prefix(article));
    let subject = article.unwrap_or(before).trim();
    let is_name = subject.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | '\''));
    let parts: Vec<&str> = words(subject).collect();
    let is_one = (1..=MAX_WORDS).contains(&parts.len()) && parts.iter().any(|word| is_content(word));
    let is_empty = parts.iter().any(|word| EMPTY.contains(&word.to_lowercase().as_str()));
    (is_name && is_one && !is_empty && words(after).count() >= MIN_SAID).then_some(subject)
}

#[cfg(test)]
mod tests {
    use super::subject;

    #[test]
    fn subjects() {
        for (sentence, want) in [
            ("The shaft seal is a ring that keeps water out.", Some("shaft seal")),
            ("A low_water alarm means that the tank is nearly dry.", Some("low_water alarm")),
            ("Kubernetes is an orchestrator of many containers.", Some("Kubernetes")),
            ("It is a ring that keeps water out.", None),
            ("What it needs is a ring that keeps water out.", None),
            ("If the seal leaks, the pump is a danger to those nearby.", None),
            ("The seal is a ring.", None),
            ("Nothing of the kind.", None),
        ] {
            assert_eq!(subject(sentence), want, "{sentence}");
        }
    }
}
