//! Ingest makes the index agree with what is on disk, and touches nothing else.

use std::fs;

use crate::house::{House, Ran, contents};

fn paths(house: &House) -> Vec<String> {
    let listed = house.rag(["list", "--json"]);
    if listed.code == 1 {
        return Vec::new();
    }
    let listed = listed.ok().json("rag.list/1");
    listed["documents"].as_array().unwrap().iter().map(|d| d["path"].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_second_run_embeds_nothing_and_writes_nothing() {
    let house = House::with_index();
    // A file changed within the last two seconds is read again to be sure; let the clock pass that.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    house.rag(["ingest", "sample-docs"]).ok();
    let before = contents(&house.path(".rag"));
    let report = house.rag(["ingest", "sample-docs", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["unchanged"], 12);
    assert_eq!(report["chunks"]["embedded"], 0);
    assert_eq!(report["chunks"]["written"], 0);
    assert_eq!(report["bytes_written"], 0);
    assert_eq!(report["bytes_read"], 0);
    let after = contents(&house.path(".rag"));
    // The lock file names its last holder; nothing else may differ.
    let differing: Vec<_> = before
        .keys()
        .chain(after.keys())
        .filter(|path| before.get(*path) != after.get(*path) && path.file_name().unwrap() != "lock")
        .collect();
    assert!(differing.is_empty(), "{differing:?}");
}

#[test]
fn changed_renamed_and_vanished_files() {
    let house = House::new();
    house.write("docs/a.md", "# Alpha\n\nThe alpha valve opens at four bar.\n");
    house.write("docs/b.md", "# Beta\n\nThe beta valve opens at six bar.\n");
    house.write("docs/c.md", "# Gamma\n\nThe gamma valve is always shut.\n");
    house.rag(["ingest", "docs"]).ok();

    house.write("docs/a.md", "# Alpha\n\nThe alpha valve opens at nine bar.\n");
    fs::rename(house.path("docs/b.md"), house.path("docs/renamed.md")).unwrap();
    fs::remove_file(house.path("docs/c.md")).unwrap();
    house.write("docs/d.md", "# Delta\n\nThe delta valve is new.\n");
    let report = house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1");
    let words = |list: &str| -> Vec<String> {
        report[list].as_array().unwrap().iter().map(|o| o["path"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(words("updated"), ["docs/a.md"]);
    assert_eq!(words("moved"), ["docs/renamed.md"]);
    assert_eq!(words("removed"), ["docs/c.md"]);
    assert_eq!(words("added"), ["docs/d.md"]);
    assert_eq!(report["chunks"]["embedded"], 2, "the moved file keeps its vectors: {report:#}");
    assert_eq!(paths(&house), ["docs/a.md", "docs/d.md", "docs/renamed.md"]);
    let found = house.rag(["query", "alpha valve pressure", "--json"]).ok().json("rag.query/1");
    assert!(found["results"][0]["text"].as_str().unwrap().contains("nine bar"));
    assert!(!found.to_string().contains("four bar"), "the old text is gone");
    house.rag(["verify"]).ok();
}

#[test]
fn deletions_stay_within_the_paths_given() {
    let house = House::new();
    house.write("docs/a/one.md", "The first document speaks of otters.\n");
    house.write("docs/b/two.md", "The second document speaks of herons.\n");
    house.rag(["ingest", "docs"]).ok();
    fs::remove_file(house.path("docs/a/one.md")).unwrap();
    fs::remove_file(house.path("docs/b/two.md")).unwrap();
    house.write("docs/a/three.md", "The third document speaks of moles.\n");
    house.rag(["ingest", "docs/a"]).ok();
    assert_eq!(paths(&house), ["docs/a/three.md", "docs/b/two.md"]);
    house.rag(["ingest", "docs", "--no-prune"]).ok();
    assert_eq!(paths(&house), ["docs/a/three.md", "docs/b/two.md"]);
}

#[test]
fn a_missing_root_is_an_error_and_never_a_mass_delete() {
    let house = House::with_index();
    fs::rename(house.path("sample-docs"), house.path("elsewhere")).unwrap();
    let ran = house.rag(["ingest", "sample-docs"]).exits(2);
    assert!(ran.stderr.contains("no such file or folder: `sample-docs`"), "{}", ran.stderr);
    assert_eq!(paths(&house).len(), 12);
}

#[test]
fn an_emptied_folder_is_asked_about() {
    let house = House::with_index();
    for entry in fs::read_dir(house.path("sample-docs")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let ran = house.rag(["ingest", "sample-docs"]).exits(2);
    assert!(ran.stderr.contains("12 documents") && ran.stderr.contains("--allow-empty"), "{}", ran.stderr);
    assert_eq!(paths(&house).len(), 12);
    house.rag(["ingest", "sample-docs", "--allow-empty"]).ok();
    assert_eq!(paths(&house).len(), 0);
}

#[test]
fn collections_do_not_touch_each_other() {
    let house = House::new();
    house.write("docs/a.md", "The kingfisher nests in the bank.\n");
    house.rag(["ingest", "docs", "--collection", "one"]).ok();
    house.rag(["ingest", "docs", "--collection", "two"]).ok();
    fs::remove_file(house.path("docs/a.md")).unwrap();
    house.write("docs/b.md", "The heron stands in the shallows.\n");
    house.rag(["ingest", "docs", "--collection", "two"]).ok();
    let one = house.rag(["query", "kingfisher", "--collection", "one", "--json"]).ok().json("rag.query/1");
    assert_eq!(one["results"][0]["path"], "docs/a.md");
    house.rag(["query", "kingfisher", "--collection", "two", "--json", "--mode", "lexical"]).exits(1);
    let ran = house.rag(["query", "kingfisher", "--collection", "three"]).exits(2);
    assert!(ran.stderr.contains("one") && ran.stderr.contains("two"), "{}", ran.stderr);
}

#[test]
fn a_dry_run_says_what_would_change_and_changes_nothing() {
    let house = House::with_samples();
    let report = house.rag(["ingest", "sample-docs", "--dry-run", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["added"].as_array().unwrap().len(), 12);
    assert_eq!(report["dry_run"], true);
    assert!(report["estimated_seconds"].as_f64().unwrap() > 0.0);
    assert!(!house.path(".rag").exists(), "a dry run makes no index");
    house.rag(["ingest", "sample-docs"]).ok();
    let before = contents(&house.path(".rag/text"));
    house.write("sample-docs/new.md", "Something new.\n");
    // Somebody else may be writing meanwhile.
    let lock = fs::File::options().write(true).open(house.path(".rag/lock")).unwrap();
    lock.lock().unwrap();
    let report = house.rag(["ingest", "sample-docs", "--dry-run", "--json"]).ok().json("rag.ingest/1");
    drop(lock);
    assert_eq!(report["added"].as_array().unwrap().len(), 1);
    assert_eq!(contents(&house.path(".rag/text")), before);
}

#[test]
fn a_dry_run_names_what_would_be_skipped() {
    let house = House::new();
    house.write("docs/a.md", "The kingfisher nests in the bank.\n");
    house.write("docs/locked.pdf", "%PDF-1.4 and then nothing of a PDF");
    house.write("docs/picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06");
    let report = house.rag(["ingest", "docs", "--dry-run", "--json"]).exits(3).json("rag.ingest/1");
    let named = |list: &str| report[list][0]["path"].as_str().unwrap_or_default().to_owned();
    assert_eq!((named("failed").as_str(), named("skipped").as_str()), ("docs/locked.pdf", "docs/picture.png"));
}

#[test]
fn failures_are_tried_again_when_asked() {
    let house = House::new();
    house.write("docs/locked.pdf", "%PDF-1.4 and then nothing of a PDF");
    std::thread::sleep(std::time::Duration::from_millis(2100));
    house.rag(["ingest", "docs"]).exits(3);
    let read = |arguments: &[&str]| {
        let mut command = house.command();
        command.arg("ingest").arg("docs").arg("--json").args(arguments);
        crate::house::Ran::from(command.output().unwrap()).exits(3).json("rag.ingest/1")["bytes_read"].as_u64()
    };
    assert_eq!(read(&[]), Some(0), "remembered by its content");
    assert_eq!(read(&["--retry-failed"]), Some(34));
    let problems = house.rag(["status", "--problems"]).ok().stdout;
    assert!(problems.starts_with("failed") && problems.contains("docs/locked.pdf"), "{problems}");
}

#[test]
fn archives_are_read_when_asked_for() {
    use std::io::Write;
    let house = House::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(b"# Birds\n\nThe kingfisher nests in the bank.\n").unwrap();
    house.write("docs/birds.md.gz", packed.finish().unwrap());
    let report = house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["skipped"][0]["path"], "docs/birds.md.gz");
    house.rag(["ingest", "docs", "--archives"]).ok();
    let hit = house.rag(["query", "kingfisher", "--json"]).ok().json("rag.query/1");
    assert_eq!(hit["results"][0]["path"], "docs/birds.md.gz");
    assert_eq!(hit["results"][0]["heading"], serde_json::json!(["birds.md", "Birds"]));
    house.rag(["ingest", "docs"]).ok();
    house.rag(["query", "kingfisher", "--mode", "lexical"]).exits(1);
}

#[test]
fn copies_are_one_result_that_names_all() {
    let house = House::new();
    let text = "# Birds\n\nThe kingfisher nests in the bank of the river.\n";
    house.write("docs/a.md", text);
    house.write("docs/sub/b.md", text);
    house.write("docs/c.md", "# Herons\n\nThe heron stands in the shallows.\n");
    let report = house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["chunks"]["embedded"], 2, "the same text is embedded once");
    let hits = house.rag(["query", "where does the kingfisher nest", "--json"]).ok().json("rag.query/1");
    let results = hits["results"].as_array().unwrap();
    assert_eq!(results.iter().filter(|hit| hit["text"].as_str().unwrap().contains("kingfisher")).count(), 1);
    let paths = [&results[0]["path"], &results[0]["copies"][0]["path"]];
    assert!(paths.contains(&&"docs/a.md".into()) && paths.contains(&&"docs/sub/b.md".into()), "{paths:?}");
    let named = house.rag(["query", "kingfisher", "--format", "paths", "--mode", "lexical"]).ok().stdout;
    assert_eq!(named.lines().count(), 2, "{named}");
    // One of them alone is found alone.
    let one = house.rag(["query", "kingfisher", "--filter", "path:docs/sub/**", "--json"]).ok().json("rag.query/1");
    assert_eq!(
        (&one["results"][0]["path"], &one["results"][0]["copies"]),
        (&"docs/sub/b.md".into(), &serde_json::Value::Null)
    );
}

#[test]
#[cfg(unix)]
fn loaders_read_other_formats() {
    let house = House::new();
    house.write("docs/a.shout", "the kingfisher nests in the bank\n");
    house.write("config.toml", "[ingest]\nloaders = [\"shout=tr a-z A-Z\"]\n");
    let config = house.path("config.toml");
    let variables = [("RAG_CONFIG", config.to_str().unwrap())];
    house.rag_env(["ingest", "docs"], &variables).ok();
    let hit = house.rag(["query", "kingfisher", "--json"]).ok().json("rag.query/1");
    assert_eq!(hit["results"][0]["text"], "THE KINGFISHER NESTS IN THE BANK");
    // An index may come from somebody else: it names no programs.
    house.write(".rag/rag.toml", "[ingest]\nloaders = [\"shout=rm -rf\"]\n");
    house.rag(["ingest", "docs"]).exits(2);
}

/// A PDF of one page, from its objects; the first is the catalogue.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut pdf = b"%PDF-1.4\n".to_vec();
    let mut index = String::new();
    for (number, object) in (1..).zip(objects) {
        index.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.extend([format!("{number} 0 obj\n").as_bytes(), object, b"\nendobj\n"].concat());
    }
    let (at, count) = (pdf.len(), objects.len() + 1);
    let end = format!(
        "xref\n0 {count}\n0000000000 65535 f \n{index}trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{at}\n%%EOF\n"
    );
    pdf.extend(end.bytes());
    pdf
}

fn stream(dictionary: &str, bytes: &[u8]) -> Vec<u8> {
    [format!("<<{dictionary}/Length {}>>stream\n", bytes.len()).as_bytes(), bytes, b"\nendstream"].concat()
}

fn page(resources: &str, contents: &str, resource: Vec<u8>) -> Vec<u8> {
    pdf(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 200]/Contents 4 0 R/Resources<<{resources}>>>>")
            .into_bytes(),
        stream("", contents.as_bytes()),
        resource,
    ])
}

/// A page that shows a picture in grey and no text.
fn scanned_picture(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    let about =
        format!("/Type/XObject/Subtype/Image/Width {width}/Height {height}/BitsPerComponent 8/ColorSpace/DeviceGray");
    page("/XObject<</I 5 0 R>>", "q 600 0 0 200 0 0 cm /I Do Q", stream(&about, pixels))
}

fn scanned() -> Vec<u8> {
    scanned_picture(1, 1, b"x")
}

/// The words as a picture of 150 dots an inch, by the program that paints pages.
fn painted(words: &str) -> Vec<u8> {
    let font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_vec();
    let text = page("/Font<</F 5 0 R>>", &format!("BT /F 28 Tf 30 100 Td ({words}) Tj ET"), font);
    let mut paint = std::process::Command::new("pdftoppm")
        .args(["-r", "150", "-gray", "-singlefile", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut paint.stdin.take().unwrap(), &text).unwrap();
    let picture = paint.wait_with_output().unwrap().stdout;
    // `P5`, width and height, the brightest value; then a byte for each dot.
    let mut rest = &picture[..];
    let mut words = Vec::new();
    while words.len() < 4 {
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap();
        words.push(std::str::from_utf8(&rest[..end]).unwrap());
        rest = &rest[end + 1..];
    }
    scanned_picture(words[1].parse().unwrap(), words[2].parse().unwrap(), rest)
}

#[test]
#[cfg(unix)]
fn a_real_scan_is_read_by_the_real_programs() {
    let is_there = |program: &str| std::process::Command::new(program).arg("-v").output().is_ok();
    if !is_there("pdftoppm") || !is_there("tesseract") {
        assert!(std::env::var_os("CI").is_none(), "no `tesseract` or `pdftoppm`: run scripts/test-setup.sh");
        eprintln!("skipped: no `tesseract` or `pdftoppm`");
        return;
    }
    let house = House::new();
    house.write("docs/scan.pdf", painted("The kingfisher nests in the river bank"));
    house.rag(["ingest", "docs", "--ocr"]).ok();
    let hit = house.rag(["query", "kingfisher nests", "--json"]).ok().json("rag.query/1");
    assert_eq!(hit["results"][0]["text"], "The kingfisher nests in the river bank");
    assert_eq!(hit["results"][0]["page"], 1);
}

#[test]
#[cfg(unix)]
fn scanned_pages_are_read_if_that_is_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    house.write("docs/letter.pdf", scanned());
    let report = house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["warnings"][0]["problems"][0]["reason"], "no_text_layer", "{report}");
    // Programs that stand for the real ones, and nothing else on PATH.
    for (name, script) in [
        ("pdftoppm", "#!/bin/sh\n/bin/cat >/dev/null\necho picture of page $5\n"),
        ("tesseract", "#!/bin/sh\necho \"The kingfisher nests here: $(/bin/cat), in $4.\"\n"),
    ] {
        house.write(&format!("bin/{name}"), script);
        std::fs::set_permissions(house.path(&format!("bin/{name}")), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let bin = house.path("bin");
    let path = [("PATH", bin.to_str().unwrap())];
    let none = [("PATH", "/nowhere:bin")];
    let missing = house.rag_env(["ingest", "docs", "--ocr"], &none).exits(2);
    assert!(missing.stderr.contains("pdftoppm"), "{}", missing.stderr);
    house.rag_env(["ingest", "docs", "--ocr", "--ocr-languages=-x"], &path).exits(2);

    let ingest = |arguments: &[&str]| {
        let mut command = house.command();
        command.args(["ingest", "docs", "--json"]).args(arguments).envs(path);
        Ran::from(command.output().unwrap()).ok().json("rag.ingest/1")
    };
    let report = ingest(&["--ocr", "--ocr-languages", "deu+eng"]);
    assert_eq!(
        (report["updated"].as_array().map(Vec::len), report["warnings"].as_array().map(Vec::len)),
        (Some(1), Some(0))
    );
    let hit = house.rag(["query", "kingfisher", "--json"]).ok().json("rag.query/1");
    assert_eq!(hit["results"][0]["text"], "The kingfisher nests here: picture of page 1, in deu+eng.");
    assert_eq!(hit["results"][0]["page"], 1);
    // What was read stays, with OCR and without.
    for arguments in [&["--ocr", "--ocr-languages", "deu+eng"][..], &[]] {
        assert_eq!(ingest(arguments)["unchanged"], 1);
    }
}

/// A running `rag ingest --watch`, ended with the test.
struct Watching(std::process::Child);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg(unix)]
fn watching_follows_every_change_until_a_signal() {
    use std::{
        io::{BufRead, BufReader},
        process::Stdio,
    };
    let house = House::new();
    house.write("docs/a.md", "The kingfisher nests in the bank.\n");
    let mut command = house.command();
    command.args(["ingest", "docs", "--watch", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watching = Watching(command.spawn().unwrap());
    let mut reports = BufReader::new(watching.0.stdout.take().unwrap()).lines().map(|line| {
        let report: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let count = |list: &str| report[list].as_array().map_or(0, Vec::len);
        (count("added"), count("updated"), count("removed"))
    });
    assert_eq!(reports.next(), Some((1, 0, 0)));
    house.write("docs/sub/b.md", "The heron stands in the shallows.\n");
    assert_eq!(reports.next(), Some((1, 0, 0)));
    // Between runs the index is free for others.
    house.rag(["ingest", "docs"]).ok();
    fs::remove_file(house.path("docs/sub/b.md")).unwrap();
    assert_eq!(reports.next(), Some((0, 0, 1)));
    let pid = watching.0.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(reports.next(), None);
    assert_eq!(watching.0.wait().unwrap().code(), Some(130));
}

#[test]
fn ignore_rules_are_obeyed() {
    let house = House::new();
    house.write("docs/keep.md", "Kept.\n");
    house.write("docs/.hidden.md", "Hidden.\n");
    house.write("docs/drafts/x.md", "Draft.\n");
    house.write("docs/.ragignore", "drafts/\n");
    house.write("docs/secret.pem", "-----BEGIN PRIVATE KEY-----\n");
    house.write("docs/node_modules/y.md", "Module.\n");
    house.rag(["ingest", "docs"]).ok();
    assert_eq!(paths(&house), ["docs/keep.md"]);
    house.rag(["ingest", "docs", "--exclude", "*.md", "--include", "*.txt"]).exits(2);
    house.rag(["ingest", "docs/drafts/x.md"]).ok();
    assert_eq!(paths(&house), ["docs/drafts/x.md", "docs/keep.md"], "a file that is named is taken");
}

#[test]
fn an_index_can_be_moved_and_asked_from_anywhere() {
    let house = House::with_index();
    fs::rename(house.path(".rag"), house.path("shipped")).unwrap();
    fs::remove_dir_all(house.path("sample-docs")).unwrap();
    let found =
        house.rag(["query", "how are refunds handled", "--index", "shipped", "--json"]).ok().json("rag.query/1");
    assert_eq!(found["results"][0]["path"], "sample-docs/faq.html");
    let found =
        house.rag_env(["query", "how are refunds handled", "--format", "paths"], &[("RAG_INDEX", "shipped")]).ok();
    assert_eq!(found.stdout.lines().next(), Some("sample-docs/faq.html"));
}

#[test]
fn the_nearest_index_upward_is_used() {
    let house = House::with_index();
    let mut command = house.command();
    let output =
        command.current_dir(house.path("sample-docs")).args(["query", "refunds", "--format", "paths"]).output();
    assert!(String::from_utf8(output.unwrap().stdout).unwrap().contains("sample-docs/faq.html"));
}

#[test]
fn sources_outside_the_home_get_a_named_root() {
    let (house, other) = (House::new(), House::new());
    other.write("library/book.md", "# Book\n\nThe lighthouse keeper kept a parrot.\n");
    let library = other.path("library");
    house.rag(["ingest", library.to_str().unwrap()]).ok();
    assert_eq!(paths(&house), ["library/book.md"]);
    let report = house.rag(["ingest", library.to_str().unwrap(), "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["added"].as_array().unwrap().len(), 0);
    assert_eq!(report["removed"].as_array().unwrap().len(), 0);
}

/// Names are kept as they are, and content is known by all of its bytes.
#[cfg(target_os = "linux")]
#[test]
fn names_apart_in_one_letter_and_files_apart_in_their_last_byte_are_several() {
    let house = House::new();
    let names = ["Report.md", "report.md", "re_port.md", "re-port.md", "re port.md", "rexport.md"];
    let filling = "The tide table of the northern harbour is kept here.\n\n".repeat(3000);
    for (number, name) in names.iter().enumerate() {
        house.write(&format!("docs/{name}"), format!("{filling}The last buoy is number{number}"));
    }
    let report = house.rag(["ingest", "docs", "--no-embed", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["added"].as_array().unwrap().len(), names.len());
    for (number, name) in names.iter().enumerate() {
        let found = house.rag(["query", &format!("number{number}"), "-k", "1", "--json"]).ok().json("rag.query/1");
        assert!(found["results"][0].to_string().contains(&format!("docs/{name}")), "{name}: {found:#}");
    }
    let removed = house.rag(["rm", "docs/re_port.md", "--json"]).ok().json("rag.rm/1");
    assert_eq!(removed["removed"].as_array().unwrap().len(), 1, "`_` is a letter: {removed:#}");
    house.rag(["query", "number5", "--mode", "lexical"]).ok();
    house.rag(["query", "number2", "--mode", "lexical"]).exits(1);
}
