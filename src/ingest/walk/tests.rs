use std::collections::BTreeMap;

use super::{super::Error, *};

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
    assert_eq!(tree.walk(&["d/e", "d", "d/a.md", "node_modules"]).lines, ["d/e/b.md", "d/a.md", "node_modules/c.md"]);
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
