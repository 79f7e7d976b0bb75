//! Metrics of one ranking against judgements, as trec_eval computes them, and their table over all questions.

mod map;
mod mrr;
mod ndcg;
mod recall;

use std::{collections::HashMap, fmt, str::FromStr};

use super::{
    qrels::Qrels,
    trec::{Run, Scored, plain},
};

/// A metric, perhaps of the first `k` documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    Ndcg(usize),
    Recall(usize),
    Mrr(usize),
    Map,
}

/// What is measured unless other metrics are asked for.
pub const DEFAULT_METRICS: [Metric; 5] =
    [Metric::Ndcg(10), Metric::Recall(10), Metric::Recall(100), Metric::Mrr(10), Metric::Map];

/// The name is no metric's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a metric; there are `ndcg@K`, `recall@K`, `mrr@K` and `map`")]
pub struct NoMetric(String);

impl fmt::Display for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ndcg(k) => write!(out, "ndcg@{k}"),
            Self::Recall(k) => write!(out, "recall@{k}"),
            Self::Mrr(k) => write!(out, "mrr@{k}"),
            Self::Map => out.write_str("map"),
        }
    }
}

impl FromStr for Metric {
    type Err = NoMetric;

    fn from_str(text: &str) -> Result<Self, NoMetric> {
        let name = text.trim().to_ascii_lowercase();
        if name == "map" {
            return Ok(Self::Map);
        }
        let cut = name.split_once('@').and_then(|(name, k)| Some((name, k.parse::<usize>().ok().filter(|k| *k > 0)?)));
        match cut {
            Some(("ndcg", k)) => Ok(Self::Ndcg(k)),
            Some(("recall", k)) => Ok(Self::Recall(k)),
            Some(("mrr", k)) => Ok(Self::Mrr(k)),
            _ => Err(NoMetric(text.to_owned())),
        }
    }
}

impl Metric {
    /// How many documents it looks at; `None`: all.
    pub fn cutoff(self) -> Option<usize> {
        match self {
            Self::Ndcg(k) | Self::Recall(k) | Self::Mrr(k) => Some(k),
            Self::Map => None,
        }
    }

    /// `gains`: the grade of each document found, best first, 0 where it is not relevant. `ideal`: those of all relevant
    /// documents, greatest first; there is at least one. 0..=1.
    fn of(self, gains: &[u32], ideal: &[u32]) -> f64 {
        match self {
            Self::Ndcg(k) => ndcg::ndcg(gains, ideal, k),
            Self::Recall(k) => recall::recall(gains, ideal.len(), k),
            Self::Mrr(k) => mrr::reciprocal_rank(gains, k),
            Self::Map => map::average_precision(gains, ideal.len()),
        }
    }
}

/// The value of each metric for each question that has a relevant document, also where nothing was found for it: 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    pub metrics: Vec<Metric>,
    pub queries: Vec<String>,
    /// A row a question, a column a metric.
    pub values: Vec<Vec<f64>>,
}

impl Scores {
    /// The values of one metric, question by question.
    pub fn column(&self, at: usize) -> Vec<f64> {
        self.values.iter().map(|row| row[at]).collect()
    }
}

/// Scores a run. A judged question that the run lacks scores 0; what the run has beyond the judged questions is ignored.
pub fn score(qrels: &Qrels, run: &Run, metrics: &[Metric]) -> Scores {
    let mut scores = Scores { metrics: metrics.to_vec(), queries: Vec::new(), values: Vec::new() };
    for query in qrels.answerable() {
        // A run that was read from a file has its ids without white space.
        let answers = run.by_query.get(query).or_else(|| run.by_query.get(&plain(query)));
        let judged = qrels.by_query[query].iter();
        let relevant =
            judged.filter_map(|(id, grade)| Some((id, u32::try_from(*grade).ok().filter(|grade| *grade > 0)?)));
        let mut grades: HashMap<String, u32> = HashMap::new();
        let mut ideal = Vec::new();
        for (id, grade) in relevant {
            ideal.push(grade);
            grades.insert(plain(id), grade);
        }
        ideal.sort_unstable_by(|a, b| b.cmp(a));
        let gain = |found: &Scored| {
            let id = &found.document;
            grades.get(id).or_else(|| grades.get(&plain(id))).copied().unwrap_or(0)
        };
        let gains: Vec<u32> = answers.map_or_else(Vec::new, |answers| answers.ranking.iter().map(gain).collect());
        scores.queries.push(query.to_owned());
        scores.values.push(metrics.iter().map(|metric| metric.of(&gains, &ideal)).collect());
    }
    scores
}
