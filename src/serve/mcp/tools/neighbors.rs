//! `neighbors`: what stands around a passage.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Call, Effect, Group, Tool, arguments, parts, within};
use crate::{
    serve::{
        mcp::{
            reply::{Budget, Fence, NOTICE, Reply, put},
            schema::{boolean, integer, list, needed, notice, object, optional, string},
            state::State,
        },
        told::Told,
    },
    types::{ChunkId, Kind},
};

pub const TOOL: Tool = Tool {
    name: "neighbors",
    title: "Read around a passage",
    description: "Read the passages before and after one that `search` found, in the order of its document.",
    effect: Effect::Reads,
    group: Group::Always,
    input,
    output,
    run,
};

const AROUND: (u64, u64) = (0, 20);

fn input() -> Value {
    object(vec![
        needed("id", string("Id of the passage")),
        optional("before", integer(AROUND, "Passages before it (default 2)")),
        optional("after", integer(AROUND, "Passages after it (default 2)")),
    ])
}

fn output() -> Value {
    let mut passage = vec![needed("asked", boolean("It is the passage that was asked for"))];
    passage.extend(parts::chunk_fields());
    object(vec![
        notice(),
        needed("passages", list(object(passage), "In the order of the document")),
        needed("truncated", boolean("The last of them did not fit: ask around the last one shown")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
    before: Option<u64>,
    after: Option<u64>,
}

fn run(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: Arguments = arguments(given)?;
    let snapshot = state.need_documents()?;
    let id: ChunkId = given.id.parse().map_err(|_| parts::not_an_id(&given.id))?;
    let asked = snapshot.chunk(id)?.ok_or_else(|| {
        Told::new(Kind::NotFound, format!("there is no passage `{id}`"))
            .hint("a document that changed has new passages: `search` again")
    })?;
    let around = |name, number| within(name, number, AROUND, 2).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let first = asked.ordinal.saturating_sub(around("before", given.before)?);
    let last = asked.ordinal.saturating_add(around("after", given.after)?);
    let chunks = snapshot.chunks_between(asked.source, first..=last)?;
    let (mut budget, fence) = (Budget::new(), Fence::new());
    let (mut passages, mut text) = (Vec::new(), format!("{NOTICE}\n"));
    let mut is_cut = false;
    for chunk in &chunks {
        let mut passage = Map::new();
        put(&mut passage, "asked", Some(chunk.id == id));
        passage.extend(parts::chunk(chunk));
        let (passage, shown) = (Value::Object(passage), fence.around(&parts::label(chunk), &chunk.text));
        if !budget.takes(&passage, &shown) {
            is_cut = true;
            break;
        }
        passages.push(passage);
        text.push_str(&shown);
    }
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    put(&mut structure, "passages", Some(passages));
    put(&mut structure, "truncated", Some(is_cut));
    Ok(Reply { structure, text, is_untrusted: true })
}
