use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::*;
use crate::retrieve::{Fusion, LeftOutBy, Rerank};
use crate::{
    index::{ChunkRecord, Index, NewChunk, Settings, SourceRecord, Status, WriterOptions},
    model::{
        self,
        fake::{FakeEmbedder, FakeReranker},
    },
    types::{EmbeddingSpace, SourcePath, Span},
};

/// An index in a folder of its own, that lives as long as it.
pub(in crate::retrieve) struct House {
    pub snapshot: Snapshot,
    pub embedder: FakeEmbedder,
    _dir: tempfile::TempDir,
}

/// A source: its path, collection and chunks.
pub(in crate::retrieve) type Source = (String, &'static str, Vec<String>);

pub(in crate::retrieve) fn source(path: &str, chunks: &[&str]) -> Source {
    (path.to_owned(), "default", chunks.iter().map(|&chunk| chunk.to_owned()).collect())
}

impl House {
    pub fn new(sources: &[Source]) -> Self {
        Self::build(sources, true)
    }

    fn without_vectors(sources: &[Source]) -> Self {
        Self::build(sources, false)
    }

    fn build(sources: &[Source], vectors: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let embedder = FakeEmbedder::new();
        let settings = Settings { space: vectors.then(|| embedder.space().clone()) };
        let index = Index::create(&dir.path().join(".rag"), &settings).unwrap();
        let options = WriterOptions { wait: Duration::ZERO, command: "test".into(), ..WriterOptions::default() };
        let mut writer = index.writer(&options).unwrap();
        for (path, collection, texts) in sources {
            let (record, chunks) = records(path, collection, texts);
            let with_vector = |record: ChunkRecord| {
                let hash = blake3::hash(record.text.as_bytes());
                let embed_hash = hash.as_bytes()[..16].try_into().unwrap();
                let vector = vectors.then(|| embedder.embed_passages(&[&record.text]).unwrap());
                NewChunk { record, embed_hash, vector }
            };
            let chunks: Vec<NewChunk> = chunks.into_iter().map(with_vector).collect();
            writer.put(&record, &chunks).unwrap();
        }
        writer.commit().unwrap();
        Self { snapshot: index.snapshot().unwrap(), embedder, _dir: dir }
    }

    fn ask(&self, asked: &Query) -> Result<Hits> {
        query(&self.snapshot, Some(&self.embedder), asked)
    }

    fn found(&self, asked: &Query) -> Vec<String> {
        self.ask(asked).unwrap().hits.into_iter().map(|hit| hit.chunk.text).collect()
    }
}

fn records(path: &str, collection: &str, texts: &[String]) -> (SourceRecord, Vec<ChunkRecord>) {
    let path = SourcePath::from_spelling(path);
    let id = SourceRecord::id_of(collection, "", &path);
    let mut start = 0;
    let chunks = (0..).zip(texts).map(|(ordinal, text)| {
        let span = Span::new(start, start + text.len());
        start += text.len() + 1;
        ChunkRecord {
            id: ChunkRecord::id_of(id, span, text),
            source: id,
            collection: collection.into(),
            path: path.to_string(),
            ordinal,
            span,
            lines: None,
            pages: None,
            title: None,
            heading: Vec::new(),
            context: String::new(),
            text: text.clone(),
            lang: Some("en".into()),
            tokens: 1,
            fertility: 1.2,
            code_share: 0.0,
        }
    });
    let chunks: Vec<ChunkRecord> = chunks.collect();
    let record = SourceRecord {
        id,
        collection: collection.into(),
        root: String::new(),
        size_bytes: start as u64,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 0,
        hash: String::new(),
        pipeline: "test".into(),
        status: Status::Indexed,
        problems: Vec::new(),
        format: path.extension(),
        path,
        title: None,
        author: None,
        lang: Some("en".into()),
        pages: None,
        encoding: None,
        tags: BTreeMap::new(),
        metadata: BTreeMap::new(),
        chunks: u32::try_from(chunks.len()).unwrap(),
        text_bytes: start as u64,
    };
    (record, chunks)
}

pub(in crate::retrieve) fn text(text: &str) -> Query {
    Query { text: text.into(), ..Query::default() }
}

fn handbook() -> Vec<Source> {
    vec![
        source("refunds.md", &["Refunds take ten days.", "A refund needs the receipt.", "Write to the office."]),
        source(
            "travel.md",
            &["Trains are booked by the office.", "Flights need an approval.", "Hotels are paid later."],
        ),
        source("code.txt", &["fn main() { println!(\"refunded\"); }"]),
    ]
}

#[test]
fn a_hit_says_where_and_why() {
    let house = House::new(&handbook());
    let hits = house.ask(&Query { explain: true, ..text("how long do refunds take?") }).unwrap();
    let first = &hits.hits[0];
    assert_eq!((first.rank, first.chunk.path.as_str(), first.chunk.ordinal), (1, "refunds.md", 0));
    let marked: Vec<&str> = first.highlights.iter().map(|range| &first.chunk.text[range.clone()]).collect();
    assert_eq!(marked, ["Refunds", "take"]);
    assert_eq!(&first.chunk.text[first.snippet.clone()], "Refunds take ten days.");
    let explain = first.explain.as_ref().unwrap();
    assert_eq!((explain.lexical_rank, explain.dense_rank), (Some(1), Some(1)));
    assert!(explain.lexical_score > 0.0 && explain.dense_score.unwrap() > 0.3 && explain.coverage > 0.4);
    assert_eq!((explain.lexical_normalised, explain.dense_normalised), (1.0, 1.0));
    // The blend is what it says: w · 1 + (1 − w) · 1.
    assert_eq!((hits.mode, hits.weight, hits.code, first.score), (Mode::Hybrid, 0.5, 0.0, 1.0));
    assert!((hits.fertility - 1.2).abs() < 1e-6);
    assert_eq!(hits.generation, house.snapshot.generation());
    // Another form of a word is marked too.
    let other = hits.hits.iter().find(|hit| hit.chunk.text.starts_with("A refund")).unwrap();
    assert_eq!(&other.chunk.text[other.highlights[0].clone()], "refund");
    // Every candidate has both scores, whichever leg brought it.
    assert_eq!(hits.candidates, 7);
    assert!(hits.hits.iter().all(|hit| hit.explain.as_ref().unwrap().dense_score.is_some()));
    let ranks: Vec<usize> = hits.hits.iter().map(|hit| hit.rank).collect();
    assert_eq!(ranks, (1..=7).collect::<Vec<_>>());
}

#[test]
fn a_query_repeats() {
    let house = House::new(&handbook());
    for fusion in [Fusion::Blend, Fusion::Rrf, Fusion::Weighted, Fusion::Dbsf] {
        for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
            let asked = Query { fusion, mode, explain: true, ..text("the office pays refunds") };
            let [one, two] = [(); 2].map(|()| Hits { timings: Timings::default(), ..house.ask(&asked).unwrap() });
            assert_eq!(one, two);
            assert_eq!((one.mode, one.fusion), (mode, fusion));
            assert!(!one.hits.is_empty() && one.hits.is_sorted_by(|a, b| a.score >= b.score));
        }
    }
}

#[test]
fn each_mode_uses_its_leg() {
    let house = House::new(&handbook());
    let ask = |mode| house.ask(&Query { mode, explain: true, ..text("refund receipt") }).unwrap();
    let (lexical, dense) = (ask(Mode::Lexical), ask(Mode::Dense));
    assert_eq!((lexical.weight, dense.weight), (0.0, 1.0));
    assert!(lexical.hits.iter().all(|hit| hit.explain.as_ref().unwrap().dense_score.is_none()));
    // One of them has the word in its file's name only.
    assert_eq!(lexical.hits.iter().filter(|hit| hit.highlights.is_empty()).count(), 1);
    assert_eq!(dense.hits.len(), 7);
    assert!(dense.hits.iter().all(|hit| hit.explain.as_ref().unwrap().lexical_rank.is_none()));
    assert!(dense.hits[0].explain.as_ref().unwrap().lexical_score > 0.0, "scores are completed for who asks why");
    let no_embedder = query(&house.snapshot, None, &Query { mode: Mode::Lexical, ..text("refund") }).unwrap();
    assert_eq!(no_embedder.hits.len(), 4);
    for mode in [Mode::Hybrid, Mode::Dense] {
        let refused = query(&house.snapshot, None, &Query { mode, ..text("refund") });
        assert!(matches!(refused, Err(Error::Options { what }) if what.contains("fake-hash")));
    }
}

#[test]
fn an_index_without_vectors_is_searched_by_words() {
    let house = House::without_vectors(&handbook());
    let hits = house.ask(&text("refund")).unwrap();
    assert_eq!((hits.mode, hits.hits.len()), (Mode::Lexical, 4));
    assert!(hits.notes[0].contains("no vectors"), "{:?}", hits.notes);
    assert_eq!(hits.strength, Strength::Found);
    for asked in [Query { mode: Mode::Dense, ..text("refund") }, Query { mmr: Some(0.5), ..text("refund") }] {
        assert!(matches!(house.ask(&asked), Err(Error::Options { .. })));
    }
}

#[test]
fn nonsense_is_not_found() {
    for house in [House::new(&handbook()), House::without_vectors(&handbook())] {
        let strength = |words: &str| house.ask(&text(words)).unwrap().strength;
        assert_eq!(strength("refunds take ten days"), Strength::Found);
        assert_eq!(strength("zxqv wobblefrotz"), Strength::Nothing);
        assert_eq!(strength("?!"), Strength::Nothing);
    }
}

#[test]
fn a_filter_acts_inside_both_legs() {
    // 300 chunks that match better than the only one that is allowed.
    let many: Vec<String> = (0..300).map(|i| format!("harbour harbour harbour {i}")).collect();
    let house = House::new(&[
        ("a/many.txt".into(), "default", many),
        source("b/one.md", &["a quiet village, far from any harbour, with a market on Sundays"]),
        source("b/two.md", &["mountains"]),
    ]);
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let asked = Query { mode, filter: Some("path:b/** type:md".into()), ..text("harbour") };
        assert!(house.found(&asked)[0].starts_with("a quiet village"), "{mode:?}");
    }
    let hits = house.ask(&Query { filter: Some("type:pdf".into()), ..text("harbour") }).unwrap();
    assert_eq!((hits.hits.len(), hits.strength, hits.relevance), (0, Strength::Nothing, 0.0));
    assert!(hits.notes.iter().any(|note| note.contains("filter allows no chunk")));
    let typo = house.ask(&Query { filter: Some("type:tx path:**".into()), ..text("harbour") }).unwrap();
    assert!(typo.notes.iter().any(|note| note.contains("no document has the type `tx`")), "{:?}", typo.notes);
    let ruled_out = house.ask(&Query { filter: Some("not type:zebra path:none".into()), ..text("harbour") }).unwrap();
    assert!(ruled_out.notes.iter().all(|note| !note.contains("zebra")), "{:?}", ruled_out.notes);
    assert!(matches!(
        house.ask(&Query { filter: Some("typ:pdf".into()), ..text("harbour") }),
        Err(Error::UnknownField { field, .. }) if field == "typ"
    ));
}

#[test]
fn collections_are_apart() {
    let house = House::new(&[
        ("x.md".into(), "work", vec!["tea at work".into()]),
        ("x.md".into(), "home", vec!["tea at home".into()]),
    ]);
    let asked = |name: &str| Query { collection: Some(name.into()), ..text("tea") };
    assert_eq!(house.found(&asked("home")), ["tea at home"]);
    match house.ask(&asked("hom")) {
        Err(Error::NoCollection { name, known }) => {
            assert_eq!((name.as_str(), known.as_str()), ("hom", "`home`, `work`"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cap_for_each_source_looks_further_than_the_first_candidates() {
    let many: Vec<String> = (0..400).map(|i| format!("harbour {i}")).collect();
    let house = House::new(&[
        ("many.txt".into(), "default", many),
        source("one.txt", &["a long and slow walk to the old harbour and from there to the new town"]),
    ]);
    for mode in [Mode::Hybrid, Mode::Lexical] {
        let asked = Query { mode, per_source: Some(1), k: 2, ..text("harbour") };
        let paths: Vec<String> = house.ask(&asked).unwrap().hits.into_iter().map(|hit| hit.chunk.path).collect();
        assert_eq!(paths, ["many.txt", "one.txt"], "{mode:?}");
    }
    let asked = Query { per_source: Some(3), k: 5, mmr: Some(0.7), ..text("harbour") };
    assert_eq!(house.ask(&asked).unwrap().hits.iter().filter(|hit| hit.chunk.path == "many.txt").count(), 3);
}

#[test]
fn more_like_a_chunk() {
    let house = House::new(&handbook());
    let id = house.ask(&text("refund receipt")).unwrap().hits[0].chunk.id;
    let asked = Query { like: vec![id], k: 2, ..Query::default() };
    // Its own vector is in the index: no model is needed.
    let hits = query(&house.snapshot, None, &asked).unwrap();
    assert_eq!(hits.hits.len(), 2);
    assert!(hits.hits.iter().all(|hit| hit.chunk.id != id));
    let code = house.ask(&text("println")).unwrap().hits[0].chunk.id;
    let syntax = QuerySyntax::Tantivy;
    house.ask(&Query { like: vec![code], syntax, ..Query::default() }).expect("a chunk's text is no query language");
    let missing = Query { like: vec![ChunkId(1)], ..Query::default() };
    assert!(matches!(house.ask(&missing), Err(Error::NoChunk { id: ChunkId(1) })));
}

#[test]
fn neighbours_come_in_order() {
    let house = House::new(&[source("a.md", &["one", "two", "three", "four", "five"]), source("b.md", &["six"])]);
    let asked = |context| Query { context, k: 1, ..text("three") };
    let hit = |context| house.ask(&asked(context)).unwrap().hits.remove(0);
    let texts = |records: &[ChunkRecord]| records.iter().map(|record| record.text.clone()).collect::<Vec<_>>();
    for (context, before, after) in
        [(0, vec![], vec![]), (1, vec!["two"], vec!["four"]), (9, vec!["one", "two"], vec!["four", "five"])]
    {
        let hit = hit(context);
        assert_eq!(
            (texts(&hit.before), texts(&hit.after)),
            (before.into_iter().map(String::from).collect(), after.into_iter().map(String::from).collect())
        );
    }
}

#[test]
fn relevance_is_what_min_score_compares() {
    let house = House::new(&handbook());
    let all = house.ask(&text("refund receipt")).unwrap();
    let middle = all.hits[1].relevance;
    let some = house.ask(&Query { min_score: Some(middle), ..text("refund receipt") }).unwrap();
    let want: Vec<ChunkId> = all.hits.iter().filter(|hit| hit.relevance >= middle).map(|hit| hit.chunk.id).collect();
    assert_eq!(some.hits.iter().map(|hit| hit.chunk.id).collect::<Vec<_>>(), want);
    assert_eq!(
        (some.relevance, some.strength),
        (all.relevance, all.strength),
        "the query is not judged by what is kept"
    );
    let none = house.ask(&Query { min_score: Some(1.0), ..text("wobblefrotz") }).unwrap();
    assert!(none.hits.is_empty() && none.notes.iter().any(|note| note.contains("relevant")), "{:?}", none.notes);
}

#[test]
fn diversity_puts_repetitions_last() {
    let house = House::new(&[source(
        "a.txt",
        &["salt marsh birds", "salt marsh birds", "birds of the northern salt pans", "granite"],
    )]);
    let order = |mmr| house.found(&Query { mmr, k: 3, duplicates: true, ..text("salt marsh birds") });
    assert_eq!(order(None)[..2], ["salt marsh birds"; 2]);
    assert_eq!(order(Some(1.0)), order(None));
    assert_eq!(order(Some(0.3))[0], "salt marsh birds");
    assert_ne!(order(Some(0.3))[1], "salt marsh birds");
}

#[test]
fn no_character_means_anything_unless_asked() {
    let house = House::new(&handbook());
    for words in ["refund AND (", "\"refund", "title:refund -receipt", "refund~2^", "*", "a\\", "[x TO y]", "𝔯efund"]
    {
        house.ask(&text(words)).unwrap();
    }
    let syntax = QuerySyntax::Tantivy;
    let phrase = Query { syntax, mode: Mode::Lexical, ..text("\"needs the receipt\"") };
    assert_eq!(house.found(&phrase), ["A refund needs the receipt."]);
    assert!(matches!(house.ask(&Query { syntax, ..text("refund AND (") }), Err(Error::Index(_))));
}

#[test]
fn an_empty_index_has_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let embedder = FakeEmbedder::new();
    let index = Index::create(&dir.path().join(".rag"), &Settings { space: Some(embedder.space().clone()) }).unwrap();
    let snapshot = index.snapshot().unwrap();
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let hits = query(&snapshot, Some(&embedder), &Query { mode, ..text("anything") }).unwrap();
        assert!(hits.hits.is_empty() && hits.strength == Strength::Nothing && !hits.notes.is_empty(), "{hits:?}");
    }
    let asked = Query { collection: Some("x".into()), ..text("anything") };
    assert!(matches!(query(&snapshot, Some(&embedder), &asked), Err(Error::NoCollection { .. })));
}

/// Gives what it is told for every query.
struct Told(EmbeddingSpace, Vec<f32>);

impl Embedder for Told {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }
    fn embed_passages(&self, _: &[&str]) -> model::Result<Vec<f32>> {
        Err(model::Error::Cancelled)
    }
    fn embed_query(&self, _: &str) -> model::Result<Vec<f32>> {
        if self.1.is_empty() { Err(model::Error::Cancelled) } else { Ok(self.1.clone()) }
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn batch_size(&self) -> usize {
        1
    }
    fn backend(&self) -> String {
        "told".into()
    }
}

#[test]
fn a_failing_model_ends_the_query() {
    let house = House::new(&handbook());
    let dim = house.embedder.space().dim;
    for vector in [vec![], vec![0.5; dim - 1], vec![f32::NAN; dim], vec![f32::INFINITY; dim]] {
        let told = Told(house.embedder.space().clone(), vector);
        assert!(matches!(query(&house.snapshot, Some(&told), &text("refund")), Err(Error::Model(_))));
    }
    let zero = Told(house.embedder.space().clone(), vec![0.0; dim]);
    assert!(query(&house.snapshot, Some(&zero), &text("refund")).unwrap().hits.iter().all(|hit| hit.score.is_finite()));
}

/// Paragraphs of forty words, all different.
fn paragraph(seed: usize) -> String {
    const WORDS: [&str; 12] =
        ["harbour", "gull", "rope", "tide", "lantern", "quay", "salt", "anchor", "mast", "cargo", "pilot", "storm"];
    (0..40).map(|i| WORDS[(i * (seed + 3) + i * i * seed) % 12]).collect::<Vec<_>>().join(" ")
}

#[test]
fn near_copies_are_one_result_and_make_room() {
    let same = "The harbour office is open from Monday to Friday and closed on public holidays of the region";
    let sources: Vec<Source> = (0..120)
        .map(|i| source(&format!("copy{i}.md"), &[&format!("{same}{}", [".", " here.", " too."][i % 3])]))
        .chain((0..9).map(|i| source(&format!("other{i}.md"), &[&paragraph(i)])))
        .collect();
    let house = House::new(&sources);
    for mmr in [None, Some(0.5)] {
        let asked = Query { k: 5, mmr, ..text("is the harbour office open on public holidays") };
        let hits = house.ask(&asked).unwrap().hits;
        assert_eq!(hits.len(), 5, "{mmr:?}: there are more than five different texts");
        assert!(hits[0].chunk.text.starts_with(same));
        // Diversity fills the results before it comes to the copies.
        let others = hits[0].copies.len() + hits[0].duplicates.len();
        assert!(mmr.is_some() || others == 119, "{others}");
        assert!(mmr.is_some() || !(hits[0].duplicates.is_empty() || hits[0].copies.is_empty()));
        assert!(hits[1..].iter().all(|hit| !hit.chunk.text.starts_with(same)));
        let kept = house.ask(&Query { duplicates: true, ..asked }).unwrap().hits;
        assert!(kept.iter().all(|hit| hit.copies.is_empty() && hit.duplicates.is_empty()));
        if mmr.is_none() {
            assert!(kept.iter().all(|hit| hit.chunk.text.starts_with(same)));
        }
    }
}

#[test]
fn texts_that_differ_in_a_number_are_no_copies() {
    let rule = |days: u32| format!("Under the rules of this year a refund is paid within {days} days of the return.");
    let house = House::new(&[source("a.md", &[&rule(10)]), source("b.md", &[&rule(14)]), source("c.md", &[&rule(10)])]);
    let hits = house.ask(&text("when is a refund paid")).unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.copies.len() + hit.duplicates.len()).sum::<usize>(), 1);
    assert_eq!(hits.len(), 2);
}

#[test]
fn likes_and_unlikes_move_both_legs() {
    let house = House::new(&[
        source("tea.md", &["green tea from the hills"]),
        source("pot.md", &["an iron pot for green tea"]),
        source(
            "paint.md",
            &[
                "green paint for the fence",
                "paint dries in the sun",
                "a fence of green boards",
                "green green green varnish",
            ],
        ),
    ]);
    let id = |words: &str| house.ask(&text(words)).unwrap().hits[0].chunk.id;
    let (tea, paint, pot) = (id("tea from the hills"), id("green paint for the fence"), id("iron pot"));
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let plain = Query { mode, ..text("green") };
        let away = Query { unlike: vec![paint], ..plain.clone() };
        let towards = Query { like: vec![tea], ..plain.clone() };
        let found = |asked: &Query| house.ask(asked).unwrap().hits;
        assert!(found(&away).iter().all(|hit| hit.chunk.id != paint), "{mode:?}");
        assert!(found(&towards).iter().all(|hit| hit.chunk.id != tea), "{mode:?}");
        if mode == Mode::Lexical {
            assert_eq!(found(&towards)[0].chunk.id, pot, "it shares a word that is rare");
        }
        let both = Query { like: vec![tea, pot], unlike: vec![paint], mode, ..Query::default() };
        let hits = found(&both);
        assert!(!hits.is_empty() && hits.iter().all(|hit| ![tea, pot, paint].contains(&hit.chunk.id)), "{mode:?}");
    }
    // What is unlike takes the words it shares away from what is liked.
    let words = |like: Vec<ChunkId>, unlike: Vec<ChunkId>| {
        Subject::of(&house.snapshot, &Query { like, unlike, ..Query::default() }).unwrap().words.into_owned()
    };
    assert_eq!(words(vec![tea], vec![]).trim(), "green tea from the hills");
    let (fence, varnish) = (id("fence of green boards"), id("varnish"));
    assert!(words(vec![tea], vec![fence]).contains("green"), "a third as much takes no single word");
    assert!(!words(vec![tea], vec![varnish]).contains("green"), "three times as often does");
}

#[test]
fn contributions_add_up_to_the_score() {
    let house = House::new(&handbook());
    for fusion in [Fusion::Blend, Fusion::Rrf, Fusion::Weighted, Fusion::Dbsf] {
        for (mode, alpha) in
            [(Mode::Hybrid, None), (Mode::Hybrid, Some(0.8)), (Mode::Lexical, None), (Mode::Dense, None)]
        {
            let asked = Query { fusion, mode, alpha, explain: true, ..text("the office pays refunds") };
            for hit in house.ask(&asked).unwrap().hits {
                let explain = hit.explain.unwrap();
                let sum = explain.lexical_contribution + explain.dense_contribution;
                assert!((sum - hit.score).abs() < 1e-6, "{fusion:?} {mode:?}: {sum} is not {}", hit.score);
                assert_eq!((explain.fused, explain.rerank), (hit.score, None));
            }
        }
    }
}

#[test]
fn what_was_left_out_is_told_where_nothing_is_found() {
    let house = House::new(&[
        source("refunds.md", &["Refunds take ten days."]),
        source("travel.pdf", &["Trains are booked by the office."]),
        ("x.md".into(), "home", vec!["a kettle".into()]),
    ]);
    let miss = |asked: &Query| house.ask(asked).unwrap().near_miss;
    let left_out_by = |asked: &Query| miss(asked).map(|miss| miss.left_out_by);
    assert_eq!(miss(&text("refunds")), None, "something was found");
    let filtered = Query { filter: Some("type:csv".into()), ..text("refunds") };
    assert_eq!(left_out_by(&filtered), Some(LeftOutBy::Filter));
    let words = Query { mode: Mode::Lexical, syntax: QuerySyntax::Tantivy, ..text("\"days refunds\"") };
    assert_eq!(left_out_by(&words), Some(LeftOutBy::Mode), "no chunk has the phrase");
    let strange = Query { mode: Mode::Lexical, ..text("zebra") };
    assert_eq!(left_out_by(&strange), None, "by meaning there is nothing near either");
    let elsewhere = Query { mode: Mode::Lexical, collection: Some("home".into()), ..text("refunds") };
    assert_eq!(left_out_by(&elsewhere), Some(LeftOutBy::Collection));
    let strict = Query { min_score: Some(1.0), ..text("refunds take days") };
    let Some(LeftOutBy::MinScore(least)) = left_out_by(&strict) else { panic!("{:?}", miss(&strict)) };
    assert!(!house.ask(&Query { min_score: Some(least), ..strict }).unwrap().hits.is_empty(), "{least} lets it in");

    // A condition is not to blame for what is merely nearest; the one that hides the answer is.
    let both = Query { filter: Some("path:travel.pdf".into()), min_score: Some(0.5), ..text("refunds") };
    assert_eq!(left_out_by(&both), Some(LeftOutBy::Filter));
    let poor = Query { filter: Some("path:travel.pdf".into()), mode: Mode::Dense, ..text("refunds") };
    let hits = house.ask(&poor).unwrap();
    assert_eq!((hits.hits.len(), hits.strength), (1, Strength::Nothing));
    assert_eq!(hits.near_miss.map(|miss| miss.left_out_by), Some(LeftOutBy::Filter), "what is shown is no match");
    let vain = Query { filter: Some("type:csv".into()), ..text("zebra") };
    assert_eq!(miss(&vain), None, "nothing good was left out");
}

#[test]
fn a_word_that_occurs_nowhere_gets_a_suggestion() {
    let house = House::new(&handbook());
    let notes = |words: &str| house.ask(&text(words)).unwrap().notes;
    assert_eq!(notes("how long do refnuds take"), ["did you mean `refunds` for `refnuds`?"]);
    assert!(notes("refunding trains").is_empty(), "another form of a word is known");
    assert!(notes("zebra").is_empty());
}

fn reranked_by(word: &str, budget: Duration) -> Option<Rerank> {
    Some(Rerank { reranker: Arc::new(FakeReranker { word: word.into() }), budget })
}

#[test]
fn a_reranker_orders_the_first_and_says_why() {
    let house = House::new(&handbook());
    let asked = Query { explain: true, rerank: reranked_by("office", Duration::from_secs(1)), ..text("refund") };
    let hits = house.ask(&asked).unwrap();
    assert!(hits.hits[0].chunk.text.contains("office") && hits.hits[1].chunk.text.contains("office"));
    assert!(hits.hits.is_sorted_by(|a, b| a.score >= b.score));
    assert!(hits.timings.rerank_ms.is_some());
    let first = hits.hits[0].explain.as_ref().unwrap();
    assert_eq!(first.rerank, Some(1.0));
    assert!((first.fused - first.lexical_contribution - first.dense_contribution).abs() < 1e-6);
    let plain = house.ask(&text("refund")).unwrap();
    assert_eq!((hits.relevance, hits.strength), (plain.relevance, plain.strength), "relevance is not the reranker's");
}

#[test]
fn a_reranker_that_is_late_changes_nothing_but_a_note() {
    let house = House::new(&handbook());
    let plain = house.found(&text("refund"));
    let late = house.ask(&Query { rerank: reranked_by("office", Duration::ZERO), ..text("refund") }).unwrap();
    assert_eq!(late.hits.iter().map(|hit| hit.chunk.text.clone()).collect::<Vec<_>>(), plain);
    assert!(late.notes.iter().any(|note| note.contains("did not rerank within 0 s")), "{:?}", late.notes);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    #[test]
    fn conditions_hold_whatever_orders_the_results(
        mode in proptest::sample::select(vec![Mode::Hybrid, Mode::Lexical, Mode::Dense]),
        fusion in proptest::sample::select(vec![Fusion::Blend, Fusion::Rrf, Fusion::Weighted, Fusion::Dbsf]),
        mmr in proptest::option::of(0.0..=1.0f32),
        rerank in proptest::bool::ANY,
        like in proptest::bool::ANY,
        duplicates in proptest::bool::ANY,
        per_source in proptest::option::of(1..3usize),
        min_score in proptest::option::of(0.0..=1.0f32),
        k in 1..12usize,
        words in "(office|refund|trains|flights|harbour| ){1,4}",
    ) {
        // Made once: an index is the slow part.
        static HOUSE: std::sync::LazyLock<House> = std::sync::LazyLock::new(|| {
            let mut sources = handbook();
            sources.extend((0..30).map(|i| source(&format!("n{i}.txt"), &[&format!("the office of harbour {i}"), "a refund"])));
            sources.push(("refunds.md".into(), "home", vec!["refund at home, flights and trains".into()]));
            House::new(&sources)
        });
        let named = HOUSE.ask(&text("trains")).unwrap().hits[0].chunk.id;
        let asked = Query {
            mode, fusion, mmr, k, per_source, min_score, duplicates,
            rerank: if rerank { reranked_by("office", Duration::from_secs(1)) } else { None },
            like: if like { vec![named] } else { vec![] },
            filter: Some("type:md".into()),
            collection: Some("default".into()),
            ..text(&format!("x {words}"))
        };
        let hits = HOUSE.ask(&asked).unwrap().hits;
        proptest::prop_assert!(hits.len() <= k);
        let mut of_source: BTreeMap<String, usize> = BTreeMap::new();
        for hit in &hits {
            proptest::prop_assert!(hit.chunk.path.ends_with(".md") && hit.chunk.collection == "default");
            proptest::prop_assert!(hit.copies.iter().chain(&hit.duplicates).all(|copy| copy.path.ends_with(".md")));
            proptest::prop_assert!(min_score.is_none_or(|least| hit.relevance >= least));
            proptest::prop_assert!(!like || hit.chunk.id != named);
            *of_source.entry(hit.chunk.path.clone()).or_default() += 1;
        }
        proptest::prop_assert!(per_source.is_none_or(|most| of_source.values().all(|count| *count <= most)));
        proptest::prop_assert!(mmr.is_some() || hits.is_sorted_by(|a, b| a.score >= b.score));
    }
}
