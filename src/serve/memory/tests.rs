//! Memories from remembering to forgetting, at times that the tests set.

use std::{path::Path, sync::Arc, time::Duration};

use super::*;
use crate::{
    index::{Index, Settings, Snapshot, WriterOptions},
    ingest::{DepositOptions, Loaders, extract},
    model::{Embedder, fake::FakeEmbedder},
    retrieve::Strength,
    serve::writes::{Done, Writes, WritesOptions},
};

const LONG: Duration = Duration::from_secs(60);
const DAY_MS: i64 = 86_400_000;
const NOW: i64 = 1_800_000_000_000;

struct Head {
    dir: tempfile::TempDir,
    writes: Writes,
    embedder: FakeEmbedder,
}

fn open(dir: &Path) -> Writes {
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
    let writer = WriterOptions { wait: LONG, command: "test".into(), ..WriterOptions::default() };
    let dir = dir.to_owned();
    let embedder: Arc<dyn Embedder> = Arc::new(FakeEmbedder::new());
    let settings = Settings { space: Some(embedder.space().clone()) };
    let open = move || Ok((Index::create(&dir, &settings)?, Some(Arc::clone(&embedder))));
    Writes::start(WritesOptions { deposit, writer, queue: 8 }, Box::new(open)).unwrap()
}

impl Head {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let writes = open(dir.path());
        Self { dir, writes, embedder: FakeEmbedder::new() }
    }

    fn remember_at(&self, now_ms: i64, memory: Remember) -> Result<(Done, String), Told> {
        let (change, key) = remember(memory, now_ms)?;
        Ok((self.writes.submit(change)?.wait_here()?, key))
    }

    fn forget_at(&self, now_ms: i64, what: &Forget) -> usize {
        let done = self.writes.submit(forget(what, now_ms).unwrap()).unwrap().wait_here().unwrap();
        what.forgotten(&done, now_ms)
    }

    fn snapshot(&self) -> Snapshot {
        Index::open(self.dir.path()).unwrap().snapshot().unwrap()
    }

    fn recalled(&self, now_ms: i64, query: &str, namespace: &str, tags: &[&str]) -> Vec<String> {
        let wanted = Recall {
            query: query.into(),
            namespace: namespace.into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            k: 10,
            min_relevance: None,
        };
        let found = recall(&self.snapshot(), Some(&self.embedder), &wanted, now_ms).unwrap();
        found.memories.into_iter().map(|(memory, _)| memory.key).collect()
    }

    fn all(&self, now_ms: i64) -> Vec<Memory> {
        list(&self.snapshot(), None, &[], (0, 100), now_ms).unwrap().memories
    }
}

fn memory(namespace: &str, key: Option<&str>, content: &str) -> Remember {
    Remember {
        namespace: namespace.into(),
        key: key.map(str::to_owned),
        content: content.into(),
        tags: Vec::new(),
        ttl: None,
    }
}

#[test]
fn the_same_key_replaces_and_keeps_when_it_was_first() {
    let head = Head::new();
    head.remember_at(NOW, memory("default", Some("quay"), "the quay is closed")).unwrap();
    head.remember_at(NOW + 5, memory("default", Some("quay"), "the quay is open")).unwrap();
    head.remember_at(NOW + 6, memory("work", Some("quay"), "the quay at work")).unwrap();
    let all = head.all(NOW + 7);
    let shown: Vec<(&str, &str, i64, i64)> = all
        .iter()
        .map(|m| (m.namespace.as_str(), m.content.as_str(), m.created_ms - NOW, m.updated_ms - NOW))
        .collect();
    assert_eq!(shown, [("default", "the quay is open", 0, 5), ("work", "the quay at work", 6, 6)]);
    assert_eq!(head.recalled(NOW + 7, "quay", "default", &[]), ["quay"]);
}

#[test]
fn without_a_key_the_same_content_is_one_memory() {
    let head = Head::new();
    let (_, first) = head.remember_at(NOW, memory("default", None, "tide tables are in the drawer")).unwrap();
    let (_, again) = head.remember_at(NOW + 1, memory("default", None, "tide tables are in the drawer")).unwrap();
    let (_, other) = head.remember_at(NOW + 2, memory("default", None, "tide tables are on the desk")).unwrap();
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert_eq!(head.all(NOW + 3).len(), 2);
}

#[test]
fn what_has_expired_is_not_there_and_goes_with_the_next_write() {
    let head = Head::new();
    let short =
        Remember { ttl: Some(Duration::from_secs(60)), ..memory("default", Some("short"), "high water at six") };
    head.remember_at(NOW, short.clone()).unwrap();
    head.remember_at(NOW, memory("default", Some("long"), "low water at noon")).unwrap();
    assert_eq!(head.recalled(NOW + 59_999, "high water", "default", &[]), ["short", "long"]);
    let later = NOW + 60_000;
    assert_eq!(head.recalled(later, "high water", "default", &[]), ["long"]);
    assert_eq!(head.all(later).len(), 1);
    assert_eq!(namespaces(&head.snapshot(), later).unwrap()["default"], 1);
    assert_eq!(head.snapshot().sources(None).unwrap().len(), 2, "nothing was written yet");
    assert_eq!(head.forget_at(later, &Forget { namespace: "default".into(), key: Some("short".into()) }), 0);
    assert_eq!(head.snapshot().sources(None).unwrap().len(), 1, "the write took it along");
    // Remembered again it begins anew.
    head.remember_at(later, short).unwrap();
    let all = head.all(later);
    assert_eq!(all[1].created_ms, later);
    assert_eq!(all[1].expires_ms, Some(later + 60_000));
    // And without a time to live it stays.
    head.remember_at(later + 1, memory("default", Some("short"), "high water at six")).unwrap();
    assert_eq!(head.all(later + 1000 * DAY_MS).len(), 2);
}

#[test]
fn namespaces_are_apart_and_tags_narrow() {
    let head = Head::new();
    let tagged = |key: &str, tags: &[&str]| Remember {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..memory("team", Some(key), "the ferry leaves at nine")
    };
    head.remember_at(NOW, tagged("a", &["ferry", "daily: yes", "\"quoted\""])).unwrap();
    head.remember_at(NOW, tagged("b", &["ferry"])).unwrap();
    head.remember_at(NOW, memory("other", Some("c"), "the ferry leaves at ten")).unwrap();
    let sorted = |mut keys: Vec<String>| {
        keys.sort();
        keys
    };
    assert_eq!(sorted(head.recalled(NOW, "ferry", "team", &[])), ["a", "b"]);
    assert_eq!(sorted(head.recalled(NOW, "ferry", "team", &["ferry"])), ["a", "b"]);
    assert_eq!(head.recalled(NOW, "ferry", "team", &["ferry", "daily: yes"]), ["a"]);
    assert_eq!(head.recalled(NOW, "ferry", "team", &["\"quoted\""]), ["a"]);
    assert_eq!(head.recalled(NOW, "ferry", "team", &["train"]), Vec::<String>::new());
    assert_eq!(head.recalled(NOW, "ferry", "other", &[]), ["c"]);
    assert_eq!(head.recalled(NOW, "ferry", "nowhere", &[]), Vec::<String>::new());
    let names = namespaces(&head.snapshot(), NOW).unwrap();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), [("other".to_owned(), 1), ("team".to_owned(), 2)]);
    assert_eq!(head.forget_at(NOW, &Forget { namespace: "team".into(), key: None }), 2);
    assert_eq!(head.all(NOW).len(), 1);
}

#[test]
fn content_comes_back_as_it_was() {
    let head = Head::new();
    let long = (0..400).map(|n| format!("Line {n} of the harbour log.\n\n\n")).collect::<String>();
    let texts = [
        "# Title\n\nunder it\n## Sub\n- a\n- b",
        "1 FIRST\n\n1.1 second\n\ntext",
        "    let x = 1;\n    let y = 2;",
        "ünïcödé 日本語 👍🏽",
        long.trim_end(),
    ];
    for (n, text) in texts.iter().enumerate() {
        head.remember_at(NOW, memory("default", Some(&n.to_string()), text)).unwrap();
    }
    for (n, memory) in head.all(NOW).iter().enumerate() {
        assert_eq!(memory.content, texts[n], "{n}");
    }
    // What hides text is not kept.
    head.remember_at(NOW, memory("hidden", Some("x"), "plain\u{202e} text\u{e0041}")).unwrap();
    let hidden = list(&head.snapshot(), Some("hidden"), &[], (0, 1), NOW).unwrap().memories;
    assert_eq!(hidden[0].content, "plain text");
}

#[test]
fn what_cannot_be_is_refused_with_a_next_step() {
    let long = "x".repeat(MAX_CONTENT_BYTES + 1);
    let bad = [
        memory("", None, "x"),
        memory("a/b", None, "x"),
        memory("a\nb", None, "x"),
        memory(&"n".repeat(MAX_NAME_BYTES + 1), None, "x"),
        memory("default", Some(""), "x"),
        memory("default", Some("a\0b"), "x"),
        memory("default", Some(&"k".repeat(MAX_KEY_BYTES + 1)), "x"),
        memory("default", None, " \n\t"),
        memory("default", None, &long),
        Remember { tags: vec![" ".into()], ..memory("default", None, "x") },
        Remember { tags: vec!["t".into(); MAX_TAGS + 1], ..memory("default", None, "x") },
    ];
    for memory in bad {
        let told = remember(memory.clone(), NOW).err().unwrap_or_else(|| panic!("{memory:?}"));
        assert_eq!(told.kind, crate::types::Kind::Usage, "{memory:?}");
    }
    assert!(forget(&Forget { namespace: "a/b".into(), key: None }, NOW).is_err());
}

#[test]
fn nonsense_is_weak_and_pages_are_cut() {
    let head = Head::new();
    for n in 0..7 {
        head.remember_at(NOW, memory("default", Some(&format!("k{n}")), &format!("buoy {n} is red"))).unwrap();
    }
    let page = list(&head.snapshot(), None, &[], (5, 5), NOW).unwrap();
    assert_eq!(page.total, 7);
    assert_eq!(page.memories.iter().map(|memory| memory.key.as_str()).collect::<Vec<_>>(), ["k5", "k6"]);
    let wanted = Recall {
        query: "quarterly revenue forecast".into(),
        namespace: "default".into(),
        tags: Vec::new(),
        k: 5,
        min_relevance: Some(0.5),
    };
    let found = recall(&head.snapshot(), Some(&head.embedder), &wanted, NOW).unwrap();
    assert_eq!(found.memories, []);
    assert_ne!(found.strength, Strength::Found);
}

#[test]
fn two_writers_share_one_memory() {
    let head = Head::new();
    let other = open(head.dir.path());
    std::thread::scope(|scope| {
        for (name, writes) in [("a", &head.writes), ("b", &other)] {
            scope.spawn(move || {
                for n in 0..10 {
                    let (change, _) = remember(memory(name, Some(&n.to_string()), "the tide turns"), NOW).unwrap();
                    writes.submit(change).unwrap().wait_here().unwrap();
                }
            });
        }
    });
    let names = namespaces(&head.snapshot(), NOW).unwrap();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 10), ("b".to_owned(), 10)]);
}
