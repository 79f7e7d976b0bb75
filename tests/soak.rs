//! Whether anything grows that should not: memory, handles, files, bytes. One process fills, changes, removes, merges and asks
//! for `SOAK_SECONDS` (4; `make soak` takes 300).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, outside any `#[test]`")]

use std::{
    collections::BTreeMap,
    fs,
    io::Cursor,
    path::Path,
    time::{Duration, Instant},
};

use rag::{
    index::{Effort, Index, QuerySyntax, Settings, WriterOptions},
    ingest::{self, Event, IMPORT_ROOT, ImportOptions, extract::Worker},
    model::{Embedder, fake::FakeEmbedder},
    types::{Cancel, SourcePath},
};

/// Documents in the index at any time.
const DOCUMENTS: u64 = 200;
/// Files of an index of this size that was just written: segments of both legs, manifests, the rest.
const MAX_FILES: usize = 400;

/// Bytes in memory and open handles; `None` where the system does not say.
fn usage() -> Option<(u64, usize)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let rss =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())?;
    let _: u64 = rss;
    Some((rss * 1024, fs::read_dir("/proc/self/fd").ok()?.count()))
}

fn files(dir: &Path) -> (usize, u64) {
    let mut found = (0, 0);
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let meta = entry.metadata().unwrap();
        let (count, bytes) = if meta.is_dir() { files(&entry.path()) } else { (1, meta.len()) };
        found = (found.0 + count, found.1 + bytes);
    }
    found
}

fn line(round: u64, at: u64) -> String {
    // Half of the documents change with each round, so most of what is written is soon dead.
    let text = if at.is_multiple_of(2) { format!("buoy {at} of round {round}") } else { format!("buoy {at} as ever") };
    format!("{{\"id\": \"{at}\", \"title\": \"Log\", \"text\": \"{text} {}\"}}\n", "drifts with the tide ".repeat(20))
}

#[test]
fn cr15_nothing_grows_over_time() {
    let seconds = std::env::var("SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let end = Instant::now() + Duration::from_secs(seconds);
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("i");
    let embedder = FakeEmbedder::new();
    let index = Index::create(&dir, &Settings { space: Some(embedder.space().clone()) }).unwrap();
    let options = ImportOptions {
        index_dir: dir.clone(),
        collection: None,
        tags: BTreeMap::new(),
        chunk_tokens: 200,
        chunk_overlap: 0,
        timeout: Duration::from_secs(10),
        worker: Worker::InProcess,
    };
    let (mut round, mut base, mut live) = (0, None, 0);
    while Instant::now() < end || round < 40 {
        round += 1;
        let mut writer = index.writer(&WriterOptions::default()).unwrap();
        let lines: String = (0..DOCUMENTS).map(|at| line(round, at)).collect();
        let report = ingest::import(
            &mut writer,
            Some(&embedder),
            &mut Cursor::new(lines),
            &options,
            &|_: Event<'_>| {},
            &Cancel::default(),
        );
        assert_eq!(report.unwrap().failed, []);
        let id = rag::index::SourceRecord::id_of(
            "default",
            IMPORT_ROOT,
            &SourcePath::from_spelling((round % DOCUMENTS).to_string()),
        );
        writer.remove(id).unwrap();
        writer.commit().unwrap();
        if round.is_multiple_of(25) {
            writer.compact().unwrap();
        }
        drop(writer);

        let snapshot = index.snapshot().unwrap();
        assert_eq!(snapshot.stats().unwrap().sources, DOCUMENTS - 1);
        // The newest round answers, and nothing of the one before.
        for (words, found) in [(round, true), (round - 1, false)] {
            let query = snapshot.lexical_query(&format!("\"round {words}\""), QuerySyntax::Tantivy).unwrap();
            assert_eq!(!snapshot.lexical(&query, 5, None).unwrap().is_empty(), found, "round {words} in {round}");
        }
        let vector = embedder.embed_query("buoy").unwrap();
        assert_eq!(snapshot.dense(&vector, 10, None, Effort::Exact).unwrap().0.len(), 10);
        drop(snapshot);

        let (count, bytes) = files(&dir);
        assert!(count < MAX_FILES, "{count} files after round {round}");
        if round == 25 {
            // Just compacted: what is live.
            live = bytes;
            base = usage();
        }
        if round > 25 {
            assert!(bytes < 3 * live + (1 << 20), "{bytes} bytes of {live} live ones after round {round}");
        }
    }
    let verified = index.verify_thoroughly().unwrap();
    assert_eq!((verified.faults, verified.orphans), (vec![], vec![]));
    if let (Some((rss, handles)), Some((rss_now, handles_now))) = (base, usage()) {
        println!("{round} rounds: {} MB → {} MB, {handles} → {handles_now} handles", rss >> 20, rss_now >> 20);
        // A megabyte a minute, and what an allocator keeps.
        let grown = rss_now.saturating_sub(rss);
        assert!(grown < (48 << 20) + (seconds << 20) / 60, "{grown} bytes more than after round 25");
        assert!(handles_now <= handles + 4, "{handles} → {handles_now} handles");
    }
}
