//! How often words occur, counted over chunks alone: what BM25 and coverage weigh words by.
//!
//! Deleted chunks count until a merge drops them, in every figure alike, as tantivy's own statistics do.

use std::collections::HashMap;

use tantivy::{Searcher, Term, query::Bm25StatisticsProvider, schema::Field};

use super::schema::{CHUNK, FIELDS};

/// BM25's saturation of repeated words.
pub(in crate::index) const K1: f64 = 1.2;
/// BM25's weight of a field's length.
pub(in crate::index) const B: f64 = 0.75;

/// Counts of one snapshot.
#[derive(Debug, Clone, Copy)]
pub(in crate::index) struct Statistics {
    /// Chunk documents.
    pub(in crate::index) chunks: u64,
    stem_tokens: u64,
    exact_tokens: u64,
    title_tokens: u64,
}

impl Statistics {
    /// O(segments).
    pub(in crate::index) fn of(searcher: &Searcher) -> tantivy::Result<Self> {
        Ok(Self {
            chunks: searcher.doc_freq(&Term::from_field_text(FIELDS.kind, CHUNK))?,
            stem_tokens: searcher.total_num_tokens(FIELDS.stem)?,
            exact_tokens: searcher.total_num_tokens(FIELDS.exact)?,
            title_tokens: searcher.total_num_tokens(FIELDS.title)?,
        })
    }

    fn tokens(&self, field: Field) -> u64 {
        match field {
            field if field == FIELDS.stem => self.stem_tokens,
            field if field == FIELDS.exact => self.exact_tokens,
            field if field == FIELDS.title => self.title_tokens,
            _ => 0,
        }
    }

    /// Mean length of a field in words.
    pub(in crate::index) fn mean_length(&self, field: Field) -> f64 {
        self.tokens(field) as f64 / self.chunks.max(1) as f64
    }

    /// `ln(1 + (N − df + ½) / (df + ½))`: Robertson and Spärck Jones, as Lucene and tantivy have it.
    pub(in crate::index) fn idf(&self, df: u64) -> f64 {
        let df = df.min(self.chunks) as f64;
        ((self.chunks as f64 - df + 0.5) / (df + 0.5)).ln_1p()
    }
}

/// [`Statistics`] for tantivy's own scorers.
pub(super) struct Provider<'a> {
    pub(super) searcher: &'a Searcher,
    pub(super) statistics: Statistics,
    /// Terms that were looked up, each with the documents it is in.
    pub(super) known: HashMap<&'a Term, u64>,
}

impl Bm25StatisticsProvider for Provider<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(self.statistics.tokens(field))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.statistics.chunks)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // Terms of source documents alone may be as many as there are sources, which tantivy asserts against.
        let known = self.known.get(term).copied();
        Ok(known.map_or_else(|| self.searcher.doc_freq(term), Ok)?.min(self.statistics.chunks))
    }
}
