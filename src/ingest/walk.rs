//! Which files there are under the paths that were given.
//!
//! Entries come in a fixed order: path by path as given, each folder's names sorted by their bytes, files before what is
//! in a folder of a later name. An entry that cannot be looked at is an item of the walk, not its end.
//!
//! Links are not followed; with `follow` they are, as long as they lead to a place inside the given folders. Everything
//! that can be reached without a link is visited first and nothing is visited twice, so a loop ends and a file keeps its
//! real path.
//!
//! Not for: reading files, or knowing what the index holds.

use std::{
    collections::HashSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Error, Result,
    file::{self, Contents, Stat},
    given,
    patterns::Patterns,
    roots::Roots,
    rules::Rules,
};
use crate::{
    index::{Problem, SourceRecord},
    types::{SourceId, SourcePath},
};

/// A path the user gave: absolute, links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub path: PathBuf,
    pub is_dir: bool,
}

/// The name of an entry in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub id: SourceId,
    pub root: String,
    pub path: SourcePath,
}

impl Name {
    /// As `SourceRecord::display_path`.
    pub fn display(&self) -> String {
        if self.root.is_empty() { self.path.to_string() } else { format!("{}/{}", self.root, self.path) }
    }
}

/// A file to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: Name,
    pub place: Place,
    pub stat: Stat,
}

/// Where the bytes of a source are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file to open; differs from the place of its name below a followed link.
    File(PathBuf),
    Given(Arc<given::Bytes>),
}

impl Found {
    /// Hash and stat of its content now.
    pub fn hash(&self) -> Result<(String, Stat), Problem> {
        match &self.place {
            Place::File(path) => file::hash(path),
            Place::Given(given) => Ok((blake3::hash(&given.bytes).to_hex().to_string(), self.stat)),
        }
    }

    /// Content and stat of now; see [`file::read`].
    pub fn read(&self, max_bytes: u64) -> Result<Contents, Problem> {
        match &self.place {
            Place::File(path) => file::read(path, max_bytes),
            Place::Given(given) => given.contents(self.stat, max_bytes),
        }
    }

    /// A file name for the extractor.
    pub fn hint(&self) -> &str {
        match &self.place {
            Place::File(_) => self.name.path.file_name(),
            Place::Given(given) => &given.hint,
        }
    }
}

/// What the walk comes across.
#[derive(Debug)]
pub enum Item {
    File(Found),
    /// Left alone on purpose.
    Skipped {
        name: Name,
        problem: Problem,
    },
    /// It could not be looked at. `place`: its path; nothing at or below it may be called gone.
    Failed {
        name: Name,
        place: PathBuf,
        problem: Problem,
    },
    /// A line of an ignore file that is no glob.
    BadRule {
        file: PathBuf,
        why: String,
    },
}

/// What the walk is told.
pub struct Settings<'a> {
    pub collection: &'a str,
    /// Never walked into; `None` where the index is elsewhere.
    pub index_dir: Option<&'a Path>,
    pub ignore_rules: bool,
    pub hidden: bool,
    pub follow: bool,
    pub max_file_bytes: u64,
}

/// Whether a folder is an index, this or another, whatever it is called: its documents are copies.
fn is_index(folder: &Path) -> bool {
    folder.join("FORMAT").is_file() && folder.join("text").is_dir() && folder.join("vectors").is_dir()
}

/// Resolves the given paths. Errors, before anything is done: `MissingPath`, `Unreadable`, `Options` for a path inside
/// the index or for another index.
pub fn targets(paths: &[PathBuf], index_dir: Option<&Path>) -> Result<Vec<Target>> {
    let index_dir = index_dir.map(resolve_if_there);
    let mut targets = Vec::new();
    for given in paths {
        let unreadable = |source: io::Error| {
            let path = given.clone();
            if file::is_absent(source.kind()) {
                Error::MissingPath { path }
            } else {
                Error::Unreadable { path, source }
            }
        };
        let path = fs::canonicalize(given).map_err(unreadable)?;
        let is_dir = fs::metadata(&path).map_err(unreadable)?.is_dir();
        if is_dir {
            // A folder that cannot be listed must not look like an empty one.
            fs::read_dir(&path).map_err(unreadable)?;
        }
        if index_dir.as_ref().is_some_and(|index_dir| path.starts_with(index_dir)) {
            return Err(Error::Options { what: format!("`{}` is inside the index itself", given.display()) });
        }
        if is_dir && is_index(&path) {
            return Err(Error::Options {
                what: format!("`{}` is an index, not a folder of documents", given.display()),
            });
        }
        let target = Target { path, is_dir };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// The path with its links resolved; as it is where it is not there.
pub fn resolve_if_there(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// What a walk saw besides its items.
#[derive(Debug, Default, PartialEq)]
pub struct Walked {
    /// Entries that rules, hidden names and patterns left out.
    pub ignored: u64,
    /// Folders among the targets with no entry at all: nothing found, skipped, ignored or unreadable. Empty folders and
    /// indexes inside do not count.
    pub empty: Vec<PathBuf>,
}

/// Walks all targets and hands each item to `each`, which may end the walk by returning `false`. Every target must have a
/// root.
pub fn walk(
    targets: &[Target],
    roots: &Roots,
    patterns: &Patterns,
    settings: &Settings<'_>,
    each: &mut dyn FnMut(Item) -> bool,
) -> Walked {
    let mut walker = Walker {
        targets,
        roots,
        patterns,
        settings,
        index_dir: settings.index_dir.map(resolve_if_there),
        seen: HashSet::new(),
        visited: HashSet::new(),
        links: Vec::new(),
        walked: Walked::default(),
        entries: 0,
        each,
    };
    for target in targets {
        walker.entries = 0;
        if !walker.target(target) {
            return walker.walked;
        }
        if target.is_dir && walker.entries == 0 {
            walker.walked.empty.push(target.path.clone());
        }
    }
    // A followed link may hold links, which then stand at the end of the list.
    let mut next = 0;
    while let Some(link) = walker.links.get(next).cloned() {
        if !walker.link(&link) {
            return walker.walked;
        }
        next += 1;
    }
    walker.walked
}

struct Walker<'a> {
    targets: &'a [Target],
    roots: &'a Roots,
    patterns: &'a Patterns,
    settings: &'a Settings<'a>,
    index_dir: Option<PathBuf>,
    /// Names that were handed out: targets may overlap.
    seen: HashSet<SourceId>,
    /// Real folders and files, while links are followed.
    visited: HashSet<PathBuf>,
    links: Vec<Link>,
    walked: Walked,
    /// Seen below the target at hand.
    entries: u64,
    each: &'a mut dyn FnMut(Item) -> bool,
}

/// A link to be followed when all real folders are done.
#[derive(Debug, Clone)]
struct Link {
    place: PathBuf,
    /// The target it was found under.
    top: PathBuf,
}

/// A folder being read: where it is, what it is called, and the names still to come, last first.
struct Folder {
    real: PathBuf,
    place: PathBuf,
    root: String,
    path: PathBuf,
    names: Vec<OsString>,
}

impl Walker<'_> {
    fn target(&mut self, target: &Target) -> bool {
        if target.is_dir {
            return self.tree(target.path.clone(), &target.path, &target.path);
        }
        let Some((root, path)) = self.roots.locate(&target.path) else { return true };
        let name = self.name(root, path);
        let below = Path::new(target.path.file_name().unwrap_or_default());
        match fs::symlink_metadata(&target.path) {
            Ok(metadata) => self.file(name, &target.path, below, &metadata),
            Err(error) => self.failed(name, target.path.clone(), file::io_problem(&error)),
        }
    }

    fn link(&mut self, link: &Link) -> bool {
        let Some(name) = self.name_of(&link.place) else { return true };
        let real = match fs::canonicalize(&link.place) {
            Ok(real) => real,
            Err(_) => return self.skipped(name, file::lasting("symlink", "a link that leads nowhere")),
        };
        let inside = |target: &Target| target.is_dir && real.starts_with(&target.path);
        if !self.targets.iter().any(inside) {
            return self.skipped(name, file::lasting("outside", "a link that leads out of the given folders"));
        }
        match fs::metadata(&real) {
            Ok(metadata) if metadata.is_dir() && is_index(&real) => {
                self.walked.ignored += 1;
                true
            }
            Ok(metadata) if metadata.is_dir() => self.tree(real, &link.place, &link.top),
            Ok(metadata) => {
                let below = link.place.strip_prefix(&link.top).unwrap_or(&link.place);
                self.file(name, &real, below, &metadata)
            }
            Err(error) => self.failed(name, link.place.clone(), file::io_problem(&error)),
        }
    }

    /// Walks the folder `real`, which is called `place`, below the target `top`.
    fn tree(&mut self, real: PathBuf, place: &Path, top: &Path) -> bool {
        let mut rules = Rules::above(place, self.roots.home(), self.settings.ignore_rules, self.settings.hidden);
        let mut stack = Vec::new();
        if !self.enter(real, place.to_owned(), &mut rules, &mut stack) {
            return false;
        }
        while let Some(folder) = stack.last_mut() {
            let Some(name) = folder.names.pop() else {
                stack.pop();
                rules.leave();
                continue;
            };
            let (real, place, path) = (folder.real.join(&name), folder.place.join(&name), folder.path.join(&name));
            let root = folder.root.clone();
            let metadata = match fs::symlink_metadata(&real) {
                Ok(metadata) => metadata,
                // Gone since the folder was listed: as if it had never been there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let name = self.name(&root, &path);
                    self.entries += 1;
                    if !self.failed(name, place, file::io_problem(&error)) {
                        return false;
                    }
                    continue;
                }
            };
            let is_dir = metadata.is_dir();
            let below = place.strip_prefix(top).unwrap_or(&place);
            if Some(&real) == self.index_dir.as_ref() || (is_dir && is_index(&real)) {
                self.walked.ignored += 1;
                continue;
            }
            if self.patterns.excludes(below, is_dir) || rules.hide(&place, is_dir) {
                self.walked.ignored += 1;
                self.entries += 1;
                continue;
            }
            if !is_dir {
                self.entries += 1;
            }
            let go_on = if is_dir {
                self.enter(real, place, &mut rules, &mut stack)
            } else if metadata.is_symlink() {
                if self.settings.follow {
                    self.links.push(Link { place, top: top.to_owned() });
                    true
                } else {
                    let name = self.name(&root, &path);
                    self.skipped(name, file::lasting("symlink", "a link, and links are not followed"))
                }
            } else {
                let name = self.name(&root, &path);
                self.file(name, &real, below, &metadata)
            };
            if !go_on {
                return false;
            }
        }
        true
    }

    /// Lists a folder and puts it on the stack, unless it was visited before.
    fn enter(&mut self, real: PathBuf, place: PathBuf, rules: &mut Rules, stack: &mut Vec<Folder>) -> bool {
        if self.settings.follow && !self.visited.insert(real.clone()) {
            // It was walked below another target, which tells whether it is empty.
            self.entries += 1;
            return true;
        }
        let Some((root, path)) = self.roots.locate(&place) else { return true };
        let (root, path) = (root.to_owned(), path.to_owned());
        let listed = fs::read_dir(&real).and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
        let mut names: Vec<OsString> = match listed {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
            Err(error) => {
                let name = self.name(&root, &path);
                self.entries += 1;
                return self.failed(name, place, file::io_problem(&error));
            }
        };
        names.sort_unstable_by(|a, b| b.cmp(a));
        rules.enter(&real, &place, &mut names.iter().map(OsString::as_os_str));
        stack.push(Folder { real, place, root, path, names });
        rules.take_bad_lines().into_iter().all(|(file, why)| (self.each)(Item::BadRule { file, why }))
    }

    fn file(&mut self, name: Name, real: &Path, below: &Path, metadata: &fs::Metadata) -> bool {
        if self.patterns.excludes(below, false) || !self.patterns.includes(below) {
            self.walked.ignored += 1;
            return true;
        }
        if self.settings.follow && !self.visited.insert(real.to_owned()) {
            return true;
        }
        if !metadata.is_file() {
            return self.skipped(name, file::not_regular());
        }
        if metadata.len() > self.settings.max_file_bytes {
            return self.skipped(name, file::too_large(metadata.len(), self.settings.max_file_bytes));
        }
        self.tell(name, |name| {
            Item::File(Found { name, place: Place::File(real.to_owned()), stat: Stat::of(metadata) })
        })
    }

    fn skipped(&mut self, name: Name, problem: Problem) -> bool {
        self.tell(name, |name| Item::Skipped { name, problem })
    }

    fn failed(&mut self, name: Name, place: PathBuf, problem: Problem) -> bool {
        self.tell(name, |name| Item::Failed { name, place, problem })
    }

    /// Hands out an item, each name once.
    fn tell(&mut self, name: Name, item: impl FnOnce(Name) -> Item) -> bool {
        !self.seen.insert(name.id) || (self.each)(item(name))
    }

    fn name_of(&self, place: &Path) -> Option<Name> {
        self.roots.locate(place).map(|(root, path)| self.name(root, path))
    }

    fn name(&self, root: &str, path: &Path) -> Name {
        let path = SourcePath::from_path(path);
        let id = SourceRecord::id_of(self.settings.collection, root, &path);
        Name { id, root: root.to_owned(), path }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    struct Tree {
        dir: tempfile::TempDir,
    }

    /// What a walk came across, as lines.
    #[derive(Debug, Default, PartialEq)]
    struct Seen {
        lines: Vec<String>,
        ignored: u64,
        /// How many targets have no entry.
        empty: usize,
    }

    impl Tree {
        /// Makes files of the given paths.
        fn new(paths: &[&str]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for path in paths {
                let path = dir.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "text").unwrap();
            }
            Self { dir }
        }

        fn path(&self, below: &str) -> PathBuf {
            self.dir.path().join(below)
        }

        fn walk_with(&self, given: &[&str], patterns: &Patterns, change: impl FnOnce(&mut Settings<'_>)) -> Seen {
            let index_dir = self.path("index");
            let mut settings = Settings {
                collection: "default",
                index_dir: Some(&index_dir),
                ignore_rules: true,
                hidden: false,
                follow: false,
                max_file_bytes: 100,
            };
            change(&mut settings);
            let home = fs::canonicalize(self.dir.path()).unwrap();
            let roots = Roots::new(Some(home), &BTreeMap::new());
            let given: Vec<_> = given.iter().map(|path| self.path(path)).collect();
            let targets = targets(&given, Some(&index_dir)).unwrap();
            let mut seen = Seen::default();
            let walked = walk(&targets, &roots, patterns, &settings, &mut |item| {
                seen.lines.push(match item {
                    Item::File(found) => found.name.display(),
                    Item::Skipped { name, problem } => format!("{} skipped {}", name.display(), problem.reason),
                    Item::Failed { name, problem, .. } => format!("{} failed {}", name.display(), problem.reason),
                    Item::BadRule { file, .. } => format!("bad rule in {}", file.file_name().unwrap().display()),
                });
                true
            });
            seen.ignored = walked.ignored;
            seen.empty = walked.empty.len();
            seen
        }

        fn walk(&self, given: &[&str]) -> Seen {
            self.walk_with(given, &Patterns::new(&[], &[]).unwrap(), |_| ())
        }
    }

    fn seen(lines: &[&str], ignored: u64) -> Seen {
        Seen { lines: lines.iter().map(|&line| line.to_owned()).collect(), ignored, empty: 0 }
    }

    #[test]
    fn order_is_fixed_and_hidden_things_are_counted() {
        let tree = Tree::new(&["b.md", "a/z.md", "a/b.md", "a.md", ".hidden", "target/x.md", "index/data", "c/id_rsa"]);
        assert_eq!(tree.walk(&["."]), seen(&["a/b.md", "a/z.md", "a.md", "b.md"], 4));
    }

    #[test]
    fn what_is_named_is_taken() {
        let tree = Tree::new(&[".env", "target/x.md", "a.md"]);
        assert_eq!(tree.walk(&[".env", "target", "a.md", "a.md"]), seen(&[".env", "target/x.md", "a.md"], 0));
    }

    #[test]
    fn overlapping_targets_give_each_file_once() {
        let tree = Tree::new(&["d/a.md", "d/e/b.md", "node_modules/c.md"]);
        assert_eq!(
            tree.walk(&["d/e", "d", "d/a.md", "node_modules"]).lines,
            ["d/e/b.md", "d/a.md", "node_modules/c.md"]
        );
    }

    #[test]
    fn ignore_files_are_obeyed_without_git_and_can_be_switched_off() {
        let tree = Tree::new(&["a.log", "a.md", "d/b.log", "d/keep.log", "d/.ragignore"]);
        fs::write(tree.path(".gitignore"), "*.log\nbad{\n").unwrap();
        fs::write(tree.path("d/.ragignore"), "!keep.log\n").unwrap();
        assert_eq!(tree.walk(&["."]).lines, ["bad rule in .gitignore", "a.md", "d/keep.log"]);
        assert_eq!(tree.walk(&["d"]).lines, ["bad rule in .gitignore", "d/keep.log"]);
        let none = Patterns::new(&[], &[]).unwrap();
        let all = tree.walk_with(&["."], &none, |settings| settings.ignore_rules = false);
        assert_eq!(all.lines, ["a.log", "a.md", "d/b.log", "d/keep.log"]);
    }

    #[test]
    fn patterns_narrow() {
        let tree = Tree::new(&["a.md", "a.txt", "drafts/b.md", "x/c.md", "target/d.md"]);
        let patterns = Patterns::new(&["*.md".into()], &["drafts/".into()]).unwrap();
        assert_eq!(tree.walk_with(&["."], &patterns, |_| ()), seen(&["a.md", "x/c.md"], 3));
        assert!(patterns.check_all_matched().is_ok());
        let hidden = Patterns::new(&[], &["target".into()]).unwrap();
        tree.walk_with(&["."], &hidden, |_| ());
        assert!(hidden.check_all_matched().is_ok(), "it matched what is left out anyway");
    }

    #[test]
    fn an_empty_folder_is_no_error_and_a_missing_one_is() {
        let tree = Tree::new(&[]);
        assert_eq!(tree.walk(&["."]), Seen { empty: 1, ..Seen::default() });
        let missing = targets(&[tree.path("no")], Some(&tree.path("index")));
        assert!(matches!(missing, Err(Error::MissingPath { .. })));
    }

    #[test]
    fn a_folder_is_empty_only_if_nothing_at_all_is_in_it() {
        let tree = Tree::new(&["ignored/x.log", "hidden/.x", "full/sub/x.md", "index/data", "deep/er/x.md"]);
        fs::write(tree.path(".gitignore"), "*.log\n").unwrap();
        fs::remove_file(tree.path("deep/er/x.md")).unwrap();
        fs::create_dir(tree.path("bare")).unwrap();
        for (given, want) in [("ignored", 0), ("hidden", 0), ("full", 0), ("bare", 1), ("deep", 1), (".", 0)] {
            assert_eq!(tree.walk(&[given]).empty, want, "{given}");
        }
        // Folders that were walked already below another target are not empty for that.
        for follow in [false, true] {
            let none = Patterns::new(&[], &[]).unwrap();
            let change = |settings: &mut Settings<'_>| settings.follow = follow;
            assert_eq!(tree.walk_with(&["full/sub", "full", "bare"], &none, change).empty, 1);
        }
        let other = Tree::new(&["index/data"]);
        assert_eq!(other.walk(&["."]), Seen { ignored: 1, empty: 1, ..Seen::default() }, "the index is no document");
    }

    #[test]
    fn another_index_is_never_walked_into() {
        let tree = Tree::new(&["a.md", "old/FORMAT", "old/text/meta.json", "old/vectors/x/1.toc", "old/rag.toml"]);
        assert_eq!(tree.walk(&["."]), seen(&["a.md"], 1));
        let named = targets(&[tree.path("old")], Some(&tree.path("index")));
        assert!(matches!(named, Err(Error::Options { .. })));
        fs::remove_file(tree.path("old/FORMAT")).unwrap();
        assert_eq!(tree.walk(&["."]).lines.len(), 4, "a folder with such names alone is none");
    }

    #[test]
    fn the_index_itself_cannot_be_ingested() {
        let tree = Tree::new(&["index/data"]);
        let inside = targets(&[tree.path("index/data")], Some(&tree.path("index")));
        assert!(matches!(inside, Err(Error::Options { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn s06_odd_entries_are_skipped_with_a_reason() {
        let tree = Tree::new(&["a.md", "large.md"]);
        fs::write(tree.path("large.md"), vec![b'x'; 101]).unwrap();
        std::os::unix::fs::symlink("a.md", tree.path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, tree.path("pipe"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        let want = ["a.md", "large.md skipped too_large", "link skipped symlink", "pipe skipped not_regular"];
        assert_eq!(tree.walk(&["."]).lines, want);
        assert_eq!(tree.walk(&["pipe"]).lines, ["pipe skipped not_regular"]);
        assert_eq!(tree.walk(&["link"]).lines, ["a.md"], "a link that is named is resolved");
    }

    #[cfg(unix)]
    #[test]
    fn followed_links_stay_inside_and_loops_end() {
        use std::os::unix::fs::symlink;
        let tree = Tree::new(&["top/z/a.md", "top/.store/v1/b.md", "outside/secret.md"]);
        for (to, from) in [
            ("z", "top/again"),
            (".store/v1", "top/current"),
            ("../..", "top/z/loop"),
            (".", "top/self"),
            ("../outside", "top/out"),
            ("../outside/secret.md", "top/secret"),
            ("nowhere", "top/broken"),
            (".store/v1/b.md", "top/same-file"),
        ] {
            symlink(to, tree.path(from)).unwrap();
        }
        let none = Patterns::new(&[], &[]).unwrap();
        let lines = tree.walk_with(&["top"], &none, |settings| settings.follow = true).lines;
        let want = [
            "top/z/a.md",
            "top/broken skipped symlink",
            "top/current/b.md",
            "top/out skipped outside",
            "top/secret skipped outside",
            "top/z/loop skipped outside",
        ];
        assert_eq!(lines, want);
    }

    #[cfg(unix)]
    #[test]
    fn s07_names_that_are_not_utf8_are_found() {
        use std::os::unix::ffi::OsStrExt;
        let tree = Tree::new(&[]);
        let names: [&[u8]; 4] = [b"bad\xff.md", b"-rf", b"new\nline", b"esc\x1b[31m"];
        for name in names {
            fs::write(tree.dir.path().join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
        }
        assert_eq!(tree.walk(&["."]).lines, ["-rf", "bad\\xff.md", "esc\u{1b}[31m", "new\nline"]);
    }

    #[test]
    fn a_deep_tree_does_not_overflow_the_stack() {
        let tree = Tree::new(&[]);
        let deep = "d/".repeat(900);
        fs::create_dir_all(tree.path(&deep)).unwrap();
        fs::write(tree.path(&format!("{deep}a.md")), "x").unwrap();
        assert_eq!(tree.walk(&["."]).lines.len(), 1);
    }
}
