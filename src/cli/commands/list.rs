//! `rag list`: the documents with their state and problems.

use rag::{
    index::{SourceRecord, Status},
    retrieve,
    serve::{api, wire},
};

use super::{Context, collections};
use crate::cli::{
    exit,
    output::{places::Places, sources},
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// List documents that this filter allows: `type:pdf path:guides/** mtime>=2026-01-01`
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// List this collection only
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// List documents that failed or lost something
    #[arg(long)]
    problems: bool,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let Args { filter, collection, problems } = args;
        let request = api::ListRequest { filter, collection, problems, ..api::ListRequest::default() };
        let listed = remote.list(&request)?;
        if listed.documents.is_empty() {
            collections::check_there(remote, request.collection.as_deref())?;
        }
        return print(context, &Places::default(), &listed);
    }
    let snapshot = context.place.open()?.snapshot()?;
    let mut found: Vec<SourceRecord> = match args.filter.as_ref().filter(|filter| !filter.trim().is_empty()) {
        Some(filter) => snapshot.sources_where(&retrieve::filter::parse(filter)?, args.collection.as_deref())?,
        None => snapshot.sources(args.collection.as_deref())?,
    };
    if found.is_empty() {
        collections::check(&snapshot, args.collection.as_deref())?;
    }
    if args.problems {
        found.retain(|source| source.status != Status::Indexed);
    }
    let listed = wire::ListResult::new(snapshot.generation(), &found);
    print(context, &context.place.places(&snapshot), &listed)
}

fn print(context: &Context, places: &Places, listed: &wire::ListResult) -> Result<u8, Failure> {
    if context.screen.json {
        context.screen.print_json(listed)?;
    } else {
        context.screen.print(&sources::list(&context.screen, places, &listed.documents))?;
        if listed.documents.is_empty() {
            context.screen.note("no document matches");
        }
    }
    Ok(if listed.documents.is_empty() { exit::NO } else { exit::OK })
}
