//! `rag why-not`: at which rank a document stands for a query in each leg, and what kept it out of the results.

use std::ffi::OsString;

use rag::{
    retrieve::{self, Query},
    serve::{api, wire::WhyNotResult},
    types::ChunkId,
};

use super::{Context, query::SearchArgs, why};
use crate::cli::{
    exit,
    output::{places::Places, why as shown},
    remote,
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Search for this text
    #[arg(value_name = "TEXT")]
    text: String,
    /// Explain what becomes of this file: a path, or the id of a document or of a chunk
    #[arg(value_name = "FILE|ID")]
    file: OsString,
    #[command(flatten)]
    search: SearchArgs,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let request = api::WhyNotRequest {
            text: args.text,
            file: remote::spelled(&args.file),
            ..api::WhyNotRequest::searching(remote::search(&args.search))
        };
        return print(context, &Places::default(), &remote.why_not(&request)?);
    }
    let config = &context.config;
    let snapshot = context.place.open()?.snapshot()?;
    let k = config.number("retrieve.k").unwrap_or(10);
    let query = Query {
        rerank: args.search.reranker(&context.place, config)?,
        ..args.search.to_query(args.text.clone(), config, k)
    };
    // A chunk's id names its document and narrows the question to it.
    let chunk = match args.file.to_str().and_then(|word| word.parse::<ChunkId>().ok()) {
        Some(id) => snapshot.chunk(id)?,
        None => None,
    };
    let file = chunk.as_ref().map_or_else(|| args.file.clone(), |chunk| chunk.source.to_string().into());
    let (known, source) = why::explain(context, &snapshot, &file, None)?;
    let result = match source {
        Some(source) if known.indexed => {
            let embedder = context.place.query_embedder(config, &snapshot, query.mode)?;
            let only = chunk.map(|chunk| chunk.id);
            let answer = retrieve::why_not(&snapshot, embedder.as_deref(), &query, &source, only)?;
            WhyNotResult::of(&query, &source, &answer)
        }
        Some(_) | None => WhyNotResult::not_indexed(&query, known),
    };
    print(context, &context.place.places(&snapshot), &result)
}

fn print(context: &Context, places: &Places, result: &WhyNotResult) -> Result<u8, Failure> {
    if context.screen.json {
        context.screen.print_json(result)?;
    } else {
        context.screen.print(&shown::why_not(&context.screen, places, result))?;
        result.notes.iter().for_each(|note| context.screen.note(note));
    }
    Ok(if result.found.is_some() { exit::OK } else { exit::NO })
}
