//! The built-in model on both runtimes, against reference vectors and against each other.
//!
//! The ONNX Runtime library is `RAG_TEST_ONNXRUNTIME`, or what `scripts/test-setup.sh` put into `.venv-test`. Without one
//! CI fails, and anyone else is told what is left out.

#![cfg(feature = "onnx")]
#![allow(clippy::print_stdout, reason = "tests say what they leave out")]

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use rag::{
    model::{
        Embedder, Error,
        onnx::{OnnxEmbedder, Profile, ort},
        registry, same_space,
    },
    types::{Kind, PROBE},
};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/embedding");
const DIM: usize = 384;

static PASSAGES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let json = std::fs::read(format!("{FIXTURES}/passages.json")).expect("the fixture is in the repository");
    serde_json::from_slice(&json).expect("a list of texts")
});

/// Vectors of the passages by the model's own weights in f32: see the README beside them.
static REFERENCE: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let bytes = std::fs::read(format!("{FIXTURES}/reference.f32")).expect("the fixture is in the repository");
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
});

static THROUGHPUT: LazyLock<OnnxEmbedder> =
    LazyLock::new(|| OnnxEmbedder::built_in(Profile::Throughput).expect("the built-in model loads"));

/// One embedder on the library of the test set-up, if there is one.
static ONNXRUNTIME: LazyLock<Option<OnnxEmbedder>> = LazyLock::new(|| {
    let Some(path) = library() else {
        assert!(std::env::var_os("CI").is_none(), "no ONNX Runtime: run scripts/test-setup.sh");
        println!("left out: all that needs an ONNX Runtime library; scripts/test-setup.sh fetches one");
        return None;
    };
    let unpack_to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    let options = ort::Options { path: Some(path), search: Vec::new(), unpack_to };
    Some(OnnxEmbedder::on_onnxruntime(&options).expect("the library of the test set-up loads"))
});

fn library() -> Option<PathBuf> {
    let named = std::env::var_os("RAG_TEST_ONNXRUNTIME").map(PathBuf::from);
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv-test");
    named.or_else(|| ort::python_folders(&venv).into_iter().next())
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum() };
    assert_eq!(a.len(), b.len());
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn embed(embedder: &OnnxEmbedder, text: &str) -> Vec<f32> {
    let vector = embedder.embed_passages(&[text]).expect("a vector");
    assert_eq!(vector.len(), DIM);
    let length = length_of(&vector);
    assert!((length - 1.0).abs() < 1e-5, "length {length}");
    vector
}

fn length_of(vector: &[f32]) -> f64 {
    vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|x| x.to_bits()).collect()
}

/// Every row of `ours` is near the row of `theirs`.
fn near(ours: &[f32], theirs: &[f32], least: f64, what: &str) {
    assert_eq!(ours.len(), theirs.len());
    for (i, (a, b)) in ours.chunks(DIM).zip(theirs.chunks(DIM)).enumerate() {
        let cosine = cosine(a, b);
        assert!(cosine >= least, "{what}, passage {i}: {cosine}");
    }
}

fn all(embedder: &OnnxEmbedder) -> Vec<f32> {
    let texts: Vec<&str> = PASSAGES.iter().map(String::as_str).collect();
    embedder.embed_passages(&texts).expect("vectors")
}

#[test]
fn rten_is_near_the_reference_in_both_profiles() {
    let throughput = all(&THROUGHPUT);
    near(&throughput, &REFERENCE, 0.98, "rten against the reference");
    let one_shot = OnnxEmbedder::built_in(Profile::OneShot).expect("the built-in model loads");
    near(&all(&one_shot), &throughput, 0.9999, "one-shot against throughput");
    assert_eq!(one_shot.backend(), "rten 0.27");
}

#[test]
fn onnxruntime_is_near_the_reference_and_near_rten() {
    let Some(embedder) = &*ONNXRUNTIME else { return };
    let vectors = all(embedder);
    near(&vectors, &REFERENCE, 0.98, "onnxruntime against the reference");
    near(&vectors, &all(&THROUGHPUT), 0.995, "onnxruntime against rten");
    assert_eq!(same_space(embedder.space(), THROUGHPUT.space()), Ok(()));
    let backend = embedder.backend();
    assert!(backend.starts_with("onnxruntime 1.") && backend.contains("libonnxruntime"), "{backend}");
}

#[test]
fn a_search_goes_on_where_a_library_does_not_load() {
    let (Some(path), Some(embedder)) = (library(), &*ONNXRUNTIME) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("libonnxruntime.so.1.99.0"), "not a library").expect("written");
    let search = vec![folder.path().join("missing"), folder.path().to_owned(), path];
    let options = ort::Options { path: None, search, unpack_to: folder.path().join("models") };
    let found = OnnxEmbedder::on_onnxruntime(&options).expect("the last place has one");
    assert_eq!(found.backend(), embedder.backend());
}

#[test]
fn the_probe_of_the_registry_is_what_both_compute() {
    let stored = registry::built_in().expect("onnx is on").probe();
    let least = 0.99;
    let check = |embedder: &OnnxEmbedder| {
        assert_eq!(embedder.space().probe, stored);
        near(&embedder.probe().expect("a vector"), &stored, least, &embedder.backend());
    };
    check(&THROUGHPUT);
    if let Some(embedder) = &*ONNXRUNTIME {
        check(embedder);
    }
}

/// Remakes the registry's probe after the model has changed: `cargo test --test embedders -- --ignored`.
#[test]
#[ignore = "writes the fixture that the other tests compare with"]
fn write_the_probe() {
    let embedder = OnnxEmbedder::built_in(Profile::OneShot).expect("the built-in model loads");
    let bytes: Vec<u8> = embedder.embed_query(PROBE).expect("a vector").iter().flat_map(|x| x.to_le_bytes()).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/models/all-minilm-l6-v2-int8/probe.f32");
    std::fs::write(path, bytes).expect("written");
}

/// The same passage gives the same bits: alone, after others, among others, and on any thread.
fn repeats(embedder: &OnnxEmbedder) {
    let alone = bits(&embed(embedder, &PASSAGES[2]));
    let among = all(embedder);
    assert_eq!(bits(&among[2 * DIM..3 * DIM]), alone);
    assert_eq!(bits(&embed(embedder, &PASSAGES[2])), alone);
    assert_eq!(bits(&embedder.embed_query(&PASSAGES[2]).expect("a vector")), alone);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let alone = &alone;
                scope.spawn(move || {
                    for i in 0..3 {
                        embed(embedder, &PASSAGES[(thread + i) % PASSAGES.len()]);
                        assert_eq!(&bits(&embed(embedder, &PASSAGES[2])), alone, "thread {thread}");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no thread fails"));
    });
}

#[test]
fn rten_repeats_bit_for_bit() {
    repeats(&THROUGHPUT);
}

#[test]
fn onnxruntime_repeats_bit_for_bit() {
    if let Some(embedder) = &*ONNXRUNTIME {
        repeats(embedder);
    }
}

#[test]
fn texts_at_the_edges() {
    for embedder in [Some(&*THROUGHPUT), ONNXRUNTIME.as_ref()].into_iter().flatten() {
        for text in ["", " \n\t", "\0\u{fffd}", "😀", "\u{301}", "[SEP] [CLS]", &"x".repeat(5000)] {
            embed(embedder, text);
        }
        let (fits, long) = ("water ".repeat(254), "water ".repeat(255));
        embed(embedder, &fits);
        let error = embedder.embed_passages(&[&long]).unwrap_err();
        assert!(matches!(error, Error::TextTooLong { found: 255, limit: 254, .. }), "{error}");
        assert_eq!(bits(&embedder.embed_query(&long).expect("cut")), bits(&embed(embedder, &fits)));
    }
}

#[test]
fn a_library_that_cannot_be_used_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("libonnxruntime.so.1.99.0");
    std::fs::write(&text, "not a library").expect("written");
    let missing = folder.path().join("missing.so");
    let options = |path: Option<&Path>, search: &[&Path]| ort::Options {
        path: path.map(Path::to_owned),
        search: search.iter().map(|&path| path.to_owned()).collect(),
        unpack_to: folder.path().join("models"),
    };
    for (options, named) in [
        (options(Some(&missing), &[]), &missing),
        (options(Some(&text), &[]), &text),
        (options(None, &[]), &PathBuf::new()),
        (options(None, &[&missing]), &missing),
        (options(None, &[&missing, folder.path()]), &text),
    ] {
        let error = OnnxEmbedder::on_onnxruntime(&options).err().expect("no library, no embedder");
        assert!(matches!(error, Error::NoRuntime { .. }), "{error}");
        assert_eq!(error.kind(), Kind::Model);
        assert!(error.to_string().contains(&*named.to_string_lossy()), "{error}");
    }
}
