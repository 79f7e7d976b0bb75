//! From what was chosen to what is shown of it: snippet, neighbours, relevance, and why it stands where it stands.

use super::{
    Explain, Hit, Query, Result,
    fuse::Fused,
    highlight,
    neighbours::around,
    ranking::{Coverage, Ranking},
    rerank::Judged,
    select::Selected,
    snippet::snippet,
    suspicion::suspicions,
};
use crate::{
    index::{LexicalQuery, Marker, Snapshot},
    types::Freshness,
};

/// What turns results into what is shown of them.
pub(super) struct Shown<'a> {
    pub snapshot: &'a Snapshot,
    pub query: &'a Query,
    pub words: &'a LexicalQuery,
    pub ranking: &'a Ranking,
    pub judged: &'a Judged,
    pub coverage: &'a Coverage,
}

impl Shown<'_> {
    pub fn hits(&self, results: Vec<Selected>) -> Result<Vec<Hit>> {
        let mut marker = self.words.marker();
        results.into_iter().zip(1..).map(|(result, rank)| self.hit(rank, result, &mut marker)).collect()
    }

    fn hit(&self, rank: usize, selected: Selected, marker: &mut Marker<'_>) -> Result<Hit> {
        let Selected { fused, chunk, copies, duplicates } = selected;
        let Fused { candidate, score, .. } = fused;
        let coverage = self.coverage.get(candidate.id);
        let (before, after) = around(self.snapshot, &chunk, self.query)?;
        let marks = if self.query.snippets { highlight::marks(marker, &chunk) } else { Vec::new() };
        Ok(Hit {
            rank,
            score,
            relevance: self.ranking.scale.relevance(candidate.cosine, coverage),
            snippet: if self.query.snippets { snippet(&chunk.text, &marks) } else { 0..chunk.text.len() },
            highlights: highlight::ranges(marks),
            before,
            after,
            explain: self.query.explain.then(|| explain(self.ranking, self.judged, &fused, coverage)),
            flags: if self.query.flags { suspicions(&chunk.text) } else { Vec::new() },
            chunk,
            freshness: Freshness::default(),
            copies,
            duplicates,
        })
    }
}

/// Why a candidate has the score it has.
pub(super) fn explain(ranking: &Ranking, judged: &Judged, fused: &Fused, coverage: f32) -> Explain {
    let Fused { candidate, score, lexical, dense } = *fused;
    let (lexical_contribution, dense_contribution) = ranking.contributions(fused);
    let judgement = judged.get(candidate.id);
    Explain {
        lexical_rank: candidate.lexical_rank,
        lexical_score: candidate.bm25,
        lexical_normalised: lexical,
        lexical_contribution,
        dense_rank: candidate.dense_rank,
        dense_score: candidate.cosine,
        dense_normalised: dense,
        dense_contribution,
        fused: judgement.map_or(score, |judgement| judgement.fused),
        rerank: judgement.map(|judgement| judgement.raw),
        coverage,
    }
}
