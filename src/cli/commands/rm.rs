//! `rag rm`: takes documents out of the index. The files stay; the next ingest of their folder adds them again.

use std::{ffi::OsString, time::Duration};

use rag::{
    index::Snapshot,
    retrieve::{Naming, Several},
    serve::{api, wire},
};

use super::{Context, collections};
use crate::cli::{
    args::{duration, key_value, tags},
    backend::Place,
    exit,
    output::{count, sanitize, sources},
    remote,
    report::Failure,
};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true).args(["what", "tag"]))]
pub struct Args {
    /// Remove these documents: an id (of a document or of one of its chunks), a path, a folder, or a glob such as `drafts/**`
    #[arg(value_name = "ID|PATH|GLOB")]
    what: Vec<OsString>,
    /// Remove documents with this tag; with a path: only those (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    tag: Vec<(String, String)>,
    /// Remove from this collection only
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Rewrite the index files too, so that no removed text is left in them; what the disk keeps of deleted files is not wiped
    #[arg(long, conflicts_with = "dry_run")]
    purge: bool,
    /// Say what would be removed and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Wait this long for another writer to end
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    wait: Duration,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let request = api::RemoveRequest {
            what: args.what.iter().map(|what| remote::spelled(what)).collect(),
            tags: tags(&args.tag)?,
            collection: args.collection.clone(),
            purge: args.purge,
            dry_run: args.dry_run,
        };
        let result = remote.remove(&request)?;
        if result.removed.is_empty() {
            collections::check_there(remote, args.collection.as_deref())?;
        }
        return print(context, &result, &[]);
    }
    tags(&args.tag)?;
    let index = context.place.open()?;
    if args.dry_run {
        let snapshot = index.snapshot()?;
        let (found, missing) = find(&context.place, &snapshot, &args)?;
        let result = result(&found, missing, &args, snapshot.generation());
        return print(context, &result, &named(&found));
    }
    let mut writer = index.writer(&context.place.writer_options(args.wait))?;
    let (found, missing) = find(&context.place, writer.snapshot(), &args)?;
    for id in found.keys() {
        writer.remove(*id)?;
    }
    writer.commit()?;
    if args.purge {
        writer.compact()?;
    }
    let generation = writer.snapshot().generation();
    print(context, &result(&found, missing, &args, generation), &named(&found))
}

/// The documents that the arguments name, and the arguments that name none.
fn find(place: &Place, snapshot: &Snapshot, args: &Args) -> Result<(Several, Vec<String>), Failure> {
    let naming = Naming { snapshot, collection: args.collection.as_deref(), sees: &|_| true };
    let names: Vec<String> = args.what.iter().map(|what| place.spelled(what, snapshot)).collect();
    let (found, missing) = naming.several(&names, args.tag.iter().map(|(key, value)| (key, value)))?;
    if found.is_empty() {
        collections::check(snapshot, args.collection.as_deref())?;
    }
    Ok((found, missing.into_iter().map(|at| args.what[at].display().to_string()).collect()))
}

/// The paths in order, each with its collection where they are of several.
fn named(found: &Several) -> Vec<String> {
    let mark = sources::marks(found.values().map(|(_, collection)| collection.as_str()));
    let mut named: Vec<String> = found.values().map(|(path, of)| format!("{path}{}", mark(of))).collect();
    named.sort();
    named
}

fn result(found: &Several, not_found: Vec<String>, args: &Args, generation: u64) -> wire::RemoveResult {
    let mut removed: Vec<String> = found.values().map(|(path, _)| path.clone()).collect();
    removed.sort();
    let (dry_run, purged) = (args.dry_run, args.purge);
    wire::RemoveResult { schema: "rag.rm/1".into(), removed, not_found, dry_run, purged, generation }
}

/// `named`: what is removed, for people; empty: the paths of the result.
fn print(context: &Context, result: &wire::RemoveResult, named: &[String]) -> Result<u8, Failure> {
    let wire::RemoveResult { removed, not_found, dry_run, generation, .. } = result;
    let code = if removed.is_empty() || !not_found.is_empty() { exit::NO } else { exit::OK };
    if context.screen.json {
        context.screen.print_json(result)?;
        return Ok(code);
    }
    let mut out = String::new();
    let (verb, word) = if *dry_run { ("would remove", "would be removed") } else { ("removed", "removed") };
    let shown: &[String] = if named.is_empty() { removed } else { named };
    for path in shown {
        out.push_str(&format!("{verb}  {}\n", sanitize::line(path)));
    }
    out.push_str(&format!("{} {word}; generation {generation}\n", count(removed.len() as u64, "document")));
    context.screen.print(&out)?;
    for what in not_found {
        context.screen.note(&format!("`{what}` names no document in the index"));
    }
    Ok(code)
}
