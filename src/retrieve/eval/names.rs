//! Which document do judgements mean? Sources have paths, judgements have ids.
//!
//! An id may be the whole path, the path below its root, either of them without its extension, or the file's name, with
//! or without extension. The first of these that any source has is meant.

use std::collections::{BTreeSet, HashMap};

use crate::types::SourceId;

/// A document's names, and which of them the judgements use.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub of: HashMap<SourceId, String>,
    /// Ids that no document has.
    pub unknown: Vec<String>,
    /// Ids that several documents have.
    pub ambiguous: Vec<String>,
}

/// A form, a spelling, and the sources by what they are called so.
type Form<'a> = (usize, usize, HashMap<&'a str, Vec<SourceId>>);

const FORMS: [fn(&str) -> &str; 4] = [whole, stem, file_name, file_stem];

fn whole(path: &str) -> &str {
    path
}

fn stem(path: &str) -> &str {
    match path.rsplit_once('.') {
        Some((stem, extension)) if !extension.contains('/') && !stem.is_empty() && !stem.ends_with('/') => stem,
        _ => path,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn file_stem(path: &str) -> &str {
    stem(file_name(path))
}

impl Names {
    /// `sources`: the spellings of each source's path, the one to be printed first. Sources that no id means are called in
    /// the form that most ids have.
    pub fn new(sources: &[(SourceId, Vec<String>)], ids: &BTreeSet<&str>) -> Self {
        let spellings = sources.iter().map(|(_, paths)| paths.len()).max().unwrap_or(0);
        let mut forms: Vec<Form<'_>> = Vec::new();
        for (at, form) in FORMS.iter().enumerate() {
            for spelling in 0..spellings {
                let mut known: HashMap<&str, Vec<SourceId>> = HashMap::new();
                for (id, paths) in sources {
                    if let Some(path) = paths.get(spelling) {
                        known.entry(form(path)).or_default().push(*id);
                    }
                }
                forms.push((at, spelling, known));
            }
        }
        let mut names = Self::default();
        let mut used = vec![0usize; forms.len()];
        for &id in ids {
            let Some((at, found)) = forms.iter().enumerate().find_map(|(at, form)| Some((at, form.2.get(id)?))) else {
                names.unknown.push(id.to_owned());
                continue;
            };
            used[at] += 1;
            if found.len() > 1 {
                names.ambiguous.push(id.to_owned());
            }
            for source in found {
                names.of.entry(*source).or_insert_with(|| id.to_owned());
            }
        }
        let most = (0..forms.len()).max_by_key(|&at| (used[at], std::cmp::Reverse(at)));
        let (form, spelling) = most.map_or((0, 0), |at| (forms[at].0, forms[at].1));
        for (id, paths) in sources {
            let Some(path) = paths.get(spelling).or(paths.first()) else { continue };
            names.of.entry(*id).or_insert_with(|| FORMS[form](path).to_owned());
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(paths: &[&[&str]]) -> Vec<(SourceId, Vec<String>)> {
        let owned = |paths: &&[&str]| paths.iter().map(|&path| path.to_owned()).collect();
        paths.iter().zip(0..).map(|(paths, id)| (SourceId(id), owned(paths))).collect()
    }

    fn check(paths: &[&[&str]], ids: &[&str], want: &[&str], unknown: &[&str], ambiguous: &[&str]) {
        let names = Names::new(&sources(paths), &ids.iter().copied().collect());
        let got: Vec<&str> = (0..paths.len() as u64).map(|id| names.of[&SourceId(id)].as_str()).collect();
        assert_eq!(got, want);
        assert_eq!((&names.unknown[..], &names.ambiguous[..]), (&owned(unknown)[..], &owned(ambiguous)[..]));
    }

    fn owned(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|&id| id.to_owned()).collect()
    }

    #[test]
    fn ids_are_paths_with_or_without_extension() {
        let paths: &[&[&str]] = &[&["a.md"], &["sub/b.tar.gz"], &["c"]];
        check(paths, &["a.md", "sub/b.tar.gz"], &["a.md", "sub/b.tar.gz", "c"], &[], &[]);
        check(paths, &["a", "sub/b.tar", "d"], &["a", "sub/b.tar", "c"], &["d"], &[]);
        check(paths, &["b.tar"], &["a", "b.tar", "c"], &[], &[]);
    }

    #[test]
    fn roots_may_be_left_out() {
        let paths: &[&[&str]] = &[&["docs/a.md", "a.md"], &["docs/b.md", "b.md"]];
        check(paths, &["docs/a.md"], &["docs/a.md", "docs/b.md"], &[], &[]);
        check(paths, &["a.md"], &["a.md", "b.md"], &[], &[]);
        check(paths, &["docs/a", "b"], &["docs/a", "b"], &[], &[]);
    }

    #[test]
    fn what_two_documents_are_called_is_said() {
        let paths: &[&[&str]] = &[&["x/README.md"], &["y/README.md"], &["a.md"], &["a.txt"]];
        check(paths, &["a", "README"], &["README", "README", "a", "a"], &[], &["README", "a"]);
        check(paths, &["a.md"], &["x/README.md", "y/README.md", "a.md", "a.txt"], &[], &[]);
        assert_eq!((stem(".hidden"), stem("a/.hidden"), stem("a.b/c")), (".hidden", "a/.hidden", "a.b/c"));
    }
}
