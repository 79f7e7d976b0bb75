//! Everything before the first change: walks, compares, finds moves. Reads the disk and the index, writes nothing.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    Error, Event, Observer, Options, Result, file, given,
    patterns::Patterns,
    plan::{self, Context, Plan, Scope, Wanted},
    report::Outcome,
    roots::Roots,
    walk::{self, Found, Item, Name, Target},
};
use crate::{
    index::{Problem, Snapshot, SourceRecord},
    types::{Cancel, SourceId},
};

/// How many sources are found between two events.
const FOUND_STEP: u64 = 256;

/// What was found and what is to be done.
pub struct Survey {
    pub plan: Plan,
    pub roots: Roots,
    /// Left alone on purpose.
    pub skipped: Vec<Outcome>,
    /// Could not be looked at.
    pub failed: Vec<Outcome>,
    /// Lines of ignore files that are no globs.
    pub warnings: Vec<Outcome>,
    /// Why sources that are gone are gone, where they are still on disk.
    pub left: HashMap<SourceId, Problem>,
    pub ignored: u64,
}

/// Surveys the given paths; `None` if the run was cancelled meanwhile. Errors: a path that is missing or unreadable, a
/// pattern that is wrong or matches nothing, an empty folder of which the index holds sources.
pub fn survey(
    snapshot: &Snapshot,
    options: &Options,
    wanted: Wanted<'_>,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Option<Survey>> {
    let scanned_ns = now_ns();
    let patterns = Patterns::new(&options.include, &options.exclude)?;
    let targets = walk::targets(&options.paths, Some(&options.index_dir))?;
    let roots = roots(snapshot, options, &targets)?;
    let mut catalog: HashMap<SourceId, SourceRecord> =
        snapshot.sources(Some(&options.collection))?.into_iter().map(|record| (record.id, record)).collect();

    let mut found = Finds::default();
    let settings = walk::Settings {
        collection: &options.collection,
        index_dir: Some(&options.index_dir),
        ignore_rules: options.ignore_rules,
        hidden: options.hidden,
        follow: options.follow,
        max_file_bytes: options.max_file_bytes,
    };
    let walk::Walked { ignored, empty } = walk::walk(&targets, &roots, &patterns, &settings, &mut |item| {
        found.take(item, observer);
        !cancel.is_asked()
    });
    if cancel.is_asked() {
        return Ok(None);
    }
    found.tell(observer);
    let on_disk = |place: &Path| place.symlink_metadata().is_ok();
    let scope = Scope {
        roots: &roots,
        targets: &targets,
        unreadable: &found.unreadable,
        prune: options.prune,
        on_disk: (!patterns.is_empty()).then_some(&on_disk),
    };
    if options.prune && !options.allow_empty {
        for folder in &empty {
            let documents = scope.count_below(folder, catalog.values());
            if documents > 0 {
                return Err(Error::EmptyFolder { path: as_given(folder, options), documents });
            }
        }
    }
    mark_known(&patterns, &roots, &targets, catalog.values());
    patterns.check_all_matched()?;
    let context = Context { wanted, scanned_ns, scope };
    let taken = given::take(options, &mut catalog, (wanted, scanned_ns), observer, cancel);
    let mut plan = plan::plan(found.files, catalog, &context);
    plan::find_moves(&mut plan, wanted.pipeline, &mut |found: &Found| {
        if cancel.is_asked() { None } else { found.hash().ok().map(|(hash, _)| hash) }
    });
    if cancel.is_asked() {
        return Ok(None);
    }
    let not_taken = taken.add_to(&mut plan);
    let mut left: HashMap<SourceId, Problem> = HashMap::new();
    let gone: BTreeSet<SourceId> = plan.gone.iter().map(|record| record.id).collect();
    let mut skipped = Vec::new();
    for (name, problem) in found.skipped {
        if gone.contains(&name.id) {
            left.insert(name.id, problem);
        } else {
            skipped.push(outcome(&name, problem));
        }
    }
    let mut failed: Vec<_> = found.failed.into_iter().map(|(name, problem)| outcome(&name, problem)).collect();
    failed.extend(not_taken);
    Ok(Some(Survey { plan, roots, skipped, failed, warnings: found.warnings, left, ignored }))
}

/// A target in the words of the one who gave it.
fn as_given(target: &Path, options: &Options) -> PathBuf {
    let is_it = |given: &&PathBuf| walk::resolve_if_there(given) == target;
    options.paths.iter().find(is_it).cloned().unwrap_or_else(|| target.to_owned())
}

fn outcome(name: &Name, problem: Problem) -> Outcome {
    Outcome { path: name.display(), problems: vec![problem], chunks: 0, from: None }
}

/// The index's roots, and new ones for targets that none of them holds.
fn roots(snapshot: &Snapshot, options: &Options, targets: &[Target]) -> Result<Roots> {
    let home = options.home.as_deref().map(walk::resolve_if_there);
    let mut roots = Roots::new(home.clone(), snapshot.roots());
    if targets.iter().all(|target| roots.locate(&target.path).is_some()) {
        return Ok(roots);
    }
    // Display paths below home begin with these; a root of such a name would be mistaken for one of them.
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for source in snapshot.sources(None)? {
        if source.root.is_empty() {
            taken.extend(source.path.as_str().split('/').next().map(str::to_owned));
        }
    }
    let on_disk = |name: &str| home.as_ref().is_some_and(|home| home.join(name).symlink_metadata().is_ok());
    for target in targets {
        let is_taken = |name: &str| given::RESERVED_ROOTS.contains(&name) || taken.contains(name) || on_disk(name);
        roots.adopt(&target.path, target.is_dir, &is_taken);
    }
    Ok(roots)
}

/// Lets the patterns see the sources the index knows: one whose last file is gone from disk has still meant something.
fn mark_known<'a>(
    patterns: &Patterns,
    roots: &Roots,
    targets: &[Target],
    records: impl Iterator<Item = &'a SourceRecord>,
) {
    if patterns.is_empty() {
        return;
    }
    for record in records {
        let Some(place) = roots.absolute(&record.root, &record.path) else { continue };
        for target in targets.iter().filter(|target| target.is_dir) {
            if let Ok(below) = place.strip_prefix(&target.path) {
                patterns.excludes(below, false);
                patterns.includes(below);
            }
        }
    }
}

#[derive(Default)]
struct Finds {
    files: Vec<Found>,
    bytes: u64,
    skipped: Vec<(Name, Problem)>,
    failed: Vec<(Name, Problem)>,
    unreadable: Vec<PathBuf>,
    warnings: Vec<Outcome>,
}

impl Finds {
    fn take(&mut self, item: Item, observer: &dyn Observer) {
        match item {
            Item::File(found) => {
                self.bytes = self.bytes.saturating_add(found.stat.size_bytes);
                self.files.push(found);
                if (self.files.len() as u64).is_multiple_of(FOUND_STEP) {
                    self.tell(observer);
                }
            }
            Item::Skipped { name, problem } => {
                observer.event(Event::Failed { path: &name.display(), problem: &problem });
                self.skipped.push((name, problem));
            }
            Item::Failed { name, place, problem } => {
                observer.event(Event::Failed { path: &name.display(), problem: &problem });
                self.unreadable.push(place);
                self.failed.push((name, problem));
            }
            Item::BadRule { file, why } => {
                let problem =
                    file::lasting("bad_ignore_rule", &format!("a line is no pattern and is not obeyed: {why}"));
                let path = file.display().to_string();
                self.warnings.push(Outcome { path, problems: vec![problem], chunks: 0, from: None });
            }
        }
    }

    fn tell(&self, observer: &dyn Observer) {
        observer.event(Event::Found { sources: self.files.len() as u64, bytes: self.bytes });
    }
}

/// Nanoseconds since 1970.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    i64::try_from(since).unwrap_or(i64::MAX)
}
