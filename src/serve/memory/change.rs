//! Remembering and forgetting, as changes for the writing thread.

use std::{collections::BTreeMap, time::Duration};

use super::{
    CONTENT, CREATED, EXPIRES, MAX_CONTENT_BYTES, Memory, ROOT, UPDATED, check_key, check_namespace, check_tags,
    expires, id_of,
};
use crate::{
    index::{Compare, SourceRecord},
    ingest::{Content, Deposit, clean_text},
    serve::{
        told::Told,
        writes::{Change, Done, Step, View},
    },
    types::{ChunkId, SourceId},
};

/// What is to be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    pub namespace: String,
    /// A memory of the same key is replaced. `None`: a key made of the content.
    pub key: Option<String>,
    pub content: String,
    pub tags: Vec<String>,
    /// `None`: it never expires.
    pub ttl: Option<Duration>,
}

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forget {
    pub namespace: String,
    /// `None`: all of the namespace.
    pub key: Option<String>,
}

/// The key of a memory that is given none: the same content has the same.
pub fn made_key(content: &str) -> String {
    let hash = blake3::hash(content.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    ChunkId(u64::from_le_bytes(first)).to_string()
}

/// A memory, put in place of the one of its key. Those that have expired go with the same commit. Gives its key too.
/// Errors: usage.
pub fn remember(memory: Remember, now_ms: i64) -> Result<(Change, String), Told> {
    let Remember { namespace, key, content, tags, ttl } = memory;
    check_namespace(&namespace)?;
    let content = clean_text(content);
    if content.len() > MAX_CONTENT_BYTES {
        return Err(Told::usage(format!(
            "the content has {} bytes, at most {MAX_CONTENT_BYTES} are stored",
            content.len()
        ))
        .hint("remember it in parts, or ingest it as a document"));
    }
    if content.trim().is_empty() {
        return Err(Told::usage("the content is empty").hint("send the text to remember as `content`"));
    }
    let tags = check_tags(&tags)?;
    let key = key.unwrap_or_else(|| made_key(&content));
    check_key(&key)?;
    let ttl_ms = ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
    let expires_ms = ttl_ms.map(|ttl| now_ms.saturating_add(ttl));
    let id = id_of(&namespace, &key);
    let name = key.clone();
    let change = Change::planned(move |view| {
        let old = view.source(id)?.filter(|old| !is_expired(old, now_ms));
        let created = old.as_ref().and_then(|old| old.metadata.get(CREATED).cloned());
        let created_ms = created.and_then(|digits| digits.parse().ok()).unwrap_or(now_ms);
        let mut steps = expired(view, now_ms, Some(id))?;
        let times = (created_ms, now_ms, expires_ms);
        steps.push(Step::Put(Box::new(deposit(namespace, name, content, tags, times))));
        Ok(steps)
    });
    Ok((change, key))
}

/// A memory as the source that it is stored as. Times: created, updated, expires.
pub(super) fn deposit(
    namespace: String,
    key: String,
    content: String,
    tags: BTreeMap<String, String>,
    (created_ms, updated_ms, expires_ms): (i64, i64, Option<i64>),
) -> Deposit {
    let mut metadata = BTreeMap::from([
        (CREATED.to_owned(), created_ms.to_string()),
        (UPDATED.to_owned(), updated_ms.to_string()),
        (CONTENT.to_owned(), content.clone()),
    ]);
    metadata.extend(expires_ms.map(|at| (EXPIRES.to_owned(), at.to_string())));
    Deposit {
        collection: namespace,
        root: ROOT.to_owned(),
        name: key,
        content: Content::Plain(content),
        title: Some(String::new()),
        tags: Some(tags),
        metadata,
    }
}

/// Memories taken away, and with them those that have expired. [`forgotten`](Forget::forgotten) tells how many were meant.
/// Errors: usage.
pub fn forget(what: &Forget, now_ms: i64) -> Result<Change, Told> {
    let Forget { namespace, key } = what.clone();
    check_namespace(&namespace)?;
    if let Some(key) = &key {
        check_key(key)?;
    }
    Ok(Change::planned(move |view| {
        let mut ids: Vec<SourceId> = match &key {
            Some(key) => vec![id_of(&namespace, key)],
            None => all_of(view, &namespace)?,
        };
        let mut steps = expired(view, now_ms, None)?;
        ids.retain(|id| !steps.iter().any(|step| matches!(step, Step::Remove(other) if other == id)));
        steps.extend(ids.into_iter().map(Step::Remove));
        Ok(steps)
    }))
}

impl Forget {
    /// How many memories were there to be forgotten; those that had expired do not count.
    pub fn forgotten(&self, done: &Done, now_ms: i64) -> usize {
        let is_meant = |record: &&SourceRecord| {
            record.collection == self.namespace
                && self.key.as_ref().is_none_or(|key| record.path.as_str() == key)
                && !is_expired(record, now_ms)
        };
        done.removed.iter().filter(is_meant).count()
    }
}

/// Removal of every memory that has expired, but for one that is about to be replaced.
fn expired(view: &View<'_>, now_ms: i64, but: Option<SourceId>) -> Result<Vec<Step>, Told> {
    let ids = view.snapshot().ids_where(&expires(Compare::LessOrEqual, now_ms), None)?;
    let ids = ids.into_iter().filter(|id| Some(*id) != but && !view.pending().contains_key(id));
    Ok(ids.map(Step::Remove).collect())
}

fn all_of(view: &View<'_>, namespace: &str) -> Result<Vec<SourceId>, Told> {
    let mut ids = view.snapshot().source_ids(None, Some(namespace))?;
    let fresh = view.pending().values().flatten().filter(|record| record.collection == namespace);
    ids.extend(fresh.map(|record| record.id));
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn is_expired(record: &SourceRecord, now_ms: i64) -> bool {
    Memory::new(record).expires_ms.is_some_and(|at| at <= now_ms)
}
