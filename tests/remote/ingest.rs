//! `rag ingest --remote`: files of here come into the index of there, and only what is wanted travels.

use std::{fs, io::Write as _, process::Stdio};

use serde_json::Value;

use crate::{
    house::{House, Ran, copy_tree, project},
    served::{Served, untimed},
};

/// A server with an empty index, and a house with the samples.
fn pair() -> (House, Served, House) {
    let there = House::new();
    fs::create_dir(there.path("empty")).unwrap();
    there.rag(["ingest", "empty", "--quiet", "--allow-empty"]).ok();
    let server = Served::start(&there, &["--allow-write"]);
    (there, server, House::with_samples())
}

fn ingest(house: &House, server: &Served, arguments: &[&str]) -> Ran {
    let mut command = house.command();
    command.args(["ingest", "--quiet", "--json", "--remote", &server.url]).args(arguments);
    command.output().unwrap().into()
}

fn names(report: &Value, list: &str) -> Vec<String> {
    let all = report[list].as_array().unwrap().iter();
    all.map(|outcome| outcome["path"].as_str().unwrap().to_owned()).collect()
}

/// Every document with its chunks, whatever index it is in.
fn held(house: &House, more: &[&str]) -> Vec<(String, u64, String)> {
    let ran: Ran = house.command().args(["list", "--json"]).args(more).output().unwrap().into();
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    let one = |document: &Value| {
        let text = |name: &str| document[name].as_str().unwrap().to_owned();
        (text("path"), document["chunks"].as_u64().unwrap(), text("blake3"))
    };
    list["documents"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn a_folder_comes_over_and_the_second_run_sends_nothing() {
    let (_there, server, here) = pair();
    let dry = ingest(&here, &server, &["sample-docs", "--dry-run"]).ok().json("rag.ingest/1");
    assert_eq!(dry["dry_run"], true);
    assert!(held(&here, &["--remote", &server.url]).is_empty(), "a dry run changes nothing");
    let report = ingest(&here, &server, &["sample-docs"]).ok().json("rag.ingest/1");
    let added = names(&report, "added");
    assert_eq!(names(&dry, "added"), added);
    assert!(added.contains(&"sample-docs/faq.html".to_owned()), "{added:?}");
    let again = ingest(&here, &server, &["sample-docs"]).ok().json("rag.ingest/1");
    assert_eq!(again["unchanged"], added.len(), "{again:#}");
    assert_eq!((&again["bytes_written"], &again["generation"]), (&0.into(), &report["generation"]));

    // As an index of here would hold it.
    here.rag(["ingest", "sample-docs", "--quiet"]).ok();
    assert_eq!(held(&here, &["--remote", &server.url]), held(&here, &[]));
    let asked = |more: &[&str]| -> Ran {
        // Ids are made of the root too, which has a name there.
        let question = ["query", "How are refunds handled?", "--format", "context"];
        here.command().args(question).args(more).output().unwrap().into()
    };
    assert_eq!(asked(&["--remote", &server.url]).stdout, asked(&[]).stdout);
}

#[test]
fn changes_are_told_apart() {
    let (_there, server, here) = pair();
    ingest(&here, &server, &["sample-docs"]).ok();
    here.write("sample-docs/new.md", "A note on llamas.");
    let handbook = fs::read_to_string(here.path("sample-docs/handbook.md")).unwrap();
    here.write("sample-docs/handbook.md", format!("{handbook}\nA last word.\n"));
    fs::remove_file(here.path("sample-docs/faq.html")).unwrap();
    fs::rename(here.path("sample-docs/lettre-1998.txt"), here.path("sample-docs/otter-letter.txt")).unwrap();
    // Touched and not changed: only its hash travels.
    let same = fs::read(here.path("sample-docs/settings.json")).unwrap();
    here.write("sample-docs/settings.json", same);
    let dry = ingest(&here, &server, &["sample-docs", "--dry-run"]).ok().json("rag.ingest/1");
    let report = ingest(&here, &server, &["sample-docs"]).ok().json("rag.ingest/1");
    for report in [&dry, &report] {
        let gone = [names(report, "removed"), names(report, "moved")].concat();
        assert!(gone.contains(&"sample-docs/faq.html".to_owned()), "{report:#}");
        assert!(names(report, "added").contains(&"sample-docs/new.md".to_owned()), "{report:#}");
    }
    assert_eq!(names(&report, "updated"), ["sample-docs/handbook.md"], "{report:#}");
    let paths: Vec<String> = held(&here, &["--remote", &server.url]).into_iter().map(|one| one.0).collect();
    assert!(paths.contains(&"sample-docs/otter-letter.txt".to_owned()), "{paths:?}");
    assert!(!paths.contains(&"sample-docs/lettre-1998.txt".to_owned()), "{paths:?}");

    // Patterns narrow: what they leave out is not gone, what is gone is.
    fs::remove_file(here.path("sample-docs/new.md")).unwrap();
    let narrowed = ingest(&here, &server, &["sample-docs", "--include", "new.md"]).ok().json("rag.ingest/1");
    assert_eq!(names(&narrowed, "removed"), ["sample-docs/new.md"], "{narrowed:#}");
    assert_eq!(held(&here, &["--remote", &server.url]).len(), paths.len() - 1);
    let none = ingest(&here, &server, &["sample-docs", "--include", "*.nothing"]).exits(2);
    assert!(none.json_error()["message"].as_str().unwrap().contains("matches no file"));
}

#[test]
fn a_folder_that_is_not_mounted_takes_nothing_away() {
    let (_there, server, here) = pair();
    ingest(&here, &server, &["sample-docs"]).ok();
    let before = held(&here, &["--remote", &server.url]);
    fs::remove_dir_all(here.path("sample-docs")).unwrap();
    ingest(&here, &server, &["sample-docs"]).exits(2);
    fs::create_dir(here.path("sample-docs")).unwrap();
    let ran = ingest(&here, &server, &["sample-docs"]).exits(2);
    assert!(ran.json_error()["hint"].as_str().unwrap().contains("--allow-empty"), "{}", ran.stderr);
    assert_eq!(held(&here, &["--remote", &server.url]), before);
    ingest(&here, &server, &["sample-docs", "--allow-empty"]).ok();
    assert!(held(&here, &["--remote", &server.url]).is_empty());
}

#[test]
fn standard_input_is_a_document_too() {
    let (_there, server, here) = pair();
    let piped = |bytes: &[u8], more: &[&str]| -> Ran {
        let mut command = here.command();
        command.args(["ingest", "-", "--quiet", "--json", "--remote", &server.url]).args(more);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        child.wait_with_output().unwrap().into()
    };
    let report = piped(b"# Zebras\n\nThey have stripes.\n", &["--name", "z.md"]).ok().json("rag.ingest/1");
    assert_eq!(names(&report, "added"), ["stdin/z.md"]);
    let again = piped(b"# Zebras\n\nThey have stripes.\n", &["--name", "z.md"]).ok().json("rag.ingest/1");
    assert_eq!((&again["unchanged"], &again["bytes_written"]), (&1.into(), &0.into()), "{again:#}");
    // Not UTF-8.
    let pdf = fs::read(project().join("sample-docs/safety-sheet.pdf")).unwrap();
    let report = piped(&pdf, &["--name", "sheet", "--type", "pdf"]).ok().json("rag.ingest/1");
    assert_eq!(names(&report, "added"), ["stdin/sheet"]);
    let paths: Vec<String> = held(&here, &["--remote", &server.url]).into_iter().map(|one| one.0).collect();
    assert_eq!(paths, ["stdin/sheet", "stdin/z.md"]);
}

#[test]
fn what_fails_is_named_and_what_is_left_out_is_counted() {
    let (_there, server, here) = pair();
    here.write("docs/broken.pdf", "%PDF-1.7 and no more");
    here.write("docs/good.md", "A good note.");
    here.write("docs/.gitignore", "*.log\n");
    here.write("docs/x.log", "left out");
    std::os::unix::fs::symlink("good.md", here.path("docs/link.md")).unwrap();
    let there = ingest(&here, &server, &["docs"]).exits(3);
    here.rag(["ingest", "docs", "--quiet", "--json"]).exits(3);
    let again = ingest(&here, &server, &["docs"]).exits(3).json("rag.ingest/1");
    assert_eq!(names(&again, "failed"), ["docs/broken.pdf"], "a failure that stands is named again");
    let there = there.json("rag.ingest/1");
    assert_eq!(names(&there, "skipped"), ["docs/link.md"]);
    assert_eq!(there["ignored"], 2, "{there:#}");
    assert_eq!(there["failed"][0]["problems"][0]["reason"], again["failed"][0]["problems"][0]["reason"]);
}

#[test]
fn names_tell_folders_apart() {
    let (_there, server, here) = pair();
    for folder in ["a/docs", "b/docs"] {
        here.write(&format!("{folder}/note.md"), format!("A note of {folder}."));
    }
    let ran = ingest(&here, &server, &["a/docs", "b/docs"]).exits(2);
    assert!(ran.json_error()["message"].as_str().unwrap().contains("name of another folder"), "{}", ran.stderr);
    ingest(&here, &server, &["a/docs"]).ok();
    ingest(&here, &server, &["b/docs", "--as", "b-docs", "--tag", "team=ops"]).ok();
    let paths: Vec<String> = held(&here, &["--remote", &server.url]).into_iter().map(|one| one.0).collect();
    assert_eq!(paths, ["b-docs/note.md", "docs/note.md"]);
    let tagged = held(&here, &["--filter", "tag.team=ops", "--remote", &server.url]);
    assert_eq!(tagged.len(), 1);
    let ran = here.rag(["ingest", "a/docs", "--as", "x"]).exits(2);
    assert!(ran.stderr.contains("--remote"), "{}", ran.stderr);
}

#[test]
fn what_was_sent_before_a_server_died_is_not_sent_again() {
    let (there, mut server, here) = pair();
    // More than one batch of contents.
    for number in 0..12 {
        let text = format!("Note {number}. {}\n", "word ".repeat(30));
        here.write(&format!("docs/{number:02}.txt"), format!("{text}{}", " ".repeat(1 << 20)));
    }
    let mut command = here.command();
    command.args(["ingest", "docs", "--remote", &server.url]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It says when a batch is committed; then the server dies.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let committed = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("committed generation")));
    assert!(committed.is_some(), "a batch is committed");
    server.kill();
    // What it says further has to go somewhere.
    lines.for_each(drop);
    let code = child.wait().unwrap().code().unwrap();
    let kept = held(&there, &[]).len();
    assert!(kept > 0, "what was acknowledged is there");
    if code != 0 {
        assert_eq!(code, 5);
    }
    let again = Served::start(&there, &["--allow-write"]);
    let report = ingest(&here, &again, &["docs"]).ok().json("rag.ingest/1");
    assert_eq!(report["unchanged"].as_u64().unwrap() as usize, kept, "{report:#}");
    assert_eq!(held(&there, &[]).len(), 12);
}

#[test]
fn flags_of_the_servers_side_say_so() {
    let (_there, server, here) = pair();
    for flags in [&["--no-embed"][..], &["--embed-url", "http://x"], &["--ocr"], &["--jobs", "2"], &["--wait", "1s"]] {
        let ran = ingest(&here, &server, &[&["sample-docs"], flags].concat()).exits(2);
        assert!(ran.json_error()["message"].as_str().unwrap().contains(flags[0]), "{}", ran.stderr);
    }
    let ran = ingest(&here, &server, &["https://example.org/page"]).exits(5);
    assert!(ran.json_error()["hint"].as_str().unwrap().contains("--allow-url-ingest"), "{}", ran.stderr);
    let ran = ingest(&here, &server, &["nothing"]).exits(2);
    let own: Ran = here.command().args(["ingest", "--json", "nothing"]).output().unwrap().into();
    assert_eq!(untimed(&ran.stderr), untimed(&own.stderr));
}

#[test]
fn a_server_that_only_reads_takes_nothing() {
    let there = House::with_index();
    let server = Served::start(&there, &[]);
    let here = House::new();
    copy_tree(&project().join("sample-docs"), &here.path("other"));
    let ran = ingest(&here, &server, &["other"]).exits(5);
    assert!(ran.json_error()["hint"].as_str().unwrap().contains("--allow-write"), "{}", ran.stderr);
}
