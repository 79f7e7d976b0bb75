//! How near sentences are to a question, for those whose words promise most.

use super::{super::Result, candidates::Candidate};
use crate::model::Embedder;

/// Sentences that are embedded: each costs about ten milliseconds.
const MAX_EMBEDDED: usize = 24;

/// Gives the first candidates their cosine to the question.
pub(super) fn embed(candidates: &mut [Candidate], question: &str, embedder: &dyn Embedder) -> Result<()> {
    let some = candidates.len().min(MAX_EMBEDDED);
    // A token has a character at least, and some tokenizers put one before the first word, so this much always fits.
    let space = embedder.space();
    let limit = space.max_tokens.saturating_sub(space.passage_prefix.chars().count() + 2).max(1);
    let texts: Vec<String> = candidates[..some].iter().map(|c| c.placed.chars().take(limit).collect()).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let query = embedder.embed_query(question)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let dim = space.dim.max(1);
    let mut rows = Vec::with_capacity(some * dim);
    for batch in texts.chunks(embedder.batch_size().max(1)) {
        rows.extend(embedder.embed_passages(batch)?);
    }
    for (candidate, row) in candidates.iter_mut().zip(rows.chunks_exact(dim)) {
        candidate.cosine = Some(cosine(&query, row));
    }
    Ok(())
}

pub(super) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let length = (dot(a, a) * dot(b, b)).sqrt();
    if length > 0.0 { dot(a, b) / length } else { 0.0 }
}
