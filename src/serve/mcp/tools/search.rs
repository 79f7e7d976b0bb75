//! `search`: ranked passages.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Call, Effect, Group, Tool, arguments, parts, within};
use crate::{
    retrieve::{self, Mode, Query},
    serve::{
        mcp::{
            reply::{Budget, Fence, NOTICE, Reply, cursor, one_line, put, read_cursor},
            schema::{boolean, integer, list, needed, notice, object, optional, share, string, word},
            state::State,
        },
        told::Told,
        wire,
    },
};

/// Results of one page.
const PAGE: (u64, u64) = (1, 50);
const DEFAULT_PAGE: u64 = 5;
const CONTEXT: (u64, u64) = (0, 5);

pub const TOOL: Tool = Tool {
    name: "search",
    title: "Search the documents",
    description: "Find the passages of the indexed documents that speak of a query, by words and by meaning. Returns \
                  each passage with its text, where it stands, and its relevance from 0 to 1; below 0.2 the documents \
                  do not speak of it. Ask in plain words, in the language of the documents. Use it before answering \
                  anything the documents may know, and cite paths and lines.",
    effect: Effect::Reads,
    group: Group::Always,
    input,
    output,
    run,
};

fn input() -> Value {
    object(vec![
        needed("query", string("What to look for, in plain words")),
        optional("k", integer(PAGE, "Passages to return (default 5)")),
        optional("mode", word(&["hybrid", "lexical", "dense"], "By words and meaning (default), by words, by meaning")),
        optional("collection", string("Search this collection only")),
        optional(
            "filter",
            string(
                "Search these documents only, e.g. `type:pdf path:guides/** tag.team=ops lang:de mtime>=2026-01-01`",
            ),
        ),
        optional("min_relevance", share("Leave out passages of less relevance")),
        optional("per_document", integer(PAGE, "At most so many passages of one document")),
        optional("context", integer(CONTEXT, "Neighbouring passages to add on each side (default 0)")),
        optional("cursor", string("`next_cursor` of the last reply, for more")),
    ])
}

fn output() -> Value {
    let mut passage = vec![
        needed("rank", integer((1, 1000), "From 1")),
        needed("relevance", share("How much it speaks of the query")),
        needed("score", share_free()),
    ];
    passage.extend(parts::chunk_fields());
    passage.push(optional("before", string("The passages before it")));
    passage.push(optional("after", string("The passages after it")));
    object(vec![
        notice(),
        needed("strength", word(&["found", "weak", "nothing"], "Whether the documents speak of the query at all")),
        needed("relevance", share("Of the query as a whole")),
        needed("generation", integer((0, u64::from(u32::MAX)), "The state of the index that was searched")),
        needed("results", list(object(passage), "Passages, the best first")),
        needed("truncated", boolean("More passages were found than fit into this reply")),
        optional("next_cursor", string("Pass it as `cursor` for more")),
        needed("notes", list(string("A note"), "What to know of the search")),
    ])
}

fn share_free() -> Value {
    crate::serve::mcp::schema::number("Orders this list and means nothing elsewhere")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    k: Option<u64>,
    mode: Option<ModeWord>,
    collection: Option<String>,
    filter: Option<String>,
    min_relevance: Option<f32>,
    per_document: Option<u64>,
    context: Option<u64>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeWord {
    Hybrid,
    Lexical,
    Dense,
}

fn run(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: Arguments = arguments(given)?;
    let snapshot = state.need_documents()?;
    let page = within("k", given.k, PAGE, DEFAULT_PAGE)?;
    let skip = read_cursor(given.cursor.as_deref())?;
    let template = &state.options.query;
    let mode = given.mode.map_or(template.mode, |mode| match mode {
        ModeWord::Hybrid => Mode::Hybrid,
        ModeWord::Lexical => Mode::Lexical,
        ModeWord::Dense => Mode::Dense,
    });
    let per_source = match given.per_document {
        Some(most) => Some(within("per_document", Some(most), PAGE, 1)?),
        None => template.per_source,
    };
    let query = Query {
        text: given.query,
        // One more tells whether there are more.
        k: (skip + page + 1).min(retrieve::MAX_K),
        mode,
        collection: given.collection,
        filter: given.filter,
        min_score: given.min_relevance.or(template.min_score),
        per_source,
        context: within("context", given.context, CONTEXT, 0)?,
        snippets: false,
        ..template.clone()
    };
    let embedder = if mode == Mode::Lexical { None } else { state.embedder(&snapshot)? };
    let hits = retrieve::query(&snapshot, embedder.as_deref(), &query)?;

    let (mut budget, fence) = (Budget::new(), Fence::new());
    let (mut results, mut texts) = (Vec::new(), Vec::new());
    for hit in hits.hits.iter().skip(skip).take(page) {
        let mut result = Map::new();
        put(&mut result, "rank", Some(hit.rank));
        put(&mut result, "relevance", Some(wire::rounded(hit.relevance)));
        put(&mut result, "score", Some(wire::rounded(hit.score)));
        result.extend(parts::chunk(&hit.chunk));
        let joined = |chunks: &[crate::index::ChunkRecord]| {
            (!chunks.is_empty()).then(|| chunks.iter().map(|c| c.text.as_str()).collect::<Vec<_>>().join("\n"))
        };
        let (before, after) = (joined(&hit.before), joined(&hit.after));
        let body: Vec<&str> = [
            before.as_deref(),
            (!hit.chunk.context.is_empty()).then_some(hit.chunk.context.as_str()),
            Some(hit.chunk.text.as_str()),
            after.as_deref(),
        ]
        .into_iter()
        .flatten()
        .collect();
        let label = format!("{}. {} · relevance {:.2}", hit.rank, parts::label(&hit.chunk), hit.relevance);
        let text = fence.around(&label, &body.join("\n"));
        put(&mut result, "before", before);
        put(&mut result, "after", after);
        let result = Value::Object(result);
        if !budget.takes(&result, &text) {
            break;
        }
        results.push(result);
        texts.push(text);
    }
    let shown = results.len();
    let has_more = hits.hits.len() > skip + shown && shown > 0;
    let mut notes = hits.notes.clone();
    if let Some(miss) = &hits.near_miss {
        let miss = wire::NearMiss::from(miss);
        notes.push(format!("the nearest that was left out is in {} ({})", one_line(&miss.path), miss.left_out_by));
    }
    let strength = wire::strength_word(hits.strength);
    let mut text = match (shown, strength) {
        (0, _) if skip > 0 => "There are no more passages.\n".to_owned(),
        (0, _) => "No passage was found. Try other words, or `list_sources` to see what there is.\n".to_owned(),
        (_, "found") => format!("{NOTICE}\n"),
        (_, "weak") => format!("Weak matches only: the documents may not speak of this.\n{NOTICE}\n"),
        (_, _) => format!("No good match: what follows is merely nearest.\n{NOTICE}\n"),
    };
    text.extend(texts);
    for note in &notes {
        text.push_str(&format!("Note: {}\n", one_line(note)));
    }
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    put(&mut structure, "strength", Some(strength));
    put(&mut structure, "relevance", Some(wire::rounded(hits.relevance)));
    put(&mut structure, "generation", Some(hits.generation));
    put(&mut structure, "results", Some(results));
    put(&mut structure, "truncated", Some(has_more));
    if has_more && skip + shown < retrieve::MAX_K {
        let next = cursor(skip + shown);
        text.push_str(&format!("More: call `search` again with the same arguments and cursor {next}\n"));
        put(&mut structure, "next_cursor", Some(next));
    }
    put(&mut structure, "notes", Some(json!(notes)));
    Ok(Reply { structure, text, is_untrusted: true })
}
