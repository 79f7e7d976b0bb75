//! What of an index a key may see: its collections. Everything that reads goes through here.

use std::collections::BTreeSet;

use super::{
    failure::{Failure, Result},
    guard::Caller,
};
use crate::{
    index::{Snapshot, SourceRecord},
    retrieve,
};

/// Filter and collection of a request, narrowed to what the caller may see. A collection that may not be seen is not there.
pub fn narrow(
    caller: &Caller,
    snapshot: &Snapshot,
    filter: Option<String>,
    collection: Option<String>,
) -> Result<(Option<String>, Option<String>)> {
    if caller.sees_all() {
        return Ok((filter, collection));
    }
    if let Some(name) = &collection {
        check_collection(caller, snapshot, name)?;
        return Ok((filter, collection));
    }
    let seen = visible(caller, snapshot)?;
    let quoted = |name: &String| format!("collection=\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    // No collection is called so: names have no `/`.
    let any = if seen.is_empty() { "collection=\"/\"".to_owned() } else { join(seen.iter().map(quoted)) };
    let filter = filter.filter(|text| !text.trim().is_empty());
    if let Some(filter) = &filter {
        // Its parentheses must be its own.
        retrieve::filter::parse(filter)?;
    }
    Ok((Some(filter.map_or_else(|| any.clone(), |filter| format!("({filter}) and ({any})"))), None))
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" or ")
}

/// Errors: a collection that the caller may not see, in the words of one that is not there.
pub fn check_collection(caller: &Caller, snapshot: &Snapshot, name: &str) -> Result<()> {
    if caller.sees(name) {
        return Ok(());
    }
    let known = visible(caller, snapshot)?;
    let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { "none yet".to_owned() } else { known };
    Err(retrieve::Error::NoCollection { name: name.to_owned(), known }.into())
}

/// Errors: a collection that the caller may not write to.
pub fn check_target(caller: &Caller, name: &str) -> Result<()> {
    match caller.sees(name) {
        true => Ok(()),
        false => Err(Failure::forbidden(format!("the key does not allow the collection `{name}`"))),
    }
}

/// Names of the collections there are that the caller may see.
pub fn visible(caller: &Caller, snapshot: &Snapshot) -> Result<BTreeSet<String>> {
    let names = snapshot.stats()?.by_collection.into_keys();
    Ok(names.filter(|name| caller.sees(name)).collect())
}

/// Leaves the sources that the caller may see.
pub fn retain(caller: &Caller, sources: &mut Vec<SourceRecord>) {
    if !caller.sees_all() {
        sources.retain(|source| caller.sees(&source.collection));
    }
}
