//! What is on this disk, for an index that is elsewhere: the same walk as an ingest of here, and no index.
//!
//! Each folder that is given is a root of its own name, each file one of its parent's: where the index is says nothing
//! about where the files are.
//!
//! Not for: deciding what is wanted. Who has the index does that.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    Error, Event, Observer, Result, Times,
    file::{self, Contents, Stat},
    given,
    patterns::Patterns,
    plan,
    report::Outcome,
    roots::Roots,
    survey,
    walk::{self, Item, Name, Place, Target},
};
use crate::{
    index::Problem,
    types::{Cancel, SourcePath},
};

/// How many sources are found between two events.
const FOUND_STEP: u64 = 256;

/// What to look at and how: as in [`Options`](super::Options).
#[derive(Debug, Clone)]
pub struct ScoutOptions {
    pub paths: Vec<PathBuf>,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub ignore_rules: bool,
    pub hidden: bool,
    pub follow: bool,
    pub max_file_bytes: u64,
    /// What the one root is called, in place of the name of its folder.
    pub name: Option<String>,
}

/// What there is.
pub struct Scouted {
    pub roots: Vec<ScoutedRoot>,
    /// Left alone on purpose.
    pub skipped: Vec<Outcome>,
    /// Could not be looked at.
    pub failed: Vec<Outcome>,
    /// Lines of ignore files that are no globs.
    pub warnings: Vec<Outcome>,
    pub ignored: u64,
    /// Patterns narrowed the walk: what was not found may be there all the same.
    pub narrowed: bool,
    /// When the walk began, in nanoseconds since 1970.
    pub scanned_ns: i64,
    patterns: Patterns,
}

/// A folder and what is in it.
#[derive(Debug)]
pub struct ScoutedRoot {
    pub name: String,
    folder: PathBuf,
    targets: Vec<Target>,
    /// Folders that were given and have no entry at all: more likely unmounted than emptied.
    empty: Vec<PathBuf>,
    pub files: Vec<ScoutedFile>,
    /// Places that could not be looked at, below the root.
    pub unreadable: Vec<String>,
}

/// A file to be handed over.
#[derive(Debug, Clone)]
pub struct ScoutedFile {
    /// Below its root, as an index spells it.
    pub path: String,
    pub size_bytes: u64,
    pub times: Times,
    place: PathBuf,
}

impl ScoutedFile {
    /// blake3 of its bytes in hex, and its size and times of then.
    pub fn hash(&self) -> Result<(String, u64, Times), Problem> {
        file::hash(&self.place).map(|(hash, stat)| (hash, stat.size_bytes, times(stat)))
    }

    /// Its bytes, and its times of then.
    pub fn read(&self, max_bytes: u64) -> Result<(Vec<u8>, Times), Problem> {
        file::read(&self.place, max_bytes).map(|Contents { bytes, stat }| (bytes, times(stat)))
    }

    /// It was changed so short before it was looked at that its times prove nothing.
    pub fn is_fresh(&self, scanned_ns: i64) -> bool {
        let Times { mtime_ns, ctime_ns, .. } = self.times;
        mtime_ns.max(ctime_ns).saturating_add(plan::FRESH_NS) >= scanned_ns
    }
}

/// Looks at the given paths; `None` if it was cancelled meanwhile. Errors: a path that is missing or unreadable, a pattern
/// that is wrong, two folders of one name, which an index elsewhere could not tell apart.
pub fn scout(options: &ScoutOptions, observer: &dyn Observer, cancel: &Cancel) -> Result<Option<Scouted>> {
    let scanned_ns = survey::now_ns();
    let patterns = Patterns::new(&options.include, &options.exclude)?;
    let targets = walk::targets(&options.paths, None)?;
    let roots = roots(&targets, options.name.as_deref())?;
    let settings = walk::Settings {
        collection: "",
        index_dir: None,
        ignore_rules: options.ignore_rules,
        hidden: options.hidden,
        follow: options.follow,
        max_file_bytes: options.max_file_bytes,
    };
    let mut finds = Finds { found: BTreeMap::new(), sources: 0, bytes: 0, observer, roots: &roots };
    for target in &targets {
        if let Some((root, below)) = roots.locate(&target.path) {
            let mut folder = target.path.clone();
            for _ in below.components() {
                folder.pop();
            }
            let root = finds.root(root);
            root.folder = folder;
            root.targets.push(target.clone());
        }
    }
    let mut lists = Lists::default();
    let walked = walk::walk(&targets, &roots, &patterns, &settings, &mut |item| {
        finds.take(item, &mut lists);
        !cancel.is_asked()
    });
    if cancel.is_asked() {
        return Ok(None);
    }
    finds.tell();
    for folder in walked.empty {
        if let Some((root, _)) = roots.locate(&folder) {
            finds.root(root).empty.push(folder.clone());
        }
    }
    let Lists { skipped, failed, warnings } = lists;
    let (narrowed, ignored) = (!patterns.is_empty(), walked.ignored);
    let roots = finds.found.into_values().collect();
    Ok(Some(Scouted { roots, skipped, failed, warnings, ignored, narrowed, scanned_ns, patterns }))
}

/// Each folder under its own name. Errors: `Options` where that would be the name of two, or where one name is given to two.
fn roots(targets: &[Target], name: Option<&str>) -> Result<Roots> {
    let mut roots = Roots::default();
    for target in targets {
        roots.adopt(&target.path, target.is_dir, &|name| name == given::STDIN_ROOT);
    }
    let stored = roots.stored(&BTreeMap::new(), &targets.iter().filter_map(|target| root_of(&roots, target)).collect());
    let Some(name) = name else {
        let own =
            |name: &str, folder: &str| folder.rsplit('/').next().is_none_or(|last| last == name || last.is_empty());
        return match stored.iter().find(|(name, folder)| !own(name, folder)) {
            None => Ok(roots),
            Some((_, folder)) => Err(Error::Options {
                what: format!(
                    "`{folder}` has the name of another folder here, and a server tells folders by their names"
                ),
            }),
        };
    };
    match stored.len() {
        0 | 1 => {
            let renamed = stored.into_values().map(|folder| (name.to_owned(), folder)).collect();
            Ok(Roots::new(None, &renamed))
        }
        more => Err(Error::Options { what: format!("one name is given, and there are {more} folders") }),
    }
}

fn root_of(roots: &Roots, target: &Target) -> Option<String> {
    roots.locate(&target.path).map(|(name, _)| name.to_owned())
}

fn times(stat: Stat) -> Times {
    let Stat { mtime_ns, ctime_ns, inode, .. } = stat;
    Times { mtime_ns, ctime_ns, inode }
}

#[derive(Default)]
struct Lists {
    skipped: Vec<Outcome>,
    failed: Vec<Outcome>,
    warnings: Vec<Outcome>,
}

struct Finds<'a> {
    found: BTreeMap<String, ScoutedRoot>,
    sources: u64,
    bytes: u64,
    observer: &'a dyn Observer,
    roots: &'a Roots,
}

impl Finds<'_> {
    fn root(&mut self, name: &str) -> &mut ScoutedRoot {
        self.found.entry(name.to_owned()).or_insert_with(|| ScoutedRoot {
            name: name.to_owned(),
            folder: PathBuf::new(),
            targets: Vec::new(),
            empty: Vec::new(),
            files: Vec::new(),
            unreadable: Vec::new(),
        })
    }

    fn take(&mut self, item: Item, lists: &mut Lists) {
        let outcome =
            |name: &Name, problem| Outcome { path: name.display(), problems: vec![problem], chunks: 0, from: None };
        match item {
            Item::File(found) => {
                let Place::File(place) = found.place else { return };
                let (size_bytes, times) = (found.stat.size_bytes, times(found.stat));
                let path = found.name.path.as_str().to_owned();
                self.root(&found.name.root).files.push(ScoutedFile { path, size_bytes, times, place });
                self.sources += 1;
                self.bytes = self.bytes.saturating_add(size_bytes);
                if self.sources.is_multiple_of(FOUND_STEP) {
                    self.tell();
                }
            }
            Item::Skipped { name, problem } => {
                self.observer.event(Event::Failed { path: &name.display(), problem: &problem });
                lists.skipped.push(outcome(&name, problem));
            }
            Item::Failed { name, place, problem } => {
                self.observer.event(Event::Failed { path: &name.display(), problem: &problem });
                let below =
                    self.roots.locate(&place).map(|(root, path)| (root.to_owned(), SourcePath::from_path(path)));
                if let Some((root, path)) = below {
                    self.root(&root).unreadable.push(path.as_str().to_owned());
                }
                lists.failed.push(outcome(&name, problem));
            }
            Item::BadRule { file, why } => {
                let problem =
                    file::lasting("bad_ignore_rule", &format!("a line is no pattern and is not obeyed: {why}"));
                let path = file.display().to_string();
                lists.warnings.push(Outcome { path, problems: vec![problem], chunks: 0, from: None });
            }
        }
    }

    fn tell(&self) {
        self.observer.event(Event::Found { sources: self.sources, bytes: self.bytes });
    }
}

impl ScoutedRoot {
    /// What was given of it, relative to it; empty for all of it.
    pub fn below(&self) -> Vec<String> {
        let below = |target: &Target| {
            let below = target.path.strip_prefix(&self.folder).unwrap_or(Path::new(""));
            SourcePath::from_path(below).as_str().to_owned()
        };
        let all: Vec<String> = self.targets.iter().map(below).collect();
        if all.iter().any(String::is_empty) { Vec::new() } else { all }
    }

    /// Of paths that an index knows under this root: those that were given and are no longer on this disk.
    pub fn vanished(&self, known: &[String]) -> Vec<String> {
        let is_gone = |path: &&String| self.given(path).is_some_and(|place| place.symlink_metadata().is_err());
        known.iter().filter(is_gone).cloned().collect()
    }

    /// A folder that was given and has no entry at all, and how many of the known paths are below it.
    pub fn emptied(&self, known: &[String]) -> Option<(PathBuf, usize)> {
        let below = |folder: &Path| known.iter().filter(|path| self.place(path).starts_with(folder)).count();
        self.empty.iter().map(|folder| (folder.clone(), below(folder))).find(|(_, documents)| *documents > 0)
    }

    /// It has no use for what an index knows: nothing given is empty.
    pub fn is_full(&self) -> bool {
        self.empty.is_empty()
    }

    fn place(&self, path: &str) -> PathBuf {
        self.folder.join(SourcePath::from_spelling(path).to_path())
    }

    /// Where a known path stands, if it is at or below what was given.
    fn given(&self, path: &str) -> Option<PathBuf> {
        let place = self.place(path);
        let holds =
            |target: &Target| if target.is_dir { place.starts_with(&target.path) } else { place == target.path };
        self.targets.iter().any(holds).then_some(place)
    }
}

impl Scouted {
    /// Lets the patterns see what an index knows of a root: one whose last file is gone has still meant something.
    pub fn mark_known(&self, root: &ScoutedRoot, known: &[String]) {
        for place in known.iter().map(|path| root.place(path)) {
            for target in root.targets.iter().filter(|target| target.is_dir) {
                if let Ok(below) = place.strip_prefix(&target.path) {
                    self.patterns.excludes(below, false);
                    self.patterns.includes(below);
                }
            }
        }
    }

    /// Errors: `NoMatch` with the first pattern that nothing matched.
    pub fn check_patterns(&self) -> Result<()> {
        self.patterns.check_all_matched()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn options(paths: Vec<PathBuf>) -> ScoutOptions {
        ScoutOptions {
            paths,
            include: Vec::new(),
            exclude: Vec::new(),
            ignore_rules: true,
            hidden: false,
            follow: false,
            max_file_bytes: 100,
            name: None,
        }
    }

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        dir
    }

    fn found(options: &ScoutOptions) -> Result<Scouted> {
        Ok(scout(options, &|_: Event<'_>| (), &Cancel::default())?.expect("nobody cancels"))
    }

    fn lines(scouted: &Scouted) -> Vec<String> {
        let all = scouted.roots.iter();
        all.flat_map(|root| root.files.iter().map(move |file| format!("{}/{}", root.name, file.path))).collect()
    }

    #[test]
    fn folders_are_roots_of_their_own_names() {
        let dir = tree(&["docs/a.md", "docs/b/c.md", "docs/.gitignore", "notes/x.md", "notes/y.md", "notes/big"]);
        fs::write(dir.path().join("notes/big"), "x".repeat(101)).unwrap();
        let given = |names: &[&str]| options(names.iter().map(|name| dir.path().join(name)).collect());
        let all = found(&given(&["docs", "notes/x.md"])).unwrap();
        assert_eq!(lines(&all), ["docs/a.md", "docs/b/c.md", "notes/x.md"]);
        assert_eq!(all.roots[0].below(), Vec::<String>::new());
        assert_eq!(all.roots[1].below(), ["x.md"]);
        let part = found(&given(&["docs/b", "notes"])).unwrap();
        assert_eq!(lines(&part), ["b/c.md", "notes/x.md", "notes/y.md"]);
        assert_eq!(part.skipped[0].path, "notes/big");
        let named = found(&ScoutOptions { name: Some("manual".into()), ..given(&["docs"]) }).unwrap();
        assert_eq!(lines(&named), ["manual/a.md", "manual/b/c.md"]);
        let (hash, size, _) = named.roots[0].files[0].hash().unwrap();
        assert_eq!((hash, size), (blake3::hash(b"text").to_hex().to_string(), 4));
        assert_eq!(named.roots[0].files[0].read(100).unwrap().0, b"text");
    }

    #[test]
    fn folders_of_one_name_are_refused() {
        let dir = tree(&["a/docs/x.md", "b/docs/y.md"]);
        let both = options(vec![dir.path().join("a/docs"), dir.path().join("b/docs")]);
        assert!(matches!(found(&both), Err(Error::Options { .. })));
        let named = ScoutOptions { name: Some("docs".into()), ..both };
        assert!(matches!(found(&named), Err(Error::Options { .. })));
    }

    #[test]
    fn what_an_index_knows_is_looked_for() {
        let dir = tree(&["docs/a.md", "docs/b.txt"]);
        fs::create_dir(dir.path().join("docs/sub")).unwrap();
        let known: Vec<String> = ["a.md", "gone.md", "sub/gone.md"].map(str::to_owned).into();
        let narrowed = ScoutOptions { include: vec!["gone.md".into()], ..options(vec![dir.path().join("docs")]) };
        let scouted = found(&narrowed).unwrap();
        assert!(matches!(scouted.check_patterns(), Err(Error::NoMatch { .. })));
        scouted.mark_known(&scouted.roots[0], &known);
        scouted.check_patterns().unwrap();
        assert_eq!(scouted.roots[0].vanished(&known), ["gone.md", "sub/gone.md"]);
        assert_eq!(scouted.roots[0].emptied(&known), None);
        let sub =
            found(&ScoutOptions { name: Some("docs".into()), ..options(vec![dir.path().join("docs/sub")]) }).unwrap();
        assert_eq!(sub.roots[0].emptied(&["gone.md".to_owned()]).map(|(_, n)| n), Some(1));
    }
}
