//! Which sources a query may see: an expression over facts of a source, and the set of chunks it allows.
//!
//! The language people type is read in `retrieve::filter`; here is what it means.

use std::collections::BTreeMap;

/// A condition on the facts of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Is { fact: Fact, compare: Compare, value: String },
}

/// A fact of a source that a filter can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// Display path; `Compare::Matches` takes a glob (`**` crosses folders).
    Path,
    Name,
    Ext,
    Type,
    Size,
    /// Value: RFC 3339 date or date-time, read as UTC.
    Mtime,
    Title,
    Author,
    Lang,
    Pages,
    Collection,
    Status,
    /// `--tag K=V`.
    Tag(String),
    /// Front matter and what the format says of itself.
    Meta(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// `:` glob for paths and names; equal or contained as words for title and author; else equal without case.
    Matches,
    /// `=`
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The chunks a query may see, of one snapshot.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    /// By tantivy segment ordinal: sorted document ids of chunk documents. Shape is the index's business.
    pub(super) documents: BTreeMap<u32, Vec<u32>>,
    /// Sorted chunk ids, for the vector side.
    pub(super) ids: Vec<u64>,
}

impl Allowed {
    /// How many chunks are allowed.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
