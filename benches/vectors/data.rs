//! A set: its rows, its queries, and what is right.

use std::{collections::BTreeSet, fs, path::PathBuf};

use clap::Args;
use rag::index::vector::{Metric, NewRow};
use serde_json::Value;

use crate::{K, Result, npy::Npy};

#[derive(Args)]
pub struct SetArgs {
    /// Folder of `base.npy`, `query.npy`, `gt.npy` and `meta.json`.
    #[arg(long, value_name = "DIR")]
    set: PathBuf,
    /// Which queries: `NAME.npy`, and `gt….npy` with what follows `query` in the name.
    #[arg(long, value_name = "NAME", default_value = "query")]
    queries: String,
}

impl SetArgs {
    pub fn dir(&self) -> &std::path::Path {
        &self.set
    }

    pub fn open(&self) -> Result<Data> {
        let meta: Value = serde_json::from_slice(&fs::read(self.set.join("meta.json"))?)?;
        let metric = match meta["metric"].as_str() {
            Some("ip") => Metric::Dot,
            Some("l2") => Metric::L2,
            other => return Err(format!("metric {other:?} in {}", self.set.display()).into()),
        };
        let queries = Npy::open(&self.set.join(format!("{}.npy", self.queries)))?;
        let name = meta["name"].as_str().unwrap_or_default().to_owned();
        Ok(Data { name, metric, dir: self.set.clone(), asked: self.queries.clone(), queries })
    }
}

/// An opened set. Rows are mapped only when they are asked for: they are no part of what an index needs in memory.
pub struct Data {
    pub name: String,
    pub metric: Metric,
    dir: PathBuf,
    pub asked: String,
    pub queries: Npy<f32>,
}

impl Data {
    pub fn dim(&self) -> usize {
        self.queries.width
    }

    pub fn base(&self) -> Result<Npy<f32>> {
        Npy::open(&self.dir.join("base.npy"))
    }

    /// Of the `K` rows found for each query, how many are right: as near as the `K`-th nearest, so that it does not matter
    /// which of equals were found.
    pub fn recall(&self, found: &[Vec<u64>]) -> Result<f64> {
        let base = self.base()?;
        let suffix = self.asked.strip_prefix("query").unwrap_or_default();
        let truth: Npy<i32> = Npy::open(&self.dir.join(format!("gt{suffix}.npy")))?;
        let mut right = 0;
        for (at, found) in found.iter().enumerate() {
            let query = self.queries.row(at);
            let far = |row: usize| far(self.metric, query, base.row(row));
            let kth = far(usize::try_from(truth.row(at)[K - 1])?);
            let bar = match self.metric {
                Metric::L2 => kth * (1.0 + 1e-6),
                Metric::Dot | Metric::Cosine => kth + 1e-6,
            };
            let rows: BTreeSet<u64> = found.iter().copied().collect();
            right += rows.iter().filter(|&&row| far(row as usize) <= bar).count();
        }
        Ok(right as f64 / (K * found.len()) as f64)
    }
}

/// How far a row is from a query, in f64: smaller is nearer.
fn far(metric: Metric, query: &[f32], row: &[f32]) -> f64 {
    let pairs = query.iter().zip(row).map(|(&a, &b)| (f64::from(a), f64::from(b)));
    match metric {
        Metric::L2 => pairs.map(|(a, b)| (a - b) * (a - b)).sum(),
        Metric::Dot | Metric::Cosine => -pairs.map(|(a, b)| a * b).sum::<f64>(),
    }
}

/// Rows with ids from `first` on.
pub fn rows_of(values: &[f32], dim: usize, first: usize) -> Vec<NewRow<'_>> {
    let ids = first as u64..;
    ids.zip(values.chunks_exact(dim)).map(|(id, vector)| NewRow { id, hash: [0; 16], vector }).collect()
}

/// Numbers that look random and are the same in every run (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            values.swap(at, (self.next() % (at as u64 + 1)) as usize);
        }
    }
}
