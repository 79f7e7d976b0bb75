//! A name as programs write it asks for the place that has it.

use super::{Candidate, MadeFrom, View, words};
use crate::retrieve::plan::holds_identifier;

/// Longer ones are data.
const MAX_CHARS: usize = 60;

/// Of names that stand in one chunk alone.
pub(super) fn make(view: &View<'_>) -> Vec<Candidate> {
    let mut made = Vec::new();
    for (at, chunk) in view.chunks.iter().enumerate() {
        for word in words(&chunk.text) {
            let is_name = holds_identifier(word) && word.chars().count() <= MAX_CHARS;
            if is_name && view.frequency(word) == 1 {
                // It is no more than a place to look at: a longer name that begins with it stands in the same chunk.
                let start = chunk.text.find(word).unwrap_or(0);
                made.push(view.candidate(at, start..start + word.len(), MadeFrom::Identifier, word.to_owned()));
            }
        }
    }
    made
}
