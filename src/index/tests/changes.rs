//! Creation, changes, commits, what is left behind.

use std::{collections::BTreeMap, fs, path::Path};

use super::*;
use crate::types::{ChunkId, Kind, SourceId};

#[test]
fn what_was_put_is_found_again() {
    for dim in [None, Some(8)] {
        let dir = tempfile::tempdir().unwrap();
        let index = create(&dir.path().join("i"), dim);
        assert_eq!(index.snapshot().unwrap().generation(), 0);
        sound(&index);

        let mut writer = writer(&index);
        assert_eq!(writer.commit().unwrap(), None);
        let a = put(&mut writer, source("a.md"), Some("en"), &["Refunds take five days", "Nothing else"]);
        let b = put(&mut writer, source("b/c.txt"), Some("de"), &["Die Häuser sind alt"]);
        assert_eq!(writer.pending().sources, 2);
        let committed = writer.commit().unwrap().unwrap();
        assert_eq!(committed.generation, 1);
        assert!(committed.bytes_written > 1000);
        assert_eq!(writer.pending(), Pending::default());
        assert_eq!(writer.commit().unwrap(), None);

        let snapshot = index.snapshot().unwrap();
        assert_eq!(snapshot.generation(), 1);
        assert_eq!(snapshot.space(), dim.map(space).as_ref());
        assert_eq!(snapshot.sources(None).unwrap(), [a.clone(), b.clone()]);
        assert_eq!(snapshot.sources(Some("other")).unwrap(), []);
        assert_eq!(snapshot.source(b.id).unwrap(), Some(b.clone()));
        assert_eq!(snapshot.source(SourceId(1)).unwrap(), None);
        assert_eq!(find(&snapshot, "refund day"), ["Refunds take five days"]);
        assert_eq!(find(&snapshot, "haus"), ["Die Häuser sind alt"]);

        let records = snapshot.chunks_of(a.id).unwrap();
        let wanted: Vec<ChunkRecord> = chunks(&a, Some("en"), &["Refunds take five days", "Nothing else"], dim)
            .into_iter()
            .map(|c| c.record)
            .collect();
        assert_eq!(records, wanted);
        let ids = [wanted[1].id, ChunkId(7), wanted[0].id];
        let got = snapshot.chunks(&ids).unwrap();
        assert_eq!(got, [Some(wanted[1].clone()), None, Some(wanted[0].clone())]);
        assert_eq!(snapshot.texture(&ids).unwrap(), [(1.25, 0.5), (0.0, 0.0), (1.25, 0.5)]);

        let stats = snapshot.stats().unwrap();
        assert_eq!((stats.sources, stats.chunks, stats.failed_sources), (2, 3, 0));
        assert_eq!(stats.vectors, if dim.is_some() { 3 } else { 0 });
        assert_eq!(stats.by_language, [("de".to_owned(), 1), ("en".to_owned(), 2)].into());
        assert_eq!(stats.by_type, [("md".to_owned(), 1), ("txt".to_owned(), 1)].into());
        assert_eq!(stats.by_collection["default"], CollectionStats { sources: 2, chunks: 3 });
        sound(&index);
    }
}

/// Who begins at one time with another finds the same index, whoever made which part of it.
#[test]
fn many_make_one_index() {
    for _ in 0..8 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("i");
        let begin = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    begin.wait();
                    create(&path, Some(8));
                });
            }
        });
        sound(&Index::open(&path).unwrap());
    }
}

#[test]
fn vectors_follow_their_chunks() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), Some(16));
    let mut writer = writer(&index);
    let a = put(&mut writer, source("a"), None, &["one", "two", "three"]);
    put(&mut writer, source("b"), None, &["four"]);
    writer.commit().unwrap();
    let before = index.snapshot().unwrap();
    let one = before.chunks_of(a.id).unwrap()[0].id;
    assert_eq!(before.vector(one).unwrap(), vector("one", 16));
    let query = vector("two", 16);
    let best = before.dense(&query, 2, None, Effort::default()).unwrap().0;
    assert_eq!(before.chunk(best[0].0).unwrap().unwrap().text, "two");
    assert!((best[0].1 - 1.0).abs() < 1e-5);
    assert_eq!(before.dense_scores(&query, &[best[0].0, ChunkId(1)]), [Some(best[0].1), None]);
    assert_eq!(before.dense(&query[1..], 2, None, Effort::default()).unwrap_err().kind(), Kind::Incompatible);

    // "one" keeps its place and its row, "two" is a new chunk at another place, "five" is new.
    put(&mut writer, source("a"), None, &["one", "five", "two"]);
    // The second put of one batch is the one that counts.
    put(&mut writer, source("c"), None, &["six", "seven"]);
    put(&mut writer, source("c"), None, &["seven"]);
    writer.remove(source("b").id).unwrap();
    writer.commit().unwrap();
    let after = index.snapshot().unwrap();
    let mut texts: Vec<String> = Vec::new();
    for source in after.sources(None).unwrap() {
        for chunk in after.chunks_of(source.id).unwrap() {
            assert_eq!(after.vector(chunk.id).unwrap(), vector(&chunk.text, 16));
            texts.push(chunk.text);
        }
    }
    assert_eq!(texts, ["one", "five", "two", "seven"]);
    let mean = |i: usize| texts.iter().map(|text| vector(text, 16)[i]).sum::<f32>() / 4.0;
    for (i, value) in after.centroid().unwrap().iter().enumerate() {
        assert!((value - mean(i)).abs() < 1e-6, "{i}: {value} {}", mean(i));
    }
    // The older snapshot still answers from its own generation.
    assert_eq!(before.chunk(best[0].0).unwrap().unwrap().text, "two");
    assert_eq!(before.dense(&query, 2, None, Effort::default()).unwrap().0, best);
    sound(&index);

    // A chunk without a vector takes the one of the same text.
    let mut d = source("d");
    let mut again = chunks(&d, None, &["seven"], None);
    d.chunks = 1;
    writer.put(&d, &again).unwrap();
    writer.commit().unwrap();
    assert_eq!(writer.snapshot().vector(again[0].record.id).unwrap(), vector("seven", 16));
    again[0].embed_hash = [9; 16];
    let mut e = source("e");
    e.chunks = 1;
    again[0].record = chunks(&e, None, &["seven"], None).remove(0).record;
    let error = writer.put(&e, &again).unwrap_err();
    assert!(error.to_string().contains("has no vector"), "{error}");
    assert_eq!(writer.commit().unwrap(), None);

    for path in ["a", "c", "d"] {
        writer.remove(source(path).id).unwrap();
    }
    writer.remove(SourceId(99)).unwrap();
    writer.commit().unwrap();
    let empty = index.snapshot().unwrap();
    assert_eq!((empty.stats().unwrap().chunks, empty.stats().unwrap().vectors), (0, 0));
    assert!(empty.centroid().unwrap().iter().all(|value| *value == 0.0));
    assert_eq!(empty.dense(&query, 5, None, Effort::default()).unwrap().0, []);
    sound(&index);
}

#[test]
fn a_folder_becomes_an_index_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/er/i");
    assert!(matches!(Index::open(&path), Err(Error::NotFound { .. })));
    create(&path, Some(4));
    create(&path, Some(4));
    let mut other = space(4);
    other.revision = "2".to_owned();
    for settings in [Settings { space: None }, Settings { space: Some(other) }] {
        let error = Index::create(&path, &settings).unwrap_err();
        assert_eq!(error.kind(), Kind::Incompatible, "{error}");
    }
    // The probe's last bits may differ between machines.
    let mut same = space(4);
    same.probe[0] += 1e-6;
    Index::create(&path, &Settings { space: Some(same) }).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let mut writer = writer(&Index::open(&path).unwrap());
        put(&mut writer, source("a"), Some("en"), &["one two"]);
        writer.commit().unwrap();
        each_entry(&path, &mut |entry| {
            assert_eq!(mode(entry), if entry.is_dir() { 0o700 } else { 0o600 }, "{}", entry.display());
        });
        assert_eq!(mode(&path), 0o700);
    }
}

#[test]
fn other_peoples_folders_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.tex"), "mine").unwrap();
    fs::create_dir(dir.path().join("text")).unwrap();
    for result in [Index::open(dir.path()), Index::create(dir.path(), &Settings { space: None })] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    // A file is no folder.
    let error = Index::create(&dir.path().join("thesis.tex"), &Settings { space: None }).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage, "{error}");

    // Settings may wait in a folder that is no index yet.
    let waiting = dir.path().join(".rag");
    fs::create_dir(&waiting).unwrap();
    fs::write(waiting.join("rag.toml"), "").unwrap();
    assert!(matches!(Index::open(&waiting), Err(Error::NotFound { .. })));
    create(&waiting, None).snapshot().unwrap();
    assert!(waiting.join("rag.toml").exists());
}

#[test]
fn newer_formats_are_refused_and_nonsense_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), None);
    let path = dir.path().join("FORMAT");
    let cases = [
        ("format = 9\nleast_reader = 2\nuuid = \"x\"", Kind::Incompatible),
        ("format = 0\nleast_reader = 1\nuuid = \"x\"", Kind::Corrupt),
        ("format = 1", Kind::Corrupt),
        ("", Kind::Corrupt),
        ("\u{1}\u{2}", Kind::Corrupt),
    ];
    for (text, kind) in cases {
        fs::write(&path, text).unwrap();
        assert_eq!(Index::open(dir.path()).unwrap_err().kind(), kind, "{text:?}");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_eq!(Index::open(dir.path()).unwrap_err().kind(), Kind::Corrupt);
    // A newer program's index that this one may read.
    fs::write(&path, "format = 2\nleast_reader = 1\nuuid = \"x\"").unwrap();
    Index::open(dir.path()).unwrap();
}

#[test]
fn what_does_not_belong_together_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), Some(4));
    let mut writer = writer(&index);
    let good = source("a");
    let parts = |texts: &[&str]| chunks(&good, None, texts, Some(4));
    type Spoil = fn(&mut SourceRecord, &mut Vec<NewChunk>);
    let cases: [(&str, Spoil); 10] = [
        ("id", |s, _| s.id.0 ^= 1),
        ("counts", |s, _| s.chunks = 5),
        ("belongs", |_, c| c[0].record.source.0 ^= 1),
        ("bytes of text", |_, c| c[0].record.span.end += 1),
        ("twice", |_, c| c[1] = c[0].clone()),
        ("no vector", |_, c| c[0].vector = None),
        ("3 values", |_, c| c[0].vector = Some(vec![0.5; 3])),
        ("finite", |_, c| c[0].vector = Some(vec![f32::NAN; 4])),
        ("finite", |_, c| c[0].vector = Some(vec![f32::INFINITY; 4])),
        ("bytes of text", |_, c| c[0].record.text.push('x')),
    ];
    for (what, spoil) in cases {
        let (mut record, mut new) = (good.clone(), parts(&["one", "two"]));
        record.chunks = 2;
        spoil(&mut record, &mut new);
        let error = writer.put(&record, &new).unwrap_err();
        assert_eq!(error.kind(), Kind::Bug);
        assert!(error.to_string().contains(what), "{what}: {error}");
    }
    assert_eq!(writer.commit().unwrap(), None);

    // A chunk id is one source's, pending or committed.
    put(&mut writer, good.clone(), None, &["one"]);
    for _ in 0..2 {
        let mut thief = source("b");
        thief.chunks = 1;
        let mut stolen = chunks(&thief, None, &["one"], Some(4));
        stolen[0].record.id = parts(&["one"])[0].record.id;
        let error = writer.put(&thief, &stolen).unwrap_err();
        assert!(error.to_string().contains("another source"), "{error}");
        writer.commit().unwrap();
    }

    // A record cannot count other chunks than there are.
    let mut record = good.clone();
    assert!(writer.touch(&record).is_err());
    record.chunks = 1;
    record.mtime_ns = 77;
    writer.touch(&record).unwrap();
    let mut new = source("c");
    new.status = Status::Failed;
    writer.touch(&new).unwrap();
    writer.commit().unwrap();
    let snapshot = index.snapshot().unwrap();
    assert_eq!(snapshot.source(record.id).unwrap(), Some(record));
    assert_eq!(snapshot.stats().unwrap().failed_sources, 1);
    assert_eq!(find(&snapshot, "one"), ["one"]);
    sound(&index);
}

#[test]
fn the_last_change_of_a_batch_counts() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), Some(4));
    let mut writer = writer(&index);
    put(&mut writer, source("kept"), None, &["one"]);
    put(&mut writer, source("gone"), None, &["two"]);
    writer.commit().unwrap();

    // New, and gone before it was ever there.
    put(&mut writer, source("never"), None, &["three"]);
    writer.remove(source("never").id).unwrap();
    assert_eq!(writer.pending(), Pending::default());
    // There, gone, and back.
    writer.remove(source("gone").id).unwrap();
    put(&mut writer, source("gone"), None, &["two", "four"]);
    // Put, then touched: one change.
    let mut touched = put(&mut writer, source("kept"), None, &["five"]);
    touched.mtime_ns = 5;
    writer.touch(&touched).unwrap();
    assert_eq!(writer.pending().sources, 2);
    writer.commit().unwrap();
    let snapshot = index.snapshot().unwrap();
    let texts: Vec<String> = snapshot
        .sources(None)
        .unwrap()
        .iter()
        .flat_map(|source| snapshot.chunks_of(source.id).unwrap())
        .map(|chunk| chunk.text)
        .collect();
    assert_eq!(texts, ["two", "four", "five"]);
    assert_eq!(find(&snapshot, "three"), Vec::<String>::new());
    assert_eq!(snapshot.source(touched.id).unwrap(), Some(touched));
    sound(&index);

    // Roots alone are a change, the same roots are none.
    let roots: BTreeMap<String, String> = [("docs".to_owned(), "/docs".to_owned())].into();
    writer.set_roots(roots.clone());
    assert_eq!(writer.commit().unwrap().unwrap().generation, 3);
    writer.set_roots(roots.clone());
    assert_eq!(writer.commit().unwrap(), None);
    assert_eq!(index.snapshot().unwrap().roots(), &roots);
    sound(&index);
}

#[test]
fn many_commits_leave_few_files() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), Some(4));
    let mut writer = writer(&index);
    for i in 0..40 {
        put(&mut writer, source(&format!("s{}", i % 25)), None, &[&format!("text {i}"), "the same everywhere"]);
        writer.commit().unwrap();
    }
    let stats = index.snapshot().unwrap().stats().unwrap();
    assert_eq!((stats.sources, stats.chunks, stats.vectors), (25, 50, 50));
    assert!(stats.segments_text < 12 && stats.segments_vectors < 12, "{stats:?}");
    let mut files = 0;
    each_entry(dir.path(), &mut |entry| files += usize::from(entry.is_file()));
    assert!(files < 110, "{files} files");
    sound(&index);
}

#[test]
fn what_a_dead_writer_left_is_listed_and_cleared_away() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), Some(4));
    let mut first = writer(&index);
    put(&mut first, source("a"), None, &["one"]);
    first.commit().unwrap();
    drop(first);
    let folder = space(4).folder();
    let left =
        ["text/0123.idx", "text/.managed.json", "tmp/9", &format!("vectors/{folder}/9.toc"), "vectors/old/1-0.vec"];
    fs::create_dir(dir.path().join("vectors/old")).unwrap();
    for name in left {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    let mut listed = index.verify().unwrap();
    assert!(listed.is_sound(), "{:?}", listed.faults);
    let mut expected: Vec<PathBuf> = left.iter().map(PathBuf::from).collect();
    expected.sort();
    listed.orphans.sort();
    assert_eq!(listed.orphans, expected);
    drop(writer(&index));
    sound(&index);
    assert_eq!(find(&index.snapshot().unwrap(), "one"), ["one"]);
}

#[test]
fn cr09_a_read_only_index_answers() {
    // Root may write anywhere, so the proof is that nothing changes.
    let dir = tempfile::tempdir().unwrap();
    let before = index_of(dir.path(), Some(4), &[("a", "one"), ("b", "two")]);
    drop(before);
    let state = || {
        let mut state = Vec::new();
        each_entry(dir.path(), &mut |entry| {
            let meta = fs::metadata(entry).unwrap();
            state.push((entry.to_path_buf(), meta.len(), meta.modified().unwrap()));
        });
        state.sort();
        state
    };
    let untouched = state();
    let index = Index::open(dir.path()).unwrap();
    let snapshot = index.snapshot().unwrap();
    assert_eq!(find(&snapshot, "two"), ["two"]);
    snapshot.stats().unwrap();
    snapshot.allowed(None, None).unwrap();
    snapshot.dense(&vector("one", 4), 1, None, Effort::default()).unwrap();
    index.verify().unwrap();
    assert_eq!(state(), untouched);
}

/// Codes and graphs of segments that commits write and merge, by readers that ask for them.
#[test]
fn graphs_live_through_commits_deletions_and_merges() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(&dir.path().join("i"), Some(16));
    let segments = vector::SegmentOptions { codes_from: 1, graph_from: 8, threads: 1, ..Default::default() };
    let options = WriterOptions { segments, ..WriterOptions::default() };
    let texts = |from: usize, to: usize| (from..to).map(|at| format!("text number {at}")).collect::<Vec<_>>();
    for round in 0..6 {
        let mut writer = index.writer(&options).unwrap();
        for file in 0..3 {
            let texts = texts(100 * round + 10 * file, 100 * round + 10 * (file + 1));
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            // The third file of each round takes the place of that of the round before.
            let name = if file == 2 { "again.md".to_owned() } else { format!("{round}-{file}.md") };
            put(&mut writer, source(&name), Some("en"), &texts);
        }
        writer.commit().unwrap();
        sound(&index);
        let snapshot = index.snapshot().unwrap();
        let wanted = vector(&format!("text number {}", 100 * round + 7), 16);
        let exact = snapshot.dense(&wanted, 3, None, Effort::Exact).unwrap();
        for effort in [Effort::Walk { ef: 200, slack: f32::INFINITY }, Effort::Flat, Effort::default()] {
            let (found, work) = snapshot.dense(&wanted, 3, None, effort).unwrap();
            // The others of such few values may be missed now and then.
            assert_eq!((found.len(), found[0]), (3, exact.0[0]), "round {round}, {effort}");
            assert_eq!(work.exact, 0, "round {round}, {effort}");
        }
        let walked = snapshot.dense(&wanted, 10, None, Effort::Walk { ef: 50, slack: f32::INFINITY }).unwrap().1;
        assert!(walked.graph > 0 && walked.hops > 0);
    }
    let snapshot = index.snapshot().unwrap();
    assert_eq!(snapshot.vectors().len(), 6 * 20 + 10);
}
