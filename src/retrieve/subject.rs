//! What is searched for: the text of a query, or chunks of the index and what is unlike them.

use std::borrow::Cow;

use super::{Error, Query, Result, plan::MAX_QUERY_BYTES};
use crate::index::Snapshot;

/// What is searched for: a text, or a chunk's own text and vector.
pub(super) struct Subject<'a> {
    pub text: Cow<'a, str>,
    pub vector: Option<Cow<'a, [f32]>>,
}

impl<'a> Subject<'a> {
    pub fn of(snapshot: &'a Snapshot, query: &'a Query) -> Result<Self> {
        let Some(id) = query.like else { return Ok(Self { text: query.text.as_str().into(), vector: None }) };
        let mut text = snapshot.chunk(id)?.ok_or(Error::NoChunk { id })?.text;
        text.truncate(text.floor_char_boundary(MAX_QUERY_BYTES));
        Ok(Self { text: text.into(), vector: snapshot.vector(id) })
    }
}
