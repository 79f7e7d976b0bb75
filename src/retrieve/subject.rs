//! What is searched for: a text, chunks of the index that results should be like, and chunks they should be unlike.
//!
//! Both legs are moved as Rocchio has it: towards what is liked and, by a third as much, away from what is not. Weights:
//! Salton, Buckley, "Improving retrieval performance by relevance feedback", JASIS 1990.

use std::borrow::Cow;

use super::{Error, Query, Result, plan::MAX_QUERY_BYTES};
use crate::{
    index::{ChunkRecord, LexicalQuery, QuerySyntax, Snapshot},
    types::ChunkId,
};

/// Weight of the text's own vector.
const TEXT: f32 = 1.0;
/// Weight of the mean of what is liked.
const LIKE: f32 = 0.75;
/// Weight of the mean of what is not.
const UNLIKE: f32 = 0.25;

/// What is searched for, for both legs.
pub(super) struct Subject<'a> {
    /// What the lexical leg looks for, and what is encoded where the liked chunks have no vectors.
    pub words: Cow<'a, str>,
    /// The text as it was asked for; empty where chunks alone were named.
    pub text: &'a str,
    /// The chunks' part of the query vector, not of any length; `None` where no chunk was named, or none has a vector.
    pub lean: Option<Vec<f32>>,
    /// The vector of the text, where it was given.
    given: Option<Vec<f32>>,
}

impl<'a> Subject<'a> {
    /// Errors: `NoChunk` for an id that names none; `Options` for a vector that is none of the index's space; those of the
    /// index.
    pub fn of(snapshot: &Snapshot, query: &'a Query) -> Result<Self> {
        let text = query.text.trim();
        let given = query.vector.as_deref().map(|vector| given(snapshot, vector)).transpose()?;
        if query.like.is_empty() && query.unlike.is_empty() {
            return Ok(Self { words: query.text.as_str().into(), text, lean: None, given });
        }
        let (like, unlike) = (records(snapshot, &query.like)?, records(snapshot, &query.unlike)?);
        let words = words(snapshot, text, &like, &unlike)?;
        Ok(Self { words: words.into(), text, lean: lean(snapshot, query), given })
    }

    /// The query's vector, where no text has to be encoded for it.
    pub fn known(&self, snapshot: &Snapshot) -> Option<Vec<f32>> {
        let normalised = snapshot.space().is_some_and(|space| space.normalised);
        match (&self.given, self.lean.as_deref()) {
            (Some(given), Some(lean)) => Some(mixed(Some(given), lean, normalised)),
            (Some(given), None) => Some(given.clone()),
            (None, Some(lean)) if self.text.is_empty() => Some(mixed(None, lean, normalised)),
            (None, _) => None,
        }
    }
}

/// A vector that was given, of length 1 where the space's vectors are. Errors: the index has no vectors, or those of another
/// length; a value that is no number; no direction.
fn given(snapshot: &Snapshot, vector: &[f32]) -> Result<Vec<f32>> {
    let wrong = |what: String| Err(Error::Options { what });
    let Some(space) = snapshot.space() else {
        return wrong("this index has no vectors that a `vector` could be compared with".to_owned());
    };
    if vector.len() != space.dim {
        let (found, dim, model) = (vector.len(), space.dim, &space.model);
        return wrong(format!("`vector` has {found} values, the index holds vectors of {dim} (`{model}`)"));
    }
    if let Some(at) = vector.iter().position(|value| !value.is_finite()) {
        return wrong(format!("`vector` has a value that is no finite number, at {at}"));
    }
    if !space.normalised {
        return Ok(vector.to_vec());
    }
    // In double precision: squares of values that fit in single may not.
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length == 0.0 {
        return wrong("`vector` is zero, and has no direction".to_owned());
    }
    // One of length 1 stays as it is, bit by bit.
    if (length - 1.0).abs() < 1e-5 {
        return Ok(vector.to_vec());
    }
    Ok(vector.iter().map(|value| (f64::from(*value) / length) as f32).collect())
}

fn records(snapshot: &Snapshot, ids: &[ChunkId]) -> Result<Vec<ChunkRecord>> {
    let found = snapshot.chunks(ids)?;
    ids.iter().zip(found).map(|(&id, record)| record.ok_or(Error::NoChunk { id })).collect()
}

/// `0.75 · mean(like) − 0.25 · mean(unlike)`.
fn lean(snapshot: &Snapshot, query: &Query) -> Option<Vec<f32>> {
    let dim = snapshot.space()?.dim;
    let mut sum = vec![0.0; dim];
    let mut any = false;
    for (ids, weight) in [(&query.like, LIKE), (&query.unlike, -UNLIKE)] {
        let rows: Vec<_> = ids.iter().filter_map(|id| snapshot.vector(*id)).filter(|row| row.len() == dim).collect();
        for row in &rows {
            any = true;
            sum.iter_mut().zip(row.iter()).for_each(|(sum, value)| *sum += weight * value / rows.len() as f32);
        }
    }
    any.then_some(sum)
}

/// The query's vector of that of its text and the chunks' part; of length 1 where the space's vectors are.
pub(super) fn mixed(text: Option<&[f32]>, lean: &[f32], normalised: bool) -> Vec<f32> {
    let mut sum = lean.to_vec();
    if let Some(text) = text {
        sum.iter_mut().zip(text).for_each(|(sum, value)| *sum += TEXT * value);
    }
    let whole = if normalised {
        sum.iter().map(|value| value * value).sum::<f32>().sqrt()
    } else {
        LIKE + if text.is_some() { TEXT } else { 0.0 }
    };
    // What is liked may be what is not.
    if whole > 0.0 {
        sum.iter_mut().for_each(|value| *value /= whole);
    }
    sum
}

/// The words of the text and of what is liked, without those that are rather what is not: of a word that both hold only
/// as many occurrences stay as the weights leave. The text's own words all stay.
fn words(snapshot: &Snapshot, text: &str, like: &[ChunkRecord], unlike: &[ChunkRecord]) -> Result<String> {
    let room = |used: usize, chunks: &[ChunkRecord]| MAX_QUERY_BYTES.saturating_sub(used) / chunks.len().max(1);
    let cut = |chunk: &ChunkRecord, room: usize| {
        chunk.text[..chunk.text.floor_char_boundary(room.saturating_sub(1))].to_owned()
    };
    let mut all = text.to_owned();
    let each = room(text.len(), like);
    let liked: Vec<String> = like.iter().map(|chunk| cut(chunk, each)).collect();
    let each = room(0, unlike);
    let disliked: Vec<String> = unlike.iter().map(|chunk| cut(chunk, each)).collect();
    let against = snapshot.lexical_query(&disliked.join("\n"), QuerySyntax::Plain)?;
    let count = |texts: &[String], chunks: &[ChunkRecord]| {
        let mut counts = vec![0.0f32; against.words().len()];
        for (text, chunk) in texts.iter().zip(chunks) {
            for (_, place) in against.marks(text, chunk.lang.as_deref()) {
                counts[place] += 1.0 / texts.len() as f32;
            }
        }
        counts
    };
    let (for_it, against_it) = (count(&liked, like), count(&disliked, unlike));
    let share = |place: usize| (1.0 - UNLIKE / LIKE * against_it[place] / for_it[place]).max(0.0);
    // So that the number of occurrences that stay is rounded, not cut.
    let mut owed = vec![0.5f32; against.words().len()];
    for (text, chunk) in liked.iter().zip(like) {
        all.push('\n');
        all.push_str(&thinned(text, chunk, &against, |place| {
            owed[place] += share(place);
            let stays = owed[place] >= 1.0;
            owed[place] -= f32::from(u8::from(stays));
            stays
        }));
    }
    all.truncate(all.floor_char_boundary(MAX_QUERY_BYTES));
    Ok(all)
}

/// The text without the marked words that do not stay.
fn thinned(text: &str, chunk: &ChunkRecord, against: &LexicalQuery, mut stays: impl FnMut(usize) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, place) in against.marks(text, chunk.lang.as_deref()) {
        out.push_str(&text[at..range.start]);
        out.push_str(if stays(place) { &text[range.clone()] } else { " " });
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_mixed_by_weight() {
        let (text, lean) = ([1.0, 0.0], [0.0, 0.75]);
        let length = (1.0f32 + 0.75 * 0.75).sqrt();
        assert_eq!(mixed(Some(&text), &lean, true), [1.0 / length, 0.75 / length]);
        assert_eq!(mixed(None, &lean, true), [0.0, 1.0]);
        assert_eq!(mixed(None, &lean, false), [0.0, 1.0]);
        assert_eq!(mixed(None, &[0.0, 0.0], true), [0.0, 0.0], "no division by nothing");
    }
}
