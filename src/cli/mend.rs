//! Commands as they are to be typed: how an index is mended, filled again, or looked at.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rag::index::{Snapshot, SourceRecord};

use super::backend::Place;

/// The folder of memories in an index.
const MEMORIES: &str = "memories";

/// A word of a shell's command line.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,".contains(c);
    match word {
        "" => "''".to_owned(),
        word if word.chars().all(is_plain) && !word.starts_with('-') => word.to_owned(),
        word => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

impl Place {
    /// A command for this index.
    pub fn command(&self, verb: &str) -> String {
        let dir = self.dir.display().to_string();
        if dir == ".rag" { format!("rag {verb}") } else { format!("rag {verb} --index {}", quoted(&dir)) }
    }

    /// What reads again all that was ingested from folders and files; the paths stay open where they are not known.
    pub fn ingest_again(&self, snapshot: Option<&Snapshot>) -> String {
        let paths = snapshot.map(|snapshot| self.ingested(snapshot)).unwrap_or_default();
        let mut verb = "ingest".to_owned();
        for path in &paths {
            verb.push(' ');
            verb.push_str(&quoted(&path.display().to_string()));
        }
        if paths.is_empty() {
            verb.push_str(" PATH");
        }
        if snapshot.is_some_and(|snapshot| snapshot.space().is_none()) {
            verb.push_str(" --no-embed");
        }
        self.command(&verb)
    }

    /// What makes a damaged index anew beside the damaged one, which is kept. Settings and memories go along.
    pub fn mend(&self, snapshot: Option<&Snapshot>) -> String {
        let dir = self.dir.display().to_string();
        let dir = dir.trim_end_matches('/');
        let kept = (1..).map(|n| if n == 1 { format!("{dir}.damaged") } else { format!("{dir}.damaged-{n}") });
        let kept = kept.into_iter().find(|name| !Path::new(name).exists()).unwrap_or_default();
        let (own, kept) = (quoted(dir), quoted(&kept));
        let mut steps = vec![format!("mv {own} {kept}")];
        if self.dir.join("rag.toml").exists() {
            steps.push(format!("mkdir {own} && cp {kept}/rag.toml {own}/"));
        }
        steps.push(self.ingest_again(snapshot));
        if self.dir.join(MEMORIES).exists() {
            steps.push(format!("cp -r {kept}/{MEMORIES} {own}/"));
        }
        steps.join(" && ")
    }

    /// What was ingested from folders and files, as few paths as say no more than that: none where other things than
    /// paths belong to it, a collection, a tag or a page, and a command would add what was not meant.
    fn ingested(&self, snapshot: &Snapshot) -> Vec<PathBuf> {
        let Ok(sources) = snapshot.sources(None) else { return Vec::new() };
        let is_plain = |source: &SourceRecord| source.collection == "default" && source.tags.is_empty();
        if !sources.iter().all(is_plain) {
            return Vec::new();
        }
        let mut paths: Vec<PathBuf> =
            snapshot.roots().values().map(PathBuf::from).filter(|path| path.exists()).collect();
        if let Some(home) = self.home() {
            // Of each first folder the deepest one that holds all that was read of it.
            let mut tops: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
            for source in sources.iter().filter(|source| source.root.is_empty()) {
                let path = source.path.to_path();
                let Some(top) = path.components().next() else { continue };
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(&path);
                let held = tops.entry(top.as_os_str().into()).or_insert_with(|| folder.to_path_buf());
                while !folder.starts_with(&*held) && held.pop() {}
            }
            paths.extend(tops.into_values().map(|path| home.join(path)).filter(|path| path.exists()));
        }
        paths.sort();
        paths.dedup();
        let is_below = |path: &Path, other: &PathBuf| path != other && path.starts_with(other);
        let all = paths.clone();
        paths.retain(|path| !all.iter().any(|other| is_below(path, other)));
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_one_word_to_a_shell() {
        for (word, want) in [
            ("docs/a.md", "docs/a.md"),
            ("two words", "'two words'"),
            ("it's", "'it'\\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("-rf", "'-rf'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), want);
        }
    }
}
