//! Recall, speed and size of the vector core on real sets, one step a process: `cargo bench --bench vectors -- help`.
//!
//! Useful for: the same JSON lines for us as for other engines, so that one table can hold both; `scripts/bench_vectors.py`
//! runs all of it and draws the table. Not for: one kernel (see `benches/kernels.rs`).
//!
//! A set is a folder of `base.npy` and `query.npy` (f32), `gt.npy` (i32: the exact nearest rows of each query, best first)
//! and `meta.json` (`name`, `metric`: `ip` or `l2`). Queries run on one thread unless it says otherwise. Times are those of
//! one machine, so only ratios within one session count; CPU time is steadier than the clock where others work too.

mod churn;
mod cold;
mod data;
mod filters;
mod index;
mod map;
mod measure;
mod merge;
mod npy;
mod query;

use std::{error::Error, io::Write, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use serde_json::Value;

/// Whatever goes wrong ends the step.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Neighbours that are asked for, everywhere.
const K: usize = 10;

#[derive(Parser)]
#[command(name = "vectors", about = "Recall, speed and size of the vector core, as JSON lines")]
struct Cli {
    #[command(subcommand)]
    step: Option<Step>,
    /// What `cargo bench` adds to every command.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Step {
    /// Write the index of a set.
    Build(index::Build),
    /// Open an index and sweep over operating points.
    Query(query::Query),
    /// Search under filters of every selectivity, also ones that depend on the query.
    Filters(filters::Filters),
    /// Replace half of the rows and compare with an index that was built of the same rows at once.
    Churn(churn::Churn),
    /// Search while another thread merges segments.
    Merge(merge::Merge),
    /// Open and search in processes of their own.
    Cold(cold::Cold),
    /// What `cold` runs.
    #[command(hide = true)]
    ColdOnce(cold::Once),
}

/// An index that was built, and the set it is of.
#[derive(Args)]
struct Opened {
    #[command(flatten)]
    set: data::SetArgs,
    /// What `build` wrote.
    #[arg(long, value_name = "FILE")]
    index: PathBuf,
    #[arg(long, value_enum)]
    kind: index::Kind,
}

fn main() -> Result<()> {
    match Cli::parse().step {
        Some(Step::Build(step)) => step.run(),
        Some(Step::Query(step)) => step.run(),
        Some(Step::Filters(step)) => step.run(),
        Some(Step::Churn(step)) => step.run(),
        Some(Step::Merge(step)) => step.run(),
        Some(Step::Cold(step)) => step.run(),
        Some(Step::ColdOnce(step)) => step.run(),
        // `cargo bench` runs every bench, and this one needs data.
        None => Ok(writeln!(std::io::stdout(), "vectors: needs data; see `cargo bench --bench vectors -- help`")?),
    }
}

/// Prints one line.
fn emit(line: &Value) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
