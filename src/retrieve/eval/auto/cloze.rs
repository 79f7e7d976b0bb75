//! A sentence without its rarest word asks for that sentence.

use super::{Candidate, MadeFrom, View, is_content, words};

/// Sentences of fewer words say too little, of more are lists.
const WORDS: std::ops::RangeInclusive<usize> = 8..=40;
/// Words of a question, around the gap.
const KEPT: usize = 10;

/// Of sentences with a word that no other chunk has.
pub(super) fn make(view: &View<'_>) -> Vec<Candidate> {
    let mut made = Vec::new();
    for (at, range) in view.sentences() {
        let all: Vec<&str> = words(&view.chunks[at].text[range.clone()]).collect();
        if !WORDS.contains(&all.len()) {
            continue;
        }
        let is_rare =
            |word: &&str| is_content(word) && word.chars().all(char::is_alphabetic) && view.frequency(word) == 1;
        // Of several the longest, which is most of a name; of equals the first.
        let gap = (0..all.len()).filter(|&i| is_rare(&all[i])).max_by_key(|&i| (all[i].len(), std::cmp::Reverse(i)));
        let Some(gap) = gap else { continue };
        let first = gap.saturating_sub(KEPT / 2).min(all.len().saturating_sub(KEPT + 1));
        let last = (first + KEPT + 1).min(all.len());
        let kept: Vec<&str> = (first..last).filter(|&i| all[i] != all[gap]).map(|i| all[i]).collect();
        made.push(view.candidate(at, range, MadeFrom::Cloze, kept.join(" ")));
    }
    made
}
