//! `rag show`: a chunk or a document with where it comes from.

use std::ffi::OsString;

use rag::{
    index::{ChunkRecord, Snapshot, SourceRecord},
    serve::wire,
    types::{ChunkId, Kind, SourceId},
};

use super::Context;
use crate::cli::{backend::Place, exit, output::sources, report::Failure};

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
    let snapshot = context.place.open()?.snapshot()?;
    let Some((source, chunks, one)) = find(&context.place, &snapshot, &args)? else {
        let message = format!("no chunk and no document `{}` in the index", args.what.display());
        return if context.screen.json {
            context.screen.print_json(&wire::ShowResult::new(snapshot.generation(), None, &[]))?;
            Ok(exit::NO)
        } else {
            context.screen.note(&format!("{message}; `rag list` names the documents"));
            Ok(exit::NO)
        };
    };
    if args.raw {
        context.screen.print(&stored(&chunks))?;
    } else if context.screen.json {
        context.screen.print_json(&wire::ShowResult::new(snapshot.generation(), source.as_ref(), &chunks))?;
    } else {
        let places = context.place.places(&snapshot);
        let text = match (&source, one) {
            (Some(source), false) => sources::document(&context.screen, &places, source, &chunks),
            (Some(_), true) | (None, _) => {
                chunks.iter().map(|chunk| sources::chunk(&context.screen, &places, chunk)).collect()
            }
        };
        context.screen.print(&text)?;
    }
    Ok(exit::OK)
}

/// The text as it is stored. Of a document each chunk stands at its own offset, so that `byte_range` and quotes of every
/// answer can be cut out of what is printed; what no chunk holds (white space, front matter) is line feeds.
pub fn stored(chunks: &[ChunkRecord]) -> String {
    if let [chunk] = chunks {
        return chunk.text.clone();
    }
    let mut out = String::new();
    for chunk in chunks {
        out.extend(std::iter::repeat_n('\n', chunk.span.start.saturating_sub(out.len())));
        out.push_str(chunk.text.get(out.len() - chunk.span.start..).unwrap_or_default());
    }
    out
}

type Found = (Option<SourceRecord>, Vec<ChunkRecord>, bool);

/// A chunk id, a document id, or a display path; several collections may hold the same path: the first is shown.
fn find(place: &Place, snapshot: &Snapshot, args: &Args) -> Result<Option<Found>, Failure> {
    let word = args.what.to_str().unwrap_or_default();
    if let Ok(id) = word.parse::<ChunkId>()
        && let Some(chunk) = snapshot.chunk(id)?
    {
        let source = snapshot.source(chunk.source)?;
        return Ok(Some((source, vec![chunk], true)));
    }
    let by_id = match word.parse::<SourceId>() {
        Ok(id) => snapshot.source(id)?,
        Err(_) => None,
    };
    let source = match by_id {
        Some(source) => Some(source),
        None => {
            let wanted = place.spelled(&args.what, snapshot);
            let mut all = snapshot.sources(args.collection.as_deref())?.into_iter();
            all.find(|source| source.display_path() == wanted || source.path.as_str() == wanted)
        }
    };
    let Some(source) = source else { return Ok(None) };
    let chunks = snapshot.chunks_of(source.id)?;
    if chunks.iter().any(|chunk| chunk.source != source.id) {
        return Err(Failure::new(Kind::Bug, "the index gave chunks of another document"));
    }
    Ok(Some((Some(source), chunks, false)))
}
