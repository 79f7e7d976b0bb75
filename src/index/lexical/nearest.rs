//! Which word of the index is spelled almost like one that it does not hold.
//!
//! Words with another first letter are not looked at: people seldom mistype it, and the dictionary is sorted by it.

use std::collections::BTreeMap;

use tantivy::Searcher;

use super::schema::FIELDS;

/// Shorter words are near too many others.
const MIN_LETTERS: usize = 4;
/// From so many letters on two edits are forgiven, else one.
const LONG_LETTERS: usize = 8;
/// No more words of a segment are compared.
const MAX_COMPARED: usize = 200_000;

/// The word fewest edits away; of several the one in most chunks. O(words with its first letter).
pub(in crate::index) fn nearest(searcher: &Searcher, word: &str) -> tantivy::Result<Option<String>> {
    let letters: Vec<char> = word.chars().collect();
    let Some(&first) = letters.first().filter(|_| letters.len() >= MIN_LETTERS) else { return Ok(None) };
    let most = if letters.len() >= LONG_LETTERS { 2 } else { 1 };
    let from = first.to_string();
    // Edits and chunks of each word that is near.
    let mut near: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for reader in searcher.segment_readers() {
        let inverted = reader.inverted_index(FIELDS.exact)?;
        let mut terms = inverted.terms().range().ge(from.as_bytes()).into_stream()?;
        for _ in 0..MAX_COMPARED {
            if !terms.advance() || !terms.key().starts_with(from.as_bytes()) {
                break;
            }
            let Ok(term) = std::str::from_utf8(terms.key()) else { continue };
            // Bytes tell at once that most are too long or too short.
            if term.len().abs_diff(word.len()) > 4 * most || !term.chars().all(char::is_alphabetic) {
                continue;
            }
            let other: Vec<char> = term.chars().collect();
            if let Some(edits) = edits(&letters, &other, most) {
                let entry = near.entry(term.to_owned()).or_insert((edits, 0));
                entry.1 += u64::from(terms.value().doc_freq);
            }
        }
    }
    // A short word that only lacks a letter of the one asked for is more often another word: moon is no misspelt mon.
    let is_word = |other: &str| letters.len() > MIN_LETTERS || other.chars().count() >= letters.len();
    let best = near
        .into_iter()
        .filter(|(term, _)| is_word(term))
        .min_by_key(|(_, (edits, chunks))| (*edits, u64::MAX - chunks));
    Ok(best.map(|(term, _)| term))
}

/// How many letters have to be added, dropped, replaced or swapped with their neighbour, if it is at most `most`.
fn edits(a: &[char], b: &[char], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::testing::index_of;

    #[test]
    fn edits_by_hand() {
        for (a, b, want) in [
            ("refund", "refund", Some(0)),
            ("refnud", "refund", Some(1)),
            ("refun", "refund", Some(1)),
            ("rxfund", "refund", Some(1)),
            ("rfeudn", "refund", Some(2)),
            ("retail", "refund", None),
            ("", "ab", Some(2)),
        ] {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(edits(&letters(a), &letters(b), 2), want, "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_word_is_the_commonest_of_the_nearest() {
        let dir = tempfile::tempdir().unwrap();
        let texts = [("a", "refund refunds"), ("b", "refund regatta Größenänderungen"), ("c", "refuse and reward")];
        let snapshot = index_of(&dir.path().join("i"), None, &texts);
        for (word, want) in [
            ("refumd", Some("refund")),
            ("refnd", Some("refund")),
            ("größenänderungne", Some("größenänderungen")),
            ("wefund", None),
            ("ref", None),
            ("andd", None),
            ("antd", None),
            ("zebra", None),
        ] {
            assert_eq!(snapshot.nearest_word(word).unwrap().as_deref(), want, "{word}");
        }
    }
}
