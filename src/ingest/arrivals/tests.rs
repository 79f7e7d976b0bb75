use super::*;
use crate::{
    index::{Index, Settings, WriterOptions},
    ingest::{
        Event, Loaders, PageReaders,
        extract::{Passwords, Worker},
    },
    model::fake::FakeEmbedder,
};
use std::{path::Path, time::Duration};

/// The other machine: path → bytes and mtime.
type Disk = BTreeMap<String, (Vec<u8>, i64)>;

struct Room {
    index: Index,
    embedder: FakeEmbedder,
    options: Options,
    _dir: tempfile::TempDir,
}

fn options(index_dir: &Path) -> Options {
    Options {
        paths: vec![],
        given: vec![],
        pages: vec![],
        home: None,
        index_dir: index_dir.to_path_buf(),
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
        jobs: 1,
        dry_run: false,
        loaders: Loaders::default(),
        page_readers: PageReaders::default(),
        archives: false,
        passwords: Passwords::default(),
        retry_failed: false,
        prune: true,
        allow_empty: false,
        file_timeout: Duration::from_secs(60),
        worker: Worker::InProcess,
    }
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let embedder = FakeEmbedder::new();
        let index = Index::create(&path, &Settings { space: Some(embedder.space().clone()) }).unwrap();
        Self { index, embedder, options: options(&path), _dir: dir }
    }

    fn snapshot(&self) -> Snapshot {
        self.index.snapshot().unwrap()
    }

    fn arrive(&self, files: &[(&str, &Disk)]) -> Report {
        let arrival = |(path, disk): &(&str, &Disk)| {
            let (bytes, mtime_ns) = disk[*path].clone();
            let (extension, title) = (None, None);
            let times = Some(times(&bytes, mtime_ns));
            Arrival { root: "far".into(), path: (*path).to_owned(), extension, title, times, bytes }
        };
        let mut writer = self.index.writer(&WriterOptions::default()).unwrap();
        let arrivals = files.iter().map(arrival).collect();
        let silent = |_: Event<'_>| {};
        arrive(&mut writer, Some(&self.embedder), &self.options, arrivals, &silent, &Cancel::default()).unwrap()
    }

    /// The whole conversation; `fits`: how many files are sent before the line breaks.
    fn sync(&self, manifest: Manifest, disk: &Disk, fits: usize) -> (Vec<String>, Report) {
        let mut manifest = manifest;
        let file = |path: &String, hash: bool| {
            let (bytes, mtime_ns) = &disk[path];
            let hash = hash.then(|| blake3::hash(bytes).to_hex().to_string());
            let (size_bytes, times) = (bytes.len() as u64, times(bytes, *mtime_ns));
            ManifestFile { path: path.clone(), size_bytes, times, hash }
        };
        let all = disk.keys().map(|path| file(path, false)).collect();
        let wants = manifest.add(&self.snapshot(), &self.options, all, false).unwrap();
        let hashed = wants.hash.iter().map(|path| file(path, true)).collect();
        let more = manifest.add(&self.snapshot(), &self.options, hashed, true).unwrap();
        assert!(more.hash.is_empty());
        let mut sent: Vec<String> = wants.send.into_iter().chain(more.send).collect();
        sent.sort();
        for path in sent.iter().take(fits) {
            self.arrive(&[(path, disk)]);
        }
        let mut writer = self.index.writer(&WriterOptions::default()).unwrap();
        let silent = |_: Event<'_>| {};
        let report = manifest
            .settle(&mut writer, Some(&self.embedder), &self.options, (&[], &[]), (&silent, &Cancel::default()))
            .unwrap();
        (sent, report)
    }

    fn whole(&self, disk: &Disk) -> (Vec<String>, Report) {
        self.sync(Manifest::new("far".into(), vec![], false), disk, usize::MAX)
    }

    /// What the index holds of the other machine.
    fn held(&self) -> BTreeMap<String, (String, i64)> {
        let sources = self.snapshot().sources(None).unwrap().into_iter().filter(|source| source.root == "far");
        sources.map(|source| (source.path.to_string(), (source.hash, source.mtime_ns))).collect()
    }
}

/// Writing a file changes its ctime, whatever mtime it is given.
fn times(bytes: &[u8], mtime_ns: i64) -> Times {
    let ctime_ns = bytes.iter().fold(mtime_ns, |sum, byte| sum.wrapping_mul(31).wrapping_add(i64::from(*byte)));
    Times { mtime_ns, ctime_ns, inode: 7 }
}

fn disk(files: &[(&str, &str, i64)]) -> Disk {
    files.iter().map(|(path, text, mtime)| ((*path).to_owned(), (text.as_bytes().to_vec(), *mtime))).collect()
}

fn hashes(disk: &Disk) -> BTreeMap<String, (String, i64)> {
    disk.iter()
        .map(|(path, (bytes, mtime))| (path.clone(), (blake3::hash(bytes).to_hex().to_string(), *mtime)))
        .collect()
}

fn paths(outcomes: &[Outcome]) -> Vec<&str> {
    outcomes.iter().map(|outcome| outcome.path.as_str()).collect()
}

#[test]
fn only_what_the_index_lacks_is_sent() {
    let room = Room::new();
    let first =
        disk(&[("a.md", "the quay is closed", 1), ("b.md", "the tide is high", 2), ("c/d.md", "a red buoy", 3)]);
    assert_eq!(room.whole(&first).0, ["a.md", "b.md", "c/d.md"]);
    assert_eq!(room.held(), hashes(&first));
    let (sent, report) = room.whole(&first);
    assert!(sent.is_empty());
    assert_eq!((report.unchanged.len(), report.generation), (3, room.snapshot().generation()));
    // Touched, changed at the same size, changed in size, gone, new.
    let second = disk(&[("a.md", "the quay is closed", 9), ("b.md", "the tide was high", 2), ("e.md", "a bell", 4)]);
    let mut second = second;
    second.insert("b.md".into(), (b"the tide is low!".to_vec(), 8));
    let (sent, report) = room.whole(&second);
    assert_eq!(sent, ["b.md", "e.md"]);
    assert_eq!(paths(&report.removed), ["far/c/d.md"]);
    assert_eq!(room.held(), hashes(&second));
}

#[test]
fn what_has_moved_is_not_sent() {
    let room = Room::new();
    let first = disk(&[("old/a.md", "# One\n\nthe quay is closed", 1), ("b.md", "the tide is high", 2)]);
    room.whole(&first);
    let second = disk(&[("new/a.md", "# One\n\nthe quay is closed", 1), ("b.md", "the tide is high", 2)]);
    let (sent, report) = room.whole(&second);
    assert_eq!((sent.len(), paths(&report.moved)), (0, vec!["far/new/a.md"]));
    assert_eq!(report.moved[0].from.as_deref(), Some("far/old/a.md"));
    assert_eq!(room.held(), hashes(&second));
    // A copy is no move: the first one is still there.
    let mut third = second.clone();
    third.insert("copy.md".into(), second["b.md"].clone());
    let (sent, report) = room.whole(&third);
    assert_eq!((sent, report.moved.len()), (vec!["copy.md".to_owned()], 0));
    assert_eq!(room.held(), hashes(&third));
}

#[test]
fn after_a_break_what_was_committed_is_not_sent_again() {
    let room = Room::new();
    let all = disk(&[("a.md", "one quay", 1), ("b.md", "two tides", 2), ("c.md", "three buoys", 3)]);
    let (sent, report) = room.sync(Manifest::new("far".into(), vec![], false), &all, 2);
    assert_eq!((sent.len(), paths(&report.failed)), (3, vec!["far/c.md"]));
    let (sent, report) = room.whole(&all);
    assert_eq!((sent, report.failed.len()), (vec!["c.md".to_owned()], 0));
    assert_eq!(room.held(), hashes(&all));
}

#[test]
fn nothing_outside_of_what_was_looked_at_is_gone() {
    let room = Room::new();
    let all = disk(&[("a/x.md", "one quay", 1), ("ab.md", "two tides", 2), ("b/y.md", "three buoys", 3)]);
    room.whole(&all);
    let nothing = Disk::new();
    let (_, report) = room.sync(Manifest::new("far".into(), vec!["a".into()], false), &nothing, 0);
    assert_eq!(paths(&report.removed), ["far/a/x.md"]);
    let (_, report) = room.sync(Manifest::new("far".into(), vec![], true), &nothing, 0);
    assert!(report.removed.is_empty(), "patterns narrowed the walk");
    let (_, report) = room.sync(Manifest::new("near".into(), vec![], false), &nothing, 0);
    assert!(report.removed.is_empty(), "it is another root");
    assert_eq!(room.held().len(), 2);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(24))]

    /// Whatever changes on the other machine, the index agrees with it afterwards, and a second time sends nothing.
    #[test]
    fn the_index_agrees_with_any_disk(
        steps in proptest::collection::vec(proptest::collection::btree_map("[ab]/[cd]\\.md", (0_u8..3, 1_i64..4), 0..4), 1..4)
    ) {
        let room = Room::new();
        for step in steps {
            let disk: Disk = step
                .into_iter()
                .map(|(path, (content, mtime))| (path, (format!("# T{content}\n\nword{content} quay").into_bytes(), mtime)))
                .collect();
            room.whole(&disk);
            proptest::prop_assert_eq!(room.held(), hashes(&disk));
            let (sent, report) = room.whole(&disk);
            proptest::prop_assert!(sent.is_empty());
            proptest::prop_assert_eq!(report.unchanged.len(), disk.len());
        }
    }
}

/// Between the naming of a file and its reading it may go, or be locked.
#[test]
fn what_could_not_be_sent_is_told_once() {
    let room = Room::new();
    let first = disk(&[("a.md", "the quay is closed", 1), ("b.md", "the tide is high", 2), ("c.md", "a red buoy", 3)]);
    room.whole(&first);
    let changed = disk(&[("a.md", "the quay is open", 9), ("b.md", "the tide is low", 9), ("c.md", "a green buoy", 9)]);
    let mut manifest = Manifest::new("far".into(), vec![], false);
    let named = changed.iter().map(|(path, (bytes, mtime_ns))| {
        let (size_bytes, times) = (bytes.len() as u64, times(bytes, *mtime_ns));
        ManifestFile { path: path.clone(), size_bytes, times, hash: None }
    });
    let wants = manifest.add(&room.snapshot(), &room.options, named.collect(), true).unwrap();
    assert_eq!(wants.send, ["a.md", "b.md", "c.md"]);
    let gone = (&["b.md".to_owned()][..], &["c.md".to_owned()][..]);
    let mut writer = room.index.writer(&WriterOptions::default()).unwrap();
    let silent = |_: Event<'_>| {};
    let report =
        manifest.settle(&mut writer, Some(&room.embedder), &room.options, gone, (&silent, &Cancel::default())).unwrap();
    // The one that nobody says anything of has failed; the one that is locked its own machine tells of.
    assert_eq!((paths(&report.failed), paths(&report.removed)), (vec!["far/a.md"], vec!["far/b.md"]));
    assert_eq!(room.held().keys().collect::<Vec<_>>(), ["a.md", "c.md"]);
}
