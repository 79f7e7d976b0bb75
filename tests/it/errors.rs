//! Bad input gets a clear error with the promised exit code, and nothing is lost.

use std::fs;

use crate::house::{House, contents};

#[test]
fn no_index_here() {
    let house = House::new();
    for arguments in [["query", "x"], ["ask", "x"], ["show", "x"]] {
        let ran = house.rag(arguments).exits(2);
        assert_eq!(ran.stdout, "");
        assert_eq!(
            ran.stderr,
            "error: no index at `.rag`\nhint: run `rag ingest PATH` first, or name the index with `--index DIR`\n"
        );
    }
    let error = house.rag(["query", "x", "--json"]).exits(2).json_error();
    assert_eq!(error["kind"], "not_found");
    assert_eq!(error["exit"], 2);
    assert!(!house.path(".rag").exists(), "a query makes nothing");
}

#[test]
fn a_missing_path_leaves_nothing_behind() {
    let house = House::new();
    let ran = house.rag(["ingest", "docz"]).exits(2);
    assert!(ran.stderr.starts_with("error: no such file or folder: `docz`\nhint: "), "{}", ran.stderr);
    assert!(!house.path(".rag").exists());
}

#[test]
fn a_pattern_with_a_typo_leaves_nothing_behind() {
    let house = House::with_samples();
    for pattern in ["[a", "*.zzz"] {
        house.rag(["ingest", "sample-docs", "--include", pattern]).exits(2);
        assert!(!house.path(".rag").exists(), "{pattern}");
    }
    for (what, code) in [("-", 2), ("https://", 2), ("http://127.0.0.1:1/page", 3)] {
        house.rag(["ingest", what]).exits(code);
        assert!(!house.path(".rag").exists(), "{what}");
    }
    house.rag(["ingest", "sample-docs", "--collection", ""]).exits(2);
    // What was there before stays.
    house.write(".rag/rag.toml", "[retrieve]\nk = 3\n");
    house.rag(["ingest", "sample-docs", "--include", "*.zzz"]).exits(2);
    house.rag(["ingest", "http://127.0.0.1:1/page"]).exits(3);
    assert!(house.path(".rag/rag.toml").exists(), "the user wrote it");
}

#[test]
fn usage_errors_are_json_where_json_is_asked_for() {
    let house = House::new();
    for arguments in [["query", "--json", "--quiet"], ["query", "--format", "json"]] {
        let error = house.rag(arguments).exits(2).json_error();
        assert!(error["message"].as_str().unwrap().contains("TEXT"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_writer_that_waits() {
    let house = House::with_index();
    let lock = fs::File::options().write(true).open(house.path(".rag/lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = house.command().args(["ingest", "sample-docs", "--wait", "60s"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(waiting.try_wait().unwrap().is_none());
    assert!(std::process::Command::new("kill").args(["-INT", &waiting.id().to_string()]).status().unwrap().success());
    let asked = std::time::Instant::now();
    waiting.wait().unwrap();
    assert!(asked.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn typos_in_flags_are_errors() {
    let house = House::with_index();
    let ran = house.rag(["query", "x", "--colection", "y"]).exits(2);
    assert!(ran.stderr.contains("--collection"), "{}", ran.stderr);
    house.rag(["query"]).exits(2);
    house.rag(["query", ""]).exits(2);
    house.rag(["query", "x", "-k", "0"]).exits(2);
    house.rag(["query", "x", "--mode", "magic"]).exits(2);
    let error = house.rag(["query", "x", "--fusion", "magic", "--json"]).exits(2).json_error();
    assert_eq!(error["kind"], "usage");
}

#[test]
fn filters_say_what_is_wrong() {
    let house = House::with_index();
    let ran = house.rag(["query", "refunds", "--filter", "colour:red"]).exits(2);
    assert!(ran.stderr.contains("`colour` is not a field") && ran.stderr.contains("path"), "{}", ran.stderr);
    house.rag(["query", "refunds", "--filter", "(type:html"]).exits(2);
    house.rag(["query", "refunds", "--filter", "type:html and"]).exits(2);
}

#[test]
fn an_empty_folder_is_no_error() {
    let house = House::new();
    fs::create_dir(house.path("docs")).unwrap();
    let report = house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["added"].as_array().unwrap().len(), 0);
    house.rag(["query", "anything"]).exits(1);
    house.rag(["ask", "anything"]).exits(1);
    house.rag(["list"]).exits(1);
    house.rag(["status"]).ok();
    house.rag(["verify"]).ok();
}

#[test]
fn one_bad_file_costs_one_line_and_exit_3() {
    let house = House::new();
    house.write("docs/good.md", "# Good\n\nThe good document speaks of badgers.\n");
    house.write(
        "docs/broken.pdf",
        b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 99 0 R >>\nendobj\ntrailer << /Root 1 0 R >>\n",
    );
    house.write("docs/garbage.pdf", [b"%PDF-1.4\n".as_slice(), &[0x9d; 4000]].concat());
    house.write("docs/empty.md", "");
    let ran = house.rag(["ingest", "docs", "--json"]).exits(3);
    let report = ran.json("rag.ingest/1");
    let failed: Vec<&str> = report["failed"].as_array().unwrap().iter().map(|o| o["path"].as_str().unwrap()).collect();
    assert!(failed.contains(&"docs/garbage.pdf"), "{report:#}");
    for outcome in report["failed"].as_array().unwrap() {
        assert!(!outcome["problems"][0]["reason"].as_str().unwrap().is_empty());
    }
    house.rag(["query", "badgers"]).ok();
    // A failure that stands is named again.
    let again = house.rag(["ingest", "docs", "--json"]).exits(3).json("rag.ingest/1");
    assert_eq!(again["failed"].as_array().unwrap().len(), failed.len());
    assert_eq!(again["chunks"]["embedded"], 0);
    let text = house.rag(["ingest", "docs"]).exits(3);
    assert!(text.stdout.contains("docs/garbage.pdf"), "{}", text.stdout);
    let status = house.rag(["status", "--json"]).ok().json("rag.status/1");
    assert_eq!(status["failed"].as_array().unwrap().len(), failed.len());
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    house.write("docs/good.md", "The good document.\n");
    house.write("docs/locked.md", "The locked document.\n");
    fs::set_permissions(house.path("docs/locked.md"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(house.path("docs/locked.md")).is_ok() {
        // Root reads everything: a dangling link stands in for what cannot be opened.
        fs::remove_file(house.path("docs/locked.md")).unwrap();
        std::os::unix::fs::symlink("nowhere", house.path("docs/locked.md")).unwrap();
        let report = house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1");
        assert_eq!(report["added"].as_array().unwrap().len(), 1);
        assert_eq!(report["skipped"][0]["path"], "docs/locked.md");
        return;
    }
    let report = house.rag(["ingest", "docs", "--json"]).exits(3).json("rag.ingest/1");
    assert_eq!(report["failed"][0]["path"], "docs/locked.md");
    assert_eq!(report["failed"][0]["problems"][0]["reason"], "permission");
    fs::set_permissions(house.path("docs/locked.md"), fs::Permissions::from_mode(0o644)).unwrap();
    house.rag(["ingest", "docs"]).ok();
}

#[test]
fn an_index_of_another_model_is_refused() {
    let house = House::with_index();
    let space =
        fs::read_dir(house.path(".rag/vectors")).unwrap().map(|entry| entry.unwrap().path()).find(|p| p.is_dir());
    let file = space.unwrap().join("space.toml");
    let text = fs::read_to_string(&file).unwrap();
    let other = text.replace("all-minilm-l6-v2", "some-other-model");
    assert_ne!(other, text);
    fs::write(&file, other).unwrap();
    let ran = house.rag(["query", "refunds"]).exits(7);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    house.rag(["ingest", "sample-docs"]).exits(7);
}

#[test]
fn a_newer_format_is_refused() {
    let house = House::with_index();
    let file = house.path(".rag/FORMAT");
    let text = fs::read_to_string(&file).unwrap();
    let newer = text.replace("format = 1", "format = 9").replace("least_reader = 1", "least_reader = 9");
    assert_ne!(newer, text);
    fs::write(&file, newer).unwrap();
    for arguments in [["query", "refunds"], ["ingest", "sample-docs"]] {
        house.rag(arguments).exits(7);
    }
}

#[test]
fn damage_is_found_and_named() {
    let house = House::with_index();
    let before = contents(&house.path(".rag"));
    let (victim, bytes) =
        before.iter().find(|(path, bytes)| path.extension().is_some_and(|e| e == "vec") && bytes.len() > 4096).unwrap();
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x40;
    fs::write(victim, damaged).unwrap();
    let ran = house.rag(["verify"]).exits(1);
    let name = victim.file_name().unwrap().to_str().unwrap();
    assert!(ran.stdout.contains(name), "{}", ran.stdout);
    let report = house.rag(["verify", "--json"]).exits(1).json("rag.verify/1");
    assert_eq!(report["sound"], false);
    fs::write(victim, &bytes[..bytes.len() / 3]).unwrap();
    house.rag(["query", "refunds"]).exits(7);
}

#[test]
fn two_writers_do_not_meet() {
    use std::{process::Stdio, time::Duration};
    let house = House::new();
    for number in 0..150 {
        house.write(
            &format!("docs/{number}.md"),
            format!("# Note {number}\n\n{}\n", "The tide table of the harbour. ".repeat(60)),
        );
    }
    let mut first =
        house.command().args(["ingest", "docs"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let lock = house.path(".rag/lock");
    let mut busy = None;
    for _ in 0..500 {
        std::thread::sleep(Duration::from_millis(10));
        if lock.exists() && first.try_wait().unwrap().is_none() {
            let ran = house.rag(["ingest", "docs"]);
            if ran.code == 6 {
                busy = Some(ran);
                break;
            }
        }
    }
    let busy = busy.expect("the second writer is turned away");
    assert!(busy.stderr.contains(&first.id().to_string()), "the holder is named: {}", busy.stderr);
    // Readers are not in anybody's way.
    let ran = house.rag(["query", "tide table"]);
    assert!(matches!(ran.code, 0 | 1), "{}", ran.stderr);
    first.kill().unwrap();
    first.wait().unwrap();
    house.rag(["ingest", "docs"]).ok();
    house.rag(["verify"]).ok();
}

#[test]
fn a_full_disk_loses_nothing() {
    // A quota that a test may set without privileges: the largest file this process may write.
    let house = House::with_samples();
    house.rag(["ingest", "sample-docs", "--no-embed"]).ok();
    let before = house.rag(["query", "how are refunds handled", "--format", "paths"]).ok().stdout;
    for number in 0..40 {
        house.write(
            &format!("sample-docs/{number}.md"),
            format!("# Note {number}\n\n{}\n", format!("Ballast {number} water. ").repeat(2000)),
        );
    }
    let rag = env!("CARGO_BIN_EXE_rag");
    let script = format!("ulimit -f 64; trap '' XFSZ; exec {rag} ingest sample-docs");
    let mut command = std::process::Command::new("bash");
    let output =
        command.arg("-c").arg(script).current_dir(house.path("")).env("HOME", house.path("")).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{stderr}");
    assert!(stderr.contains("nothing was lost"), "{stderr}");
    assert_eq!(house.rag(["query", "how are refunds handled", "--format", "paths"]).ok().stdout, before);
    house.rag(["verify"]).ok();
    house.rag(["ingest", "sample-docs"]).ok();
    house.rag(["verify"]).ok();
}
