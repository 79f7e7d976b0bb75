//! Rows of docs/reliability.md that need a real disk, real mounts or several processes at once, and a folder in which every
//! file means harm.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::house::{House, Ran};

/// A mount that goes away by itself; `None` where this machine lets nobody mount.
#[cfg(target_os = "linux")]
struct Mounted(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Mounted {
    fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let made = Command::new("mount").args(arguments).arg(at).stderr(Stdio::null()).status();
        if !made.is_ok_and(|status| status.success()) {
            println!("left out: nobody may mount here");
            return None;
        }
        Some(Self(at.to_path_buf()))
    }

    fn again(&self, options: &str) {
        assert!(Command::new("mount").args(["-o", options]).arg(&self.0).status().unwrap().success(), "{options}");
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn cr06_a_real_disk_that_is_full_keeps_what_it_had() {
    let house = House::new();
    house.write("docs/first.md", "The first buoy is red.\n");
    let Some(disk) = Mounted::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], &house.path("disk")) else { return };
    house.rag(["ingest", "docs", "--index", "disk/.rag", "-q"]).ok();
    for number in 0..300 {
        house
            .write(&format!("docs/{number}.md"), format!("# Note {number}\n\nThe {number}th buoy was seen at dawn.\n"));
    }
    let ran = house.rag(["ingest", "docs", "--index", "disk/.rag", "-q"]).exits(8);
    assert!(ran.stderr.contains("No space left") && ran.stderr.contains("nothing was lost"), "{}", ran.stderr);
    house.rag(["verify", "--index", "disk/.rag"]).ok();
    house.rag(["query", "first buoy", "--index", "disk/.rag"]).ok();
    disk.again("remount,size=32m");
    house.rag(["ingest", "docs", "--index", "disk/.rag", "-q"]).ok();
    house.rag(["verify", "--index", "disk/.rag"]).ok();
    let status = house.rag(["status", "--index", "disk/.rag", "--json"]).ok().json("rag.status/1");
    assert_eq!(status["sources"], 301);
}

#[cfg(target_os = "linux")]
#[test]
fn cr09_a_read_only_mount_answers() {
    let house = House::with_index();
    let index = house.path(".rag");
    let place = index.to_str().unwrap();
    let Some(mounted) = Mounted::new(&["--bind", place], &index) else { return };
    mounted.again("remount,ro,bind");
    house.rag(["query", "shaft seal"]).ok();
    house.rag(["ask", "What does error E4 mean?"]).ok();
    house.rag(["verify"]).ok();
    house.rag(["export", "-q"]).ok();
    assert!(house.rag(["doctor"]).ok().stdout.contains("read-only file system"));
    for verb in ["compact", "reembed"] {
        house.rag([verb]).exits(8);
    }
    let ran = house.rag(["ingest", "sample-docs", "-q"]).exits(8);
    assert!(ran.stderr.contains("Read-only") && ran.stderr.contains("hint:"), "{}", ran.stderr);
}

#[test]
fn cr10_eight_processes_at_once_are_one_after_the_other() {
    const WRITERS: usize = 8;
    let house = House::new();
    for number in 0..WRITERS {
        house.write(&format!("docs{number}/a.md"), format!("The buoy of writer number{number} is red.\n"));
    }
    let all = |wait: &[&str]| -> Vec<Ran> {
        let start = |number: usize| {
            let mut command = house.command();
            command.args(["ingest", &format!("docs{number}"), "--no-embed", "-q"]).args(wait);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..WRITERS).map(start).collect();
        children.into_iter().map(|child| Ran::from(child.wait_with_output().unwrap())).collect()
    };
    let ran = all(&[]);
    assert!(ran.iter().any(|ran| ran.code == 0), "somebody writes: {ran:?}");
    for ran in ran.iter().filter(|ran| ran.code != 0) {
        assert!(ran.code == 6 && ran.stderr.contains("process"), "{ran:?}");
    }
    all(&["--wait", "120s"]).into_iter().for_each(|ran| drop(ran.ok()));
    let status = house.rag(["status", "--json"]).ok().json("rag.status/1");
    assert_eq!(status["sources"], WRITERS);
    house.rag(["verify"]).ok();
}

/// Every document says which round it is of, and a round is one commit: an answer that mixes rounds is of no generation.
#[test]
fn cr11_processes_that_ask_during_ingests_see_one_generation() {
    let house = House::new();
    let write = |round: usize| {
        for number in 0..6 {
            house.write(&format!("docs/{number}.md"), format!("Buoy {number} was counted in round{round} today.\n"));
        }
    };
    write(0);
    house.rag(["ingest", "docs", "--no-embed", "-q"]).ok();
    let stop = AtomicBool::new(false);
    let asked: usize = std::thread::scope(|scope| {
        let ask = || {
            let mut asked = 0;
            while !stop.load(Ordering::SeqCst) {
                let found = house.rag(["query", "counted buoy today", "-k", "20", "--json"]).ok().json("rag.query/1");
                let results = found["results"].as_array().unwrap();
                let text = found["results"].to_string();
                let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
                let rounds: std::collections::BTreeSet<_> = text.split("in round").skip(1).map(number).collect();
                assert!(results.len() == 6 && rounds.len() == 1, "{rounds:?} {found:#}");
                asked += 1;
            }
            asked
        };
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(ask)).collect();
        for round in 1..=8 {
            write(round);
            house.rag(["ingest", "docs", "-q"]).ok();
        }
        stop.store(true, Ordering::SeqCst);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert!(asked >= 6, "{asked} answers during 8 ingests");
    house.rag(["verify"]).ok();
}

#[cfg(unix)]
#[test]
fn cr16_an_end_that_is_asked_for_is_like_ctrl_c() {
    let house = House::new();
    for number in 0..300 {
        house.write(&format!("docs/{number}.md"), format!("# Note {number}\n\n{}\n", "The tide turns. ".repeat(60)));
    }
    let mut command = house.command();
    let mut child = command.args(["ingest", "docs"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // It has embedded something, so it listens to signals for long.
    let until = Instant::now() + Duration::from_secs(60);
    let is_empty = || fs::read_dir(house.path(".rag/cache")).map_or(true, |mut entries| entries.next().is_none());
    while is_empty() && Instant::now() < until {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let code = child.wait().unwrap().code();
    assert!([Some(0), Some(130)].contains(&code), "{code:?}");
    house.rag(["ingest", "docs", "-q"]).ok();
    house.rag(["verify"]).ok();
    assert_eq!(house.rag(["status", "--json"]).ok().json("rag.status/1")["sources"], 300);
}

/// A zip whose one member is zeros, so that it unpacks to a thousand times its size.
fn bomb(name: &str, megabytes: usize) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(b"<w:document><w:body><w:p><w:r><w:t>").unwrap();
    for _ in 0..megabytes {
        zip.write_all(&[b' '; 1 << 20]).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Fills a folder with what means harm; gives the names of files that can be read all the same.
#[cfg(target_os = "linux")]
fn hostile_folder(house: &House) -> Vec<&'static str> {
    house.write("docs/good.md", "The good file is read.\n");
    house.write("docs/bomb.docx", bomb("word/document.xml", 600));
    house.write("docs/bomb.epub", bomb("one.xhtml", 600));
    house.write("docs/bomb.xlsx", bomb("xl/worksheets/sheet1.xml", 600));
    let laughs: String =
        (1..12).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    house.write("docs/laughs.xml", format!("<!DOCTYPE a [<!ENTITY l0 \"ha\">{laughs}]><a>&l11;</a>"));
    house.write("docs/deep.json", "[".repeat(2_000_000));
    house.write("docs/deep.html", "<div>".repeat(300_000));
    house.write("docs/deep.rtf", format!("{{\\rtf1 {}", "{".repeat(2_000_000)));
    house.write("docs/line.txt", "x".repeat(40 << 20));
    house.write("docs/zeros.md", vec![0_u8; 1 << 20]);
    house.write("docs/half.pdf", "%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 1 0 R >>");
    house.write("docs/noise.docx", [b"PK\x03\x04".as_slice(), &[0xff; 4096]].concat());
    house.write("docs/empty.pptx", "");
    let sparse = fs::File::create(house.path("docs/sparse.md")).unwrap();
    sparse.set_len(10 << 30).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", house.path("docs/link.md")).unwrap();
    std::os::unix::fs::symlink(".", house.path("docs/loop")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, house.path("docs/pipe.md"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    vec!["good.md", "laughs.xml", "deep.json", "deep.html", "deep.rtf", "line.txt"]
}

/// Processes whose current folder is this one.
#[cfg(target_os = "linux")]
fn processes_in(folder: &Path) -> Vec<String> {
    let folder = fs::canonicalize(folder).unwrap();
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let inside = all.filter(|path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == folder));
    inside.map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn s01_a_hostile_folder_costs_a_reason_each() {
    const MOST_KIB: u64 = 1 << 20;
    let house = House::new();
    let readable = hostile_folder(&house);
    let mut command = house.command();
    command.args(["ingest", "docs", "--no-embed", "--file-timeout", "20s", "--json"]);
    let mut child =
        command.stdout(fs::File::create(house.path("report.json")).unwrap()).stderr(Stdio::null()).spawn().unwrap();
    // The most it ever had is a number that only grows: the last one seen is the peak.
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let most =
            text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(most.unwrap_or(0));
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let report: serde_json::Value = serde_json::from_slice(&fs::read(house.path("report.json")).unwrap()).unwrap();
    assert_eq!(code, Some(3), "{report:#}");
    assert!(peak > 0 && peak < MOST_KIB, "{peak} KiB");
    println!("peak of the parent: {peak} KiB");
    assert_eq!(processes_in(&house.path(".")), Vec::<String>::new(), "a worker is left");
    let outcomes = || ["failed", "skipped", "warnings"].into_iter().flat_map(|list| report[list].as_array().unwrap());
    for entry in fs::read_dir(house.path("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let of_it = |outcome: &&serde_json::Value| outcome["path"].as_str().unwrap().ends_with(&name);
        match outcomes().find(of_it) {
            Some(outcome) => {
                let reason = outcome["problems"][0]["reason"].as_str().unwrap_or_default();
                assert!(!reason.is_empty() && name != "good.md", "{outcome}");
            }
            None => assert!(readable.contains(&name.as_str()), "{name} is not named: {report:#}"),
        }
    }
    house.rag(["query", "good file"]).ok();
    house.rag(["verify"]).ok();
}
