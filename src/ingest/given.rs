//! Sources that are not files of this disk: what came by standard input or from a caller's memory, and pages of the web.
//!
//! They have roots of their own that stand nowhere on disk, so no walk ever calls them gone: they stay until they are
//! given anew or removed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    Event, Observer, Options,
    fetch::{self, Fetched},
    file::{self, Contents, Stat},
    plan::{Plan, Reading, Wanted, retagged},
    report::Outcome,
    walk::{Found, Name, Place},
};
use crate::{
    index::{Problem, SourceRecord},
    types::{Cancel, SourceId, SourcePath},
};

/// The root of what came by standard input; display paths begin with it.
pub const STDIN_ROOT: &str = "stdin";

/// The root of what clients of a server hand over.
pub const GIVEN_ROOT: &str = "given";

/// Names that no folder of the index may have as a root: what is listed under them stands nowhere on disk.
pub const RESERVED_ROOTS: [&str; 3] = [STDIN_ROOT, GIVEN_ROOT, super::IMPORT_ROOT];

/// What was handed over instead of a path.
#[derive(Debug, Clone)]
pub struct Given {
    /// The root it is listed under, as [`STDIN_ROOT`]: a name that no folder of the index has.
    pub root: String,
    /// Its name in the index, below the root.
    pub name: String,
    /// What to take it for: a file extension without the dot. `None`: its bytes and its name decide.
    pub extension: Option<String>,
    /// What it is called, in place of what it says of itself and of its name; empty: it has no title at all.
    pub title: Option<String>,
    pub bytes: Vec<u8>,
}

/// Bytes in memory, and what is known of them besides.
#[derive(Debug, PartialEq, Eq)]
pub struct Bytes {
    pub bytes: Vec<u8>,
    /// A file name for the extractor.
    pub hint: String,
    /// See [`Given::title`].
    pub title: Option<String>,
    /// Goes into the record.
    pub metadata: BTreeMap<String, String>,
}

impl Bytes {
    /// As if they were read from a file with this stat. Problem: `too_large`.
    pub fn contents(&self, stat: Stat, max_bytes: u64) -> Result<Contents, Problem> {
        let size = self.bytes.len() as u64;
        if size > max_bytes {
            return Err(file::too_large(size, max_bytes));
        }
        Ok(Contents { bytes: self.bytes.clone(), stat })
    }
}

/// What became of the given sources before any was read.
#[derive(Default)]
pub struct Taken {
    read: Vec<Reading>,
    stand: Vec<SourceRecord>,
    retag: Vec<SourceRecord>,
    pub failed: Vec<Outcome>,
}

impl Taken {
    /// Adds them to the steps of the walk.
    pub fn add_to(self, plan: &mut Plan) -> Vec<Outcome> {
        plan.read.extend(self.read);
        plan.stand.extend(self.stand);
        plan.retag.extend(self.retag);
        self.failed
    }
}

/// Takes what was given, and fetches pages. A page that the server calls unchanged is not fetched again. `catalog` loses
/// the records of what is taken.
pub fn take(
    options: &Options,
    catalog: &mut HashMap<SourceId, SourceRecord>,
    (wanted, now_ns): (Wanted<'_>, i64),
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Taken {
    let mut taken = Taken::default();
    for given in &options.given {
        let path = SourcePath::from_spelling(given.name.clone());
        let name = name(options, &given.root, path);
        let hint = match &given.extension {
            Some(extension) => format!("{}.{extension}", given.name),
            None => given.name.clone(),
        };
        let title = given.title.clone();
        let bytes = Bytes { bytes: given.bytes.clone(), hint, title, metadata: BTreeMap::new() };
        let old = catalog.remove(&name.id).map(|old| renamed(old, given.title.as_deref()));
        taken.read.push(reading(name, bytes, old, wanted, now_ns));
    }
    for url in &options.pages {
        if cancel.is_asked() {
            break;
        }
        let (root, path) = url.name();
        let name = name(options, root, SourcePath::from_spelling(path));
        let display = name.display();
        observer.event(Event::Started { path: &display });
        let old = catalog.remove(&name.id);
        let known = old.as_ref().filter(|old| wanted.accepts(old)).map(|old| &old.metadata);
        match fetch::fetch(url, known, options.max_file_bytes, cancel) {
            Ok(Fetched::Unchanged) => match old {
                Some(old) => match retagged(&old, wanted.tags) {
                    Some(record) => taken.retag.push(record),
                    None => taken.stand.push(old),
                },
                None => taken.failed.push(failed(display, fetch::nonsense(), observer)),
            },
            Ok(Fetched::Page(bytes)) => taken.read.push(reading(name, bytes, old, wanted, now_ns)),
            Err(problem) => taken.failed.push(failed(display, problem, observer)),
        }
    }
    taken
}

/// A record whose content is known only as long as its title stands: the title is none of the bytes that are hashed.
pub fn renamed(old: SourceRecord, title: Option<&str>) -> SourceRecord {
    let stands = title.is_none_or(|title| old.title.as_deref().unwrap_or_default() == title);
    if stands { old } else { SourceRecord { hash: String::new(), ..old } }
}

fn failed(path: String, problem: Problem, observer: &dyn Observer) -> Outcome {
    observer.event(Event::Failed { path: &path, problem: &problem });
    Outcome { path, problems: vec![problem], chunks: 0, from: None }
}

fn name(options: &Options, root: &str, path: SourcePath) -> Name {
    Name { id: SourceRecord::id_of(&options.collection, root, &path), root: root.to_owned(), path }
}

/// The same bytes as before keep their time, so that nothing is written for them.
fn reading(name: Name, bytes: Bytes, old: Option<SourceRecord>, wanted: Wanted<'_>, now_ns: i64) -> Reading {
    let size_bytes = bytes.bytes.len() as u64;
    let hash = blake3::hash(&bytes.bytes).to_hex();
    let same = old.as_ref().filter(|old| old.hash == hash.as_str() && wanted.accepts(old));
    let mtime_ns = same.map_or(now_ns, |old| old.mtime_ns);
    let stat = Stat { size_bytes, mtime_ns, ctime_ns: 0, inode: 0 };
    Reading { found: Found { name, place: Place::Given(Arc::new(bytes)), stat }, old, from: None }
}
