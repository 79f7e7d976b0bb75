//! `list_sources`: the documents.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Call, Effect, Group, Tool, arguments, parts, within};
use crate::{
    index::Status,
    retrieve,
    serve::{
        mcp::{
            reply::{Budget, Fence, NOTICE, Reply, cursor, one_line, put, read_cursor},
            schema::{boolean, count, integer, list, needed, notice, object, optional, string},
            state::State,
        },
        told::Told,
    },
};

pub const TOOL: Tool = Tool {
    name: "list_sources",
    title: "List the documents",
    description: "List the indexed documents with path, title, format and state, by collection and path; with a filter \
                  only some of them.",
    effect: Effect::Reads,
    group: Group::Always,
    input,
    output,
    run,
};

const PAGE: (u64, u64) = (1, 200);

fn input() -> Value {
    object(vec![
        optional("collection", string("List this collection only")),
        optional("filter", string("List these documents only, e.g. `type:pdf path:guides/** mtime>=2026-01-01`")),
        optional("problems", boolean("List only documents that failed or lost something")),
        optional("limit", integer(PAGE, "Documents of one reply (default 50)")),
        optional("cursor", string("`next_cursor` of the last reply, for more")),
    ])
}

fn output() -> Value {
    object(vec![
        notice(),
        needed("documents", list(object(parts::document_fields()), "By collection and path")),
        needed("total", count("Documents that match, on every page")),
        optional("next_cursor", string("Pass it as `cursor` for more")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    collection: Option<String>,
    filter: Option<String>,
    #[serde(default)]
    problems: bool,
    limit: Option<u64>,
    cursor: Option<String>,
}

fn run(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: Arguments = arguments(given)?;
    let snapshot = state.need_documents()?;
    let limit = within("limit", given.limit, PAGE, 50)?;
    let skip = read_cursor(given.cursor.as_deref())?;
    let filter = given.filter.as_deref().filter(|text| !text.trim().is_empty());
    let filter = filter.map(retrieve::filter::parse).transpose()?;
    let mut ids = snapshot.source_ids(filter.as_ref(), given.collection.as_deref())?;
    if given.problems {
        let mut troubled = Vec::new();
        for id in ids {
            if snapshot.source(id)?.is_some_and(|source| source.status != Status::Indexed) {
                troubled.push(id);
            }
        }
        ids = troubled;
    }
    let (mut budget, fence) = (Budget::new(), Fence::new());
    let (mut documents, mut lines) = (Vec::new(), String::new());
    for id in ids.iter().skip(skip).take(limit) {
        let Some(source) = snapshot.source(*id)? else { continue };
        let document = Value::Object(parts::document(&source));
        let title = source.title.as_deref().map(|title| format!(" · {title}")).unwrap_or_default();
        let problem =
            source.problems.first().map(|problem| format!(" · {}: {}", source.status.word(), problem.message));
        let line = format!(
            "{} · id {} · {}{title}{}",
            source.display_path(),
            source.id,
            source.format,
            problem.unwrap_or_default()
        );
        let line = format!("{}\n", one_line(&line));
        if !budget.takes(&document, &line) {
            break;
        }
        documents.push(document);
        lines.push_str(&line);
    }
    let next = skip + documents.len();
    let has_more = next < ids.len() && !documents.is_empty();
    let mut text = match documents.is_empty() {
        true => "No document matches.\n".to_owned(),
        false => {
            format!("{} of {} documents.\n{NOTICE}\n{}", documents.len(), ids.len(), fence.around("documents", &lines))
        }
    };
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    put(&mut structure, "documents", Some(documents));
    put(&mut structure, "total", Some(ids.len()));
    if has_more {
        text.push_str(&format!(
            "More: call `list_sources` again with the same arguments and cursor {}\n",
            cursor(next)
        ));
        put(&mut structure, "next_cursor", Some(cursor(next)));
    }
    Ok(Reply { structure, text, is_untrusted: true })
}
