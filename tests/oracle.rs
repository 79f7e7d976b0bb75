//! Random histories against an oracle: files are added, changed, renamed and deleted, the index is filled, compacted, embedded
//! anew, exported into another, and cut off in the middle of any of it by a kill, a torn write or a full disk. After each step
//! the index is sound and holds what the oracle says: after a fault, what it held before or what it should hold now, whole.
//!
//! `RAG_ORACLE_SEED` runs one seed again, `RAG_ORACLE_STEPS` sets the length of a history, `RAG_ORACLE_SEEDS` how many there
//! are.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, outside any `#[test]`")]

use std::{
    collections::BTreeMap,
    fs,
    io::Cursor,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use rag::{
    index::{
        Index, QuerySyntax, Settings, WriterOptions,
        fs::{Fault, inject, is_pending},
    },
    ingest::{self, Event, ImportOptions, Options, ReembedOptions, extract::Worker},
    model::{self, Embedder, fake::FakeEmbedder},
    serve::wire::ExportedDocument,
    types::{Cancel, EmbeddingSpace},
};

/// Path → the one sentence in it.
type Contents = BTreeMap<String, String>;

/// The fake model under another name, with other vectors.
struct Other {
    inner: FakeEmbedder,
    space: EmbeddingSpace,
}

impl Other {
    fn new() -> Self {
        let inner = FakeEmbedder::new();
        let space = EmbeddingSpace { model: "other".into(), ..inner.space().clone() };
        Self { inner, space }
    }
}

impl Embedder for Other {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }
    fn embed_passages(&self, texts: &[&str]) -> model::Result<Vec<f32>> {
        let mut rows = self.inner.embed_passages(texts)?;
        rows.iter_mut().for_each(|value| *value = -*value);
        Ok(rows)
    }
    fn embed_query(&self, text: &str) -> model::Result<Vec<f32>> {
        self.embed_passages(&[text])
    }
    fn concurrency(&self) -> usize {
        2
    }
    fn batch_size(&self) -> usize {
        4
    }
    fn backend(&self) -> String {
        "other".into()
    }
}

/// What is done to the index.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    Ingest,
    Compact,
    Reembed(Model),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Model {
    Fake,
    Other,
    None,
}

impl Model {
    const ALL: [Self; 3] = [Self::Fake, Self::Other, Self::None];

    fn embedder(self) -> Option<Box<dyn Embedder>> {
        match self {
            Self::Fake => Some(Box::new(FakeEmbedder::new())),
            Self::Other => Some(Box::new(Other::new())),
            Self::None => None,
        }
    }

    fn of(space: Option<&EmbeddingSpace>) -> Self {
        match space.map(|space| space.model.as_str()) {
            None => Self::None,
            Some("other") => Self::Other,
            Some(_) => Self::Fake,
        }
    }
}

/// A small deterministic generator, so that a seed can be run again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<T: Clone>(&mut self, from: impl Iterator<Item = T>) -> Option<T> {
        let all: Vec<T> = from.collect();
        (!all.is_empty()).then(|| all[self.below(all.len())].clone())
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn random_histories_keep_to_the_oracle() {
    let steps = number("RAG_ORACLE_STEPS", 30);
    let seeds = match number("RAG_ORACLE_SEED", 0) {
        0 => (1..=number("RAG_ORACLE_SEEDS", 4)).map(|seed: u64| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect(),
        seed => vec![seed],
    };
    for seed in seeds {
        println!("RAG_ORACLE_SEED={seed}");
        let mut history = History::new(seed);
        for step in 0..steps {
            history.step(step);
        }
        assert!(history.faults > 0, "seed {seed}: no fault met a call");
    }
}

struct History {
    room: tempfile::TempDir,
    dice: Dice,
    seed: u64,
    /// On disk.
    files: Contents,
    /// In the index.
    held: Contents,
    model: Model,
    /// Words are never used twice, so that a sentence is found by its own.
    serial: u64,
    faults: u32,
    log: Vec<String>,
}

impl History {
    fn new(seed: u64) -> Self {
        let room = tempfile::tempdir().unwrap();
        fs::create_dir(room.path().join("docs")).unwrap();
        let space = Some(FakeEmbedder::new().space().clone());
        Index::create(&room.path().join(".rag"), &Settings { space }).unwrap();
        let mut history = Self {
            room,
            dice: Dice(seed),
            seed,
            files: Contents::new(),
            held: Contents::new(),
            model: Model::Fake,
            serial: 0,
            faults: 0,
            log: Vec::new(),
        };
        // Never an empty folder, which an ingest takes for a disk that is not there.
        history.write("docs/always.txt");
        history
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.room.path().join(relative)
    }

    fn write(&mut self, path: &str) {
        self.serial += 1;
        let text = format!("The {}th sentence names the word{}x.", self.serial, self.serial);
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), &text).unwrap();
        self.files.insert(path.to_owned(), text);
    }

    /// Changes some files, then the index, perhaps with a fault on the way.
    fn step(&mut self, step: u64) {
        for _ in 0..self.dice.below(6) {
            let others: Vec<String> = self.files.keys().filter(|path| *path != "docs/always.txt").cloned().collect();
            match self.dice.below(5) {
                0 | 1 => {
                    let name = format!("docs/{}/{}.txt", self.dice.below(3), self.dice.below(12));
                    self.write(&name);
                }
                2 => {
                    if let Some(path) = self.dice.pick(self.files.keys().cloned().collect::<Vec<_>>().into_iter()) {
                        self.write(&path);
                    }
                }
                3 => {
                    if let Some(path) = self.dice.pick(others.into_iter()) {
                        fs::remove_file(self.path(&path)).unwrap();
                        self.files.remove(&path);
                    }
                }
                _ => {
                    let to = format!("docs/{}/renamed{}.txt", self.dice.below(3), step);
                    if let Some(path) = self.dice.pick(others.into_iter()) {
                        fs::create_dir_all(self.path(&to).parent().unwrap()).unwrap();
                        fs::rename(self.path(&path), self.path(&to)).unwrap();
                        let text = self.files.remove(&path).unwrap();
                        self.files.insert(to, text);
                    }
                }
            }
        }
        let act = match self.dice.below(8) {
            0 => Act::Compact,
            1 | 2 => Act::Reembed(Model::ALL[self.dice.below(3)]),
            _ => Act::Ingest,
        };
        let fault = match self.dice.below(5) {
            0 => Some((Fault::Kill, self.dice.below(50) as u32)),
            1 => Some((Fault::Tear, self.dice.below(50) as u32)),
            2 => Some((Fault::Fail, self.dice.below(50) as u32)),
            _ => None,
        };
        self.log.push(format!("step {step}: {act:?} {fault:?}"));
        let finished = match fault {
            None => {
                run(act, self.room.path()).unwrap_or_else(|error| panic!("{}: {error}", self.context()));
                true
            }
            Some((fault, call)) => child(act, fault, call, self.room.path()),
        };
        self.faults += u32::from(!finished);
        self.check(act, finished);
    }

    fn context(&self) -> String {
        format!("seed {} ({})", self.seed, self.log.join("; "))
    }

    /// The index is what it was or what it should be.
    fn check(&mut self, act: Act, finished: bool) {
        let context = self.context();
        let index = Index::open(&self.path(".rag")).unwrap_or_else(|error| panic!("{context}: {error}"));
        let verified = index.verify_thoroughly().unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(verified.faults, [], "{context}");
        let snapshot = index.snapshot().unwrap();
        let found = held(&snapshot, &context);
        let (held, model) = match act {
            Act::Ingest => (self.files.clone(), self.model),
            Act::Compact => (self.held.clone(), self.model),
            Act::Reembed(model) => (self.held.clone(), model),
        };
        let is = Model::of(snapshot.space());
        if finished {
            assert_eq!((&found, is), (&held, model), "{context}");
        } else {
            let is_new = found == held && is == model;
            let is_old = found == self.held && is == self.model;
            assert!(is_new || is_old, "{context}: {found:#?} in {is:?} is neither {:#?} nor {held:#?}", self.held);
        }
        (self.held, self.model) = (found, is);
        let stats = snapshot.stats().unwrap();
        let vectors = if is == Model::None { 0 } else { stats.chunks };
        assert_eq!((stats.sources, stats.vectors), (self.held.len() as u64, vectors), "{context}");
        if self.dice.below(6) == 0 {
            self.carry_over(&snapshot, &context);
        }
    }

    /// What is exported and imported again is the same.
    fn carry_over(&self, snapshot: &rag::index::Snapshot, context: &str) {
        let mut lines = Vec::new();
        for id in snapshot.source_ids(None, None).unwrap() {
            let chunks = snapshot.chunks_of(id).unwrap();
            let source = snapshot.source(id).unwrap().unwrap();
            let document = ExportedDocument::new(snapshot, source, &chunks, true);
            serde_json::to_writer(&mut lines, &document).unwrap();
            lines.push(b'\n');
        }
        let room = tempfile::tempdir().unwrap();
        let dir = room.path().join("i");
        let index = Index::create(&dir, &Settings { space: snapshot.space().cloned() }).unwrap();
        let embedder = self.model.embedder();
        let options = ImportOptions {
            index_dir: dir,
            collection: None,
            tags: BTreeMap::new(),
            chunk_tokens: 200,
            chunk_overlap: 0,
            timeout: Duration::from_secs(10),
            worker: Worker::InProcess,
        };
        let mut writer = index.writer(&WriterOptions::default()).unwrap();
        let report = ingest::import(
            &mut writer,
            embedder.as_deref(),
            &mut Cursor::new(lines),
            &options,
            &|_: Event<'_>| {},
            &Cancel::default(),
        );
        let report = report.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!((report.failed.len(), report.chunks_embedded), (0, 0), "{context}");
        assert_eq!(held(writer.snapshot(), context), self.held, "{context}");
        assert_eq!(index.verify_thoroughly().unwrap().faults, [], "{context}");
    }
}

/// What an index holds. Every sentence is found by its own word, and by no other.
fn held(snapshot: &rag::index::Snapshot, context: &str) -> Contents {
    let mut found = Contents::new();
    for source in snapshot.sources(None).unwrap() {
        let chunks = snapshot.chunks_of(source.id).unwrap();
        let text: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        for chunk in &chunks {
            let word = chunk.text.split(' ').next_back().unwrap().trim_end_matches('.');
            let query = snapshot.lexical_query(word, QuerySyntax::Plain).unwrap();
            let hits = snapshot.lexical(&query, 10, None).unwrap();
            assert!(hits.iter().any(|(id, _)| *id == chunk.id), "{context}: {word}");
        }
        found.insert(source.path.to_string(), text.concat());
    }
    found
}

/// Does something to the index of a room.
fn run(act: Act, room: &Path) -> Result<(), String> {
    let dir = room.join(".rag");
    let index = Index::open(&dir).map_err(|error| error.to_string())?;
    let mut writer = index.writer(&WriterOptions::default()).map_err(|error| error.to_string())?;
    let (quiet, cancel) = (|_: Event<'_>| {}, Cancel::default());
    match act {
        Act::Compact => writer.compact().map(drop).map_err(|error| error.to_string()),
        Act::Reembed(model) => {
            let options = ReembedOptions { index_dir: dir, chunk_tokens: 200 };
            let embedder = model.embedder();
            ingest::reembed(&mut writer, embedder.as_deref(), &options, &quiet, &cancel)
                .map(drop)
                .map_err(|error| error.to_string())
        }
        Act::Ingest => {
            let embedder = Model::of(writer.snapshot().space()).embedder();
            ingest::ingest(&mut writer, embedder.as_deref(), &options(room), &quiet, &cancel)
                .map(drop)
                .map_err(|error| error.to_string())
        }
    }
}

fn options(room: &Path) -> Options {
    Options {
        paths: vec![room.join("docs")],
        given: vec![],
        pages: vec![],
        home: Some(room.to_owned()),
        index_dir: room.join(".rag"),
        collection: "default".into(),
        include: vec![],
        exclude: vec![],
        ignore_rules: true,
        hidden: false,
        follow: false,
        max_file_bytes: 1 << 20,
        tags: BTreeMap::new(),
        chunk_tokens: 200,
        chunk_overlap: 0,
        jobs: 2,
        dry_run: false,
        loaders: ingest::Loaders::default(),
        page_readers: rag::ingest::PageReaders::default(),
        archives: false,
        passwords: ingest::extract::Passwords::default(),
        retry_failed: false,
        prune: true,
        allow_empty: false,
        file_timeout: Duration::from_secs(60),
        worker: Worker::InProcess,
    }
}

/// Does it in a process of its own that meets a fault at the n-th change; whether it came through all the same.
fn child(act: Act, fault: Fault, call: u32, room: &Path) -> bool {
    let act = match act {
        Act::Ingest => "ingest".to_owned(),
        Act::Compact => "compact".to_owned(),
        Act::Reembed(model) => format!("{model:?}"),
    };
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture", "--test-threads", "1"])
        .env("RAG_ORACLE_CHILD", format!("{act} {fault:?} {call}"))
        .env("RAG_ORACLE_ROOM", room)
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).contains("came through")
}

#[test]
fn child_process() {
    let Ok(order) = std::env::var("RAG_ORACLE_CHILD") else { return };
    let room = PathBuf::from(std::env::var_os("RAG_ORACLE_ROOM").unwrap());
    let words: Vec<&str> = order.split(' ').collect();
    let act = match words[0] {
        "ingest" => Act::Ingest,
        "compact" => Act::Compact,
        model => Act::Reembed(Model::ALL.into_iter().find(|known| format!("{known:?}") == model).unwrap()),
    };
    let fault = [Fault::Kill, Fault::Tear, Fault::Fail].into_iter().find(|fault| format!("{fault:?}") == words[1]);
    inject(fault.unwrap(), words[2].parse().unwrap());
    let result = run(act, &room);
    if result.is_ok() && is_pending() {
        println!("came through");
    }
}
