//! `get`: a passage, a document, or some lines of one.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Call, Effect, Group, Tool, arguments, parts, within};
use crate::{
    index::{ChunkRecord, Snapshot},
    serve::{
        mcp::{
            reply::{BUDGET_TOKENS, Fence, NOTICE, Reply, cut, one_line, put},
            schema::{boolean, count, integer, needed, notice, object, optional, string},
            state::State,
        },
        told::Told,
    },
    types::{ChunkId, Kind},
};

pub const TOOL: Tool = Tool {
    name: "get",
    title: "Read a passage or a document",
    description: "Read a passage by the id that `search` gave, or a document by its id or path: from a byte on, or some \
                  of its lines. A long text comes in parts: call it again with `next_offset` as `offset`.",
    effect: Effect::Reads,
    group: Group::Always,
    input,
    output,
    run,
};

/// Bytes of one reply.
const BYTES: (u64, u64) = (1, 32 << 10);
const DEFAULT_BYTES: u64 = 16 << 10;
const LINES: (u64, u64) = (1, u32::MAX as u64);
/// Room for what stands around the text.
const TEXT_TOKENS: usize = BUDGET_TOKENS - 500;

fn input() -> Value {
    object(vec![
        optional("id", string("Id of a passage or of a document")),
        optional("path", string("Path of a document, as `search` and `list_sources` write it")),
        optional("collection", string("The collection of the path, if it is in several")),
        optional("offset", count("Begin at this byte of the text (default 0)")),
        optional("max_bytes", integer(BYTES, "Read at most so many bytes (default 16384)")),
        optional("first_line", integer(LINES, "Read from this line of the source on")),
        optional("last_line", integer(LINES, "Read up to this line of the source")),
    ])
}

fn output() -> Value {
    let mut fields = vec![
        notice(),
        needed("text", string("The text, verbatim; between passages white space stands as line feeds")),
        needed("offset", count("The byte of the whole text that `text` begins at")),
        needed("total_bytes", count("Bytes of the whole text")),
        needed("truncated", boolean("There is more of it")),
        optional("next_offset", count("Pass it as `offset` for more")),
        optional("passage_id", string("Id of the passage, if one was asked for")),
    ];
    fields.extend(parts::document_fields());
    object(fields)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: Option<String>,
    path: Option<String>,
    collection: Option<String>,
    offset: Option<u64>,
    max_bytes: Option<u64>,
    first_line: Option<u64>,
    last_line: Option<u64>,
}

fn run(state: &State, _call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: Arguments = arguments(given)?;
    let snapshot = state.need_documents()?;
    let most = within("max_bytes", given.max_bytes, BYTES, DEFAULT_BYTES)?;
    let source =
        parts::document_of(&snapshot, given.id.as_deref(), given.path.as_deref(), given.collection.as_deref())?;
    let passage = passage(&snapshot, given.id.as_deref())?;
    let has_lines = given.first_line.is_some() || given.last_line.is_some();
    if has_lines && (given.offset.is_some() || passage.is_some()) {
        return Err(Told::usage(
            "lines are of a whole document: neither `offset` nor the id of a passage goes with them",
        ));
    }
    let path = source.display_path();
    let (whole, label) = match &passage {
        Some(chunk) => (chunk.text.clone(), parts::label(chunk)),
        None if has_lines => {
            let first = within("first_line", given.first_line, LINES, 1)?;
            let last = within("last_line", given.last_line, LINES, LINES.1)?;
            if last < first {
                return Err(Told::usage(format!("`last_line` {last} is before `first_line` {first}")));
            }
            let text = lines(&snapshot.chunks_of(source.id)?, first, last);
            let text = text.ok_or_else(|| {
                Told::new(Kind::NotFound, format!("`{}` has no such lines", one_line(&path)))
                    .hint("formats such as PDF have no lines: read it by `offset`, which counts bytes of its text")
            })?;
            (text, format!("{} lines {first}-{last}", one_line(&path)))
        }
        None => (parts::text_of_document(&snapshot, source.id)?, one_line(&path)),
    };
    let offset = usize::try_from(given.offset.unwrap_or(0)).unwrap_or(usize::MAX);
    if offset > whole.len() {
        return Err(Told::usage(format!("`offset` is {offset}, the text has {} bytes", whole.len())));
    }
    let start = whole.floor_char_boundary(offset);
    let end = whole.floor_char_boundary(start.saturating_add(most).min(whole.len()));
    let mut text = cut(&whole[start..end], TEXT_TOKENS);
    if text.is_empty() {
        // Fewer bytes than a letter has: the letter all the same, or no call would get on.
        text = whole[start..].chars().next().map_or("", |letter| &whole[start..start + letter.len_utf8()]);
    }
    let next = start + text.len();
    let is_cut = next < whole.len();

    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    put(&mut structure, "text", Some(text));
    put(&mut structure, "offset", Some(start));
    put(&mut structure, "total_bytes", Some(whole.len()));
    put(&mut structure, "truncated", Some(is_cut));
    put(&mut structure, "next_offset", (is_cut && !has_lines).then_some(next));
    put(&mut structure, "passage_id", passage.as_ref().map(|chunk| chunk.id.to_string()));
    structure.extend(parts::document(&source));
    let mut shown = format!("{NOTICE}\n{}", Fence::new().around(&label, text));
    if is_cut && has_lines {
        shown.push_str("These lines are more than one reply holds: ask for fewer.\n");
    } else if is_cut {
        shown.push_str(&format!("More: call `get` again with offset {next} (of {} bytes).\n", whole.len()));
    }
    Ok(Reply { structure, text: shown, is_untrusted: true })
}

fn passage(snapshot: &Snapshot, id: Option<&str>) -> Result<Option<ChunkRecord>, Told> {
    let Some(id) = id else { return Ok(None) };
    let id: ChunkId = id.parse().map_err(|_| parts::not_an_id(id))?;
    Ok(snapshot.chunk(id)?)
}

/// Lines of a document, as far as its passages hold them. `None`: it has no lines, or none of these.
fn lines(chunks: &[ChunkRecord], first: usize, last: usize) -> Option<String> {
    let mut found: std::collections::BTreeMap<usize, &str> = std::collections::BTreeMap::new();
    for chunk in chunks {
        let Some(own) = chunk.lines else { continue };
        for (number, line) in (own.first as usize..).zip(chunk.text.lines()) {
            // A passage that begins within a line holds its end only.
            let longest = found.entry(number).or_default();
            if (first..=last).contains(&number) && line.len() > longest.len() {
                *longest = line;
            }
        }
    }
    found.retain(|number, _| (first..=last).contains(number));
    let (&from, &to) = (found.first_key_value()?.0, found.last_key_value()?.0);
    Some((from..=to).map(|number| found.get(&number).copied().unwrap_or_default()).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::{Lines, SourceId, Span};

    fn chunk(first: u32, text: &str) -> ChunkRecord {
        let last = first + text.lines().count() as u32 - 1;
        let record = json!({
            "id": ChunkId(first.into()), "source": SourceId(1), "collection": "default", "path": "a.md", "ordinal": 0,
            "span": Span::new(0, text.len()), "lines": Lines { first, last }, "text": text, "tokens": 1,
            "fertility": 1.0, "code_share": 0.0,
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn lines_are_put_together_from_passages_that_overlap() {
        let chunks = [chunk(1, "one\ntwo\nthree"), chunk(3, "three\nfour"), chunk(7, "seven")];
        for (first, last, want) in [
            (1, 2, Some("one\ntwo")),
            (2, 4, Some("two\nthree\nfour")),
            (4, 7, Some("four\n\n\nseven")),
            (7, 99, Some("seven")),
            (8, 99, None),
            (5, 6, None),
        ] {
            assert_eq!(lines(&chunks, first, last).as_deref(), want, "{first}-{last}");
        }
        assert_eq!(lines(&[], 1, 9), None);
    }
}
