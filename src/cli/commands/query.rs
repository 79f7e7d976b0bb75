//! `rag query`: ranked chunks, no LLM, no network.

use std::time::Duration;

use clap::ValueEnum;
use rag::{
    index::{Effort, QuerySyntax},
    retrieve::{self, Fusion, Mode, Query, Rerank},
    serve::{api, wire},
    types::ChunkId,
};

use super::Context;
use crate::cli::{
    args::duration,
    backend::Place,
    config::Config,
    exit,
    output::{hits, places::Places, sanitize},
    remote,
    report::Failure,
    warm,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Find chunks for this text
    #[arg(value_name = "TEXT", required_unless_present = "like")]
    text: Option<String>,
    #[command(flatten)]
    pub search: SearchArgs,
    /// Find chunks like this one; with TEXT: lead it there (can be repeated)
    #[arg(long, value_name = "ID")]
    like: Vec<ChunkId>,
    /// Lead away from this chunk (can be repeated)
    #[arg(long, value_name = "ID")]
    unlike: Vec<ChunkId>,
    /// Add so many neighbour chunks before and after each result
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: usize,
    /// Add the rest of what a result stands in
    #[arg(long, value_enum, value_name = "WHAT")]
    expand: Option<Expand>,
    /// Show the ranks and scores of both legs, and what each adds
    #[arg(long)]
    explain: bool,
    /// Mark results that talk to a model instead of to a reader
    #[arg(long)]
    show_flags: bool,
    /// Print results in this form
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<Format>,
}

/// Flags of `query` and `ask` that say how to search.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SearchArgs {
    /// Return at most so many results; of `ask`: consider so many chunks [default: 10, of `ask` 50]
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub k: Option<u16>,
    /// Search by words, by meaning, or both [default: hybrid]
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeArg>,
    /// Merge words and meaning this way [default: blend]
    #[arg(long, value_enum, value_name = "METHOD")]
    pub fusion: Option<FusionArg>,
    /// Give meaning this weight, 0 to 1 [default: by the question and the language, about 0.5]
    #[arg(long, value_name = "WEIGHT", value_parser = share)]
    pub alpha: Option<f32>,
    /// Search only documents that this filter allows: `type:pdf path:guides/** tag.team=ops`
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Search this collection only
    #[arg(long, value_name = "NAME")]
    pub collection: Option<String>,
    /// Prefer results that differ: 1 relevance alone, 0 diversity alone
    #[arg(long, value_name = "LAMBDA", value_parser = share)]
    pub mmr: Option<f32>,
    /// Compare meanings with every chunk: misses none, takes longer in a large index
    #[arg(long, conflicts_with = "ef")]
    pub exact: bool,
    /// Walk the graphs of a large index with this many candidates, whatever recall they reach
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub ef: Option<u16>,
    /// Have the first 20 results put in order by the reranker that your settings name
    #[arg(long)]
    pub rerank: bool,
    /// Wait so long for the reranker, then keep the order of the search [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "rerank")]
    pub rerank_budget: Option<Duration>,
    /// Show copies and near-copies of a result as results of their own
    #[arg(long)]
    pub duplicates: bool,
    /// Return at most so many results of one document
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub per_source: Option<u16>,
    /// Leave out results of less relevance, 0 to 1
    #[arg(long, value_name = "RELEVANCE", value_parser = share)]
    pub min_score: Option<f32>,
    /// Read TEXT as a query language: "a phrase", title:word, +must, -not, word^2
    #[arg(long)]
    pub syntax: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    /// One JSON object a line, a line a result
    Jsonl,
    /// Markdown
    Md,
    /// Each document once
    Paths,
    /// Numbered passages for a prompt
    Context,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Expand {
    /// The chunks under the same headings
    Section,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    Hybrid,
    Lexical,
    Dense,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FusionArg {
    Blend,
    Rrf,
    Weighted,
    Dbsf,
}

pub fn share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        Ok(_) | Err(_) => Err("a number from 0 to 1 is wanted".into()),
    }
}

impl SearchArgs {
    /// A query with flags over settings over defaults. `k`: the default where neither says one.
    pub fn to_query(&self, text: String, config: &Config, k: usize) -> Query {
        let mode = self.mode.map(|mode| match mode {
            ModeArg::Hybrid => Mode::Hybrid,
            ModeArg::Lexical => Mode::Lexical,
            ModeArg::Dense => Mode::Dense,
        });
        let fusion = self.fusion.map(|fusion| match fusion {
            FusionArg::Blend => Fusion::Blend,
            FusionArg::Rrf => Fusion::Rrf,
            FusionArg::Weighted => Fusion::Weighted,
            FusionArg::Dbsf => Fusion::Dbsf,
        });
        Query {
            text,
            k: self.k.map_or(k, usize::from),
            mode: mode.unwrap_or(match config.text("retrieve.mode") {
                Some("lexical") => Mode::Lexical,
                Some("dense") => Mode::Dense,
                _ => Mode::Hybrid,
            }),
            fusion: fusion.unwrap_or(match config.text("retrieve.fusion") {
                Some("rrf") => Fusion::Rrf,
                Some("weighted") => Fusion::Weighted,
                Some("dbsf") => Fusion::Dbsf,
                _ => Fusion::Blend,
            }),
            alpha: self.alpha.or(config.share("retrieve.alpha")),
            filter: self.filter.clone(),
            collection: self.collection.clone(),
            syntax: if self.syntax { QuerySyntax::Tantivy } else { QuerySyntax::Plain },
            min_score: self.min_score.or(config.share("retrieve.min_score")),
            per_source: self.per_source.map(usize::from).or(config.number("retrieve.per_source")),
            mmr: self.mmr.or(config.share("retrieve.mmr")),
            duplicates: self.duplicates,
            effort: match self.ef {
                _ if self.exact => Effort::Exact,
                Some(ef) => Effort::Walk { ef: ef.into(), slack: f32::INFINITY },
                None => config.share("retrieve.recall").map_or_else(Effort::default, Effort::Recall),
            },
            ..Query::default()
        }
    }
}

impl SearchArgs {
    /// The reranker, if one is asked for.
    pub fn reranker(&self, place: &Place, config: &Config) -> Result<Option<Rerank>, Failure> {
        self.rerank.then(|| place.reranker(config, self.rerank_budget)).transpose()
    }
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let found = remote.query(&args.request())?;
        return print(context, args.format, &Places::default(), &found);
    }
    let index = context.place.open()?;
    if let Some(found) = warm::query(context, &args.search, || args.request()) {
        // Where files are matters for links alone.
        let links = context.screen.color && context.screen.stdout_is_terminal;
        let places = if links { context.place.places(&index.snapshot()?) } else { Places::default() };
        return print(context, args.format, &places, &found);
    }
    let k = context.config.number("retrieve.k").unwrap_or(10);
    let mut query = args.search.to_query(args.text.unwrap_or_default(), &context.config, k);
    query.context = args.context;
    query.section = args.expand == Some(Expand::Section);
    query.like = args.like;
    query.unlike = args.unlike;
    query.explain = args.explain;
    query.flags = args.show_flags;
    query.rerank = args.search.reranker(&context.place, &context.config)?;
    let snapshot = index.snapshot()?;
    let embedder = context.place.query_embedder(&context.config, &snapshot, query.mode)?;
    let mut hits = retrieve::query(&snapshot, embedder.as_deref(), &query)?;
    context.place.freshness(&snapshot).mark(&mut hits);
    let found = wire::QueryResult::new(&query, &hits);
    print(context, args.format, &context.place.places(&snapshot), &found)
}

impl Args {
    /// The same for a server.
    fn request(&self) -> api::QueryRequest {
        api::QueryRequest {
            text: self.text.clone().unwrap_or_default(),
            like: self.like.clone(),
            unlike: self.unlike.clone(),
            context: (self.context > 0).then_some(self.context),
            expand: self.expand.map(|Expand::Section| api::Expand::Section),
            explain: self.explain,
            flags: self.show_flags,
            ..api::QueryRequest::searching(remote::search(&self.search))
        }
    }
}

fn print(context: &Context, format: Option<Format>, places: &Places, found: &wire::QueryResult) -> Result<u8, Failure> {
    let format = if context.screen.json { Format::Json } else { format.unwrap_or(Format::Text) };
    match format {
        Format::Json => context.screen.print_json(found)?,
        Format::Jsonl => {
            let mut lines = String::new();
            for hit in &found.results {
                lines.push_str(&serde_json::to_string(hit).map_err(std::io::Error::from)?);
                lines.push('\n');
            }
            let shown = if context.screen.stdout_is_terminal { sanitize::json(&lines) } else { lines.as_str().into() };
            context.screen.print(&shown)?;
        }
        Format::Text => context.screen.print(&hits::text(&context.screen, places, found))?,
        Format::Md => context.screen.print(&hits::markdown(found))?,
        Format::Paths => context.screen.print(&hits::paths(found))?,
        Format::Context => context.screen.print(&hits::context(found))?,
    }
    for note in &found.notes {
        context.screen.note(note);
    }
    if found.results.is_empty() {
        context.screen.note("nothing in the documents matches");
        if let Some(miss) = &found.near_miss {
            context.screen.note(&hits::near_miss(miss));
        }
        return Ok(exit::NO);
    }
    Ok(match &*found.strength {
        "found" => exit::OK,
        "weak" => {
            context.screen.note("weak matches only: the documents may not speak of this");
            exit::OK
        }
        _ => {
            context.screen.note("no good match: what is shown is merely nearest");
            if let Some(miss) = &found.near_miss {
                context.screen.note(&hits::near_miss(miss));
            }
            exit::NO
        }
    })
}
