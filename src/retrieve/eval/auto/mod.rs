//! Questions made from the documents themselves, without a model: each with the place that answers it. Pure.
//!
//! Four kinds: a heading asks for its section, `X is a …` answers what X is, an identifier asks for the one place that has
//! it, and a sentence whose rarest word is taken away asks for that sentence. Deterministic by seed.
//!
//! Useful for: comparing settings on documents that nobody has judged. Not for: comparing words with meaning, for such a
//! question shares its words with its answer; people's questions do less.

mod cloze;
mod definitions;
mod headings;
mod identifiers;

use std::collections::{BTreeMap, HashMap, HashSet};

use super::random::Random;
use crate::{
    index::ChunkRecord,
    retrieve::sentences::{self, Kind},
    types::{SourceId, Span},
};

/// What a question was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MadeFrom {
    Heading,
    Definition,
    Identifier,
    Cloze,
}

impl MadeFrom {
    pub fn word(self) -> &'static str {
        match self {
            Self::Heading => "heading",
            Self::Definition => "definition",
            Self::Identifier => "identifier",
            Self::Cloze => "cloze",
        }
    }
}

/// A question and the place that answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    pub from: MadeFrom,
    pub text: String,
    pub source: SourceId,
    /// Of the document's extracted text.
    pub span: Span,
}

impl Made {
    /// Whether a chunk holds the answer: half of it, or half of the chunk is part of it.
    pub fn is_answered_by(&self, chunk: &ChunkRecord) -> bool {
        let (from, to) = (self.span.start.max(chunk.span.start), self.span.end.min(chunk.span.end));
        let least = self.span.len().min(chunk.span.len());
        chunk.source == self.source && least > 0 && to.saturating_sub(from) * 2 >= least
    }
}

/// At most so many questions of one chunk: a glossary is not all there is.
const MOST_OF_A_CHUNK: usize = 2;

/// Makes at most `count` questions, as many of each kind as there are. O(text).
pub fn make(chunks: &[ChunkRecord], count: usize, seed: u64) -> Vec<Made> {
    let view = View::of(chunks);
    let mut kinds = [headings::make(&view), definitions::make(&view), identifiers::make(&view), cloze::make(&view)];
    for (kind, number) in kinds.iter_mut().zip(1u64..) {
        Random::new(seed.wrapping_mul(31).wrapping_add(number)).shuffle(kind);
    }
    let (mut made, mut seen) = (Vec::new(), HashSet::new());
    let mut of_chunk: HashMap<usize, usize> = HashMap::new();
    let mut left = true;
    while left && made.len() < count {
        left = false;
        for kind in &mut kinds {
            let next = std::iter::from_fn(|| kind.pop()).find(|(at, question)| {
                of_chunk.get(at).copied().unwrap_or(0) < MOST_OF_A_CHUNK && seen.insert(question.text.to_lowercase())
            });
            if let Some((at, question)) = next.filter(|_| made.len() < count) {
                *of_chunk.entry(at).or_default() += 1;
                made.push(question);
                left = true;
            }
        }
    }
    made
}

/// How many questions are of each kind.
pub fn kinds(made: &[Made]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    made.iter().for_each(|question| *counts.entry(question.from.word()).or_default() += 1);
    counts
}

/// A question and the place of its chunk in the list.
type Candidate = (usize, Made);

/// What all kinds look at.
struct View<'a> {
    chunks: &'a [ChunkRecord],
    /// In how many chunks a word stands, in lower case.
    frequency: HashMap<String, usize>,
}

impl<'a> View<'a> {
    fn of(chunks: &'a [ChunkRecord]) -> Self {
        let mut frequency: HashMap<String, usize> = HashMap::new();
        for chunk in chunks {
            let distinct: HashSet<String> = words(&chunk.text).map(str::to_lowercase).collect();
            distinct.into_iter().for_each(|word| *frequency.entry(word).or_default() += 1);
        }
        Self { chunks, frequency }
    }

    /// In how many chunks a word stands.
    fn frequency(&self, word: &str) -> usize {
        self.frequency.get(&word.to_lowercase()).copied().unwrap_or(0)
    }

    /// Sentences of prose, each with the place of its chunk and its bytes there.
    fn sentences(&self) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> + '_ {
        self.chunks.iter().enumerate().flat_map(|(at, chunk)| {
            let is_prose = |unit: &sentences::Unit| matches!(unit.kind, Kind::Prose | Kind::Item);
            sentences::units(&chunk.text).into_iter().filter(is_prose).map(move |unit| (at, unit.range))
        })
    }

    fn candidate(&self, at: usize, range: std::ops::Range<usize>, from: MadeFrom, text: String) -> Candidate {
        let chunk = &self.chunks[at];
        let span = Span::new(chunk.span.start + range.start, chunk.span.start + range.end);
        (at, Made { from, text, source: chunk.source, span })
    }
}

/// Runs of letters, digits and underscores.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A word that can be asked for: letters, and enough of them.
fn is_content(word: &str) -> bool {
    word.chars().count() >= 3 && word.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests;
