//! Whether the lexical leg ranks as the recipe was measured to: whole documents of real collections, nDCG@10.
//!
//! The collections lie beside the checkout (`../shared/eval`, or `RAG_SHARED`); without them nothing is asserted, except
//! where `CI` is set.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, outside any `#[test]`")]

use std::{collections::HashMap, path::PathBuf, process::Command, time::Duration};

use rag::{
    index::{ChunkRecord, Index, NewChunk, QuerySyntax, Settings, SourceRecord, Status, WriterOptions},
    types::{SourcePath, Span},
};

/// Collection, language, and the nDCG@10 that must be reached: .002 under what this leg had when it was written. Over all
/// queries that was .494, .387 and, of xquad, ar .938 de .944 en .972 es .966 ru .954 zh .967.
const FLOORS: &[(&str, &str, f64)] = &[
    ("adi", "en", 0.492),
    ("cranfield", "en", 0.385),
    ("xquad/ar", "ar", 0.930),
    ("xquad/de", "de", 0.934),
    ("xquad/en", "en", 0.977),
    ("xquad/es", "es", 0.963),
    ("xquad/ru", "ru", 0.967),
    ("xquad/zh", "zh", 0.979),
];

#[test]
fn the_lexical_leg_reaches_what_was_measured() {
    let Some(eval) = collections() else { return };
    let chosen = std::env::var("RAG_LEXICAL_SETS").unwrap_or_default();
    let mut sets: Vec<(&str, &str, f64)> = FLOORS.to_vec();
    if !chosen.is_empty() {
        sets =
            chosen.split(',').map(|set| set.split_once(':').map_or((set, "en", 0.0), |(s, l)| (s, l, 0.0))).collect();
    }
    let mut short = Vec::new();
    for (name, lang, floor) in sets {
        let reached = ndcg(&eval.join(name), lang);
        println!("{name}: {reached:.4} (at least {floor})");
        if reached < floor {
            short.push(format!("{name}: {reached:.4} where {floor} is expected"));
        }
    }
    assert!(short.is_empty(), "{short:?}");
}

fn collections() -> Option<PathBuf> {
    let shared = std::env::var_os("RAG_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let eval = shared.join("eval");
    if eval.is_dir() {
        return Some(eval);
    }
    assert!(std::env::var_os("CI").is_none(), "no collections at {}", eval.display());
    println!("left out: no collections at {}", eval.display());
    None
}

/// Mean nDCG@10 over the judged queries, as trec_eval has it: linear gain, discount by log2(rank + 1).
fn ndcg(set: &std::path::Path, lang: &str) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::create(dir.path(), &Settings { space: None }).unwrap();
    let mut writer = index
        .writer(&WriterOptions { wait: Duration::ZERO, command: "test".to_owned(), ..WriterOptions::default() })
        .unwrap();
    let packed = Command::new("gzip").arg("-dc").arg(set.join("corpus.jsonl.gz")).output().unwrap();
    for line in String::from_utf8(packed.stdout).unwrap().lines() {
        let (source, chunk) = document(&serde_json::from_str(line).unwrap(), lang);
        writer.put(&source, &[chunk]).unwrap();
    }
    writer.commit().unwrap();
    let snapshot = index.snapshot().unwrap();

    let mut judged: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for line in std::fs::read_to_string(set.join("qrels.tsv")).unwrap().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        judged.entry(fields[0].to_owned()).or_default().insert(fields[1].to_owned(), fields[2].parse().unwrap());
    }
    let mut sum = 0.0;
    let queries = std::fs::read_to_string(set.join("queries.jsonl")).unwrap();
    // Of large sets every fifth query will do; all of them where sets were chosen by hand.
    let step = if queries.lines().count() > 1_000 && std::env::var_os("RAG_LEXICAL_SETS").is_none() { 5 } else { 1 };
    let mut judged_queries = 0;
    for line in queries.lines().step_by(step) {
        let query: serde_json::Value = serde_json::from_str(line).unwrap();
        let Some(grades) = judged.get(query["id"].as_str().unwrap()) else { continue };
        judged_queries += 1;
        let query = snapshot.lexical_query(query["text"].as_str().unwrap(), QuerySyntax::Plain).unwrap();
        let found = snapshot.lexical(&query, 10, None).unwrap();
        let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
        let scores = snapshot.lexical_scores(&query, &ids).unwrap();
        assert_eq!(scores, found.iter().map(|(_, score)| *score).collect::<Vec<_>>());
        let gain = |rank: usize, grade: f64| grade / ((rank + 2) as f64).log2();
        let chunks = snapshot.chunks(&ids).unwrap();
        let reached: f64 = chunks
            .into_iter()
            .enumerate()
            .map(|(rank, chunk)| gain(rank, *grades.get(&chunk.unwrap().path).unwrap_or(&0.0)))
            .sum();
        let mut ideal: Vec<f64> = grades.values().copied().filter(|grade| *grade > 0.0).collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let best: f64 = ideal.iter().take(10).enumerate().map(|(rank, grade)| gain(rank, *grade)).sum();
        sum += if best > 0.0 { reached / best } else { 0.0 };
    }
    sum / f64::from(judged_queries)
}

/// One document as one chunk, in a source of its name.
fn document(json: &serde_json::Value, lang: &str) -> (SourceRecord, NewChunk) {
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let (name, title, text) = (text("id"), text("title"), text("text"));
    let path = SourcePath::from_spelling(name.clone());
    let source = SourceRecord {
        id: SourceRecord::id_of("default", "", &path),
        collection: "default".to_owned(),
        root: String::new(),
        size_bytes: text.len() as u64,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 0,
        hash: String::new(),
        pipeline: String::new(),
        status: Status::Indexed,
        problems: Vec::new(),
        format: "text".to_owned(),
        title: None,
        author: None,
        lang: Some(lang.to_owned()),
        pages: None,
        encoding: None,
        tags: Default::default(),
        metadata: Default::default(),
        chunks: 1,
        text_bytes: text.len() as u64,
        path,
    };
    let span = Span::new(0, text.len());
    let record = ChunkRecord {
        id: ChunkRecord::id_of(source.id, span, &text),
        source: source.id,
        collection: source.collection.clone(),
        path: source.display_path(),
        ordinal: 0,
        span,
        lines: None,
        pages: None,
        title: (!title.is_empty()).then_some(title),
        heading: Vec::new(),
        context: String::new(),
        text,
        lang: Some(lang.to_owned()),
        tokens: 1,
        fertility: 1.0,
        code_share: 0.0,
    };
    (source, NewChunk { record, embed_hash: [0; 16], vector: None })
}
