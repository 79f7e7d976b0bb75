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

mod found;
mod targets;

pub use found::{Found, Item, Name, Place};
pub use targets::{Target, resolve_if_there, targets};

use std::{
    collections::HashSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use self::targets::is_index;
use super::{
    file::{self, Stat},
    patterns::Patterns,
    roots::Roots,
    rules::Rules,
};
use crate::{
    index::{Problem, SourceRecord},
    types::{SourceId, SourcePath},
};

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
mod tests;
