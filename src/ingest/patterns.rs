//! `--include` and `--exclude`: which of the files found are wanted.
//!
//! - Patterns only narrow. What ignore rules hide comes in by its name on the command line or with the rules switched
//!   off, never by a pattern.
//! - They are globs as in `.gitignore`, matched below each path that was given: `*.md` at any depth, `guides/*.md` and
//!   `/a.md` from the top, `guides` and `guides/` with everything in it. A file given by name is matched by its name.
//! - With `--include`, a file must match one of them. What `--exclude` matches is out, whatever includes it; an excluded
//!   folder is not entered.
//! - A pattern that matches nothing at all is a mistake, and an error.

use std::{cell::Cell, path::Path};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{Error, Result};

struct Pattern {
    text: String,
    glob: Gitignore,
    matched: Cell<bool>,
}

impl Pattern {
    fn new(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::BadPattern { pattern: text.to_owned(), why: why.to_owned() };
        if text.trim().is_empty() {
            return Err(bad("it is empty"));
        }
        if text.starts_with('!') {
            return Err(bad("a pattern cannot be turned round by `!`"));
        }
        let line = if text.starts_with('#') { format!("\\{text}") } else { text.to_owned() };
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        builder.add_line(None, &line).map_err(|error| bad(&error.to_string()))?;
        let glob = builder.build().map_err(|error| bad(&error.to_string()))?;
        Ok(Self { text: text.to_owned(), glob, matched: Cell::new(false) })
    }

    fn matches(&self, below: &Path, is_dir: bool) -> bool {
        let matches = self.glob.matched_path_or_any_parents(below, is_dir).is_ignore();
        self.matched.set(self.matched.get() || matches);
        matches
    }
}

/// The patterns of one run, and whether each has matched yet.
pub struct Patterns {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl Patterns {
    /// Errors: `BadPattern`.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self> {
        let all = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>();
        Ok(Self { include: all(include)?, exclude: all(exclude)? })
    }

    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Whether an entry is excluded. `below`: its path below the path that was given.
    pub fn excludes(&self, below: &Path, is_dir: bool) -> bool {
        // All are asked, so that each gets its mark.
        self.exclude.iter().filter(|pattern| pattern.matches(below, is_dir)).count() > 0
    }

    /// The pattern that excludes a file, or the patterns of which none includes it; `None`: it is taken.
    pub fn refusal(&self, below: &Path) -> Option<String> {
        if let Some(pattern) = self.exclude.iter().find(|pattern| pattern.matches(below, false)) {
            return Some(format!("`--exclude {}`", pattern.text));
        }
        (!self.includes(below)).then(|| {
            let all: Vec<String> = self.include.iter().map(|pattern| format!("`{}`", pattern.text)).collect();
            format!("`--include`, which takes {} alone", all.join(", "))
        })
    }

    /// Whether a file is included.
    pub fn includes(&self, below: &Path) -> bool {
        self.include.is_empty() || self.include.iter().filter(|pattern| pattern.matches(below, false)).count() > 0
    }

    /// Errors: `NoMatch` with the first pattern that nothing matched.
    pub fn check_all_matched(&self) -> Result<()> {
        match self.include.iter().chain(&self.exclude).find(|pattern| !pattern.matched.get()) {
            Some(pattern) => Err(Error::NoMatch { pattern: pattern.text.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pattern: &str) -> Patterns {
        Patterns::new(&[pattern.to_owned()], &[]).unwrap()
    }

    #[test]
    fn globs_match_below_the_given_path() {
        for (pattern, path, want) in [
            ("*.md", "a.md", true),
            ("*.md", "x/y/a.md", true),
            ("*.md", "a.mdx", false),
            ("*.{md,txt}", "x/a.txt", true),
            ("*.md,*.txt", "a.md", false),
            ("guides/*.md", "guides/a.md", true),
            ("guides/*.md", "x/guides/a.md", false),
            ("guides/**/*.md", "guides/x/y/a.md", true),
            ("/a.md", "a.md", true),
            ("/a.md", "x/a.md", false),
            ("guides", "guides/x/a.md", true),
            ("guides/", "guides/x/a.md", true),
            ("#a", "#a", true),
            ("[ab].md", "b.md", true),
        ] {
            assert_eq!(one(pattern).includes(Path::new(path)), want, "{pattern} {path}");
        }
    }

    #[test]
    fn bad_patterns_are_errors() {
        for pattern in ["", " ", "!a", "[", "a{b"] {
            let result = Patterns::new(&[], &[pattern.to_owned()]);
            assert!(matches!(result, Err(Error::BadPattern { .. })), "{pattern}");
        }
    }

    #[test]
    fn what_never_matched_is_named() {
        let patterns = Patterns::new(&["*.md".into(), "*.txt".into()], &["drafts/".into()]).unwrap();
        assert!(patterns.includes(Path::new("a.md")));
        assert!(matches!(patterns.check_all_matched(), Err(Error::NoMatch { pattern }) if pattern == "*.txt"));
        assert!(patterns.includes(Path::new("a.txt")));
        assert!(matches!(patterns.check_all_matched(), Err(Error::NoMatch { pattern }) if pattern == "drafts/"));
        assert!(!patterns.excludes(Path::new("drafts"), false));
        assert!(patterns.excludes(Path::new("drafts"), true));
        assert!(patterns.check_all_matched().is_ok());
    }
}
