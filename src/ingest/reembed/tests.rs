use std::io::Cursor;

use super::*;
use crate::{
    index::{Index, Settings, Snapshot, WriterOptions},
    ingest::{ImportOptions, extract::Worker, import},
    model::{self, fake::FakeEmbedder},
    types::EmbeddingSpace,
};

/// Another model: the same vectors turned around, and it asks for a stop, or fails, after so many texts.
struct Other {
    inner: FakeEmbedder,
    space: EmbeddingSpace,
    cancel: Cancel,
    stops_after: usize,
    made: std::sync::atomic::AtomicUsize,
    /// What the index says while it is being embedded anew.
    dir: PathBuf,
}

impl Other {
    fn new(dir: &std::path::Path, stops_after: usize, fails_after: usize) -> Self {
        let inner = FakeEmbedder::failing_after(fails_after);
        let space = EmbeddingSpace { model: "other".into(), ..inner.space().clone() };
        Self { inner, space, cancel: Cancel::default(), stops_after, made: 0.into(), dir: dir.to_path_buf() }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut row = FakeEmbedder::new().embed_passages(&[text]).unwrap();
        row.reverse();
        row
    }
}

impl Embedder for Other {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }
    fn embed_passages(&self, texts: &[&str]) -> model::Result<Vec<f32>> {
        self.inner.embed_passages(texts)?;
        let made = self.made.fetch_add(texts.len(), std::sync::atomic::Ordering::SeqCst) + texts.len();
        if made >= self.stops_after && !self.cancel.is_asked() {
            self.cancel.ask();
        }
        // Whoever asks meanwhile is answered by the old space, whole.
        let snapshot = Index::open(&self.dir).unwrap().snapshot().unwrap();
        assert_eq!(snapshot.space().unwrap().model, "fake-hash");
        assert_eq!(snapshot.stats().unwrap().vectors, snapshot.stats().unwrap().chunks);
        Ok(texts.iter().flat_map(|text| self.vector(text)).collect())
    }
    fn embed_query(&self, text: &str) -> model::Result<Vec<f32>> {
        Ok(self.vector(text))
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn batch_size(&self) -> usize {
        10
    }
    fn backend(&self) -> String {
        "other".into()
    }
}

const DOCUMENTS: usize = 600;

fn index(dir: &std::path::Path) -> Index {
    let embedder = FakeEmbedder::new();
    let index = Index::create(dir, &Settings { space: Some(embedder.space().clone()) }).unwrap();
    let mut writer = index.writer(&WriterOptions::default()).unwrap();
    let lines: String = (0..DOCUMENTS)
        // Every tenth text stands twice: one vector, two chunks.
        .map(|at| {
            format!("{{\"id\": \"{at}\", \"title\": \"t\", \"text\": \"buoy number {}\"}}\n", at - at % 10 % 9 / 8)
        })
        .collect();
    let options = ImportOptions {
        index_dir: dir.to_path_buf(),
        collection: None,
        tags: Default::default(),
        chunk_tokens: 200,
        chunk_overlap: 0,
        timeout: Duration::from_secs(10),
        worker: Worker::InProcess,
    };
    let input = &mut Cursor::new(lines);
    import(&mut writer, Some(&embedder), input, &options, &|_: Event<'_>| {}, &Cancel::default()).unwrap();
    index
}

fn run(index: &Index, embedder: Option<&Other>) -> Result<Reembedded> {
    let mut writer = index.writer(&WriterOptions::default()).unwrap();
    let options = ReembedOptions { index_dir: index.dir().to_path_buf(), chunk_tokens: 200 };
    let cancel = embedder.map(|embedder| embedder.cancel.clone()).unwrap_or_default();
    reembed(&mut writer, embedder.map(|e| e as &dyn Embedder), &options, &|_: Event<'_>| {}, &cancel)
}

/// Every chunk has the other model's vector of its text.
fn check(snapshot: &Snapshot, other: &Other) {
    assert_eq!(snapshot.space(), Some(&other.space));
    for source in snapshot.sources(None).unwrap() {
        for record in snapshot.chunks_of(source.id).unwrap() {
            let text = chunk::embedding_text(&record, chunk::limit_for(200, reads(&other.space)));
            assert_eq!(snapshot.vector(record.id).unwrap(), other.vector(&text));
        }
    }
}

#[test]
fn a_run_that_is_stopped_or_fails_goes_on_where_it_was() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    let index = index(&dir);
    let before = index.snapshot().unwrap();

    let stopped = run(&index, Some(&Other::new(&dir, 300, usize::MAX))).unwrap();
    assert!(stopped.interrupted && stopped.generation == before.generation(), "{stopped:?}");
    assert_eq!(index.snapshot().unwrap().space(), before.space());
    assert_eq!(index.begun_spaces().unwrap().len(), 1);
    let verified = index.verify().unwrap();
    assert_eq!((verified.faults, verified.orphans), (vec![], vec![]));
    // A writer in between leaves what was made, and brings a chunk more and one less.
    let mut writer = index.writer(&WriterOptions::default()).unwrap();
    writer.remove(before.sources(None).unwrap()[3].id).unwrap();
    writer.commit().unwrap();
    drop(writer);

    assert!(run(&index, Some(&Other::new(&dir, usize::MAX, 100))).is_err());
    let other = Other::new(&dir, usize::MAX, usize::MAX);
    let done = run(&index, Some(&other)).unwrap();
    assert!(done.resumed >= stopped.embedded && stopped.embedded >= 256, "{done:?} after {stopped:?}");
    assert!(done.embedded < 400 && !done.interrupted, "{done:?}");
    assert_eq!(done.chunks, DOCUMENTS as u64 - 1);
    let snapshot = index.snapshot().unwrap();
    assert_eq!(snapshot.generation(), done.generation);
    check(&snapshot, &other);
    let verified = index.verify().unwrap();
    assert_eq!((verified.faults, verified.orphans), (vec![], vec![]));
    assert_eq!(std::fs::read_dir(dir.join("vectors")).unwrap().count(), 1, "the old space is gone");
    assert!(run(&index, Some(&other)).unwrap().unchanged);
}

#[test]
fn vectors_may_go_and_come_again() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    let index = index(&dir);
    let gone = run(&index, None).unwrap();
    assert!(!gone.unchanged && run(&index, None).unwrap().unchanged);
    let snapshot = index.snapshot().unwrap();
    assert_eq!((snapshot.space(), snapshot.stats().unwrap().vectors), (None, 0));
    assert_eq!(index.verify().unwrap().faults, []);
    assert_eq!(std::fs::read_dir(dir.join("vectors")).unwrap().count(), 0);
    let fake = FakeEmbedder::new();
    let mut writer = index.writer(&WriterOptions::default()).unwrap();
    let options = ReembedOptions { index_dir: dir.clone(), chunk_tokens: 200 };
    let back = reembed(&mut writer, Some(&fake), &options, &|_: Event<'_>| {}, &Cancel::default()).unwrap();
    assert_eq!((back.chunks, back.generation), (DOCUMENTS as u64, gone.generation + 1));
    assert!(back.embedded < DOCUMENTS as u64, "one text is embedded once");
    drop(writer);
    assert_eq!(index.verify().unwrap().faults, []);
}

#[test]
fn an_empty_index_changes_its_space() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    let index = Index::create(&dir, &Settings { space: None }).unwrap();
    let other = Other::new(&dir, usize::MAX, usize::MAX);
    assert_eq!(run(&index, Some(&other)).unwrap().chunks, 0);
    assert_eq!(index.snapshot().unwrap().space(), Some(&other.space));
    assert_eq!(index.verify().unwrap().faults, []);
}
