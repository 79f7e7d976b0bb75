//! `rag show`: a chunk or a document with where it comes from.

use std::ffi::OsString;

use rag::{
    index::Snapshot,
    retrieve::{Named, Naming},
    serve::{api, wire},
    types::ChunkId,
};

use super::{Context, collections};
use crate::cli::{
    exit,
    output::{places::Places, sources},
    remote,
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show this chunk (its id), or this document (its id or path)
    #[arg(value_name = "ID|PATH")]
    what: OsString,
    /// Print the stored text alone, every byte at its place
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Look in this collection only
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let request = api::ShowRequest { what: remote::spelled(&args.what), collection: args.collection.clone() };
        let shown = remote.show(&request)?;
        if shown.document.is_none() && shown.chunks.is_empty() {
            collections::check_there(remote, args.collection.as_deref())?;
        }
        return print(context, &args, &Places::default(), &shown);
    }
    let snapshot = context.place.open()?.snapshot()?;
    let (source, chunks) = find(context, &snapshot, &args)?.unwrap_or_default();
    let shown = wire::ShowResult::new(snapshot.generation(), source.as_ref(), &chunks);
    print(context, &args, &context.place.places(&snapshot), &shown)
}

fn print(context: &Context, args: &Args, places: &Places, shown: &wire::ShowResult) -> Result<u8, Failure> {
    let screen = &context.screen;
    let is_found = shown.document.is_some() || !shown.chunks.is_empty();
    if screen.json {
        screen.print_json(shown)?;
    } else if !is_found {
        let what = args.what.display();
        screen.note(&format!("no chunk and no document `{what}` in the index; `rag list` names the documents"));
    } else if args.raw {
        screen.print(&stored(&shown.chunks))?;
    } else {
        // A chunk that was asked for stands alone, the only one of its document does not.
        let id = args.what.to_str().and_then(|word| word.parse::<ChunkId>().ok());
        let text = match (&shown.document, &shown.chunks[..]) {
            (Some(_), [chunk]) if Some(chunk.chunk_id) == id => sources::chunk(screen, places, chunk),
            (Some(document), chunks) => sources::document(screen, places, document, chunks),
            (None, chunks) => chunks.iter().map(|chunk| sources::chunk(screen, places, chunk)).collect(),
        };
        screen.print(&text)?;
    }
    Ok(if is_found { exit::OK } else { exit::NO })
}

/// The text as it is stored. Of a document each chunk stands at its own offset, so that `byte_range` and quotes of every
/// answer can be cut out of what is printed; what no chunk holds (white space, front matter) is line feeds.
pub fn stored(chunks: &[wire::Chunk]) -> String {
    if let [chunk] = chunks {
        return chunk.text.clone();
    }
    let mut out = String::new();
    for chunk in chunks {
        let start = chunk.byte_range[0];
        out.extend(std::iter::repeat_n('\n', start.saturating_sub(out.len())));
        out.push_str(chunk.text.get(out.len() - start..).unwrap_or_default());
    }
    out
}

/// What the argument names. Several collections may hold the same path: the first is shown, and the others are named.
fn find(context: &Context, snapshot: &Snapshot, args: &Args) -> Result<Option<Named>, Failure> {
    let collection = args.collection.as_deref();
    let naming = Naming { snapshot, collection, sees: &|_| true };
    let spelled = || context.place.spelled(&args.what, snapshot);
    let found = naming.one(args.what.to_str().unwrap_or_default(), spelled)?;
    match &found {
        None => collections::check(snapshot, collection)?,
        Some((Some(shown), _)) if collection.is_none() && shown.display_path() == spelled() => {
            let all = snapshot.sources(None)?;
            let same = all.iter().filter(|source| source.display_path() == shown.display_path());
            collections::tell_others(&context.screen, shown, same);
        }
        Some(_) => {}
    }
    Ok(found)
}
