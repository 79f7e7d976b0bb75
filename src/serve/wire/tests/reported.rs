//! What is said of runs, documents and reasons.

use super::*;

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
