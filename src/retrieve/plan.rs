//! What a query asks for, checked: limits, ranges, the filter read, identifiers found.
//!
//! Useful for: refusing a wrong query before anything is searched. Not for: what only the index knows (whether a
//! collection or a chunk exists).

use super::{Error, Mode, Query, Result, filter};
use crate::index::{Filter, QuerySyntax};

/// The longest query text, in bytes.
pub const MAX_QUERY_BYTES: usize = 8 * 1024;
/// The most results of one query.
pub const MAX_K: usize = 1000;
/// The most neighbour chunks on each side of a result.
pub const MAX_CONTEXT: usize = 100;
/// The most chunks that one query can be like and unlike.
pub const MAX_LIKE: usize = 32;
/// Candidates each leg brings, unless more results are asked for. RETRIEVAL recipe; 200 change nothing, 20 lose recall.
pub const CANDIDATES: usize = 100;

/// A checked query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub k: usize,
    /// Candidates of each leg.
    pub depth: usize,
    pub mode: Mode,
    pub filter: Option<Filter>,
    /// The text names something of a program, so the code rule of the blend is off.
    pub identifier: bool,
}

/// Checks a query. Errors: `EmptyQuery`, `QueryTooLong`, `Options`, and those of [`filter::parse`].
pub(super) fn plan(query: &Query) -> Result<Plan> {
    let found = query.text.len();
    if found > MAX_QUERY_BYTES {
        return Err(Error::QueryTooLong { found, limit: MAX_QUERY_BYTES });
    }
    let has_text = query.text.chars().any(|c| !c.is_whitespace() && !c.is_control());
    let is_vector_alone = !has_text && query.like.is_empty() && query.vector.is_some();
    if query.vector.is_some() && query.mode == Mode::Lexical {
        return wrong("`vector` is searched by meaning, and the mode is `lexical`");
    }
    if !has_text && query.like.is_empty() && !is_vector_alone {
        return match query.unlike.is_empty() {
            true => Err(Error::EmptyQuery),
            false => wrong("`unlike` leads away from a text or a chunk that is `like`, and there is neither"),
        };
    }
    let named = query.like.len() + query.unlike.len();
    if named > MAX_LIKE {
        return wrong(format!("{named} chunks are named to be like or unlike, at most {MAX_LIKE} are read"));
    }
    if let Some(id) = query.like.iter().find(|id| query.unlike.contains(id)) {
        return wrong(format!("`{id}` cannot be both like and unlike"));
    }
    if has_text && !query.like.is_empty() && query.syntax != QuerySyntax::Plain {
        return wrong("a text in the query language cannot be mixed with the text of a chunk");
    }
    let in_one = |name: &str, value: Option<f32>| match value {
        Some(value) if !(0.0..=1.0).contains(&value) => wrong(format!("`{name}` is {value}, expected 0 to 1")),
        _ => Ok(()),
    };
    in_one("alpha", query.alpha)?;
    in_one("mmr", query.mmr)?;
    in_one("min-score", query.min_score)?;
    if !(1..=MAX_K).contains(&query.k) {
        return wrong(format!("`k` is {}, expected 1 to {MAX_K}", query.k));
    }
    if query.per_source == Some(0) {
        return wrong("`per-source` is 0, expected at least 1");
    }
    if query.context > MAX_CONTEXT {
        return wrong(format!("`context` is {}, expected 0 to {MAX_CONTEXT}", query.context));
    }
    let filter = query.filter.as_deref().filter(|text| !text.trim().is_empty()).map(filter::parse).transpose()?;
    Ok(Plan {
        k: query.k,
        // More where the named chunks themselves are going to be left out.
        depth: CANDIDATES.max(query.k) + named,
        // A vector without a text has no words to look for.
        mode: if is_vector_alone { Mode::Dense } else { query.mode },
        filter,
        identifier: holds_identifier(&query.text),
    })
}

fn wrong<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::Options { what: what.into() })
}

/// Whether a text holds a name as programs write it: `a_b`, `aB`, `a::b`, `a.b(`, `a()`. RETRIEVAL recipe, "identifier".
pub(super) fn holds_identifier(text: &str) -> bool {
    text.split_whitespace().any(is_identifier)
}

fn is_identifier(word: &str) -> bool {
    let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
    let letters: Vec<char> = word.chars().collect();
    let joined = letters.windows(3).any(|w| w[0].is_alphanumeric() && w[1] == '_' && w[2].is_alphanumeric());
    let humps = letters.windows(2).any(|w| w[0].is_lowercase() && w[1].is_uppercase());
    let path = letters.windows(4).any(|w| is_part(&w[0]) && w[1] == ':' && w[2] == ':' && is_part(&w[3]));
    let call = letters.windows(3).any(|w| is_part(&w[0]) && w[1] == '(' && w[2] == ')');
    // `a.b(`: the run of name parts before a parenthesis has a dot inside.
    let method = letters.iter().enumerate().filter(|(_, c)| **c == '(').any(|(at, _)| {
        let run = letters[..at].iter().rev().take_while(|&c| is_part(c)).count();
        let dot = at - run;
        run > 0 && dot >= 2 && letters[dot - 1] == '.' && is_part(&letters[dot - 2])
    });
    joined || humps || path || call || method
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ChunkId;

    fn query(text: &str) -> Query {
        Query { text: text.into(), ..Query::default() }
    }

    #[test]
    fn identifiers() {
        for text in [
            "what does read_file do",
            "a_b",
            "parseHeader",
            "getHTTPResponse",
            "std::fs",
            "why does os.path.join( fail",
            "os.open(path)",
            "main()",
            "x.y()",
            "snake_größe",
        ] {
            assert!(holds_identifier(text), "{text}");
        }
        for text in [
            "",
            "read a file",
            "HTTP",
            "e.g. this (and that)",
            "f(x) = y",
            "note: this",
            "a: b",
            "::",
            "_",
            "__",
            "fill in the ____ here",
            "()",
            "a.b",
            ".b(",
            "a.(",
            "3.5 (three)",
            "日本語",
        ] {
            assert!(!holds_identifier(text), "{text}");
        }
    }

    #[test]
    fn ranges() {
        assert!(matches!(plan(&query("")), Err(Error::EmptyQuery)));
        assert!(matches!(plan(&query(" \t\n\u{3000}\0")), Err(Error::EmptyQuery)));
        assert!(plan(&query(&"x".repeat(MAX_QUERY_BYTES))).is_ok());
        assert!(matches!(plan(&query(&"x".repeat(MAX_QUERY_BYTES + 1))), Err(Error::QueryTooLong { found: 8193, .. })));

        let bad = [
            Query { k: 0, ..query("x") },
            Query { k: MAX_K + 1, ..query("x") },
            Query { alpha: Some(-0.1), ..query("x") },
            Query { alpha: Some(f32::NAN), ..query("x") },
            Query { mmr: Some(1.01), ..query("x") },
            Query { min_score: Some(f32::INFINITY), ..query("x") },
            Query { per_source: Some(0), ..query("x") },
            Query { context: MAX_CONTEXT + 1, ..query("x") },
            Query { unlike: vec![ChunkId(1)], ..query(" ") },
            Query { like: vec![ChunkId(1)], unlike: vec![ChunkId(2), ChunkId(1)], ..query("") },
            Query { like: (0..=MAX_LIKE as u64).map(ChunkId).collect(), ..query("") },
            Query { like: vec![ChunkId(1)], syntax: QuerySyntax::Tantivy, ..query("x") },
            Query { vector: Some(vec![1.0]), mode: Mode::Lexical, ..query("x") },
        ];
        for query in bad {
            assert!(matches!(plan(&query), Err(Error::Options { .. })), "{query:?}");
        }
        assert!(matches!(plan(&Query { filter: Some("x".into()), ..query("x") }), Err(Error::Filter { .. })));
    }

    #[test]
    fn depth_follows_k() {
        for (k, want) in [(1, 100), (100, 100), (101, 101), (1000, 1000)] {
            assert_eq!(plan(&Query { k, ..query("x") }).expect("plan").depth, want);
        }
        for (text, mode) in [("x", Mode::Hybrid), (" ", Mode::Dense)] {
            let given = Query { vector: Some(vec![1.0]), ..query(text) };
            assert_eq!(plan(&given).expect("plan").mode, mode, "a vector alone has no words");
        }
        let like = Query { like: vec![ChunkId(1)], ..query("") };
        assert_eq!(plan(&like).expect("plan").depth, 101);
        assert_eq!(plan(&Query { filter: Some("  ".into()), ..query("x") }).expect("plan").filter, None);
    }
}
