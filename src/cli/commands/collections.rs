//! Collections that a command line names, and documents of one path in several of them.

use rag::{
    index::{Snapshot, SourceRecord},
    retrieve,
    serve::client::Client,
};

use crate::cli::{output::Screen, report::Failure};

/// Errors: the index has no such collection. To be asked where nothing was found: it reads every source.
pub fn check(snapshot: &Snapshot, name: Option<&str>) -> Result<(), Failure> {
    match name {
        Some(name) => is_one_of(name, snapshot.stats()?.by_collection.into_keys().collect()),
        None => Ok(()),
    }
}

/// [`check`] of a server's index. Cost: a request.
pub fn check_there(remote: &Client, name: Option<&str>) -> Result<(), Failure> {
    match name {
        Some(name) => is_one_of(name, remote.collections()?.collections.into_iter().map(|one| one.name).collect()),
        None => Ok(()),
    }
}

fn is_one_of(name: &str, mut known: Vec<String>) -> Result<(), Failure> {
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    known.sort();
    let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { "none yet".to_owned() } else { known };
    Err(retrieve::Error::NoCollection { name: name.to_owned(), known }.into())
}

/// Says that the path of `shown` stands in other collections too. `all`: the sources that answer to what was asked for.
pub fn tell_others<'s>(screen: &Screen, shown: &SourceRecord, all: impl Iterator<Item = &'s SourceRecord>) {
    let others =
        all.filter(|source| source.id != shown.id).map(|source| format!("`--collection {}`", source.collection));
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        let others = others.join(", ");
        screen.note(&format!("this is the one of collection `{}`; others of that path: {others}", shown.collection));
    }
}
