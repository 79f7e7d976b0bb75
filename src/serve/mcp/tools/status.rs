//! `status`: what there is, and what this server may do.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Call, Effect, Group, Tool, arguments};
use crate::{
    index::{Snapshot, Status},
    serve::{
        mcp::{
            reply::{Budget, Fence, NOTICE, Reply, one_line, put},
            schema::{boolean, count, list, needed, notice, object, optional, string, word},
            state::State,
        },
        memory,
        told::Told,
    },
};

pub const TOOL: Tool = Tool {
    name: "status",
    title: "What the index holds",
    description: "Tell how many documents are indexed, of which collections, formats and languages, what could not be \
                  read, how much is remembered, and whether this server may write. With no index yet it says how to \
                  make one.",
    effect: Effect::Reads,
    group: Group::Always,
    input,
    output,
    run,
};

/// Problems that are named.
const MAX_PROBLEMS: usize = 20;

fn input() -> Value {
    object(Vec::new())
}

fn output() -> Value {
    let collection = object(vec![
        needed("name", string("Its name")),
        needed("documents", count("Documents in it")),
        needed("passages", count("Passages in it")),
    ]);
    let format = object(vec![needed("name", string("Its name")), needed("documents", count("Documents of it"))]);
    let language = object(vec![
        needed("name", string("ISO 639-1 code, `unknown` where none was recognised")),
        needed("passages", count("Passages in it")),
    ]);
    let problem = object(vec![
        needed("path", string("The document")),
        needed("status", word(&["warned", "failed"], "Whether it has any text")),
        needed("reason", string("A stable word")),
        needed("message", string("What is wrong")),
    ]);
    object(vec![
        notice(),
        needed("index", word(&["ready", "none"], "Whether there is an index yet")),
        optional("next_step", string("What makes an index")),
        needed("generation", count("Its state: a number that grows with every change")),
        needed("documents", count("Indexed documents")),
        needed("failed", count("Those of them that could not be read")),
        needed("passages", count("Passages that can be found")),
        optional("model", string("The embedding model; absent where search is by words alone")),
        needed("collections", list(collection, "Each collection")),
        needed("types", list(format, "Each format")),
        needed("languages", list(language, "Each language")),
        needed("problems", list(problem, "Documents that failed or lost something, the first 20")),
        needed("writable", boolean("`ingest` and `delete_source` are there")),
        needed("memory", boolean("The memory tools are there")),
        needed("memories", count("What is remembered, in all namespaces")),
        needed("namespaces", count("Namespaces that hold anything")),
        needed("version", string("Of the program")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {}

fn run(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let Arguments {} = arguments(given)?;
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    let mut text = match state.documents()? {
        Some(snapshot) => described(&snapshot, &mut structure)?,
        None => {
            let told = state.need_documents().err();
            let next = told.and_then(|told| told.hint).unwrap_or_default();
            put(&mut structure, "index", Some("none"));
            put(&mut structure, "next_step", Some(next.clone()));
            for key in ["generation", "documents", "failed", "passages"] {
                put(&mut structure, key, Some(0));
            }
            for key in ["collections", "types", "languages", "problems"] {
                put(&mut structure, key, Some(json!([])));
            }
            format!("There is no index yet: {next}.\n")
        }
    };
    // A server without memory does not look at what others remember.
    let memories = if state.options.memory { state.memories()? } else { None };
    let names = memories.map_or(Ok(Default::default()), |memories| memory::namespaces(&memories, memory::now_ms()))?;
    let memories: usize = names.values().sum();
    put(&mut structure, "writable", Some(state.options.allow_write));
    put(&mut structure, "memory", Some(state.options.memory));
    put(&mut structure, "memories", Some(memories));
    put(&mut structure, "namespaces", Some(names.len()));
    put(&mut structure, "version", Some(env!("CARGO_PKG_VERSION")));
    text.push_str(&match state.options.memory {
        false => "Memory is off.\n".to_owned(),
        true => format!("{memories} memories in {} namespaces.\n", names.len()),
    });
    text.push_str(match state.options.allow_write {
        true => "Documents may be ingested and deleted.\n",
        false => "Documents may be read, not changed.\n",
    });
    Ok(Reply { structure, text, is_untrusted: true })
}

fn described(snapshot: &Snapshot, structure: &mut Map<String, Value>) -> Result<String, Told> {
    let stats = snapshot.stats()?;
    let (mut budget, fence) = (Budget::new(), Fence::new());
    put(structure, "index", Some("ready"));
    put(structure, "generation", Some(snapshot.generation()));
    put(structure, "documents", Some(stats.sources));
    put(structure, "failed", Some(stats.failed_sources));
    put(structure, "passages", Some(stats.chunks));
    put(structure, "model", snapshot.space().map(|space| space.model.clone()));
    let collections: Vec<Value> = stats
        .by_collection
        .iter()
        .map(|(name, counts)| json!({ "name": name, "documents": counts.sources, "passages": counts.chunks }))
        .collect();
    let types: Vec<Value> = stats.by_type.iter().map(|(name, n)| json!({ "name": name, "documents": n })).collect();
    let language = |name: &str| if name.is_empty() { "unknown".to_owned() } else { name.to_owned() };
    let languages: Vec<Value> =
        stats.by_language.iter().map(|(name, n)| json!({ "name": language(name), "passages": n })).collect();
    let mut problems = Vec::new();
    let mut troubles = String::new();
    for source in snapshot.sources(None)?.iter().filter(|source| source.status != Status::Indexed) {
        let Some(problem) = source.problems.first() else { continue };
        let entry = json!({
            "path": source.display_path(), "status": source.status.word(),
            "reason": problem.reason, "message": problem.message,
        });
        let line =
            format!("{}: {} ({})\n", one_line(&source.display_path()), one_line(&problem.message), problem.reason);
        if problems.len() == MAX_PROBLEMS || !budget.takes(&entry, &line) {
            break;
        }
        problems.push(entry);
        troubles.push_str(&line);
    }
    let words = |values: &[Value], of: &str| {
        let one = |value: &Value| format!("{} {}", one_line(value["name"].as_str().unwrap_or_default()), value[of]);
        values.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "{} documents, {} passages, generation {}; search by {}.\n{}",
        stats.sources,
        stats.chunks,
        snapshot.generation(),
        if snapshot.space().is_some() { "words and meaning" } else { "words alone" },
        if stats.sources == 0 { "Nothing was ingested yet.\n" } else { "" },
    );
    text.push_str(&fence.around(
        "documents by collection, format and language",
        &format!(
            "collections: {}\nformats: {}\nlanguages: {}",
            words(&collections, "documents"),
            words(&types, "documents"),
            words(&languages, "passages")
        ),
    ));
    if !troubles.is_empty() {
        text = format!("{text}{NOTICE}\n{}", fence.around("problems", &troubles));
    }
    put(structure, "collections", Some(collections));
    put(structure, "types", Some(types));
    put(structure, "languages", Some(languages));
    put(structure, "problems", Some(problems));
    Ok(text)
}
