//! A query takes as much memory in a large collection as in a small one.
//!
//! The whole program counts its bytes here, so this is a test binary of its own with one test.
#![allow(unsafe_code, clippy::unwrap_used, reason = "an allocator that counts; helpers outside any `#[test]`")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use rag::{
    index::{ChunkRecord, Index, NewChunk, Settings, Snapshot, SourceRecord, Status, WriterOptions},
    model::{Embedder, fake::FakeEmbedder},
    retrieve::{Fusion, Mode, Query, query},
    types::{SourcePath, Span},
};

struct Counting;

/// Bytes handed out, ever; bytes in use, and the most of them; the largest piece.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    GIVEN.fetch_add(bytes, Relaxed);
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    LARGEST.fetch_max(bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: by the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Relaxed);
        took(size);
        // SAFETY: by the caller's contract.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What one warm query takes.
#[derive(Debug, Clone, Copy)]
struct Cost {
    given: usize,
    peak: usize,
    largest: usize,
}

/// More than the documents that tantivy's union holds at a time, which are a bound of its own.
const SMALL: usize = 6_000;
const LARGE: usize = 24_000;

#[test]
fn a_query_takes_no_more_in_a_large_collection() {
    let embedder = FakeEmbedder::new();
    let asked: Vec<Query> = [
        (Mode::Hybrid, Fusion::Blend, false),
        (Mode::Hybrid, Fusion::Rrf, true),
        (Mode::Lexical, Fusion::Blend, false),
        (Mode::Dense, Fusion::Blend, false),
    ]
    .into_iter()
    .map(|(mode, fusion, explain)| Query {
        text: "word3 of word17 and word40 word141".into(),
        mode,
        fusion,
        explain,
        ..Query::default()
    })
    .collect();
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let costs = [SMALL, LARGE].map(|chunks| {
        let snapshot = filled(dirs[usize::from(chunks == LARGE)].path(), &embedder, chunks);
        asked.iter().map(|asked| cost(&snapshot, &embedder, asked)).collect::<Vec<Cost>>()
    });
    let mut wrong = Vec::new();
    for ((small, large), asked) in costs[0].iter().zip(&costs[1]).zip(&asked) {
        println!("{:?} {:?}: {small:?} → {large:?}", asked.mode, asked.fusion);
        // One byte for each chunk that came with the size would be seen. The dense leg remembers the rows that their codes do
        // not rule out, which of the fake embedder's vectors, alike as they are, is one in a few.
        let more = (LARGE - SMALL) * if asked.mode == Mode::Lexical { 1 } else { 8 };
        for (what, small, large) in [
            ("at most", small.peak, large.peak),
            ("in one piece", small.largest, large.largest),
            ("in all", small.given, large.given),
        ] {
            wrong.extend((large >= small + more).then(|| format!("{:?}: {what} {small} → {large} bytes", asked.mode)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn cost(snapshot: &Snapshot, embedder: &dyn Embedder, asked: &Query) -> Cost {
    // What is kept for the next query is there after the first.
    for _ in 0..3 {
        assert_eq!(query(snapshot, Some(embedder), asked).unwrap().hits.len(), asked.k);
    }
    let (given, live) = (GIVEN.load(Relaxed), LIVE.load(Relaxed));
    PEAK.store(live, Relaxed);
    LARGEST.store(0, Relaxed);
    let hits = query(snapshot, Some(embedder), asked).unwrap();
    let cost =
        Cost { given: GIVEN.load(Relaxed) - given, peak: PEAK.load(Relaxed) - live, largest: LARGEST.load(Relaxed) };
    drop(hits);
    cost
}

/// An index of so many chunks, all of one length, of 200 words that are spread evenly.
fn filled(dir: &std::path::Path, embedder: &dyn Embedder, chunks: usize) -> Snapshot {
    let index = Index::create(dir, &Settings { space: Some(embedder.space().clone()) }).unwrap();
    let options = WriterOptions { wait: Duration::ZERO, command: "test".into(), ..WriterOptions::default() };
    let mut writer = index.writer(&options).unwrap();
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("word{}", (state >> 33) % 200)
    };
    for at in 0..chunks / 100 {
        let path = SourcePath::from_spelling(format!("{at:04}.txt"));
        let source = source(path, chunks);
        let new: Vec<NewChunk> = (0..100)
            .map(|ordinal| {
                let text = (0..20).map(|_| word()).collect::<Vec<_>>().join(" ");
                let span = Span::new(ordinal * 1000, ordinal * 1000 + text.len());
                let vector = Some(embedder.embed_passages(&[&text]).unwrap());
                let record = ChunkRecord {
                    id: ChunkRecord::id_of(source.id, span, &text),
                    source: source.id,
                    collection: source.collection.clone(),
                    path: source.path.to_string(),
                    ordinal: u32::try_from(ordinal).unwrap(),
                    span,
                    lines: None,
                    pages: None,
                    title: None,
                    heading: Vec::new(),
                    context: String::new(),
                    text,
                    lang: Some("en".into()),
                    tokens: 20,
                    fertility: 1.2,
                    code_share: 0.0,
                };
                let hash = *blake3::hash(record.text.as_bytes()).as_bytes();
                NewChunk { record, embed_hash: *hash.first_chunk().unwrap(), vector }
            })
            .collect();
        writer.put(&source, &new).unwrap();
    }
    writer.commit().unwrap();
    index.snapshot().unwrap()
}

fn source(path: SourcePath, bytes: usize) -> SourceRecord {
    SourceRecord {
        id: SourceRecord::id_of("default", "", &path),
        collection: "default".into(),
        root: String::new(),
        path,
        size_bytes: bytes as u64,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 0,
        hash: String::new(),
        pipeline: "test".into(),
        status: Status::Indexed,
        problems: Vec::new(),
        format: "text".into(),
        title: None,
        author: None,
        lang: Some("en".into()),
        pages: None,
        encoding: None,
        tags: BTreeMap::new(),
        metadata: BTreeMap::new(),
        chunks: 100,
        text_bytes: bytes as u64,
    }
}
