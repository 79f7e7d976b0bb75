//! Rows of docs/reliability.md that are seen best from outside: hostile documents and queries, few handles, another user,
//! jumping clocks, locks of the dead.

use std::{
    fs,
    io::Write,
    time::{Duration, Instant, SystemTime},
};

use crate::house::{House, Ran};

/// A run that must end soon, whatever it is given.
#[track_caller]
fn soon(most: Duration, run: impl FnOnce() -> Ran) -> Ran {
    let started = Instant::now();
    let ran = run();
    assert!(started.elapsed() < most, "{:?}: {}{}", started.elapsed(), ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("has a fault"), "{}", ran.stderr);
    ran
}

#[cfg(unix)]
#[test]
fn cr08_few_handles_are_an_error_in_words_and_no_damage() {
    let house = House::with_index();
    house.write("more/a.md", "The heron stands still.\n");
    let limited = |files: u32, arguments: &str| {
        let script = format!("ulimit -n {files}; exec \"$0\" {arguments}");
        let mut command = house.command();
        let program = command.get_program().to_owned();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).arg(program).current_dir(house.path(".")).env_clear();
        shell.env("HOME", house.path(".")).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.arg("list");
        Ran::from(shell.output().unwrap())
    };
    for files in [8, 12, 16, 24, 32, 64] {
        for arguments in ["query 'shaft seal'", "ingest more -q", "verify", "compact"] {
            let ran = limited(files, arguments);
            assert!([0, 1, 3, 5, 7, 8].contains(&ran.code), "{files} {arguments}: {} {}", ran.code, ran.stderr);
            assert!(!ran.stderr.contains("panicked"), "{files} {arguments}: {}", ran.stderr);
        }
    }
    house.rag(["verify"]).ok();
    limited(64, "query 'shaft seal'").ok();
    limited(64, "ingest more -q").ok();
    house.rag(["show", "more/a.md"]).ok();
}

#[cfg(unix)]
#[test]
fn cr09_another_user_reads_and_does_not_write() {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    let house = House::with_index();
    if std::os::unix::fs::chown(house.path("."), None, None).is_err() || !is_root() {
        return println!("left out: only root runs as another user");
    }
    // The program where that user may run it, and an index that others may read.
    let program = house.path("rag-copy");
    fs::copy(house.command().get_program(), &program).unwrap();
    let open = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(&house.path("."), 0o755);
    open(&program, 0o755);
    let opened = std::process::Command::new("chmod").args(["-R", "go+rX"]).arg(house.path(".rag")).status().unwrap();
    assert!(opened.success());
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(arguments).current_dir(house.path(".")).env_clear().env("HOME", "/nonexistent").uid(65_534);
        Ran::from(command.output().unwrap())
    };
    run(&["query", "shaft seal"]).ok();
    run(&["ask", "What does error E4 mean?"]).ok();
    run(&["verify"]).ok();
    run(&["export", "-q"]).ok();
    for verb in ["compact", "reembed"] {
        let arguments: &[&str] = if verb == "reembed" { &["reembed", "--no-embed"] } else { &["compact"] };
        let ran = run(arguments).exits(8);
        assert!(ran.stderr.contains("ermission"), "{verb}: {}", ran.stderr);
    }
    run(&["ingest", "sample-docs", "-q"]).exits(8);
    house.rag(["verify"]).ok();
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn cr12_clocks_that_jump_and_times_that_lie_hide_no_change() {
    let house = House::new();
    house.write("docs/a.md", "The tern is white.\n");
    let path = house.path("docs/a.md");
    let set = |time: SystemTime| fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    let year = Duration::from_secs(365 * 86_400);
    let ingest = || house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1");
    set(SystemTime::now() + year);
    assert_eq!(ingest()["added"].as_array().unwrap().len(), 1);
    // Same size, same time, other bytes.
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "The tern is black.\n").unwrap();
    set(time);
    assert_eq!(ingest()["updated"].as_array().unwrap().len(), 1);
    house.rag(["query", "black tern", "--min-score", "0"]).ok();
    // A year back, and another content: time never orders anything.
    fs::write(&path, "The tern is green.\n").unwrap();
    set(SystemTime::now() - year);
    let report = ingest();
    assert_eq!((report["updated"].as_array().unwrap().len(), report["generation"].as_u64()), (1, Some(3)));
    // Within two seconds of the scan, twice.
    for colour in ["brown", "beige"] {
        fs::write(&path, format!("The tern is {colour}.\n")).unwrap();
        assert_eq!(ingest()["updated"].as_array().unwrap().len(), 1, "{colour}");
    }
}

#[test]
fn cr14_the_lock_of_the_dead_is_free_at_once() {
    let house = House::new();
    house.write("docs/a.md", "The tern is white.\n");
    let killed = house.rag_env(["ingest", "docs"], &[("RAG_KILL_AT", "40")]);
    assert_ne!(killed.code, 0, "{}", killed.stdout);
    let ran = soon(Duration::from_secs(20), || house.rag(["ingest", "docs"]));
    ran.ok();
    house.rag(["verify"]).ok();
}

#[test]
fn s02_hostile_pdfs_end() {
    let house = House::new();
    let pdf = |objects: &str| format!("%PDF-1.4\n{objects}\ntrailer << /Root 1 0 R /Size 9 >>\n%%EOF\n");
    house.write("docs/loop.pdf", pdf("1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 >> endobj"));
    house.write("docs/count.pdf", pdf("1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 2000000000 >> endobj\n3 0 obj << /Type /Page /Parent 2 0 R >> endobj"));
    house.write("docs/self.pdf", pdf("1 0 obj 1 0 R endobj"));
    let content = "BT /F1 12 Tf (deep) Tj ET";
    let filters = "/ASCIIHexDecode ".repeat(400);
    house.write(
        "docs/filters.pdf",
        pdf(&format!("1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n3 0 obj << /Type /Page /Parent 2 0 R /Contents 4 0 R >> endobj\n4 0 obj << /Length {} /Filter [{filters}] >> stream\n{content}\nendstream endobj", content.len())),
    );
    house.write("docs/image.pdf", pdf("1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n3 0 obj << /Type /Page /Parent 2 0 R /Resources << /XObject << /I 4 0 R >> >> >> endobj\n4 0 obj << /Type /XObject /Subtype /Image /Width 100000 /Height 100000 /Length 4 >> stream\nabcd\nendstream endobj"));
    house.write("docs/good.md", "The good file is read.\n");
    let ran = soon(Duration::from_secs(120), || house.rag(["ingest", "docs", "--file-timeout", "20s", "--json"]));
    assert!([0, 3].contains(&ran.code), "{}", ran.stderr);
    house.rag(["query", "good file"]).ok();
}

#[test]
fn s03_entities_are_neither_fetched_nor_blown_up() {
    let house = House::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let url = format!("http://{}/x", server.local_addr().unwrap());
    house.write("secret.txt", "canarycanary");
    let file = format!("file://{}", house.path("secret.txt").display());
    for (name, entity) in [("file", file.as_str()), ("net", url.as_str())] {
        let xml = format!(
            "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY e SYSTEM \"{entity}\">]><a><t>before &e; after</t></a>"
        );
        house.write(&format!("docs/{name}.xml"), xml);
    }
    let laughs: String =
        (1..12).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    house.write("docs/laughs.xml", format!("<!DOCTYPE a [<!ENTITY l0 \"ha\">{laughs}]><a>&l11;</a>"));
    house.write("docs/dtd.xml", format!("<!DOCTYPE a SYSTEM \"{url}\"><a>the dotterel</a>"));
    let ran = soon(Duration::from_secs(60), || house.rag(["ingest", "docs", "--json"]));
    assert!([0, 3].contains(&ran.code), "{}", ran.stderr);
    assert!(server.accept().is_err(), "something was fetched");
    house.rag(["query", "canarycanary", "--mode", "lexical"]).exits(1);
    let size: usize = crate::house::contents(&house.path(".rag")).values().map(Vec::len).sum();
    assert!(size < 2 << 20, "{size} bytes");
}

#[test]
fn s05_paths_in_archives_lead_nowhere() {
    let house = House::new();
    let mut zip = zip::ZipWriter::new(fs::File::create(house.path("evil.zip")).unwrap());
    for name in
        ["../../escaped.md", "/absolute-escaped.md", "..\\back.md", "CON", "a/../../b.md", "plain.md", "PLAIN.md"]
    {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"# Member\n\nThe avocet wades.\n").unwrap();
    }
    zip.finish().unwrap();
    let before = listing(&house);
    house.rag(["ingest", "evil.zip", "--archives", "-q"]).ok();
    assert_eq!(listing(&house), before, "nothing is written from an archive");
    for outside in ["escaped.md", "b.md"] {
        assert!(!house.path("..").join(outside).exists());
    }
    house.rag(["query", "avocet"]).ok();
    house.rag(["verify"]).ok();
}

/// Everything in the house but the index.
fn listing(house: &House) -> Vec<std::path::PathBuf> {
    let all = crate::house::contents(&house.path(".")).into_keys();
    all.filter(|path| !path.components().any(|part| part.as_os_str() == ".rag")).collect()
}

#[cfg(unix)]
#[test]
fn s07_names_of_any_bytes_are_kept_shown_and_named() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let house = House::new();
    fs::create_dir(house.path("docs")).unwrap();
    let long = [b'x'; 250];
    let names: [&[u8]; 6] =
        [b"bad\xffbyte.md", b"new\nline.md", b"esc\x1b[31m.md", b"-rf", "bidi\u{202e}gpj.md".as_bytes(), &long];
    for (at, name) in names.iter().enumerate() {
        fs::write(house.path("docs").join(OsStr::from_bytes(name)), format!("The shelduck number{at} swims.\n"))
            .unwrap();
    }
    house.rag(["ingest", "docs", "-q"]).ok();
    assert_eq!(
        house.rag(["list", "--json"]).ok().json("rag.list/1")["documents"].as_array().unwrap().len(),
        names.len()
    );
    let listed = house.rag(["list"]).ok().stdout;
    assert!(!listed.contains(['\x1b', '\u{202e}']), "{listed:?}");
    // By its own bytes, and as it is printed.
    for (at, name) in names.iter().enumerate() {
        let shown = |what: &OsStr| {
            let output = house.command().args(["show", "--raw", "--"]).arg(what).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let path = std::path::Path::new("docs").join(OsStr::from_bytes(name));
        assert!(shown(path.as_os_str()).contains(&format!("number{at}")), "{}", path.display());
    }
    assert!(house.rag(["show", "docs/bad\\xffbyte.md"]).ok().stdout.contains("number0"));
    let output = house.command().arg("rm").arg(OsStr::from_bytes(b"docs/bad\xffbyte.md")).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    house.rag(["query", "number0", "--mode", "lexical"]).exits(1);
}

#[test]
fn s09_no_query_takes_long() {
    let house = House::with_index();
    let brackets = format!("{}pump{}", "(".repeat(3000), ")".repeat(3000));
    let clauses = (0..1500).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" OR ");
    let long = "pump ".repeat(1500);
    let fuzzy = "pump~2 ".repeat(1000);
    let nots = format!("pump{}", " NOT x".repeat(1200));
    for (text, syntax) in [
        (brackets.as_str(), true),
        (clauses.as_str(), true),
        (fuzzy.as_str(), true),
        (nots.as_str(), true),
        ("*umps *e* p*", true),
        ("\"pump ~ ^^ :::", true),
        ("stem:/(a+)+$/", true),
        (long.as_str(), false),
        (brackets.as_str(), false),
    ] {
        let most = Duration::from_secs(15);
        let ran =
            soon(most, || if syntax { house.rag(["query", text, "--syntax"]) } else { house.rag(["query", text]) });
        assert!([0, 1, 2].contains(&ran.code), "{}: {}", &text[..text.len().min(40)], ran.stderr);
    }
    let megabyte = "pump ".repeat(25_000);
    let ran = soon(Duration::from_secs(15), || house.rag(["query", &megabyte]));
    assert!(ran.exits(2).stderr.contains("8192"), "the limit is named");
}

#[test]
fn t02_colour_is_off_where_it_is_not_wanted() {
    let house = House::with_index();
    for (arguments, variables) in [
        (vec!["query", "pump"], vec![]),
        (vec!["query", "pump", "--color", "never"], vec![]),
        (vec!["--color=never", "query", "--nonsense"], vec![("CLICOLOR_FORCE", "1")]),
        (vec!["query", "pump"], vec![("NO_COLOR", "1"), ("TERM", "xterm")]),
    ] {
        let output = house.command().args(&arguments).envs(variables).output().unwrap();
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{arguments:?}");
    }
    let ran = house.rag(["query", "pump", "--color", "always"]).ok();
    assert!(ran.stdout.contains("\x1b["), "{}", ran.stdout);
}
