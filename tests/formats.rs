//! An index of every format that was released must open, answer, verify and be written on. `tests/fixtures/formats/v1` is of
//! format 1, made once by `make_the_first_format` below and never again: what is read here is what others have on disk.

#![allow(clippy::unwrap_used, reason = "helpers of tests, outside any `#[test]`")]

use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
    time::Duration,
};

use rag::{
    index::{Effort, Index, QuerySyntax, Settings, Snapshot, WriterOptions},
    ingest::{self, Event, ImportOptions, extract::Worker},
    model::{Embedder, fake::FakeEmbedder},
    types::Cancel,
};

const LINES: &str = r#"{"id":"tides.md","title":"Tides","tags":{"team":"sea"},"metadata":{"author":"Ines"},"text":"The spring tide follows the new moon.\n\nThe neap tide follows the quarter."}
{"id":"buoys.md","text":"Buoys\n\nThe red buoy lies north of the wreck, the green one south of it."}
{"id":"gezeiten.txt","text":"Die Springflut folgt auf den Neumond, die Nippflut auf das Viertel des Mondes."}
{"id":"paged","type":"pdf","page_count":2,"pages":[{"number":1,"text":"The lighthouse was built of granite."},{"number":2,"text":"Its lamp burns paraffin."}]}
"#;

const KINDS: [&str; 2] = ["words", "vectors"];

fn fixture(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats/v1").join(kind)
}

fn import(index: &Index, embedder: Option<&dyn Embedder>, lines: &str) {
    let mut writer = index.writer(&WriterOptions { command: "test".into(), ..WriterOptions::default() }).unwrap();
    let options = ImportOptions {
        index_dir: index.dir().to_path_buf(),
        collection: None,
        tags: Default::default(),
        chunk_tokens: 200,
        chunk_overlap: 0,
        timeout: Duration::from_secs(10),
        worker: Worker::InProcess,
    };
    let input = &mut Cursor::new(lines);
    ingest::import(&mut writer, embedder, input, &options, &|_: Event<'_>| {}, &Cancel::default()).unwrap();
}

#[test]
#[ignore = "made once: a new format gets a folder of its own"]
fn make_the_first_format() {
    let fake = FakeEmbedder::new();
    for kind in KINDS {
        let dir = fixture(kind);
        let _ = fs::remove_dir_all(&dir);
        let embedder = (kind == "vectors").then_some(&fake as &dyn Embedder);
        let settings = Settings { space: embedder.map(|embedder| embedder.space().clone()) };
        let index = Index::create(&dir, &settings).unwrap();
        import(&index, embedder, LINES);
        // A second generation, with tombstones and a second segment.
        import(&index, embedder, &LINES.lines().next().unwrap().replace("neap", "low"));
        for scratch in ["tmp", "cache", "lock"] {
            let path = dir.join(scratch);
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}

/// A copy that may be written.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn best(snapshot: &Snapshot, words: &str) -> String {
    let query = snapshot.lexical_query(words, QuerySyntax::Plain).unwrap();
    let found = snapshot.lexical(&query, 3, None).unwrap();
    snapshot.chunk(found.first().unwrap_or_else(|| panic!("nothing for {words}")).0).unwrap().unwrap().path
}

fn answers(snapshot: &Snapshot) {
    for (words, path) in [
        ("spring tides follow the moon", "import/tides.md"),
        ("low tide", "import/tides.md"),
        ("wreck", "import/buoys.md"),
        ("Springflut", "import/gezeiten.txt"),
        ("lamps burning", "import/paged"),
    ] {
        assert_eq!(best(snapshot, words), path, "{words}");
    }
    let sources = snapshot.sources(None).unwrap();
    let tides = sources.iter().find(|source| source.path.as_str() == "tides.md").unwrap();
    assert_eq!((tides.tags["team"].as_str(), tides.metadata["author"].as_str()), ("sea", "Ines"));
    let paged = sources.iter().find(|source| source.path.as_str() == "paged").unwrap();
    let pages = snapshot.chunks_of(paged.id).unwrap().last().unwrap().pages.unwrap();
    assert_eq!((paged.pages, pages.last), (Some(2), 2));
}

#[test]
fn cr13_an_index_of_the_first_format_is_read_where_it_lies() {
    for kind in KINDS {
        let index = Index::open(&fixture(kind)).unwrap();
        assert_eq!(index.format().unwrap(), 1, "{kind}");
        let snapshot = index.snapshot().unwrap();
        assert_eq!(snapshot.generation(), 2);
        answers(&snapshot);
        for verified in [index.verify().unwrap(), index.verify_thoroughly().unwrap()] {
            assert_eq!((verified.faults, verified.orphans), (vec![], vec![]), "{kind}");
        }
        if kind == "vectors" {
            let fake = FakeEmbedder::new();
            assert_eq!(snapshot.space(), Some(fake.space()));
            let chunk = snapshot.chunks_of(snapshot.sources(None).unwrap()[0].id).unwrap().remove(0);
            let vector = snapshot.vector(chunk.id).unwrap().into_owned();
            let (found, _) = snapshot.dense(&vector, 1, None, Effort::Exact).unwrap();
            assert_eq!(found[0].0, chunk.id);
        }
    }
}

#[test]
fn cr13_an_index_of_the_first_format_is_written_on() {
    let fake = FakeEmbedder::new();
    for kind in KINDS {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path().join("i");
        copy(&fixture(kind), &dir);
        let index = Index::open(&dir).unwrap();
        let embedder = (kind == "vectors").then_some(&fake as &dyn Embedder);
        import(&index, embedder, "{\"id\":\"new\",\"text\":\"A new page about anchors.\"}");
        let mut writer = index.writer(&WriterOptions::default()).unwrap();
        writer.compact().unwrap().unwrap();
        drop(writer);
        let snapshot = index.snapshot().unwrap();
        answers(&snapshot);
        assert_eq!(best(&snapshot, "anchor"), "import/new");
        let verified = index.verify_thoroughly().unwrap();
        assert_eq!((verified.faults, verified.orphans), (vec![], vec![]), "{kind}");
    }
}

#[test]
fn cr13_a_newer_format_is_read_if_it_allows_it_and_never_written() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    copy(&fixture("words"), &dir);
    let index = Index::open(&dir).unwrap();
    let format = fs::read_to_string(dir.join("FORMAT")).unwrap();
    let as_format = |format_number: u32, least: u32| {
        let text = format.replace("format = 1", &format!("format = {format_number}"));
        fs::write(dir.join("FORMAT"), text.replace("least_reader = 1", &format!("least_reader = {least}"))).unwrap();
    };
    as_format(2, 1);
    answers(&index.snapshot().unwrap());
    let refused = index.writer(&WriterOptions::default()).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("format 2"), "{refused}");
    as_format(2, 2);
    assert!(Index::open(&dir).unwrap_err().to_string().contains("knows formats up to 1"));
}
