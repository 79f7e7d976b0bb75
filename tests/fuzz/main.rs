//! S11 in short: the inputs kept in `corpus/`, and a bounded number of others made from them by a seed. `make fuzz` runs the
//! same functions for as long as is wanted, led by what they reach.
//!
//! `RAG_FUZZ_SEED` makes other inputs, `RAG_FUZZ_ROUNDS` more of them. What makes a target fail belongs into its corpus.

#![allow(clippy::unwrap_used, reason = "helpers of tests, outside any `#[test]`")]

mod chunks;
mod documents;
mod mutate;
mod open_index;
mod texts;
mod vector_files;

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use mutate::Dice;

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).ok().map_or(or, |text| text.parse().unwrap())
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{target}: no inputs");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Runs a target over what is kept for it, and over `rounds` others.
fn bounded(target: &str, rounds: u64, run: fn(&[u8])) {
    let seed = number("RAG_FUZZ_SEED", 7);
    let kept = corpus(target);
    let mut dice = Dice::new(seed);
    let made = (0..number("RAG_FUZZ_ROUNDS", rounds)).map(|_| mutate::mutate(&kept, &mut dice));
    for input in kept.iter().cloned().chain(made) {
        if catch_unwind(AssertUnwindSafe(|| run(&input))).is_err() {
            let path = std::env::temp_dir().join(format!("rag-fuzz-{target}-{:016x}", mutate::name_of(&input)));
            fs::write(&path, &input).unwrap();
            panic!("{target}, seed {seed}: `{}` makes it fail", path.display());
        }
    }
}

#[test]
fn s11_any_bytes_as_documents() {
    bounded("documents", 3000, documents::run);
}

#[test]
fn s11_any_text_in_chunks() {
    bounded("chunks", 600, chunks::run);
}

#[test]
fn s11_any_text_as_filters_streams_and_tokens() {
    bounded("texts", 3000, texts::run);
}

#[test]
fn s11_any_change_to_an_index() {
    bounded("open_index", 200, open_index::run);
}

#[test]
fn s11_any_bytes_as_vector_files() {
    bounded("vector_files", 500, vector_files::run);
}
