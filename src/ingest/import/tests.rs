use std::io::Cursor;

use super::*;
use crate::{
    index::{Index, Settings, SourceRecord, WriterOptions},
    model::fake::FakeEmbedder,
    types::SourcePath,
};

fn options(dir: &std::path::Path) -> ImportOptions {
    ImportOptions {
        index_dir: dir.to_path_buf(),
        collection: None,
        tags: BTreeMap::new(),
        chunk_tokens: 60,
        chunk_overlap: 0,
        timeout: Duration::from_secs(10),
        worker: Worker::InProcess,
    }
}

/// Imports lines into a new index, or the one that is there.
fn run(dir: &std::path::Path, lines: &str) -> Report {
    let embedder = FakeEmbedder::new();
    let index = Index::create(dir, &Settings { space: Some(embedder.space().clone()) }).unwrap();
    let mut writer = index.writer(&WriterOptions::default()).unwrap();
    let mut input = Cursor::new(lines.as_bytes());
    import(&mut writer, Some(&embedder), &mut input, &options(dir), &|_: Event<'_>| {}, &Cancel::default()).unwrap()
}

fn names(list: &[report::Outcome]) -> Vec<&str> {
    list.iter().map(|outcome| outcome.path.as_str()).collect()
}

#[test]
fn plain_lines_are_documents() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    let lines = concat!(
        "\u{feff}{\"_id\": 7, \"title\": \"Buoys\", \"text\": \"The red buoy lies north.\", \"metadata\": {\"year\": 2026, \"x\": null}}\n",
        "\n",
        "{\"path\": \"notes/a.md\", \"text\": \"# One\\n\\nFirst.\\n\\n# Two\\n\\nSecond.\", \"tags\": {\"team\": \"ops\"}}\r\n",
        "{\"id\": \"empty\", \"text\": \"  \"}\n",
        "{\"id\": \"paged\", \"type\": \"pdf\", \"pages\": [{\"number\": 1, \"text\": \"Page one.\"}, {\"number\": 4, \"text\": \"Page four.\"}]}",
    );
    let report = run(&dir, lines);
    assert_eq!(names(&report.added), ["import/7", "import/empty", "import/notes/a.md", "import/paged"]);
    assert_eq!(names(&report.warnings), ["import/empty"]);
    let snapshot = Index::open(&dir).unwrap().snapshot().unwrap();
    let of = |path: &str| {
        let id = SourceRecord::id_of("default", IMPORT_ROOT, &SourcePath::from_spelling(path));
        (snapshot.source(id).unwrap().unwrap(), snapshot.chunks_of(id).unwrap())
    };
    let (buoys, chunks) = of("7");
    assert_eq!((buoys.title.as_deref(), chunks[0].title.as_deref()), (Some("Buoys"), Some("Buoys")));
    assert_eq!(buoys.metadata, [("year".to_owned(), "2026".to_owned())].into());
    let (note, chunks) = of("notes/a.md");
    assert_eq!((note.format.as_str(), note.tags["team"].as_str()), ("markdown", "ops"));
    assert!(chunks.iter().any(|chunk| chunk.heading == ["Two"]), "{chunks:?}");
    let (_, chunks) = of("paged");
    assert_eq!(chunks.last().unwrap().pages.unwrap().last, 4, "{chunks:?}");
    assert_eq!(Index::open(&dir).unwrap().verify().unwrap().faults, []);
    // The same lines again change nothing.
    let again = run(&dir, lines);
    assert_eq!((again.unchanged.len(), again.generation), (4, report.generation));
    let changed = run(&dir, "{\"id\":\"7\",\"title\":\"Buoys\",\"text\":\"The red buoy lies south.\"}");
    assert_eq!(names(&changed.updated), ["import/7"]);
}

#[test]
fn what_is_no_document_is_named_by_its_line() {
    let room = tempfile::tempdir().unwrap();
    let cases = [
        ("[1]", "no JSON object"),
        ("{\"text\": \"no name\"}", "neither `path` nor `id`"),
        ("{\"id\": \"x\"}", "neither `text` nor `pages`"),
        ("{\"root\": \"\", \"path\": \"../../etc/passwd\", \"text\": \"x\"}", "no path below its root"),
        ("{\"root\": \"a/b\", \"path\": \"x\", \"text\": \"x\"}", "no name of a root"),
        ("{\"id\": \"x\", \"collection\": \"a/b\", \"text\": \"x\"}", "no name of a collection"),
        ("{\"id\": \"x\", \"chunks\": [{\"byte_range\": [5, 6], \"text\": \"long\"}]}", "chunk 0 has 4 bytes"),
        ("{\"id\": \"x\", \"chunks\": [{\"byte_range\": [18446744073709551615, 3], \"text\": \"long\"}]}", "chunk 0"),
    ];
    let lines: String = cases.iter().map(|(line, _)| format!("{line}\n")).collect();
    let report = run(&room.path().join("i"), &(lines + "{\"id\": \"good\", \"text\": \"good\"}\n"));
    assert_eq!(names(&report.added), ["import/good"]);
    for (number, (line, why)) in (1..).zip(cases) {
        let path = format!("line {number}");
        let failed = report.failed.iter().find(|outcome| outcome.path == path).expect(line);
        assert!(failed.problems[0].message.contains(why), "{line}: {}", failed.problems[0].message);
    }
}

#[test]
fn a_later_line_of_the_same_name_counts() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    run(&dir, "{\"id\":\"a\",\"text\":\"first\"}\n{\"id\":\"a\",\"text\":\"second\"}\n");
    let snapshot = Index::open(&dir).unwrap().snapshot().unwrap();
    let sources = snapshot.sources(None).unwrap();
    assert_eq!(sources.len(), 1);
    assert_eq!(snapshot.chunks_of(sources[0].id).unwrap()[0].text, "second");
}

#[test]
fn vectors_of_another_model_are_not_taken() {
    let room = tempfile::tempdir().unwrap();
    let embedder = FakeEmbedder::new();
    let first = run(&room.path().join("a"), "{\"id\":\"a\",\"text\":\"the buoy\"}");
    assert_eq!(first.chunks_embedded, 1);
    let snapshot = Index::open(&room.path().join("a")).unwrap().snapshot().unwrap();
    let source = snapshot.sources(None).unwrap().remove(0);
    let chunk = snapshot.chunks_of(source.id).unwrap().remove(0);
    let hash: String = snapshot.embed_hash(chunk.id).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    let vector = snapshot.vector(chunk.id).unwrap().into_owned();
    let line = |vector: &[f32], hash: &str| {
        serde_json::json!({
            "root": IMPORT_ROOT, "path": "import/a", "space": {"id": embedder.space().folder()},
            "chunks": [{"chunk_id": chunk.id, "byte_range": [chunk.span.start, chunk.span.end], "title": chunk.title,
                "text": chunk.text, "tokens": 2, "fertility": 1.0, "embed_hash": hash, "vector": vector}],
        })
        .to_string()
    };
    let other: Vec<f32> = vector.iter().rev().map(|value| -value).collect();
    let cases = [
        ("as it was", line(&vector, &hash), 0),
        ("another model's", line(&other, &hash), 1),
        ("of another text", line(&vector, "00"), 1),
        ("of another length", line(&vector[1..], &hash), 1),
    ];
    for (at, (what, line, embedded)) in cases.into_iter().enumerate() {
        let dir = room.path().join(format!("b{at}"));
        let report = run(&dir, &line);
        assert_eq!((report.added.len(), report.chunks_embedded), (1, embedded), "{what}: {report:?}");
        let snapshot = Index::open(&dir).unwrap().snapshot().unwrap();
        assert_eq!(snapshot.vector(chunk.id).unwrap(), vector, "{what}");
    }
}

#[test]
fn a_line_without_an_end_is_passed_over() {
    let mut input = Cursor::new(b"a\n\nlast".to_vec());
    let (mut line, mut lines) = (Vec::new(), Vec::new());
    while next_line(&mut input, &mut line).unwrap() {
        lines.push(String::from_utf8(line.clone()).unwrap());
    }
    assert_eq!(lines, ["a", "", "last"]);
    let mut rest = Cursor::new(b"tail of a long line\nnext".to_vec());
    skip_line(&mut rest).unwrap();
    assert!(next_line(&mut rest, &mut line).unwrap() && line == b"next");
}

#[test]
fn what_is_to_be_embedded_is_told_before_it_is() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    let embedder = FakeEmbedder::new();
    let index = Index::create(&dir, &Settings { space: Some(embedder.space().clone()) }).unwrap();
    let mut writer = index.writer(&WriterOptions::default()).unwrap();
    let lines: String =
        (0..40).map(|n| format!("{{\"id\": {n}, \"text\": \"Buoy {} lies north.\"}}\n", n / 2)).collect();
    let told = std::sync::Mutex::new((0_u64, 0_u64, 0_u64));
    let hear = |event: Event<'_>| {
        let mut told = told.lock().unwrap();
        if let Event::Chunked { chunks, to_embed, .. } = event {
            told.0 += chunks;
            told.1 += to_embed;
        } else if let Event::Embedded { chunks } = event {
            told.2 += chunks;
            assert!(told.2 <= told.1, "{told:?}");
        }
    };
    let mut input = Cursor::new(lines.as_bytes());
    import(&mut writer, Some(&embedder), &mut input, &options(&dir), &hear, &Cancel::default()).unwrap();
    let (chunks, to_embed, embedded) = *told.lock().unwrap();
    assert_eq!((chunks, to_embed), (40, embedded));
    assert!(embedded > 0, "something was embedded");
}
