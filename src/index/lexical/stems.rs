//! The stems of words that come again: most of a text are a few thousand words.
//!
//! Good for: filling an index. Not for: a query, whose words come once.

use super::{analyzer::term, language::Stems, stopwords::is_stop_word};

/// A power of two; a word drives out the one that has its place.
const PLACES: usize = 1 << 13;

/// Longer words are not kept, so that the memory has a bound: about a megabyte.
const MAX_WORD_BYTES: usize = 32;

/// Remembers stems, and which words are on the list of those that say nothing.
#[derive(Default)]
pub(super) struct StemCache {
    /// Empty until the first word comes.
    entries: Vec<Option<Entry>>,
    /// The answer for a word that is not kept.
    other: String,
}

struct Entry {
    language: Stems,
    word: Box<str>,
    /// `None`: the word says nothing.
    stem: Option<Box<str>>,
}

impl StemCache {
    /// What is indexed of a word in lower case: its stem, or if it is not to be stemmed itself; `None` for a stop word.
    pub(super) fn stem(&mut self, language: Stems, word: &str, is_stemmed: bool) -> Option<&str> {
        if !is_stemmed || word.len() > MAX_WORD_BYTES {
            self.other.clear();
            if is_stop_word(word) {
                return None;
            }
            self.other.push_str(&if is_stemmed { language.stem(word) } else { term(word) });
            return Some(&self.other);
        }
        if self.entries.is_empty() {
            self.entries.resize_with(PLACES, || None);
        }
        let place = &mut self.entries[place(word)];
        if !place.as_ref().is_some_and(|entry| *entry.word == *word && entry.language == language) {
            let stem = (!is_stop_word(word)).then(|| language.stem(word).into());
            *place = Some(Entry { language, word: word.into(), stem });
        }
        place.as_ref().and_then(|entry| entry.stem.as_deref())
    }
}

fn place(word: &str) -> usize {
    // FNV-1a, whose upper bits are the better ones.
    let hash = word
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_remembered_stem_is_the_stem(words in proptest::collection::vec(("[a-cs]{1,4}(ing|s|ed)?|the|[a-z]{30,40}|хлебами", 0usize..4, proptest::bool::ANY), 0..200)) {
            let mut cache = StemCache::default();
            let languages = [None, Some("de"), Some("ru"), Some("zh")].map(Stems::of);
            for (word, language, is_stemmed) in words {
                let language = languages[language];
                let want = match (is_stop_word(&word), is_stemmed) {
                    (true, _) => None,
                    (false, true) => Some(language.stem(&word).into_owned()),
                    (false, false) => Some(word.clone()),
                };
                assert_eq!(cache.stem(language, &word, is_stemmed), want.as_deref(), "{word}");
            }
        }
    }
}
