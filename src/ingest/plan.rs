//! What has to be done so that the index agrees with the disk: the files found against the records kept.
//!
//! Pure: stats and records in, steps out. Three questions, in this order:
//!
//! 1. [`plan`]: by stat alone. A file whose size, mtime, ctime and inode are those of its record, made by the same
//!    pipeline, stands; so does its failure, unless that was a transient one. Everything else is read. A record in scope
//!    that was not found is gone.
//! 2. [`find_moves`]: a new file with the hash of one that is gone is that file at another place.
//! 3. [`decide`]: once a file is read, whether its content is the record's after all.
//!
//! **What may be called gone.** Only records of this collection at or below the given paths, and never one at or below a
//! place that could not be looked at. Where the whole of a path was walked, a file that is on disk but left out by the
//! rules (ignored since, too large now) goes too: the index holds what an ingest of an empty index would. Where patterns
//! narrowed the walk, only what is no longer on disk goes, for a narrower run says nothing about the rest. What came by an
//! import from another disk never goes before a walk has met its file: it was not here to vanish.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    path::{Path, PathBuf},
};

use super::{
    extract::reason,
    roots::Roots,
    version::Pipeline,
    walk::{Found, Name, Target},
};
use crate::{
    index::{Problem, SourceRecord, Status},
    types::SourceId,
};

/// A file changed this short before the scan may have changed again within the same tick of the clock, so its stat
/// proves nothing and it is hashed.
pub const FRESH_NS: i64 = 2_000_000_000;

/// What a record has to be, to stand.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// See `SourceRecord::pipeline`.
    pub pipeline: &'a Pipeline,
    /// Tags that every source of this run gets.
    pub tags: &'a BTreeMap<String, String>,
    /// Failures do not stand, whatever their reason.
    pub retry_failed: bool,
    /// Passwords were given, so what needs one does not stand.
    pub has_passwords: bool,
}

impl Wanted<'_> {
    /// Made by this pipeline, and no failure that is to be tried again.
    pub fn accepts(&self, old: &SourceRecord) -> bool {
        let may_be_gone = |problem: &Problem| {
            self.retry_failed || problem.transient || (self.has_passwords && problem.reason == reason::ENCRYPTED)
        };
        let is_retried = old.status == Status::Failed && old.problems.iter().any(may_be_gone);
        self.pipeline.is(&old.pipeline, &old.path) && !is_retried
    }
}

/// What the whole plan rests on.
pub struct Context<'a> {
    pub wanted: Wanted<'a>,
    /// When the walk began, in nanoseconds since 1970.
    pub scanned_ns: i64,
    pub scope: Scope<'a>,
}

/// Which records may be called gone.
pub struct Scope<'a> {
    pub roots: &'a Roots,
    pub targets: &'a [Target],
    /// Places that could not be looked at.
    pub unreadable: &'a [PathBuf],
    pub prune: bool,
    /// Patterns narrowed the walk: whether a path is still on disk decides.
    pub on_disk: Option<&'a dyn Fn(&Path) -> bool>,
}

impl Scope<'_> {
    /// How many records are at or below a folder.
    pub fn count_below<'a>(&self, folder: &Path, records: impl Iterator<Item = &'a SourceRecord>) -> usize {
        let place = |record: &SourceRecord| self.roots.absolute(&record.root, &record.path);
        records.filter(|record| place(record).is_some_and(|place| place.starts_with(folder))).count()
    }

    /// Whether a record that was not found is gone.
    fn is_gone(&self, record: &SourceRecord) -> bool {
        if !self.prune || !record.was_seen() {
            return false;
        }
        let Some(place) = self.roots.absolute(&record.root, &record.path) else { return false };
        let given =
            |target: &Target| if target.is_dir { place.starts_with(&target.path) } else { place == target.path };
        self.targets.iter().any(given)
            && !self.unreadable.iter().any(|folder| place.starts_with(folder))
            && !self.on_disk.is_some_and(|on_disk| on_disk(&place))
    }
}

/// A file that has to be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub found: Found,
    /// What the index holds of it.
    pub old: Option<SourceRecord>,
    /// The record of the place it was moved from.
    pub from: Option<SourceRecord>,
}

/// A file that moved and whose chunks need no more than new labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    pub found: Found,
    pub from: SourceRecord,
}

/// What has to be done.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    /// Nothing to do; failures that stand are among them.
    pub stand: Vec<SourceRecord>,
    /// Only the record changes: the same content with other tags.
    pub retag: Vec<SourceRecord>,
    pub read: Vec<Reading>,
    pub moves: Vec<Move>,
    pub gone: Vec<SourceRecord>,
}

/// Compares what was found with the catalog, a collection's records. O(found + catalog).
pub fn plan(found: Vec<Found>, mut catalog: HashMap<SourceId, SourceRecord>, context: &Context<'_>) -> Plan {
    let mut plan = Plan::default();
    for found in found {
        match catalog.remove(&found.name.id) {
            Some(old) if stands(&old, &found, context) => match retagged(&old, context.wanted.tags) {
                None => plan.stand.push(old),
                Some(record) => plan.retag.push(record),
            },
            old => plan.read.push(Reading { found, old, from: None }),
        }
    }
    plan.gone.extend(catalog.into_values().filter(|record| context.scope.is_gone(record)));
    plan.gone.sort_by(|a, b| (&a.root, &a.path).cmp(&(&b.root, &b.path)));
    plan
}

/// Whether the stat alone proves that nothing is to be done.
fn stands(old: &SourceRecord, found: &Found, context: &Context<'_>) -> bool {
    same_stat(old, found)
        && found.stat.mtime_ns < context.scanned_ns.saturating_sub(FRESH_NS)
        && context.wanted.accepts(old)
}

fn same_stat(old: &SourceRecord, found: &Found) -> bool {
    let stat = found.stat;
    (old.size_bytes, old.mtime_ns, old.ctime_ns, old.inode)
        == (stat.size_bytes, stat.mtime_ns, stat.ctime_ns, stat.inode)
}

/// The record with the run's tags, if it does not have them all.
pub fn retagged(old: &SourceRecord, tags: &BTreeMap<String, String>) -> Option<SourceRecord> {
    let lacks = tags.iter().any(|(key, value)| old.tags.get(key) != Some(value));
    lacks.then(|| SourceRecord { tags: merged(Some(old), tags), ..old.clone() })
}

/// The tags a source has after this run: the earlier ones, and the run's.
pub fn merged(old: Option<&SourceRecord>, tags: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut merged = old.map(|old| old.tags.clone()).unwrap_or_default();
    merged.extend(tags.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

/// Finds new files that are the ones gone, by content; each gone file is found once, first by a file of the same name.
/// Only new files of the size of a gone one are hashed, by `hash` (`None`: it cannot be read now).
/// O(gone + read), also where everything moved and all contents are alike.
pub fn find_moves(plan: &mut Plan, pipeline: &Pipeline, hash: &mut dyn FnMut(&Found) -> Option<String>) {
    let mut gone = Gone::new(&plan.gone);
    let mut read = Vec::with_capacity(plan.read.len());
    for mut reading in std::mem::take(&mut plan.read) {
        let may_be_moved = reading.old.is_none() && gone.has_size(reading.found.stat.size_bytes);
        let hash = if may_be_moved { hash(&reading.found) } else { None };
        let Some(from) = hash.and_then(|hash| gone.take(&reading.found, hash)) else {
            read.push(reading);
            continue;
        };
        if keeps_chunks(from, &reading.found.name, pipeline) {
            plan.moves.push(Move { found: reading.found, from: from.clone() });
        } else {
            reading.from = Some(from.clone());
            read.push(reading);
        }
    }
    let taken = gone.taken;
    let mut at = 0;
    plan.gone.retain(|_| {
        at += 1;
        !taken[at - 1]
    });
    plan.read = read;
}

/// The records that are gone, by content and name; places in the list they come from.
struct Gone<'a> {
    records: &'a [SourceRecord],
    /// How many of a size are not taken.
    left: HashMap<u64, usize>,
    by_content: HashMap<(u64, String), VecDeque<usize>>,
    by_name: HashMap<(u64, String, String), VecDeque<usize>>,
    taken: Vec<bool>,
}

impl<'a> Gone<'a> {
    fn new(records: &'a [SourceRecord]) -> Self {
        let taken = vec![false; records.len()];
        let mut gone =
            Self { records, left: HashMap::new(), by_content: HashMap::new(), by_name: HashMap::new(), taken };
        for (at, record) in records.iter().enumerate().filter(|(_, record)| !record.hash.is_empty()) {
            let (size, hash, name) = (record.size_bytes, &record.hash, record.path.file_name());
            *gone.left.entry(size).or_default() += 1;
            gone.by_content.entry((size, hash.clone())).or_default().push_back(at);
            gone.by_name.entry((size, hash.clone(), name.to_owned())).or_default().push_back(at);
        }
        gone
    }

    fn has_size(&self, size_bytes: u64) -> bool {
        self.left.get(&size_bytes).is_some_and(|&left| left > 0)
    }

    /// The first record of this content, of the same name if there is one; each once.
    fn take(&mut self, found: &Found, hash: String) -> Option<&'a SourceRecord> {
        let Self { records, left, by_content, by_name, taken } = self;
        let size = found.stat.size_bytes;
        // Each list may still hold what was taken through the other; every entry is dropped once.
        let next = |list: Option<&mut VecDeque<usize>>| {
            let list = list?;
            std::iter::from_fn(|| list.pop_front()).find(|&at| !taken[at])
        };
        let name = found.name.path.file_name().to_owned();
        let at =
            next(by_name.get_mut(&(size, hash.clone(), name))).or_else(|| next(by_content.get_mut(&(size, hash))))?;
        taken[at] = true;
        if let Some(left) = left.get_mut(&size) {
            *left -= 1;
        }
        records.get(at)
    }
}

/// Whether what was made of the file would be the same under its new name: a name decides formats, and it is the title
/// of a document that has none.
fn keeps_chunks(from: &SourceRecord, to: &Name, pipeline: &Pipeline) -> bool {
    let same_name = from.path.file_name() == to.path.file_name();
    let extension = from.path.extension();
    let same_extension = !extension.is_empty() && extension == to.path.extension();
    from.status != Status::Failed
        && pipeline.is(&from.pipeline, &from.path)
        && (same_name || (same_extension && from.title.is_some()))
}

/// What to do with a file whose content is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The index holds this content; nothing of the record differs.
    Stands,
    /// The index holds this content; only stat or tags differ.
    Touch,
    /// It has to be extracted.
    Extract,
}

/// Compares a file that was read, with the stat and hash found then, with its record.
pub fn decide(old: Option<&SourceRecord>, found: &Found, hash: &str, wanted: Wanted<'_>) -> Decision {
    match old {
        Some(old) if old.hash == hash && wanted.accepts(old) => {
            if same_stat(old, found) && retagged(old, wanted.tags).is_none() {
                Decision::Stands
            } else {
                Decision::Touch
            }
        }
        _ => Decision::Extract,
    }
}

/// Whether a failure is already recorded in the same words for the same file, so that nothing is to be written.
pub fn is_recorded(old: &SourceRecord, found: &Found, problem: &Problem, pipeline: &Pipeline) -> bool {
    old.status == Status::Failed
        && pipeline.is(&old.pipeline, &old.path)
        && old.problems == [problem.clone()]
        && same_stat(old, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ingest::{file::Stat, walk::Place},
        types::SourcePath,
    };
    use proptest::prelude::*;

    const SCAN: i64 = 1_000_000_000_000;

    fn found(root: &str, path: &str, size: u64) -> Found {
        let path = SourcePath::from_spelling(path);
        let id = SourceRecord::id_of("default", root, &path);
        let stat = Stat { size_bytes: size, mtime_ns: 5, ctime_ns: 6, inode: 7 };
        Found { name: Name { id, root: root.to_owned(), path }, place: Place::File(PathBuf::new()), stat }
    }

    /// The record of a found file, whose content is its size in words.
    fn record(found: &Found) -> SourceRecord {
        SourceRecord {
            id: found.name.id,
            collection: "default".into(),
            root: found.name.root.clone(),
            path: found.name.path.clone(),
            size_bytes: found.stat.size_bytes,
            mtime_ns: found.stat.mtime_ns,
            ctime_ns: found.stat.ctime_ns,
            inode: found.stat.inode,
            hash: format!("hash of {}", found.stat.size_bytes),
            pipeline: "p1".into(),
            status: Status::Indexed,
            problems: vec![],
            format: "markdown".into(),
            title: None,
            author: None,
            lang: None,
            pages: None,
            encoding: None,
            tags: BTreeMap::new(),
            metadata: BTreeMap::new(),
            chunks: 1,
            text_bytes: found.stat.size_bytes,
        }
    }

    fn roots() -> Roots {
        Roots::new(Some("/home".into()), &BTreeMap::from([("data".into(), "/data".into())]))
    }

    fn target(path: &str, is_dir: bool) -> Target {
        Target { path: path.into(), is_dir }
    }

    fn pipeline(base: &str) -> Pipeline {
        Pipeline { base: base.into(), ..Pipeline::default() }
    }

    fn wanted<'a>(pipeline: &'a Pipeline, tags: &'a BTreeMap<String, String>) -> Wanted<'a> {
        Wanted { pipeline, tags, retry_failed: false, has_passwords: false }
    }

    fn with_context<T>(
        targets: &[Target],
        change: impl FnOnce(&mut Context<'_>),
        act: impl FnOnce(&Context<'_>) -> T,
    ) -> T {
        let (roots, tags) = (roots(), BTreeMap::new());
        let scope = Scope { roots: &roots, targets, unreadable: &[], prune: true, on_disk: None };
        let pipeline = pipeline("p1");
        let mut context = Context { wanted: wanted(&pipeline, &tags), scanned_ns: SCAN, scope };
        change(&mut context);
        act(&context)
    }

    fn catalog(records: &[SourceRecord]) -> HashMap<SourceId, SourceRecord> {
        records.iter().map(|record| (record.id, record.clone())).collect()
    }

    /// What becomes of one file whose record is changed as told.
    fn fate(change: impl FnOnce(&mut SourceRecord)) -> &'static str {
        fate_in(|_| (), change)
    }

    fn fate_in(context: impl FnOnce(&mut Context<'_>), change: impl FnOnce(&mut SourceRecord)) -> &'static str {
        let file = found("", "a.md", 10);
        let mut old = record(&file);
        change(&mut old);
        let plan =
            with_context(&[target("/home", true)], context, |context| plan(vec![file], catalog(&[old]), context));
        match (plan.stand.len(), plan.retag.len(), plan.read.len(), plan.gone.len()) {
            (1, 0, 0, 0) => "stands",
            (0, 0, 1, 0) => "read",
            _ => "wrong",
        }
    }

    fn fail(record: &mut SourceRecord, transient: bool) {
        record.status = Status::Failed;
        record.problems = vec![Problem { reason: "damaged".into(), message: "broken".into(), transient }];
    }

    #[test]
    fn the_stat_decides_first() {
        assert_eq!(fate(|_| ()), "stands");
        assert_eq!(fate(|old| old.size_bytes += 1), "read");
        assert_eq!(fate(|old| old.mtime_ns += 1), "read");
        assert_eq!(fate(|old| old.ctime_ns += 1), "read");
        assert_eq!(fate(|old| old.inode += 1), "read");
        assert_eq!(fate(|old| old.pipeline = "p0".into()), "read");
        assert_eq!(fate(|old| old.status = Status::Warned), "stands");
        assert_eq!(fate(|old| fail(old, false)), "stands");
        assert_eq!(fate(|old| fail(old, true)), "read");
        let retry = |context: &mut Context<'_>| context.wanted.retry_failed = true;
        assert_eq!(fate_in(retry, |old| fail(old, false)), "read");
        assert_eq!(fate_in(retry, |old| old.status = Status::Warned), "stands");
        let passwords = |context: &mut Context<'_>| context.wanted.has_passwords = true;
        assert_eq!(fate_in(passwords, |old| fail(old, false)), "stands");
        let locked = |old: &mut SourceRecord| {
            fail(old, false);
            old.problems[0].reason = "encrypted".into();
        };
        assert_eq!((fate(locked), fate_in(passwords, locked)), ("stands", "read"));
    }

    #[test]
    fn cr12_a_fresh_file_is_read_whatever_its_stat() {
        for (age_ns, want) in [(FRESH_NS + 1, 1), (FRESH_NS, 0), (0, 0), (-1_000_000_000_000, 0)] {
            let mut file = found("", "a.md", 10);
            file.stat.mtime_ns = SCAN - age_ns;
            let old = record(&file);
            let plan =
                with_context(&[target("/home", true)], |_| (), |context| plan(vec![file], catalog(&[old]), context));
            assert_eq!(plan.stand.len(), want, "{age_ns}");
            assert_eq!(plan.read.len(), 1 - want, "{age_ns}");
        }
    }

    #[test]
    fn tags_are_added_and_never_lost() {
        let file = found("", "a.md", 10);
        let mut old = record(&file);
        old.tags.insert("team".into(), "ops".into());
        let run = |tags: &[(&str, &str)]| {
            let tags = tags.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            let (roots, targets) = (roots(), [target("/home", true)]);
            let scope = Scope { roots: &roots, targets: &targets, unreadable: &[], prune: true, on_disk: None };
            let pipeline = pipeline("p1");
            let context = Context { wanted: wanted(&pipeline, &tags), scanned_ns: SCAN, scope };
            plan(vec![file.clone()], catalog(std::slice::from_ref(&old)), &context)
        };
        assert_eq!(run(&[]).stand.len(), 1);
        assert_eq!(run(&[("team", "ops")]).stand.len(), 1);
        let plan = run(&[("level", "1")]);
        assert_eq!(plan.retag[0].tags.len(), 2);
        assert_eq!(run(&[("team", "dev")]).retag[0].tags["team"], "dev");
    }

    #[test]
    fn only_what_is_in_scope_is_gone() {
        let records: Vec<_> =
            [("", "docs/a.md"), ("", "docs/sub/b.md"), ("", "docs2/c.md"), ("data", "d.md"), ("lost", "e")]
                .iter()
                .map(|(root, path)| record(&found(root, path, 10)))
                .collect();
        let gone = |targets: &[Target], change: fn(&mut Context<'_>)| -> Vec<String> {
            let plan = with_context(targets, change, |context| plan(vec![], catalog(&records), context));
            plan.gone.iter().map(SourceRecord::display_path).collect()
        };
        let all = |_: &mut Context<'_>| ();
        let none: [&str; 0] = [];
        assert_eq!(gone(&[target("/home/docs", true)], all), ["docs/a.md", "docs/sub/b.md"]);
        assert_eq!(gone(&[target("/home/docs/sub", true)], all), ["docs/sub/b.md"]);
        assert_eq!(gone(&[target("/home/docs", false)], all), none);
        assert_eq!(gone(&[target("/home/docs2/c.md", false)], all), ["docs2/c.md"]);
        assert_eq!(gone(&[target("/", true)], all), ["docs/a.md", "docs/sub/b.md", "docs2/c.md", "data/d.md"]);
        assert_eq!(gone(&[target("/", true)], |context| context.scope.prune = false), none);
        static SUB: std::sync::LazyLock<[PathBuf; 1]> = std::sync::LazyLock::new(|| ["/home/docs/sub".into()]);
        let unreadable = |context: &mut Context<'_>| context.scope.unreadable = &*SUB;
        assert_eq!(gone(&[target("/home", true)], unreadable), ["docs/a.md", "docs2/c.md"]);
        let narrowed = |context: &mut Context<'_>| {
            context.scope.on_disk = Some(&|place: &Path| place != Path::new("/home/docs/a.md"));
        };
        assert_eq!(gone(&[target("/home", true)], narrowed), ["docs/a.md"]);
    }

    fn moves(old: &[(&str, u64)], new: &[(&str, u64)], change: impl Fn(&mut SourceRecord)) -> (Plan, usize) {
        let records: Vec<_> = old
            .iter()
            .map(|(path, size)| {
                let mut record = record(&found("", path, *size));
                change(&mut record);
                record
            })
            .collect();
        let new = new.iter().map(|(path, size)| found("", path, *size)).collect();
        let mut plan = with_context(&[target("/home", true)], |_| (), |context| plan(new, catalog(&records), context));
        let mut hashed = 0;
        find_moves(&mut plan, &pipeline("p1"), &mut |found| {
            hashed += 1;
            Some(format!("hash of {}", found.stat.size_bytes))
        });
        (plan, hashed)
    }

    fn pairs(plan: &Plan) -> Vec<(String, String)> {
        let moves = plan.moves.iter().map(|step| (&step.from, &step.found));
        let read = plan.read.iter().filter_map(|step| Some((step.from.as_ref()?, &step.found)));
        moves.chain(read).map(|(from, to)| (from.path.to_string(), to.name.path.to_string())).collect()
    }

    #[test]
    fn moves_are_found_by_content() {
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let (plan, hashed) = moves(&[("a/x.md", 10), ("b.md", 20)], &[("c/x.md", 10), ("new.md", 30)], |_| ());
        assert_eq!((pairs(&plan), hashed), (vec![pair("a/x.md", "c/x.md")], 1));
        assert_eq!((plan.moves.len(), plan.read.len(), plan.gone.len()), (1, 1, 1));
        // Two copies of what is gone: one is the move, by name where that tells; the other is new.
        let (plan, _) = moves(&[("a/x.md", 10)], &[("c/x.md", 10), ("d/x.md", 10)], |_| ());
        assert_eq!((pairs(&plan), plan.read.len()), (vec![pair("a/x.md", "c/x.md")], 1));
        let (plan, _) = moves(&[("a/x.md", 10), ("a/y.md", 10)], &[("c/y.md", 10), ("d/x.md", 10)], |_| ());
        assert_eq!(pairs(&plan), [pair("a/y.md", "c/y.md"), pair("a/x.md", "d/x.md")]);
    }

    #[test]
    fn a_renamed_tree_of_equal_files_is_found_in_linear_time() {
        const COUNT: usize = 60_000;
        let files =
            |folder: &str| (0..COUNT).map(|n| found("", &format!("{folder}/{n:05}/x.md"), 10)).collect::<Vec<_>>();
        let gone: Vec<_> = files("a").iter().map(record).collect();
        let read = files("b").into_iter().map(|found| Reading { found, old: None, from: None }).collect();
        let mut plan = Plan { gone, read, ..Plan::default() };
        find_moves(&mut plan, &pipeline("p1"), &mut |_| Some("hash of 10".into()));
        assert_eq!((plan.moves.len(), plan.read.len(), plan.gone.len()), (COUNT, 0, 0));
        for (from, to) in pairs(&plan) {
            assert_eq!(from.strip_prefix('a'), to.strip_prefix('b'));
        }
    }

    #[test]
    fn a_new_name_keeps_the_chunks_only_if_they_do_not_rest_on_it() {
        let kept = |to: &str, change: &dyn Fn(&mut SourceRecord)| {
            let (plan, _) = moves(&[("a/x.md", 10)], &[(to, 10)], change);
            assert_eq!(pairs(&plan).len(), 1, "{to}");
            plan.moves.len() == 1
        };
        let titled = |record: &mut SourceRecord| record.title = Some("Title".into());
        assert!(kept("b/x.md", &|_| ()));
        assert!(!kept("a/y.md", &|_| ()));
        assert!(kept("a/y.md", &titled));
        assert!(!kept("a/x.txt", &titled));
        assert!(!kept("b/x.md", &|record| record.pipeline = "p0".into()));
        assert!(!kept("b/x.md", &|record| fail(record, false)));
    }

    #[test]
    fn content_decides_last() {
        let file = found("", "a.md", 10);
        let mut other_stat = file.clone();
        other_stat.stat.inode += 1;
        let old = record(&file);
        let mut failed = old.clone();
        fail(&mut failed, true);
        let check = |old: Option<&SourceRecord>, file, hash, want| {
            assert_eq!(decide(old, file, hash, wanted(&pipeline("p1"), &BTreeMap::new())), want);
        };
        check(Some(&old), &file, "hash of 10", Decision::Stands);
        check(Some(&old), &other_stat, "hash of 10", Decision::Touch);
        check(Some(&old), &file, "another", Decision::Extract);
        check(None, &file, "hash of 10", Decision::Extract);
        check(Some(&failed), &file, "hash of 10", Decision::Extract);
        assert_eq!(
            decide(Some(&old), &file, "hash of 10", wanted(&pipeline("p2"), &BTreeMap::new())),
            Decision::Extract
        );
        let tags = BTreeMap::from([("team".into(), "ops".into())]);
        assert_eq!(decide(Some(&old), &file, "hash of 10", wanted(&pipeline("p1"), &tags)), Decision::Touch);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever is on disk and in the index: nothing outside the given paths, or of an unreadable place, or that was
        /// found, is called gone; and each record ends in one place.
        #[test]
        fn deletions_stay_in_scope(
            known in proptest::collection::btree_set("(a|b|a/b|ab)/[xyz]", 0..12),
            there in proptest::collection::btree_set("(a|b|a/b|ab)/[xyz]", 0..12),
            scope in proptest::sample::subsequence(vec!["/home/a", "/home/b", "/home/a/b", "/home/ab", "/elsewhere"], 0..4),
            unreadable in proptest::sample::subsequence(vec!["/home/a/b", "/home/ab"], 0..2),
            narrowed: bool,
        ) {
            let targets: Vec<_> = scope.iter().map(|path| target(path, true)).collect();
            let unreadable: Vec<PathBuf> = unreadable.iter().map(PathBuf::from).collect();
            let records: Vec<_> = known.iter().map(|path| record(&found("", path, 10))).collect();
            let in_scope = |path: &str| targets.iter().any(|t| Path::new("/home").join(path).starts_with(&t.path));
            let seen: Vec<_> = there.iter().filter(|path| in_scope(path)).map(|path| found("", path, 10)).collect();
            let on_disk = |place: &Path| there.iter().any(|path| Path::new("/home").join(path) == place);
            let (roots, tags) = (roots(), BTreeMap::new());
            let scope = Scope {
                roots: &roots,
                targets: &targets,
                unreadable: &unreadable,
                prune: true,
                on_disk: if narrowed { Some(&on_disk) } else { None },
            };
            let pipeline = pipeline("p1");
            let context = Context { wanted: wanted(&pipeline, &tags), scanned_ns: SCAN, scope };
            let plan = plan(seen.clone(), catalog(&records), &context);
            for gone in &plan.gone {
                let place = Path::new("/home").join(gone.path.as_str());
                prop_assert!(in_scope(gone.path.as_str()));
                prop_assert!(!seen.iter().any(|found| found.name.id == gone.id));
                prop_assert!(!unreadable.iter().any(|folder| place.starts_with(folder)));
                prop_assert!(!(narrowed && on_disk(&place)));
            }
            prop_assert_eq!(plan.stand.len() + plan.read.len() + plan.retag.len(), seen.len());
        }
    }
}
