//! `remember`, `recall`, `forget`, `list_memories`, `list_namespaces`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Call, Effect, Group, Tool, arguments, within};
use crate::{
    ingest::Deposited,
    serve::{
        mcp::{
            reply::{Budget, Fence, NOTICE, Reply, cursor, one_line, put, read_cursor},
            schema::{Field, boolean, count, integer, list, needed, notice, object, optional, share, string, word},
            state::State,
        },
        memory::{self, DEFAULT_NAMESPACE, Forget, MAX_CONTENT_BYTES, Memory, Recall, Remember, check_namespace},
        told::Told,
        wire,
    },
    types::Kind,
};

pub const REMEMBER: Tool = Tool {
    name: "remember",
    title: "Remember something",
    description: "Store a short text so that it can be recalled in this and in later conversations. It is on disk when \
                  this returns. A memory with the same key in the same namespace is replaced; without a key the same \
                  content is stored once. Memories are apart from the documents: `search` does not find them.",
    effect: Effect::Adds,
    group: Group::Memory,
    input: remember_input,
    output: remember_output,
    run: remember,
};

pub const RECALL: Tool = Tool {
    name: "recall",
    title: "Recall what was remembered",
    description: "Find memories of a namespace that speak of a query, by words and by meaning, the best first. Expired \
                  ones are not there. Use it at the start of a task, before asking what the user may have said already.",
    effect: Effect::Reads,
    group: Group::Memory,
    input: recall_input,
    output: recall_output,
    run: recall,
};

pub const FORGET: Tool = Tool {
    name: "forget",
    title: "Forget something",
    description: "Remove one memory by its key, or with `all` every memory of a namespace. It cannot be undone.",
    effect: Effect::Removes,
    group: Group::Memory,
    input: forget_input,
    output: forget_output,
    run: forget,
};

pub const LIST: Tool = Tool {
    name: "list_memories",
    title: "List what is remembered",
    description: "List memories by namespace and key, with their content. Expired ones are not there.",
    effect: Effect::Reads,
    group: Group::Memory,
    input: list_input,
    output: list_output,
    run: list_memories,
};

pub const NAMESPACES: Tool = Tool {
    name: "list_namespaces",
    title: "List the namespaces of memory",
    description: "List the namespaces that hold memories, with how many each holds.",
    effect: Effect::Reads,
    group: Group::Memory,
    input: namespaces_input,
    output: namespaces_output,
    run: list_namespaces,
};

const PAGE: (u64, u64) = (1, 50);
const LIST_PAGE: (u64, u64) = (1, 200);
/// A hundred years.
const TTL: (u64, u64) = (1, 3_155_760_000);

fn namespace_field() -> Field {
    optional("namespace", string("Which memory: `default` if absent; name one for each project or person"))
}

fn tags_field(description: &str) -> Field {
    optional("tags", list(string("A tag"), description))
}

fn memory_fields() -> Vec<Field> {
    vec![
        needed("id", string("Its id")),
        needed("namespace", string("The namespace it is in")),
        needed("key", string("Its key, for `forget` and to replace it")),
        needed("content", string("What was remembered, verbatim")),
        needed("tags", list(string("A tag"), "Its tags")),
        needed("created", string("When it was remembered first, RFC 3339")),
        needed("updated", string("When it was remembered last, RFC 3339")),
        optional("expires", string("When it will be gone, RFC 3339")),
    ]
}

fn structure_of(memory: &Memory) -> Map<String, Value> {
    let mut map = Map::new();
    put(&mut map, "id", Some(memory.id.to_string()));
    put(&mut map, "namespace", Some(memory.namespace.clone()));
    put(&mut map, "key", Some(memory.key.clone()));
    put(&mut map, "content", Some(memory.content.clone()));
    put(&mut map, "tags", Some(json!(memory.tags)));
    put(&mut map, "created", Some(rfc3339(memory.created_ms)));
    put(&mut map, "updated", Some(rfc3339(memory.updated_ms)));
    put(&mut map, "expires", memory.expires_ms.map(rfc3339));
    map
}

fn rfc3339(ms: i64) -> String {
    wire::rfc3339(ms.saturating_mul(1_000_000))
}

fn label(memory: &Memory) -> String {
    let tags = if memory.tags.is_empty() { String::new() } else { format!(" · tags {}", memory.tags.join(", ")) };
    let updated = rfc3339(memory.updated_ms);
    one_line(&format!("key {} · namespace {} · {updated}{tags}", memory.key, memory.namespace))
}

fn remember_input() -> Value {
    object(vec![
        needed("content", string("The text to remember, at most 16384 bytes; complete in itself")),
        namespace_field(),
        optional("key", string("Its name in the namespace: the same key replaces what it held")),
        tags_field("Words to find it by, besides its content"),
        optional("ttl", integer(TTL, "Seconds until it expires; absent: it stays")),
    ])
}

fn remember_output() -> Value {
    object(vec![
        needed("namespace", string("The namespace it is in")),
        needed("key", string("Its key")),
        needed("id", string("Its id")),
        needed("state", word(&["added", "replaced", "unchanged"], "What became of it")),
        optional("expires", string("When it will be gone, RFC 3339")),
        needed("generation", count("The state of the memory that holds it")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberArguments {
    content: String,
    namespace: Option<String>,
    key: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    ttl: Option<u64>,
}

fn remember(state: &State, call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: RememberArguments = arguments(given)?;
    let namespace = given.namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
    let ttl = match given.ttl {
        Some(seconds) => Some(Duration::from_secs(within("ttl", Some(seconds), TTL, 1)? as u64)),
        None => None,
    };
    debug_assert_eq!(MAX_CONTENT_BYTES, 16384, "the schema names it");
    let now_ms = memory::now_ms();
    let wanted =
        Remember { namespace: namespace.clone(), key: given.key, content: given.content, tags: given.tags, ttl };
    let (change, key) = memory::remember(wanted, now_ms)?;
    let done = state.change_memories(change.within(call.room))?;
    let (record, deposited) = done
        .put
        .first()
        .ok_or_else(|| Told::new(Kind::Bug, "the memory was not stored; this is a mistake of the program"))?;
    let word = match deposited {
        Deposited::Added => "added",
        Deposited::Updated => "replaced",
        Deposited::Unchanged => "unchanged",
    };
    let expires = ttl.map(|ttl| rfc3339(now_ms.saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX))));
    let mut structure = Map::new();
    put(&mut structure, "namespace", Some(namespace.clone()));
    put(&mut structure, "key", Some(key.clone()));
    put(&mut structure, "id", Some(record.id.to_string()));
    put(&mut structure, "state", Some(word));
    put(&mut structure, "expires", expires.clone());
    put(&mut structure, "generation", Some(done.generation));
    let until = expires.map(|at| format!(" until {at}")).unwrap_or_default();
    let text =
        format!("Remembered ({word}) under key {} in namespace {}{until}.\n", one_line(&key), one_line(&namespace));
    Ok(Reply { structure, text, is_untrusted: false })
}

fn recall_input() -> Value {
    object(vec![
        needed("query", string("What to look for, in plain words")),
        namespace_field(),
        optional("k", integer(PAGE, "Memories to return (default 5)")),
        tags_field("Only memories that have all of these"),
        optional("min_relevance", share("Leave out memories of less relevance")),
    ])
}

fn recall_output() -> Value {
    let mut fields = vec![needed("relevance", share("How much it speaks of the query"))];
    fields.extend(memory_fields());
    object(vec![
        notice(),
        needed("strength", word(&["found", "weak", "nothing"], "Whether the namespace speaks of the query at all")),
        needed("memories", list(object(fields), "The best first")),
        needed("truncated", boolean("More were found than fit into this reply: ask for fewer, or more exactly")),
        needed("notes", list(string("A note"), "What to know of the search")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallArguments {
    query: String,
    namespace: Option<String>,
    k: Option<u64>,
    #[serde(default)]
    tags: Vec<String>,
    min_relevance: Option<f32>,
}

fn recall(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: RecallArguments = arguments(given)?;
    let wanted = Recall {
        query: given.query,
        namespace: given.namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()),
        tags: given.tags,
        k: within("k", given.k, PAGE, 5)?,
        min_relevance: given.min_relevance,
    };
    check_namespace(&wanted.namespace)?;
    let mut notes = Vec::new();
    let (found, strength) = match state.memories()? {
        None => (Vec::new(), "nothing"),
        Some(snapshot) => {
            // A model that cannot be used now is no reason to have forgotten everything.
            let embedder = state.embedder(&snapshot).unwrap_or_else(|told| {
                notes.push(format!("searched by words alone: {}", told.message));
                None
            });
            let recalled = memory::recall(&snapshot, embedder.as_deref(), &wanted, memory::now_ms())?;
            (recalled.memories, wire::strength_word(recalled.strength))
        }
    };
    let (mut budget, fence) = (Budget::new(), Fence::new());
    let (mut memories, mut text) = (Vec::new(), String::new());
    for (memory, relevance) in &found {
        let mut structure = Map::new();
        put(&mut structure, "relevance", Some(wire::rounded(*relevance)));
        structure.extend(structure_of(memory));
        let structure = Value::Object(structure);
        let shown = fence.around(&format!("{} · relevance {relevance:.2}", label(memory)), &memory.content);
        if !budget.takes(&structure, &shown) {
            break;
        }
        memories.push(structure);
        text.push_str(&shown);
    }
    let is_cut = memories.len() < found.len();
    let mut text = match memories.is_empty() {
        true => "Nothing is remembered of this in the namespace.\n".to_owned(),
        false => format!("{NOTICE}\n{text}"),
    };
    for note in &notes {
        text.push_str(&format!("Note: {}\n", one_line(note)));
    }
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    put(&mut structure, "strength", Some(strength));
    put(&mut structure, "memories", Some(memories));
    put(&mut structure, "truncated", Some(is_cut));
    put(&mut structure, "notes", Some(json!(notes)));
    Ok(Reply { structure, text, is_untrusted: true })
}

fn forget_input() -> Value {
    object(vec![
        namespace_field(),
        optional("key", string("The key of the memory")),
        optional("all", boolean("Forget the whole namespace, which has to be named")),
    ])
}

fn forget_output() -> Value {
    object(vec![
        needed("namespace", string("The namespace")),
        needed("forgotten", count("Memories that were there and are gone")),
        needed("generation", count("The state of the memory without them")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForgetArguments {
    namespace: Option<String>,
    key: Option<String>,
    #[serde(default)]
    all: bool,
}

fn forget(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: ForgetArguments = arguments(given)?;
    match (&given.key, given.all, &given.namespace) {
        (Some(_), false, _) | (None, true, Some(_)) => {}
        (Some(_), true, _) => return Err(Told::usage("both `key` and `all` are given").hint("name one of them")),
        (None, true, None) => {
            return Err(Told::usage("`all` without a namespace").hint("name the namespace to empty, such as `default`"));
        }
        (None, false, _) => {
            return Err(
                Told::usage("neither `key` nor `all` is given").hint("`list_memories` and `recall` show the keys")
            );
        }
    }
    let what = Forget { namespace: given.namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()), key: given.key };
    let now_ms = memory::now_ms();
    let change = memory::forget(&what, now_ms)?;
    let (forgotten, generation) = match state.memories()? {
        None => (0, 0),
        Some(_) => {
            let done = state.change_memories(change)?;
            (what.forgotten(&done, now_ms), done.generation)
        }
    };
    if let (0, Some(key)) = (forgotten, &what.key) {
        let message =
            format!("nothing is remembered under key `{}` in namespace `{}`", one_line(key), one_line(&what.namespace));
        return Err(Told::new(Kind::NotFound, message).hint("`list_memories` shows the keys"));
    }
    let mut structure = Map::new();
    put(&mut structure, "namespace", Some(what.namespace.clone()));
    put(&mut structure, "forgotten", Some(forgotten));
    put(&mut structure, "generation", Some(generation));
    let text = format!("Forgot {forgotten} of namespace {}.\n", one_line(&what.namespace));
    Ok(Reply { structure, text, is_untrusted: false })
}

fn list_input() -> Value {
    object(vec![
        optional("namespace", string("Of this namespace only; absent: of all")),
        tags_field("Only memories that have all of these"),
        optional("limit", integer(LIST_PAGE, "Memories of one reply (default 50)")),
        optional("cursor", string("`next_cursor` of the last reply, for more")),
    ])
}

fn list_output() -> Value {
    object(vec![
        notice(),
        needed("memories", list(object(memory_fields()), "By namespace and key")),
        needed("total", count("Memories that match, on every page")),
        optional("next_cursor", string("Pass it as `cursor` for more")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    namespace: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    limit: Option<u64>,
    cursor: Option<String>,
}

fn list_memories(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: ListArguments = arguments(given)?;
    let limit = within("limit", given.limit, LIST_PAGE, 50)?;
    let skip = read_cursor(given.cursor.as_deref())?;
    let page = match state.memories()? {
        Some(snapshot) => {
            memory::list(&snapshot, given.namespace.as_deref(), &given.tags, (skip, limit), memory::now_ms())?
        }
        None => memory::Page { memories: Vec::new(), total: 0 },
    };
    let (mut budget, fence) = (Budget::new(), Fence::new());
    let (mut memories, mut text) = (Vec::new(), String::new());
    for memory in &page.memories {
        let (structure, shown) = (Value::Object(structure_of(memory)), fence.around(&label(memory), &memory.content));
        if !budget.takes(&structure, &shown) {
            break;
        }
        memories.push(structure);
        text.push_str(&shown);
    }
    let next = skip + memories.len();
    let has_more = next < page.total && !memories.is_empty();
    let mut text = match memories.is_empty() {
        true => "Nothing is remembered here.\n".to_owned(),
        false => format!("{} of {} memories.\n{NOTICE}\n{text}", memories.len(), page.total),
    };
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    put(&mut structure, "memories", Some(memories));
    put(&mut structure, "total", Some(page.total));
    if has_more {
        text.push_str(&format!("More: call `list_memories` again with cursor {}\n", cursor(next)));
        put(&mut structure, "next_cursor", Some(cursor(next)));
    }
    Ok(Reply { structure, text, is_untrusted: true })
}

fn namespaces_input() -> Value {
    object(vec![optional("cursor", string("`next_cursor` of the last reply, for more"))])
}

fn namespaces_output() -> Value {
    let entry = object(vec![needed("namespace", string("Its name")), needed("memories", count("Memories in it"))]);
    object(vec![
        notice(),
        needed("namespaces", list(entry, "By name")),
        optional("next_cursor", string("Pass it as `cursor` for more")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamespacesArguments {
    cursor: Option<String>,
}

fn list_namespaces(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: NamespacesArguments = arguments(given)?;
    let skip = read_cursor(given.cursor.as_deref())?;
    let names = match state.memories()? {
        Some(snapshot) => memory::namespaces(&snapshot, memory::now_ms())?,
        None => Default::default(),
    };
    let (mut budget, fence) = (Budget::new(), Fence::new());
    let (mut entries, mut lines) = (Vec::new(), String::new());
    for (name, n) in names.iter().skip(skip) {
        let (entry, line) = (json!({ "namespace": name, "memories": n }), format!("{} ({n})\n", one_line(name)));
        if !budget.takes(&entry, &line) {
            break;
        }
        entries.push(entry);
        lines.push_str(&line);
    }
    let next = skip + entries.len();
    let mut text = match entries.is_empty() {
        true => "Nothing is remembered yet.\n".to_owned(),
        false => format!("{NOTICE}\n{}", fence.around("namespaces", &lines)),
    };
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    let has_more = next < names.len() && !entries.is_empty();
    put(&mut structure, "namespaces", Some(entries));
    if has_more {
        text.push_str(&format!("More: call `list_namespaces` again with cursor {}\n", cursor(next)));
        put(&mut structure, "next_cursor", Some(cursor(next)));
    }
    Ok(Reply { structure, text, is_untrusted: true })
}
