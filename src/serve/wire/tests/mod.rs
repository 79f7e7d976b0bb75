//! Every object survives being printed and read, and a reader of today reads what a printer of tomorrow says.

mod found;
mod kept;
mod reported;

use std::{collections::BTreeMap, fmt::Debug};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::*;
use crate::{
    index::{CollectionStats, Facets, Problem, Status},
    retrieve::eval::Metric,
    types::{ChunkId, Kind, Pooling, SourceId},
};

/// Prints, reads and prints again; then reads what a newer program might print: more fields, in every object.
fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let printed = serde_json::to_string(value).unwrap();
    let read: T = serde_json::from_str(&printed).unwrap();
    assert_eq!(&read, value, "{printed}");
    assert_eq!(serde_json::to_string(&read).unwrap(), printed);
    let mut newer: Value = serde_json::from_str(&printed).unwrap();
    more(&mut newer, false);
    let read: T = serde_json::from_value(newer.clone()).unwrap_or_else(|error| panic!("{error} in {newer}"));
    assert_eq!(&read, value);
}

/// Adds a field to each object, but for those whose fields are names of the user: tables of counts and of texts.
fn more(value: &mut Value, is_table: bool) {
    const TABLES: &[&str] = &[
        "collections",
        "types",
        "languages",
        "roots",
        "tags",
        "metadata",
        "kinds",
        "folders",
        "author",
        "year",
        "collection",
        "status",
        "lang",
        "type",
        "team",
        "value",
    ];
    match value {
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| more(value, TABLES.contains(&name.as_str())));
            if !is_table {
                fields.insert("of_tomorrow".into(), serde_json::json!({ "a": [1, null] }));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| more(value, false)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn table<T: Clone>(value: T) -> BTreeMap<String, T> {
    BTreeMap::from([("a".to_owned(), value.clone()), ("ü".to_owned(), value)])
}

fn texts() -> Vec<String> {
    vec!["one".into(), "zwei\n\u{1b}".into()]
}

fn chunk() -> Chunk {
    Chunk {
        chunk_id: ChunkId(7),
        source_id: SourceId(u64::MAX),
        collection: "default".into(),
        path: "a/b.pdf".into(),
        title: Some("Title".into()),
        heading: texts(),
        lines: Some([1, 2]),
        page: Some(7),
        pages: Some([7, 8]),
        byte_range: [5, 9],
        ordinal: 3,
        lang: Some("de".into()),
        tokens: 12,
        context: "| a | b |".into(),
        text: "grün".into(),
    }
}

/// The same with all that may be empty empty.
fn bare_chunk() -> Chunk {
    Chunk {
        title: None,
        heading: Vec::new(),
        lines: None,
        page: None,
        pages: None,
        lang: None,
        context: String::new(),
        ..chunk()
    }
}

fn explain() -> HitExplain {
    let leg = Leg { rank: Some(3), score: Some(12.345678), normalised: 0.1, contribution: 0.000001 };
    HitExplain {
        lexical: Leg { rank: None, score: None, ..leg.clone() },
        dense: leg,
        fused: 0.3,
        rerank: Some(-1.5),
        coverage: 1.0,
    }
}

fn duplicates() -> Vec<Duplicate> {
    vec![Duplicate { id: ChunkId(9).to_string(), path: "copy.md".into() }]
}

fn hit() -> Hit {
    Hit {
        rank: 1,
        score: 0.1 + 0.2,
        relevance: 0.5,
        chunk: chunk(),
        state: Some("stale".into()),
        flags: vec!["order".into()],
        snippet: Snippet { text: "rün".into(), start: 1, highlights: vec![[0, 1], [2, 4]] },
        copies: duplicates(),
        duplicates: duplicates(),
        before: vec![bare_chunk()],
        after: vec![chunk()],
        explain: Some(explain()),
    }
}

fn bare_hit() -> Hit {
    Hit {
        chunk: bare_chunk(),
        state: None,
        flags: Vec::new(),
        copies: Vec::new(),
        duplicates: Vec::new(),
        before: Vec::new(),
        after: Vec::new(),
        explain: None,
        ..hit()
    }
}

fn summary() -> SourceSummary {
    SourceSummary {
        source_id: SourceId(2),
        collection: "default".into(),
        path: "a.md".into(),
        status: Status::Warned,
        format: "markdown".into(),
        title: Some("T".into()),
        author: Some("A".into()),
        lang: Some("en".into()),
        pages: Some(3),
        chunks: 4,
        size: u64::MAX,
        mtime: rfc3339(1),
        encoding: Some("windows-1252".into()),
        blake3: "00".into(),
        tags: table("ops".into()),
        metadata: table("x".into()),
        problems: vec![
            Problem { reason: "damaged".into(), message: "it is".into(), transient: true },
            Problem { reason: "empty".into(), message: "no text".into(), transient: false },
        ],
    }
}

fn bare_summary() -> SourceSummary {
    SourceSummary {
        status: Status::Indexed,
        title: None,
        author: None,
        lang: None,
        pages: None,
        encoding: None,
        tags: BTreeMap::new(),
        metadata: BTreeMap::new(),
        problems: Vec::new(),
        ..summary()
    }
}

fn space() -> Space {
    Space {
        model: "m".into(),
        revision: "1".into(),
        sha256: "ab".into(),
        dim: 384,
        pooling: Pooling::Cls,
        normalised: true,
        query_prefix: "query: ".into(),
        passage_prefix: String::new(),
        max_tokens: 510,
        tokenizer: "wordpiece 1".into(),
        multilingual: false,
    }
}

#[test]
fn dates_are_civil_and_utc() {
    for (seconds, want) in [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_798_761_599, "2026-12-31T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ] {
        assert_eq!(rfc3339(seconds * 1_000_000_000), want);
    }
}

#[test]
fn an_error_says_kind_message_and_exit() {
    let error = ErrorResult::new(Kind::NotFound, "no index at `.rag`".into(), None, 2);
    assert_eq!(
        serde_json::to_string(&error).unwrap(),
        r#"{"schema":"rag.error/1","error":{"kind":"not_found","message":"no index at `.rag`","exit":2}}"#
    );
    assert_eq!(kind_of(&error.error.kind), Some(Kind::NotFound));
    assert_eq!(kind_of("of_tomorrow"), None);
}
