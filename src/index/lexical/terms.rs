//! How the words of a field travel to tantivy: as one text that its tokenizer takes apart again without a thought.
//!
//! The words of one position stand on one line with a tab between them; the line's number is the position. A text
//! without tabs and line feeds is therefore one word at position 0, which is what tantivy's `raw` tokenizer makes of it:
//! the schema names that one, and [`Lines`] stands in for it where an index is written.
//!
//! Good for: many documents. Tantivy's own form of text that comes as tokens travels as JSON, which costs several times
//! what indexing it does. Not for: words with a tab or a line feed in them; the analyzer makes none.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// What [`Lines`] is registered as: what the schema names.
pub(in crate::index) const TOKENIZER: &str = "raw";

/// The words of one field of one document.
#[derive(Debug, Default)]
pub(super) struct Terms {
    text: String,
    line: u32,
}

impl Terms {
    /// Adds a word. Positions must not fall; words of a field without positions may all be at 0.
    pub(super) fn push(&mut self, word: &str, position: u32) {
        debug_assert!(position >= self.line && !word.is_empty() && !word.contains(['\t', '\n']), "{word:?}");
        if position > self.line {
            self.text.extend(std::iter::repeat_n('\n', (position - self.line) as usize));
            self.line = position;
        } else if !self.text.is_empty() {
            self.text.push('\t');
        }
        self.text.push_str(word);
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.line = 0;
    }
}

/// How many words such a text has.
pub(super) fn count(text: &str) -> usize {
    text.split(['\t', '\n']).filter(|word| !word.is_empty()).count()
}

/// Takes [`Terms`] apart.
#[derive(Debug, Clone, Default)]
pub(in crate::index) struct Lines {
    token: Token,
}

/// See [`Lines`].
pub(in crate::index) struct Words<'a> {
    rest: &'a str,
    line: usize,
    token: &'a mut Token,
}

impl Tokenizer for Lines {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        self.token.reset();
        Words { rest: text, line: 0, token: &mut self.token }
    }
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        let bytes = self.rest.as_bytes();
        let mut start = 0;
        while let Some(byte @ (b'\t' | b'\n')) = bytes.get(start) {
            self.line += usize::from(*byte == b'\n');
            start += 1;
        }
        let length = bytes[start..].iter().position(|byte| matches!(byte, b'\t' | b'\n'));
        let end = length.map_or(bytes.len(), |length| start + length);
        if start == end {
            return false;
        }
        self.token.position = self.line;
        self.token.text.clear();
        self.token.text.push_str(&self.rest[start..end]);
        self.rest = &self.rest[end..];
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_apart(text: &str) -> Vec<(String, u32)> {
        let mut lines = Lines::default();
        let mut words = Vec::new();
        lines.token_stream(text).process(&mut |token| {
            assert_eq!(token.position_length, 1);
            words.push((token.text.clone(), token.position as u32));
        });
        words
    }

    #[test]
    fn a_plain_text_is_one_word() {
        assert_eq!(taken_apart("chunk"), [("chunk".to_owned(), 0)]);
        assert!(taken_apart("").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn what_was_packed_is_taken_apart(words in proptest::collection::vec(("[a-zä漢_.0-9]{1,5}", 0u32..4), 0..20)) {
            let mut terms = Terms::default();
            let mut position = 0;
            let mut want = Vec::new();
            for (word, step) in words {
                position += step;
                terms.push(&word, position);
                want.push((word, position));
            }
            assert_eq!(count(terms.as_str()), want.len());
            assert_eq!(taken_apart(terms.as_str()), want);
            terms.clear();
            assert_eq!(terms.as_str(), "");
        }
    }
}
