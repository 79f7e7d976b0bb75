//! `rag status`: what the index holds, by its own account, and what went wrong.

use rag::serve::wire;

use super::Context;
use crate::cli::{
    exit,
    output::{Style, bytes, count, sanitize, sources},
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name only what failed or is doubtful, with the reasons
    #[arg(long)]
    problems: bool,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let snapshot = context.place.open()?.snapshot()?;
    let sources = snapshot.sources(None)?;
    let embedder = context.place.embedder_name(&context.config, snapshot.space());
    let status = wire::StatusResult::new(
        context.place.dir.display().to_string(),
        snapshot.generation(),
        snapshot.roots().clone(),
        snapshot.stats()?,
        snapshot.space(),
        embedder,
        &sources,
    );
    if context.screen.json {
        context.screen.print_json(&status)?;
        return Ok(exit::OK);
    }
    let mut out = if args.problems { String::new() } else { account(&status) };
    let troubled: Vec<_> =
        sources.iter().filter(|source| source.status != rag::index::Status::Indexed).cloned().collect();
    if !troubled.is_empty() {
        if !args.problems {
            out.push('\n');
            out.push_str(&context.screen.paint(Style::Bold, "Problems:"));
            out.push('\n');
        }
        out.push_str(&sources::list(&context.screen, &context.place.places(&snapshot), &troubled));
    } else if args.problems {
        context.screen.note("no problems: every document was read whole");
    }
    context.screen.print(&out)?;
    Ok(exit::OK)
}

/// What the index holds, a line each.
fn account(status: &wire::StatusResult) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| out.push_str(&format!("{name:>12}  {}\n", sanitize::line(&value)));
    line("index", format!("{} (generation {})", status.index, status.generation));
    line(
        "holds",
        format!(
            "{}, {}, {}",
            count(status.sources, "document"),
            count(status.chunks, "chunk"),
            count(status.vectors, "vector")
        ),
    );
    line("on disk", format!("{} text, {} vectors", bytes(status.bytes.text), bytes(status.bytes.vectors)));
    let space = status.embedding_space.as_ref();
    line("model", space.map_or("none (--no-embed)".into(), |space| format!("{} ({} dim)", space.model, space.dim)));
    line("embedder", status.embedder.clone().unwrap_or("none".into()));
    for (name, map) in [("types", &status.types), ("languages", &status.languages)] {
        let parts: Vec<String> = map
            .iter()
            .map(|(key, number)| format!("{} {number}", if key.is_empty() { "unknown" } else { key }))
            .collect();
        line(name, parts.join(", "));
    }
    if status.collections.len() > 1 || !status.collections.contains_key("default") {
        let parts: Vec<String> = status
            .collections
            .iter()
            .map(|(name, stats)| format!("{name} ({})", count(stats.sources, "document")))
            .collect();
        line("collections", parts.join(", "));
    }
    for (name, path) in &status.roots {
        line("root", format!("{name} = {path}"));
    }
    if status.dead_rows > 0 {
        line("dead rows", status.dead_rows.to_string());
    }
    out
}
