//! Floors of ann_recall@10 on real vectors: sentences of real documents, embedded by the built-in model. Exact search over the
//! same rows is the truth.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test prints what it measured, and may fail")]

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rag::{
    index::vector::{
        Bits, Effort, Metric, NewRow, Scratch, Search, Segment, SegmentOptions, Set, Tombstones, encode_segment,
    },
    model::{
        Embedder,
        onnx::{OnnxEmbedder, Profile},
    },
};

const ROWS: usize = 20_000;
const QUERIES: usize = 300;
const K: usize = 10;

/// The collections, or `None` after saying what is left out. In CI they must be there.
fn collections() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let eval = std::env::var_os("RAG_SHARED").map_or(beside, PathBuf::from).join("eval");
    if eval.is_dir() {
        return Some(eval);
    }
    assert!(std::env::var_os("CI").is_none(), "`{}` is missing", eval.display());
    println!("left out: recall on real vectors, since `{}` is missing", eval.display());
    None
}

/// Sentences of three collections, each once, by turns, so that queries are of the same kind as rows.
fn sentences(eval: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for name in ["cranfield", "cisi", "cacm", "scifact"] {
        let file = fs::File::open(eval.join(name).join("corpus.jsonl.gz")).unwrap();
        let mut corpus = String::new();
        flate2::read::GzDecoder::new(file).read_to_string(&mut corpus).unwrap();
        for line in corpus.lines() {
            let document: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = document["text"].as_str().unwrap_or_default();
            let sentence = |sentence: &str| sentence.split_whitespace().collect::<Vec<_>>().join(" ");
            let long = |sentence: &String| (30..=160).contains(&sentence.len());
            all.extend(text.split(". ").map(sentence).filter(long));
        }
    }
    all.sort_by_cached_key(|sentence| crc32c::crc32c(sentence.as_bytes()));
    all.dedup();
    all.truncate(ROWS + QUERIES);
    all
}

fn embed(texts: &[String]) -> Vec<f32> {
    let embedder = OnnxEmbedder::built_in(Profile::Throughput).unwrap();
    let dim = embedder.space().dim;
    let next = AtomicUsize::new(0);
    let mut parts: Vec<(usize, Vec<f32>)> = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(text) = texts.get(at) else { break own };
                own.push((at, embedder.embed_passages(&[text]).unwrap()));
            }
        };
        let threads: Vec<_> = (0..embedder.concurrency()).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    parts.sort_by_key(|part| part.0);
    let vectors: Vec<f32> = parts.into_iter().flat_map(|part| part.1).collect();
    assert_eq!(vectors.len(), dim * texts.len());
    vectors
}

struct Measured<'a> {
    dim: usize,
    rows: &'a [f32],
    queries: &'a [f32],
}

impl Measured<'_> {
    fn set(&self, options: &SegmentOptions) -> Set {
        let rows: Vec<NewRow<'_>> =
            (0..).zip(self.rows.chunks(self.dim)).map(|(id, vector)| NewRow { id, hash: [0; 16], vector }).collect();
        let segment = Segment::open(Arc::new(encode_segment(self.dim, &rows, options))).unwrap();
        Set::new(self.dim, vec![(segment, Tombstones::default())])
    }

    fn check(&self, name: &str, set: &Set, search: &Search<'_>, floor: f64) {
        let (mut scratch, mut truth, mut found) = (Scratch::default(), Vec::new(), Vec::new());
        let (mut right, mut work) = (0, 0);
        for query in self.queries.chunks(self.dim) {
            let exact = Search { effort: Effort::Exact, ..*search };
            set.search_with(&mut scratch, query, &exact, &mut truth);
            work += set.search_with(&mut scratch, query, search, &mut found).evaluated;
            let worst = truth.last().unwrap().1;
            right += found.iter().filter(|hit| hit.1 >= worst).count();
        }
        let recall = right as f64 / (QUERIES * K) as f64;
        println!("{name:<40} ann_recall@10 {recall:.4}, floor {floor}, {} codes a query", work / QUERIES);
        assert!(recall >= floor, "{name}: {recall}, floor {floor}");
    }
}

#[test]
fn recall_on_sentences_stays_above_its_floors() {
    let Some(eval) = collections() else { return };
    let sentences = sentences(&eval);
    assert_eq!(sentences.len(), ROWS + QUERIES, "sentences");
    let vectors = embed(&sentences);
    let dim = vectors.len() / sentences.len();
    let (rows, queries) = vectors.split_at(ROWS * dim);
    let measured = Measured { dim, rows, queries };

    let search = Search::new(K, None);
    let walk = |ef| Search { effort: Effort::Walk { ef, slack: f32::INFINITY }, ..search };
    let mut options = SegmentOptions { metric: Metric::Dot, graph_from: 1, ..SegmentOptions::default() };
    let set = measured.set(&options);
    measured.check("scan of two bits", &set, &Search { effort: Effort::Flat, ..search }, 0.999);
    measured.check("walk of two bits, ef 64", &set, &walk(64), 0.97);
    measured.check("walk of two bits, ef 256", &set, &walk(256), 0.99);
    measured.check("recall 0.95 asked for", &set, &Search { effort: Effort::Recall(0.95), ..search }, 0.92);
    measured.check("the default", &set, &search, 0.985);
    options.graph.bits = Some(Bits::Eight);
    let set = measured.set(&options);
    measured.check("walk of eight bits, ef 64", &set, &walk(64), 0.985);
}
