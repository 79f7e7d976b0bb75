//! Which words of a chunk match the query, for people and for the choice of a snippet.

use std::ops::Range;

use super::snippet::Mark;
use crate::index::{ChunkRecord, Marker};

/// The words of a chunk's text that the query asks for, in the order of the text.
pub(super) fn marks(marker: &mut Marker<'_>, chunk: &ChunkRecord) -> Vec<Mark> {
    let marks = marker.marks(&chunk.text, chunk.lang.as_deref());
    marks.into_iter().map(|(range, term)| Mark { range, term }).collect()
}

/// The places of marks; those without a gap between them are one.
pub(super) fn ranges(marks: Vec<Mark>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(marks.len());
    for Mark { range, .. } in marks {
        match ranges.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => ranges.push(range),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one() {
        let marks = [(0..2, 0), (2..4, 1), (5..6, 0), (6..6, 0)].map(|(range, term)| Mark { range, term });
        assert_eq!(ranges(marks.to_vec()), [0..4, 5..6]);
        assert!(ranges(Vec::new()).is_empty());
    }
}
