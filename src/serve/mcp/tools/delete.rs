//! `delete_source`: a document out of the index, where that is allowed.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Call, Effect, Group, Tool, arguments, parts};
use crate::serve::{
    mcp::{
        reply::{Fence, NOTICE, Reply, one_line, put},
        schema::{count, needed, notice, object, optional, string},
        state::State,
    },
    told::Told,
    writes::{Change, Step},
};

pub const TOOL: Tool = Tool {
    name: "delete_source",
    title: "Remove a document from the index",
    description: "Remove one document from the index, by its id or path. Its file stays where it is, and the next ingest \
                  of its folder adds it again.",
    effect: Effect::Removes,
    group: Group::Write,
    input,
    output,
    run,
};

fn input() -> Value {
    object(vec![
        optional("id", string("Id of the document")),
        optional("path", string("Path of the document, as `list_sources` writes it")),
        optional("collection", string("The collection of the path, if it is in several")),
    ])
}

fn output() -> Value {
    object(vec![
        notice(),
        needed("document_id", string("Id of the document that is gone")),
        needed("path", string("Its path")),
        needed("collection", string("The collection it was in")),
        needed("generation", count("The state of the index without it")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: Option<String>,
    path: Option<String>,
    collection: Option<String>,
}

fn run(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: Arguments = arguments(given)?;
    // There is nothing to delete, and no index is to be made for it.
    state.need_documents()?;
    let change = Change::planned(move |view| {
        let (id, path, collection) = (given.id.as_deref(), given.path.as_deref(), given.collection.as_deref());
        let source = parts::document_of(view.snapshot(), id, path, collection)?;
        Ok(vec![Step::Remove(source.id)])
    });
    let done = state.change_documents(change)?;
    let gone = done.removed.first().ok_or_else(|| {
        Told::usage("the document was removed by another call at the same time").hint("there is nothing left to do")
    })?;
    let path = gone.display_path();
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    put(&mut structure, "document_id", Some(gone.id.to_string()));
    put(&mut structure, "path", Some(path.clone()));
    put(&mut structure, "collection", Some(gone.collection.clone()));
    put(&mut structure, "generation", Some(done.generation));
    let text = format!(
        "Removed document {} from the index; generation {}.\n{NOTICE}\n{}",
        gone.id,
        done.generation,
        Fence::new().around("path", &one_line(&path))
    );
    Ok(Reply { structure, text, is_untrusted: true })
}
