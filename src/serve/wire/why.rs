//! `rag why --json` and `rag why-not --json`.

use serde::{Deserialize, Serialize};

use super::{Chunk, HitExplain, SourceSummary, Word, freshness_word, rounded};
use crate::{
    index::{ChunkRecord, SourceRecord},
    ingest, retrieve,
    types::{Freshness, SourceId},
};

/// `rag why --json`: whether a file is in the index, and by which rule not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct WhyResult {
    pub schema: Word,
    pub file: String,
    /// It has chunks that can be found.
    pub indexed: bool,
    /// One stable word: `indexed`, `failed`, `skipped`, `empty`, or the rule that left it out.
    pub reason: Word,
    pub message: String,
    /// The ignore file that says so, its line (from 1) and the pattern there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// `stale`: the file has changed since it was ingested; `missing`: it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Word>,
    pub generation: u64,
    pub document: Option<SourceSummary>,
    pub chunks: Vec<Chunk>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Rule {
    pub file: String,
    pub line: Option<usize>,
    pub pattern: String,
}

impl WhyResult {
    /// Of a file the catalog knows. `reason` and `message` say what its record means.
    pub fn known(
        file: String,
        (reason, message): (&'static str, String),
        generation: u64,
        source: &SourceRecord,
        freshness: Freshness,
        chunks: &[ChunkRecord],
    ) -> Self {
        Self {
            schema: "rag.why/1".into(),
            file,
            indexed: !chunks.is_empty(),
            reason: reason.into(),
            message,
            rule: None,
            state: freshness_word(freshness).map(Word::Borrowed),
            generation,
            document: Some(SourceSummary::from(source)),
            chunks: chunks.iter().map(Chunk::from).collect(),
        }
    }

    /// Of a file it does not know.
    pub fn unknown(file: String, why: &ingest::Why, generation: u64) -> Self {
        let rule = why.rule.as_ref().map(|rule| Rule {
            file: rule.file.display().to_string(),
            line: rule.line,
            pattern: rule.pattern.clone(),
        });
        Self {
            schema: "rag.why/1".into(),
            file,
            indexed: false,
            reason: why.reason.into(),
            message: why.message.clone(),
            rule,
            state: None,
            generation,
            document: None,
            chunks: Vec::new(),
        }
    }
}

/// `rag why-not --json`: where a document stands in a query, and what kept it out of the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct WhyNotResult {
    pub schema: Word,
    pub query: String,
    pub file: String,
    pub source_id: Option<SourceId>,
    /// Its rank among the results, or null.
    pub found: Option<usize>,
    /// One stable word for what kept it out: `not_indexed`, `no_chunk`, `collection`, `filter`, `no_word`, `no_vector`,
    /// `depth`, `approximate`, `min_score`, `copy`, `per_source`, `mmr`, `rerank`, `rank`, `named`; null if found.
    pub reason: Option<Word>,
    pub message: String,
    /// The flag that would show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    pub best: Option<Place>,
    /// The last result that is shown.
    pub last: Option<Place>,
    /// How many chunks the lists hold in which the ranks are counted.
    pub compared: usize,
    pub words: Words,
    /// Of a file that is not in the index: as `rag why` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyResult>,
    pub notes: Vec<String>,
}

/// A chunk in all lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Place {
    /// In the fused list of everything, of `best`; among the results, of `last`.
    pub rank: Option<usize>,
    pub relevance: f64,
    #[serde(flatten)]
    pub chunk: Chunk,
    pub explain: HitExplain,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct Words {
    pub held: Vec<String>,
    /// By other chunks of the document alone.
    pub elsewhere: Vec<String>,
    pub lacking: Vec<String>,
}

impl WhyNotResult {
    /// Of a document that is in the index.
    pub fn of(query: &retrieve::Query, source: &SourceRecord, answer: &retrieve::WhyNot) -> Self {
        let (reason, message, remedy) = match (&answer.kept, answer.found) {
            (None, Some(rank)) => (None, format!("it is result {rank}"), None),
            (kept, _) => kept.as_ref().map_or((None, String::new(), None), |kept| {
                let (reason, message, remedy) = words_of(kept, query, answer);
                (Some(reason), message, remedy)
            }),
        };
        Self {
            schema: "rag.why-not/1".into(),
            query: query.text.clone(),
            file: source.display_path(),
            source_id: Some(source.id),
            found: answer.found,
            reason: reason.map(Word::Borrowed),
            message,
            remedy,
            best: answer.best.as_ref().map(|best| Place {
                rank: best.rank,
                relevance: rounded(best.relevance),
                chunk: Chunk::from(&best.chunk),
                explain: HitExplain::from(&best.explain),
            }),
            last: answer.last.as_ref().and_then(|last| {
                let explain = last.explain.as_ref()?;
                Some(Place {
                    rank: Some(last.rank),
                    relevance: rounded(last.relevance),
                    chunk: Chunk::from(&last.chunk),
                    explain: HitExplain::from(explain),
                })
            }),
            compared: answer.compared,
            words: Words {
                held: answer.holds.clone(),
                elsewhere: answer.elsewhere.clone(),
                lacking: answer.lacks.clone(),
            },
            why: None,
            notes: answer.notes.clone(),
        }
    }

    /// Of a file that is not.
    pub fn not_indexed(query: &retrieve::Query, why: WhyResult) -> Self {
        Self {
            schema: "rag.why-not/1".into(),
            query: query.text.clone(),
            file: why.file.clone(),
            source_id: why.document.as_ref().map(|document| document.source_id),
            found: None,
            reason: Some("not_indexed".into()),
            message: format!("it is not in the index: {}", why.message),
            remedy: None,
            best: None,
            last: None,
            compared: 0,
            words: Words::default(),
            why: Some(why),
            notes: Vec::new(),
        }
    }
}

/// A stable word for scripts, a sentence for people, and what would show it.
fn words_of(
    kept: &retrieve::Kept,
    query: &retrieve::Query,
    answer: &retrieve::WhyNot,
) -> (&'static str, String, Option<String>) {
    use retrieve::Kept;
    let rank = answer.best.as_ref().and_then(|best| best.rank);
    let numbered = rank.map_or("it is in no list".to_owned(), |rank| format!("it is number {rank}"));
    match kept {
        Kept::NoChunk => ("no_chunk", "it has no text that could be found".into(), None),
        Kept::Collection { of } => {
            ("collection", format!("it is in the collection `{of}`"), Some(format!("--collection {of}")))
        }
        Kept::Filter => ("filter", "the filter does not allow it".into(), Some("leave out --filter".into())),
        Kept::NoWord => ("no_word", "it holds no word of the query".into(), Some("--mode hybrid".into())),
        Kept::NoVector => ("no_vector", "it has no vector".into(), Some("--mode hybrid".into())),
        Kept::Depth { depth, k } => {
            let remedy = k.map(|k| format!("-k {k}"));
            ("depth", format!("neither words nor meaning bring it among the first {depth}; {numbered}"), remedy)
        }
        Kept::Approximate => {
            ("approximate", "the walk of the graph of vectors missed it".into(), Some("--exact".into()))
        }
        Kept::MinScore { least } => {
            let relevance = answer.best.as_ref().map_or(0.0, |best| best.relevance);
            let enough = (relevance * 100.0).floor() / 100.0;
            let message = format!("its relevance is {relevance:.2}, at least {least:.2} is asked for");
            ("min_score", message, Some(format!("--min-score {enough:.2}")))
        }
        Kept::Copy { of } => {
            ("copy", format!("a result says the same: `{}` {}", of.path, of.id), Some("--duplicates".into()))
        }
        Kept::PerSource => {
            ("per_source", "its document has its share of results".into(), Some("a higher --per-source".into()))
        }
        Kept::Mmr => ("mmr", format!("{numbered}, and --mmr put others before it"), Some("leave out --mmr".into())),
        Kept::Rerank => {
            ("rerank", format!("{numbered}, and the reranker put others before it"), Some("leave out --rerank".into()))
        }
        Kept::Rank { k } => {
            ("rank", format!("{numbered}, and {} are shown", query.k), (*k > query.k).then(|| format!("-k {k}")))
        }
        Kept::Named => ("named", "it was named as like or unlike, which are no results".into(), None),
    }
}
