//! Which sources a filter lets through.

use super::*;
use crate::types::{ChunkId, Kind, SourcePath};

const JAN_2026: i64 = 1_767_225_600_000_000_000;

fn facts(dir: &Path) -> Snapshot {
    let index = create(dir, Some(4));
    let mut writer = writer(&index);
    let mut all: Vec<SourceRecord> = Vec::new();
    let mut add = |path: &str, change: &dyn Fn(&mut SourceRecord)| {
        let mut record = source(path);
        change(&mut record);
        record.id = SourceRecord::id_of(&record.collection, &record.root, &record.path);
        all.push(record);
    };
    add("guides/intro.md", &|s| {
        s.title = Some("Release Notes for 2026".to_owned());
        s.author = Some("Ann Lee".to_owned());
        s.mtime_ns = JAN_2026;
        s.tags = [("team".to_owned(), "Ops".to_owned())].into();
    });
    add("guides/de/intro.md", &|s| {
        s.lang = Some("de".to_owned());
        s.size_bytes = 5_000;
        s.mtime_ns = JAN_2026 - 1;
        s.metadata = [("team".to_owned(), "dev".to_owned()), ("prio".to_owned(), "10".to_owned())].into();
    });
    add("report.PDF", &|s| {
        s.format = "pdf".to_owned();
        s.pages = Some(12);
        s.status = Status::Warned;
        s.mtime_ns = JAN_2026 + 86_400_000_000_000;
        s.metadata = [("prio".to_owned(), "9".to_owned())].into();
    });
    add("notes.txt", &|s| {
        s.collection = "private".to_owned();
        s.root = "home".to_owned();
        s.path = SourcePath::from_spelling("notes.txt");
        s.format = "text".to_owned();
    });
    for record in all {
        let lang = record.lang.clone();
        put(&mut writer, record, lang.as_deref(), &["one text", "two texts"]);
        // Segments of their own: the filter works across them.
        writer.commit().unwrap();
    }
    index.snapshot().unwrap()
}

fn is(fact: Fact, compare: Compare, value: &str) -> Filter {
    Filter::Is { fact, compare, value: value.to_owned() }
}

/// Display paths of the sources whose chunks are allowed.
fn paths(snapshot: &Snapshot, filter: &Filter, collection: Option<&str>) -> Vec<String> {
    let allowed = snapshot.allowed(Some(filter), collection).unwrap();
    assert_eq!(allowed.len(), allowed.documents.values().map(Vec::len).sum::<usize>());
    assert_eq!(allowed.is_empty(), allowed.ids.is_empty());
    let ids: Vec<ChunkId> = allowed.ids.iter().map(|id| ChunkId(*id)).collect();
    let mut paths: Vec<String> = snapshot.chunks(&ids).unwrap().into_iter().map(|chunk| chunk.unwrap().path).collect();
    paths.sort();
    // Two chunks a source, both or none.
    assert!(paths.chunks(2).all(|pair| pair[0] == pair[1]), "{paths:?}");
    paths.dedup();
    paths
}

#[test]
fn facts_select_sources() {
    use Compare::*;
    let dir = tempfile::tempdir().unwrap();
    let snapshot = facts(dir.path());
    let (intro, de, pdf, notes) = ("guides/intro.md", "guides/de/intro.md", "report.PDF", "home/notes.txt");
    let tag = |key: &str| Fact::Tag(key.to_owned());
    let meta = |key: &str| Fact::Meta(key.to_owned());
    let cases: Vec<(Filter, Vec<&str>)> = vec![
        (is(Fact::Path, Matches, "guides/**"), vec![de, intro]),
        (is(Fact::Path, Matches, "guides/*"), vec![intro]),
        (is(Fact::Path, Matches, "home/notes.txt"), vec![notes]),
        (is(Fact::Path, Equal, "guides/intro.md"), vec![intro]),
        (is(Fact::Name, Matches, "intro.*"), vec![de, intro]),
        (is(Fact::Ext, Equal, "pdf"), vec![pdf]),
        (is(Fact::Type, Matches, "PDF"), vec![pdf]),
        (is(Fact::Type, NotEqual, "md"), vec![notes, pdf]),
        (is(Fact::Size, Greater, "10"), vec![de]),
        (is(Fact::Size, LessOrEqual, "10"), vec![intro, notes, pdf]),
        (is(Fact::Size, Equal, "5k"), vec![de]),
        (is(Fact::Pages, GreaterOrEqual, "12"), vec![pdf]),
        (is(Fact::Pages, Less, "12"), vec![]),
        (is(Fact::Mtime, GreaterOrEqual, "2026-01-01"), vec![intro, pdf]),
        (is(Fact::Mtime, Equal, "2026-01-01"), vec![intro]),
        (is(Fact::Mtime, Greater, "2026-01-01"), vec![pdf]),
        (is(Fact::Mtime, Less, "2026-01-01"), vec![de, notes]),
        (is(Fact::Mtime, LessOrEqual, "2026-01-01T00:00:00Z"), vec![de, intro, notes]),
        (is(Fact::Title, Matches, "release notes"), vec![intro]),
        (is(Fact::Title, Matches, "2026 release"), vec![]),
        (is(Fact::Title, Equal, "release notes for 2026"), vec![intro]),
        (is(Fact::Author, Matches, "lee"), vec![intro]),
        (is(Fact::Author, NotEqual, "ann lee"), vec![de, notes, pdf]),
        (is(Fact::Lang, Matches, "de"), vec![de]),
        (is(Fact::Collection, Matches, "private"), vec![notes]),
        (is(Fact::Status, Matches, "warned"), vec![pdf]),
        (is(tag("team"), Matches, "ops"), vec![intro]),
        (is(meta("team"), Matches, "ops"), vec![]),
        (is(meta("team"), Matches, "dev"), vec![de]),
        // Numbers are compared as numbers.
        (is(meta("prio"), Greater, "9"), vec![de]),
        (is(meta("prio"), GreaterOrEqual, "9"), vec![de, pdf]),
        (is(meta("te"), Matches, "dev"), vec![]),
        (Filter::Not(Box::new(is(Fact::Path, Matches, "guides/**"))), vec![notes, pdf]),
        (Filter::And(vec![is(Fact::Path, Matches, "guides/**"), is(Fact::Lang, Matches, "de")]), vec![de]),
        (Filter::Or(vec![is(Fact::Lang, Matches, "de"), is(Fact::Pages, Equal, "12")]), vec![de, pdf]),
        (Filter::And(vec![]), vec![de, intro, notes, pdf]),
        (Filter::Or(vec![]), vec![]),
    ];
    for (filter, mut want) in cases {
        want.sort();
        assert_eq!(paths(&snapshot, &filter, None), want, "{filter:?}");
    }
    assert_eq!(paths(&snapshot, &Filter::And(vec![]), Some("private")), [notes]);
    assert_eq!(paths(&snapshot, &Filter::And(vec![]), Some("nowhere")), Vec::<String>::new());
    for other in ["PRIVATE", "Private", "private "] {
        assert_eq!(paths(&snapshot, &Filter::And(vec![]), Some(other)), Vec::<String>::new(), "{other}");
    }
    assert_eq!(snapshot.allowed(None, Some("default")).unwrap().len(), 6);
    for (fact, value) in [(Fact::Size, "large"), (Fact::Mtime, "soon"), (Fact::Pages, "x"), (Fact::Path, "a[")] {
        let error = snapshot.allowed(Some(&is(fact, Matches, value)), None).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage);
    }
}

#[test]
fn filters_act_inside_both_legs() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = facts(dir.path());
    let filter = is(Fact::Path, Compare::Matches, "guides/de/**");
    let allowed = snapshot.allowed(Some(&filter), None).unwrap();
    for text in ["text", "\"one text\""] {
        let syntax = if text.starts_with('"') { QuerySyntax::Tantivy } else { QuerySyntax::Plain };
        let query = snapshot.lexical_query(text, syntax).unwrap();
        let found = snapshot.lexical(&query, 1, Some(&allowed)).unwrap();
        assert_eq!(found.len(), 1);
        assert!(allowed.ids.contains(&found[0].0.0));
    }
    let found = snapshot.dense(&vector("one text", 4), 10, Some(&allowed), Effort::default()).unwrap().0;
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|(id, _)| allowed.ids.contains(&id.0)));
}
