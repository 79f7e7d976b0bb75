//! How good are retrieval and answers? Questions with judgements in, metrics with their uncertainty out.
//!
//! Pure but for `run`, which asks the questions. The formulas and the order of ties are trec_eval's, so that figures
//! can stand beside published ones. Not for: filling an index or reading files, which is a door's.

pub mod answers;
pub mod auto;
mod beir;
mod bootstrap;
mod compare;
mod metrics;
mod names;
mod qrels;
mod random;
mod run;
mod trec;
mod tune;

pub use beir::{Lines, Malformed, Record, read_lines};
pub use bootstrap::{Estimate, Share, estimate, estimate_shares};
pub use compare::{Comparison, compare};
pub use metrics::{DEFAULT_METRICS, Metric, NoMetric, Scores, score};
pub use names::Names;
pub use qrels::Qrels;
pub use run::{Answering, Asking, DEPTH, Question, answer, ask};
pub use trec::{Answers, Run, Scored};
pub use tune::{Choice, MIN_GAIN, choose, choose_least};

#[cfg(test)]
mod tests;
