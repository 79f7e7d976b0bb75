//! `rag import`: documents that come as JSONL, from `rag export` or from another program.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal},
    path::{Path, PathBuf},
    time::Duration,
};

use rag::{
    ingest::{self, DepositOptions, ImportOptions, Loaders},
    serve::{
        memory::portable::{Sieve, restore},
        wire,
    },
    types::{Cancel, Kind},
};

use super::{
    Context,
    ingest::{EmbedArgs, worker},
};
use crate::cli::{
    args::{collection, duration, key_value, tags},
    exit,
    output::{count, progress::Progress, summary},
    report::Failure,
    signals,
};

const READ_BUFFER: usize = 256 << 10;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Read this file, one JSON object a line; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Put all documents into this collection [default: what the lines say, else `default`]
    #[arg(long, value_name = "NAME", value_parser = collection)]
    collection: Option<String>,
    /// Give each document this tag (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    tag: Vec<(String, String)>,
    /// Aim at chunks of so many word pieces, where lines bring none [default: 230]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(32..=254))]
    chunk_tokens: Option<u16>,
    /// Let neighbour chunks share so many word pieces, where lines bring none
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=127))]
    chunk_overlap: Option<u16>,
    /// Let warnings count as failures (exit 3)
    #[arg(long)]
    strict: bool,
    /// Wait this long for another writer to end
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    embed: EmbedArgs,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let (place, config, screen) = (&context.place, &context.config, &context.screen);
    // Before an index is made: a typo must leave nothing behind.
    let tags = tags(&args.tag)?;
    let mut input = Sieve::new(open(&args.file)?);
    let cancel = Cancel::default();
    let workshop = place.workshop(config, &args.embed, false, screen, &cancel)?;
    let options = ImportOptions {
        index_dir: place.dir.clone(),
        collection: args.collection,
        tags,
        chunk_tokens: args.chunk_tokens.map(usize::from).or(config.number("ingest.chunk_tokens")).unwrap_or(200),
        chunk_overlap: args.chunk_overlap.map(usize::from).or(config.number("ingest.chunk_overlap")).unwrap_or(0),
        timeout: config.time("ingest.file_timeout").unwrap_or(Duration::from_secs(60)),
        worker: worker()?,
    };
    let embedder = workshop.embedder.as_deref();
    let mut writer = workshop.index.writer(&place.writer_options(args.wait))?;
    signals::watch(&cancel).map_err(|error| Failure::new(Kind::Io, format!("cannot watch signals: {error}")))?;
    let progress = Progress::new(screen, "document");
    let result = ingest::import(&mut writer, embedder, &mut input, &options, &progress, &cancel);
    progress.finish();
    let began = writer.snapshot().generation() > 0;
    drop(writer);
    let Sieve { memories, bad, .. } = input;
    if workshop.is_new && !began && memories.is_empty() {
        // The wrong file leaves nothing behind. Should it not go away, it is an empty index.
        let _ = std::fs::remove_dir_all(&place.dir);
    }
    let report = result?;
    for why in &bad {
        screen.note(&format!("a line of a memory cannot be read and is left out: {why}"));
    }
    if !memories.is_empty() {
        let deposit = DepositOptions {
            index_dir: place.dir.clone(),
            chunk_tokens: options.chunk_tokens,
            chunk_overlap: options.chunk_overlap,
            max_file_bytes: u64::MAX,
            archives: false,
            loaders: Loaders::default(),
            timeout: options.timeout,
            worker: options.worker.clone(),
        };
        let restored = restore(&place.dir, embedder, memories, deposit, &place.writer_options(args.wait))?;
        let are = if restored == 1 { "is" } else { "are" };
        screen.note(&format!("{} {are} remembered again", count(restored as u64, "memory")));
    }
    let embedder = embedder.map(|embedder| format!("{}, {}", embedder.space().model, embedder.backend()));
    let report = wire::IngestReport { schema: "rag.import/1".into(), ..wire::IngestReport::new(&report, embedder) };
    if screen.json {
        screen.print_json(&report)?;
    } else {
        screen.print(&summary::text(screen, &report))?;
    }
    Ok(if report.interrupted {
        exit::INTERRUPTED
    } else if !report.failed.is_empty() || !bad.is_empty() || (args.strict && !report.warnings.is_empty()) {
        exit::SOME_FAILED
    } else {
        exit::OK
    })
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        if io::stdin().is_terminal() {
            return Err(Failure::usage("standard input is a terminal").hint("pipe lines into it: `… | rag import -`"));
        }
        return Ok(Box::new(BufReader::with_capacity(READ_BUFFER, io::stdin())));
    }
    let failed = |source: io::Error| -> Failure {
        let path = path.to_path_buf();
        if source.kind() == io::ErrorKind::NotFound {
            return Failure::from(ingest::Error::MissingPath { path })
                .replace_hint("check the spelling; nothing was changed");
        }
        ingest::Error::Unreadable { path, source }.into()
    };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        return Err(Failure::usage(format!("`{}` is a folder", path.display()))
            .hint("`rag ingest` reads folders; `rag import` reads one file of JSON lines"));
    }
    Ok(Box::new(BufReader::with_capacity(READ_BUFFER, file)))
}
