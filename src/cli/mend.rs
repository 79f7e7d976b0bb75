//! Commands as they are to be typed: how an index is mended, filled again, or looked at.

use std::path::{Path, PathBuf};

use rag::index::Snapshot;

use super::backend::Place;

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

    /// What makes a damaged index anew beside the damaged one, which is kept.
    pub fn mend(&self, snapshot: Option<&Snapshot>) -> String {
        let dir = self.dir.display().to_string();
        let dir = dir.trim_end_matches('/');
        format!("mv {} {} && {}", quoted(dir), quoted(&format!("{dir}.damaged")), self.ingest_again(snapshot))
    }

    /// The named roots, and what of the folder of the index was ingested without one.
    fn ingested(&self, snapshot: &Snapshot) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            snapshot.roots().values().map(PathBuf::from).filter(|path| path.exists()).collect();
        if let (Some(home), Ok(sources)) = (self.home(), snapshot.sources(None)) {
            let tops = sources.iter().filter(|source| source.root.is_empty());
            let top = |path: PathBuf| path.components().next().map(|first| home.join(first));
            paths.extend(tops.filter_map(|source| top(source.path.to_path())));
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
