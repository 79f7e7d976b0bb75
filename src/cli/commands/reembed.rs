//! `rag reembed`: another embedding model for the index, from the texts it holds.

use std::time::Duration;

use rag::{
    ingest::{self, ReembedOptions},
    serve::wire,
    types::{Cancel, Kind},
};

use super::{Context, ingest::EmbedArgs};
use crate::cli::{
    args::duration,
    exit,
    output::{bytes, count, progress::Progress},
    report::Failure,
    signals,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Drop what an earlier run began, and do nothing else
    #[arg(long, conflicts_with_all = ["no_embed", "embed_url", "embed_model", "onnxruntime"])]
    abort: bool,
    /// Wait this long for another writer to end
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    embed: EmbedArgs,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let (place, config, screen) = (&context.place, &context.config, &context.screen);
    let index = place.open()?;
    let cancel = Cancel::default();
    if args.abort {
        let mut writer = index.writer(&place.writer_options(args.wait))?;
        let dropped = writer.drop_begun(None)?;
        let result = wire::ReembedResult { aborted: dropped as u64, ..result(context, &ingest::Reembedded::default()) };
        let generation = writer.snapshot().generation();
        let result = wire::ReembedResult { generation, unchanged: true, ..result };
        return print(context, &result, &format!("{} dropped\n", count(dropped as u64, "begun space")));
    }
    let embedder = place.embedder(config, &args.embed, &cancel)?;
    let mut writer = index.writer(&place.writer_options(args.wait))?;
    signals::watch(&cancel).map_err(|error| Failure::new(Kind::Io, format!("cannot watch signals: {error}")))?;
    let options = ReembedOptions {
        index_dir: place.dir.clone(),
        chunk_tokens: config.number("ingest.chunk_tokens").unwrap_or(200),
    };
    let progress = Progress::new(screen, "document");
    let done = ingest::reembed(&mut writer, embedder.as_deref(), &options, &progress, &cancel);
    progress.finish();
    let done = done.map_err(|error| {
        let is_kept = index.begun_spaces().is_ok_and(|begun| !begun.is_empty());
        let failure = Failure::from(error);
        if is_kept {
            failure.also("the index is as it was, and what was embedded is kept for the next run")
        } else {
            failure
        }
    })?;
    let model = writer.snapshot().space().map(|space| format!("{} ({} dim)", space.model, space.dim));
    let model = model.unwrap_or_else(|| "no vectors".into());
    let text = if done.unchanged {
        format!("nothing to do: the index has {model} already\n")
    } else if done.interrupted {
        format!(
            "interrupted: the index is as it was; {} embedded are kept, run it again to go on\n",
            done.embedded + done.resumed
        )
    } else if writer.snapshot().space().is_none() {
        let chunks = count(done.chunks, "chunk");
        format!("{chunks} without vectors: search is by words alone; generation {}\n", done.generation)
    } else {
        let resumed = if done.resumed > 0 { format!(", {} resumed", done.resumed) } else { String::new() };
        format!(
            "{} in {model}, {} embedded{resumed}; {} written; generation {}; {:.1} s\n",
            count(done.chunks, "chunk"),
            done.embedded,
            bytes(done.bytes_written),
            done.generation,
            done.seconds,
        )
    };
    if done.shortened > 0 {
        let texts = count(done.shortened, "text");
        screen.note(&format!("{texts} longer than the model reads; their ends are found by words only"));
    }
    let code = if done.interrupted { exit::INTERRUPTED } else { exit::OK };
    let mut result = result(context, &done);
    result.embedding_space = writer.snapshot().space().map(wire::Space::from);
    print(context, &result, &text)?;
    Ok(code)
}

fn result(context: &Context, done: &ingest::Reembedded) -> wire::ReembedResult {
    wire::ReembedResult {
        schema: "rag.reembed/1".into(),
        index: context.place.dir.display().to_string(),
        generation: done.generation,
        embedding_space: None,
        chunks: done.chunks,
        embedded: done.embedded,
        resumed: done.resumed,
        shortened: done.shortened,
        unchanged: done.unchanged,
        interrupted: done.interrupted,
        aborted: 0,
        bytes_written: done.bytes_written,
        seconds: (done.seconds * 1e3).round() / 1e3,
    }
}

fn print(context: &Context, result: &wire::ReembedResult, text: &str) -> Result<u8, Failure> {
    if context.screen.json {
        context.screen.print_json(result)?
    } else {
        context.screen.print(text)?
    }
    Ok(exit::OK)
}
