//! The tokenizer of BERT: words, then the longest pieces of them that the vocabulary holds.

use std::ops::Range;

/// A tokenizer over one vocabulary. Sharing is free; all threads may use it.
pub struct WordPiece {}

/// How much the vocabulary splits the words of a text. See `ChunkRecord::fertility`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Texture {
    /// Word pieces of the text, special tokens not counted.
    pub tokens: usize,
    /// (pieces of words + words with an accented letter) ÷ words; pieces without a letter or digit left out, `[UNK]`
    /// counts 3; 0 where there is no word.
    pub fertility: f32,
}

impl WordPiece {
    /// The tokenizer of the built-in model. Built once, on first use.
    pub fn builtin() -> &'static Self {
        todo!()
    }

    /// Token ids without special tokens.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let _ = text;
        todo!()
    }

    /// How many tokens [`encode`](Self::encode) gives; allocates nothing that grows with the text.
    pub fn count(&self, text: &str) -> usize {
        let _ = text;
        todo!()
    }

    /// Tokens and fertility in one pass.
    pub fn texture(&self, text: &str) -> Texture {
        let _ = text;
        todo!()
    }

    /// The byte range of each token in `text`, ascending; lengths equal [`encode`](Self::encode)'s.
    pub fn offsets(&self, text: &str) -> Vec<Range<usize>> {
        let _ = text;
        todo!()
    }
}
