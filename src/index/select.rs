//! Which chunks a filter allows: the condition is evaluated on the sources of each segment, column by column, and spread
//! to their chunks.
//!
//! Text facts are compared once for every distinct value of a segment, not once for every source.

use std::collections::{BTreeMap, HashSet};

use globset::{GlobBuilder, GlobMatcher};
use tantivy::{Searcher, SegmentReader, columnar::StrColumn};

use super::{
    Allowed, Compare, Error, Fact, Filter, Result, catalog,
    lexical::{analyzer, document::fact_prefix, schema::column},
    moment::Moment,
};

/// A filter and a collection, with every value read.
pub(super) struct Rule(Node);

enum Node {
    All,
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Text {
        prefix: String,
        test: Test,
    },
    /// A column of whole numbers: `from <= value < to`.
    Number {
        column: &'static str,
        from: i128,
        to: i128,
    },
}

/// What a text value has to be.
enum Test {
    Glob {
        matcher: GlobMatcher,
        part: Part,
    },
    Words(Vec<String>),
    /// The very name: who may see `team` may not see `Team`, and `1` is not `1.0`.
    Name(String),
    Order {
        part: Part,
        compare: Compare,
        value: String,
    },
}

/// Which part of a stored value is looked at.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    FileName,
    Extension,
}

impl Rule {
    /// Reads the values of a filter. Errors: `Query`.
    pub(super) fn new(filter: Option<&Filter>, collection: Option<&str>) -> Result<Self> {
        let mut nodes = Vec::new();
        if let Some(name) = collection {
            nodes.push(Node::Text { prefix: fact_prefix(&["collection"]), test: Test::Name(name.to_owned()) });
        }
        if let Some(filter) = filter {
            nodes.push(Node::new(filter)?);
        }
        Ok(Self(if nodes.is_empty() { Node::All } else { Node::And(nodes) }))
    }
}

impl Node {
    fn new(filter: &Filter) -> Result<Self> {
        Ok(match filter {
            Filter::And(all) => Self::And(all.iter().map(Self::new).collect::<Result<_>>()?),
            Filter::Or(any) => Self::Or(any.iter().map(Self::new).collect::<Result<_>>()?),
            Filter::Not(inner) => Self::Not(Box::new(Self::new(inner)?)),
            Filter::Is { fact, compare: Compare::NotEqual, value } => {
                // What lacks a fact differs from every value of it.
                Self::Not(Box::new(Self::is(fact, Compare::Equal, value)?))
            }
            Filter::Is { fact, compare, value } => Self::is(fact, *compare, value)?,
        })
    }

    fn is(fact: &Fact, compare: Compare, value: &str) -> Result<Self> {
        let text = |keys: &[&str], part: Part| Self::text(fact_prefix(keys), part, compare, value);
        match fact {
            Fact::Path => text(&["path"], Part::Whole),
            Fact::Name => text(&["path"], Part::FileName),
            Fact::Ext => {
                let value = value.strip_prefix('.').unwrap_or(value);
                Self::text(fact_prefix(&["path"]), Part::Extension, compare, value)
            }
            Fact::Title | Fact::Author if compare == Compare::Matches => {
                let key = if *fact == Fact::Title { "title" } else { "author" };
                let words = words_of(value);
                if words.is_empty() {
                    return Err(bad(format!("{value:?} has no word to look for")));
                }
                Ok(Self::Text { prefix: fact_prefix(&[key]), test: Test::Words(words) })
            }
            Fact::Type => text(&["type"], Part::Whole),
            Fact::Title => text(&["title"], Part::Whole),
            Fact::Author => text(&["author"], Part::Whole),
            Fact::Lang => text(&["lang"], Part::Whole),
            Fact::Collection => text(&["collection"], Part::Whole),
            Fact::Status => text(&["status"], Part::Whole),
            Fact::Tag(key) => text(&["tag", key], Part::Whole),
            Fact::Meta(key) => text(&["meta", key], Part::Whole),
            Fact::Size => {
                let bytes =
                    read_size(value).ok_or_else(|| bad(format!("{value:?} is no size: write 1200, 10k, 2MB")))?;
                Ok(Self::number(column::SIZE, compare, i128::from(bytes), i128::from(bytes) + 1))
            }
            Fact::Pages => {
                let pages: u32 = value.parse().map_err(|_| bad(format!("{value:?} is no number of pages")))?;
                Ok(Self::number(column::PAGES, compare, i128::from(pages), i128::from(pages) + 1))
            }
            Fact::Mtime => {
                let moment = Moment::read(value)
                    .ok_or_else(|| bad(format!("{value:?} is no date: write 2026-01-31 or 2026-01-31T18:00:00Z")))?;
                Ok(Self::number(column::MTIME, compare, moment.from_ns, moment.to_ns))
            }
        }
    }

    fn text(prefix: String, part: Part, compare: Compare, value: &str) -> Result<Self> {
        let test = match (compare, part) {
            (Compare::Matches, Part::Whole | Part::FileName) if prefix == fact_prefix(&["path"]) => {
                // A folder's name with a slash means what is in it.
                let pattern = if value.ends_with('/') { format!("{value}**") } else { value.to_owned() };
                let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
                let glob = glob.map_err(|error| bad(format!("{value:?} is no pattern: {}", error.kind())))?;
                Test::Glob { matcher: glob.compile_matcher(), part }
            }
            _ => Test::Order { part, compare, value: value.to_owned() },
        };
        Ok(Self::Text { prefix, test })
    }

    /// `from..to`: the values that count as equal.
    fn number(column: &'static str, compare: Compare, from: i128, to: i128) -> Self {
        let (from, to) = match compare {
            Compare::Matches | Compare::Equal | Compare::NotEqual => (from, to),
            Compare::Less => (i128::MIN, from),
            Compare::LessOrEqual => (i128::MIN, to),
            Compare::Greater => (to, i128::MAX),
            Compare::GreaterOrEqual => (from, i128::MAX),
        };
        Self::Number { column, from, to }
    }
}

fn bad(what: String) -> Error {
    Error::Query { what }
}

/// The words of a text as they stand, in lower case.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    analyzer::words(text, &mut |word, _, kind| {
        if kind.is_step() {
            words.push(word.to_owned());
        }
    });
    words
}

/// `1200`, `10k`, `2MB` (thousands), `2MiB` (1,024s).
fn read_size(value: &str) -> Option<u64> {
    let value = value.trim().to_ascii_lowercase();
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let number: u64 = value[..digits].parse().ok()?;
    let unit = value[digits..].trim_start();
    let (power, binary) = match unit {
        "" | "b" => (0, false),
        "k" | "kb" => (1, false),
        "m" | "mb" => (2, false),
        "g" | "gb" => (3, false),
        "kib" => (1, true),
        "mib" => (2, true),
        "gib" => (3, true),
        _ => return None,
    };
    number.checked_mul(if binary { 1024u64 } else { 1000 }.pow(power))
}

impl Test {
    fn holds(&self, stored: &str) -> bool {
        match self {
            Self::Glob { matcher, part } => matcher.is_match(part.of(stored).as_ref()),
            Self::Name(name) => stored == name,
            Self::Words(wanted) => words_of(stored).windows(wanted.len()).any(|run| run == wanted.as_slice()),
            Self::Order { part, compare, value } => {
                let stored = part.of(stored).to_lowercase();
                let value = value.to_lowercase();
                let order = match (stored.parse::<f64>(), value.parse::<f64>()) {
                    (Ok(stored), Ok(value)) => stored.total_cmp(&value),
                    _ => stored.cmp(&value),
                };
                match compare {
                    Compare::Matches | Compare::Equal => order.is_eq(),
                    Compare::NotEqual => order.is_ne(),
                    Compare::Less => order.is_lt(),
                    Compare::LessOrEqual => order.is_le(),
                    Compare::Greater => order.is_gt(),
                    Compare::GreaterOrEqual => order.is_ge(),
                }
            }
        }
    }
}

impl Part {
    fn of(self, stored: &str) -> std::borrow::Cow<'_, str> {
        let name = stored.rsplit('/').next().unwrap_or(stored);
        match self {
            Self::Whole => stored.into(),
            Self::FileName => name.into(),
            Self::Extension => crate::types::SourcePath::from_spelling(name).extension().into(),
        }
    }
}

/// The ids of the sources that meet the rule. O(sources).
pub(super) fn sources(searcher: &Searcher, rule: &Rule) -> tantivy::Result<HashSet<u64>> {
    let mut found = HashSet::new();
    for reader in searcher.segment_readers() {
        let sources = Sources::of(reader)?;
        let meets = sources.meet(&rule.0)?;
        found.extend(sources.ids.iter().zip(meets).filter(|(_, meets)| *meets).map(|(id, _)| *id));
    }
    Ok(found)
}

/// The chunks whose source meets the rule. O(sources + chunks).
pub(super) fn allowed(searcher: &Searcher, rule: &Rule) -> tantivy::Result<Allowed> {
    let parents = sources(searcher, rule)?;
    let mut documents = BTreeMap::new();
    let mut ids = Vec::new();
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let fast = reader.fast_fields();
        let mut docs = Vec::new();
        catalog::each_value(reader, &fast.u64(column::PARENT)?, |doc, parent| {
            if parents.contains(&parent) {
                docs.push(doc);
            }
        });
        if docs.is_empty() {
            continue;
        }
        let chunk_ids = fast.u64(column::CHUNK_ID)?;
        ids.extend(docs.iter().filter_map(|&doc| chunk_ids.first(doc)));
        documents.insert(segment, docs);
    }
    ids.sort_unstable();
    Ok(Allowed { documents, ids })
}

/// The live sources of one segment.
struct Sources<'a> {
    reader: &'a SegmentReader,
    facts: Option<StrColumn>,
    docs: Vec<u32>,
    ids: Vec<u64>,
}

impl<'a> Sources<'a> {
    fn of(reader: &'a SegmentReader) -> tantivy::Result<Self> {
        let fast = reader.fast_fields();
        let (mut docs, mut ids) = (Vec::new(), Vec::new());
        catalog::each_value(reader, &fast.u64(column::SOURCE)?, |doc, id| {
            docs.push(doc);
            ids.push(id);
        });
        Ok(Self { reader, facts: fast.str(column::FACTS)?, docs, ids })
    }

    /// For each source, whether it meets the rule.
    fn meet(&self, node: &Node) -> tantivy::Result<Vec<bool>> {
        let none = || vec![false; self.docs.len()];
        let all = || vec![true; self.docs.len()];
        Ok(match node {
            Node::All => all(),
            Node::And(nodes) => nodes.iter().try_fold(all(), |mut so_far, node| {
                so_far.iter_mut().zip(self.meet(node)?).for_each(|(a, b)| *a &= b);
                tantivy::Result::Ok(so_far)
            })?,
            Node::Or(nodes) => nodes.iter().try_fold(none(), |mut so_far, node| {
                so_far.iter_mut().zip(self.meet(node)?).for_each(|(a, b)| *a |= b);
                tantivy::Result::Ok(so_far)
            })?,
            Node::Not(node) => self.meet(node)?.into_iter().map(|meets| !meets).collect(),
            Node::Text { prefix, test } => {
                let Some(facts) = &self.facts else { return Ok(none()) };
                let mut values = catalog::facts_under(facts, prefix)?;
                values.retain(|_, value| test.holds(value));
                let meets = |doc: &u32| facts.ords().values_for_doc(*doc).any(|ord| values.contains_key(&ord));
                self.docs.iter().map(meets).collect()
            }
            Node::Number { column, from, to } => {
                let fast = self.reader.fast_fields();
                let range = *from..*to;
                if *column == column::MTIME {
                    let values = fast.i64(column)?;
                    let meets = |doc: &u32| values.first(*doc).is_some_and(|value| range.contains(&i128::from(value)));
                    self.docs.iter().map(meets).collect()
                } else {
                    let values = fast.u64(column)?;
                    let meets = |doc: &u32| values.first(*doc).is_some_and(|value| range.contains(&i128::from(value)));
                    self.docs.iter().map(meets).collect()
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let cases = [
            ("0", Some(0)),
            ("1200", Some(1200)),
            ("10k", Some(10_000)),
            ("2 MB", Some(2_000_000)),
            ("2MiB", Some(2 << 20)),
            ("3gib", Some(3 << 30)),
            ("", None),
            ("-1", None),
            ("1.5k", None),
            ("10 apples", None),
            ("99999999999999999999", None),
            ("18446744073709551615g", None),
        ];
        for (text, want) in cases {
            assert_eq!(read_size(text), want, "{text}");
        }
    }

    #[test]
    fn globs_cross_folders_with_two_stars_only() {
        let is = |fact: Fact, pattern: &str, stored: &str| {
            let Ok(Node::Text { test, .. }) = Node::is(&fact, Compare::Matches, pattern) else { panic!("{pattern}") };
            test.holds(stored)
        };
        let cases = [
            (Fact::Path, "guides/*", "guides/a.md", true),
            (Fact::Path, "guides/*", "guides/de/a.md", false),
            (Fact::Path, "guides/**", "guides/de/a.md", true),
            (Fact::Path, "guides/", "guides/de/a.md", true),
            (Fact::Path, "**/a.md", "a.md", true),
            (Fact::Path, "**/a.md", "x/y/a.md", true),
            (Fact::Path, "*.{md,txt}", "a.txt", true),
            (Fact::Path, "?.md", "ab.md", false),
            (Fact::Path, "[a-c].md", "b.md", true),
            (Fact::Name, "a*", "x/y/a.md", true),
            (Fact::Name, "y*", "x/y/a.md", false),
            (Fact::Ext, ".MD", "x/a.md", true),
            (Fact::Ext, "md", "x/md", false),
            (Fact::Title, "release notes", "The Release Notes, 2026", true),
            (Fact::Title, "notes release", "The Release Notes, 2026", false),
            (Fact::Title, "note", "The Release Notes, 2026", false),
            (Fact::Lang, "DE", "de", true),
            (Fact::Tag("team".to_owned()), "ops", "Ops", true),
            (Fact::Tag("team".to_owned()), "o*", "ops", false),
        ];
        for (fact, pattern, stored, want) in cases {
            assert_eq!(is(fact.clone(), pattern, stored), want, "{fact:?} {pattern} {stored}");
        }
    }

    #[test]
    fn values_that_cannot_be_are_told() {
        for (fact, value) in [
            (Fact::Size, "big"),
            (Fact::Mtime, "yesterday"),
            (Fact::Pages, "-1"),
            (Fact::Path, "[a"),
            (Fact::Title, "!"),
        ] {
            assert!(matches!(Node::is(&fact, Compare::Matches, value), Err(Error::Query { .. })), "{fact:?} {value}");
        }
    }
}
