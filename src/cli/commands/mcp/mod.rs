//! `rag mcp`: tools for agents over standard input and output. Stdout is the protocol's; talk goes to stderr.

#[cfg(feature = "serve")]
mod models;

use std::{path::PathBuf, time::Duration};

use super::Context;
use crate::cli::{args::duration, report::Failure};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Let `ingest` read below this folder (can be repeated) [default: the roots of the client, else the folder of the index]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Offer `ingest` and `delete_source`
    #[arg(long)]
    allow_write: bool,
    /// Offer no memory tools
    #[arg(long)]
    no_memory: bool,
    /// Wait this long for another writer to end
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    wait: Duration,
}

#[cfg(not(feature = "serve"))]
pub fn run(_: &Context, _: Args) -> Result<u8, Failure> {
    Err(Failure::usage("this program was built without its servers").hint("build it with the feature `serve`"))
}

#[cfg(feature = "serve")]
pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    use rag::{
        serve::mcp::{Server, serve},
        types::Kind,
    };

    let options = options(context, &args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Kind::Io, format!("cannot start the server: {error}")))?;
    let server = Server::new(options);
    let result = runtime.block_on(serve(&server, tokio::io::stdin(), tokio::io::stdout()));
    // A read of standard input cannot be taken back.
    runtime.shutdown_background();
    result?;
    Ok(crate::cli::exit::OK)
}

#[cfg(feature = "serve")]
fn options(context: &Context, args: &Args) -> Result<rag::serve::mcp::Options, Failure> {
    use std::sync::Arc;

    use rag::{
        ingest::{self, PageReaders},
        retrieve::Query,
    };

    use super::{ask, ingest::settings::configured, query::SearchArgs};

    let (config, place) = (&context.config, &context.place);
    if place.exists() {
        // An index that somebody else could change is refused before anything is read of it.
        place.open()?;
    }
    for root in &args.root {
        if !root.is_dir() {
            return Err(Failure::usage(format!("`--root {}` is no folder", root.display()))
                .hint("name a folder that `ingest` may read"));
        }
    }
    let here = std::env::current_dir().ok();
    let search = SearchArgs::default();
    Ok(rag::serve::mcp::Options {
        allow_write: args.allow_write,
        memory: !args.no_memory,
        roots: args.root.clone(),
        trust_roots: true,
        home: place.home().or(here),
        ingest: ingest::Options { follow: false, page_readers: PageReaders::default(), ..configured(place, config)? },
        query: Query { ..search.to_query(String::new(), config, 10) },
        ask: ask::configured(config)?,
        writer: place.writer_options(args.wait),
        models: Arc::new(models::Opened::new(place.clone(), config.clone())),
        documents: None,
    })
}
