//! What a user is told where something is odd: names, variables, tags, collections, retries, answers that never came.

use std::{ffi::OsStr, process::Command};

use crate::{
    house::{House, Ran},
    llm_double::{Behaviour, Double, Profile},
};

fn run(command: &mut Command) -> Ran {
    command.output().expect("rag runs").into()
}

/// One document with a word of its own in each of two collections, under one path.
fn two_collections() -> House {
    let house = House::new();
    house.write("docs/a.md", "The kingfisher nests in the bank.\n");
    house.rag(["ingest", "docs", "--quiet"]).ok();
    house.rag(["ingest", "docs", "--collection", "birds", "--quiet"]).ok();
    house
}

#[test]
#[cfg(unix)]
fn a_name_that_is_not_utf8_can_be_given() {
    use std::os::unix::ffi::OsStrExt;
    let house = House::new();
    house.write("docs/a.md", "The kingfisher nests in the bank.\n");
    let odd = OsStr::from_bytes(b"docs/bad\xffname.txt");
    if std::fs::write(house.path("docs").join(OsStr::from_bytes(b"bad\xffname.txt")), "Buoys are red.\n").is_err() {
        return eprintln!("this disk takes no such name");
    }
    let with = |arguments: &[&str]| {
        let mut command = house.command();
        command.args(arguments).arg(odd);
        run(&mut command)
    };
    assert_eq!(with(&["ingest", "--json"]).ok().json("rag.ingest/1")["added"][0]["path"], "docs/bad\\xffname.txt");
    assert!(with(&["why"]).ok().stdout.contains("docs/bad\\xffname.txt"));
    assert!(with(&["why-not", "buoys"]).ok().stdout.starts_with("found"));
    assert!(with(&["show"]).ok().stdout.contains("Buoys are red"));
    assert!(with(&["check"]).exits(2).stderr.contains("no saved answer"));
    let models = with(&["models", "add", "x", "--from"]);
    assert!(models.exits(2).stderr.contains("is no folder"));
    // What is no path is named.
    let query = with(&["query"]).exits(2);
    assert!(query.stderr.contains("docs/bad\\xffname.txt") && query.stderr.contains("UTF-8"), "{}", query.stderr);
    assert!(with(&["rm", "--dry-run"]).ok().stdout.contains("docs/bad\\xffname.txt"));
}

#[test]
fn a_link_is_explained_under_its_own_name() {
    let house = two_collections();
    #[cfg(unix)]
    std::os::unix::fs::symlink(".", house.path("docs/loop")).unwrap();
    #[cfg(unix)]
    {
        let why = house.rag(["why", "docs/loop"]).exits(1).stdout;
        assert!(why.starts_with("not indexed  docs/loop\n") && why.contains("--follow"), "{why}");
    }
}

#[test]
fn a_path_in_two_collections_is_told_apart() {
    let house = two_collections();
    for verb in ["show", "why"] {
        let shown = house.rag([verb, "docs/a.md"]).ok();
        assert!(shown.stderr.contains("`birds`") && shown.stderr.contains("--collection default"), "{}", shown.stderr);
        let alone = house.rag([verb, "docs/a.md", "--collection", "default"]).ok();
        assert!(!alone.stderr.contains("others of that path") && alone.stdout.contains("default"), "{}", alone.stderr);
    }
    for arguments in [&["list"][..], &["rm", "docs", "--dry-run"]] {
        let mut command = house.command();
        let out = run(command.args(arguments)).ok().stdout;
        assert!(out.contains("docs/a.md  (birds)\n") && out.contains("docs/a.md  (default)\n"), "{out}");
    }
    assert!(house.rag(["list", "--collection", "birds"]).ok().stdout.ends_with("docs/a.md\n"));
}

#[test]
fn a_collection_that_is_not_there_is_an_error_everywhere() {
    let house = two_collections();
    for arguments in [
        &["query", "bank"][..],
        &["list"],
        &["rm", "docs"],
        &["rm", "docs", "--dry-run"],
        &["export"],
        &["show", "docs/a.md"],
        &["why", "docs/a.md"],
    ] {
        let mut command = house.command();
        let ran = run(command.args(arguments).args(["--collection", "brids"])).exits(2);
        assert!(ran.stderr.contains("`brids`") && ran.stderr.contains("`birds`"), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_tag_with_two_values_is_refused() {
    let house = House::new();
    house.write("docs/a.md", "The kingfisher nests in the bank.\n");
    house.write("lines.jsonl", "{\"id\": 1, \"text\": \"x\"}\n");
    for arguments in [&["ingest", "docs"][..], &["import", "lines.jsonl"]] {
        let mut command = house.command();
        let ran = run(command.args(arguments).args(["--tag", "team=ops", "--tag", "team=dev"])).exits(2);
        assert!(ran.stderr.contains("team=ops") && ran.stderr.contains("team=dev"), "{}", ran.stderr);
        assert!(!house.path(".rag").exists(), "nothing was begun");
    }
    house.rag(["ingest", "docs", "--tag", "team=ops", "--tag", "team=ops"]).ok();
    let rm = house.rag(["rm", "--tag", "team=ops", "--tag", "team=dev"]).exits(2);
    assert!(rm.stderr.contains("team=dev"), "{}", rm.stderr);
}

#[test]
fn a_variable_that_nobody_reads_is_told() {
    let house = two_collections();
    let told = house.rag_env(["query", "bank"], &[("RAG_RETRIEVE_KK", "1"), ("RAG_ELSEWHERE", "1")]);
    assert_eq!(told.stderr.matches("RAG_RETRIEVE_KK").count(), 1, "{}", told.stderr);
    assert!(told.stderr.contains("did you mean RAG_RETRIEVE_K?"), "{}", told.stderr);
    assert!(!told.stderr.contains("RAG_ELSEWHERE"), "{}", told.stderr);
    let quiet = house.rag_env(["query", "bank", "--quiet"], &[("RAG_RETRIEVE_KK", "1")]);
    assert_eq!(quiet.stderr, "");
    let doctor = house.rag_env(["doctor"], &[("RAG_RETRIEVE_KK", "1"), ("RAG_RETRIEVE_K", "3")]).stdout;
    assert!(
        doctor.contains("of the environment RAG_RETRIEVE_K\n") && doctor.contains("unset RAG_RETRIEVE_KK"),
        "{doctor}"
    );
}

#[test]
fn a_request_that_waits_to_be_sent_again_says_so() {
    let house = House::with_index();
    let fail = || Behaviour::Fail(500);
    let ask = |double: &Double, more: &[&str]| {
        let mut command = house.command();
        command.args(["ask", "How are refunds handled?", "--llm-url", &double.url(), "--model", "m"]).args(more);
        run(&mut command)
    };
    let answer = || Behaviour::Answer("Refunds are paid within five working days [1].".into());
    let double = Double::start(Profile::OpenAi, [fail(), answer()]);
    let ran = ask(&double, &[]);
    assert!(
        ran.stderr.contains("answered 500: trying again in ") && ran.stderr.contains(" (2 of 4)"),
        "{}",
        ran.stderr
    );
    let double = Double::start(Profile::OpenAi, [fail(), answer()]);
    assert!(!ask(&double, &["--quiet"]).stderr.contains("trying again"));
    let double = Double::start(Profile::OpenAi, [fail(), fail(), fail(), fail()]);
    let ran = ask(&double, &[]).exits(5);
    assert_eq!(ran.stderr.matches("trying again").count(), 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
}

#[test]
fn an_answer_that_never_came_is_not_called_a_no() {
    let house = House::with_index();
    let ask = |behaviour: Behaviour, more: &[&str]| {
        let double = Double::start(Profile::OpenAi, [behaviour]);
        let mut command = house.command();
        command.args(["ask", "How are refunds handled?", "--llm-url", &double.url(), "--model", "m"]).args(more);
        run(&mut command)
    };
    let cut = || Behaviour::Length("Refunds are paid within".into());
    let ran = ask(cut(), &[]).exits(5);
    assert!(
        ran.stdout.starts_with("Refunds are paid within [") && !ran.stdout.contains("do not answer"),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.stderr.matches("cut off").count(), 1, "{}", ran.stderr);
    ask(cut(), &["--allow-truncated"]).exits(4);
    let ran = ask(Behaviour::Length(String::new()), &[]).exits(5);
    assert_eq!(ran.stdout, "The model was cut off before it answered.\n");
    let ran = ask(Behaviour::Empty, &[]).exits(1);
    assert_eq!(ran.stdout, "The model gave no answer.\n");
    let ran = ask(Behaviour::CutAfter(3), &[]).exits(5);
    assert_eq!(ran.stderr.matches("cut off").count(), 1, "{}", ran.stderr);
}

#[test]
fn what_the_filter_hides_is_offered_and_nothing_poor() {
    let house = House::new();
    house.write("docs/animals.md", "# Capybara\n\nThe capybara is a giant rodent that lives near water.\n");
    house.write("docs/prices.csv", "item,price\nlamp,12\nchair,40\n");
    house.rag(["ingest", "docs", "--quiet"]).ok();
    for more in [&["--min-score", "0.5"][..], &["-k", "1"]] {
        let mut command = house.command();
        let ran = run(command.args(["query", "capybara", "--filter", "type:csv"]).args(more)).exits(1);
        assert!(ran.stderr.contains("without the filter the best is docs/animals.md"), "{more:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("--min-score 0.0"), "{}", ran.stderr);
    }
}

#[test]
fn hints_are_about_what_went_wrong() {
    let house = two_collections();
    house.write("file", "x");
    for (arguments, code, words, not) in [
        (&["models", "add", "foo", "--from", "docs"][..], 2, &["tokenizer", "model.onnx"][..], "allow_plaintext"),
        (&["models", "rm", "all-minilm-l6-v2"], 2, &["part of the program"], "no model named"),
        (&["models", "rm", "zebra"], 2, &["zebra", "`rag models`"], "allow_plaintext"),
        (&["ingest", "docs", "--embed-model", "nope"], 2, &["`nope`", "rag models"], "was made with"),
        (&["--index", "file", "ingest", "docs"], 2, &["`file` is a file", "--index DIR"], "nothing was lost"),
        (&["--index", "file", "query", "x"], 2, &["`file` is a file"], "nothing was lost"),
        (&["ingest", "ftp://host.example/x"], 2, &["http://", "rag ingest -"], "check the spelling"),
        (&["cache", "stats", "--cache-dir", "nowhere"], 2, &["no folder `nowhere`"], "holds"),
        (&["ingest", "docs", "--no-embed"], 7, &["rag reembed"], "nothing was lost"),
    ] {
        let mut command = house.command();
        let ran = run(command.args(arguments)).exits(code);
        for word in words {
            assert!(ran.stderr.contains(word), "{arguments:?}: {word}: {}", ran.stderr);
        }
        assert!(!ran.stderr.contains(not), "{arguments:?}: {not}: {}", ran.stderr);
    }
}

#[test]
fn damage_is_told_in_our_own_words() {
    let house = two_collections();
    let text = house.path(".rag/text");
    for entry in std::fs::read_dir(&text).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|extension| extension == "term") {
            let mut bytes = std::fs::read(&entry).unwrap();
            let end = bytes.len();
            bytes[end - 4..].fill(0);
            std::fs::write(&entry, bytes).unwrap();
        }
    }
    let ran = house.rag(["query", "bank"]).exits(7);
    assert!(!ran.stderr.contains("tantivy"), "{}", ran.stderr);
    let ran = house.rag(["verify"]).exits(1);
    assert!(!(ran.stdout + &ran.stderr).contains("use tantivy"));
}

#[test]
fn a_dry_run_looks_into_what_seems_odd() {
    let house = House::new();
    for n in 0..40 {
        house.write(&format!("docs/{n:02}.md"), format!("# Number {n}\n\nThe kingfisher nests in bank {n}.\n"));
    }
    house.write("docs/zero.pdf", "");
    house.write("docs/empty.md", "");
    house.write("docs/half.pdf", "%PDF-1.4 and then nothing of a PDF");
    house.write("docs/fake.docx", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let names = |report: &serde_json::Value, list: &str| -> Vec<String> {
        let all = report[list].as_array().unwrap();
        all.iter().map(|outcome| outcome["path"].as_str().unwrap().to_owned()).collect()
    };
    let dry = house.rag(["ingest", "docs", "--dry-run", "--json"]).exits(3).json("rag.ingest/1");
    let real = house.rag(["ingest", "docs", "--json"]).exits(3).json("rag.ingest/1");
    for list in ["failed", "warnings", "skipped", "added"] {
        assert_eq!(names(&dry, list), names(&real, list), "{list}");
    }
    assert!(names(&real, "failed").contains(&"docs/fake.docx".to_owned()), "{real:#}");
}

#[test]
fn pages_of_the_manual_bear_the_name_of_their_command() {
    let house = House::new();
    let page = house.rag(["man", "query"]).ok().stdout;
    assert!(page.contains("\nrag\\-query \\- ") && !page.contains("\nquery \\- "), "{page}");
    assert!(!house.rag(["man", "man"]).ok().stdout.contains("\\-\\-remote"));
}
