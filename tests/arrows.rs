//! The arrows of ARCHITECTURE.md: which room may name which. A wrong one is an error here, with its line.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Room → the rooms it may name. A room may always name itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("index/vector", &[]),
    ("index", &["types"]),
    ("model", &["types"]),
    ("ingest", &["types", "index", "model"]),
    ("retrieve", &["types", "index", "model"]),
    ("serve", &["types", "index", "model", "ingest", "retrieve"]),
];

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn room_of(path: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    ARROWS.iter().find(|(room, _)| path.starts_with(&format!("{room}/")) || path == format!("{room}.rs"))
}

/// The rooms a line of code names by `crate::`, also in `use crate::{a, b::{…}}`, whose lines are joined before.
fn named(code: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut word = String::new();
            for letter in group.chars() {
                match letter {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ if depth == 1 => word.push(letter),
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
            rooms.extend(word.split(',').map(first_word));
        } else {
            rooms.push(first_word(rest));
        }
    }
    rooms.retain(|room| !room.is_empty());
    rooms
}

fn first_word(text: &str) -> String {
    text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn arrows_point_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&src, &mut found);
    assert!(found.len() > 20, "the source is here");
    let mut wrong = Vec::new();
    for path in found {
        let short = path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
        let Some((room, allowed)) = room_of(&short) else { continue };
        let text = fs::read_to_string(&path).unwrap();
        let code: Vec<&str> =
            text.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line }).collect();
        // The vector core may spell its own name in full.
        for target in named(&code.join("\n").replace("crate::index::vector", "here")) {
            let own = room.split('/').next().unwrap();
            let inside = target == own && *room != "index/vector";
            if !inside && !allowed.contains(&target.as_str()) {
                let line = code.iter().position(|line| line.contains(&format!("crate::{target}")));
                wrong.push(format!("src/{short}:{}: {room} names {target}", line.map_or(0, |line| line + 1)));
            }
        }
        if *room == "index/vector" && code.iter().any(|line| line.contains("super::super::")) {
            wrong.push(format!("src/{short}: index/vector reaches out of its room"));
        }
    }
    assert!(wrong.is_empty(), "arrows that point the wrong way:\n{}", wrong.join("\n"));
}

#[test]
fn the_library_neither_prints_nor_reads_its_surroundings() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&src, &mut found);
    for path in found {
        let short = path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
        if short.starts_with("cli/") || short == "main.rs" || short.ends_with("tests.rs") || short.contains("/tests/") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap();
        for word in ["println!(", "eprintln!(", "env::var(", "env::vars", "env::home_dir", "is_terminal()"] {
            // A worker process starts with nothing of the environment but what Windows itself needs to start it.
            if (word, short.as_str()) == ("env::vars", "ingest/extract/pool.rs") {
                continue;
            }
            assert!(!product.contains(word), "src/{short} uses {word}: that is the door's business");
        }
    }
}

#[test]
fn the_reader_of_names_sees_groups() {
    for (code, want) in [
        ("use crate::types::X;", vec!["types"]),
        ("use crate::{index::{A, B}, types::C};", vec!["index", "types"]),
        ("crate::model::run(); crate::serve::x()", vec!["model", "serve"]),
        ("no names", vec![]),
    ] {
        assert_eq!(named(code), want, "{code}");
    }
}
