//! Which part of a chunk is worth showing. Pure: a text and the words that match in, a byte range out.
//!
//! The window of about 240 characters that holds the most different matched words, begun and ended where sentences are if
//! that costs little, else between words. Not for: finding the words, which is [`highlight`](super::highlight)'s work.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// The most characters of a snippet.
pub const SNIPPET_CHARS: usize = 240;
/// A snippet may end at a sentence that leaves so many of its characters unused, not more.
const MAY_SPARE: usize = 80;
/// What a further occurrence of a word already in the window is worth, against 1 for a new word.
const REPEATED: f32 = 0.05;

/// A word of the text that matches a word of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Which word of the query.
    pub term: usize,
}

/// The best window of a text, without white space at its ends. `marks` are sorted by place and lie within the text.
/// O(text + marks).
pub(super) fn snippet(text: &str, marks: &[Mark]) -> Range<usize> {
    let page = Page::new(text);
    let window = page.best(marks);
    let (start, end) = page.frame(window);
    page.trimmed(text, start..end)
}

/// What stands within a word that has more than letters.
const TIES: [&str; 6] = ["-", "‐", "/", "\\", "_", "@"];

const WORD_START: u8 = 1;
const WORD_END: u8 = 2;
const SENTENCE_START: u8 = 4;
const SENTENCE_END: u8 = 8;

/// A text by characters: where each stands, and what begins or ends before it.
struct Page {
    /// Byte offset of each character, and the length of the text at the end.
    offsets: Vec<usize>,
    /// Of each offset.
    flags: Vec<u8>,
}

impl Page {
    fn new(text: &str) -> Self {
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut flags = vec![0u8; offsets.len()];
        let mut at = 0;
        let mut begins = true;
        // The part before ties this one to a word: `well-known`, `src/main`.
        let mut tied = false;
        let mut parts = text.split_word_bounds().peekable();
        while let Some(part) = parts.next() {
            let end = at + part.chars().count();
            let space_follows = parts.peek().is_none_or(|next| next.starts_with(char::is_whitespace));
            if part.contains(char::is_alphanumeric) {
                if !tied {
                    flags[at] |= WORD_START;
                }
                if std::mem::take(&mut begins) {
                    flags[at] |= SENTENCE_START;
                }
                if !parts.peek().is_some_and(|next| TIES.contains(next)) {
                    flags[end] |= WORD_END;
                }
            } else if part.contains('\n') {
                flags[at] |= SENTENCE_END;
                begins = true;
            } else if is_full_stop(part, space_follows) {
                flags[end] |= SENTENCE_END;
                begins = true;
            }
            tied = TIES.contains(&part);
            at = end;
        }
        flags[0] |= WORD_START | SENTENCE_START;
        if let Some(last) = flags.last_mut() {
            *last |= WORD_END | SENTENCE_END;
        }
        Self { offsets, flags }
    }

    fn chars(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The character at or before a byte offset.
    fn char_at(&self, byte: usize) -> usize {
        self.offsets.partition_point(|&offset| offset <= byte).saturating_sub(1)
    }

    /// From the first to the last character of the best run of marks that fits; empty at the start without marks. A word
    /// that stands in the text often says less of any one place.
    fn best(&self, marks: &[Mark]) -> Range<usize> {
        let terms = marks.iter().map(|mark| mark.term + 1).max().unwrap_or(0);
        let mut total = vec![0u32; terms];
        marks.iter().for_each(|mark| total[mark.term] += 1);
        let worth = |term: usize| 1.0 / (total[term] as f32).sqrt();
        let place = |mark: &Mark| self.char_at(mark.range.start)..self.char_at(mark.range.end);

        let mut inside = vec![0u32; terms];
        let (mut first, mut distinct) = (0, 0.0f32);
        let mut best = (0.0f32, 0..0);
        for (last, mark) in marks.iter().enumerate() {
            inside[mark.term] += 1;
            if inside[mark.term] == 1 {
                distinct += worth(mark.term);
            }
            let end = place(mark).end;
            while first < last && end.saturating_sub(place(&marks[first]).start) > SNIPPET_CHARS {
                let gone = marks[first].term;
                inside[gone] -= 1;
                if inside[gone] == 0 {
                    distinct -= worth(gone);
                }
                first += 1;
            }
            let value = distinct + REPEATED * (last - first) as f32;
            // Sums of roots round: a later window must be better by more than that.
            if value > best.0 + 1e-4 {
                best = (value, place(&marks[first]).start..end);
            }
        }
        best.1
    }

    /// The snippet around a window: begun at a sentence if the window still fits, filled up, ended at a sentence or word.
    fn frame(&self, window: Range<usize>) -> (usize, usize) {
        let chars = self.chars();
        if chars <= SNIPPET_CHARS {
            return (0, chars);
        }
        let has = |at: usize, flag: u8| self.flags[at] & flag != 0;
        let room = SNIPPET_CHARS.saturating_sub(window.len());
        // Not so early that the window would be cut, not so late that the text ends before the snippet is full.
        let latest = window.start.min(chars - SNIPPET_CHARS);
        let earliest = window.end.saturating_sub(SNIPPET_CHARS).min(latest);
        let wished = window.start.saturating_sub(room / 3).clamp(earliest, latest);
        let start = (earliest..=latest)
            .rev()
            .find(|&at| has(at, SENTENCE_START))
            .or_else(|| (wished..=latest).find(|&at| has(at, WORD_START)))
            .or_else(|| (earliest..wished).rev().find(|&at| has(at, WORD_START)))
            .unwrap_or(wished);
        let full = (start + SNIPPET_CHARS).min(chars);
        let least = window.end.clamp(start, full);
        let end = (least.max(full.saturating_sub(MAY_SPARE))..=full)
            .rev()
            .find(|&at| has(at, SENTENCE_END))
            .or_else(|| (least.max(start + 1)..=full).rev().find(|&at| has(at, WORD_END)))
            .unwrap_or(full);
        (start, end)
    }

    fn trimmed(&self, text: &str, chars: Range<usize>) -> Range<usize> {
        let (start, end) = (self.offsets[chars.start], self.offsets[chars.end]);
        let shown = text.get(start..end).unwrap_or_default();
        let lead = shown.len() - shown.trim_start().len();
        let start = start + lead;
        start..start + shown.trim().len()
    }
}

/// A mark that ends a sentence; the western ones only before space, since they also stand in names and numbers.
fn is_full_stop(part: &str, space_follows: bool) -> bool {
    match part {
        "。" | "！" | "？" | "．" | "।" | "۔" | "؟" => true,
        "." | "!" | "?" | "…" => space_follows,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marks(text: &str, words: &[&str]) -> Vec<Mark> {
        let mut marks: Vec<Mark> = words
            .iter()
            .enumerate()
            .flat_map(|(term, word)| {
                text.match_indices(word).map(move |(at, found)| Mark { range: at..at + found.len(), term })
            })
            .collect();
        marks.sort_by_key(|mark| mark.range.start);
        marks
    }

    fn shown<'a>(text: &'a str, words: &[&str]) -> &'a str {
        &text[snippet(text, &marks(text, words))]
    }

    /// Sentences of 60 characters each, numbered, with a word in each.
    fn sentences(words: &[&str]) -> String {
        words
            .iter()
            .enumerate()
            .map(|(i, word)| format!("Sentence {i:03} {word:>10} and{}. ", " more".repeat(6)))
            .collect()
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        for text in ["", " ", "one", "  two words\n", "日本語"] {
            assert_eq!(shown(text, &["two"]), text.trim());
        }
    }

    #[test]
    fn without_matches_the_beginning_is_shown() {
        let text = sentences(&["alpha"; 20]);
        let found = shown(&text, &[]);
        assert!(found.starts_with("Sentence 000") && found.ends_with('.'), "{found}");
        assert!(found.chars().count() <= SNIPPET_CHARS);
    }

    #[test]
    fn the_window_with_most_different_words_wins() {
        let text = sentences(&[
            "apple", "apple", "apple", "x", "x", "x", "apple", "banana", "x", "x", "x", "x", "x", "cherry", "x", "x",
        ]);
        let found = shown(&text, &["apple", "banana", "cherry"]);
        assert!(found.contains("banana") && found.contains("apple"), "{found}");
        assert!(found.starts_with("Sentence 00") && found.ends_with('.'), "{found}");
        // The last sentence is reached, and the snippet is still full.
        let text = sentences(&["x"; 30]);
        let last = shown(&text, &["029"]);
        assert!(last.contains("029") && last.chars().count() > SNIPPET_CHARS - MAY_SPARE, "{last}");
    }

    #[test]
    fn words_are_not_cut() {
        let text = "unbroken words without any stop ".repeat(40);
        let at = text.len() / 2;
        let at = at + text[at..].find("stop").expect("a stop");
        let range = snippet(&text, &[Mark { range: at..at + 4, term: 0 }]);
        assert!(range.start <= at && at + 4 <= range.end);
        let found = &text[range];
        assert!(
            found.split(' ').all(|word| ["unbroken", "words", "without", "any", "stop"].contains(&word)),
            "{found}"
        );
    }

    #[test]
    fn words_with_hyphens_and_slashes_are_words() {
        let text = "well-known state-of-the-art src/retrieve/snippet.rs ".repeat(30);
        for word in ["known", "art", "retrieve"] {
            let at = text.len() / 2;
            let at = at + text[at..].find(word).expect("a word");
            let found = &text[snippet(&text, &[Mark { range: at..at + word.len(), term: 0 }])];
            assert!(["well-", "state-", "src/"].iter().any(|start| found.starts_with(start)), "{found}");
            assert!(["-known", "-art", ".rs"].iter().any(|end| found.ends_with(end)), "{found}");
        }
    }

    #[test]
    fn chinese_is_cut_between_characters() {
        let text = "这是一个很长的句子没有空格".repeat(40) + "。目标词在这里。" + &"后面还有很多文字".repeat(40);
        let found = shown(&text, &["目标"]);
        assert!(found.starts_with("目标词在这里。"), "{found}");
        assert_eq!(found.chars().count(), SNIPPET_CHARS);
    }

    #[test]
    fn one_endless_word_is_cut_somewhere() {
        let text = "A".repeat(100_000);
        assert_eq!(shown(&text, &[]).len(), SNIPPET_CHARS);
        let whole = [Mark { range: 0..text.len(), term: 0 }];
        assert_eq!(snippet(&text, &whole).len(), SNIPPET_CHARS);
    }

    proptest! {
        #[test]
        fn always_within_the_text_and_the_limit(
            text in "(\\PC|[a-c .\n。]){0,400}",
            picks in prop::collection::vec((any::<prop::sample::Index>(), 0..5usize), 0..12),
        ) {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let mut marks: Vec<Mark> = Vec::new();
            if !places.is_empty() {
                for (pick, term) in picks {
                    let start = *pick.get(&places);
                    let end = text[start..].char_indices().nth(3).map_or(text.len(), |(at, _)| start + at);
                    marks.push(Mark { range: start..end, term });
                }
            }
            marks.sort_by_key(|mark| mark.range.start);
            let range = snippet(&text, &marks);
            prop_assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end));
            let found = &text[range.clone()];
            prop_assert!(found.chars().count() <= SNIPPET_CHARS);
            prop_assert_eq!(found, found.trim());
            prop_assert!(!found.is_empty() || text.trim().is_empty() || text.chars().count() > SNIPPET_CHARS);
            // The space around a mark may be trimmed away, what is left of it may not.
            let held = |mark: &Mark| {
                let word = &text[mark.range.clone()];
                let start = mark.range.start + (word.len() - word.trim_start().len());
                word.trim().is_empty() || (range.start <= start && start + word.trim().len() <= range.end)
            };
            prop_assert!(marks.is_empty() || marks.iter().any(held), "{:?}", marks);
        }
    }
}
