//! How near sentences are to a question, for those whose words promise most.

use super::{
    super::Result,
    candidates::Candidate,
    kept::{self, As, key},
};
use crate::model::Embedder;

/// Sentences that are embedded: each costs about ten milliseconds.
const MAX_EMBEDDED: usize = 24;

/// Gives the first candidates their vectors and cosines to the question, whose vector it returns.
pub(super) fn embed(candidates: &mut [Candidate], question: &str, embedder: &dyn Embedder) -> Result<Vec<f32>> {
    let some = candidates.len().min(MAX_EMBEDDED);
    if some == 0 {
        return Ok(Vec::new());
    }
    // A token has a character at least, and some tokenizers put one before the first word, so this much always fits.
    let space = embedder.space();
    let limit = space.max_tokens.saturating_sub(space.passage_prefix.chars().count() + 2).max(1);
    let texts: Vec<String> = candidates[..some].iter().map(|c| c.placed.chars().take(limit).collect()).collect();
    let query = of_query(question, embedder)?;
    let keys: Vec<_> = texts.iter().map(|text| key(space, text, As::Passage)).collect();
    let mut rows: Vec<Option<Vec<f32>>> = keys.iter().map(kept::get).collect();
    let unknown: Vec<usize> = (0..some).filter(|&at| rows[at].is_none()).collect();
    for batch in unknown.chunks(embedder.batch_size().max(1)) {
        let asked: Vec<&str> = batch.iter().map(|&at| texts[at].as_str()).collect();
        let made = embedder.embed_passages(&asked)?;
        for (&at, row) in batch.iter().zip(made.chunks_exact(space.dim.max(1))) {
            kept::put(keys[at], row.to_vec());
            rows[at] = Some(row.to_vec());
        }
    }
    for (candidate, row) in candidates.iter_mut().zip(rows) {
        candidate.cosine = row.as_deref().map(|row| cosine(&query, row));
        candidate.vector = row;
    }
    Ok(query)
}

/// The vector of a question, or of a part of one.
pub(super) fn of_query(text: &str, embedder: &dyn Embedder) -> Result<Vec<f32>> {
    let key = key(embedder.space(), text, As::Query);
    if let Some(vector) = kept::get(&key) {
        return Ok(vector);
    }
    let vector = embedder.embed_query(text)?;
    kept::put(key, vector.clone());
    Ok(vector)
}

pub(super) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let length = (dot(a, a) * dot(b, b)).sqrt();
    if length > 0.0 { dot(a, b) / length } else { 0.0 }
}
