use proptest::prelude::*;

use super::*;
use crate::index::Fact;

fn is(fact: Fact, compare: Compare, value: &str) -> Filter {
    Filter::Is { fact, compare, value: value.into() }
}

fn type_is(value: &str) -> Filter {
    is(Fact::Type, Compare::Matches, value)
}

#[test]
fn conditions() {
    use Compare::*;
    for (text, want) in [
        ("type:pdf", type_is("pdf")),
        ("  type : pdf  ", type_is("pdf")),
        ("TYPE:pdf", type_is("pdf")),
        ("path:guides/**", is(Fact::Path, Matches, "guides/**")),
        ("path:a/{b,c}/[!d]?*.md", is(Fact::Path, Matches, "a/{b,c}/[!d]?*.md")),
        ("name!=a=b:c", is(Fact::Name, NotEqual, "a=b:c")),
        ("tag.team=ops", is(Fact::Tag("team".into()), Equal, "ops")),
        ("Tag.Team=Ops", is(Fact::Tag("Team".into()), Equal, "Ops")),
        ("tag.\"my team\"=ops", is(Fact::Tag("my team".into()), Equal, "ops")),
        ("meta.a.b>=3", is(Fact::Meta("a.b".into()), GreaterOrEqual, "3")),
        ("mtime>=2026-01-01", is(Fact::Mtime, GreaterOrEqual, "2026-01-01")),
        ("mtime < 2026-01-01T10:00:00Z", is(Fact::Mtime, Less, "2026-01-01T10:00:00Z")),
        ("size<=64kB", is(Fact::Size, LessOrEqual, "64000")),
        ("pages>3", is(Fact::Pages, Greater, "3")),
        ("title:\"release notes\"", is(Fact::Title, Matches, "release notes")),
        ("title:\"a \\\"b\\\" \\\\ (c) \"", is(Fact::Title, Matches, "a \"b\" \\ (c) ")),
        ("author=\"\"", is(Fact::Author, Equal, "")),
        ("title:日本語", is(Fact::Title, Matches, "日本語")),
        ("title:or", is(Fact::Title, Matches, "or")),
        ("title: \"or\"", is(Fact::Title, Matches, "or")),
        ("status:failed", is(Fact::Status, Matches, "failed")),
        ("path:C:\\x", is(Fact::Path, Matches, "C:\\x")),
    ] {
        assert_eq!(parse(text).expect(text), want, "{text}");
    }
}

#[test]
fn words_between_conditions() {
    let [a, b, c] = ["a", "b", "c"].map(type_is);
    let not = |filter: &Filter| Filter::Not(Box::new(filter.clone()));
    let all = |parts: &[&Filter]| Filter::And(parts.iter().map(|&part| part.clone()).collect());
    let any = |parts: &[&Filter]| Filter::Or(parts.iter().map(|&part| part.clone()).collect());
    for (text, want) in [
        ("type:a type:b type:c", all(&[&a, &b, &c])),
        ("type:a and type:b AND type:c", all(&[&a, &b, &c])),
        ("type:a or type:b type:c", any(&[&a, &all(&[&b, &c])])),
        ("type:a type:b or type:c", any(&[&all(&[&a, &b]), &c])),
        ("(type:a or type:b) type:c", all(&[&any(&[&a, &b]), &c])),
        ("not type:a type:b", all(&[&not(&a), &b])),
        ("not(type:a type:b)", not(&all(&[&a, &b]))),
        ("not not type:a", not(&not(&a))),
        ("((type:a))", a.clone()),
        ("type:a OR\nNot\ttype:b", any(&[&a, &not(&b)])),
    ] {
        assert_eq!(parse(text).expect(text), want, "{text}");
    }
}

#[test]
fn mistakes_name_their_place() {
    for (text, place, what) in [
        ("", "end of filter", "like `type:pdf`"),
        ("   ", "end of filter", "like `type:pdf`"),
        ("release", "release", "without an operator"),
        ("type:pdf release notes", "release notes", "without an operator"),
        ("type:", "end of filter", "a value"),
        ("type: and lang:de", "and lang:de", "a value"),
        ("type:pdf and", "end of filter", "like `type:pdf`"),
        ("and type:pdf", "and type:pdf", "before `and`"),
        ("type:pdf or or type:md", "or type:md", "before `or`"),
        ("not", "end of filter", "like `type:pdf`"),
        ("(type:pdf", "end of filter", "expected `)`"),
        ("type:pdf)", ")", "without its `(`"),
        ("()", ")", "found `)`"),
        (":pdf", ":pdf", "found `:`"),
        ("-type:pdf", "-type:pdf", "write `not`"),
        ("title:\"open", "\"open", "not closed"),
        ("title:\"open\\", "\"open\\", "not closed"),
        ("title:\"a\\nb\"", "\\nb\"", "escapes"),
        ("title:it\"s", "\"s", "quote a value"),
        ("type:a(type:b)", "(type:b)", "quote a value"),
        ("size>big", "size>big", "not a size"),
        ("pages:-1", "pages:-1", "number of pages"),
        ("mtime>yesterday", "mtime>yesterday", "not a date"),
        ("status:lost", "status:lost", "indexed, warned, failed"),
        ("type<pdf", "type<pdf", "no order"),
        ("type!pdf", "type!pdf", "without an operator"),
    ] {
        match parse(text) {
            Err(Error::Filter { at, what: found }) => {
                assert_eq!(at, place, "{text}: {found}");
                assert!(found.contains(what), "{text}: {found}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn unknown_fields_are_named() {
    for text in ["team=ops", "tag=ops", "tag.=ops", "tag.\"\"=x", "type.\"x\"=y", "typ:pdf", "a.b:c"] {
        assert!(matches!(parse(text), Err(Error::UnknownField { .. })), "{text}: {:?}", parse(text));
    }
}

#[test]
fn limits() {
    let wide = |n: usize| vec!["type:a"; n].join(" ");
    assert!(parse(&wide(MAX_CONDITIONS)).is_ok());
    assert!(matches!(parse(&wide(MAX_CONDITIONS + 1)), Err(Error::Filter { what, .. }) if what.contains("conditions")));

    let deep = |n: usize| format!("{}type:a{}", "(".repeat(n), ")".repeat(n));
    assert!(parse(&deep(MAX_DEPTH - 1)).is_ok());
    assert!(matches!(parse(&deep(MAX_DEPTH)), Err(Error::Filter { what, .. }) if what.contains("deeper")));
    assert!(matches!(parse(&"not ".repeat(3000)), Err(Error::Filter { what, .. }) if what.contains("deeper")));

    let long = format!("title:{}", "x".repeat(MAX_FILTER_BYTES));
    assert!(matches!(parse(&long), Err(Error::Filter { what, at }) if what.contains("bytes") && at.len() < 100));
}

fn any_condition() -> impl Strategy<Value = Filter> {
    let compare = prop::sample::select(vec![
        Compare::Matches,
        Compare::Equal,
        Compare::NotEqual,
        Compare::Less,
        Compare::LessOrEqual,
        Compare::Greater,
        Compare::GreaterOrEqual,
    ]);
    let equality = prop::sample::select(vec![Compare::Matches, Compare::Equal, Compare::NotEqual]);
    let text = prop::sample::select(vec![Fact::Path, Fact::Name, Fact::Title, Fact::Author, Fact::Collection]);
    let keyed = ("\\PC{1,8}", any::<bool>()).prop_map(|(key, tag)| if tag { Fact::Tag(key) } else { Fact::Meta(key) });
    prop_oneof![
        (text, equality, any::<String>()).prop_map(|(fact, compare, value)| Filter::Is { fact, compare, value }),
        (keyed, compare.clone(), any::<String>()).prop_map(|(fact, compare, value)| Filter::Is {
            fact,
            compare,
            value
        }),
        (compare, any::<u32>()).prop_map(|(compare, n)| Filter::Is { fact: Fact::Size, compare, value: n.to_string() }),
    ]
}

fn any_filter() -> impl Strategy<Value = Filter> {
    any_condition().prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::Or),
            inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn near_filters_are_read_or_refused(
        parts in prop::collection::vec(prop::sample::select(vec![
            "type", "tag.", "tag.x", ":", "=", "!=", "<", " ", "(", ")", "\"", "\\", "not", "and", "or", "é", "2026-01-01", "mtime",
        ]), 0..30),
    ) {
        let _ = parse(&parts.concat());
    }

    #[test]
    fn printing_and_reading_is_identity(filter in any_filter()) {
        let text = print(&filter);
        prop_assert_eq!(parse(&text).expect(&text), filter, "{}", text);
    }
}
