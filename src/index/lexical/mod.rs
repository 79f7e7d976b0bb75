//! The text side: what tantivy holds, how a text is read into words, and how words find chunks.
//!
//! `analyzer`, `language`, `stopwords` read a text; `schema`, `document` say what is stored; `statistics`, `query`,
//! `syntax`, `search` find; `directory` is tantivy's way to the disk.

pub(super) mod analyzer;
mod directory;
pub(super) mod document;
pub(super) mod language;
mod marks;
pub(super) mod nearest;
pub(super) mod query;
mod read_file;
pub(super) mod schema;
pub(super) mod search;
pub(super) mod statistics;
mod stems;
mod stopwords;
mod syntax;
pub(super) mod terms;

use tantivy::Searcher;

pub(super) use directory::{DurableDirectory, seal};
pub use marks::Marker;
pub use query::LexicalQuery;

/// The longest query, in bytes.
pub(super) const MAX_QUERY_BYTES: usize = 8 * 1024;

/// Analyses words alone: no character has a meaning.
pub(super) fn plain_query(
    text: &str,
    stems: &[language::Stems],
    searcher: &Searcher,
    statistics: statistics::Statistics,
) -> tantivy::Result<LexicalQuery> {
    let mut words = query::Words::default();
    words.add(text);
    words.look_up(stems, query::Rarity { searcher, statistics })
}

/// Analyses a query in tantivy's language. The inner error is a sentence about the query.
pub(super) fn written_query(
    text: &str,
    stems: &[language::Stems],
    searcher: &Searcher,
    statistics: statistics::Statistics,
) -> tantivy::Result<Result<LexicalQuery, String>> {
    let rarity = query::Rarity { searcher, statistics };
    Ok(match syntax::read(text, stems, rarity) {
        Err(syntax::Unread::Query(what)) => Err(what),
        Err(syntax::Unread::Index(error)) => return Err(error),
        Ok(written) => {
            let query = written.words.look_up(stems, rarity)?;
            Ok(LexicalQuery { written: Some(written.query), ..query })
        }
    })
}
