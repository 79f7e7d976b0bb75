//! `rag check`: saved answers, when their documents stay, change, move and go.

use std::io::Write as _;

use serde_json::Value;

use crate::house::{House, Ran};

const QUESTION: &str = "How are refunds handled?";

/// The samples with answers to [`QUESTION`] saved in each form.
fn house() -> House {
    let house = House::with_index();
    for (file, more) in [("a.json", &["--json"][..]), ("a.txt", &[]), ("a.md", &["--format", "md"])] {
        let mut command = house.command();
        command.args(["ask", QUESTION, "--extractive"]).args(more);
        house.write(file, Ran::from(command.output().unwrap()).ok().stdout);
    }
    house
}

const FORMS: [&str; 3] = ["a.json", "a.txt", "a.md"];

fn check(house: &House, file: &str) -> (i32, Value) {
    let ran = house.rag(["check", file, "--json"]);
    (ran.code, ran.json("rag.check/1"))
}

fn replace(house: &House, path: &str, from: &str, to: &str) {
    let text = std::fs::read_to_string(house.path(path)).unwrap();
    assert!(text.contains(from), "{path} has {from}");
    house.write(path, text.replace(from, to));
}

#[test]
fn what_did_not_change_holds_in_every_form() {
    let house = house();
    for file in FORMS {
        let (code, checked) = check(&house, file);
        assert_eq!((code, &checked["holds"]), (0, &true.into()), "{file}: {checked:#}");
        assert!(checked["supported"].as_u64().unwrap() > 0, "{checked:#}");
        assert!(checked["sources"].as_array().unwrap().iter().all(|s| s["standing"] == "unchanged"), "{checked:#}");
        let ran = house.rag(["check", file]).ok();
        assert!(ran.stdout.contains(" 0 not any more"), "{}", ran.stdout);
    }
}

#[test]
fn a_changed_number_is_lost_and_the_rest_holds() {
    let house = house();
    replace(&house, "sample-docs/faq.html", "ordered with within five", "ordered with within nine");
    // The index is behind: nobody can say what the file says now.
    for file in FORMS {
        let (code, checked) = check(&house, file);
        assert_eq!(code, 1, "{file}: {checked:#}");
        let faq =
            checked["sources"].as_array().unwrap().iter().find(|s| s["source"] == "sample-docs/faq.html").unwrap();
        assert_eq!(faq["file"], "changed");
    }
    house.rag(["ingest", "sample-docs", "--quiet"]).ok();
    for file in FORMS {
        let (code, checked) = check(&house, file);
        assert_eq!(code, 1, "{file}: {checked:#}");
        let lost: Vec<&Value> = checked["sentences"].as_array().unwrap().iter().filter(|s| s["lost"] == true).collect();
        assert_eq!(lost.len(), 1, "{file}: {checked:#}");
        assert!(lost[0]["text"].as_str().unwrap().contains("five working days"), "{checked:#}");
        assert!(lost[0]["reason"].as_str().unwrap().contains("five"), "{checked:#}");
        let shown = house.rag(["check", file]).exits(1).stdout;
        assert!(shown.contains("lost") && shown.contains("1 not any more"), "{shown}");
    }
    let (_, checked) = check(&house, "a.json");
    assert!(checked["index"]["generation"].as_u64() > checked["index"]["answered"].as_u64());
}

#[test]
fn text_that_only_moves_holds() {
    let house = house();
    replace(
        &house,
        "sample-docs/faq.html",
        "<p>You may send",
        "<p>We have moved to a larger house.</p><p>You may send",
    );
    house.rag(["ingest", "sample-docs", "--quiet"]).ok();
    for file in FORMS {
        let (code, checked) = check(&house, file);
        assert_eq!(code, 0, "{file}: {checked:#}");
    }
}

#[test]
fn a_source_that_is_gone_is_named() {
    let house = house();
    std::fs::remove_file(house.path("sample-docs/faq.html")).unwrap();
    let (code, checked) = check(&house, "a.json");
    assert_eq!(code, 0, "the index still holds it: {checked:#}");
    assert!(checked["sources"].as_array().unwrap().iter().any(|s| s["file"] == "missing"), "{checked:#}");
    house.rag(["ingest", "sample-docs", "--quiet"]).ok();
    for file in FORMS {
        let (code, checked) = check(&house, file);
        assert_eq!(code, 1, "{file}");
        let sentence = &checked["sentences"][0];
        assert!(sentence["reason"].as_str().unwrap().contains("not in the index any more"), "{checked:#}");
    }
}

#[test]
fn standard_input_and_what_is_unreadable() {
    let house = house();
    let mut child = house
        .command()
        .args(["check", "-", "--json"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(house.path("a.txt")).unwrap()).unwrap();
    assert_eq!(Ran::from(child.wait_with_output().unwrap()).ok().json("rag.check/1")["holds"], true);
    house.write("none.txt", "There is no citation in this.\n");
    house.write("half.json", "{\"schema\":\"rag.answer/1\",\n\"sources\":");
    house.write("other.json", "{\"schema\":\"rag.query/1\"}");
    house.write("bytes", b"\xff\xfe\x00");
    for (file, words) in [
        ("absent", "cannot read"),
        ("none.txt", "neither a marker"),
        ("half.json", "line 2"),
        ("other.json", "rag.query/1"),
        ("bytes", "not UTF-8"),
    ] {
        let ran = house.rag(["check", file]).exits(2);
        assert!(ran.stderr.contains(words), "{file}: {}", ran.stderr);
        assert_eq!(house.rag(["check", file, "--json"]).exits(2).json_error()["kind"], "usage");
    }
    House::new().rag(["check", "absent"]).exits(2);
}

#[test]
fn invented_sentences_of_any_author_are_found() {
    let house = House::with_index();
    house.write(
        "mine.md",
        "Refunds are paid within five working days [1]. You may send back any pump within 90 days [1]. \
         Spare parts go back within 14 days [7].\n\n## Sources\n\n1. nothing\n- [1] sample-docs/faq.html\n",
    );
    let (code, checked) = check(&house, "mine.md");
    assert_eq!(code, 1);
    let states: Vec<&str> =
        checked["sentences"].as_array().unwrap().iter().map(|s| s["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["supported", "unsupported", "unsupported"], "{checked:#}");
}
