//! `rag why`: is a file in the index, with which chunks, and by which rule not.

use std::path::PathBuf;

use rag::{
    index::{Snapshot, SourceRecord},
    ingest::{self, PageUrl, Why, WhyOptions},
    serve::{api, wire::WhyResult},
    types::SourceId,
};

use super::Context;
use crate::cli::{
    exit,
    output::{places::Places, why as shown},
    remote,
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Explain this file: a path, or the id of a document
    #[arg(value_name = "FILE|ID")]
    file: String,
    /// Look in this collection only
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let request = api::WhyRequest { file: remote::spelled(args.file.as_ref()), collection: args.collection };
        return print(context, &Places::default(), &remote.why(&request)?);
    }
    let snapshot = context.place.open()?.snapshot()?;
    let (result, _) = explain(context, &snapshot, &args.file, args.collection.as_deref())?;
    print(context, &context.place.places(&snapshot), &result)
}

fn print(context: &Context, places: &Places, result: &WhyResult) -> Result<u8, Failure> {
    if context.screen.json {
        context.screen.print_json(result)?;
    } else {
        context.screen.print(&shown::why(&context.screen, places, result))?;
    }
    Ok(if result.indexed { exit::OK } else { exit::NO })
}

/// What is known of a file, and its record if there is one.
pub fn explain(
    context: &Context,
    snapshot: &Snapshot,
    file: &str,
    collection: Option<&str>,
) -> Result<(WhyResult, Option<SourceRecord>), Failure> {
    let place = &context.place;
    let sources = snapshot.sources(None)?;
    let wanted = if PageUrl::is_one(file) { file.to_owned() } else { place.spelled(file.as_ref(), snapshot) };
    let id = file.parse::<SourceId>().ok();
    let is_it = |source: &&SourceRecord| {
        collection.is_none_or(|name| name == source.collection)
            && (Some(source.id) == id || source.display_path() == wanted || source.path.as_str() == wanted)
    };
    if let Some(source) = sources.iter().find(is_it) {
        let chunks = snapshot.chunks_of(source.id)?;
        let Why { reason, message, .. } = Why::of_record(source);
        let freshness = place.freshness(snapshot).freshness(source);
        let result = WhyResult::known(
            source.display_path(),
            (reason, message),
            snapshot.generation(),
            source,
            freshness,
            &chunks,
        );
        return Ok((result, Some(source.clone())));
    }
    let config = &context.config;
    let options = WhyOptions {
        home: place.home(),
        roots: snapshot.roots(),
        index_dir: &place.dir,
        sources: &sources,
        include: &config.list("ingest.include"),
        exclude: &config.list("ingest.exclude"),
        hidden: config.bool("ingest.hidden"),
        follow: config.bool("ingest.follow"),
        archives: config.bool("ingest.archives"),
        max_file_bytes: config.size("ingest.max_file_size").unwrap_or(512 << 20),
    };
    // As it is given, or else as the index would print it.
    let given = PathBuf::from(file);
    let path = match given.symlink_metadata() {
        Ok(_) => given,
        Err(_) => place.places(snapshot).file(&wanted).unwrap_or(given),
    };
    Ok((WhyResult::unknown(wanted, &ingest::why(&path, &options), snapshot.generation()), None))
}
