//! What `rag eval --answers --json` prints.

use serde::{Serialize, Serializer};

use super::{EvalBar, EvalConfiguration, EvalInterval, EvalSeconds, answer_word, rounded};
use crate::retrieve::{
    Answer,
    eval::{
        Estimate,
        answers::{Kind, Measure, Question, Score},
    },
};

/// `rag eval --answers --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswersResult {
    pub schema: &'static str,
    /// The file with the questions.
    pub file: String,
    /// The collection's folder; absent where the index there is was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    pub by: AnswersBy,
    pub configuration: EvalConfiguration,
    pub documents: usize,
    pub chunks: u64,
    pub metrics: ByMeasure,
    pub kinds: Vec<AnswersKind>,
    /// What `--fail-under` was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<EvalBar>,
    pub seconds: EvalSeconds,
    pub questions: Vec<AnsweredQuestion>,
    pub warnings: Vec<String>,
}

/// Who answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswersBy {
    /// The documents' own sentences, without a model.
    pub extractive: bool,
    /// The model asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The questions of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswersKind {
    pub kind: Kind,
    pub questions: usize,
    pub metrics: ByMeasure,
}

/// One question and what its answer is worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnsweredQuestion {
    pub id: String,
    pub kind: Kind,
    pub question: String,
    pub status: &'static str,
    pub relevance: f64,
    /// Empty where none was given.
    pub answer: String,
    /// A gold stretch is in the answer or in what it quotes; absent for what the documents do not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<bool>,
    /// It cites a passage with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<bool>,
    pub sentences: usize,
    pub supported: usize,
    pub flagged: usize,
    pub citations: usize,
    pub supporting: usize,
}

impl AnsweredQuestion {
    pub fn new(question: &Question, answer: &Answer, score: &Score) -> Self {
        let gold = |count: usize| question.is_answerable().then_some(count > 0);
        Self {
            id: question.id.clone(),
            kind: question.kind,
            question: question.question.clone(),
            status: answer_word(answer.status),
            relevance: rounded(answer.relevance),
            answer: answer.text.clone(),
            span: gold(score.gold_quoted),
            source: gold(score.gold_cited),
            sentences: score.sentences,
            supported: score.supported,
            flagged: score.flagged,
            citations: score.citations,
            supporting: score.supporting,
        }
    }
}

/// An object with a field for each measure of which there was something to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct ByMeasure(pub Vec<(Measure, EvalInterval)>);

impl ByMeasure {
    pub fn new(measures: &[Measure], estimates: Vec<Option<Estimate>>) -> Self {
        let known = measures.iter().zip(estimates).filter_map(|(measure, estimate)| Some((*measure, estimate?.into())));
        Self(known.collect())
    }

    pub fn get(&self, measure: Measure) -> Option<EvalInterval> {
        self.0.iter().find(|(known, _)| *known == measure).map(|(_, value)| *value)
    }
}

impl Serialize for ByMeasure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(measure, value)| (measure.to_string(), value)))
    }
}
