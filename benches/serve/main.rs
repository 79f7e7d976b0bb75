//! `rag serve` and `rag proxy` under load: `cargo bench --bench serve -- load`, or `make bench-serve`.
//!
//! It makes a collection of its own, starts the program at a free port of this machine, asks it in closed and in open loop,
//! and prints one JSON object a row and a table of bars beside what was measured. Server and client share the cores, so
//! only figures of one session may be compared.
//!
//! In an open loop request `i` is due at `i / rate` seconds, and its time counts from then: a stall is not hidden by the
//! requests that were never sent. Every run is bounded in time and in requests under way.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

mod client;
mod corpus;
mod density;
mod drive;
mod load;
mod server;

use std::{error::Error, path::PathBuf};

use clap::{Args, Parser, Subcommand};

/// Whatever goes wrong ends the run.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Parser)]
#[command(name = "serve", about = "The server under load, as JSON lines and a table")]
struct Cli {
    #[command(subcommand)]
    step: Step,
    /// What `cargo bench` adds to every command.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Step {
    /// Every row of the load table.
    Load(load::Load),
    /// Several tenants in one server: resident memory, and whether one finds what is another's.
    Density(density::Density),
    /// Write a collection as lines for `rag import`.
    Lines(corpus::Lines),
}

#[derive(Args, Clone)]
struct Program {
    /// The program that is measured.
    #[arg(long, value_name = "FILE", default_value = env!("CARGO_BIN_EXE_rag"))]
    rag: PathBuf,
    /// Of collection and requests.
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

fn main() -> Result<()> {
    match Cli::parse().step {
        Step::Load(load) => load.run(),
        Step::Density(density) => density.run(),
        Step::Lines(lines) => lines.run(),
    }
}
