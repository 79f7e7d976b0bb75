//! `rag status`: what the index holds, by its own account, and what went wrong.

use rag::{
    index::Facets,
    retrieve,
    serve::{api, wire},
};

use super::Context;
use crate::cli::{
    exit,
    output::{Style, bytes, count, places::Places, sanitize, sources},
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name only what failed or is doubtful, with the reasons
    #[arg(long, conflicts_with = "facets")]
    problems: bool,
    /// Count documents by type, language, tag, folder, author and year: what filters can ask for
    #[arg(long)]
    facets: bool,
    /// Count only documents that this filter allows (with --facets)
    #[arg(long, value_name = "EXPR", requires = "facets")]
    filter: Option<String>,
    /// Count this collection only (with --facets)
    #[arg(long, value_name = "NAME", requires = "facets")]
    collection: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let Args { facets, filter, collection, .. } = &args;
        let request = api::StatusRequest { facets: *facets, filter: filter.clone(), collection: collection.clone() };
        return print(context, &args, &Places::default(), &remote.status(&request)?);
    }
    let snapshot = context.place.open()?.snapshot()?;
    let sources = snapshot.sources(None)?;
    let embedder = context.place.embedder_name(&context.config, snapshot.space());
    let mut status = wire::StatusResult::new(
        context.place.dir.display().to_string(),
        snapshot.generation(),
        snapshot.roots().clone(),
        snapshot.stats()?,
        snapshot.space(),
        embedder,
        &sources,
    );
    if args.facets {
        let collection = args.collection.as_deref();
        let counted = match args.filter.as_ref().filter(|filter| !filter.trim().is_empty()) {
            Some(filter) => snapshot.sources_where(&retrieve::filter::parse(filter)?, collection)?,
            None => snapshot.sources(collection)?,
        };
        status.facets = Some(Facets::of(&counted));
    }
    print(context, &args, &context.place.places(&snapshot), &status)
}

fn print(context: &Context, args: &Args, places: &Places, status: &wire::StatusResult) -> Result<u8, Failure> {
    if context.screen.json {
        context.screen.print_json(status)?;
        return Ok(exit::OK);
    }
    if let Some(facets) = &status.facets {
        context.screen.print(&facet_lines(facets))?;
        return Ok(exit::OK);
    }
    let mut out = if args.problems { String::new() } else { account(status) };
    let mut troubled = [&status.failed[..], &status.warned[..]].concat();
    troubled.sort_by(|a, b| (&a.collection, &a.path).cmp(&(&b.collection, &b.path)));
    if !troubled.is_empty() {
        if !args.problems {
            out.push('\n');
            out.push_str(&context.screen.paint(Style::Bold, "Problems:"));
            out.push('\n');
        }
        out.push_str(&sources::list(&context.screen, places, &troubled));
    } else if args.problems {
        context.screen.note("no problems: every document was read whole");
    }
    context.screen.print(&out)?;
    Ok(exit::OK)
}

/// So many values of a fact are named on the screen, the commonest first; JSON has all.
const MAX_VALUES: usize = 20;

/// Each fact with its values, as a filter would ask for them.
fn facet_lines(facets: &Facets) -> String {
    let mut out = format!("{}\n", count(facets.documents, "document"));
    let tags = facets.tags.iter().map(|(key, counts)| (format!("tag.{key}"), counts));
    let facts = [
        ("type", &facets.types),
        ("lang", &facets.lang),
        ("path", &facets.folders),
        ("author", &facets.author),
        ("year", &facets.year),
        ("collection", &facets.collection),
        ("status", &facets.status),
    ];
    for (name, counts) in facts.into_iter().map(|(name, counts)| (name.to_owned(), counts)).chain(tags) {
        if counts.is_empty() {
            continue;
        }
        let mut values: Vec<(&String, u64)> = counts.iter().map(|(value, n)| (value, *n)).collect();
        values.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let more = values.len().saturating_sub(MAX_VALUES);
        let mut parts: Vec<String> = values.iter().take(MAX_VALUES).map(|(value, n)| format!("{value} {n}")).collect();
        parts.extend((more > 0).then(|| format!("and {more} more")));
        out.push_str(&sanitize::line(&format!("{name:>12}  {}", parts.join(", "))));
        out.push('\n');
    }
    out
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
