//! What several tools show: chunks, documents, places.

use serde_json::{Map, Value, json};

use crate::{
    index::{ChunkRecord, Compare, Fact, Filter, Snapshot, SourceRecord},
    serve::{
        mcp::{
            reply::{one_line, put},
            schema::{Field, count, list, needed, optional, pair, string},
        },
        memory::stored_text,
        told::Told,
        wire,
    },
    types::{ChunkId, Kind, Lines, Pages, SourceId},
};

/// Fields of a chunk.
pub fn chunk_fields() -> Vec<Field> {
    vec![
        needed("id", string("Id of the passage, for `get` and `neighbors`")),
        needed("document_id", string("Id of its document, for `get` and `rag://doc/{id}`")),
        needed("path", string("Where the document is from, relative to its root")),
        needed("collection", string("The collection it is in")),
        optional("title", string("The document's title")),
        optional("heading", list(string("A heading"), "The headings it stands under, outermost first")),
        optional("lines", pair("First and last line in the source")),
        optional("pages", pair("First and last page in the source")),
        optional("lang", string("ISO 639-1 code of its language")),
        optional("context", string("Text repeated from elsewhere in the document because it is needed to read this")),
        needed("text", string("The passage, verbatim")),
    ]
}

pub fn chunk(chunk: &ChunkRecord) -> Map<String, Value> {
    let mut map = Map::new();
    put(&mut map, "id", Some(chunk.id.to_string()));
    put(&mut map, "document_id", Some(chunk.source.to_string()));
    put(&mut map, "path", Some(chunk.path.clone()));
    put(&mut map, "collection", Some(chunk.collection.clone()));
    put(&mut map, "title", chunk.title.clone());
    put(&mut map, "heading", (!chunk.heading.is_empty()).then(|| json!(chunk.heading)));
    put(&mut map, "lines", chunk.lines.map(|lines| json!([lines.first, lines.last])));
    put(&mut map, "pages", chunk.pages.map(|pages| json!([pages.first, pages.last])));
    put(&mut map, "lang", chunk.lang.clone());
    put(&mut map, "context", (!chunk.context.is_empty()).then(|| chunk.context.clone()));
    put(&mut map, "text", Some(chunk.text.clone()));
    map
}

/// `guides/a.md:12-30 · Heading > Sub · id 0123456789abc`.
pub fn label(chunk: &ChunkRecord) -> String {
    let mut label = place(&chunk.path, chunk.lines, chunk.pages);
    if let Some(title) = chunk.title.as_deref().filter(|title| !title.is_empty()) {
        label.push_str(&format!(" · {title}"));
    }
    if !chunk.heading.is_empty() {
        label.push_str(&format!(" · {}", chunk.heading.join(" > ")));
    }
    format!("{} · id {}", one_line(&label), chunk.id)
}

/// `guides/a.md:12-30`, `report.pdf p. 7`.
pub fn place(path: &str, lines: Option<Lines>, pages: Option<Pages>) -> String {
    match (lines, pages) {
        (Some(lines), _) if lines.first == lines.last => format!("{path}:{}", lines.first),
        (Some(lines), _) => format!("{path}:{}-{}", lines.first, lines.last),
        (None, Some(pages)) if pages.first == pages.last => format!("{path} p. {}", pages.first),
        (None, Some(pages)) => format!("{path} p. {}-{}", pages.first, pages.last),
        (None, None) => path.to_owned(),
    }
}

/// Fields of a document.
pub fn document_fields() -> Vec<Field> {
    vec![
        needed("document_id", string("Id of the document, for `get` and `rag://doc/{id}`")),
        needed("path", string("Where it is from, relative to its root")),
        needed("collection", string("The collection it is in")),
        optional("title", string("Its title")),
        needed("type", string("Its format: markdown, html, pdf, text, code, …")),
        needed("status", string("indexed, warned (something was lost) or failed (it has no text)")),
        optional("problem", string("Why it is not simply indexed")),
        optional("lang", string("ISO 639-1 code of its language")),
        optional("pages", count("Its pages")),
        needed("chunks", count("Passages it was cut into")),
        needed("text_bytes", count("Bytes of its text")),
        needed("modified", string("When its file changed last, RFC 3339")),
        optional("tags", list(string("KEY=VALUE"), "Its tags")),
    ]
}

pub fn document(source: &SourceRecord) -> Map<String, Value> {
    let mut map = Map::new();
    put(&mut map, "document_id", Some(source.id.to_string()));
    put(&mut map, "path", Some(source.display_path()));
    put(&mut map, "collection", Some(source.collection.clone()));
    put(&mut map, "title", source.title.clone());
    put(&mut map, "type", Some(source.format.clone()));
    put(&mut map, "status", Some(source.status.word()));
    put(&mut map, "problem", source.problems.first().map(|problem| problem.message.clone()));
    put(&mut map, "lang", source.lang.clone());
    put(&mut map, "pages", source.pages);
    put(&mut map, "chunks", Some(source.chunks));
    put(&mut map, "text_bytes", Some(source.text_bytes));
    put(&mut map, "modified", Some(wire::rfc3339(source.mtime_ns)));
    let tags: Vec<String> = source.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    put(&mut map, "tags", (!tags.is_empty()).then(|| json!(tags)));
    map
}

/// A document named by its id, by the id of one of its passages, or by its path. Errors: usage where it is named not at
/// all or twice, not found.
pub fn document_of(
    snapshot: &Snapshot,
    id: Option<&str>,
    path: Option<&str>,
    collection: Option<&str>,
) -> Result<SourceRecord, Told> {
    match (id, path) {
        (Some(id), None) => {
            let number: ChunkId = id.parse().map_err(|_| not_an_id(id))?;
            if let Some(source) = snapshot.source(SourceId(number.0))? {
                return Ok(source);
            }
            let chunk = snapshot.chunk(number)?;
            let source = chunk.map(|chunk| snapshot.source(chunk.source)).transpose()?.flatten();
            source.ok_or_else(|| {
                Told::new(Kind::NotFound, format!("there is no document or passage `{id}`"))
                    .hint("ids come from `search` and `list_sources`; a document that changed has new passages")
            })
        }
        (None, Some(path)) => {
            let wanted = path.trim_start_matches("./");
            let is = |compare| Filter::Is { fact: Fact::Path, compare, value: wanted.to_owned() };
            let ids = snapshot.ids_where(&is(Compare::Equal), collection)?;
            let mut found = Vec::new();
            for id in ids {
                found.extend(snapshot.source(id)?.filter(|source| source.display_path() == wanted));
            }
            found.sort_by(|a, b| a.collection.cmp(&b.collection));
            if found.len() > 1 {
                let collections: Vec<&str> = found.iter().map(|source| source.collection.as_str()).collect();
                return Err(Told::usage(format!(
                    "`{}` is in several collections: {}",
                    one_line(path),
                    collections.join(", ")
                ))
                .hint("name one of them as `collection`"));
            }
            found.pop().ok_or_else(|| {
                Told::new(Kind::NotFound, format!("there is no document `{}`", one_line(path)))
                    .hint("`list_sources` names the documents; paths are written as it writes them")
            })
        }
        (Some(_), Some(_)) => Err(Told::usage("both `id` and `path` are given").hint("name one of them")),
        (None, None) => Err(Told::usage("neither `id` nor `path` is given").hint("name one of them")),
    }
}

pub fn not_an_id(id: &str) -> Told {
    Told::usage(format!("`{}` is not an id", one_line(id)))
        .hint("ids have 13 characters of 0-9 and a-z and come from `search` and `list_sources`")
}

/// The stored text of a document.
pub fn text_of_document(snapshot: &Snapshot, source: SourceId) -> Result<String, Told> {
    Ok(stored_text(&snapshot.chunks_of(source)?))
}
