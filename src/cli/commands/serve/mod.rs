//! `rag serve`: the index over HTTP, for programs, other machines and other people.

#[cfg(feature = "serve")]
mod access;
#[cfg(feature = "serve")]
mod files;
#[cfg(feature = "serve")]
mod listen;
#[cfg(feature = "serve")]
mod models;
#[cfg(feature = "serve")]
mod options;
#[cfg(feature = "serve")]
mod start;

use std::{path::PathBuf, time::Duration};

#[cfg(feature = "serve")]
pub use listen::tls;

use super::Context;
use crate::cli::{args::duration, report::Failure};

#[derive(Debug, clap::Args)]
#[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "told of, and not done"))]
pub struct Args {
    /// Listen at this address; port 0 takes any that is free [default: 127.0.0.1:7724]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Listen at this socket file too, for this user alone; without --listen: there alone. Without PATH: in the index's
    /// folder, where `rag query` and `rag ask` find it
    #[arg(long, value_name = "PATH")]
    socket: Option<Option<PathBuf>>,
    /// Let clients add and remove documents
    #[arg(long)]
    allow_write: bool,
    /// Let clients ingest what is in this folder of the server (can be repeated)
    #[arg(long, value_name = "DIR", requires = "allow_write")]
    ingest_root: Vec<PathBuf>,
    /// Let clients have pages fetched by the server
    #[arg(long, requires = "allow_write")]
    allow_url_ingest: bool,
    /// Ask clients for one of the keys in this file (TOML; `--new-key` makes one)
    #[arg(long, value_name = "FILE")]
    keys_file: Option<PathBuf>,
    /// Make a key, print it and what goes into the keys file, and leave
    #[arg(long, value_name = "NAME")]
    new_key: Option<String>,
    /// Listen to other machines though no key is asked for
    #[arg(long)]
    insecure: bool,
    /// Give each tenant of the keys file an index of its own in this folder
    #[arg(long, value_name = "DIR", requires = "keys_file")]
    tenants: Option<PathBuf>,
    /// Answer requests for this host name too (can be repeated)
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,
    /// Let pages of this origin read answers: `https://app.example` (can be repeated)
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Speak TLS with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Have the model at this OpenAI-style endpoint answer
    #[arg(long, value_name = "URL")]
    llm_url: Option<String>,
    /// Have this model answer, or that of the profile of this name in your config
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Write the access log here, `-` is stderr [default: stderr, unless --quiet]
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Give up on a query after this time
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    query_timeout: Duration,
    /// Hold at most so many connections
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..))]
    max_connections: u16,
    /// Work on at most so many requests at once; 256 more wait
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_in_flight: u16,
}

#[cfg(feature = "serve")]
pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    start::run(context, args)
}

#[cfg(not(feature = "serve"))]
pub fn run(_: &Context, _: Args) -> Result<u8, Failure> {
    Err(Failure::usage("this program was built without `rag serve`").hint("build it with the feature `serve`"))
}
