//! `docs/reliability.md` and the tests agree: every test that the page names is there, and every test named after a row stands
//! on the page.

#![allow(clippy::unwrap_used, reason = "helpers of tests, outside any `#[test]`")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    sources(&root().join("src"), &mut found);
    sources(&root().join("tests"), &mut found);
    found
}

/// `cr01`, `s3`, …: letters of a row, then a number, then a word.
fn is_of_row(name: &str) -> bool {
    let letters: String = name.chars().take_while(char::is_ascii_lowercase).collect();
    let rest = &name[letters.len()..];
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    ["cr", "s", "p", "k", "t", "n"].contains(&letters.as_str()) && digits == 2 && rest[digits..].starts_with('_')
}

#[test]
fn every_row_has_its_tests() {
    let page = fs::read_to_string(root().join("docs/reliability.md")).unwrap();
    let mut named = BTreeSet::new();
    let mut rows = 0;
    for row in
        page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| row") && !line.starts_with("| -"))
    {
        rows += 1;
        let id = row.split('|').nth(1).unwrap().trim().to_lowercase();
        let letters: String = id.chars().take_while(char::is_ascii_alphabetic).collect();
        let prefix = format!("{letters}{:02}_", id[letters.len()..].parse::<u32>().unwrap());
        let tests: Vec<&str> = row.split('`').skip(1).step_by(2).filter(|name| is_of_row(name)).collect();
        assert!(tests.iter().all(|name| name.starts_with(&prefix)), "{row}");
        assert!(!tests.is_empty() || row.contains("not there"), "no test: {row}");
        named.extend(tests.into_iter().map(str::to_owned));
    }
    assert!(rows > 40, "{rows} rows");
    let mut there = BTreeSet::new();
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("fn ") {
            let name: String = text[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if is_of_row(&name) {
                there.insert(name);
            }
        }
    }
    let missing: Vec<_> = named.difference(&there).collect();
    let unnamed: Vec<_> = there.difference(&named).collect();
    assert!(missing.is_empty() && unnamed.is_empty(), "not there: {missing:?}; not on the page: {unnamed:?}");
}

#[test]
fn t07_unsafe_stands_where_it_may() {
    let allowed = ["src/index/vector/kernels/", "src/index/mmap.rs"];
    let mut seen = 0;
    for path in all_sources() {
        let short = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        // A test that counts allocations is an allocator.
        if !short.starts_with("src/") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let uses = code
            .filter(|line| line.contains(concat!("uns", "afe {")) || line.contains(concat!("uns", "afe fn")))
            .count();
        seen += uses;
        assert!(uses == 0 || allowed.iter().any(|place| short.starts_with(place)), "{short}");
    }
    assert!(seen > 5, "the test sees what it looks for");
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("overflow-checks = true") && manifest.contains("unsafe_code = \"deny\""));
}
