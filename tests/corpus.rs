//! Real and hostile documents through the real worker process: outcome, phrases, pages, headings and lines of each.
//!
//! The documents are not part of the project; they stand in `../shared/corpus` or where `RAG_SHARED` says. What is known
//! to fail is listed with its reason: a new failure fails the test, and so does an entry that is no longer needed.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use rag::{
    index::Problem,
    ingest::{
        document::{Block, BlockKind, Document},
        extract::{Extractor, Limits, Passwords, Worker},
    },
};
use unicode_normalization::UnicodeNormalization;

/// What is expected by the corpus and not reached: `file` and the phrase (or `outcome`, or `absent …`), and why.
const KNOWN_MISSES: &[(&str, &str, &str)] = &[
    (
        "pdf/fake-bold-sample.pdf",
        "absent BBOOLLDD",
        "a sentence of the page quotes the word; the bold line itself is read once",
    ),
    ("pdf/habibi.pdf", "حَبيبي", "both engines give the line in the order of the eye, and nothing in it tells"),
    (
        "pdf/issue-791-non-unicode-cmap.pdf",
        "outcome",
        "the engines leave out what they cannot name; what is left is text",
    ),
    ("pdf/simple3.pdf", "あいうえお", "no engine knows the character map `V` of a font that is not embedded"),
];

/// Phrases found, of those the corpus asks for.
const PHRASES: (usize, usize) = (186, 188);

struct Case {
    file: String,
    outcomes: Vec<String>,
    expect: Vec<serde_json::Value>,
    absent: Vec<String>,
}

#[expect(clippy::print_stdout, reason = "a test says what it leaves out")]
fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("RAG_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    if corpus.join("index.tsv").is_file() {
        return Some(corpus);
    }
    assert!(std::env::var_os("CI").is_none(), "no corpus at {}", corpus.display());
    println!("left out: no corpus at {}", corpus.display());
    None
}

fn cases(corpus: &Path) -> Vec<Case> {
    let index = std::fs::read_to_string(corpus.join("index.tsv")).expect("the corpus has an index");
    index
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            Case {
                file: cells[0].into(),
                outcomes: cells[5].split('|').map(str::to_owned).collect(),
                expect: serde_json::from_str(cells[6]).expect("a list of phrases"),
                absent: serde_json::from_str(cells[7]).expect("a list of strings"),
            }
        })
        .collect()
}

fn extractor() -> Extractor {
    let worker =
        Worker::Process { program: env!("CARGO_BIN_EXE_rag").into(), arguments: vec![OsString::from("__extract")] };
    Extractor::new(worker, Limits { timeout: Duration::from_secs(120), ..Limits::default() })
}

fn outcome(result: &Result<Document, Problem>) -> &'static str {
    match result {
        Ok(document) if document.warnings.is_empty() => "ok",
        Ok(_) => "warn",
        // Left alone on purpose: not a failure.
        Err(problem) if problem.reason == "binary" => "warn",
        Err(_) => "error",
    }
}

/// The corpus's rule for comparing: NFKC, without soft hyphens, bidi marks and Markdown marks, hyphens at line ends
/// joined, white space collapsed, case folded.
fn fold(text: &str) -> String {
    let text: String =
        text.nfkc().filter(|c| !matches!(c, '\u{ad}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')).collect();
    let text = text.replace("-\n", "").replace(['*', '_', '`', '#', '|', '>', '\\'], " ");
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn contains(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (fold(text), fold(phrase));
    let bare = |s: &str| s.split_whitespace().collect::<String>();
    text.contains(&phrase) || bare(&text).contains(&bare(&phrase))
}

/// The phrase stands in the document, on its page, under its heading and on its line.
fn is_found(document: &Document, expected: &serde_json::Value) -> bool {
    let phrase = expected["text"].as_str().expect("a phrase");
    let number = |key: &str| expected[key].as_u64().map(|n| n as u32);
    let text = |block: &Block| &document.text[block.span.range()];
    let mut blocks: Vec<&Block> = document.blocks.iter().collect();
    if let Some(page) = number("page") {
        blocks.retain(|block| block.pages.is_some_and(|p| p.first <= page && page <= p.last));
    }
    if let Some(heading) = expected["heading"].as_str() {
        blocks.retain(|block| block.heading.iter().any(|title| contains(title, heading)));
    }
    if ["page", "heading", "line"].iter().all(|key| expected[key].is_null())
        && document.title.as_ref().is_some_and(|title| contains(title, phrase))
    {
        return true;
    }
    let all = blocks.iter().map(|block| text(block)).collect::<Vec<_>>().join("\n");
    if !contains(&all, phrase) {
        return false;
    }
    let Some(line) = number("line") else { return true };
    if document.text_is_source {
        // The line itself, with the next ones for a phrase that is wrapped.
        let lines: Vec<&str> = document.text.split('\n').collect();
        let from = line as usize - 1;
        return contains(&lines[from..(from + 3).min(lines.len())].join("\n"), phrase)
            && !contains(&lines[from + 1..].join("\n"), phrase);
    }
    blocks
        .iter()
        .any(|block| contains(text(block), phrase) && block.lines.is_some_and(|l| l.first <= line && line <= l.last))
}

/// Every character that is not white space is in a block.
fn is_covered(document: &Document) -> bool {
    let mut at = 0;
    let mut gaps = Vec::new();
    for block in &document.blocks {
        gaps.push(&document.text[at..block.span.start]);
        at = block.span.end;
    }
    gaps.push(&document.text[at..]);
    gaps.iter().all(|gap| gap.trim().is_empty())
}

/// What one document gave of what the corpus asks for.
struct Verdict {
    found: usize,
    has_right_outcome: bool,
    /// What was missed, and what was seen instead.
    misses: Vec<(String, String)>,
}

fn judge(case: &Case, result: Result<Document, Problem>) -> Verdict {
    let mut verdict = Verdict { found: 0, has_right_outcome: true, misses: Vec::new() };
    if !case.outcomes.iter().any(|wanted| wanted == outcome(&result)) {
        let seen = match &result {
            Ok(document) => format!("{:?}", document.warnings),
            Err(problem) => format!("{problem:?}"),
        };
        verdict.has_right_outcome = false;
        verdict.misses.push(("outcome".into(), format!("{} {seen}", outcome(&result))));
    }
    let document = result.unwrap_or_default();
    assert_eq!(document.check(), Ok(()), "{}", case.file);
    assert!(is_covered(&document), "{} has text in no block", case.file);
    for expected in &case.expect {
        if is_found(&document, expected) {
            verdict.found += 1;
        } else {
            let seen: String = document.text.chars().take(200).collect();
            verdict.misses.push((expected["text"].as_str().unwrap_or("").into(), seen));
        }
    }
    let body: Vec<&str> = document.blocks.iter().map(|block| &document.text[block.span.range()]).collect();
    for absent in &case.absent {
        if body.iter().any(|text| text.contains(absent)) {
            verdict.misses.push((format!("absent {absent}"), String::new()));
        }
    }
    verdict
}

fn read(extractor: &mut Extractor, corpus: &Path, case: &Case) -> Result<Document, Problem> {
    let bytes = std::fs::read(corpus.join(&case.file)).expect("a file of the corpus");
    extractor.extract(case.file.rsplit('/').next().unwrap_or(""), &bytes)
}

#[test]
fn every_document() {
    let Some(corpus) = corpus() else { return };
    let mut extractor = extractor();
    let (mut found, mut asked) = (0, 0);
    let mut misses: BTreeMap<(String, String), String> = BTreeMap::new();
    for case in cases(&corpus) {
        let verdict = judge(&case, read(&mut extractor, &corpus, &case));
        found += verdict.found;
        asked += case.expect.len();
        misses.extend(verdict.misses.into_iter().map(|(what, seen)| ((case.file.clone(), what), seen)));
    }
    println!("{found} of {asked} phrases");
    let known: BTreeMap<(&str, &str), &str> =
        KNOWN_MISSES.iter().map(|&(file, what, why)| ((file, what), why)).collect();
    let mut wrong = Vec::new();
    for ((file, what), seen) in &misses {
        if !known.contains_key(&(file.as_str(), what.as_str())) {
            wrong.push(format!("missed: {file}: {what:?}\n    saw: {seen:?}"));
        }
    }
    for (file, what) in known.keys() {
        if !misses.contains_key(&((*file).to_owned(), (*what).to_owned())) {
            wrong.push(format!("no longer missed, take it off the list: {file}: {what:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((found, asked), PHRASES);
}

/// `make corpus-report`: what each format gives, and costs.
#[test]
#[ignore = "a report, not a test"]
#[cfg(target_os = "linux")]
fn report() {
    let Some(corpus) = corpus() else { return };
    let mut folders: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in cases(&corpus) {
        folders.entry(case.file.split('/').next().unwrap_or("").to_owned()).or_default().push(case);
    }
    println!(
        "| format | files | phrases | of them with page, line or heading | outcomes right | slowest ms | all ms | peak MB |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for (folder, cases) in folders {
        let mut extractor = extractor();
        extractor.start().expect("a worker");
        let worker = children().into_iter().next_back().expect("it runs");
        let (mut found, mut asked, mut placed, mut right) = (0, 0, 0, 0);
        let (mut slowest, mut all, mut peak) = (Duration::ZERO, Duration::ZERO, 0);
        for case in &cases {
            let begun = std::time::Instant::now();
            let result = read(&mut extractor, &corpus, case);
            let took = begun.elapsed();
            (slowest, all) = (slowest.max(took), all + took);
            peak = peak.max(peak_kb(worker).unwrap_or(0));
            let verdict = judge(case, result);
            let has_place =
                |expected: &serde_json::Value| ["page", "line", "heading"].iter().any(|key| !expected[key].is_null());
            let missed = |expected: &serde_json::Value| {
                verdict.misses.iter().any(|(what, _)| Some(what.as_str()) == expected["text"].as_str())
            };
            found += verdict.found;
            asked += case.expect.len();
            placed += case.expect.iter().filter(|expected| has_place(expected) && !missed(expected)).count();
            right += usize::from(verdict.has_right_outcome);
        }
        println!(
            "| {folder} | {} | {found} of {asked} | {placed} | {right} | {} | {} | {} |",
            cases.len(),
            slowest.as_millis(),
            all.as_millis(),
            peak / 1024
        );
    }
}

/// Processes that this one started, oldest first.
#[cfg(target_os = "linux")]
fn children() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a process has threads");
    let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let mut children: Vec<u32> =
        lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect();
    children.sort_unstable();
    children
}

/// The most memory a process has had; nothing once it is gone.
#[cfg(target_os = "linux")]
fn peak_kb(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

#[test]
fn tables_keep_their_header() {
    let Some(corpus) = corpus() else { return };
    let mut extractor = extractor();
    for (file, header) in [
        ("csv/csv-semicolon.csv", None),
        ("html/structure.html", Some("| K | V |\n| --- | --- |")),
        ("md/frontmatter-table-footnote.md", Some("| Part | Torque |\n|------|--------|")),
    ] {
        let bytes = std::fs::read(corpus.join(file)).expect("a file of the corpus");
        let document = extractor.extract(file, &bytes).expect("it is read");
        let found = document.blocks.iter().find_map(|block| match &block.kind {
            BlockKind::Table { header, .. } => Some(&document.text[header.range()]),
            BlockKind::Heading(_) | BlockKind::Paragraph | BlockKind::List | BlockKind::Quote => None,
            BlockKind::Fence | BlockKind::Code | BlockKind::Record => None,
        });
        match header {
            Some(header) => assert_eq!(found, Some(header), "{file}"),
            None => assert_eq!(found, document.text.lines().next(), "{file}"),
        }
    }
}

#[test]
fn encrypted_documents_are_read_with_their_password() {
    let Some(corpus) = corpus() else { return };
    let passwords = ["wrong", "foo", "openpassword"].map(str::to_owned).to_vec();
    let mut extractor = extractor().with_passwords(Passwords::new(passwords));
    for (file, phrase) in
        [("pdf/aes-256.pdf", "Secret!"), ("pdf/libreoffice-writer-password.pdf", "Lorem ipsum dolor sit amet")]
    {
        let bytes = std::fs::read(corpus.join(file)).expect("a file of the corpus");
        let document = extractor.extract(file, &bytes).expect("one of the passwords fits");
        assert!(contains(&document.text, phrase), "{file}: {}", document.text);
        assert!(!format!("{document:?}").contains("openpassword"));
    }
}
