//! `rag compact`: merges both legs and drops what is deleted.

use std::time::{Duration, Instant};

use rag::{
    index::Stats,
    serve::{memory::portable, wire},
};

use super::Context;
use crate::cli::{
    args::duration,
    exit,
    output::{bytes, count, sanitize},
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait this long for another writer to end
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    wait: Duration,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let started = Instant::now();
    let index = context.place.open()?;
    let mut writer = index.writer(&context.place.writer_options(args.wait))?;
    let segments = |stats: &Stats| wire::CompactSegments { text: stats.segments_text, vectors: stats.segments_vectors };
    let (before, bytes_before) = (writer.snapshot().stats()?, index.size_bytes()?);
    let compacted = writer.compact()?;
    let memories = portable::compact(&context.place.dir, &context.place.writer_options(args.wait))?;
    let (after, bytes_after) = (writer.snapshot().stats()?, index.size_bytes()?);
    let result = wire::CompactResult {
        schema: "rag.compact/1".into(),
        index: context.place.dir.display().to_string(),
        generation: writer.snapshot().generation(),
        changed: compacted.is_some() || memories.is_some(),
        bytes_before,
        bytes_after,
        segments_before: segments(&before),
        segments_after: segments(&after),
        dropped: [compacted, memories].iter().flatten().map(|compacted| compacted.dropped).sum(),
        seconds: (started.elapsed().as_secs_f64() * 1e3).round() / 1e3,
    };
    if context.screen.json {
        context.screen.print_json(&result)?;
        return Ok(exit::OK);
    }
    let name = sanitize::line(&result.index).into_owned();
    let text = if result.changed {
        let files = |segments: wire::CompactSegments| segments.text + segments.vectors;
        format!(
            "{name}: {} before, {} after; {} before, {} after; {} dropped; generation {}\n",
            bytes(result.bytes_before),
            bytes(result.bytes_after),
            count(files(result.segments_before), "segment"),
            files(result.segments_after),
            count(result.dropped, "deleted row"),
            result.generation,
        )
    } else {
        format!("{name} is compact: {}, generation {}\n", bytes(result.bytes_after), result.generation)
    };
    context.screen.print(&text)?;
    Ok(exit::OK)
}
