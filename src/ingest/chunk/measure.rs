//! How large a text is, in word pieces of the encoder, and how much it looks like code.

use crate::model::wordpiece::{Tally, WordPiece};

/// From this fertility on the encoder does not know the language (RETRIEVAL recipe: its trust is gone at 2.1), and a
/// text is measured by characters: cut by pieces it would fall into crumbs.
pub const FOREIGN_FERTILITY: f32 = 2.1;

/// So many characters of a foreign text count as one token: 200 tokens are about 1,000 characters.
const FOREIGN_CHARS: usize = 5;

/// One token stands for at most so many characters that are not space. Longer words (base64, minified code) are one
/// unknown piece to the encoder, however long, and must not slip through as small.
const DENSE_CHARS: usize = 8;

/// One token stands for at most so many bytes, white space included.
const SPARSE_BYTES: usize = 64;

/// Of a longer block only so much is looked at to tell its language.
const SAMPLE_BYTES: usize = 4 << 10;

/// A sample of fewer word pieces proves nothing about its language.
const SAMPLE_TOKENS: usize = 60;

/// How texts of one language are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    foreign: bool,
}

impl Measure {
    /// The measure for a whole document: by its beginning and its middle.
    pub fn of_document(text: &str) -> Self {
        let half = text.floor_char_boundary(text.len() / 2);
        let samples = [sample(text), sample(&text[half..])].map(|sample| WordPiece::builtin().texture(sample));
        let tokens = samples.iter().map(|texture| texture.tokens).sum::<usize>().max(1) as f32;
        let weighted: f32 = samples.iter().map(|texture| texture.fertility * texture.tokens as f32).sum();
        Self { foreign: weighted / tokens > FOREIGN_FERTILITY }
    }

    /// The measure for a part of a document: its own language where there is enough of it. `tally`: the part's, if it is
    /// known.
    pub fn of_part(self, text: &str, tally: Option<Tally>) -> Self {
        // A piece has a byte at least.
        if text.len() < SAMPLE_TOKENS {
            return self;
        }
        let tally = tally.filter(|_| text.len() <= SAMPLE_BYTES);
        let texture = tally.unwrap_or_else(|| WordPiece::builtin().tally(sample(text))).texture();
        if texture.tokens < SAMPLE_TOKENS { self } else { Self { foreign: texture.fertility > FOREIGN_FERTILITY } }
    }

    /// Size in tokens, or what counts as such. At least 1 for a text that is not white space; sizes of words add up to no
    /// less than the size of their text. O(n).
    pub fn size(self, text: &str) -> usize {
        if self.foreign { foreign_size(text) } else { own_size(text, WordPiece::builtin().count(text)) }
    }

    /// The size of a text whose word pieces are counted.
    pub fn size_of(self, text: &str, tally: Tally) -> usize {
        if self.foreign { foreign_size(text) } else { own_size(text, tally.tokens) }
    }
}

fn foreign_size(text: &str) -> usize {
    text.chars().count().div_ceil(FOREIGN_CHARS)
}

fn own_size(text: &str, pieces: usize) -> usize {
    // At a piece in so many bytes the text is neither dense nor sparse, whatever its characters are.
    if pieces >= text.len().div_ceil(DENSE_CHARS) {
        return pieces;
    }
    let solid = text.chars().filter(|c| !c.is_whitespace()).count();
    pieces.max(solid.div_ceil(DENSE_CHARS)).max(text.len() / SPARSE_BYTES)
}

/// The tally of `start..end` of a text from those of the parts that tile it, white space between them aside; `None` if
/// one is not known, or no white space parts it from the one before it.
pub fn sum(text: &str, parts: impl Iterator<Item = (usize, Option<Tally>)>) -> Option<Tally> {
    let mut total = Tally::default();
    for (at, (start, tally)) in parts.enumerate() {
        let before = start.checked_sub(1).and_then(|before| text.as_bytes().get(before));
        if at > 0 && !matches!(before, Some(b' ' | b'\n')) {
            return None;
        }
        total += tally?;
    }
    Some(total)
}

fn sample(text: &str) -> &str {
    &text[..text.floor_char_boundary(SAMPLE_BYTES)]
}

/// Share of code-like characters among those that are not space, 0..1 (RETRIEVAL recipe; over 0.065 is code).
pub fn code_share(text: &str) -> f32 {
    let (mut solid, mut code) = (0u64, 0u64);
    for &byte in text.as_bytes() {
        match KINDS[usize::from(byte)] {
            CODE => (solid, code) = (solid + 1, code + 1),
            SOLID => solid += 1,
            _ => {}
        }
    }
    if !text.is_ascii() {
        solid -= text.chars().filter(|c| !c.is_ascii() && c.is_whitespace()).count() as u64;
    }
    if solid == 0 { 0.0 } else { (code as f64 / solid as f64) as f32 }
}

/// White space, and bytes that only go on with a character.
const NOTHING: u8 = 0;
/// The first byte of a character that is not ASCII white space.
const SOLID: u8 = 1;
/// A mark that code is full of.
const CODE: u8 = 2;

static KINDS: [u8; 256] = {
    let mut kinds = [SOLID; 256];
    let marks = b"(){}[]_=;<>:#\\/*+|&%$\"'`@";
    let mut at = 0;
    while at < marks.len() {
        kinds[marks[at] as usize] = CODE;
        at += 1;
    }
    let mut byte = 0;
    while byte < 256 {
        // The white space of `char::is_whitespace`, and continuation bytes.
        if matches!(byte, 9..=13 | 32 | 0x80..=0xbf) {
            kinds[byte] = NOTHING;
        }
        byte += 1;
    }
    kinds
};

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: &str = "The pump must be started only when the inlet valve is open and the oil has been checked. ";
    const RUSSIAN: &str = "Насос разрешается включать только при открытом впускном клапане и после проверки масла. ";

    #[test]
    fn foreign_text_is_measured_by_characters() {
        let english = Measure::of_document(&ENGLISH.repeat(9));
        let russian = Measure::of_document(&RUSSIAN.repeat(9));
        assert_eq!((english.foreign, russian.foreign), (false, true));
        assert_eq!(russian.size(&"ы".repeat(1000)), 200);
        assert!(english.of_part(&RUSSIAN.repeat(9), None).foreign);
        assert!(!russian.of_part(&ENGLISH.repeat(9), None).foreign);
        assert!(russian.of_part("short", None).foreign, "too little to tell");
    }

    #[test]
    fn nothing_large_is_small() {
        let measure = Measure::of_document(ENGLISH);
        assert!(measure.size(&"x".repeat(80_000)) >= 10_000);
        assert!(measure.size(&" ".repeat(64_000)) >= 1_000);
        assert!(measure.size("\u{ad}") >= 1);
        assert_eq!(measure.size(""), 0);
    }

    #[test]
    fn code_has_more_marks_than_prose() {
        assert!(code_share("fn main() { let x = vec![1, 2]; println!(\"{x:?}\"); }") > 0.2);
        assert!(code_share(ENGLISH) < 0.05);
        assert_eq!(code_share(" \n"), 0.0);
    }

    proptest::proptest! {
        #[test]
        fn parts_add_up(parts in proptest::collection::vec("[a-zéñ漢ы\u{301}\u{ad}._ -]{0,9}[ \n]{0,2}", 1..9)) {
            let text = parts.concat();
            let mut start = 0;
            let tallies: Vec<_> = parts.iter().map(|part| {
                start += part.len();
                (start - part.len(), Some(WordPiece::builtin().tally(part)))
            }).collect();
            let is_apart = |&(start, _): &(usize, _)| start == 0 || text[..start].ends_with([' ', '\n']);
            let whole = WordPiece::builtin().tally(&text);
            let apart = tallies.iter().skip(1).all(is_apart);
            // The first part may be empty, so that the second begins the text.
            if tallies.iter().skip(1).all(|(start, _)| *start > 0) {
                assert_eq!(sum(&text, tallies.into_iter()), apart.then_some(whole), "{text:?}");
            }
        }

        #[test]
        fn the_share_of_code_is_counted_by_characters(text in "[a-z(){;é漢\u{a0}\u{85}\u{2003} \n\t\u{b}]{0,30}") {
            let solid: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
            let code = solid.iter().filter(|c| "(){;".contains(**c)).count();
            let want = if solid.is_empty() { 0.0 } else { (code as f64 / solid.len() as f64) as f32 };
            assert_eq!(code_share(&text), want);
        }

        #[test]
        fn a_size_is_that_of_the_dense_and_the_sparse(text in "[a-z]{0,60}( {0,90}[a-z漢]{0,30}){0,3}") {
            let pieces = WordPiece::builtin().count(&text);
            let solid = text.chars().filter(|c| !c.is_whitespace()).count();
            let want = pieces.max(solid.div_ceil(DENSE_CHARS)).max(text.len() / SPARSE_BYTES);
            assert_eq!(own_size(&text, pieces), want);
        }
    }
}
