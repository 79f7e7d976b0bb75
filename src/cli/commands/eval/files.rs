//! The files of a collection: where they are, and what is in them.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use rag::{
    retrieve::eval::{Malformed, Qrels, Question, Run, answers, read_lines},
    types::Kind,
};

use crate::cli::report::Failure;

/// Names under which a collection may hold its parts, the first one there counts.
const CORPUS: [&str; 3] = ["corpus.jsonl", "corpus.jsonl.gz", "corpus"];
const QUERIES: [&str; 2] = ["queries.jsonl", "queries.jsonl.gz"];
const ANSWERS: &str = "answers.jsonl";
const QRELS: [&str; 4] = ["qrels.tsv", "qrels/test.tsv", "qrels.txt", "qrels/test.txt"];

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The documents of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Corpus {
    /// A JSON object a line.
    Lines(PathBuf),
    /// A file a document.
    Folder(PathBuf),
    /// Files with the names that they have in another index.
    Files(Vec<(String, PathBuf)>),
}

/// The documents of `dir`, or those at `given`. Errors: nothing is there.
pub fn corpus(dir: &Path, given: Option<&Path>) -> Result<Corpus, Failure> {
    let path = part(Some(dir), given, &CORPUS, "--corpus")?;
    Ok(if path.is_dir() { Corpus::Folder(path) } else { Corpus::Lines(path) })
}

/// The questions of `dir`, or those at `given`.
pub fn questions(dir: Option<&Path>, given: Option<&Path>) -> Result<Vec<Question>, Failure> {
    let path = part(dir, given, &QUERIES, "--queries")?;
    let records = read_lines(&text(&path)?).map_err(|bad| malformed(&path, &bad))?;
    Ok(records.into_iter().map(|record| Question { id: record.id, text: record.text }).collect())
}

/// The judgements of `dir`, or those at `given`.
pub fn qrels(dir: Option<&Path>, given: Option<&Path>) -> Result<Qrels, Failure> {
    let path = part(dir, given, &QRELS, "--qrels")?;
    Qrels::read(&text(&path)?).map_err(|bad| malformed(&path, &bad))
}

/// The questions of `dir` whose answers are known, or those at `given`, and where they are.
pub fn answers(dir: Option<&Path>, given: Option<&Path>) -> Result<(PathBuf, Vec<answers::Question>), Failure> {
    let Some(path) = given.map(Path::to_path_buf).or_else(|| dir.map(|dir| dir.join(ANSWERS))) else {
        return Err(Failure::usage("no collection and no file with questions").hint(
            "`rag eval --answers FILE` for the index there is, `rag eval DIR --answers` for a collection with `answers.jsonl`",
        ));
    };
    let questions = answers::questions(&text(&path)?)
        .map_err(|bad| Failure::usage(format!("`{}` {bad}", path.display())).hint("docs/quality.md shows a line"))?;
    match questions.is_empty() {
        true => Err(Failure::usage(format!("`{}` holds no question", path.display()))),
        false => Ok((path, questions)),
    }
}

/// A run file of TREC's.
pub fn run(path: &Path) -> Result<Run, Failure> {
    Run::read(&text(path)?).map_err(|bad| malformed(path, &bad))
}

pub fn malformed(path: &Path, bad: &Malformed) -> Failure {
    Failure::usage(format!("`{}` {bad}", path.display()))
}

/// A file to read line by line, unpacked if it is gzip.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let mut file = BufReader::new(File::open(path).map_err(|error| unreadable(path, &error))?);
    let is_packed = file.fill_buf().map_err(|error| unreadable(path, &error))?.starts_with(&GZIP);
    Ok(if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) })
}

pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let kind = match error.kind() {
        ErrorKind::NotFound => Kind::NotFound,
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => Kind::Usage,
        _ => Kind::Io,
    };
    Failure::new(kind, format!("cannot read `{}`: {error}", path.display()))
}

fn text(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text).map_err(|error| unreadable(path, &error))?;
    Ok(text)
}

fn part(dir: Option<&Path>, given: Option<&Path>, names: &[&str], flag: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        return Ok(path.to_path_buf());
    }
    let Some(dir) = dir else {
        return Err(Failure::usage(format!("no collection and no `{flag}`")).hint(
            "`rag eval DIR` for a collection in BEIR's layout, `rag eval --queries FILE --qrels FILE` for the index there is",
        ));
    };
    fs::metadata(dir).map_err(|error| unreadable(dir, &error))?;
    names.iter().map(|name| dir.join(name)).find(|path| path.exists()).ok_or_else(|| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        Failure::new(Kind::NotFound, format!("`{}` holds no {}", dir.display(), names.join(", no ")))
            .hint(format!("name the file with `{flag}`"))
    })
}
