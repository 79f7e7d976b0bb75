//! Under which name a file is known: the root it belongs to and its path below that root.
//!
//! The folder that holds the index is the nameless root of everything below it. Any other folder becomes a named root,
//! so that an index can be moved, and a folder too. Where roots lie inside each other the innermost named one counts, so
//! a folder ingested on its own keeps its name when the folder around it is ingested later.
//!
//! Not for: touching the disk. Paths come in absolute and with their links resolved.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use crate::types::SourcePath;

/// The name of a root whose folder has none (`/`).
const NAMELESS: &str = "root";

/// All roots of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    home: Option<PathBuf>,
    named: BTreeMap<String, PathBuf>,
}

impl Roots {
    /// Roots as an index keeps them. `home`: the folder that holds the index folder, if that is called `.rag`.
    pub fn new(home: Option<PathBuf>, stored: &BTreeMap<String, String>) -> Self {
        let named = stored.iter().map(|(name, spelling)| (name.clone(), unspell(spelling))).collect();
        Self { home, named }
    }

    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The root of a path and the path below it: `("", …)` below home. `None`: no root holds it.
    pub fn locate<'a>(&'a self, path: &'a Path) -> Option<(&'a str, &'a Path)> {
        if let Some(below) = self.home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
            return Some(("", below));
        }
        self.named
            .iter()
            .filter_map(|(name, folder)| Some((name.as_str(), path.strip_prefix(folder).ok()?)))
            .min_by_key(|(_, below)| below.components().count())
    }

    /// Makes sure that some root holds `path`: for a folder that none holds it is the folder itself, for a file its
    /// parent. `is_taken` says which names display paths below home begin with.
    pub fn adopt(&mut self, path: &Path, is_dir: bool, is_taken: &dyn Fn(&str) -> bool) {
        if self.locate(path).is_some() {
            return;
        }
        let folder = if is_dir { path } else { path.parent().unwrap_or(path) };
        let spelled = folder.file_name().map(|name| SourcePath::from_path(Path::new(name)).as_str().to_owned());
        let base = spelled.filter(|name| !name.is_empty()).unwrap_or_else(|| NAMELESS.to_owned());
        let name = std::iter::once(base.clone())
            .chain((2u64..).map(|n| format!("{base}-{n}")))
            .find(|name| !self.named.contains_key(name) && !is_taken(name))
            .expect("there are more numbers than names");
        self.named.insert(name, folder.to_owned());
    }

    /// Where a source stands on this disk; `None` if its root is not known here.
    pub fn absolute(&self, root: &str, path: &SourcePath) -> Option<PathBuf> {
        let folder = if root.is_empty() { self.home.as_ref()? } else { self.named.get(root)? };
        Some(folder.join(path.to_path()))
    }

    /// The named roots as an index keeps them. Of the new ones only those in `used`.
    pub fn stored(&self, before: &BTreeMap<String, String>, used: &BTreeSet<String>) -> BTreeMap<String, String> {
        let keep = |name: &String| before.contains_key(name) || used.contains(name);
        self.named.iter().filter(|(name, _)| keep(name)).map(|(name, folder)| (name.clone(), spell(folder))).collect()
    }
}

/// An absolute path as text, without loss: as it is, if it is plain; else as [`SourcePath`] spells it.
fn spell(path: &Path) -> String {
    if cfg!(unix) {
        let below: PathBuf = path.components().filter(|part| !matches!(part, Component::RootDir)).collect();
        format!("/{}", SourcePath::from_path(&below))
    } else {
        path.to_string_lossy().into_owned()
    }
}

fn unspell(spelling: &str) -> PathBuf {
    match spelling.strip_prefix('/') {
        Some(below) if cfg!(unix) => Path::new("/").join(SourcePath::from_spelling(below).to_path()),
        _ => PathBuf::from(spelling),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(home: Option<&str>, named: &[(&str, &str)]) -> Roots {
        let stored = named.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect();
        Roots::new(home.map(PathBuf::from), &stored)
    }

    fn adopt(roots: &mut Roots, path: &str, is_dir: bool) -> (String, String) {
        roots.adopt(Path::new(path), is_dir, &|name| name == "guides");
        let (root, below) = roots.locate(Path::new(path)).unwrap();
        (root.to_owned(), below.to_str().unwrap().to_owned())
    }

    #[test]
    fn every_path_gets_a_root() {
        type Stored<'a> = &'a [(&'a str, &'a str)];
        /// Home, stored roots, a path and whether it is a folder; the root and the path below it.
        type Case<'a> = (Option<&'a str>, Stored<'a>, &'a str, bool, &'a str, &'a str);
        let cases: [Case<'_>; 14] = [
            (Some("/h"), &[], "/h", true, "", ""),
            (Some("/h"), &[], "/h/docs", true, "", "docs"),
            (Some("/h"), &[], "/h/a.md", false, "", "a.md"),
            (Some("/h"), &[], "/hh/docs", true, "docs", ""),
            (Some("/h"), &[], "/other/docs/a.md", false, "docs", "a.md"),
            (Some("/h"), &[("docs", "/other/docs")], "/other/docs/x", true, "docs", "x"),
            (Some("/h"), &[("docs", "/first/docs")], "/other/docs", true, "docs-2", ""),
            (Some("/h"), &[("docs", "/a/docs"), ("docs-2", "/b/docs")], "/c/docs", true, "docs-3", ""),
            (Some("/h"), &[], "/other/guides", true, "guides-2", ""),
            (Some("/h"), &[("h-in", "/h/in")], "/h/in/x", true, "", "in/x"),
            (None, &[], "/h/docs", true, "docs", ""),
            (None, &[], "/", true, "root", ""),
            (None, &[], "/a.md", false, "root", "a.md"),
            (None, &[("a", "/a"), ("b", "/a/b")], "/a/b/c", true, "b", "c"),
        ];
        for (home, named, path, is_dir, root, below) in cases {
            assert_eq!(adopt(&mut roots(home, named), path, is_dir), (root.into(), below.into()), "{home:?} {path}");
        }
    }

    #[test]
    fn a_folder_around_a_root_leaves_the_root_its_files() {
        let mut all = roots(None, &[("docs", "/data/docs")]);
        assert_eq!(adopt(&mut all, "/data", true), ("data".into(), "".into()));
        assert_eq!(all.locate(Path::new("/data/docs/a")), Some(("docs", Path::new("a"))));
        assert_eq!(all.locate(Path::new("/data/b")), Some(("data", Path::new("b"))));
        assert_eq!(all.locate(Path::new("/elsewhere")), None);
    }

    #[test]
    fn only_used_new_roots_are_stored() {
        let mut all = roots(None, &[("docs", "/data/docs")]);
        let before = all.stored(&BTreeMap::new(), &BTreeSet::from(["docs".to_owned()]));
        assert_eq!(before["docs"], "/data/docs");
        all.adopt(Path::new("/empty"), true, &|_| false);
        assert_eq!(all.stored(&before, &BTreeSet::new()), before);
        assert_eq!(all.stored(&before, &BTreeSet::from(["empty".to_owned()]))["empty"], "/empty");
    }

    #[cfg(unix)]
    #[test]
    fn any_folder_name_survives() {
        use std::os::unix::ffi::OsStrExt;
        for name in [&b"plain"[..], b"bad\xff", b"back\\slash", "ü".as_bytes(), b"a b\n"] {
            let folder = Path::new("/data").join(std::ffi::OsStr::from_bytes(name));
            let mut all = Roots::default();
            all.adopt(&folder, true, &|_| false);
            let root = all.locate(&folder).unwrap().0.to_owned();
            let stored = all.stored(&BTreeMap::new(), &BTreeSet::from([root.clone()]));
            let again = Roots::new(None, &stored);
            assert_eq!(again, all);
            assert_eq!(again.absolute(&root, &SourcePath::from_spelling("x")), Some(folder.join("x")));
        }
        assert_eq!(unspell(&spell(Path::new("/"))), Path::new("/"));
    }
}
