//! Every object survives being printed and read, and a reader of today reads what a printer of tomorrow says.

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
fn results_of_a_query_survive() {
    let full = QueryResult {
        schema: "rag.query/1".into(),
        query: "q \"\u{7f}".into(),
        strength: "weak".into(),
        relevance: 0.25,
        mode: "hybrid".into(),
        fusion: "blend".into(),
        generation: 12,
        results: vec![hit(), bare_hit()],
        near_miss: Some(NearMiss {
            chunk_id: ChunkId(1),
            path: "p".into(),
            lines: Some([1, 1]),
            pages: None,
            relevance: 0.123456,
            left_out_by: "min_score".into(),
            remedy: "--min-score 0.12".into(),
        }),
        notes: texts(),
        explain: Some(QueryExplain {
            weight: 0.7,
            fertility: 1.25,
            code: 0.0,
            trust: 1.0,
            candidates: 200,
            dense: Some(DenseExplain {
                plan: "exact+graph".into(),
                effort: "recall 0.99".into(),
                code_bits: 4,
                segments: 2,
                evaluated: 100,
                hops: 3,
                rescored: 50,
            }),
        }),
        timing_ms: QueryTiming { encode: 1.234, search: 0.1, fuse: 0.0, load: 3.0, rerank: Some(7.5) },
    };
    survives(&full);
    let timing_ms = QueryTiming { rerank: None, ..full.timing_ms.clone() };
    survives(&QueryResult { near_miss: None, explain: None, results: Vec::new(), timing_ms, ..full });
    survives(&hit());
}

#[test]
fn answers_survive() {
    let full = AnswerResult {
        schema: "rag.answer/1".into(),
        status: "answered".into(),
        question: "q".into(),
        searched: Some("s".into()),
        answer: "It is [1].".into(),
        sentences: vec![Sentence {
            text: "It is.".into(),
            start: 0,
            end: 6,
            citations: vec![Citation {
                n: 1,
                support: "supported".into(),
                score: 0.999999,
                quote: "it is".into(),
                quote_start: 3,
                quote_end: 8,
                attached: false,
            }],
            state: "weak".into(),
            reason: Some("numbers differ".into()),
        }],
        sources: vec![AnswerSource {
            n: 1,
            chunk_id: Some(ChunkId(3)),
            chunk_ids: vec![ChunkId(3), ChunkId(4)],
            source_id: SourceId(5),
            source: "a.md".into(),
            title: None,
            heading: texts(),
            page: None,
            pages: None,
            lines: Some([1, 9]),
            byte_range: [0, 10],
            blake3: "ff".into(),
            score: 0.2,
            relevance: 0.9,
            cited: true,
            state: Some("missing".into()),
            copies: duplicates(),
            text: "it is".into(),
        }],
        invalid_citations: vec![9],
        truncated: true,
        strength: "found".into(),
        relevance: 0.75,
        model: Some(ModelNames { requested: Some("m".into()), returned: None }),
        usage: Some(Usage { prompt_tokens: 1, completion_tokens: 2, estimated: true }),
        cost: Some(Cost { input: 0.000000001, output: 0.2, total: 0.200000001 }),
        notes: texts(),
        timing_ms: AnswerTiming { retrieve: 1.5, first_token: Some(2.0), model: 3.0, verify: 0.001 },
        index: Generation { generation: 3 },
    };
    survives(&full);
    survives(&AnswerResult { searched: None, model: None, usage: None, cost: None, sentences: vec![], ..full });
    survives(&TurnResult {
        schema: "rag.turn/1".into(),
        question: "q".into(),
        searched: Some("s".into()),
        answer: "a".into(),
        status: "answered".into(),
        sources: texts(),
    });
}

#[test]
fn checks_survive() {
    survives(&CheckResult {
        schema: "rag.check/1".into(),
        holds: false,
        question: String::new(),
        supported: 1,
        weak: 2,
        unsupported: 3,
        lost: 4,
        sentences: vec![CheckedSentence {
            text: "s".into(),
            citations: vec![1, 2],
            was: Some("weak".into()),
            state: "unsupported".into(),
            score: 0.5,
            lost: true,
            reason: Some("r".into()),
        }],
        sources: vec![CheckedSource {
            n: 1,
            source: "a".into(),
            standing: "moved".into(),
            file: "unknown".into(),
            chunk_ids: vec![ChunkId(1)],
            quotes_found: Some(false),
        }],
        index: CheckedGeneration { generation: 2, answered: None },
    });
}

#[test]
fn reports_and_accounts_survive() {
    let outcome = |path: &str| Outcome {
        path: path.into(),
        chunks: 3,
        from: Some("old".into()),
        problems: vec![Problem { reason: "oom".into(), message: "m".into(), transient: true }],
    };
    let bare = Outcome { from: None, problems: Vec::new(), ..outcome("b") };
    survives(&IngestReport {
        schema: "rag.ingest/1".into(),
        added: vec![outcome("a"), bare],
        updated: vec![outcome("u")],
        unchanged: 4,
        moved: vec![outcome("m")],
        removed: vec![outcome("r")],
        skipped: vec![outcome("s")],
        failed: vec![outcome("f")],
        warnings: vec![outcome("w")],
        ignored: 5,
        chunks: IngestChunks { written: 1, embedded: 2, reused: 3 },
        bytes_read: 1,
        bytes_written: 2,
        generation: 3,
        interrupted: true,
        dry_run: true,
        estimated_seconds: Some(1.5),
        embedder: Some("e".into()),
        seconds: 0.123,
    });
    let counts = table(3);
    let full = StatusResult {
        schema: "rag.status/1".into(),
        index: ".rag".into(),
        generation: 1,
        sources: 2,
        chunks: 3,
        vectors: 4,
        collections: table(CollectionStats { sources: 1, chunks: 2 }),
        types: counts.clone(),
        languages: counts.clone(),
        roots: table("/data".into()),
        bytes: StatusBytes { text: 1, vectors: 2 },
        segments: StatusSegments { text: 3, vectors: 4 },
        dead_rows: 5,
        embedding_space: Some(space()),
        embedder: Some("rten (built in)".into()),
        failed: vec![summary()],
        warned: vec![bare_summary()],
        facets: Some(Facets {
            documents: 1,
            types: counts.clone(),
            lang: counts.clone(),
            tags: BTreeMap::from([("team".to_owned(), counts.clone())]),
            folders: counts.clone(),
            author: counts.clone(),
            year: counts.clone(),
            collection: counts.clone(),
            status: counts,
        }),
    };
    survives(&StatusResult { facets: None, embedding_space: None, embedder: None, ..full.clone() });
    survives(&full);
}

#[test]
fn documents_survive() {
    survives(&ListResult { schema: "rag.list/1".into(), generation: 3, documents: vec![summary(), bare_summary()] });
    survives(&ShowResult {
        schema: "rag.show/1".into(),
        generation: 3,
        document: Some(bare_summary()),
        chunks: vec![chunk(), bare_chunk()],
    });
    survives(&RemoveResult {
        schema: "rag.rm/1".into(),
        removed: texts(),
        not_found: texts(),
        dry_run: true,
        purged: false,
        generation: 4,
    });
    survives(&ExportedDocument {
        schema: "rag.document/1".into(),
        source_id: SourceId(1),
        collection: "default".into(),
        root: String::new(),
        path: "a".into(),
        title: None,
        author: None,
        format: "pdf".into(),
        lang: None,
        status: Status::Failed,
        problems: summary().problems,
        size: 1,
        mtime: rfc3339(0),
        mtime_ns: -1,
        blake3: "00".into(),
        pipeline: "1".into(),
        encoding: Some("utf-8".into()),
        tags: table("t".into()),
        metadata: table("m".into()),
        text: Some("text".into()),
        sections: vec![ExportedSection { start: 2, heading: texts() }],
        pages: Some(vec![ExportedPage { number: 1, text: "t".into(), sections: Vec::new() }]),
        page_count: Some(1),
        text_bytes: 4,
        space: Some(ExportedSpace { id: "m-1".into(), model: "m".into(), dim: 2 }),
        chunks: Some(vec![ExportedChunk {
            chunk_id: ChunkId(1),
            byte_range: [0, 4],
            title: None,
            heading: texts(),
            lines: None,
            pages: Some([1, 1]),
            lang: None,
            tokens: 1,
            fertility: 1.1,
            code_share: 0.1,
            context: String::new(),
            text: "text".into(),
            embed_hash: Some("00".into()),
            vector: Some(vec![0.1, -0.70710677, 1e-9]),
        }]),
    });
}

#[test]
fn reasons_survive() {
    let full = WhyResult {
        schema: "rag.why/1".into(),
        file: "a".into(),
        indexed: false,
        reason: "ignored".into(),
        message: "m".into(),
        rule: Some(Rule { file: ".gitignore".into(), line: Some(3), pattern: "*.md".into() }),
        state: Some("stale".into()),
        generation: 1,
        document: Some(summary()),
        chunks: vec![chunk()],
    };
    let why = WhyResult { rule: None, state: None, document: None, chunks: Vec::new(), ..full.clone() };
    survives(&full);
    let place = |rank| Place { rank, relevance: 0.5, chunk: chunk(), explain: explain() };
    survives(&WhyNotResult {
        schema: "rag.why-not/1".into(),
        query: "q".into(),
        file: "f".into(),
        source_id: Some(SourceId(3)),
        found: Some(2),
        reason: Some("rank".into()),
        message: "m".into(),
        remedy: Some("-k 20".into()),
        best: Some(place(Some(12))),
        last: Some(place(None)),
        compared: 100,
        words: Words { held: texts(), elsewhere: texts(), lacking: texts() },
        why: Some(why),
        notes: texts(),
    });
}

#[test]
fn what_keeps_an_index_in_order_survives() {
    survives(&VerifyResult {
        schema: "rag.verify/1".into(),
        index: ".rag".into(),
        generation: Some(1),
        sound: false,
        faults: texts(),
        files: 1,
        bytes: 2,
        paranoid: true,
        orphans: texts(),
    });
    survives(&CompactResult {
        schema: "rag.compact/1".into(),
        index: ".rag".into(),
        generation: 1,
        changed: true,
        bytes_before: 2,
        bytes_after: 1,
        segments_before: CompactSegments { text: 3, vectors: 4 },
        segments_after: CompactSegments { text: 1, vectors: 1 },
        dropped: 5,
        seconds: 0.5,
    });
    survives(&ExportResult {
        schema: "rag.export/1".into(),
        documents: 1,
        chunks: 2,
        bytes: 3,
        out: Some("f".into()),
        generation: 4,
    });
    survives(&ReembedResult {
        schema: "rag.reembed/1".into(),
        index: ".rag".into(),
        generation: 1,
        embedding_space: Some(space()),
        chunks: 1,
        embedded: 2,
        resumed: 3,
        shortened: 4,
        unchanged: false,
        interrupted: true,
        aborted: 5,
        bytes_written: 6,
        seconds: 7.5,
    });
    let check =
        |state| DoctorCheck { name: "index".into(), state, message: "m".into(), fix: Some("rag verify".into()) };
    let states = [DoctorState::Ok, DoctorState::Warning, DoctorState::Failed, DoctorState::Fixed];
    survives(&DoctorResult {
        schema: "rag.doctor/1".into(),
        index: ".rag".into(),
        healthy: true,
        checks: states.map(check).into(),
    });
    survives(&MigrateResult {
        schema: "rag.migrate/1".into(),
        index: ".rag".into(),
        from: 1,
        to: 2,
        changed: true,
        generation: 3,
    });
    survives(&ConfigResult {
        schema: "rag.config/1".into(),
        settings: vec![Setting {
            key: "retrieve.k".into(),
            value: Some(serde_json::json!([1, "a"])),
            origin: "default".into(),
            help: "h".into(),
        }],
    });
    survives(&ErrorResult::new(Kind::NotFound, "m".into(), Some("h".into()), 2));
}

#[test]
fn measures_survive() {
    let metrics = [Metric::Map, Metric::Ndcg(10), Metric::Recall(100)];
    let interval = EvalInterval { mean: 0.123456, low: 0.1, high: 0.2 };
    let difference = EvalDifference { difference: interval, p: 0.05, better: 1, alike: 2, worse: 3 };
    let intervals = EvalMetrics::new(&metrics, [interval; 3]);
    let differences = EvalDifferences::new(&metrics, [difference; 3]);
    let configuration = EvalConfiguration {
        mode: "hybrid".into(),
        fusion: Some("rrf".into()),
        alpha: Some(0.4),
        chunk_tokens: Some(200),
        chunk_overlap: Some(40),
    };
    let made = EvalMade::new(7, BTreeMap::from([("title", 3), ("sentence", 4)]));
    survives(&EvalResult {
        schema: "rag.eval/1".into(),
        collection: Some("cranfield".into()),
        queries: 3,
        documents: Some(4),
        made: Some(made.clone()),
        metrics: intervals.clone(),
        configurations: vec![EvalMeasured {
            configuration,
            metrics: intervals.clone(),
            chunks: 9,
            seconds: EvalSeconds { ingest: 0.5, queries: 1.25 },
            against_first: Some(differences.clone()),
            per_query: Some(vec![EvalQuery {
                id: "1".into(),
                relevance: None,
                found: 2,
                metrics: EvalValues::new(&metrics, [0.5, 1.0, 0.0]),
            }]),
        }],
        comparison: Some(EvalComparison {
            first: "a".into(),
            second: "b".into(),
            first_metrics: intervals.clone(),
            second_metrics: intervals,
            differences,
        }),
        bars: vec![EvalBar { metric: "map".into(), at_least: 0.5, mean: 0.25, met: false }],
        warnings: texts(),
    });
    let trial = TuneTrial { value: 0.4, estimate: interval, against_current: Some(difference) };
    survives(&TuneResult {
        schema: "rag.tune/1".into(),
        queries: 3,
        made: Some(made),
        settings: vec![TuneSetting {
            key: "retrieve.alpha".into(),
            metric: "ndcg@10".into(),
            current: 0.5,
            proposal: Some(0.4),
            discarded: vec![0.3],
            trials: vec![trial],
        }],
        written: Some("rag.toml".into()),
        warnings: Vec::new(),
    });
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
