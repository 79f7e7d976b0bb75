//! A query and what it finds: values only. `query()` stands in `query.rs`.

use std::ops::Range;

use super::{rerank::Rerank, suspicion::Suspicion};
use crate::{
    index::{ChunkRecord, Effort, QuerySyntax, Work},
    types::{ChunkId, Freshness, Score},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Hybrid,
    Lexical,
    Dense,
}

/// How the two legs become one list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fusion {
    /// Centroid-zero blend with language and code gates.
    #[default]
    Blend,
    Rrf,
    /// Min-max of each completed list, `alpha` for the dense one.
    Weighted,
    /// Distribution-based: mean ± 3 standard deviations become 0..1.
    Dbsf,
}

#[derive(Debug, Clone)]
pub struct Query {
    pub text: String,
    /// Results wanted, 1..=1000.
    pub k: usize,
    pub mode: Mode,
    pub fusion: Fusion,
    /// Weight of the dense leg in place of the recipe's 0.5, 0..=1.
    pub alpha: Option<f32>,
    /// Filter expression as typed.
    pub filter: Option<String>,
    pub collection: Option<String>,
    pub syntax: QuerySyntax,
    /// Least relevance, 0..=1.
    pub min_score: Option<f32>,
    /// At most so many results of one source.
    pub per_source: Option<usize>,
    /// Maximal marginal relevance: 1 is relevance alone, 0 diversity alone.
    pub mmr: Option<f32>,
    /// So many neighbour chunks before and after each result are added to it.
    pub context: usize,
    /// The rest of the section that a result stands in is added to it, up to 4,000 word pieces.
    pub section: bool,
    /// Search with these chunks' own texts and vectors too; they are left out of the results.
    pub like: Vec<ChunkId>,
    /// Lead away from these chunks; they are left out of the results.
    pub unlike: Vec<ChunkId>,
    /// The query's vector, of the index's embedding space, in place of the model's of the text. Of length 1 or not.
    pub vector: Option<Vec<f32>>,
    /// Have the first results put in order by a model that reads them.
    pub rerank: Option<Rerank>,
    pub explain: bool,
    /// Tell which results talk to a model instead of to a reader.
    pub flags: bool,
    /// Find out which part of each result is worth showing: most of what a result costs. Without it the snippet is the
    /// whole text and nothing is highlighted.
    pub snippets: bool,
    /// Copies and near-copies of a result are results of their own; else the result names them.
    pub duplicates: bool,
    /// How much the dense leg may miss.
    pub effort: Effort,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            text: String::new(),
            k: 10,
            mode: Mode::default(),
            fusion: Fusion::default(),
            alpha: None,
            filter: None,
            collection: None,
            syntax: QuerySyntax::default(),
            min_score: None,
            per_source: None,
            mmr: None,
            context: 0,
            section: false,
            like: Vec::new(),
            unlike: Vec::new(),
            vector: None,
            rerank: None,
            explain: false,
            flags: false,
            snippets: true,
            duplicates: false,
            effort: Effort::default(),
        }
    }
}

/// Whether the collection speaks of the query at all: relevance ≥ .5, .2–.5, below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    Found,
    Weak,
    Nothing,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    pub score: Score,
    /// Calibrated, 0..1.
    pub relevance: f32,
    pub chunk: ChunkRecord,
    /// Of its source's file; for the door to fill in, which knows where files are.
    pub freshness: Freshness,
    /// The same chunk at the same place of other sources: copies, as far as can be seen.
    pub copies: Vec<ChunkRecord>,
    /// Other chunks that say nothing this one does not say: nine in ten of their runs of four words are in it, and all
    /// their numbers and negations.
    pub duplicates: Vec<ChunkRecord>,
    /// Neighbour chunks in the order of the source, itself not among them; empty unless asked for.
    pub before: Vec<ChunkRecord>,
    pub after: Vec<ChunkRecord>,
    /// A part of `chunk.text` worth showing, and byte ranges within `chunk.text` of the words that match.
    pub snippet: Range<usize>,
    pub highlights: Vec<Range<usize>>,
    pub explain: Option<Explain>,
    /// Signs that it talks to a model; looked for only if the query asks.
    pub flags: Vec<Suspicion>,
}

/// Why a result stands where it stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Explain {
    pub lexical_rank: Option<usize>,
    pub lexical_score: Score,
    pub lexical_normalised: f32,
    /// What the leg adds to `fused`: weight × normalised score.
    pub lexical_contribution: f32,
    pub dense_rank: Option<usize>,
    pub dense_score: Option<Score>,
    pub dense_normalised: f32,
    pub dense_contribution: f32,
    /// The sum of both contributions: the score, unless a reranker gave another.
    pub fused: Score,
    /// The reranker's own score.
    pub rerank: Option<f32>,
    /// The share of the query's words, by idf, that the chunk holds.
    pub coverage: f32,
}

/// Milliseconds of each step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Timings {
    pub encode_ms: f64,
    pub search_ms: f64,
    pub fuse_ms: f64,
    pub load_ms: f64,
    /// `None`: no reranker was asked.
    pub rerank_ms: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hits {
    pub hits: Vec<Hit>,
    /// Relevance of the query as a whole, 0..1.
    pub relevance: f32,
    pub strength: Strength,
    /// What was searched: hybrid falls back to lexical in an index without vectors, and the answer says so.
    pub mode: Mode,
    pub fusion: Fusion,
    /// The recipe's w, f and code, where the blend ran.
    pub weight: f32,
    pub fertility: f32,
    pub code: f32,
    /// How far the encoder is trusted with the language, 0..=1.
    pub trust: f32,
    pub generation: u64,
    /// Distinct candidates of both legs.
    pub candidates: usize,
    /// What the dense leg did, and how much it was allowed to miss.
    pub work: Work,
    pub effort: Effort,
    /// The best of what was left out, where there are no results or none that is any good.
    pub near_miss: Option<NearMiss>,
    /// Things the user should know: no vectors, a filter that allows nothing, …
    pub notes: Vec<String>,
    pub timings: Timings,
}

/// The best chunk that a condition of the query left out.
#[derive(Debug, Clone, PartialEq)]
pub struct NearMiss {
    pub chunk: ChunkRecord,
    pub relevance: f32,
    pub left_out_by: LeftOutBy,
}

/// A condition of a query that can be relaxed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LeftOutBy {
    /// It would let in what is at least so relevant.
    MinScore(f32),
    Filter,
    Collection,
    /// Words alone were looked for.
    Mode,
}
