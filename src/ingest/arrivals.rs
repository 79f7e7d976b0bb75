//! Files of another machine: named in a manifest, compared by the rules of every ingest, handed over where they are wanted.
//!
//! They have a root that stands nowhere on this disk. What becomes of a file is decided as [`plan`](super::plan) does for
//! files that are found here; only what lies on the other machine is asked for: first a hash, then the content.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{
    Observer, Options, Report, Result,
    file::{self, Stat},
    given::Bytes,
    pipeline::{surveyed, task},
    plan::{self, Plan, Reading, Wanted},
    report::Outcome,
    roots::Roots,
    survey::{Survey, now_ns},
    walk::{Found, Name, Place},
};
use crate::{
    index::{Snapshot, SourceRecord, Writer},
    model::Embedder,
    types::{Cancel, SourceId, SourcePath},
};

/// Bytes of a file for each of its chunks, where nobody has read it: as of a dry run without a sample.
const BYTES_PER_CHUNK: u64 = 900;

/// The content of a file, handed over.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The root it is listed under: a name that no folder of the index has.
    pub root: String,
    /// Below the root, spelled as a source's path.
    pub path: String,
    /// What to take it for: a file extension without the dot. `None`: its bytes and its name decide.
    pub extension: Option<String>,
    /// What it is called, in place of what it says of itself and of its name; empty: it has no title at all.
    pub title: Option<String>,
    /// `None`: now, or, if the index holds the same bytes, as before.
    pub times: Option<Times>,
    pub bytes: Vec<u8>,
}

/// What the other machine's disk says of a file beside its size. Of a system without the last two they are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Nanoseconds since 1970.
    pub ctime_ns: i64,
    pub inode: u64,
}

impl Times {
    fn stat(self, size_bytes: u64) -> Stat {
        let Self { mtime_ns, ctime_ns, inode } = self;
        Stat { size_bytes, mtime_ns, ctime_ns, inode }
    }
}

/// Takes files that were handed over. `options` names no paths. Errors and the report: as of [`ingest`](super::ingest).
pub fn arrive(
    writer: &mut Writer,
    embedder: Option<&dyn Embedder>,
    options: &Options,
    arrivals: Vec<Arrival>,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    surveyed(writer, embedder, options, (observer, cancel), |snapshot, wanted| {
        // Of two files of one name the later one is meant.
        let mut read: BTreeMap<SourceId, Reading> = BTreeMap::new();
        for arrival in arrivals {
            let reading = reading(snapshot, options, arrival, wanted)?;
            read.insert(reading.found.name.id, reading);
        }
        let plan = Plan { read: read.into_values().collect(), ..Plan::default() };
        Ok(Some(survey(snapshot, options, plan)))
    })
}

fn survey(snapshot: &Snapshot, options: &Options, plan: Plan) -> Survey {
    Survey {
        plan,
        roots: Roots::new(options.home.clone(), snapshot.roots()),
        skipped: Vec::new(),
        failed: Vec::new(),
        warnings: Vec::new(),
        left: HashMap::new(),
        ignored: 0,
    }
}

fn name(options: &Options, root: &str, path: &str) -> Name {
    let path = SourcePath::from_spelling(path);
    Name { id: SourceRecord::id_of(&options.collection, root, &path), root: root.to_owned(), path }
}

fn reading(snapshot: &Snapshot, options: &Options, arrival: Arrival, wanted: Wanted<'_>) -> Result<Reading> {
    let Arrival { root, path, extension, title, times, bytes } = arrival;
    let name = name(options, &root, &path);
    let file_name = name.path.file_name().to_owned();
    let hint = extension.map_or(file_name.clone(), |extension| format!("{file_name}.{extension}"));
    let old = snapshot.source(name.id)?.map(|old| super::given::renamed(old, title.as_deref()));
    let hash = blake3::hash(&bytes).to_hex();
    let same = old.as_ref().filter(|old| old.hash == hash.as_str() && wanted.accepts(old));
    let before = || {
        let mtime_ns = same.map_or_else(now_ns, |old| old.mtime_ns);
        Times { mtime_ns, ..Times::default() }
    };
    let stat = times.unwrap_or_else(before).stat(bytes.len() as u64);
    let bytes = Bytes { bytes, hint, title, metadata: BTreeMap::new() };
    Ok(Reading { found: Found { name, place: Place::Given(Arc::new(bytes)), stat }, old, from: None })
}

/// A file as it was found on the other machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFile {
    pub path: String,
    pub size_bytes: u64,
    pub times: Times,
    /// blake3 of its bytes in hex, where somebody has read it.
    pub hash: Option<String>,
}

/// All files of one root on the other machine, as far as they were named.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    root: String,
    /// Paths below the root that were looked at; empty: all of it.
    below: Vec<String>,
    /// Patterns narrowed the walk.
    narrowed: bool,
    files: BTreeMap<String, ManifestFile>,
    /// New files whose hash is that of a record: they may be files that have moved.
    deferred: BTreeSet<String>,
}

/// What the other machine has to say or send.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManifestWants {
    pub stand: usize,
    pub hash: Vec<String>,
    pub send: Vec<String>,
}

impl Manifest {
    pub fn new(root: String, below: Vec<String>, narrowed: bool) -> Self {
        Self { root, below, narrowed, ..Self::default() }
    }

    pub fn root(&self) -> &str {
        &self.root
    }

    /// Patterns narrowed the walk.
    pub fn is_narrowed(&self) -> bool {
        self.narrowed
    }

    /// How many files were named.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes more files, and says what is wanted of them. `is_last`: all have been named now.
    pub fn add(
        &mut self,
        snapshot: &Snapshot,
        options: &Options,
        files: Vec<ManifestFile>,
        is_last: bool,
    ) -> Result<ManifestWants> {
        let task = task(snapshot, options)?;
        let wanted = task.wanted();
        let catalog = self.catalog(snapshot, options)?;
        let sizes: HashSet<u64> = catalog.values().map(|record| record.size_bytes).collect();
        let contents: HashSet<(u64, &str)> =
            catalog.values().map(|record| (record.size_bytes, record.hash.as_str())).collect();
        let mut wants = ManifestWants::default();
        for file in files {
            let path = file.path.clone();
            match (catalog.get(&name(options, &self.root, &path).id), &file.hash) {
                (Some(old), hash) if wanted.accepts(old) => match hash {
                    Some(hash) if *hash == old.hash => wants.stand += 1,
                    None if same_stat(old, &file) => wants.stand += 1,
                    None if old.size_bytes == file.size_bytes => wants.hash.push(path.clone()),
                    Some(_) | None => wants.send.push(path.clone()),
                },
                (Some(_), _) => wants.send.push(path.clone()),
                (None, None) if sizes.contains(&file.size_bytes) => wants.hash.push(path.clone()),
                (None, Some(hash)) if contents.contains(&(file.size_bytes, hash)) => {
                    self.deferred.insert(path.clone());
                }
                (None, _) => wants.send.push(path.clone()),
            }
            self.files.insert(path, file);
        }
        if is_last && !self.deferred.is_empty() {
            let plan = self.plan(snapshot, options, wanted, &HashSet::new(), &[])?;
            let deferred = std::mem::take(&mut self.deferred);
            let unmoved = plan.read.into_iter().map(|reading| reading.found.name.path.to_string());
            wants.send.extend(unmoved.filter(|path| deferred.contains(path)));
        }
        Ok(wants)
    }

    /// Makes the index agree with what was named and sent: removes what is gone, moves what has moved. `vanished`: what is
    /// no longer there, of a narrowed walk or since it was named; `unreadable`: nothing at or below these is gone, and that
    /// they were not sent the other machine knows. What else was wanted and not sent has failed.
    pub fn settle(
        &self,
        writer: &mut Writer,
        embedder: Option<&dyn Embedder>,
        options: &Options,
        (vanished, unreadable): (&[String], &[String]),
        (observer, cancel): (&dyn Observer, &Cancel),
    ) -> Result<Report> {
        let vanished: HashSet<&str> = vanished.iter().map(String::as_str).collect();
        let mut unsent = Vec::new();
        // Nothing is read here, so a dry run has nothing to take a sample of.
        let mut report = surveyed(writer, embedder, options, (observer, cancel), |snapshot, wanted| {
            let mut plan = self.plan(snapshot, options, wanted, &vanished, unreadable)?;
            unsent = std::mem::take(&mut plan.read);
            unsent.retain(|reading| !unreadable.iter().any(|place| is_below(reading.found.name.path.as_str(), place)));
            Ok(Some(survey(snapshot, options, plan)))
        })?;
        for reading in unsent {
            let path = reading.found.name.display();
            if options.dry_run {
                let chunks = reading.found.stat.size_bytes.div_ceil(BYTES_PER_CHUNK);
                let chunks = u32::try_from(chunks).unwrap_or(u32::MAX);
                report.chunks_written += u64::from(chunks);
                let list = if reading.old.is_some() { &mut report.updated } else { &mut report.added };
                list.push(Outcome { path, problems: Vec::new(), chunks, from: None });
            } else {
                let problem = file::transient("not_sent", "its content was wanted and did not come");
                report.failed.push(Outcome { path, problems: vec![problem], chunks: 0, from: None });
            }
        }
        report.sort();
        Ok(report)
    }

    /// The records of the root.
    fn catalog(&self, snapshot: &Snapshot, options: &Options) -> Result<HashMap<SourceId, SourceRecord>> {
        let records = snapshot.sources(Some(&options.collection))?.into_iter();
        Ok(records.filter(|record| record.root == self.root).map(|record| (record.id, record)).collect())
    }

    /// What has to be done, with what was sent already in the index. In `read` is what was not.
    fn plan(
        &self,
        snapshot: &Snapshot,
        options: &Options,
        wanted: Wanted<'_>,
        vanished: &HashSet<&str>,
        unreadable: &[String],
    ) -> Result<Plan> {
        let mut catalog = self.catalog(snapshot, options)?;
        let mut plan = Plan::default();
        for file in self.files.values().filter(|file| !vanished.contains(file.path.as_str())) {
            let stat = file.times.stat(file.size_bytes);
            let nothing = Bytes { bytes: Vec::new(), hint: String::new(), title: None, metadata: BTreeMap::new() };
            let name = name(options, &self.root, &file.path);
            let old = catalog.remove(&name.id);
            let found = Found { name, place: Place::Given(Arc::new(nothing)), stat };
            let stands = |old: &SourceRecord| {
                wanted.accepts(old) && file.hash.as_ref().map_or(same_stat(old, file), |hash| *hash == old.hash)
            };
            match old {
                Some(old) if stands(&old) => {
                    let Times { mtime_ns, ctime_ns, inode } = file.times;
                    let size_bytes = file.size_bytes;
                    let now = SourceRecord { size_bytes, mtime_ns, ctime_ns, inode, ..old.clone() };
                    match plan::retagged(&now, wanted.tags) {
                        Some(record) => plan.retag.push(record),
                        None if now != old => plan.retag.push(now),
                        None => plan.stand.push(old),
                    }
                }
                old => plan.read.push(Reading { found, old, from: None }),
            }
        }
        let is_gone = |record: &SourceRecord| {
            let path = record.path.as_str();
            let is_vanished = !self.narrowed || vanished.contains(path);
            let is_given = self.below.is_empty() || self.below.iter().any(|given| is_below(path, given));
            options.prune
                && record.was_seen()
                && is_given
                && is_vanished
                && !unreadable.iter().any(|place| is_below(path, place))
        };
        plan.gone.extend(catalog.into_values().filter(is_gone));
        plan.gone.sort_by(|a, b| a.path.cmp(&b.path));
        plan::find_moves(&mut plan, wanted.pipeline, &mut |found: &Found| {
            self.files.get(found.name.path.as_str()).and_then(|file| file.hash.clone())
        });
        // A file whose new name makes another document of it is sent; its old place is gone.
        for reading in &mut plan.read {
            plan.gone.extend(reading.from.take());
        }
        Ok(plan)
    }
}

/// Whether a path is a place or lies below it.
fn is_below(path: &str, place: &str) -> bool {
    place.is_empty() || path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn same_stat(old: &SourceRecord, file: &ManifestFile) -> bool {
    let Times { mtime_ns, ctime_ns, inode } = file.times;
    (old.size_bytes, old.mtime_ns, old.ctime_ns, old.inode) == (file.size_bytes, mtime_ns, ctime_ns, inode)
}

#[cfg(test)]
mod tests;
