use super::*;
use crate::retrieve::{
    Mode,
    query::tests::{House, source, text},
};

/// 200 chunks about the harbour and what is asked for among them.
fn house() -> House {
    let many: Vec<String> = (0..200).map(|i| format!("The harbour has berth number {i} near the old crane")).collect();
    let many = many.iter().map(String::as_str).collect::<Vec<_>>();
    House::new(&[
        source("many.txt", &many),
        source("first.md", &["harbour harbour berth harbour"]),
        source("copy.md", &["harbour harbour berth harbour"]),
        source("far.md", &["A village in the mountains keeps goats and bees", "the cheese market"]),
        ("other.md".into(), "work", vec!["harbour berth at work".into()]),
    ])
}

fn why(house: &House, path: &str, asked: &Query) -> WhyNot {
    let sources = house.snapshot.sources(None).unwrap();
    let source = sources.into_iter().find(|source| source.path.as_str() == path).unwrap();
    why_not(&house.snapshot, Some(&house.embedder), asked, &source, None).unwrap()
}

#[test]
fn each_reason_is_told_from_the_others() {
    let house = house();
    let asked = || Query { k: 3, ..text("harbour berth") };
    // Copies share a score, so either may be the first; the other is the copy.
    let twins = ["first.md", "copy.md"].map(|path| why(&house, path, &asked()));
    assert_eq!(twins.iter().filter(|twin| twin.found == Some(1) && twin.kept.is_none()).count(), 1, "{twins:?}");
    assert_eq!(twins.iter().filter(|twin| matches!(twin.kept, Some(Kept::Copy { .. }))).count(), 1, "{twins:?}");
    type Wanted<'w> = &'w dyn Fn(&Kept) -> bool;
    let cases: [(&str, Query, Wanted<'_>); 7] = [
        ("far.md", Query { mode: Mode::Lexical, ..asked() }, &|kept| *kept == Kept::NoWord),
        ("far.md", asked(), &|kept| matches!(kept, Kept::Depth { depth: 100, k: Some(101..) })),
        ("first.md", Query { filter: Some("path:many.txt".into()), ..asked() }, &|kept| *kept == Kept::Filter),
        (
            "first.md",
            Query { collection: Some("work".into()), ..asked() },
            &|kept| matches!(kept, Kept::Collection { of } if of == "default"),
        ),
        ("first.md", Query { min_score: Some(1.0), ..asked() }, &|kept| matches!(kept, Kept::MinScore { .. })),
        ("other.md", Query { k: 1, duplicates: true, ..asked() }, &|kept| matches!(kept, Kept::Rank { k } if *k > 1)),
        ("copy.md", Query { k: 1, duplicates: true, ..asked() }, &|kept| *kept == Kept::Rank { k: 2 }),
    ];
    for (path, asked, want) in cases {
        let answer = why(&house, path, &asked);
        let twin = matches!(path, "first.md" | "copy.md") && answer.found.is_some();
        assert!(twin || answer.kept.as_ref().is_some_and(want), "{path}: {:?}", answer.kept);
        let best = answer.best.unwrap();
        assert!(best.explain.dense_rank.is_some() || asked.mode == Mode::Lexical, "{path}");
    }
}

#[test]
fn the_rank_that_is_told_is_the_one_that_shows_it() {
    let house = house();
    let asked = Query { k: 1, duplicates: true, ..text("harbour berth") };
    for path in ["other.md", "many.txt"] {
        let answer = why(&house, path, &asked);
        let Some(Kept::Rank { k }) = answer.kept else { continue };
        assert!(answer.best.unwrap().rank.is_some_and(|rank| rank <= k));
        assert!(why(&house, path, &Query { k, ..asked.clone() }).found.is_some(), "{path} {k}");
        assert!(why(&house, path, &Query { k: k - 1, ..asked.clone() }).found.is_none(), "{path} {k}");
    }
}

/// A chunk that no leg brings may stand further down together than in the better of its legs.
#[test]
fn the_depth_that_is_told_shows_it() {
    let house = house();
    let asked = Query { duplicates: true, ..text("harbour berth") };
    let answer = why(&house, "far.md", &asked);
    let Some(Kept::Depth { k: Some(k), .. }) = answer.kept else { panic!("{:?}", answer.kept) };
    assert!(why(&house, "far.md", &Query { k, ..asked }).found.is_some(), "{k}");
}

#[test]
fn words_are_held_or_not() {
    let house = house();
    let answer = why(&house, "far.md", &text("goats at the market by the harbour"));
    assert_eq!(answer.lacks, ["harbour"]);
    let mut held = [answer.holds, answer.elsewhere].concat();
    held.sort();
    assert_eq!(held, ["goats", "market"]);
}
