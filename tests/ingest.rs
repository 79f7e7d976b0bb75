//! Ingest runs on folders that change between and during them: what the report says, what the index holds, what is
//! written. With an embedder that needs no model and extraction in this process.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, SystemTime},
};

use rag::{
    index::{Index, Settings, SourceRecord, Status, WriterOptions},
    ingest::{Error, Event, Observer, Options, Outcome, Report, extract::Worker, ingest},
    model::{Embedder, fake::FakeEmbedder},
    types::{Cancel, Kind},
};

/// A folder with an index `.rag` and an embedder.
struct House {
    dir: tempfile::TempDir,
    embedder: FakeEmbedder,
    with_vectors: bool,
}

impl House {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, FakeEmbedder::new(), true)
    }

    fn with(files: &[(&str, &str)], embedder: FakeEmbedder, with_vectors: bool) -> Self {
        let house = Self { dir: tempfile::tempdir().unwrap(), embedder, with_vectors };
        for (path, text) in files {
            house.write(path, text);
        }
        house
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// Writes a file that is old enough for its stat to be believed.
    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        age(&path, 3600);
    }

    fn options(&self, paths: &[&str]) -> Options {
        Options {
            paths: paths.iter().map(|path| self.path(path)).collect(),
            home: Some(self.dir.path().to_owned()),
            index_dir: self.path(".rag"),
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
            jobs: 3,
            dry_run: false,
            given: vec![],
            pages: vec![],
            retry_failed: false,
            loaders: rag::ingest::Loaders::default(),
            page_readers: rag::ingest::PageReaders::default(),
            archives: false,
            passwords: rag::ingest::extract::Passwords::default(),
            prune: true,
            allow_empty: false,
            file_timeout: Duration::from_secs(60),
            worker: Worker::InProcess,
        }
    }

    fn index(&self) -> Index {
        let space = self.with_vectors.then(|| self.embedder.space().clone());
        Index::create(&self.path(".rag"), &Settings { space }).unwrap()
    }

    fn try_run(&self, options: &Options, observer: &dyn Observer, cancel: &Cancel) -> Result<Report, Error> {
        let lock = WriterOptions { wait: Duration::ZERO, command: "test".into(), ..WriterOptions::default() };
        let mut writer = self.index().writer(&lock).unwrap();
        let embedder: Option<&dyn Embedder> = if self.with_vectors { Some(&self.embedder) } else { None };
        ingest(&mut writer, embedder, options, observer, cancel)
    }

    fn run_with(&self, options: &Options) -> Report {
        self.try_run(options, &|_: Event<'_>| (), &Cancel::default()).unwrap()
    }

    fn run(&self, paths: &[&str]) -> Report {
        self.run_with(&self.options(paths))
    }

    fn sources(&self) -> Vec<SourceRecord> {
        self.index().snapshot().unwrap().sources(None).unwrap()
    }

    fn paths(&self) -> Vec<String> {
        self.sources().iter().map(SourceRecord::display_path).collect()
    }

    /// Every chunk as (id, path, text), sorted; checked to have the right vector.
    fn chunks(&self) -> BTreeSet<(u64, String, String)> {
        let snapshot = self.index().snapshot().unwrap();
        let mut all = BTreeSet::new();
        for source in snapshot.sources(None).unwrap() {
            let chunks = snapshot.chunks_of(source.id).unwrap();
            assert_eq!(chunks.len(), source.chunks as usize);
            for chunk in chunks {
                assert_eq!(snapshot.vector(chunk.id).is_some(), self.with_vectors);
                all.insert((chunk.id.0, chunk.path, chunk.text));
            }
        }
        let verified = self.index().verify().unwrap();
        assert!(verified.faults.is_empty(), "{verified:?}");
        all
    }

    /// Name, size and mtime of everything in the index folder.
    fn files_of_index(&self) -> BTreeSet<(PathBuf, u64, SystemTime)> {
        let mut all = BTreeSet::new();
        let mut folders = vec![self.path(".rag")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let metadata = entry.metadata().unwrap();
                if metadata.is_dir() {
                    folders.push(entry.path());
                } else if entry.file_name() != "lock" {
                    all.insert((entry.path(), metadata.len(), metadata.modified().unwrap()));
                }
            }
        }
        all
    }
}

fn age(path: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

fn paths(list: &[Outcome]) -> Vec<&str> {
    list.iter().map(|outcome| outcome.path.as_str()).collect()
}

fn reasons(list: &[Outcome]) -> Vec<(&str, &str)> {
    list.iter().map(|outcome| (outcome.path.as_str(), outcome.problems[0].reason.as_str())).collect()
}

const A: &str = "# Pump\n\nThe pump must be started only when the inlet valve is open.\n";
const B: &str = "# Refunds\n\nRefunds are paid within thirty days of the return.\n";
const C: &str = "# Hours\n\nThe office is open from nine to five on working days.\n";

#[test]
fn files_come_change_and_go() {
    let house = House::new(&[("docs/a.md", A), ("docs/sub/b.md", B)]);
    let report = house.run(&["docs"]);
    assert_eq!(paths(&report.added), ["docs/a.md", "docs/sub/b.md"]);
    assert_eq!((report.chunks_written, report.chunks_embedded, report.chunks_reused), (2, 2, 0));
    assert!(report.bytes_written > 0 && report.generation == 1 && !report.interrupted);
    assert_eq!(house.chunks().len(), 2);

    house.write("docs/a.md", C);
    house.write("docs/c.md", "# More\n\nAn entirely new text.\n");
    fs::remove_file(house.path("docs/sub/b.md")).unwrap();
    let report = house.run(&["docs"]);
    assert_eq!(paths(&report.updated), ["docs/a.md"]);
    assert_eq!(paths(&report.added), ["docs/c.md"]);
    assert_eq!(paths(&report.removed), ["docs/sub/b.md"]);
    assert_eq!(report.generation, 2);
    let texts: Vec<_> = house.chunks().into_iter().map(|(_, path, text)| (path, text)).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts.iter().all(|(_, text)| !text.contains("pump") && !text.contains("Refunds")));
}

#[test]
fn a_second_run_writes_nothing_and_reads_nothing() {
    let house = House::new(&[("docs/a.md", A), ("docs/b.md", B), ("docs/picture.png", "")]);
    fs::write(house.path("docs/picture.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06").unwrap();
    age(&house.path("docs/picture.png"), 3600);
    let first = house.run(&["docs"]);
    assert_eq!(paths(&first.skipped), ["docs/picture.png"]);
    let before = house.files_of_index();
    for paths in [&["docs"][..], &["docs", "docs/a.md"]] {
        let report = house.run(paths);
        assert_eq!((report.unchanged.len(), report.skipped.len()), (2, 1));
        assert_eq!((report.chunks_written, report.chunks_embedded), (0, 0));
        assert_eq!((report.bytes_read, report.bytes_written), (0, 0));
        assert_eq!(report.generation, first.generation);
        assert_eq!(house.files_of_index(), before);
    }
    assert_eq!(house.embedder.passages(), 2);
}

#[test]
fn a_new_stat_with_old_content_is_a_touch() {
    let house = House::new(&[("docs/a.md", A)]);
    house.run(&["docs"]);
    age(&house.path("docs/a.md"), 1800);
    let report = house.run(&["docs"]);
    assert_eq!(paths(&report.unchanged), ["docs/a.md"]);
    assert_eq!((report.chunks_written, report.chunks_embedded), (0, 0));
    assert!(report.bytes_read > 0);
    let again = house.run(&["docs"]);
    assert_eq!((again.bytes_read, again.bytes_written, again.generation), (0, 0, report.generation));
    assert_eq!(house.chunks().len(), 1);
}

#[test]
fn a_fresh_file_is_hashed_and_nothing_is_written() {
    let house = House::new(&[]);
    fs::create_dir(house.path("docs")).unwrap();
    fs::write(house.path("docs/a.md"), A).unwrap();
    age(&house.path("docs/a.md"), 0);
    house.run(&["docs"]);
    let before = house.files_of_index();
    let report = house.run(&["docs"]);
    assert_eq!(paths(&report.unchanged), ["docs/a.md"]);
    assert_eq!((report.bytes_read, report.bytes_written), (A.len() as u64, 0));
    assert_eq!(house.files_of_index(), before);
}

#[test]
fn a_move_keeps_the_vectors() {
    let house = House::new(&[("docs/a/x.md", A), ("docs/a/y.md", "No heading, so the name is the title.\n")]);
    house.run(&["docs"]);
    let before: Vec<_> =
        house.chunks().into_iter().map(|(_, _, text)| text).collect::<BTreeSet<_>>().into_iter().collect();
    fs::rename(house.path("docs/a"), house.path("docs/b")).unwrap();
    let report = house.run(&["docs"]);
    assert_eq!(paths(&report.moved), ["docs/b/x.md", "docs/b/y.md"]);
    assert_eq!(report.moved[0].from.as_deref(), Some("docs/a/x.md"));
    assert_eq!((report.chunks_embedded, report.chunks_reused, report.bytes_read), (0, 2, 0));
    assert!(report.removed.is_empty() && report.added.is_empty());
    assert_eq!(house.embedder.passages(), 2);
    let after: BTreeSet<_> = house.chunks().into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(after.into_iter().collect::<Vec<_>>(), before);
    assert_eq!(house.paths(), ["docs/b/x.md", "docs/b/y.md"]);
    assert_eq!(house.run(&["docs"]).bytes_written, 0);
}

#[test]
fn a_new_name_is_a_new_title_where_the_document_has_none() {
    let house = House::new(&[("docs/old-name.md", "No heading, so the name is the title.\n")]);
    house.run(&["docs"]);
    fs::rename(house.path("docs/old-name.md"), house.path("docs/new-name.md")).unwrap();
    let report = house.run(&["docs"]);
    assert_eq!(paths(&report.moved), ["docs/new-name.md"]);
    assert_eq!(report.chunks_embedded, 1);
    let snapshot = house.index().snapshot().unwrap();
    let source = &snapshot.sources(None).unwrap()[0];
    assert_eq!(snapshot.chunks_of(source.id).unwrap()[0].title.as_deref(), Some("new name"));
}

#[test]
fn the_same_text_twice_is_two_sources_and_one_embedding() {
    let house = House::new(&[("docs/a/x.md", A), ("docs/b/x.md", A), ("docs/c/x.md", A)]);
    let report = house.run(&["docs"]);
    assert_eq!(report.added.len(), 3);
    assert_eq!((report.chunks_embedded, report.chunks_reused), (1, 2));
    assert_eq!(house.chunks().len(), 3);
    house.write("docs/d/x.md", A);
    assert_eq!(house.run(&["docs"]).chunks_embedded, 0, "the index has it");
}

#[test]
fn an_edit_costs_the_chunks_it_changes() {
    let section =
        |n: u32| format!("## Part {n}\n\nThis is part {n} of the manual, and it speaks of pump {n} only.\n\n");
    let text: String = (0..20).map(section).collect();
    let house = House::new(&[("docs/a.md", &text)]);
    assert_eq!(house.run(&["docs"]).chunks_embedded, 20);
    house.write("docs/a.md", &text.replace("pump 7 only", "pumps in general"));
    let report = house.run(&["docs"]);
    assert_eq!((report.chunks_written, report.chunks_embedded, report.chunks_reused), (20, 1, 19));
    house.chunks();
}

#[test]
fn a_missing_path_ends_the_run_before_anything_changes() {
    let house = House::new(&[("docs/a.md", A)]);
    house.run(&["docs"]);
    fs::remove_file(house.path("docs/a.md")).unwrap();
    let before = house.files_of_index();
    let error =
        house.try_run(&house.options(&["docs", "no/such"]), &|_: Event<'_>| (), &Cancel::default()).unwrap_err();
    assert!(matches!(error, Error::MissingPath { .. }));
    assert_eq!(error.kind(), Kind::Usage);
    assert_eq!(house.files_of_index(), before);
    assert_eq!(house.paths(), ["docs/a.md"]);
}

#[test]
fn an_empty_folder_is_a_normal_answer() {
    let house = House::new(&[("docs/a.md", A)]);
    house.run(&["docs"]);
    fs::remove_file(house.path("docs/a.md")).unwrap();
    let mut options = house.options(&["docs"]);
    options.allow_empty = true;
    let report = house.run_with(&options);
    assert_eq!(paths(&report.removed), ["docs/a.md"]);
    assert!(house.chunks().is_empty());
    assert_eq!(house.run(&["docs"]).bytes_written, 0, "there is nothing to lose any more");
}

#[test]
fn an_emptied_folder_is_not_a_mass_delete() {
    let house = House::new(&[("docs/a.md", A), ("docs/sub/b.md", B), ("notes/c.md", C)]);
    house.run(&["docs", "notes"]);
    fs::remove_dir_all(house.path("docs")).unwrap();
    fs::create_dir(house.path("docs")).unwrap();
    let before = house.files_of_index();
    for (dry_run, include) in [(false, vec![]), (true, vec![]), (false, vec!["*.md".to_owned()])] {
        let options = Options { dry_run, include, ..house.options(&["notes", "docs"]) };
        let error = house.try_run(&options, &|_: Event<'_>| (), &Cancel::default()).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage);
        let given = house.path("docs");
        assert_eq!(error.to_string(), format!("`{}` is empty, but the index holds 2 documents of it", given.display()));
    }
    let kept = Options { prune: false, ..house.options(&["docs"]) };
    assert!(house.run_with(&kept).removed.is_empty());
    assert_eq!(house.files_of_index(), before);
    // One that is merely inside a given folder was emptied by somebody who looks after the rest.
    assert_eq!(house.run(&["."]).removed.len(), 2);
}

#[test]
fn one_bad_file_costs_one_line_and_is_named_again() {
    let house = House::new(&[("docs/a.md", A), ("docs/bad.pdf", "%PDF-1.4 and then nothing of it")]);
    let first = house.run(&["docs"]);
    assert_eq!(paths(&first.added), ["docs/a.md"]);
    assert_eq!(paths(&first.failed), ["docs/bad.pdf"]);
    assert_eq!(house.sources()[1].status, Status::Failed);
    let second = house.run(&["docs"]);
    assert_eq!(second.failed, first.failed);
    assert_eq!((second.bytes_read, second.bytes_written), (0, 0), "it is not tried again");
    house.write("docs/bad.pdf", "Not a PDF at all, but text.\n");
    assert_eq!(paths(&house.run(&["docs"]).updated), ["docs/bad.pdf"]);
}

#[test]
fn what_is_no_text_is_left_alone_and_said_so() {
    let house = House::new(&[("docs/a.md", A), ("docs/empty.md", "")]);
    fs::write(house.path("docs/data.bin"), [0u8, 1, 2, 3, 255, 254, 0, 0, 7, 0, 0, 9].repeat(50)).unwrap();
    fs::write(house.path("docs/large.md"), vec![b'x'; (1 << 20) + 1]).unwrap();
    fs::write(house.path("docs/half.docx"), b"PK\x03\x04\x14\0\0\0\x08\0half a Word file").unwrap();
    let report = house.run(&["docs"]);
    assert_eq!(reasons(&report.skipped), [("docs/data.bin", "binary"), ("docs/large.md", "too_large")]);
    assert_eq!(reasons(&report.warnings), [("docs/empty.md", "empty")]);
    assert_eq!(paths(&report.added), ["docs/a.md", "docs/empty.md"]);
    assert_eq!(reasons(&report.failed), [("docs/half.docx", "damaged")], "it is called a document");
    let again = house.run(&["docs"]);
    assert_eq!((again.skipped, again.warnings, again.failed), (report.skipped, report.warnings, report.failed));
}

#[test]
fn a_file_that_vanishes_while_the_run_goes_is_an_outcome() {
    let house = House::new(&[("docs/a.md", A), ("docs/b.md", B)]);
    let vanish = |event: Event<'_>| {
        if matches!(event, Event::Planned { .. }) {
            fs::remove_file(house.path("docs/b.md")).unwrap();
        }
    };
    let report = house.try_run(&house.options(&["docs"]), &vanish, &Cancel::default()).unwrap();
    assert_eq!(reasons(&report.failed), [("docs/b.md", "vanished")]);
    assert_eq!(house.paths(), ["docs/a.md"], "it leaves no trace");
}

#[test]
fn a_file_that_cannot_be_read_now_keeps_its_text() {
    let house = House::new(&[("docs/a.md", A)]);
    house.run(&["docs"]);
    house.write("docs/a.md", B);
    let vanish = |event: Event<'_>| {
        if matches!(event, Event::Planned { .. }) {
            fs::remove_file(house.path("docs/a.md")).unwrap();
        }
    };
    let report = house.try_run(&house.options(&["docs"]), &vanish, &Cancel::default()).unwrap();
    assert_eq!(reasons(&report.failed), [("docs/a.md", "vanished")]);
    assert!(house.chunks().iter().any(|(_, _, text)| text.contains("pump")));
    house.write("docs/other.md", C);
    assert_eq!(paths(&house.run(&["docs"]).removed), ["docs/a.md"]);
}

/// Reads files with a shell script in the place of the worker.
#[cfg(unix)]
fn scripted(house: &House, script: &str) -> Options {
    let mut options = house.options(&["docs"]);
    options.file_timeout = Duration::from_millis(300);
    options.worker = Worker::Process { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
    options
}

#[cfg(unix)]
#[test]
fn a_transient_failure_keeps_the_text_and_a_lasting_one_does_not() {
    for (script, reason, is_kept) in [
        ("exec sleep 100", "timeout", true),
        ("kill -INT $$", "crashed", true),
        ("kill -SEGV $$", "crashed", false),
        ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", "oom", false),
    ] {
        let house = House::new(&[("docs/a.md", A)]);
        house.run(&["docs"]);
        house.write("docs/a.md", B);
        for _ in 0..2 {
            let report = house.run_with(&scripted(&house, script));
            assert_eq!(reasons(&report.failed), [("docs/a.md", reason)], "{script}");
            assert_eq!(house.chunks().iter().any(|(_, _, text)| text.contains("pump")), is_kept, "{script}");
        }
        let report = house.run(&["docs"]);
        assert_eq!((paths(&report.updated).len(), report.failed.len()), if is_kept { (1, 0) } else { (0, 1) });
    }
}

#[cfg(unix)]
#[test]
fn a_worker_that_dies_while_the_run_is_stopped_changes_nothing() {
    let house = House::new(&[("docs/a.md", A)]);
    house.run(&["docs"]);
    house.write("docs/a.md", B);
    let cancel = Cancel::default();
    let stop = |event: Event<'_>| {
        if matches!(event, Event::Started { .. }) {
            cancel.ask();
            // Until the worker is dead for sure, so that its death is told before the run ends.
            std::thread::sleep(Duration::from_millis(500));
        }
    };
    let report = house.try_run(&scripted(&house, "kill -SEGV $$"), &stop, &cancel).unwrap();
    assert!(report.interrupted && report.failed.is_empty(), "{report:?}");
    assert!(house.chunks().iter().any(|(_, _, text)| text.contains("pump")));
    assert_eq!(paths(&house.run(&["docs"]).updated), ["docs/a.md"]);
}

#[cfg(unix)]
#[test]
fn a_moved_file_that_fails_keeps_its_text_or_takes_its_old_place_along() {
    for (script, reason, is_kept) in [("exec sleep 100", "timeout", true), ("kill -SEGV $$", "crashed", false)] {
        let house = House::new(&[("docs/old.md", "No heading, so it is read again under a new name.\n")]);
        house.run(&["docs"]);
        fs::rename(house.path("docs/old.md"), house.path("docs/new.md")).unwrap();
        let report = house.run_with(&scripted(&house, script));
        assert_eq!(reasons(&report.failed), [("docs/new.md", reason)]);
        assert!(report.moved.is_empty());
        if is_kept {
            assert!(report.removed.is_empty());
            assert_eq!(house.paths(), ["docs/old.md"]);
            assert_eq!(paths(&house.run(&["docs"]).moved), ["docs/new.md"]);
        } else {
            assert_eq!(paths(&report.removed), ["docs/old.md"]);
            assert_eq!(house.paths(), ["docs/new.md"]);
            assert!(house.chunks().is_empty());
        }
    }
}

#[cfg(unix)]
#[test]
fn s06_a_file_replaced_by_a_link_is_not_followed() {
    let house = House::new(&[("docs/a.md", A), ("docs/b.md", B), ("secret.md", "secret")]);
    let replace = |event: Event<'_>| {
        if matches!(event, Event::Planned { .. }) {
            fs::remove_file(house.path("docs/b.md")).unwrap();
            std::os::unix::fs::symlink(house.path("secret.md"), house.path("docs/b.md")).unwrap();
        }
    };
    let report = house.try_run(&house.options(&["docs"]), &replace, &Cancel::default()).unwrap();
    assert_eq!(reasons(&report.failed), [("docs/b.md", "changed")]);
    assert!(house.chunks().iter().all(|(_, _, text)| !text.contains("secret")));
}

#[cfg(unix)]
#[test]
fn what_is_below_an_unreadable_folder_stays() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new(&[("docs/a.md", A), ("docs/closed/b.md", B), ("docs/locked.md", C)]);
    house.run(&["docs"]);
    let mode = |path: &str, mode| fs::set_permissions(house.path(path), fs::Permissions::from_mode(mode)).unwrap();
    mode("docs/closed", 0);
    mode("docs/locked.md", 0);
    if fs::read_dir(house.path("docs/closed")).is_ok() {
        println!("left out: this user may read everything; plan's tests have the case");
        mode("docs/closed", 0o700);
        return;
    }
    let report = house.run(&["docs"]);
    assert_eq!(reasons(&report.failed), [("docs/closed", "permission"), ("docs/locked.md", "permission")]);
    assert_eq!(house.paths(), ["docs/a.md", "docs/closed/b.md", "docs/locked.md"]);
    assert_eq!(house.chunks().len(), 3);
    mode("docs/closed", 0o700);
    mode("docs/locked.md", 0o600);
    assert!(house.run(&["docs"]).failed.is_empty());
    mode("docs", 0);
    let error = house.try_run(&house.options(&["docs"]), &|_: Event<'_>| (), &Cancel::default()).unwrap_err();
    mode("docs", 0o700);
    assert!(matches!(error, Error::Unreadable { .. }));
}

#[test]
fn only_what_was_asked_for_is_removed() {
    let house = House::new(&[("docs/a.md", A), ("notes/b.md", B), ("docs-old/c.md", C)]);
    house.run(&["docs", "notes", "docs-old"]);
    for path in ["docs/a.md", "notes/b.md", "docs-old/c.md"] {
        fs::remove_file(house.path(path)).unwrap();
    }
    let emptied = Options { allow_empty: true, ..house.options(&["docs"]) };
    assert_eq!(paths(&house.run_with(&emptied).removed), ["docs/a.md"]);
    let mut other = house.options(&["notes"]);
    other.collection = "other".into();
    assert!(house.run_with(&other).removed.is_empty());
    let mut kept = house.options(&["notes"]);
    kept.prune = false;
    assert!(house.run_with(&kept).removed.is_empty());
    assert_eq!(house.paths(), ["docs-old/c.md", "notes/b.md"]);
}

#[test]
fn collections_keep_their_own_sources_of_one_path() {
    let house = House::new(&[("docs/a.md", A)]);
    let mut other = house.options(&["docs"]);
    other.collection = "other".into();
    house.run(&["docs"]);
    let report = house.run_with(&other);
    assert_eq!((paths(&report.added), report.chunks_embedded), (vec!["docs/a.md"], 0));
    fs::remove_file(house.path("docs/a.md")).unwrap();
    house.run_with(&Options { allow_empty: true, ..house.options(&["docs"]) });
    let left = house.sources();
    assert_eq!((left.len(), left[0].collection.as_str()), (1, "other"));
}

#[test]
fn patterns_narrow_a_run_and_remove_only_what_is_gone() {
    let house = House::new(&[("docs/a.md", A), ("docs/b.txt", B), ("docs/c.txt", C)]);
    house.run(&["docs"]);
    fs::remove_file(house.path("docs/c.txt")).unwrap();
    let mut narrowed = house.options(&["docs"]);
    narrowed.include = vec!["*.md".into()];
    let report = house.run_with(&narrowed);
    assert_eq!((paths(&report.unchanged), paths(&report.removed)), (vec!["docs/a.md"], vec!["docs/c.txt"]));
    assert_eq!(house.paths(), ["docs/a.md", "docs/b.txt"]);

    let mut wrong = house.options(&["docs"]);
    wrong.include = vec!["*.md,*.txt".into()];
    let error = house.try_run(&wrong, &|_: Event<'_>| (), &Cancel::default()).unwrap_err();
    assert!(matches!(error, Error::NoMatch { pattern } if pattern == "*.md,*.txt"));

    fs::remove_file(house.path("docs/a.md")).unwrap();
    assert_eq!(paths(&house.run_with(&narrowed).removed), ["docs/a.md"], "the pattern still means something");
}

#[test]
fn what_is_ignored_since_leaves_the_index() {
    let house = House::new(&[("docs/a.md", A), ("docs/draft.md", B)]);
    house.run(&["docs"]);
    house.write("docs/.ragignore", "draft*\n");
    let report = house.run(&["docs"]);
    assert_eq!(paths(&report.removed), ["docs/draft.md"]);
    house.write("docs/a.md", &"x".repeat(2 << 20));
    let report = house.run(&["docs"]);
    assert_eq!(reasons(&report.removed), [("docs/a.md", "too_large")]);
    assert!(report.skipped.is_empty(), "each source is in one list");
}

#[test]
fn folders_outside_home_become_named_roots() {
    let house = House::new(&[("docs/a.md", A)]);
    let elsewhere = House::new(&[("docs/b.md", B), ("docs/deep/c.md", C)]);
    let mut options = house.options(&["docs"]);
    options.paths.push(elsewhere.path("docs"));
    let report = house.run_with(&options);
    assert_eq!(paths(&report.added), ["docs-2/b.md", "docs-2/deep/c.md", "docs/a.md"]);
    let roots = house.index().snapshot().unwrap().roots().clone();
    assert_eq!(roots["docs-2"], fs::canonicalize(elsewhere.path("docs")).unwrap().to_str().unwrap());

    options.paths = vec![elsewhere.path("docs/deep")];
    assert_eq!(paths(&house.run_with(&options).unchanged), ["docs-2/deep/c.md"]);
    fs::remove_file(elsewhere.path("docs/deep/c.md")).unwrap();
    options.allow_empty = true;
    assert_eq!(paths(&house.run_with(&options).removed), ["docs-2/deep/c.md"]);
    options.paths = vec![elsewhere.path("docs/b.md")];
    assert_eq!(house.run_with(&options).bytes_written, 0);
    assert_eq!(house.index().snapshot().unwrap().roots().len(), 1);
}

#[test]
fn an_index_moves_with_its_folder() {
    let house = House::new(&[("docs/a.md", A)]);
    house.run(&["docs"]);
    let new = tempfile::tempdir().unwrap();
    let place = new.path().join("moved");
    fs::rename(house.dir.path(), &place).unwrap();
    let mut options = house.options(&[]);
    (options.paths, options.home, options.index_dir) =
        (vec![place.join("docs")], Some(place.clone()), place.join(".rag"));
    let lock = WriterOptions { wait: Duration::ZERO, command: "test".into(), ..WriterOptions::default() };
    let mut writer = Index::open(&place.join(".rag")).unwrap().writer(&lock).unwrap();
    let report = ingest(&mut writer, Some(&house.embedder), &options, &|_: Event<'_>| (), &Cancel::default()).unwrap();
    assert_eq!((paths(&report.unchanged), report.bytes_written), (vec!["docs/a.md"], 0));
}

#[test]
fn tags_are_kept_and_added() {
    let house = House::new(&[("docs/a.md", A)]);
    let mut tagged = house.options(&["docs"]);
    tagged.tags.insert("team".into(), "ops".into());
    house.run_with(&tagged);
    house.write("docs/a.md", B);
    house.run(&["docs"]);
    assert_eq!(house.sources()[0].tags["team"], "ops", "an edit loses no tag");
    tagged.tags.insert("level".into(), "1".into());
    let report = house.run_with(&tagged);
    assert_eq!((paths(&report.updated), report.bytes_read), (vec!["docs/a.md"], 0));
    assert_eq!(house.sources()[0].tags.len(), 2);
    assert_eq!(house.run_with(&tagged).bytes_written, 0);
}

#[test]
fn a_rehearsal_says_what_would_be_and_writes_nothing() {
    let house = House::new(&[("docs/a.md", A), ("docs/b.md", B), ("docs/m/c.md", C), ("docs/t.md", "touched\n")]);
    house.write("docs/bad.pdf", "%PDF-1.4 and then nothing of it");
    house.write("docs/empty.md", "");
    fs::write(house.path("docs/data.bin"), [0u8, 1, 2, 3, 255, 254, 0, 0, 7, 0, 0, 9].repeat(50)).unwrap();
    house.run(&["docs"]);
    for path in ["docs/bad.pdf", "docs/empty.md", "docs/data.bin"] {
        age(&house.path(path), 100);
    }
    let before = house.files_of_index();
    house.write("docs/a.md", "changed\n");
    house.write("docs/new.md", "new\n");
    fs::remove_file(house.path("docs/b.md")).unwrap();
    fs::rename(house.path("docs/m"), house.path("docs/n")).unwrap();
    age(&house.path("docs/t.md"), 100);
    let mut rehearsal = house.options(&["docs"]);
    rehearsal.dry_run = true;
    let report = house.run_with(&rehearsal);
    assert!(report.dry_run);
    assert_eq!(house.files_of_index(), before);
    let real = house.run(&["docs"]);
    let lists = |report: &Report| {
        let Report { added, updated, unchanged, moved, removed, skipped, failed, warnings, .. } = report;
        [added, updated, unchanged, moved, removed, skipped, failed, warnings]
            .map(|list| list.iter().map(|outcome| outcome.path.clone()).collect::<Vec<_>>())
    };
    assert_eq!(lists(&report), lists(&real));
    assert_eq!((real.failed.len(), real.skipped.len(), real.warnings.len()), (1, 1, 1));
    for path in ["docs/t.md", "docs/bad.pdf", "docs/empty.md", "docs/data.bin"] {
        age(&house.path(path), 50);
    }
    rehearsal.tags.insert("team".into(), "ops".into());
    let report = house.run_with(&rehearsal);
    rehearsal.dry_run = false;
    assert_eq!(lists(&report), lists(&house.run_with(&rehearsal)));
    assert_eq!(real.updated.len() + real.added.len() + real.moved.len() + real.removed.len(), 4);
}

fn many(count: usize) -> House {
    let house = House::new(&[]);
    for n in 0..count {
        house.write(&format!("docs/{n:03}.md"), &format!("# Number {n}\n\nThis text speaks of pump number {n}.\n"));
    }
    house
}

#[test]
fn a_stop_keeps_what_is_whole_and_the_next_run_completes_it() {
    let house = many(80);
    let cancel = Cancel::default();
    let stop = |event: Event<'_>| {
        if matches!(event, Event::Embedded { .. }) && house.embedder.passages() >= 5 && !cancel.is_asked() {
            cancel.ask();
        }
    };
    let report = house.try_run(&house.options(&["docs"]), &stop, &cancel).unwrap();
    assert!(report.interrupted);
    assert_eq!(report.added.len(), house.sources().len(), "what is listed is committed");
    assert_eq!(house.chunks().len(), report.added.len());
    let again = house.run(&["docs"]);
    assert_eq!(again.added.len() + report.added.len(), 80);
    assert_eq!(house.chunks().len(), 80);
    assert!(!again.interrupted);
}

#[test]
fn an_urgent_stop_drops_the_batch() {
    let house = many(20);
    let cancel = Cancel::default();
    let stop = |event: Event<'_>| {
        if matches!(event, Event::Embedded { .. }) && !cancel.is_urgent() {
            cancel.ask();
            cancel.ask();
        }
    };
    let report = house.try_run(&house.options(&["docs"]), &stop, &cancel).unwrap();
    assert!(report.interrupted && report.added.is_empty());
    assert_eq!((report.generation, house.sources().len()), (0, 0));
    assert_eq!(house.run(&["docs"]).added.len(), 20);
}

#[test]
fn a_stop_before_the_first_change_changes_nothing() {
    let house = many(3);
    let cancel = Cancel::default();
    cancel.ask();
    let report = house.try_run(&house.options(&["docs"]), &|_: Event<'_>| (), &cancel).unwrap();
    assert!(report.interrupted && report.generation == 0);
}

#[test]
fn a_run_leaves_nothing_in_the_cache_that_is_in_the_index() {
    let cached = |house: &House| {
        let folder = house.path(".rag/cache");
        rag::model::cache::EmbeddingCache::open(&folder, house.embedder.space()).unwrap().len()
    };
    let house = many(30);
    house.run(&["docs"]);
    assert_eq!(cached(&house), 0);
    // A long file that is not whole when the run is stopped: its vectors wait for the next run, those of others do not.
    let long: String =
        (0..3000).map(|n| format!("## Part {n}\n\nThis part speaks of valve {n} at length.\n\n")).collect();
    house.write("docs/long.md", &long);
    house.write("docs/000.md", "# Short\n\nA short text that is whole at once.\n");
    let (cancel, before) = (Cancel::default(), house.embedder.passages());
    let stop = |event: Event<'_>| {
        if matches!(event, Event::Embedded { .. }) && house.embedder.passages() >= before + 50 && !cancel.is_asked() {
            cancel.ask();
        }
    };
    let in_order = Options { jobs: 1, ..house.options(&["docs"]) };
    let report = house.try_run(&in_order, &stop, &cancel).unwrap();
    assert_eq!(paths(&report.updated), ["docs/000.md"]);
    let made = cached(&house);
    let report = house.run(&["docs"]);
    assert_eq!(paths(&report.added), ["docs/long.md"]);
    assert_eq!((made > 0, report.chunks_embedded + made as u64), (true, report.chunks_written));
    assert_eq!(cached(&house), 0);
}

#[test]
fn a_failing_model_ends_the_run_after_what_is_whole() {
    let mut house = many(40);
    house.embedder = FakeEmbedder::failing_after(10);
    let error = house.try_run(&house.options(&["docs"]), &|_: Event<'_>| (), &Cancel::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::Model);
    let whole = house.chunks().len();
    assert!(whole <= 10, "{whole}");
    house.embedder = FakeEmbedder::new();
    let report = house.run(&["docs"]);
    assert_eq!(report.added.len(), 40 - whole);
    assert_eq!(report.chunks_embedded as usize, house.embedder.passages());
    assert_eq!(house.chunks().len(), 40);
}

#[test]
fn chunk_ids_do_not_depend_on_the_run() {
    let text: String = (0..200).map(|n| format!("The pump number {n} must be started with care. ")).collect();
    let files = [("docs/a.md", text.as_str()), ("docs/b.md", A), ("docs/c/d.txt", B)];
    let (one, two) = (House::new(&files), House::new(&files));
    one.run(&["docs"]);
    let mut other = two.options(&["docs/c", "docs/b.md", "docs"]);
    other.jobs = 1;
    two.run_with(&other);
    assert_eq!(one.chunks(), two.chunks());
    assert!(one.chunks().len() > 10);
}

#[test]
fn an_index_without_vectors_needs_no_embedder() {
    let house = House::with(&[("docs/a.md", A)], FakeEmbedder::new(), false);
    let report = house.run(&["docs"]);
    assert_eq!((report.chunks_written, report.chunks_embedded, report.chunks_reused), (1, 0, 0));
    assert_eq!(house.chunks().len(), 1);
    fs::rename(house.path("docs/a.md"), house.path("docs/b.md")).unwrap();
    assert_eq!(house.run(&["docs"]).moved.len(), 1);
    assert_eq!(house.chunks().len(), 1);
}

#[test]
fn another_model_is_refused() {
    let house = House::new(&[("docs/a.md", A)]);
    let index = house.index();
    let lock = WriterOptions { wait: Duration::ZERO, command: "test".into(), ..WriterOptions::default() };
    let mut writer = index.writer(&lock).unwrap();
    let options = house.options(&["docs"]);
    let none = ingest(&mut writer, None, &options, &|_: Event<'_>| (), &Cancel::default()).unwrap_err();
    assert_eq!(none.kind(), Kind::Usage);
}

#[test]
fn events_tell_the_story_in_order() {
    let house = House::new(&[("docs/a.md", A), ("docs/bad.pdf", "%PDF-1.4 nothing")]);
    let story = Mutex::new(Vec::new());
    let hear = |event: Event<'_>| {
        story.lock().unwrap().push(match event {
            Event::Found { sources, .. } => format!("found {sources}"),
            Event::Planned { sources, .. } => format!("planned {sources}"),
            Event::Started { path } => format!("started {path}"),
            Event::Slow { .. } => "slow".to_owned(),
            Event::Chunked { path, chunks, to_embed, .. } => format!("chunked {path} {chunks}, {to_embed} to embed"),
            Event::Embedded { chunks } => format!("embedded {chunks}"),
            Event::Failed { path, .. } => format!("failed {path}"),
            Event::Done { path } => format!("done {path}"),
            Event::Committed { generation } => format!("committed {generation}"),
        });
    };
    let mut options = house.options(&["docs"]);
    options.jobs = 1;
    house.try_run(&options, &hear, &Cancel::default()).unwrap();
    let story = story.into_inner().unwrap();
    assert_eq!(story[..3], ["found 2", "planned 2", "started docs/a.md"]);
    assert_eq!(story.last().unwrap(), "committed 1");
    for line in [
        "chunked docs/a.md 1, 1 to embed",
        "embedded 1",
        "started docs/bad.pdf",
        "failed docs/bad.pdf",
        "done docs/a.md",
        "done docs/bad.pdf",
    ] {
        assert!(story.iter().any(|told| told == line), "{line}: {story:?}");
    }
}

#[test]
fn each_planned_source_is_done_once() {
    let house = House::new(&[("docs/bad.pdf", "%PDF-1.4 nothing"), ("docs/gone.md", C), ("docs/large.md", A)]);
    for name in ["new", "same", "touched", "changed"] {
        house.write(&format!("docs/{name}.md"), &format!("# {name}\n\nThis speaks of {name} things.\n"));
    }
    fs::write(house.path("docs/data.bin"), [0u8, 1, 2, 3, 255, 254, 0, 0, 7, 0, 0, 9].repeat(50)).unwrap();
    let run = |vanishing: Option<&str>| {
        let (planned, done) = (Mutex::new(0), Mutex::new(Vec::new()));
        let hear = |event: Event<'_>| match event {
            Event::Planned { sources, .. } => {
                *planned.lock().unwrap() = sources;
                vanishing.into_iter().for_each(|path| fs::remove_file(house.path(path)).unwrap());
            }
            Event::Done { path } => done.lock().unwrap().push(path.to_owned()),
            Event::Found { .. }
            | Event::Started { .. }
            | Event::Slow { .. }
            | Event::Chunked { .. }
            | Event::Embedded { .. }
            | Event::Failed { .. }
            | Event::Committed { .. } => {}
        };
        house.try_run(&house.options(&["docs"]), &hear, &Cancel::default()).unwrap();
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done.len() as u64, planned.into_inner().unwrap(), "{done:?}");
        done
    };
    assert_eq!(run(None).len(), 8);
    age(&house.path("docs/touched.md"), 100);
    age(&house.path("docs/same.md"), 0);
    age(&house.path("docs/data.bin"), 0);
    house.write("docs/changed.md", "changed\n");
    house.write("docs/gone.md", "changed\n");
    house.write("docs/large.md", &"x".repeat(2 << 20));
    let want = ["docs/changed.md", "docs/data.bin", "docs/gone.md", "docs/same.md", "docs/touched.md"];
    assert_eq!(run(Some("docs/gone.md")), want);
}

#[test]
fn a_source_that_the_index_refuses_costs_one_line() {
    use rag::model::cache::{EmbeddingCache, Key};
    struct Recorder(FakeEmbedder, Mutex<Vec<String>>);
    impl Embedder for Recorder {
        fn space(&self) -> &rag::types::EmbeddingSpace {
            self.0.space()
        }
        fn embed_passages(&self, texts: &[&str]) -> rag::model::Result<Vec<f32>> {
            self.1.lock().unwrap().extend(texts.iter().map(|&text| text.to_owned()));
            self.0.embed_passages(texts)
        }
        fn embed_query(&self, text: &str) -> rag::model::Result<Vec<f32>> {
            self.0.embed_query(text)
        }
        fn concurrency(&self) -> usize {
            1
        }
        fn batch_size(&self) -> usize {
            1
        }
        fn backend(&self) -> String {
            self.0.backend()
        }
    }
    let recorder = Recorder(FakeEmbedder::new(), Mutex::new(Vec::new()));
    let other = House::new(&[("docs/b.md", B)]);
    let lock = WriterOptions { wait: Duration::ZERO, command: "test".into(), ..WriterOptions::default() };
    let mut writer = other.index().writer(&lock).unwrap();
    ingest(&mut writer, Some(&recorder), &other.options(&["docs"]), &|_: Event<'_>| (), &Cancel::default()).unwrap();

    // A vector that no index takes, where the run finds it instead of making one.
    let house = House::new(&[("docs/a.md", A), ("docs/b.md", B), ("docs/c.md", C)]);
    house.index();
    let cache = EmbeddingCache::open(&house.path(".rag/cache"), house.embedder.space()).unwrap();
    let text = recorder.1.into_inner().unwrap().remove(0);
    cache.put(Key::of(&text), &vec![f32::NAN; house.embedder.space().dim]).unwrap();
    drop(cache);
    let report = house.run(&["docs"]);
    assert_eq!(reasons(&report.failed), [("docs/b.md", "refused")]);
    assert!(report.failed[0].problems[0].transient);
    assert_eq!(paths(&report.added), ["docs/a.md", "docs/c.md"]);
    assert_eq!(paths(&house.run(&["docs"]).added), ["docs/b.md"], "it is tried again");
}

#[test]
fn other_chunk_settings_read_everything_again() {
    let house = House::new(&[("docs/a.md", A)]);
    house.run(&["docs"]);
    let mut smaller = house.options(&["docs"]);
    smaller.chunk_tokens = 100;
    let report = house.run_with(&smaller);
    assert_eq!((paths(&report.updated), report.chunks_embedded), (vec!["docs/a.md"], 0));
    assert_eq!(house.run_with(&smaller).bytes_written, 0);
}
