//! The tokenizer of BERT's uncased models: words, then the longest pieces of them that the vocabulary holds.
//!
//! A text is cleaned (controls dropped, marks stripped after canonical decomposition, lower case), split at space, at
//! every punctuation mark and around every ideograph; a word longer than 100 characters, or one that cannot be spelled,
//! is `[UNK]`. All functions are one pass of O(bytes), whatever the text, with a buffer of one word.
//!
//! Useful for: ids for the model, token counts and cuts for the chunker, fertility for the language gate. Not useful for:
//! other vocabularies. Special tokens written out in a text (`[SEP]`) are plain text here: documents cannot forge them.
//!
//! Source of the rules: Devlin et al., `tokenization.py` of BERT (2018); the tests compare with the `tokenizers` crate.

use std::ops::{ControlFlow, Range};

use unicode_normalization::char::decompose_canonical;

mod unicode;
mod vocabulary;

use unicode::{Class, class, is_ideograph};
use vocabulary::{BUILTIN, UNKNOWN, Vocabulary};
#[cfg(feature = "onnx")]
pub(crate) use vocabulary::{CLOSE, OPEN};

/// A longer word is one `[UNK]`.
const MAX_WORD_CHARS: usize = 100;
const MAX_WORD_BYTES: usize = MAX_WORD_CHARS * 4;
/// What an `[UNK]` counts in a text's fertility: about the pieces of a word that splits badly.
const UNKNOWN_WEIGHT: usize = 3;

/// A tokenizer over one vocabulary. Sharing is free; all threads may use it.
pub struct WordPiece {
    vocabulary: &'static Vocabulary,
}

/// How much the vocabulary splits the words of a text. See `ChunkRecord::fertility`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Texture {
    /// Word pieces of the text, special tokens not counted.
    pub tokens: usize,
    /// (pieces of words + words with an accented letter) ÷ words; pieces without a letter or digit left out, `[UNK]`
    /// counts 3; 0 where there is no word. A word is a run of letters and digits.
    pub fertility: f32,
}

/// What a [`Texture`] is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub tokens: usize,
    /// Pieces of words; an `[UNK]` counts [`UNKNOWN_WEIGHT`].
    pieces: usize,
    words: usize,
    /// Words with an accented letter.
    accented: usize,
}

impl Tally {
    pub fn texture(self) -> Texture {
        let fertility = match self.words {
            0 => 0.0,
            words => (self.pieces + self.accented) as f32 / words as f32,
        };
        Texture { tokens: self.tokens, fertility }
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.pieces += other.pieces;
        self.words += other.words;
        self.accented += other.accented;
    }
}

impl WordPiece {
    /// Name and version of the rules and the vocabulary, as the embedding space records them.
    pub const NAME: &str = "bert-uncased-wordpiece/1";

    /// The tokenizer of the built-in model. Costs nothing: its table was laid out when the program was compiled.
    pub fn builtin() -> &'static Self {
        static WORD_PIECE: WordPiece = WordPiece { vocabulary: &BUILTIN };
        &WORD_PIECE
    }

    /// Whether a vocabulary file, a piece a line, is this tokenizer's own.
    pub fn has_vocabulary(&self, lines: &[u8]) -> bool {
        let pieces = |text| <[u8]>::split(text, |&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
        pieces(lines.trim_ascii_end()).eq(pieces(vocabulary::TEXT.trim_ascii_end()))
    }

    /// Token ids without special tokens.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.encode_at_most(text, usize::MAX)
    }

    /// The first `limit` token ids, without special tokens. Stops reading the text there.
    pub fn encode_at_most(&self, text: &str, limit: usize) -> Vec<u32> {
        struct Ids(Vec<u32>, usize);
        impl Sink for Ids {
            fn token(&mut self, id: u32, _: &[u8], _: Range<usize>) -> ControlFlow<()> {
                if self.0.len() >= self.1 {
                    return ControlFlow::Break(());
                }
                self.0.push(id);
                ControlFlow::Continue(())
            }
        }
        let mut ids = Ids(Vec::new(), limit);
        self.scan(text, &mut ids);
        ids.0
    }

    /// How many tokens [`encode`](Self::encode) gives; allocates nothing that grows with the text.
    pub fn count(&self, text: &str) -> usize {
        struct Count(usize);
        impl Sink for Count {
            fn token(&mut self, _: u32, _: &[u8], _: Range<usize>) -> ControlFlow<()> {
                self.0 += 1;
                ControlFlow::Continue(())
            }
        }
        let mut count = Count(0);
        self.scan(text, &mut count);
        count.0
    }

    /// Tokens and fertility in one pass.
    pub fn texture(&self, text: &str) -> Texture {
        self.tally(text).texture()
    }

    /// The sums behind the texture. Those of texts with white space between them add up to those of the whole.
    pub fn tally(&self, text: &str) -> Tally {
        let mut counter = Counter::default();
        self.scan(text, &mut counter);
        counter.tally
    }

    /// The byte range of each token in `text`, ascending; lengths equal [`encode`](Self::encode)'s. A range begins with
    /// the first and ends with the last character that gave the token a letter: dropped characters and stripped marks
    /// between tokens belong to none, and the pieces of one decomposed character share its range.
    pub fn offsets(&self, text: &str) -> Vec<Range<usize>> {
        struct Ranges(Vec<Range<usize>>);
        impl Sink for Ranges {
            const PLACES: bool = true;

            fn token(&mut self, _: u32, _: &[u8], at: Range<usize>) -> ControlFlow<()> {
                self.0.push(at);
                ControlFlow::Continue(())
            }
        }
        let mut ranges = Ranges(Vec::new());
        self.scan(text, &mut ranges);
        ranges.0
    }

    fn scan<S: Sink>(&self, text: &str, sink: &mut S) {
        let places = if S::PLACES { vec![(0, 0); MAX_WORD_BYTES] } else { Vec::new() };
        let mut scanner = Scanner {
            vocabulary: self.vocabulary,
            sink,
            word: Word::new(places),
            pieces: [(0, 0); MAX_WORD_CHARS],
            ended: false,
        };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && !scanner.ended {
            let run = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            if run > 0 {
                scanner.sink.character(Part::Letter);
                scanner.word.push_run(&bytes[at..at + run], at);
                at += run;
            } else if bytes[at].is_ascii() {
                scanner.ascii(bytes[at], at);
                at += 1;
            } else {
                let Some(c) = text[at..].chars().next() else { break };
                scanner.beyond_ascii(c, at..at + c.len_utf8());
                at += c.len_utf8();
            }
        }
        if !scanner.ended {
            scanner.end_word();
        }
    }
}

/// What is done with the tokens of a text.
trait Sink {
    /// The ranges of tokens are wanted; without, they are empty.
    const PLACES: bool = false;

    /// Takes a token: its id, its letters (without `##`; for `[UNK]` none), its byte range in the text. `Break` ends the scan.
    fn token(&mut self, id: u32, piece: &[u8], at: Range<usize>) -> ControlFlow<()>;

    /// Takes what a character of the text is to the words of its language. Dropped characters are not told.
    fn character(&mut self, _: Part) {}
}

/// What a character is to a word in the plain sense: a run of letters and digits.
enum Part {
    Letter,
    /// A mark on the letter before it, written apart or part of it.
    Accent,
    Gap,
}

/// Makes a [`Tally`].
#[derive(Default)]
struct Counter {
    tally: Tally,
    in_word: bool,
    has_accent: bool,
}

impl Sink for Counter {
    fn token(&mut self, id: u32, piece: &[u8], _: Range<usize>) -> ControlFlow<()> {
        self.tally.tokens += 1;
        if id == UNKNOWN {
            self.tally.pieces += UNKNOWN_WEIGHT;
        } else if has_letter(piece) {
            self.tally.pieces += 1;
        }
        ControlFlow::Continue(())
    }

    fn character(&mut self, part: Part) {
        match part {
            Part::Letter if self.in_word => {}
            Part::Letter => {
                self.tally.words += 1;
                (self.in_word, self.has_accent) = (true, false);
            }
            Part::Accent => {
                if self.in_word && !self.has_accent {
                    self.tally.accented += 1;
                    self.has_accent = true;
                }
            }
            Part::Gap => self.in_word = false,
        }
    }
}

fn has_letter(piece: &[u8]) -> bool {
    piece.first().is_some_and(u8::is_ascii_alphanumeric)
        || std::str::from_utf8(piece).is_ok_and(|piece| piece.chars().any(char::is_alphanumeric))
}

/// Cleans and splits the text, a character at a time.
struct Scanner<'s, S> {
    vocabulary: &'static Vocabulary,
    sink: &'s mut S,
    word: Word,
    /// The pieces of the word that is being spelled, each with its id and where it ends.
    pieces: [(u16, u16); MAX_WORD_CHARS],
    /// The sink wants no more.
    ended: bool,
}

impl<S: Sink> Scanner<'_, S> {
    /// Takes an ASCII character that is neither a letter nor a digit.
    fn ascii(&mut self, byte: u8, start: usize) {
        if byte.is_ascii_punctuation() {
            self.sink.character(Part::Gap);
            self.end_word();
            self.word.push_run(&[byte], start);
            self.end_word();
        } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            self.sink.character(Part::Gap);
            self.end_word();
        }
        // The rest are controls, which are dropped, form feeds and vertical tabs among them.
    }

    fn beyond_ascii(&mut self, c: char, at: Range<usize>) {
        match class(c) {
            Class::Dropped => return,
            // The decomposition tells of it.
            Class::Mark => {}
            Class::Letter | Class::Punctuation if c.is_alphanumeric() => self.sink.character(Part::Letter),
            Class::Letter | Class::Punctuation => self.sink.character(Part::Gap),
        }
        if c.is_whitespace() {
            return self.end_word();
        }
        let alone = is_ideograph(c);
        if alone {
            self.end_word();
        }
        // Marks need no canonical order: nearly all are stripped, and the vocabulary has none of the few that stay.
        decompose_canonical(c, |part| {
            if !part.is_ascii() && class(part) == Class::Mark {
                self.sink.character(Part::Accent);
            } else {
                part.to_lowercase().for_each(|letter| self.letter(letter, &at));
            }
        });
        if alone {
            self.end_word();
        }
    }

    /// Takes a cleaned character: of a word, or a mark of punctuation that is a word alone.
    fn letter(&mut self, letter: char, at: &Range<usize>) {
        let alone = if letter.is_ascii() { letter.is_ascii_punctuation() } else { class(letter) == Class::Punctuation };
        if alone {
            self.end_word();
        }
        self.word.push(letter, at);
        if alone {
            self.end_word();
        }
    }

    /// Spells the word with pieces, each the longest there is, and begins the next word.
    fn end_word(&mut self) {
        if self.word.chars > 0 && !self.ended {
            self.ended = self.spell().is_break();
        }
        self.word.clear();
    }

    fn spell(&mut self) -> ControlFlow<()> {
        let word = &self.word;
        let letters = word.letters();
        let unknown = (UNKNOWN, &[][..], word.start..word.end);
        if word.chars > MAX_WORD_CHARS {
            return self.sink.token(unknown.0, unknown.1, unknown.2);
        }
        // A word is told only when the last of it is spelled: one gap makes the whole of it unknown.
        let pieces = &mut self.pieces;
        let (mut count, mut start) = (0, 0);
        while start < letters.len() {
            let Some((id, end)) = self.vocabulary.longest(letters, start) else {
                return self.sink.token(unknown.0, unknown.1, unknown.2);
            };
            if end - start == letters.len() {
                // Most words are one piece.
                return self.sink.token(id, letters, word.range(0, end));
            }
            pieces[count] = (id as u16, end as u16);
            (count, start) = (count + 1, end);
        }
        start = 0;
        for &(id, end) in &pieces[..count] {
            let end = usize::from(end);
            self.sink.token(u32::from(id), &letters[start..end], word.range(start, end))?;
            start = end;
        }
        ControlFlow::Continue(())
    }
}

/// One cleaned word, and where its letters stood in the text. Holds [`MAX_WORD_CHARS`]; more are counted, not kept.
struct Word {
    bytes: [u8; MAX_WORD_BYTES],
    len: usize,
    chars: usize,
    /// If ranges are wanted: at a character's first byte where its source begins, at its last where that ends.
    places: Vec<(usize, usize)>,
    start: usize,
    end: usize,
}

impl Word {
    fn new(places: Vec<(usize, usize)>) -> Self {
        Self { bytes: [0; MAX_WORD_BYTES], len: 0, chars: 0, places, start: 0, end: 0 }
    }

    fn clear(&mut self) {
        (self.len, self.chars) = (0, 0);
    }

    fn letters(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Where the letters `start..end` come from.
    fn range(&self, start: usize, end: usize) -> Range<usize> {
        match (self.places.get(start), self.places.get(end - 1)) {
            (Some((from, _)), Some((_, to))) => *from..*to,
            _ => 0..0,
        }
    }

    fn push(&mut self, c: char, at: &Range<usize>) {
        self.extend(at, 1);
        if self.chars <= MAX_WORD_CHARS {
            let end = self.len + c.encode_utf8(&mut self.bytes[self.len..]).len();
            if !self.places.is_empty() {
                self.places[self.len].0 = at.start;
                self.places[end - 1].1 = at.end;
            }
            self.len = end;
        }
    }

    /// Adds a run of ASCII characters, in lower case.
    fn push_run(&mut self, run: &[u8], start: usize) {
        let room = MAX_WORD_CHARS.saturating_sub(self.chars).min(run.len());
        self.extend(&(start..start + run.len()), run.len());
        for (at, byte) in run[..room].iter().enumerate() {
            self.bytes[self.len] = byte.to_ascii_lowercase();
            if !self.places.is_empty() {
                self.places[self.len] = (start + at, start + at + 1);
            }
            self.len += 1;
        }
    }

    fn extend(&mut self, at: &Range<usize>, chars: usize) {
        if self.chars == 0 {
            self.start = at.start;
        }
        self.end = at.end;
        self.chars += chars;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> String {
        let ranges = WordPiece::builtin().offsets(text);
        ranges.into_iter().map(|at| &text[at]).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn texts_fall_into_words_and_pieces() {
        for (text, want) in [
            ("", ""),
            (" \t\r\n\u{a0}\u{3000}", ""),
            ("\0\u{fffd}\u{200b}\u{ad}\u{7f}", ""),
            ("High water", "High|water"),
            ("unaffable", "una|ffa|ble"),
            ("don't stop!!", "don|'|t|stop|!|!"),
            ("a$b=c^d`e", "a|$|b|=|c|^|d|`|e"),
            // A soft hyphen or a form feed is dropped inside its word.
            ("wa\u{ad}ter \x0c", "wa\u{ad}ter"),
            // A stripped mark belongs to no token; a composed letter is one range.
            ("cafe\u{301} café", "cafe|café"),
            ("東京tower", "東|京|tower"),
            ("\u{f900}", "\u{f900}"),
            ("İ ﬁ", "İ|ﬁ"),
            ("[SEP]", "[|SEP|]"),
            ("😀", "😀"),
        ] {
            assert_eq!(pieces(text), want, "{text:?}");
        }
    }

    #[test]
    fn the_ids_of_a_known_sentence() {
        let word_piece = WordPiece::builtin();
        assert_eq!(word_piece.encode("Hello, wörld!"), [7592, 1010, 2088, 999]);
        assert_eq!(word_piece.encode("😀 [SEP]"), [100, 1031, 19802, 1033]);
    }

    #[test]
    fn a_word_has_at_most_a_hundred_characters() {
        let word_piece = WordPiece::builtin();
        assert_ne!(word_piece.encode(&"a".repeat(100)), [UNKNOWN]);
        for length in [101, 1000, 70_000] {
            let word = "ä".repeat(length);
            assert_eq!(word_piece.encode(&word), [UNKNOWN], "{length}");
            let offsets = word_piece.offsets(&word);
            assert_eq!((offsets.len(), &offsets[0]), (1, &(0..2 * length)));
        }
    }

    #[test]
    fn a_limit_cuts_inside_a_word_too() {
        let word_piece = WordPiece::builtin();
        let all = word_piece.encode("unaffable water, unaffable");
        for limit in 0..=all.len() + 1 {
            let got = word_piece.encode_at_most("unaffable water, unaffable", limit);
            assert_eq!(got, all[..limit.min(all.len())]);
        }
    }

    #[test]
    fn fertility_counts_pieces_of_words_and_accents() {
        let word_piece = WordPiece::builtin();
        for (text, tokens, fertility) in [
            ("", 0, 0.0),
            ("-- ... !", 6, 0.0),
            ("high water", 2, 1.0),
            ("high, water.", 4, 1.0),
            // `una` `ffa` `ble`
            ("unaffable", 3, 3.0),
            ("snake_case", 3, 1.0),
            ("don't", 3, 1.0),
            // One piece and one accent, written either way; two accents count once.
            ("café", 1, 2.0),
            ("cafe\u{301}", 1, 2.0),
            ("c\u{301}afé", 1, 2.0),
            // Ideographs are one word, and an accent of the next word is not lost.
            ("東京", 2, 2.0),
            ("é é", 2, 2.0),
            // An unknown word counts 3, and a mark after a gap is no accent.
            ("\u{1f600}\u{301} a", 2, 4.0),
        ] {
            let got = word_piece.texture(text);
            assert_eq!((got.tokens, got.fertility), (tokens, fertility), "{text:?}");
        }
    }
}
