//! `rag ingest`: makes the index agree with what is on disk.

mod programs;
pub mod settings;
mod sources;
mod there;
mod watch;

use std::{path::PathBuf, time::Duration};

use rag::{
    ingest::{
        self, Options,
        extract::{Passwords, Worker},
    },
    serve::wire::IngestReport,
    types::{Cancel, Kind},
};
use sources::Sources;

use super::Context;
use crate::cli::{
    args::{collection, duration, key_value, size, tags},
    commands::extract,
    env, exit,
    output::{progress::Progress, summary},
    report::Failure,
    signals,
};

/// The name of standard input that is given none.
const UNNAMED: &str = "text";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ingest these files and folders; `-` is standard input, `https://…` a page
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Call standard input so (with `-`)
    #[arg(long, value_name = "NAME", default_value = UNNAMED, value_parser = sources::source_name)]
    name: String,
    /// Take standard input for this format: `md`, `html`, `pdf`, … (with `-`)
    #[arg(long = "type", value_name = "TYPE", value_parser = sources::extension)]
    extension: Option<String>,
    /// List the files under this name in place of their folder's (with --remote)
    #[arg(long = "as", value_name = "NAME")]
    root: Option<String>,
    /// Put the documents into this collection
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = collection)]
    collection: String,
    /// Take only files that match (can be repeated)
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Leave out files that match (can be repeated)
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Take what .gitignore, .ragignore and the built-in list leave out
    #[arg(long)]
    no_ignore: bool,
    /// Take hidden files too
    #[arg(long)]
    hidden: bool,
    /// Read what is in archives (zip, tar, gz)
    #[arg(long)]
    archives: bool,
    /// Read scanned pages of PDFs with `tesseract` and `pdftoppm`, which must be installed; seconds a page
    #[arg(long)]
    ocr: bool,
    /// Recognise these languages, as `tesseract --list-langs` names them [default: eng]
    #[arg(long, value_name = "LANGS", requires = "ocr", value_parser = programs::check_languages)]
    ocr_languages: Option<String>,
    /// Try this password on encrypted PDFs (can be repeated); better in RAG_PASSWORD, which nobody sees
    #[arg(long, value_name = "PASSWORD")]
    password: Vec<String>,
    /// Follow symbolic links that stay inside the given folders
    #[arg(long)]
    follow: bool,
    /// Skip larger files [default: 512MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_file_size: Option<u64>,
    /// Give each document this tag (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    tag: Vec<(String, String)>,
    /// Aim at chunks of so many word pieces [default: 230]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(32..=254))]
    chunk_tokens: Option<u16>,
    /// Let neighbour chunks share so many word pieces [default: 40 of 230, as much of other sizes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=127))]
    chunk_overlap: Option<u16>,
    /// Run so many workers [default: one a core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Give up on a file after this time [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    file_timeout: Option<Duration>,
    /// Say what would change and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Try again what failed before, though it has not changed
    #[arg(long)]
    retry_failed: bool,
    /// Keep documents whose files have vanished
    #[arg(long)]
    no_prune: bool,
    /// Let a folder that is empty now take its documents out of the index
    #[arg(long)]
    allow_empty: bool,
    /// Go on: look again whenever something changes, until Ctrl-C
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    /// Let warnings count as failures (exit 3)
    #[arg(long)]
    strict: bool,
    /// Wait this long for another writer to end
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    embed: EmbedArgs,
}

/// Which model embeds; fixed when the index is made.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct EmbedArgs {
    /// Make an index without vectors: search by words only
    #[arg(long, conflicts_with_all = ["embed_url", "embed_model", "onnxruntime"])]
    pub no_embed: bool,
    /// Embed at this OpenAI-style endpoint
    #[arg(long, value_name = "URL")]
    pub embed_url: Option<String>,
    /// Embed with this model: of the endpoint, or an installed one (`rag models`)
    #[arg(long, value_name = "NAME")]
    pub embed_model: Option<String>,
    /// Run the built-in model in this ONNX Runtime library, or `auto`
    #[arg(long, value_name = "PATH", conflicts_with = "embed_url")]
    pub onnxruntime: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    match &context.remote {
        Some(_) => there::check(&args)?,
        None if args.root.is_some() => {
            return Err(Failure::usage("`--as` is for `--remote`: an index here knows where its files are"));
        }
        None => {}
    }
    let config = &context.config;
    let place = &context.place;
    let settings = settings::configured(place, config)?;
    let given = |flags: &[String], set: &[String]| if flags.is_empty() { set.to_vec() } else { flags.to_vec() };
    let max_file_bytes = args.max_file_size.unwrap_or(settings.max_file_bytes);
    let mut passwords = args.password.clone();
    passwords.extend(env::text(env::PASSWORD));
    let sources = Sources::of(&args, max_file_bytes)?;
    let chunk_tokens = args.chunk_tokens.map_or(settings.chunk_tokens, usize::from);
    let options = Options {
        paths: sources.paths,
        given: sources.given,
        pages: sources.pages,
        collection: args.collection.clone(),
        include: given(&args.include, &settings.include),
        exclude: given(&args.exclude, &settings.exclude),
        ignore_rules: !args.no_ignore,
        hidden: args.hidden || settings.hidden,
        follow: args.follow || settings.follow,
        max_file_bytes,
        tags: tags(&args.tag)?,
        chunk_tokens,
        chunk_overlap: args.chunk_overlap.map_or_else(|| config.chunk_overlap(chunk_tokens), usize::from),
        jobs: args.jobs.map(usize::from).filter(|&jobs| jobs > 0).unwrap_or(settings.jobs),
        dry_run: args.dry_run,
        page_readers: programs::page_readers(args.ocr, args.ocr_languages.as_deref(), config)?,
        archives: args.archives || settings.archives,
        passwords: Passwords::new(passwords),
        retry_failed: args.retry_failed,
        prune: !args.no_prune,
        allow_empty: args.allow_empty,
        file_timeout: args.file_timeout.unwrap_or(settings.file_timeout),
        ..settings
    };
    let cancel = context.remote.as_ref().map_or_else(Cancel::default, |remote| remote.cancel().clone());
    if !args.watch {
        let report = once((context, &args, &options), &cancel, || heed_signals(&cancel))?;
        print(context, &args, &report)?;
        return Ok(exit_code(&args, &report));
    }
    if !options.given.is_empty() || !options.pages.is_empty() {
        return Err(Failure::usage("`--watch` is for files and folders, not for standard input and pages"));
    }
    watch::watch((context, &args, &options), &cancel)
}

/// One run, from opening the index to closing it.
/// `before_changes` comes when nothing is begun yet.
fn once(
    (context, args, options): (&Context, &Args, &Options),
    cancel: &Cancel,
    before_changes: impl FnOnce() -> Result<(), Failure>,
) -> Result<IngestReport, Failure> {
    if let Some(remote) = &context.remote {
        before_changes()?;
        let progress = Progress::new(&context.screen, "file");
        let report = there::HandOver { remote, args, options, progress: &progress, cancel }.run();
        progress.finish();
        return report;
    }
    let (place, screen) = (&context.place, &context.screen);
    let workshop = place.workshop(&context.config, &args.embed, args.dry_run, screen, cancel)?;
    let embedder = workshop.embedder.as_deref();
    let with_embedder =
        |report| IngestReport::new(&report, embedder.map(|one| format!("{}, {}", one.space().model, one.backend())));
    if args.dry_run {
        let snapshot = workshop.index.snapshot()?;
        before_changes()?;
        let progress = Progress::new(screen, "file");
        let result = ingest::rehearse(&snapshot, embedder, options, &progress, cancel);
        progress.finish();
        return Ok(with_embedder(result?));
    }
    let mut writer = workshop.index.writer(&place.writer_options(args.wait))?;
    before_changes()?;
    let progress = Progress::new(screen, "file");
    let result = ingest::ingest(&mut writer, embedder, options, &progress, cancel);
    progress.finish();
    let began = writer.snapshot().generation() > 0;
    drop(writer);
    let is_vain = result.as_ref().map_or(true, |report| !report.failed.is_empty());
    if is_vain && workshop.is_new && !began {
        // A pattern or an address with a typo leaves nothing behind. Should it not go away, it is an empty index.
        let _ = std::fs::remove_dir_all(&place.dir);
    }
    Ok(with_embedder(result?))
}

/// Lets signals ask for a stop. Until then one simply ends the process: nothing was begun.
fn heed_signals(cancel: &Cancel) -> Result<(), Failure> {
    signals::watch(cancel).map_err(|error| Failure::new(Kind::Io, format!("cannot watch signals: {error}")))
}

fn print(context: &Context, args: &Args, report: &IngestReport) -> Result<(), Failure> {
    let screen = &context.screen;
    let nothing = [&report.added, &report.updated, &report.moved, &report.skipped, &report.failed];
    if report.unchanged == 0 && nothing.iter().all(|list| list.is_empty()) {
        let hidden = match report.ignored {
            0 => String::new(),
            n => format!(" ({n} hidden or ignored: `--hidden`, `--no-ignore`)"),
        };
        let paths: Vec<String> = args.paths.iter().map(|path| format!("`{}`", path.display())).collect();
        screen.note(&format!("no file to ingest under {}{hidden}", paths.join(", ")));
    }
    if screen.json {
        screen.print_json(report)?;
    } else {
        screen.print(&summary::text(screen, report))?;
    }
    Ok(())
}

fn exit_code(args: &Args, report: &IngestReport) -> u8 {
    if report.interrupted {
        exit::INTERRUPTED
    } else if !report.failed.is_empty() || (args.strict && !report.warnings.is_empty()) {
        exit::SOME_FAILED
    } else {
        exit::OK
    }
}

/// This very program, as a worker.
pub fn worker() -> Result<Worker, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(Kind::Io, format!("cannot find this program's own file: {error}")))?;
    Ok(Worker::Process { program, arguments: vec![extract::VERB.into()] })
}
