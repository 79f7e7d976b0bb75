//! Whether a writer that dies, or whose disk fails, ever leaves anything but one whole generation.
//!
//! For each scenario a child process makes one commit and is ended at its n-th changing call, for n = 0, 1, 2 … until it
//! gets through. After each: the index opens at the last told generation or the one after, holds exactly what that
//! generation should, verifies, and takes the next commit.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, outside any `#[test]`")]

mod power;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use rag::{
    index::{
        ChunkRecord, Error, Index, NewChunk, QuerySyntax, Settings, Snapshot, SourceRecord, Status, Writer,
        WriterOptions,
        fs::{Fault, inject, is_pending, trace, traced},
    },
    types::{EmbeddingSpace, Pooling, SourcePath, Span},
};

const DIM: usize = 8;

/// Source → texts of its chunks.
type Contents = BTreeMap<&'static str, Vec<&'static str>>;

/// What a child does, from which state.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scenario {
    Create,
    FirstIngest,
    Replace,
    Remove,
    Merge,
    Compact,
    Reembed,
    Unembed,
}

use Scenario::{Compact, Create, FirstIngest, Merge, Reembed, Remove, Replace, Unembed};

impl Scenario {
    const ALL: [Self; 8] = [Create, FirstIngest, Replace, Remove, Merge, Compact, Reembed, Unembed];

    fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|scenario| format!("{scenario:?}") == name).unwrap()
    }

    /// Makes the state before; the generation of it, if there is one.
    fn prepare(self, dir: &Path) -> Option<u64> {
        match self {
            Create => return None,
            FirstIngest => drop(create(dir)),
            Replace | Remove | Compact | Reembed | Unembed => {
                let mut writer = writer(&create(dir));
                put(&mut writer, "a", &["one", "two"]);
                put(&mut writer, "b", &["three"]);
                put(&mut writer, "c", &["four", "five"]);
                writer.commit().unwrap();
                // An older tombstone, so that the next one replaces a file.
                put(&mut writer, "c", &["four", "six"]);
                writer.commit().unwrap();
            }
            Merge => {
                let mut writer = writer(&create(dir));
                // Eight text segments merge, four vector segments do: the next commit starts both.
                for name in ["a", "b", "c", "d", "e", "f", "g"] {
                    put(&mut writer, name, &["one"]);
                    writer.commit().unwrap();
                }
            }
        }
        Some(Index::open(dir).unwrap().snapshot().unwrap().generation())
    }

    /// What the child does.
    fn run(self, dir: &Path) {
        let index = create(dir);
        if self == Create {
            return println!("acked 0");
        }
        let mut writer = writer(&index);
        match self {
            Create => {}
            Compact => {
                let compacted = writer.compact().unwrap().unwrap();
                return println!("acked {}", compacted.generation);
            }
            Reembed => {
                let snapshot = writer.snapshot().clone();
                let mut new = writer.begin_space(&other_space()).unwrap();
                for source in snapshot.sources(None).unwrap() {
                    for chunk in snapshot.chunks_of(source.id).unwrap() {
                        let hash = hash(&chunk.text);
                        if !new.has(chunk.id, &hash) {
                            // A part a chunk: each is durable when it is added.
                            new.add(&[(chunk.id, hash, other_vector(&chunk.text))]).unwrap();
                        }
                    }
                }
                return println!("acked {}", new.finish().unwrap().generation);
            }
            Unembed => {
                let committed = writer.drop_space().unwrap().unwrap();
                return println!("acked {}", committed.generation);
            }
            FirstIngest => {
                put(&mut writer, "a", &["one", "two"]);
                put(&mut writer, "b", &["three"]);
            }
            Replace => {
                put(&mut writer, "a", &["two", "seven"]);
                put(&mut writer, "c", &["four"]);
                put(&mut writer, "d", &["eight"]);
            }
            Remove => {
                writer.remove(source("a").id).unwrap();
                writer.remove(source("b").id).unwrap();
            }
            Merge => put(&mut writer, "h", &["one", "two"]),
        }
        let committed = writer.commit().unwrap().unwrap();
        println!("acked {}", committed.generation);
    }

    fn before(self) -> Contents {
        match self {
            Create | FirstIngest => Contents::new(),
            Replace | Remove | Compact | Reembed | Unembed => {
                [("a", vec!["one", "two"]), ("b", vec!["three"]), ("c", vec!["four", "six"])].into()
            }
            Merge => ["a", "b", "c", "d", "e", "f", "g"].into_iter().map(|name| (name, vec!["one"])).collect(),
        }
    }

    fn after(self) -> Contents {
        match self {
            Create => Contents::new(),
            FirstIngest => [("a", vec!["one", "two"]), ("b", vec!["three"])].into(),
            Replace => {
                [("a", vec!["two", "seven"]), ("b", vec!["three"]), ("c", vec!["four"]), ("d", vec!["eight"])].into()
            }
            Remove => [("c", vec!["four", "six"])].into(),
            Compact | Reembed | Unembed => self.before(),
            Merge => {
                let mut contents = self.before();
                contents.insert("h", vec!["one", "two"]);
                contents
            }
        }
    }
}

#[test]
fn cr01_kill_at_every_call_of_a_creation() {
    at_every_call(Create, Fault::Kill, 1);
}

#[test]
fn cr01_kill_at_every_call_of_the_first_ingest() {
    at_every_call(FirstIngest, Fault::Kill, 1);
}

#[test]
fn cr01_kill_at_every_call_of_a_replacement() {
    at_every_call(Replace, Fault::Kill, 1);
}

#[test]
fn cr01_kill_at_every_call_of_a_removal() {
    at_every_call(Remove, Fault::Kill, 1);
}

#[test]
fn cr01_kill_at_every_call_of_a_merge() {
    at_every_call(Merge, Fault::Kill, 1);
}

#[test]
fn cr01_kill_at_every_call_of_a_compaction() {
    at_every_call(Compact, Fault::Kill, 1);
}

#[test]
fn cr01_kill_at_every_call_of_a_new_space() {
    at_every_call(Reembed, Fault::Kill, 1);
}

#[test]
fn cr01_kill_at_every_call_of_vectors_that_go() {
    at_every_call(Unembed, Fault::Kill, 1);
}

#[test]
fn cr04_a_torn_write_is_no_write() {
    for scenario in [Create, Replace, Merge, Compact, Reembed] {
        at_every_call(scenario, Fault::Tear, 3);
    }
}

#[test]
fn cr06_a_full_disk_ends_the_run_and_nothing_else() {
    for scenario in Scenario::ALL {
        at_every_call(scenario, Fault::Fail, 3);
    }
}

#[test]
fn cr07_after_a_failed_write_nothing_is_tried_again() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    Replace.prepare(&dir);
    let (_, acked) = child("Replace Poison 0", &dir);
    assert_eq!(acked, Some(2), "the child checks what it sees, and tells the generation that stands");
    check(Replace, Some(2), None, &dir, "poisoned");
}

/// A write of the commit fails: the commit says so, and so does everything after it.
fn poison(dir: &Path) {
    let index = create(dir);
    let mut writer = writer(&index);
    put(&mut writer, "a", &["two", "seven"]);
    inject(Fault::Fail, 5);
    let error = writer.commit().unwrap_err();
    let Error::Io { source: cause, .. } = &error else { panic!("{error}") };
    assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull);
    for _ in 0..2 {
        let Err(Error::Poisoned { generation: 2, .. }) = writer.commit() else { panic!("not poisoned") };
        let Err(Error::Poisoned { .. }) = writer.remove(source("b").id) else { panic!("not poisoned") };
    }
    assert_eq!(writer.snapshot().generation(), 2);
    println!("acked 2");
}

/// Ends the scenario at call 0, `step`, 2 × `step` … until it gets through.
fn at_every_call(scenario: Scenario, fault: Fault, step: u32) {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().join("i");
    let told = scenario.prepare(&base);
    let mut n = 0;
    loop {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path().join("i");
        copy(&base, &dir);
        let (through, acked) = child(&format!("{scenario:?} {fault:?} {n}"), &dir);
        let context = format!("{scenario:?} {fault:?} at call {n}, acked {acked:?}");
        check(scenario, told, acked, &dir, &context);
        if through {
            assert!(acked.is_some(), "{context}");
            println!("{scenario:?} {fault:?}: {n} calls");
            assert!(n >= 10, "{context}: faults do not reach the calls");
            return;
        }
        n += step;
        assert!(n < 2_000, "{context}: it never gets through");
    }
}

/// Runs a scenario in a process of its own. Whether no fault met it, and the generation it told.
fn child(order: &str, dir: &Path) -> (bool, Option<u64>) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture", "--test-threads", "1"])
        .env("RAG_CRASH", order)
        .env("RAG_CRASH_DIR", dir)
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let acked = text.lines().find_map(|line| line.split("acked ").nth(1)?.trim().parse().ok());
    (output.status.success() && text.contains("got through"), acked)
}

#[test]
fn child_process() {
    let Ok(order) = std::env::var("RAG_CRASH") else { return };
    let dir = PathBuf::from(std::env::var_os("RAG_CRASH_DIR").unwrap());
    let words: Vec<&str> = order.split(' ').collect();
    let scenario = Scenario::named(words[0]);
    let fault = match words[1] {
        "Kill" => Fault::Kill,
        "Tear" => Fault::Tear,
        "Fail" => Fault::Fail,
        "Poison" => return poison(&dir),
        "None" => return scenario.run(&dir),
        "Trace" => {
            trace();
            scenario.run(&dir);
            let changes = serde_json::to_vec(&traced()).unwrap();
            fs::write(dir.parent().unwrap().join("trace.json"), changes).unwrap();
            return println!("got through");
        }
        other => panic!("{other}"),
    };
    inject(fault, words[2].parse().unwrap());
    scenario.run(&dir);
    if is_pending() {
        println!("got through");
    }
}

/// What must hold whatever happened.
fn check(scenario: Scenario, told: Option<u64>, acked: Option<u64>, dir: &Path, context: &str) {
    let index = match Index::open(dir) {
        Ok(index) => index,
        Err(Error::NotFound { .. }) if scenario == Create && acked.is_none() => create(dir),
        Err(error) => panic!("{context}: {error}"),
    };
    let snapshot = index.snapshot().unwrap_or_else(|error| panic!("{context}: {error}"));
    let generation = snapshot.generation();
    match (told, acked) {
        (None, _) => assert_eq!(generation, 0, "{context}"),
        (Some(_), Some(acked)) => assert_eq!(generation, acked, "{context}"),
        (Some(told), None) => assert!(generation == told || generation == told + 1, "{context}: {generation}"),
    }
    let is_after = told.is_some_and(|told| generation > told);
    let mut expected = if is_after { scenario.after() } else { scenario.before() };
    assert_eq!(contents(&snapshot), expected, "{context}");
    assert_eq!(index.verify().unwrap().faults, [], "{context}");

    // The space is the old one or the new one, whole.
    let model = snapshot.space().map(|space| space.model.clone());
    match scenario {
        Reembed => assert_eq!(model.as_deref(), Some(if is_after { "other" } else { "toy" }), "{context}"),
        Unembed => assert_eq!(model.as_deref(), (!is_after).then_some("toy"), "{context}"),
        Create | FirstIngest | Replace | Remove | Merge | Compact => {
            assert_eq!(model.as_deref(), Some("toy"), "{context}");
        }
    }

    // The next commit works, and clears away what was left.
    let mut writer = writer(&index);
    put(&mut writer, "z", &["last"]);
    assert_eq!(writer.commit().unwrap().unwrap().generation, generation + 1, "{context}");
    drop(writer);
    expected.insert("z", vec!["last"]);
    assert_eq!(contents(&index.snapshot().unwrap()), expected, "{context}");
    let verified = index.verify().unwrap();
    assert_eq!(verified.faults, [], "{context}");
    assert_eq!(verified.orphans, Vec::<PathBuf>::new(), "{context}");
}

/// Everything a snapshot holds; panics where text, search and vectors disagree.
fn contents(snapshot: &Snapshot) -> Contents {
    let known = ["one", "two", "three", "four", "five", "six", "seven", "eight", "last"];
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "z"];
    let mut contents = Contents::new();
    for source in snapshot.sources(None).unwrap() {
        let name = names.into_iter().find(|name| *name == source.path.as_str()).unwrap();
        let mut texts = Vec::new();
        for chunk in snapshot.chunks_of(source.id).unwrap() {
            let expected = snapshot.space().map(|space| match space.model.as_str() {
                "other" => other_vector(&chunk.text),
                _ => vector(&chunk.text),
            });
            assert_eq!(snapshot.vector(chunk.id).as_deref(), expected.as_deref());
            let query = snapshot.lexical_query(&chunk.text, QuerySyntax::Plain).unwrap();
            assert!(snapshot.lexical(&query, 50, None).unwrap().iter().any(|(id, _)| *id == chunk.id));
            texts.push(known.into_iter().find(|text| *text == chunk.text).unwrap());
        }
        assert_eq!(source.chunks as usize, texts.len());
        contents.insert(name, texts);
    }
    contents
}

/// Seen from outside: the rename of `meta.json` is followed by a sync of its folder before anything is unlinked or told,
/// and whatever it names was synced before.
#[test]
fn cr17_the_order_of_system_calls() {
    let room = tempfile::tempdir().unwrap();
    let (dir, log) = (room.path().join("i"), room.path().join("log"));
    if Command::new("strace").args(["-f", "true"]).output().is_ok_and(|output| output.status.success()) {
        Merge.prepare(&dir);
    } else {
        assert!(std::env::var_os("CI").is_none(), "no strace: run scripts/test-setup.sh");
        return println!("left out: no strace");
    }
    let status = Command::new("strace")
        .args(["-f", "-y", "-s", "64", "-e", "trace=openat,write,fsync,fdatasync,rename,unlink,unlinkat", "-o"])
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture", "--test-threads", "1"])
        .env("RAG_CRASH", "Merge None 0")
        .env("RAG_CRASH_DIR", &dir)
        .output()
        .unwrap();
    assert!(status.status.success());
    let log = fs::read_to_string(&log).unwrap();
    let text = format!("<{}>", dir.join("text").display());
    let inside = dir.display().to_string();
    let (mut unsynced, mut renamed, mut renames, mut unlinks, mut acks) = (BTreeMap::new(), false, 0, 0, 0);
    for line in whole_lines(&log).iter().filter(|line| line.contains(" = ") && !line.contains(" = -1")) {
        let file = || line.split('<').nth(1).and_then(|rest| rest.split('>').next()).unwrap_or_default().to_owned();
        if line.contains("fsync(") || line.contains("fdatasync(") {
            if line.contains(&text) {
                renamed = false;
            }
            unsynced.remove(&file());
        } else if line.contains("write(1<") && line.contains("acked") {
            acks += 1;
            assert!(!renamed, "told before the folder was synced: {line}");
        } else if line.contains("write(") && file().starts_with(&inside) && !file().ends_with("/lock") {
            unsynced.insert(file(), line.to_owned());
        } else if line.contains("rename(") && line.contains("meta.json") {
            assert!(unsynced.is_empty(), "not synced before the commit point: {unsynced:?}");
            (renamed, renames) = (true, renames + 1);
        } else if line.contains("unlink") && line.contains(&inside) {
            unlinks += 1;
            assert!(!renamed, "unlinked before the folder was synced: {line}");
        }
    }
    assert!(renames >= 2 && unlinks > 5 && acks == 1, "{renames} renames, {unlinks} unlinks, {acks} acks\n{log}");
}

/// The lines of a trace, those that were cut in two by another thread's put together where they ended.
fn whole_lines(log: &str) -> Vec<String> {
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    let mut lines = Vec::new();
    for line in log.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        if let Some(begun) = call.strip_suffix("<unfinished ...>") {
            open.insert(thread, begun);
        } else if let Some((_, end)) = call.split_once("resumed>") {
            lines.push(format!("{thread} {}{end}", open.remove(thread).unwrap_or_default()));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines
}

#[test]
fn cr10_two_writers_are_told_apart() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    let index = create(&dir);
    let first = writer(&index);
    let options = WriterOptions { wait: Duration::ZERO, command: "second".to_owned(), ..WriterOptions::default() };
    match index.writer(&options) {
        Err(Error::Locked { holder, .. }) => {
            assert!(holder.contains(&format!("process {} (crash test", std::process::id())), "{holder}");
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
    drop(first);
    drop(index.writer(&options).unwrap());
}

#[test]
fn cr11_a_reader_sees_one_generation_whole() {
    let room = tempfile::tempdir().unwrap();
    let index = create(&room.path().join("i"));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let (mut last, mut seen) = (0, 0);
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        let snapshot = index.snapshot().unwrap();
                        assert!(snapshot.generation() >= last);
                        last = snapshot.generation();
                        // Generation n holds one source, put n times, whose text and chunk count say n.
                        for source in snapshot.sources(None).unwrap() {
                            let chunks = snapshot.chunks_of(source.id).unwrap();
                            assert_eq!(chunks.len() as u64, 1 + last % 3);
                            assert_eq!(source.hash, last.to_string());
                            for chunk in chunks {
                                assert_eq!(chunk.text, format!("text {last}"));
                                assert_eq!(snapshot.vector(chunk.id).unwrap(), vector(&chunk.text));
                            }
                            seen += 1;
                        }
                    }
                    seen
                })
            })
            .collect();
        let mut writer = writer(&index);
        for generation in 1..=25u64 {
            let text = format!("text {generation}");
            let mut record = source("a");
            record.hash = generation.to_string();
            let texts = vec![text.as_str(); 1 + (generation % 3) as usize];
            put_record(&mut writer, record, &texts);
            assert_eq!(writer.commit().unwrap().unwrap().generation, generation);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let seen: u64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(seen > 0);
    });
}

fn copy(from: &Path, to: &Path) {
    if !from.exists() {
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The index; one that there is, in whatever space it is.
fn create(dir: &Path) -> Index {
    match Index::open(dir) {
        Ok(index) => index,
        Err(_) => Index::create(dir, &Settings { space: Some(space()) }).unwrap(),
    }
}

fn space() -> EmbeddingSpace {
    EmbeddingSpace {
        model: "toy".to_owned(),
        revision: "1".to_owned(),
        sha256: String::new(),
        dim: DIM,
        pooling: Pooling::Mean,
        normalised: false,
        query_prefix: String::new(),
        passage_prefix: String::new(),
        max_tokens: 254,
        tokenizer: "words".to_owned(),
        multilingual: false,
        probe: vec![0.1; DIM],
    }
}

fn other_space() -> EmbeddingSpace {
    EmbeddingSpace { model: "other".to_owned(), ..space() }
}

/// A vector of the other space.
fn other_vector(text: &str) -> Vec<f32> {
    vector(text).into_iter().map(|value| 1.0 - value).collect()
}

fn hash(text: &str) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    hash
}

fn writer(index: &Index) -> Writer {
    index
        .writer(&WriterOptions { wait: Duration::ZERO, command: "crash test".to_owned(), ..WriterOptions::default() })
        .unwrap()
}

fn put(writer: &mut Writer, name: &str, texts: &[&str]) {
    put_record(writer, source(name), texts);
}

fn put_record(writer: &mut Writer, mut source: SourceRecord, texts: &[&str]) {
    let mut at = 0;
    let chunks: Vec<NewChunk> = texts
        .iter()
        .enumerate()
        .map(|(ordinal, text)| {
            let span = Span::new(at, at + text.len());
            at = span.end;
            let record = ChunkRecord {
                id: ChunkRecord::id_of(source.id, span, text),
                source: source.id,
                collection: source.collection.clone(),
                path: source.display_path(),
                ordinal: ordinal as u32,
                span,
                lines: None,
                pages: None,
                title: None,
                heading: Vec::new(),
                context: String::new(),
                text: (*text).to_owned(),
                lang: None,
                tokens: 1,
                fertility: 1.0,
                code_share: 0.0,
            };
            let vector = writer.snapshot().space().map(|space| match space.model.as_str() {
                "other" => other_vector(text),
                _ => vector(text),
            });
            NewChunk { record, embed_hash: hash(text), vector }
        })
        .collect();
    source.chunks = chunks.len() as u32;
    writer.put(&source, &chunks).unwrap();
}

fn source(name: &str) -> SourceRecord {
    let path = SourcePath::from_spelling(name);
    SourceRecord {
        id: SourceRecord::id_of("default", "", &path),
        collection: "default".to_owned(),
        root: String::new(),
        path,
        size_bytes: 0,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 0,
        hash: String::new(),
        pipeline: String::new(),
        status: Status::Indexed,
        problems: Vec::new(),
        format: "text".to_owned(),
        title: None,
        author: None,
        lang: None,
        pages: None,
        encoding: None,
        tags: BTreeMap::new(),
        metadata: BTreeMap::new(),
        chunks: 0,
        text_bytes: 0,
    }
}

/// A vector that the text decides.
fn vector(text: &str) -> Vec<f32> {
    blake3::hash(text.as_bytes()).as_bytes()[..DIM].iter().map(|byte| f32::from(*byte) / 255.0).collect()
}
