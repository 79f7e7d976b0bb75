//! A heading asks for its section.

use std::collections::HashMap;

use super::{Candidate, MadeFrom, View, is_content, words};

/// Longer headings are sentences.
const MAX_WORDS: usize = 12;

/// Of headings that stand over one chunk alone: those of many places (`Overview`) ask for none of them.
pub(super) fn make(view: &View<'_>) -> Vec<Candidate> {
    let mut under: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, chunk) in view.chunks.iter().enumerate() {
        if let Some(heading) = chunk.heading.last() {
            under.entry(heading.to_lowercase()).or_default().push(at);
        }
    }
    let mut made = Vec::new();
    for (at, chunk) in view.chunks.iter().enumerate() {
        let Some(heading) = chunk.heading.last() else { continue };
        let text = without_number(heading);
        let is_question = words(text).filter(|word| is_content(word)).count() >= 2 && words(text).count() <= MAX_WORDS;
        if is_question && under.get(&heading.to_lowercase()).is_some_and(|all| all.len() == 1) {
            made.push(view.candidate(at, 0..chunk.text.len(), MadeFrom::Heading, text.to_owned()));
        }
    }
    made
}

/// `3.2 Start the pump` → `Start the pump`.
fn without_number(heading: &str) -> &str {
    let rest = heading.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ')');
    if rest.starts_with(char::is_whitespace) { rest.trim() } else { heading.trim() }
}
