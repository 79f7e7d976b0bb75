//! `rag why`: is a file in the index, with which chunks, and by which rule not.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use rag::{
    index::{Snapshot, SourceRecord},
    ingest::{self, PageUrl, Why, WhyOptions},
    serve::{api, wire::WhyResult},
    types::{SourceId, SourcePath},
};

use super::{Context, collections};
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
    file: OsString,
    /// Look in this collection only
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let request = api::WhyRequest { file: remote::spelled(&args.file), collection: args.collection };
        let result = remote.why(&request)?;
        if result.document.is_none() {
            collections::check_there(remote, request.collection.as_deref())?;
        }
        return print(context, &Places::default(), &result);
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
    file: &OsStr,
    collection: Option<&str>,
) -> Result<(WhyResult, Option<SourceRecord>), Failure> {
    let place = &context.place;
    let sources = snapshot.sources(None)?;
    let text = file.to_str();
    let wanted = match text {
        Some(address) if PageUrl::is_one(address) => address.to_owned(),
        Some(_) | None => place.spelled(file, snapshot),
    };
    let id = text.and_then(|text| text.parse::<SourceId>().ok());
    let is_it = |source: &&SourceRecord| {
        collection.is_none_or(|name| name == source.collection)
            && (Some(source.id) == id || source.display_path() == wanted || source.path.as_str() == wanted)
    };
    if let Some(source) = sources.iter().find(is_it) {
        if collection.is_none() {
            let same = sources.iter().filter(|other| other.display_path() == source.display_path());
            collections::tell_others(&context.screen, source, same);
        }
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
    collections::check(snapshot, collection)?;
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
    let wanted = link(context, snapshot, &path).unwrap_or(wanted);
    Ok((WhyResult::unknown(wanted, &ingest::why(&path, &options), snapshot.generation()), None))
}

/// How the index would spell a link that leads elsewhere: under its own name, not that of where it leads.
fn link(context: &Context, snapshot: &Snapshot, path: &Path) -> Option<String> {
    if !path.is_symlink() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = context.place.spelled(folder.as_os_str(), snapshot);
    let name = SourcePath::from_path(Path::new(path.file_name()?)).to_string();
    Some(if folder.is_empty() || folder == "." { name } else { format!("{folder}/{name}") })
}
