//! Which names are left out without being asked: ignore files, the built-in list, hidden names.
//!
//! From strong to weak, the first that speaks decides:
//!
//! 1. `.git` and the index folder are never entered (the walk sees to the latter).
//! 2. `.ragignore`, deepest folder first; a `!pattern` in it takes what any weaker rule would leave out.
//! 3. `.gitignore`, deepest folder first, then `.git/info/exclude`; also where there is no git repository. A `!pattern`
//!    here undoes a pattern of a `.gitignore` and nothing else.
//! 4. The built-in list: what is fetched, generated or secret.
//! 5. Hidden names, unless they are asked for.
//!
//! A folder that is left out is not entered, so nothing below it can be taken back by a deeper file. Ignore files of the
//! folders above the given one count too: `.ragignore` of all of them; `.gitignore` up to the top of the git repository,
//! or else up to the folder that holds the index, so that a stray file further up hides nothing.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder, Glob},
};

use super::file;

/// Longer ignore files are cut; nobody writes them by hand.
const MAX_RULE_FILE_BYTES: u64 = 1 << 20;

const RAGIGNORE: &str = ".ragignore";
const GITIGNORE: &str = ".gitignore";

/// Folders and files that are fetched, generated or secret, by whole name.
const NAMES: [&str; 38] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "CVS",
    ".rag",
    "node_modules",
    "bower_components",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".cache",
    ".gradle",
    ".terraform",
    ".next",
    ".nuxt",
    ".idea",
    ".vscode",
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    ".pgpass",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
];

/// Secrets and scraps by the end of their name.
const ENDS: [&str; 8] = [".pem", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".pyc", "~"];

/// The rule that leaves an entry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// The machinery of git, which nothing brings back.
    Git,
    /// A pattern of an ignore file.
    Pattern { file: PathBuf, pattern: String },
    /// The built-in list of what is fetched, generated or secret.
    BuiltIn,
    /// Its name begins with a dot.
    Hidden,
}

/// The rules of one folder.
#[derive(Debug, Clone, Default)]
struct Level {
    ragignore: Option<Gitignore>,
    /// `.gitignore` first, then `.git/info/exclude`.
    gitignore: Vec<Gitignore>,
}

/// What decides about an entry while the walk goes down and up.
#[derive(Debug, Clone)]
pub struct Rules {
    obey: bool,
    hidden: bool,
    /// From the outermost folder to the one being read.
    levels: Vec<Level>,
    /// Lines of ignore files that are no globs: `file: why`.
    bad_lines: Vec<(std::path::PathBuf, String)>,
}

impl Rules {
    /// Rules for what stands directly in `folder`, an absolute path, before its own ignore files are read.
    /// `home`: the folder that holds the index. `obey` false: no ignore files and no built-in list.
    pub fn above(folder: &Path, home: Option<&Path>, obey: bool, hidden: bool) -> Self {
        let mut rules = Self { obey, hidden, levels: Vec::new(), bad_lines: Vec::new() };
        if !obey {
            return rules;
        }
        let repository = folder.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
        let top = repository.or_else(|| home.filter(|home| folder.starts_with(home)));
        let mut above: Vec<&Path> = folder.ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            let git = top.is_some_and(|top| folder.starts_with(top));
            rules.read(folder, folder, true, git, git && repository == Some(folder));
        }
        rules
    }

    /// Reads the ignore files of a folder whose entries come next. `real` is where it is read, `logical` the path its
    /// entries are judged by; `names` are its entries.
    pub fn enter(&mut self, real: &Path, logical: &Path, names: &mut dyn Iterator<Item = &OsStr>) {
        let (mut ragignore, mut gitignore, mut git) = (false, false, false);
        if self.obey {
            for name in names {
                ragignore |= name == RAGIGNORE;
                gitignore |= name == GITIGNORE;
                git |= name == ".git";
            }
        }
        self.read(real, logical, ragignore, gitignore, git);
    }

    /// Forgets the folder entered last.
    pub fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether an entry is left out. `path` is its logical path.
    pub fn hide(&self, path: &Path, is_dir: bool) -> bool {
        self.left_out(path, is_dir).is_some()
    }

    /// The rule that leaves an entry out, if one does.
    pub fn left_out(&self, path: &Path, is_dir: bool) -> Option<LeftOut> {
        let name = path.file_name()?;
        if name == ".git" {
            return Some(LeftOut::Git);
        }
        if self.obey {
            let ragignore = self.levels.iter().rev().filter_map(|level| level.ragignore.as_ref());
            let gitignore = self.levels.iter().rev().flat_map(|level| &level.gitignore);
            match first_word(ragignore, path, is_dir) {
                Some(Match::Ignore(glob)) => return Some(pattern(glob)),
                Some(_) => return None,
                None => {}
            }
            if let Some(Match::Ignore(glob)) = first_word(gitignore, path, is_dir) {
                return Some(pattern(glob));
            }
            if built_in(name) {
                return Some(LeftOut::BuiltIn);
            }
        }
        (!self.hidden && name.as_encoded_bytes().first() == Some(&b'.')).then_some(LeftOut::Hidden)
    }

    /// Takes the lines that could not be read so far: the ignore file and why.
    pub fn take_bad_lines(&mut self) -> Vec<(std::path::PathBuf, String)> {
        std::mem::take(&mut self.bad_lines)
    }

    fn read(&mut self, real: &Path, logical: &Path, ragignore: bool, gitignore: bool, exclude: bool) {
        let mut level = Level::default();
        if ragignore {
            level.ragignore = self.load(&real.join(RAGIGNORE), logical);
        }
        if gitignore {
            level.gitignore.extend(self.load(&real.join(GITIGNORE), logical));
        }
        if exclude {
            level.gitignore.extend(self.load(&real.join(".git/info/exclude"), logical));
        }
        self.levels.push(level);
    }

    fn load(&mut self, file: &Path, anchor: &Path) -> Option<Gitignore> {
        let bytes = file::read_small(file, MAX_RULE_FILE_BYTES)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(anchor);
        for line in text.trim_start_matches('\u{feff}').lines() {
            if let Err(error) = builder.add_line(Some(file.to_owned()), line) {
                self.bad_lines.push((file.to_owned(), error.to_string()));
            }
        }
        match builder.build() {
            Ok(rules) => Some(rules).filter(|rules| !rules.is_empty()),
            Err(error) => {
                self.bad_lines.push((file.to_owned(), error.to_string()));
                None
            }
        }
    }
}

/// What the first matcher that knows the path says: that it is ignored, or that it is taken.
fn first_word<'a>(
    mut matchers: impl Iterator<Item = &'a Gitignore>,
    path: &Path,
    is_dir: bool,
) -> Option<Match<&'a Glob>> {
    matchers.find_map(|matcher| Some(matcher.matched(path, is_dir)).filter(|found| !found.is_none()))
}

fn pattern(glob: &Glob) -> LeftOut {
    let file = glob.from().map(Path::to_owned).unwrap_or_default();
    LeftOut::Pattern { file, pattern: glob.original().to_owned() }
}

fn built_in(name: &OsStr) -> bool {
    // A name that is not UTF-8 can only match by its start or end, where the list is ASCII.
    let name = name.as_encoded_bytes();
    NAMES.iter().any(|listed| listed.as_bytes() == name)
        || ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
        || name.starts_with(b".env")
        || name.starts_with(b"~$")
        || is_key(name)
}

/// Private and public keys: `id_…` with no extension, or `.pub`. `id_mapping.csv` is none.
fn is_key(name: &[u8]) -> bool {
    let stem = name.strip_suffix(b".pub").unwrap_or(name);
    stem.starts_with(b"id_") && !stem.contains(&b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(rules: &mut Rules, dir: &Path) {
        let names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        rules.enter(dir, dir, &mut names.iter().map(|name| name.as_os_str()));
    }

    #[test]
    fn s10_the_built_in_list_knows_secrets_and_generated_folders() {
        for name in
            [".env", ".env.local", "key.pem", "id_rsa", "id_ed25519.pub", ".ssh", "node_modules", "target", "~$a.docx"]
        {
            assert!(built_in(OsStr::new(name)), "{name}");
        }
        for name in ["id_mapping.csv", "identity", "targets", "environment.md", "pem", "a.pem.md", "id.md"] {
            assert!(!built_in(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn deeper_files_and_ragignore_are_stronger() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        std::fs::create_dir(top.join("sub")).unwrap();
        std::fs::write(top.join(".gitignore"), "*.log\n!node_modules\n/only-here\n").unwrap();
        std::fs::write(top.join("sub/.gitignore"), "!keep.log\n").unwrap();
        std::fs::write(top.join(".ragignore"), "draft*\n!.github\n!seen.tmp\n").unwrap();
        std::fs::write(top.join("sub/.ragignore"), "!draft-final.md\n").unwrap();
        let mut rules = Rules::above(top, None, true, false);
        enter(&mut rules, top);
        let check = |rules: &Rules, name: &str, hidden: bool| {
            assert_eq!(rules.hide(&top.join(name), false), hidden, "{name}");
        };
        for (name, hidden) in [
            ("a.md", false),
            ("a.log", true),
            ("node_modules", true),
            (".github", false),
            (".other", true),
            ("draft.md", true),
            ("only-here", true),
            (".git", true),
            ("id_rsa", true),
        ] {
            check(&rules, name, hidden);
        }
        enter(&mut rules, &top.join("sub"));
        for (name, hidden) in [
            ("sub/keep.log", false),
            ("sub/a.log", true),
            ("sub/draft-final.md", false),
            ("sub/draft.md", true),
            ("sub/only-here", false),
        ] {
            check(&rules, name, hidden);
        }
        rules.leave();
        check(&rules, "keep.log", true);
    }

    #[test]
    fn without_rules_only_hidden_names_and_git_are_left_out() {
        let top = Path::new("/nowhere");
        let rules = Rules::above(top, None, false, false);
        for (name, hidden) in [(".git", true), (".env", true), ("target", false), ("id_rsa", false)] {
            assert_eq!(rules.hide(&top.join(name), true), hidden, "{name}");
        }
        assert!(!Rules::above(top, None, false, true).hide(&top.join(".env"), false));
        assert!(Rules::above(top, None, true, true).hide(&top.join(".env"), false));
        assert!(!Rules::above(top, None, true, true).hide(&top.join(".profile"), false));
    }

    #[test]
    fn rules_above_count_up_to_the_repository_or_home() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        std::fs::create_dir_all(top.join("repo/docs/deep")).unwrap();
        std::fs::write(top.join(".gitignore"), "*\n").unwrap();
        std::fs::write(top.join(".ragignore"), "*.tmp\n").unwrap();
        std::fs::write(top.join("repo/.gitignore"), "*.log\n").unwrap();
        let deep = top.join("repo/docs/deep");
        let hides =
            |home: Option<&Path>, name: &str| Rules::above(&deep, home, true, false).hide(&deep.join(name), false);
        assert!(!hides(None, "a.log"), "nothing says where the project begins");
        assert!(hides(Some(&top.join("repo")), "a.log"));
        assert!(!hides(Some(&top.join("repo")), "a.md"), "above home");
        assert!(hides(None, "a.tmp"), ".ragignore of any folder above");
        std::fs::create_dir_all(top.join("repo/.git/info")).unwrap();
        std::fs::write(top.join("repo/.git/info/exclude"), "mine.md\n").unwrap();
        assert!(hides(None, "a.log"));
        assert!(hides(None, "mine.md"));
        assert!(!hides(None, "a.md"));
    }

    #[test]
    fn a_bad_line_is_told_and_the_rest_obeyed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".ragignore"), "a{b\n*.tmp\n").unwrap();
        let mut rules = Rules::above(dir.path(), None, true, false);
        enter(&mut rules, dir.path());
        assert!(rules.hide(&dir.path().join("x.tmp"), false));
        assert_eq!(rules.take_bad_lines().len(), 1);
        assert!(rules.take_bad_lines().is_empty());
    }
}
