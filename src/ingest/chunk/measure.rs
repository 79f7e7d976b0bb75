//! How large a text is, in word pieces of the encoder, and how much it looks like code.

use crate::model::wordpiece::WordPiece;

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

    /// The measure for a part of a document: its own language where there is enough of it.
    pub fn of_part(self, text: &str) -> Self {
        let texture = WordPiece::builtin().texture(sample(text));
        if texture.tokens < SAMPLE_TOKENS { self } else { Self { foreign: texture.fertility > FOREIGN_FERTILITY } }
    }

    /// Size in tokens, or what counts as such. At least 1 for a text that is not white space; sizes of words add up to no
    /// less than the size of their text. O(n).
    pub fn size(self, text: &str) -> usize {
        if self.foreign {
            return text.chars().count().div_ceil(FOREIGN_CHARS);
        }
        let solid = text.chars().filter(|c| !c.is_whitespace()).count();
        let pieces = WordPiece::builtin().count(text);
        pieces.max(solid.div_ceil(DENSE_CHARS)).max(text.len() / SPARSE_BYTES)
    }
}

fn sample(text: &str) -> &str {
    &text[..text.floor_char_boundary(SAMPLE_BYTES)]
}

/// Share of code-like characters among those that are not space, 0..1 (RETRIEVAL recipe; over 0.065 is code).
pub fn code_share(text: &str) -> f32 {
    let (mut solid, mut code) = (0u64, 0u64);
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        solid += 1;
        code += u64::from("(){}[]_=;<>:#\\/*+|&%$\"'`@".contains(c));
    }
    if solid == 0 { 0.0 } else { (code as f64 / solid as f64) as f32 }
}

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
        assert!(english.of_part(&RUSSIAN.repeat(9)).foreign);
        assert!(!russian.of_part(&ENGLISH.repeat(9)).foreign);
        assert!(russian.of_part("short").foreign, "too little to tell");
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
}
