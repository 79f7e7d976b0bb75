//! The writing thread as its neighbours use it.

use std::{collections::BTreeMap, path::Path, sync::Barrier};

use super::*;
use crate::{
    index::{Settings, SourceRecord},
    ingest::{Content, Deposit, Loaders, extract},
    model::{self, fake::FakeEmbedder},
    types::{EmbeddingSpace, SourcePath},
};

const LONG: Duration = Duration::from_secs(60);

/// Refuses texts with a certain word.
struct Choosy(FakeEmbedder);

impl Embedder for Choosy {
    fn space(&self) -> &EmbeddingSpace {
        self.0.space()
    }
    fn embed_passages(&self, texts: &[&str]) -> model::Result<Vec<f32>> {
        if texts.iter().any(|text| text.contains("refused")) {
            return Err(model::Error::Run { model: "choosy".into(), why: "it does not like the text".into() });
        }
        self.0.embed_passages(texts)
    }
    fn embed_query(&self, text: &str) -> model::Result<Vec<f32>> {
        self.0.embed_query(text)
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn batch_size(&self) -> usize {
        8
    }
    fn backend(&self) -> String {
        "choosy".into()
    }
}

fn index_at(dir: &Path) -> Index {
    let space = FakeEmbedder::new().space().clone();
    Index::create(dir, &Settings { space: Some(space) }).unwrap()
}

fn start(dir: &Path, wait: Duration, queue: usize) -> Writes {
    let deposit = DepositOptions {
        index_dir: dir.to_owned(),
        chunk_tokens: 230,
        chunk_overlap: 40,
        max_file_bytes: 1 << 20,
        archives: false,
        loaders: Loaders::default(),
        timeout: LONG,
        worker: extract::Worker::InProcess,
    };
    let writer = WriterOptions { wait, command: "test".into(), ..WriterOptions::default() };
    let dir = dir.to_owned();
    let embedder: Arc<dyn Embedder> = Arc::new(Choosy(FakeEmbedder::new()));
    let open = move || Ok((index_at(&dir), Some(Arc::clone(&embedder))));
    Writes::start(WritesOptions { deposit, writer, queue }, Box::new(open)).unwrap()
}

fn document(name: &str, text: &str) -> Deposit {
    Deposit {
        collection: "default".into(),
        root: "given".into(),
        name: name.into(),
        content: Content::Plain(text.into()),
        title: None,
        tags: None,
        metadata: BTreeMap::new(),
    }
}

fn id(name: &str) -> crate::types::SourceId {
    SourceRecord::id_of("default", "given", &SourcePath::from_spelling(name))
}

fn names(dir: &Path) -> Vec<String> {
    let sources = Index::open(dir).unwrap().snapshot().unwrap().sources(None).unwrap();
    sources.into_iter().map(|source| source.path.to_string()).collect()
}

#[test]
fn one_alone_is_committed_at_once_and_stands_when_it_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let writes = start(dir.path(), LONG, 8);
    for n in 1..=3 {
        let done = writes.submit(Change::put(document(&format!("{n}"), "high water"))).unwrap().wait_here().unwrap();
        assert_eq!(done.generation, n);
        assert_eq!(names(dir.path()).len() as u64, n);
    }
    let done = writes.submit(Change::remove(vec![id("2"), id("nothing")])).unwrap().wait_here().unwrap();
    assert_eq!(done.removed.iter().map(|record| record.path.as_str()).collect::<Vec<_>>(), ["2"]);
    assert_eq!(names(dir.path()), ["1", "3"]);
}

#[test]
fn many_writers_share_commits() {
    const WRITERS: u64 = 16;
    const EACH: u64 = 8;
    let dir = tempfile::tempdir().unwrap();
    let writes = start(dir.path(), LONG, 64);
    let barrier = Barrier::new(WRITERS as usize);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (writes, barrier) = (&writes, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for n in 0..EACH {
                    let text = format!("tide table {writer} of day {n}");
                    let change = Change::put(document(&format!("{writer}-{n}"), &text));
                    let done = writes.submit(change).unwrap().wait_here().unwrap();
                    assert_eq!(done.put.len(), 1);
                }
            });
        }
    });
    assert_eq!(names(dir.path()).len() as u64, WRITERS * EACH);
    let generation = Index::open(dir.path()).unwrap().snapshot().unwrap().generation();
    // Sixteen at a time would be eight; a window that opens late makes a few more.
    assert!(generation <= WRITERS * EACH / 3, "{generation} commits for {} changes", WRITERS * EACH);
    assert_eq!(Index::open(dir.path()).unwrap().verify().unwrap().faults, []);
}

#[test]
fn a_bad_change_takes_nothing_from_its_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    // While another writes they gather, so that they are one batch.
    let other = index_at(dir.path()).writer(&WriterOptions::default()).unwrap();
    let writes = start(dir.path(), LONG, 16);
    let submit = |change| writes.submit(change).unwrap();
    let good = submit(Change::put(document("good", "high water at six")));
    let blank = submit(Change::put(document("blank", "  \n ")));
    let refused = submit(Change::put(document("refused", "this is refused by the model")));
    // Rests on one that fails.
    let after = submit(Change::put(document("refused", "this is refused by the model")));
    let failing = submit(Change::planned(|_| Err(Told::usage("no such thing"))));
    let pair = submit(Change::planned(|_| {
        Ok(vec![
            Step::Put(Box::new(document("half", "low water at noon"))),
            Step::Put(Box::new(document("other half", " "))),
        ])
    }));
    let panicking = Change::planned(|view| {
        assert!(view.source(id("half")).unwrap().is_none(), "what was not done has left no trace");
        Ok(vec![Step::Put(Box::new(document("last", "slack water")))])
    });
    let last = submit(panicking);
    drop(other);
    assert_eq!(good.wait_here().unwrap().generation, 1);
    assert!(blank.wait_here().unwrap_err().message.contains("no text"));
    for receipt in [refused, after] {
        assert_eq!(receipt.wait_here().unwrap_err().kind, Kind::Model);
    }
    assert_eq!(failing.wait_here().unwrap_err(), Told::usage("no such thing"));
    assert!(pair.wait_here().is_err());
    assert_eq!(last.wait_here().unwrap().generation, 1);
    assert_eq!(names(dir.path()), ["good", "last"]);
}

#[test]
fn a_panic_is_an_answer_and_the_next_change_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let writes = start(dir.path(), LONG, 8);
    let receipt = writes.submit(Change::planned(|_| panic!("a mistake of the plan"))).unwrap();
    assert_eq!(receipt.wait_here().unwrap_err().kind, Kind::Bug);
    let receipt = writes.submit(Change::whole(|_, _| panic!("a mistake of the work"))).unwrap();
    assert_eq!(receipt.wait_here().unwrap_err().kind, Kind::Bug);
    writes.submit(Change::put(document("a", "high water"))).unwrap().wait_here().unwrap();
    assert_eq!(names(dir.path()), ["a"]);
}

#[test]
fn another_writer_is_waited_for_and_not_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let other = index_at(dir.path()).writer(&WriterOptions::default()).unwrap();
    let writes = start(dir.path(), Duration::from_millis(150), 8);
    let told = writes.submit(Change::put(document("a", "high water"))).unwrap().wait_here().unwrap_err();
    assert_eq!(told.kind, Kind::Locked);
    assert!(told.hint.unwrap().contains("try again"));
    let patient = start(dir.path(), LONG, 8);
    let receipt = patient.submit(Change::put(document("b", "high water"))).unwrap();
    drop(other);
    receipt.wait_here().unwrap();
    // Between changes the lock is free.
    index_at(dir.path()).writer(&WriterOptions { wait: LONG, ..WriterOptions::default() }).unwrap();
    assert_eq!(names(dir.path()), ["b"]);
}

#[test]
fn a_full_queue_refuses_and_closing_drains_what_was_taken() {
    let dir = tempfile::tempdir().unwrap();
    let other = index_at(dir.path()).writer(&WriterOptions::default()).unwrap();
    let writes = start(dir.path(), LONG, 2);
    let mut receipts = Vec::new();
    let refused = loop {
        match writes.submit(Change::put(document(&format!("{}", receipts.len()), "high water"))) {
            Ok(receipt) => receipts.push(receipt),
            Err(refused) => break refused,
        }
        // The thread holds one, the queue two.
        assert!(receipts.len() <= 3, "the queue has a bound");
    };
    assert_eq!(refused, NotTaken::Full);
    drop(other);
    assert!(writes.close(LONG), "all was done");
    assert!(matches!(writes.submit(Change::remove(vec![])), Err(NotTaken::Closed)));
    let taken = receipts.len();
    for receipt in receipts {
        receipt.wait_here().unwrap();
    }
    assert_eq!(names(dir.path()).len(), taken);
}

#[test]
fn closing_does_not_wait_for_another_writer_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let _other = index_at(dir.path()).writer(&WriterOptions::default()).unwrap();
    let writes = start(dir.path(), LONG, 8);
    let receipt = writes.submit(Change::put(document("a", "high water"))).unwrap();
    assert!(writes.close(LONG), "the thread has ended");
    assert_eq!(receipt.wait_here().unwrap_err().kind, Kind::Locked);
}

#[test]
fn work_that_commits_on_its_own_has_the_writer_to_itself() {
    let dir = tempfile::tempdir().unwrap();
    let writes = start(dir.path(), LONG, 8);
    let first = writes.submit(Change::put(document("a", "high water"))).unwrap();
    let whole = Change::whole(|writer, embedder| {
        assert!(embedder.is_some());
        assert_eq!(writer.pending().sources, 0);
        writer.remove(id("a"))?;
        writer.commit()?;
        Ok(())
    });
    let whole = writes.submit(whole).unwrap();
    let last = writes.submit(Change::put(document("b", "low water"))).unwrap();
    let generations: Vec<u64> =
        [first, whole, last].into_iter().map(|receipt| receipt.wait_here().unwrap().generation).collect();
    assert_eq!(generations, [1, 2, 3]);
    assert_eq!(names(dir.path()), ["b"]);
}

#[test]
fn changes_of_one_batch_see_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let other = index_at(dir.path()).writer(&WriterOptions::default()).unwrap();
    let writes = start(dir.path(), LONG, 8);
    let put = writes.submit(Change::put(document("a", "high water"))).unwrap();
    let removed = writes.submit(Change::remove(vec![id("a")])).unwrap();
    let again = writes.submit(Change::put(document("a", "low water"))).unwrap();
    drop(other);
    assert_eq!(put.wait_here().unwrap().put[0].1, crate::ingest::Deposited::Added);
    assert_eq!(removed.wait_here().unwrap().removed.len(), 1);
    assert_eq!(again.wait_here().unwrap().put[0].1, crate::ingest::Deposited::Added);
    let snapshot = Index::open(dir.path()).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.chunks_of(id("a")).unwrap()[0].text, "low water");
}
