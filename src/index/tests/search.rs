//! What words find, and with what score.

use super::*;
use crate::{
    index::lexical::language::Stems,
    types::{ChunkId, Kind},
};

fn written(snapshot: &Snapshot, text: &str) -> Result<Vec<String>> {
    let query = snapshot.lexical_query(text, QuerySyntax::Tantivy)?;
    let found = snapshot.lexical(&query, 50, None)?;
    let ids: Vec<ChunkId> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(snapshot.lexical_scores(&query, &ids)?, found.iter().map(|(_, score)| *score).collect::<Vec<_>>());
    let mut paths: Vec<String> = snapshot.chunks(&ids)?.into_iter().map(|chunk| chunk.unwrap().path).collect();
    paths.sort();
    Ok(paths)
}

#[test]
fn bm25_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    // Names without a letter or digit, so that the titles are empty.
    let texts = [("-", "cat cat dog"), ("--", "dog bird"), ("---", "fish"), ("----", "the cats")];
    let snapshot = index_of(dir.path(), None, &texts);
    let score = |query: &str, path: &str| {
        let query = snapshot.lexical_query(query, QuerySyntax::Plain).unwrap();
        let id = snapshot.chunks_of(source(path).id).unwrap()[0].id;
        snapshot.lexical_scores(&query, &[id]).unwrap()[0]
    };
    // Four chunks. Stems: lengths 3, 2, 1, 1 (`the` is out), mean 1.75; words as they stand: 3, 2, 1, 2, mean 2.
    let idf = |df: f64| (1.0 + (4.0 - df + 0.5) / (df + 0.5)).ln();
    let part = |tf: f64, length: f64, mean: f64| 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / mean));
    let cases = [
        ("cat", "-", idf(2.0) * part(2.0, 3.0, 1.75) + 0.3 * idf(1.0) * part(2.0, 3.0, 2.0)),
        // "cats" is another word as it stands.
        ("cat", "----", idf(2.0) * part(1.0, 1.0, 1.75)),
        ("cats", "----", idf(2.0) * part(1.0, 1.0, 1.75) + 0.3 * idf(1.0) * part(1.0, 2.0, 2.0)),
        // A word that comes twice counts twice.
        ("bird bird", "--", 2.0 * (idf(1.0) * part(1.0, 2.0, 1.75) + 0.3 * idf(1.0) * part(1.0, 2.0, 2.0))),
        // Stop words beside others score as they stand; alone they are all there is.
        ("the fish", "----", 0.3 * idf(1.0) * part(1.0, 2.0, 2.0)),
        ("the", "----", 0.3 * idf(1.0) * part(1.0, 2.0, 2.0)),
        ("the", "-", 0.0),
        ("unknown", "-", 0.0),
    ];
    for (query, path, want) in cases {
        let got = score(query, path);
        assert!((f64::from(got) - want).abs() < 1e-6, "{query} {path}: {got} {want}");
    }

    let coverage = |query: &str, path: &str| {
        let query = snapshot.lexical_query(query, QuerySyntax::Plain).unwrap();
        let id = snapshot.chunks_of(source(path).id).unwrap()[0].id;
        f64::from(snapshot.coverage(&query, &[id]).unwrap()[0])
    };
    let unknown = idf(0.0);
    let cases = [
        ("cat dog", "-", 1.0),
        ("cats dog", "----", idf(2.0) / (idf(2.0) + idf(2.0))),
        ("cat cats", "----", 1.0),
        ("bird zebra", "--", idf(1.0) / (idf(1.0) + unknown)),
        ("the bird", "--", 1.0),
        ("zebra", "--", 0.0),
    ];
    for (query, path, want) in cases {
        let got = coverage(query, path);
        assert!((got - want).abs() < 1e-6, "{query} {path}: {got} {want}");
    }
}

#[test]
fn sources_do_not_count_in_the_statistics() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), None);
    let mut writer = writer(&index);
    put(&mut writer, source("-"), Some("en"), &["cat dog", "cat", "bird"]);
    writer.commit().unwrap();
    let score = |snapshot: &Snapshot| {
        let query = snapshot.lexical_query("cat", QuerySyntax::Plain).unwrap();
        snapshot.lexical(&query, 5, None).unwrap()
    };
    let before = score(writer.snapshot());
    for i in 0..5 {
        let mut failed = source(&format!("cat {i}.cat"));
        failed.status = Status::Failed;
        failed.title = Some("cat".to_owned());
        writer.put(&failed, &[]).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(score(writer.snapshot()), before);
}

#[test]
fn every_language_finds_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), None);
    let mut writer = writer(&index);
    let texts = [
        ("en", "The committee was running several investigations"),
        ("de", "Die Häuser der Städte wurden verkauft"),
        ("es", "Los ciudadanos hablaron de las elecciones"),
        ("ru", "Жители городов читали интересные книги"),
        ("ar", "المدارس الجديدة في المدينة"),
        ("zh", "东京的人口密度很高"),
        ("ja", "データベースを検索する方法"),
        ("th", "ประเทศไทยมีประชากรมาก"),
        ("hi", "भारत में कई भाषाएँ बोली जाती हैं"),
        ("ko", "서울은 대한민국의 수도이다"),
        ("fr", "Les chevaux mangeaient continuellement"),
        ("uk", "Мова програмування"),
    ];
    for (lang, text) in texts {
        put(&mut writer, source(lang), Some(lang), &[text]);
    }
    put(&mut writer, source("code"), None, &["fn parseHttpRequest(user_name: &str) -> Running"]);
    writer.commit().unwrap();
    let cases = [
        ("investigation runs", "en"),
        ("haus stadt verkaufen", "de"),
        ("ciudadano elección", "es"),
        ("книга город", "ru"),
        ("مدينة", "ar"),
        ("人口", "zh"),
        ("検索", "ja"),
        ("ประชากร", "th"),
        ("भाषाएँ", "hi"),
        ("대한민국의", "ko"),
        ("cheval continuel", "fr"),
        ("мова", "uk"),
        ("http requests", "code"),
        ("user_name", "code"),
        ("parsehttprequest", "code"),
        ("ＩＮＶＥＳＴＩＧＡＴＩＯＮ", "en"),
    ];
    let snapshot = writer.snapshot();
    for (query, lang) in cases {
        let query_text = query;
        let query = snapshot.lexical_query(query, QuerySyntax::Plain).unwrap();
        let best = snapshot.lexical(&query, 1, None).unwrap();
        let path = best.first().map(|(id, _)| snapshot.chunk(*id).unwrap().unwrap().path);
        assert_eq!(path.as_deref(), Some(lang), "{query_text}");
    }
    let query = snapshot.lexical_query("東京の人口", QuerySyntax::Plain).unwrap();
    assert!(query.words().contains(&"人口".to_owned()) && !query.words().contains(&"口".to_owned()));
    let query = snapshot.lexical_query("What is the Running of it?", QuerySyntax::Plain).unwrap();
    assert_eq!(query.words(), ["running"]);
    let query = snapshot.lexical_query("what is it", QuerySyntax::Plain).unwrap();
    assert_eq!(query.words(), ["what", "is", "it"]);
    for empty in ["", "?! …", "😀"] {
        let query = snapshot.lexical_query(empty, QuerySyntax::Plain).unwrap();
        assert!(query.is_empty());
        assert_eq!(snapshot.lexical(&query, 5, None).unwrap(), []);
    }
}

/// One chunk that was taken for another language has stems that no other has. They are no rarer for it than the word.
#[test]
fn a_stray_language_does_not_lead() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), None);
    let mut writer = writer(&index);
    for i in 0..40 {
        let text = format!("Automatic indexing and information retrieval evaluation, part {i}");
        put(&mut writer, source(&format!("-{i}")), Some("en"), &[&text]);
    }
    let best = "Costs of automatic indexing and information retrieval evaluation";
    put(&mut writer, source("best"), Some("en"), &[best]);
    let stray = "In a long study rules for automatic indexing were derived, and criteria of many sorts for information systems, \
                 their retrieval programs and the evaluation of both by people who know them";
    put(&mut writer, source("stray"), Some("da"), &[stray]);
    put(&mut writer, source("unknown"), Some("zh"), &[stray]);
    writer.commit().unwrap();
    // The stemmers differ, or this would prove nothing.
    assert_ne!(Stems::of(Some("da")).stem("indexing"), Stems::of(Some("en")).stem("indexing"));
    let text = "costs automatic indexing information retrieval evaluation";
    for syntax in [QuerySyntax::Plain, QuerySyntax::Tantivy] {
        let snapshot = writer.snapshot();
        let query = snapshot.lexical_query(text, syntax).unwrap();
        let found = snapshot.lexical(&query, 50, None).unwrap();
        let ids: Vec<ChunkId> = found.iter().map(|(id, _)| *id).collect();
        let scores: Vec<f32> = found.iter().map(|(_, score)| *score).collect();
        assert_eq!(snapshot.lexical_scores(&query, &ids).unwrap(), scores, "{syntax:?}");
        let paths: Vec<String> = snapshot.chunks(&ids).unwrap().into_iter().map(|chunk| chunk.unwrap().path).collect();
        assert_eq!(paths[0], "best", "{syntax:?}");
        let place = |path: &str| paths.iter().position(|p| p == path).unwrap();
        assert!(place("stray") > 20 && place("unknown") > 20, "{syntax:?}: {paths:?}");
    }
    // A language still finds its own, however few its chunks are.
    put(&mut writer, source("de"), Some("de"), &["Die Häuser der Städte wurden verkauft"]);
    writer.commit().unwrap();
    let query = writer.snapshot().lexical_query("haus verkaufen indexing", QuerySyntax::Plain).unwrap();
    let best = writer.snapshot().lexical(&query, 1, None).unwrap();
    assert_eq!(writer.snapshot().chunk(best[0].0).unwrap().unwrap().path, "de");
}

#[test]
fn letters_that_are_written_in_several_ways() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), None);
    let mut writer = writer(&index);
    let texts = [
        ("tr", "tr", "İstanbul'un IŞIK dolu kapıları açıktır"),
        ("ar", "ar", "أحمد في المَدْرَسَة الكبيرة ومؤســسة"),
        ("fa", "fa", "کتابهای یک نویسنده"),
        ("lo", "lo", "ປະເທດລາວມີພູເຂົາຫຼາຍ"),
        ("km", "km", "ប្រទេសកម្ពុជាមានប្រាសាទ"),
        ("my", "my", "မြန်မာနိုင်ငံတွင်စေတီများရှိသည်"),
        ("th", "th", "ประเทศไทยมีวัดมากมาย"),
        ("hi", "hi", "हिन्दी की किताबें"),
        ("fr", "fr", "L\u{2019}E\u{301}COLE est fermée"),
    ];
    for (name, lang, text) in texts {
        put(&mut writer, source(name), Some(lang), &[text]);
    }
    writer.commit().unwrap();
    let snapshot = writer.snapshot();
    for (text, want) in [
        ("istanbul", "tr"),
        ("İSTANBUL", "tr"),
        ("Istanbul", "tr"),
        ("i\u{307}stanbul", "tr"),
        ("ışık", "tr"),
        ("işik", "tr"),
        ("kapı", "tr"),
        // With and without hamza, marks of vowels and stretched letters.
        ("احمد", "ar"),
        ("مدرسة", "ar"),
        ("المدرسة", "ar"),
        ("مؤسسة", "ar"),
        ("کتاب", "fa"),
        ("ພູເຂົາ", "lo"),
        ("ប្រាសាទ", "km"),
        ("စေတီ", "my"),
        ("วัด", "th"),
        ("किताबें", "hi"),
        ("école", "fr"),
    ] {
        for syntax in [QuerySyntax::Plain, QuerySyntax::Tantivy] {
            let query = snapshot.lexical_query(text, syntax).unwrap();
            let best = snapshot.lexical(&query, 1, None).unwrap();
            let path = best.first().map(|(id, _)| snapshot.chunk(*id).unwrap().unwrap().path);
            assert_eq!(path.as_deref(), Some(want), "{text} {syntax:?}");
        }
    }
}

#[test]
fn versions_and_decimals_are_found_whole() {
    let dir = tempfile::tempdir().unwrap();
    let texts = [
        ("a", "Released 2026.4.10 on Monday. Then 10 fixes, 4 more in 2026, 10 again, 4 again, 2026 again."),
        ("b", "Released 2026.10.4 with 4 fixes in 2026, 10 of them new, 4 old, 10 fixed, 2026 all over."),
        ("c", "Upgrade to v1.2.3 first"),
        ("d", "pi is 3.14 and not 3 or 14"),
        ("e", "14 and 3 and 3 and 14"),
    ];
    let snapshot = index_of(dir.path(), None, &texts);
    for (query, path) in [("2026.4.10", "a"), ("2026.10.4", "b"), ("1.2.3", "c"), ("V1.2.3", "c"), ("3.14", "d")] {
        let text = texts.iter().find(|(p, _)| *p == path).unwrap().1;
        assert_eq!(find(&snapshot, query)[0], text, "{query}");
        assert_eq!(written(&snapshot, &format!("\"{}\"", query.to_lowercase().trim_start_matches('v'))).unwrap(), {
            // As a phrase the parts stand one after the other: `v1 2 3` is no `1 2 3`.
            if path == "c" { Vec::<String>::new() } else { vec![path.to_owned()] }
        });
    }
}

#[test]
fn equal_scores_go_to_the_smaller_id_however_many_segments_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), None);
    let mut writer = writer(&index);
    for batch in 0..3 {
        for i in 0..150 {
            put(&mut writer, source(&format!("s{batch}-{i}")), Some("en"), &["the same words in each"]);
        }
        writer.commit().unwrap();
    }
    let snapshot = writer.snapshot();
    let mut ids: Vec<ChunkId> = Vec::new();
    for source in snapshot.sources(None).unwrap() {
        ids.extend(snapshot.chunks_of(source.id).unwrap().iter().map(|chunk| chunk.id));
    }
    ids.sort();
    let query = snapshot.lexical_query("same words", QuerySyntax::Plain).unwrap();
    // Titles differ, but hold none of the words.
    for k in [1, 10, 300, 450, 1000] {
        let found = snapshot.lexical(&query, k, None).unwrap();
        let found_ids: Vec<ChunkId> = found.iter().map(|(id, _)| *id).collect();
        assert_eq!(found_ids, ids[..k.min(450)], "k = {k}");
        assert_eq!(snapshot.lexical_scores(&query, &found_ids).unwrap(), vec![found[0].1; found.len()]);
    }
    assert_eq!(snapshot.lexical(&query, 0, None).unwrap(), []);
}

#[test]
fn candidates_are_the_best_by_the_exact_score() {
    // Many chunks of different lengths: the pruned union must give what scoring everything gives.
    let dir = tempfile::tempdir().unwrap();
    let index = create(dir.path(), None);
    let mut writer = writer(&index);
    let words = ["apple", "pear", "plum", "fig", "grape", "melon", "cherry"];
    let mut seed = 7u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as usize
    };
    for batch in 0..4 {
        for i in 0..500 {
            let text: Vec<&str> = (0..1 + next() % 30).map(|_| words[(next() * next()) % words.len()]).collect();
            put(&mut writer, source(&format!("{batch}/{i}")), Some("en"), &[&text.join(" ")]);
        }
        writer.commit().unwrap();
    }
    for i in 0..40 {
        writer.remove(source(&format!("0/{}", i * 7)).id).unwrap();
    }
    writer.commit().unwrap();
    let snapshot = writer.snapshot();
    let all = snapshot.allowed(None, None).unwrap();
    let some = snapshot
        .allowed(
            Some(&Filter::Is { fact: Fact::Path, compare: Compare::Matches, value: "[12]/*[13579]".to_owned() }),
            None,
        )
        .unwrap();
    assert_eq!((all.len(), some.len()), (1960, 500));
    for text in ["apple", "fig plum", "cherry melon grape fig plum pear apple", "fig fig fig apple"] {
        let query = snapshot.lexical_query(text, QuerySyntax::Plain).unwrap();
        // Of everything, in the order of scores: few allowed ones are all scored.
        let everything = snapshot.lexical(&query, 5000, Some(&all)).unwrap();
        for k in [1, 10, 100] {
            assert_eq!(snapshot.lexical(&query, k, None).unwrap(), everything[..k], "{text} {k}");
        }
        let wanted: Vec<_> =
            everything.iter().filter(|(id, _)| some.ids.binary_search(&id.0).is_ok()).take(100).copied().collect();
        assert_eq!(snapshot.lexical(&query, 100, Some(&some)).unwrap(), wanted, "{text}");
    }
}

#[test]
fn the_written_language() {
    let dir = tempfile::tempdir().unwrap();
    let texts = [
        ("a", "red apples and green pears"),
        ("b", "green apples and red pears"),
        ("c", "apples"),
        ("d", "the who played loud"),
        ("Handbook.md", "nothing of fruit"),
    ];
    let snapshot = index_of(dir.path(), None, &texts);
    let cases: [(&str, &[&str]); 19] = [
        ("apple", &["a", "b", "c"]),
        ("\"red apples\"", &["a"]),
        ("\"red apples\" OR \"red pears\"", &["a", "b"]),
        ("apples -green", &["c"]),
        ("apples AND NOT green", &["c"]),
        ("+apples +pear", &["a", "b"]),
        ("(red AND pears) AND NOT \"green pears\"", &["b"]),
        ("exact:apple", &[]),
        ("exact:apples", &["a", "b", "c"]),
        ("text:apple", &["a", "b", "c"]),
        ("title:handbooks", &["Handbook.md"]),
        ("handbook", &["Handbook.md"]),
        ("\"the who\"", &["d"]),
        ("who", &["d"]),
        ("\"green apples\"~2", &["b"]),
        ("\"red app\"*", &["a"]),
        ("apples^3 OR loud", &["a", "b", "c", "d"]),
        ("red-apples", &["a"]),
        ("*", &["Handbook.md", "a", "b", "c", "d"]),
    ];
    for (query, want) in cases {
        assert_eq!(written(&snapshot, query).unwrap(), want, "{query}");
    }
    let boosted = snapshot.lexical_query("apples OR loud^10", QuerySyntax::Tantivy).unwrap();
    let best = snapshot.lexical(&boosted, 1, None).unwrap()[0].0;
    assert_eq!(snapshot.chunk(best).unwrap().unwrap().path, "d");
    assert_eq!(boosted.words(), ["apples", "loud"]);
    let query = snapshot.lexical_query("apples -green", QuerySyntax::Tantivy).unwrap();
    assert_eq!(query.words(), ["apples"]);

    let deep = format!("{}apples{}", "(".repeat(500), ")".repeat(500));
    let wide: String = (0..300).map(|i| format!("w{i} ")).collect();
    let long = "a".repeat(9_000);
    let bad: [(&str, &str); 13] = [
        ("\"open", ""),
        ("(apples", ""),
        ("-apples", "must not"),
        ("NOT apples", "must not"),
        ("author:me", "no field `author`"),
        ("title:[a TO b]", "filters"),
        ("apples^-1", ""),
        ("!!!", ""),
        ("", ""),
        ("\"\"", ""),
        (&deep, "nested"),
        (&wide, "256"),
        (&long, "8192"),
    ];
    for (query, what) in bad {
        let error = written(&snapshot, query).map(|found| panic!("{query:.40}: {found:?}")).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{query:.40}: {error}");
        assert!(error.to_string().contains(what), "{query:.40}: {error}");
    }
}

#[test]
fn hostile_queries_end() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = index_of(dir.path(), None, &[("a", "one two three")]);
    let pieces = [
        "NOT ", "-", "+", "(", ")", "\"", "*", "~2 ", "^", "a:", "a OR ", "a AND ", "IN [", "[a TO ", "{", "/", "\\",
        ": ", "(-", "(+a ", "a^2^", "\"a\"~9 ", "漢", "a_b_", "1.2.", "\u{301}", "<", ">=", "'",
    ];
    for piece in pieces {
        for tail in ["", "a\""] {
            let text = piece.repeat(8_000 / piece.len()) + tail;
            for syntax in [QuerySyntax::Plain, QuerySyntax::Tantivy] {
                if let Ok(query) = snapshot.lexical_query(&text, syntax) {
                    snapshot.lexical(&query, 3, None).unwrap();
                }
            }
        }
    }
}
