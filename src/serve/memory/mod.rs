//! Memories: short texts that an agent keeps under a namespace and a key, finds again by meaning and words, and may let
//! expire.
//!
//! They are sources of an index of their own, the folder [`FOLDER`] inside the index folder: what is searched, listed and
//! counted of documents never holds any of them, their words and vectors change no document's score, and a long ingest does
//! not keep an agent from remembering. A namespace is a collection there, a memory a source under the root [`ROOT`] with its
//! key as path. `docs/format.md` says what is stored.
//!
//! Useful for: making changes for [`Writes`](super::writes::Writes), and reading. Not for: opening indexes.

mod change;
pub mod portable;
mod read;

pub use change::{Forget, Remember, forget, made_key, remember};
pub use read::{Page, Recall, Recalled, list, namespaces, recall};

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::told::Told;
use crate::{
    index::{ChunkRecord, Compare, Fact, Filter, SourceRecord},
    types::{SourceId, SourcePath},
};

/// The folder of memories, inside the index folder.
pub const FOLDER: &str = "memories";
/// The root of every memory.
pub const ROOT: &str = "memory";
/// The namespace of a memory that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// The longest content, in bytes.
pub const MAX_CONTENT_BYTES: usize = 16 << 10;
/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 256;
/// The longest name of a namespace or a tag, in bytes.
pub const MAX_NAME_BYTES: usize = 128;
/// The most tags of one memory.
pub const MAX_TAGS: usize = 32;

/// Key of a memory's metadata: its content. The index keeps the words of a text; white space between passages it does not.
const CONTENT: &str = "content";
/// Keys of a memory's metadata: milliseconds since 1970, as digits.
const CREATED: &str = "created";
const UPDATED: &str = "updated";
const EXPIRES: &str = "expires";
/// The value of a tag: a memory has it or not.
const TAGGED: &str = "yes";

/// Where the memories of an index are.
pub fn folder(index_dir: &Path) -> PathBuf {
    index_dir.join(FOLDER)
}

/// A memory as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    pub id: SourceId,
    pub namespace: String,
    pub key: String,
    pub content: String,
    pub tags: Vec<String>,
    /// Milliseconds since 1970, as are the other two.
    pub created_ms: i64,
    pub updated_ms: i64,
    /// From then on it is gone.
    pub expires_ms: Option<i64>,
}

impl Memory {
    fn new(record: &SourceRecord) -> Self {
        let time = |key: &str| record.metadata.get(key).and_then(|digits| digits.parse().ok());
        Self {
            id: record.id,
            namespace: record.collection.clone(),
            key: record.path.as_str().to_owned(),
            content: record.metadata.get(CONTENT).cloned().unwrap_or_default(),
            tags: record.tags.keys().cloned().collect(),
            created_ms: time(CREATED).unwrap_or_default(),
            updated_ms: time(UPDATED).unwrap_or_default(),
            expires_ms: time(EXPIRES),
        }
    }
}

/// The id of the memory of a key.
pub fn id_of(namespace: &str, key: &str) -> SourceId {
    SourceRecord::id_of(namespace, ROOT, &SourcePath::from_spelling(key))
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// The text of a document as it is stored: each chunk at its own byte, white space between chunks as line feeds.
pub fn stored_text(chunks: &[ChunkRecord]) -> String {
    let mut out = String::new();
    for chunk in chunks {
        out.extend(std::iter::repeat_n('\n', chunk.span.start.saturating_sub(out.len())));
        out.push_str(chunk.text.get(out.len() - chunk.span.start..).unwrap_or_default());
    }
    out
}

/// Not expired at a time.
fn alive(now_ms: i64) -> Filter {
    Filter::Or(vec![Filter::Not(Box::new(expires(Compare::GreaterOrEqual, 0))), expires(Compare::Greater, now_ms)])
}

fn expires(compare: Compare, ms: i64) -> Filter {
    Filter::Is { fact: Fact::Meta(EXPIRES.to_owned()), compare, value: ms.to_string() }
}

fn tagged(tags: &[String]) -> impl Iterator<Item = Filter> + '_ {
    tags.iter().map(|tag| Filter::Is {
        fact: Fact::Tag(tag.clone()),
        compare: Compare::Equal,
        value: TAGGED.to_owned(),
    })
}

/// Checks the name of a namespace. Errors: usage.
pub fn check_namespace(name: &str) -> Result<(), Told> {
    let is_name = !name.trim().is_empty() && !name.contains('/') && !name.contains(char::is_control);
    if is_name && name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(Told::usage(format!("`{}` is no name of a namespace", shown(name)))
        .hint(format!("use up to {MAX_NAME_BYTES} bytes without `/` and control characters, such as `default`")))
}

/// Checks a key. Errors: usage.
pub fn check_key(key: &str) -> Result<(), Told> {
    if !key.trim().is_empty() && key.len() <= MAX_KEY_BYTES && !key.contains(char::is_control) {
        return Ok(());
    }
    Err(Told::usage(format!("`{}` is no key", shown(key)))
        .hint(format!("use up to {MAX_KEY_BYTES} bytes without control characters, or leave the key out")))
}

fn check_tags(tags: &[String]) -> Result<BTreeMap<String, String>, Told> {
    if tags.len() > MAX_TAGS {
        return Err(Told::usage(format!("{} tags, at most {MAX_TAGS} are stored", tags.len())));
    }
    for tag in tags {
        if tag.trim().is_empty() || tag.len() > MAX_NAME_BYTES || tag.contains(char::is_control) {
            return Err(Told::usage(format!("`{}` is no tag", shown(tag)))
                .hint(format!("use up to {MAX_NAME_BYTES} bytes without control characters")));
        }
    }
    Ok(tags.iter().map(|tag| (tag.clone(), TAGGED.to_owned())).collect())
}

/// A name in a message: escaped and not too long.
fn shown(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests;
