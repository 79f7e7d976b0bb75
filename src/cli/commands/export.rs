//! `rag export`: the documents as JSONL, one a line, for another index or another program.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use rag::{
    index::Snapshot,
    retrieve,
    serve::{
        memory::{self, portable},
        wire,
    },
    types::Kind,
};

use super::{Context, collections};
use crate::cli::{
    exit,
    output::{bytes, count, sanitize},
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write to this file instead of stdout; it is replaced when the export is whole
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Export documents that this filter allows: `type:pdf path:guides/** mtime>=2026-01-01`
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// Export this collection only
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Leave out what `rag mcp` was told to remember; with `--filter` or `--collection` it is left out too
    #[arg(long)]
    no_memories: bool,
    /// Add the chunks with their vectors, so that an import cuts and embeds nothing
    #[arg(long)]
    vectors: bool,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let snapshot = context.place.open()?.snapshot()?;
    let screen = &context.screen;
    let is_whole = args.filter.is_none() && args.collection.is_none() && !args.no_memories;
    let memories = if is_whole { portable::open(&context.place.dir)? } else { None };
    let memories = match memories {
        Some(memories) => portable::lines(&memories.snapshot()?, memory::now_ms()).map_err(Failure::from)?,
        None => Vec::new(),
    };
    let result = match &args.out {
        Some(path) => to_file(path, &snapshot, &memories, &args)?,
        None => {
            // Lines are data: there is no other object to print beside them.
            let mut out = Counted { out: BufWriter::new(io::stdout().lock()), bytes: 0 };
            let mut result = write(&snapshot, &memories, &args, &mut out, screen.stdout_is_terminal)?;
            out.flush()?;
            result.bytes = out.bytes;
            result
        }
    };
    if screen.json && args.out.is_some() {
        screen.print_json(&result)?;
    } else {
        let to = args.out.as_ref().map(|path| format!(" to `{}`", path.display())).unwrap_or_default();
        let size = bytes(result.bytes);
        let also = match memories.len() {
            0 => String::new(),
            n => format!(" and {}", count(n as u64, "memory")),
        };
        let documents = count(result.documents, "document");
        screen.note(&sanitize::line(&format!("exported {documents}{also}{to}, {size}")));
    }
    Ok(if result.documents == 0 && memories.is_empty() { exit::NO } else { exit::OK })
}

/// Beside first, so that a file of that name is the old or the new one, whole.
fn to_file(
    path: &Path,
    snapshot: &Snapshot,
    memories: &[portable::Line],
    args: &Args,
) -> Result<wire::ExportResult, Failure> {
    let failed = |error: io::Error| {
        Failure::new(Kind::Io, format!("cannot write `{}`: {error}", path.display()))
            .hint("free space or mend permissions, or name another file with `--out`")
    };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let special = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    if special {
        // A pipe or a device is written as it is.
        let file = fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
        let mut out = Counted { out: BufWriter::new(file), bytes: 0 };
        let mut result = write(snapshot, memories, args, &mut out, false)?;
        out.flush().map_err(failed)?;
        result.bytes = out.bytes;
        return Ok(result);
    }
    let beside = tempfile::Builder::new().prefix(".rag-export-").tempfile_in(folder).map_err(failed)?;
    let mut out = Counted { out: BufWriter::new(beside), bytes: 0 };
    let mut result = write(snapshot, memories, args, &mut out, false)?;
    result.bytes = out.bytes;
    let beside = out.out.into_inner().map_err(|error| failed(error.into_error()))?;
    beside.as_file().sync_all().map_err(failed)?;
    beside.persist(path).map_err(|error| failed(error.error))?;
    Ok(result)
}

/// Writes the lines; one document is in memory at a time.
fn write(
    snapshot: &Snapshot,
    memories: &[portable::Line],
    args: &Args,
    out: &mut dyn Write,
    to_terminal: bool,
) -> Result<wire::ExportResult, Failure> {
    let filter = args.filter.as_deref().filter(|filter| !filter.trim().is_empty());
    let filter = filter.map(retrieve::filter::parse).transpose()?;
    let mut result = wire::ExportResult {
        schema: "rag.export/1".into(),
        documents: 0,
        chunks: 0,
        bytes: 0,
        out: args.out.as_ref().map(|path| path.display().to_string()),
        generation: snapshot.generation(),
    };
    let sources = snapshot.source_ids(filter.as_ref(), args.collection.as_deref())?;
    if sources.is_empty() {
        collections::check(snapshot, args.collection.as_deref())?;
    }
    for id in sources {
        let Some(source) = snapshot.source(id)? else { continue };
        let chunks = snapshot.chunks_of(id)?;
        let document = wire::ExportedDocument::new(snapshot, source, &chunks, args.vectors);
        if to_terminal {
            let line = serde_json::to_string(&document).map_err(io::Error::from)?;
            out.write_all(sanitize::json(&line).as_bytes())?;
        } else {
            serde_json::to_writer(&mut *out, &document).map_err(io::Error::from)?;
        }
        out.write_all(b"\n")?;
        result.documents += 1;
        result.chunks += chunks.len() as u64;
    }
    for memory in memories {
        let line = serde_json::to_string(memory).map_err(io::Error::from)?;
        let line = if to_terminal { sanitize::json(&line) } else { line.as_str().into() };
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(result)
}

struct Counted<W: Write> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
