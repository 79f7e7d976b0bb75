//! Where the words of a query stand in a chunk.

use unicode_segmentation::UnicodeSegmentation;

use super::snippet::Mark;
use crate::index::{ChunkRecord, LexicalQuery};

/// The words of a chunk that match words of the query, in the order of the text.
pub(super) fn marks(query: &LexicalQuery, chunk: &ChunkRecord) -> Vec<Mark> {
    let words = query.words();
    chunk
        .text
        .unicode_word_indices()
        .filter_map(|(at, word)| {
            let lower = word.to_lowercase();
            let term = words.iter().position(|known| *known == lower)?;
            Some(Mark { range: at..at + word.len(), term })
        })
        .collect()
}
