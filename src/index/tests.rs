use super::{testing::*, *};
use crate::types::{ChunkId, Kind, SourceId};

fn sound(index: &Index) {
    let verified = index.verify().unwrap();
    assert_eq!(verified.faults, []);
    assert_eq!(verified.orphans, Vec::<PathBuf>::new());
}

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
    let best = before.dense(&query, 2, None).unwrap();
    assert_eq!(before.chunk(best[0].0).unwrap().unwrap().text, "two");
    assert!((best[0].1 - 1.0).abs() < 1e-5);
    assert_eq!(before.dense_scores(&query, &[best[0].0, ChunkId(1)]), [Some(best[0].1), None]);
    assert_eq!(before.dense(&query[1..], 2, None).unwrap_err().kind(), Kind::Incompatible);

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
    assert_eq!(before.dense(&query, 2, None).unwrap(), best);
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
    assert_eq!(empty.dense(&query, 5, None).unwrap(), []);
    sound(&index);
}
