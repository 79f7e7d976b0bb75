//! Both legs over one snapshot, and both scores of every candidate.
//!
//! Useful for: candidates with scores, and what the first of them are like. Not for: the order of the results, which is
//! [`fuse`](super::fuse)'s.

use std::{
    collections::BTreeMap,
    panic, thread,
    time::{Duration, Instant},
};

use super::{
    Result,
    fuse::{Candidate, Gate, gate},
    subject::mixed,
};
use crate::{
    index::{Allowed, Effort, LexicalQuery, Snapshot, Work},
    model::{self, Embedder},
    types::{ChunkId, Score},
};

/// Where the query's vector comes from.
#[derive(Clone, Copy)]
pub(super) enum Dense<'a> {
    /// No dense leg.
    Off,
    /// The text is encoded while the lexical leg runs.
    Encode {
        embedder: &'a dyn Embedder,
        text: &'a str,
        /// What chunks that are liked or not add to it.
        lean: Option<&'a [f32]>,
    },
    Known(&'a [f32]),
}

/// What each leg is asked.
pub(super) struct Legs<'a> {
    pub snapshot: &'a Snapshot,
    /// `None`: no lexical leg.
    pub words: Option<&'a LexicalQuery>,
    pub dense: Dense<'a>,
    pub allowed: Option<&'a Allowed>,
    /// How much the dense leg may miss.
    pub effort: Effort,
    /// Chunks that are not to be found.
    pub without: &'a [ChunkId],
}

/// What each leg brought, best first.
pub(super) struct Found {
    pub lexical: Vec<(ChunkId, Score)>,
    pub dense: Vec<(ChunkId, Score)>,
    pub vector: Option<Vec<f32>>,
    /// What the dense leg did.
    pub work: Work,
    pub encoding: Duration,
    /// A leg brought as many as it was asked for, so there may be more.
    pub cut: bool,
}

/// What the dense leg brought.
#[derive(Default)]
struct Encoded {
    vector: Option<Vec<f32>>,
    work: Work,
    encoding: Duration,
    found: Vec<(ChunkId, Score)>,
}

impl Legs<'_> {
    /// Runs both legs at the same time, `depth` candidates each. Errors: the index's; the model's where encoding fails or
    /// gives another number of values than the index holds.
    pub fn run(&self, depth: usize) -> Result<Found> {
        let lexical = || match self.words {
            Some(words) if !words.is_empty() => self.snapshot.lexical(words, depth, self.allowed),
            _ => Ok(Vec::new()),
        };
        let dense = || self.dense(depth);
        let (lexical, dense) = match (self.words, self.dense) {
            (None, _) | (_, Dense::Off) => (lexical(), dense()),
            // The encoder stays on this thread: it may keep what it needs for the next query there.
            (Some(_), Dense::Encode { .. } | Dense::Known(_)) => thread::scope(|scope| {
                let other = scope.spawn(lexical);
                let dense = dense();
                (other.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)), dense)
            }),
        };
        let (mut lexical, Encoded { vector, work, encoding, found: mut dense }) = (lexical?, dense?);
        let cut = lexical.len() >= depth || dense.len() >= depth;
        for leg in [&mut lexical, &mut dense] {
            leg.retain(|(id, score)| !self.without.contains(id) && score.is_finite());
        }
        Ok(Found { lexical, dense, vector, work, encoding, cut })
    }

    fn dense(&self, depth: usize) -> Result<Encoded> {
        let begun = Instant::now();
        let Some(vector) = self.vector()? else { return Ok(Encoded::default()) };
        let encoding = begun.elapsed();
        let (found, work) = self.snapshot.dense(&vector, depth, self.allowed, self.effort)?;
        Ok(Encoded { vector: Some(vector), work, encoding, found })
    }

    fn vector(&self) -> Result<Option<Vec<f32>>> {
        let (embedder, text, lean) = match self.dense {
            Dense::Off => return Ok(None),
            Dense::Known(vector) => return Ok(Some(vector.to_vec())),
            Dense::Encode { embedder, text, lean } => (embedder, text, lean),
        };
        let vector = embedder.embed_query(text)?;
        let dim = self.snapshot.space().map_or(vector.len(), |space| space.dim);
        let model = || embedder.space().model.clone();
        if vector.len() != dim {
            let why = format!("a query has {} values, the index holds vectors of {dim}", vector.len());
            return Err(model::Error::Run { model: model(), why }.into());
        }
        if vector.iter().any(|value| !value.is_finite()) {
            return Err(
                model::Error::Run { model: model(), why: "a query has values that are no numbers".into() }.into()
            );
        }
        let normalised = self.snapshot.space().is_some_and(|space| space.normalised);
        Ok(Some(match lean {
            Some(lean) => mixed(Some(&vector), lean, normalised),
            None => vector,
        }))
    }
}

/// The union of both legs, every candidate with both scores: a missing cosine is one dot product, a missing BM25 one seek.
/// `words` or a vector that is absent leaves its score 0 or `None`. Sorted by id.
pub(super) fn complete(snapshot: &Snapshot, words: Option<&LexicalQuery>, found: &Found) -> Result<Vec<Candidate>> {
    let mut union: BTreeMap<ChunkId, Candidate> = BTreeMap::new();
    let blank = |id| Candidate { id, lexical_rank: None, bm25: 0.0, dense_rank: None, cosine: None };
    for (place, &(id, score)) in found.lexical.iter().enumerate() {
        let candidate = union.entry(id).or_insert_with(|| blank(id));
        (candidate.lexical_rank, candidate.bm25) = (Some(place + 1), score);
    }
    for (place, &(id, score)) in found.dense.iter().enumerate() {
        let candidate = union.entry(id).or_insert_with(|| blank(id));
        (candidate.dense_rank, candidate.cosine) = (Some(place + 1), Some(score));
    }
    let mut candidates: Vec<Candidate> = union.into_values().collect();

    if let Some(words) = words.filter(|words| !words.is_empty()) {
        let (places, ids) = missing(&candidates, |candidate| candidate.lexical_rank.is_none());
        let scores = snapshot.lexical_scores(words, &ids)?;
        for (place, score) in places.into_iter().zip(scores) {
            candidates[place].bm25 = if score.is_finite() { score } else { 0.0 };
        }
    }
    if let Some(vector) = &found.vector {
        let (places, ids) = missing(&candidates, |candidate| candidate.dense_rank.is_none());
        let scores = snapshot.dense_scores(vector, &ids);
        for (place, score) in places.into_iter().zip(scores) {
            candidates[place].cosine = score.filter(|score| score.is_finite());
        }
    }
    Ok(candidates)
}

/// Places and ids of the candidates that lack something.
fn missing(candidates: &[Candidate], lacks: impl Fn(&Candidate) -> bool) -> (Vec<usize>, Vec<ChunkId>) {
    candidates.iter().enumerate().filter(|(_, candidate)| lacks(candidate)).map(|(at, c)| (at, c.id)).unzip()
}

/// What the first candidates of both legs are like: the language gate and the code rule.
pub(super) fn look(snapshot: &Snapshot, found: &Found, identifier: bool) -> Result<Gate> {
    let first = |leg: &[(ChunkId, Score)]| -> Vec<ChunkId> {
        leg.iter().take(super::fuse::LOOKED_AT).map(|(id, _)| *id).collect()
    };
    let mut ids = first(&found.lexical);
    let split = ids.len();
    ids.extend(first(&found.dense));
    let textures = snapshot.texture(&ids)?;
    let (lexical, dense) = textures.split_at_checked(split).unwrap_or((&textures, &[]));
    Ok(gate(lexical, dense, identifier, snapshot.space().is_some_and(|space| space.multilingual)))
}

/// The cosine of an average chunk with the query: where the blend begins to count.
pub(super) fn zero(snapshot: &Snapshot, vector: &[f32]) -> Score {
    let same = |centroid: &&[f32]| centroid.len() == vector.len();
    let dot = |centroid: &[f32]| crate::index::vector::dot(vector, centroid);
    snapshot.centroid().filter(same).map_or(0.0, dot)
}
