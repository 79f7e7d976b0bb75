//! What `rag eval --json` and `rag tune --json` print.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use super::{Word, rounded64};
use crate::retrieve::eval::{Comparison, Estimate, Metric};

/// `rag eval --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalResult {
    pub schema: Word,
    /// The collection's folder; absent where the index there is was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Questions that were averaged over.
    pub queries: usize,
    /// Documents of the collection or the index; absent where only files were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<usize>,
    /// With `--auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<EvalMade>,
    /// Of the first configuration.
    pub metrics: EvalMetrics,
    /// In the order asked for; of two compared files none.
    pub configurations: Vec<EvalMeasured>,
    /// What `--compare` was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<EvalComparison>,
    /// What `--fail-under` was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<EvalBar>,
    pub warnings: Vec<String>,
}

/// Questions that were made from the documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalMade {
    pub seed: u64,
    /// How many of each kind.
    pub kinds: BTreeMap<Word, usize>,
}

impl EvalMade {
    pub fn new(seed: u64, kinds: BTreeMap<&'static str, usize>) -> Self {
        Self { seed, kinds: kinds.into_iter().map(|(kind, number)| (kind.into(), number)).collect() }
    }
}

/// A configuration and how it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalMeasured {
    pub configuration: EvalConfiguration,
    pub metrics: EvalMetrics,
    pub chunks: u64,
    pub seconds: EvalSeconds,
    /// Against the first configuration; absent for that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_first: Option<EvalDifferences>,
    /// With `--per-query`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_query: Option<Vec<EvalQuery>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalConfiguration {
    pub mode: Word,
    /// Absent where one leg alone searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fusion: Option<Word>,
    /// Absent: the default of the fusion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Absent: as the index was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_tokens: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_overlap: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalSeconds {
    /// Filling the index; 0 for a configuration that found it filled.
    pub ingest: f64,
    pub queries: f64,
}

/// One question's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalQuery {
    pub id: String,
    /// Relevance of the question as a whole, 0..1.
    pub relevance: Option<f64>,
    /// Documents found.
    pub found: usize,
    pub metrics: EvalValues,
}

/// Two runs, question by question: the second one over the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalComparison {
    pub first: String,
    pub second: String,
    pub first_metrics: EvalMetrics,
    pub second_metrics: EvalMetrics,
    pub differences: EvalDifferences,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalBar {
    pub metric: String,
    pub at_least: f64,
    /// The least of any configuration.
    pub mean: f64,
    pub met: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalInterval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl From<Estimate> for EvalInterval {
    fn from(estimate: Estimate) -> Self {
        let Estimate { mean, low, high } = estimate;
        Self { mean: rounded64(mean), low: rounded64(low), high: rounded64(high) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct EvalDifference {
    #[serde(flatten)]
    pub difference: EvalInterval,
    /// Of a two-sided paired randomization test.
    pub p: f64,
    pub better: usize,
    pub alike: usize,
    pub worse: usize,
}

impl From<Comparison> for EvalDifference {
    fn from(comparison: Comparison) -> Self {
        let Comparison { difference, p, better, alike, worse } = comparison;
        Self { difference: difference.into(), p: rounded64(p), better, alike, worse }
    }
}

/// An object with a field for each metric, in the order asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ByMetric<T>(pub Vec<(Metric, T)>);

pub type EvalMetrics = ByMetric<EvalInterval>;
pub type EvalDifferences = ByMetric<EvalDifference>;
pub type EvalValues = ByMetric<f64>;

impl<T: Serialize> Serialize for ByMetric<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(metric, value)| (metric.to_string(), value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByMetric<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Table(PhantomData))
    }
}

/// Reads a table in its own order. A metric that this program does not know is passed over.
struct Table<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Table<T> {
    type Value = ByMetric<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object with a field for each metric")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByMetric<T>, A::Error> {
        let mut table = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            match name.parse() {
                Ok(metric) => table.push((metric, map.next_value()?)),
                Err(_) => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(ByMetric(table))
    }
}

impl<T> ByMetric<T> {
    pub fn new(metrics: &[Metric], values: impl IntoIterator<Item = impl Into<T>>) -> Self {
        Self(metrics.iter().copied().zip(values.into_iter().map(Into::into)).collect())
    }
}

/// `rag tune --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct TuneResult {
    pub schema: Word,
    pub queries: usize,
    /// Absent where questions were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<EvalMade>,
    pub settings: Vec<TuneSetting>,
    /// The file that the proposals were written to, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    pub warnings: Vec<String>,
}

/// One setting, the values that were tried, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct TuneSetting {
    /// As in `rag config`.
    pub key: Word,
    /// What the values are compared by.
    pub metric: String,
    pub current: f64,
    /// Absent: keep what is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<f64>,
    /// Values that are better beyond chance and are not proposed all the same: made questions cannot speak for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<f64>,
    /// By value; the current one among them.
    pub trials: Vec<TuneTrial>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub struct TuneTrial {
    pub value: f64,
    pub estimate: EvalInterval,
    /// Absent for the current value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_current: Option<EvalDifference>,
}
