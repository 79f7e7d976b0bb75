//! What does the first search cost? Each run is a process of its own that opens the index and searches once. The files are
//! in the page cache; the query's vector is given.

use std::{env, process::Command};

use clap::Args;
use rag::index::vector::{Scratch, Search};
use serde_json::{Value, json};

use crate::{
    K, Opened, Result, emit, index,
    measure::{Clock, Times, Watch, round},
};

#[derive(Args)]
pub struct Cold {
    #[command(flatten)]
    opened: Opened,
    #[arg(long, default_value_t = 50)]
    runs: usize,
}

#[derive(Args)]
pub struct Once {
    #[command(flatten)]
    opened: Opened,
    #[arg(long)]
    query: usize,
    /// Start and end, to see what that takes.
    #[arg(long)]
    idle: bool,
}

impl Cold {
    pub fn run(&self) -> Result<()> {
        let data = self.opened.set.open()?;
        let [mut wall, mut idle, mut open, mut first, mut cpu] = std::array::from_fn(|_| Times::default());
        let number = |line: &Value, key: &str| line[key].as_f64().ok_or_else(|| format!("no {key} in {line}"));
        for run in 0..self.runs.max(1) {
            let query = run % data.queries.rows;
            idle.push(self.once(query, true)?.0);
            let (seconds, line) = self.once(query, false)?;
            wall.push(seconds);
            open.push(number(&line, "open_s")?);
            first.push(number(&line, "first_s")?);
            cpu.push(number(&line, "cpu_s")?);
        }
        let milliseconds = |seconds: f64| round(seconds * 1e3, 3);
        let both = |times: &mut Times| json!([milliseconds(times.quantile(0.0)), milliseconds(times.median())]);
        emit(&json!({
            "step": "cold", "set": data.name, "peer": self.opened.kind.peer(), "runs": self.runs,
            "what": "[best, median]",
            "process_ms": both(&mut wall), "idle_process_ms": both(&mut idle), "open_ms": both(&mut open),
            "first_ms": both(&mut first), "cpu_ms": both(&mut cpu),
        }))
    }

    /// Seconds that a process took, and what it said.
    fn once(&self, query: usize, idle: bool) -> Result<(f64, Value)> {
        let mut command = Command::new(env::current_exe()?);
        let kind = self.opened.kind.peer().trim_start_matches("rag-");
        command.arg("cold-once").arg("--set").arg(self.opened.set.dir()).arg("--index").arg(&self.opened.index);
        command.args(["--kind", kind, "--query", &query.to_string()]).args(idle.then_some("--idle"));
        let watch = Watch::start(Clock::Process);
        let output = command.output()?;
        let seconds = watch.wall();
        match output.status.success() {
            true => Ok((seconds, serde_json::from_slice(&output.stdout)?)),
            false => Err(String::from_utf8_lossy(&output.stderr).into()),
        }
    }
}

impl Once {
    pub fn run(&self) -> Result<()> {
        let data = self.opened.set.open()?;
        let query = data.queries.row(self.query).to_vec();
        let watch = Watch::start(Clock::Process);
        if self.idle {
            return emit(&json!({}));
        }
        let set = index::open(&self.opened.index)?;
        let open = watch.wall();
        let mut hits = Vec::new();
        set.search_with(&mut Scratch::default(), &query, &Search::new(K, None), &mut hits);
        let first = watch.wall() - open;
        emit(&json!({ "open_s": open, "first_s": first, "cpu_s": watch.cpu() }))
    }
}
