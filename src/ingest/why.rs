//! Why a file is not in the index: which rule of the walk leaves it out, or that none does.
//!
//! The walk's own rules are asked, from the file's root downwards. Which folders were given is not recorded, but what
//! they brought is: a folder of which the index holds sources was entered, whatever a rule says of its name. Not for:
//! files the catalog knows, whose records say what became of them.

use std::{
    ffi::OsString,
    fs,
    io::Read,
    path::{Component, Path, PathBuf},
};

use super::{
    detect::{self, Format},
    file,
    patterns::Patterns,
    roots::Roots,
    rules::{LeftOut, Rules},
    walk::resolve_if_there,
};
use crate::index::{SourceRecord, Status};

/// So much of a file is looked at to tell its format.
const LOOKED_AT_BYTES: u64 = 64 << 10;

/// How the files of an index are found: the settings of an ingest, as far as they are known now.
pub struct WhyOptions<'a> {
    pub home: Option<PathBuf>,
    /// Named roots, as the index keeps them.
    pub roots: &'a std::collections::BTreeMap<String, String>,
    pub index_dir: &'a Path,
    /// Every source of the index.
    pub sources: &'a [SourceRecord],
    pub include: &'a [String],
    pub exclude: &'a [String],
    pub hidden: bool,
    pub follow: bool,
    pub archives: bool,
    pub max_file_bytes: u64,
}

/// Why a file is not in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// A stable word: `absent`, `inside_index`, `outside`, `ignored`, `built_in`, `hidden`, `symlink`, `not_regular`,
    /// `unreadable`, `too_large`, `excluded`, `binary`, `unsupported`, `not_given`, `new`.
    pub reason: &'static str,
    pub message: String,
    /// The pattern that says so.
    pub rule: Option<Rule>,
}

/// A line of an ignore file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub file: PathBuf,
    /// From 1; `None` where it cannot be found again.
    pub line: Option<usize>,
    pub pattern: String,
}

fn because(reason: &'static str, message: impl Into<String>) -> Why {
    Why { reason, message: message.into(), rule: None }
}

/// Whether a record is of a file that was left alone on purpose: its format is not read.
pub fn is_skipped(record: &SourceRecord) -> bool {
    super::reader::is_skipped(record)
}

/// Finds out why a file is not in the index. Reads the disk, its ignore files among it, and changes nothing.
pub fn why(path: &Path, options: &WhyOptions<'_>) -> Why {
    let place = placed(path);
    let metadata = match place.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if file::is_absent(error.kind()) => {
            return because("absent", "there is no such file, and the index holds nothing of it");
        }
        Err(error) => return because("unreadable", file::io_problem(&error).message),
    };
    if place.starts_with(resolve_if_there(options.index_dir)) {
        return because("inside_index", "it is part of the index itself");
    }
    let home = options.home.as_deref().map(resolve_if_there);
    let roots = Roots::new(home, options.roots);
    let Some((root, below)) = roots.locate(&place) else {
        return because(
            "outside",
            "it is in none of the folders that were ingested; `rag ingest` it, or a folder around it",
        );
    };
    let top: PathBuf = place.ancestors().nth(below.components().count()).unwrap_or(&place).to_owned();
    let known: Vec<PathBuf> =
        options.sources.iter().filter_map(|source| roots.absolute(&source.root, &source.path)).collect();
    if let Some(why) = ruled_out(&place, &top, &roots, &known, options) {
        return why;
    }
    if metadata.is_dir() {
        let count = known.iter().filter(|known| known.starts_with(&place)).count();
        return match count {
            0 => because("not_given", "no rule leaves this folder out, and nothing of it was ingested"),
            count => because("folder", format!("a folder, of which the index holds {count} documents")),
        };
    }
    if let Some(why) = odd(&place, &metadata, options) {
        return why;
    }
    if let Ok(patterns) = Patterns::new(options.include, options.exclude)
        && let Some(refusal) = patterns.refusal(&given(&place, &top, &known))
    {
        return because("excluded", format!("your settings leave it out: {refusal}"));
    }
    match format(&place, options.archives) {
        Err(why) => why,
        Ok(word) => {
            let beside = place.parent().is_some_and(|folder| known.iter().any(|known| known.starts_with(folder)));
            let (reason, when) = if beside || !root.is_empty() {
                ("new", "it has come since the last ingest, or a flag of it left it out")
            } else {
                ("not_given", "it was never given")
            };
            because(reason, format!("no rule leaves it out ({word}): {when}; `rag ingest` adds it"))
        }
    }
}

/// The absolute path of an entry, the links of its folder resolved and its own not.
fn placed(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            resolve_if_there(parent).join(name)
        }
        _ => resolve_if_there(path),
    }
}

/// The rule that leaves the file or a folder above it out, below `top`.
fn ruled_out(place: &Path, top: &Path, roots: &Roots, known: &[PathBuf], options: &WhyOptions<'_>) -> Option<Why> {
    let mut rules = Rules::above(top, roots.home(), true, options.hidden);
    let mut folder = top.to_owned();
    let below = place.strip_prefix(top).ok()?;
    for part in below.components() {
        let Component::Normal(name) = part else { continue };
        let names = names(&folder);
        rules.enter(&folder, &folder, &mut names.iter().map(OsString::as_os_str));
        let entry = folder.join(name);
        // What the index holds below it proves that it was named, or taken otherwise.
        let entered = known.iter().any(|known| known.starts_with(&entry));
        if !entered && let Some(rule) = rules.left_out(&entry, entry != place || place.is_dir()) {
            return Some(told(rule, &entry, place));
        }
        folder = entry;
    }
    None
}

fn names(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}

fn told(rule: LeftOut, entry: &Path, place: &Path) -> Why {
    let what = if entry == place { "it".to_owned() } else { format!("its folder `{}`", entry.display()) };
    match rule {
        LeftOut::Git => because("built_in", format!("{what} is git's own")),
        LeftOut::BuiltIn => because(
            "built_in",
            format!(
                "{what} is on the built-in list of what is fetched, generated or secret; `--no-ignore`, or its own name, takes it"
            ),
        ),
        LeftOut::Hidden => {
            because("hidden", format!("the name of {what} begins with a dot; `--hidden`, or its own name, takes it"))
        }
        LeftOut::Pattern { file, pattern } => {
            let text = file::read_small(&file, 1 << 20).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
            // Of equal lines the last one decides.
            let line = lines.iter().rposition(|line| line.trim_end() == pattern.trim_end()).map(|at| at + 1);
            let at = line.map_or(String::new(), |line| format!(" line {line}"));
            let message = format!("`{}`{at} leaves {what} out: `{pattern}`", file.display());
            Why { reason: "ignored", message, rule: Some(Rule { file, line, pattern }) }
        }
    }
}

/// What is no plain file of a size that is read.
fn odd(place: &Path, metadata: &fs::Metadata, options: &WhyOptions<'_>) -> Option<Why> {
    if metadata.is_symlink() {
        return match (options.follow, place.metadata()) {
            (_, Err(_)) => Some(because("symlink", "a link that leads nowhere")),
            (false, Ok(_)) => Some(because("symlink", "a link, and links are not followed; `--follow` follows them")),
            (true, Ok(_)) => None,
        };
    }
    if !metadata.is_file() {
        return Some(because("not_regular", file::not_regular().message));
    }
    (metadata.len() > options.max_file_bytes)
        .then(|| because("too_large", file::too_large(metadata.len(), options.max_file_bytes).message))
}

/// The path that patterns are matched with: below the highest folder under `top` that brought sources.
fn given(place: &Path, top: &Path, known: &[PathBuf]) -> PathBuf {
    let below = place.strip_prefix(top).unwrap_or(place);
    let mut folder = top.to_owned();
    // As far as all sources that share the way go the same way: the folder that was given is there or above.
    for part in below.components() {
        let next = folder.join(part);
        let here = known.iter().filter(|known| known.starts_with(&folder)).count();
        let there = known.iter().filter(|known| known.starts_with(&next)).count();
        if there == 0 || there < here {
            break;
        }
        folder = next;
    }
    place.strip_prefix(&folder).unwrap_or(below).to_owned()
}

/// The format a file would be read as, or why it would not be read.
fn format(place: &Path, archives: bool) -> Result<&'static str, Why> {
    let unreadable = |error: &std::io::Error| because("unreadable", file::io_problem(error).message);
    let mut bytes = Vec::new();
    let opened = fs::File::open(place).map_err(|error| unreadable(&error))?;
    opened.take(LOOKED_AT_BYTES).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let format = detect::detect(&name, &bytes);
    if format == Format::Binary {
        return Err(because("binary", "it is neither text nor of a format that is known"));
    }
    if let Format::Unsupported(word) = format {
        return Err(because("unsupported", format!("{word} is not read")));
    }
    if !archives && matches!(format, Format::Zip | Format::Tar | Format::Gzip) {
        return Err(because("unsupported", "an archive; `--archives` reads what is in it"));
    }
    Ok(format.word())
}

impl Why {
    /// What a record says of its file: `indexed`, `failed`, `skipped` or `empty`, and a sentence.
    pub fn of_record(record: &SourceRecord) -> Self {
        let problems: Vec<String> =
            record.problems.iter().map(|problem| format!("{}: {}", problem.reason, problem.message)).collect();
        let problems = problems.join("; ");
        match record.status {
            Status::Failed => because("failed", format!("it was read and failed: {problems}")),
            _ if is_skipped(record) => because("skipped", format!("it was left alone: {problems}")),
            _ if record.chunks == 0 && problems.is_empty() => because("empty", "it was read and has no text"),
            _ if record.chunks == 0 => because("empty", format!("it was read and has no text ({problems})")),
            Status::Warned => because("indexed", format!("it is indexed, with a warning: {problems}")),
            Status::Indexed => because("indexed", "it is indexed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::types::SourcePath;

    fn record(path: &str) -> SourceRecord {
        let path = SourcePath::from_spelling(path);
        SourceRecord {
            id: SourceRecord::id_of("default", "", &path),
            collection: "default".into(),
            root: String::new(),
            path,
            size_bytes: 0,
            mtime_ns: 0,
            ctime_ns: 0,
            inode: 0,
            hash: String::new(),
            pipeline: String::new(),
            status: Status::Indexed,
            problems: vec![],
            format: "text".into(),
            title: None,
            author: None,
            lang: None,
            pages: None,
            encoding: None,
            tags: BTreeMap::new(),
            metadata: BTreeMap::new(),
            chunks: 1,
            text_bytes: 0,
        }
    }

    #[test]
    fn every_rule_is_told_from_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let write = |path: &str, text: &[u8]| {
            fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
            fs::write(top.join(path), text).unwrap();
        };
        for path in ["docs/a.md", "docs/x.log", "docs/.env", "docs/.hid", "docs/out/y.md", "target/z.md", "docs/b.md"] {
            write(path, b"text");
        }
        write("docs/.ragignore", b"# what is out\n*.log\nout/\n");
        write("docs/large.md", &[b'x'; 200]);
        write("docs/raw.bin", &[0, 1, 2, 0xff, 0xfe, 0, 0, 7]);
        write("docs/skip.txt", b"text");
        write("other/c.md", b"text");
        write("index/text/meta.json", b"{}");
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("o.md"), "text").unwrap();
        let sources = [record("docs/a.md"), record("target/kept.md")];
        let options = WhyOptions {
            home: Some(top.clone()),
            roots: &BTreeMap::new(),
            index_dir: &top.join("index"),
            sources: &sources,
            include: &[],
            exclude: &["skip.*".into()],
            hidden: false,
            follow: false,
            archives: false,
            max_file_bytes: 100,
        };
        for (path, want, rule) in [
            ("docs/x.log", "ignored", Some(("*.log", 2))),
            ("docs/out/y.md", "ignored", Some(("out/", 3))),
            ("docs/.env", "built_in", None),
            ("docs/.hid", "hidden", None),
            ("docs/large.md", "too_large", None),
            ("docs/raw.bin", "binary", None),
            ("docs/skip.txt", "excluded", None),
            ("docs/b.md", "new", None),
            ("docs", "folder", None),
            ("other/c.md", "not_given", None),
            ("docs/none.md", "absent", None),
            ("index/text/meta.json", "inside_index", None),
            // A folder of the built-in list that was named was entered.
            ("target/z.md", "new", None),
        ] {
            let why = why(&top.join(path), &options);
            assert_eq!(why.reason, want, "{path}: {why:?}");
            let found = why.rule.as_ref().map(|rule| (rule.pattern.as_str(), rule.line.unwrap()));
            assert_eq!(found, rule, "{path}: {why:?}");
        }
        assert_eq!(why(&outside.path().join("o.md"), &options).reason, "outside");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a.md", top.join("docs/link.md")).unwrap();
            assert_eq!(why(&top.join("docs/link.md"), &options).reason, "symlink");
        }
    }
}
