//! Programs of this machine that read pages which are not readable here: poppler's `pdftotext` for fonts and files our
//! engines fail on, `pdftoppm` and `tesseract` for pages that are pictures.
//!
//! They get the file on standard input, without a shell, without the environment, under limits of memory and time, and
//! are ended with all they started. Which programs there are is the door's to find out.
//!
//! Not for: pages that have text; whole formats, which are [`loader`](super::loader)'s.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use super::{
    extract::{Limits, PageText, reason},
    file,
    loader::Program,
};
use crate::index::Problem;

/// Dots an inch that pages are painted with: what `tesseract` is made for.
const DOTS: &str = "300";

/// Most pages of one file that are read by OCR, which takes seconds a page.
const MAX_OCR_PAGES: usize = 1_000;

/// The largest picture of a page.
const MAX_PICTURE_BYTES: u64 = 256 << 20;

/// Fewer letters and digits are specks on a scan.
const MIN_LETTERS: usize = 3;

/// Which programs there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageReaders {
    /// `pdftotext`.
    pub text: Option<PathBuf>,
    pub ocr: Option<Ocr>,
}

/// What reads pictures of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ocr {
    /// `pdftoppm`.
    pub paint: PathBuf,
    /// `tesseract`.
    pub recognise: PathBuf,
    /// Its languages: `eng`, `deu+eng`.
    pub languages: String,
}

impl PageReaders {
    /// Reads pages (from 1, ascending) of a PDF. Pages that give no text are not among the answer; the second value says
    /// why OCR read none or not all. `limits.timeout` holds for each page that is recognised.
    pub fn read(&self, pdf: &[u8], pages: &[u32], limits: &Limits) -> (Vec<PageText>, Option<Problem>) {
        let mut found = Vec::new();
        if let Some(program) = &self.text {
            found = text_layer(program, pdf, pages, limits);
        }
        let Some(ocr) = &self.ocr else { return (found, None) };
        let left: Vec<u32> = pages.iter().copied().filter(|page| found.iter().all(|text| text.page != *page)).collect();
        let mut problem = None;
        for &page in left.iter().take(MAX_OCR_PAGES) {
            match ocr.read(pdf, page, limits) {
                Ok(text) if is_text(&text) => found.push(PageText { page, text }),
                Ok(_) => {}
                Err(why) => {
                    let message = format!("OCR of page {page} failed: {}", why.message);
                    problem = Some(Problem { message, ..why });
                    break;
                }
            }
        }
        if problem.is_none() && left.len() > MAX_OCR_PAGES {
            let message = format!("{} pages need OCR, of which {MAX_OCR_PAGES} were read", left.len());
            problem = Some(file::lasting(reason::TRUNCATED, &message));
        }
        found.sort_by_key(|text| text.page);
        (found, problem)
    }
}

/// What `pdftotext` finds on pages. It fails on what it cannot read, and then there is nothing to say: the warning of the
/// first reading stands.
fn text_layer(program: &Path, pdf: &[u8], pages: &[u32], limits: &Limits) -> Vec<PageText> {
    let (Some(first), Some(last)) = (pages.first(), pages.last()) else { return Vec::new() };
    let mut command = confined(program);
    command.args(["-q", "-enc", "UTF-8", "-f", &first.to_string(), "-l", &last.to_string(), "-", "-"]);
    let Ok(printed) = run(program, command, pdf, limits.timeout, limits.max_text_bytes, limits) else {
        return Vec::new();
    };
    let printed = String::from_utf8_lossy(&printed);
    // Each page ends with a form feed.
    (*first..)
        .zip(printed.split('\u{c}'))
        .filter(|(page, text)| pages.contains(page) && is_text(text) && !text.contains(char::REPLACEMENT_CHARACTER))
        .map(|(page, text)| PageText { page, text: text.to_owned() })
        .collect()
}

impl Ocr {
    fn read(&self, pdf: &[u8], page: u32, limits: &Limits) -> Result<String, Problem> {
        let until = Instant::now() + limits.timeout;
        let page = page.to_string();
        let mut paint = confined(&self.paint);
        paint.args(["-r", DOTS, "-gray", "-f", &page, "-l", &page, "-singlefile", "-"]);
        let picture = run(&self.paint, paint, pdf, limits.timeout, MAX_PICTURE_BYTES, limits)?;
        let mut recognise = confined(&self.recognise);
        recognise.args(["stdin", "stdout", "-l", &self.languages]);
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        let text = run(&self.recognise, recognise, &picture, left, limits.max_text_bytes, limits)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn is_text(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphanumeric()).take(MIN_LETTERS).count() == MIN_LETTERS
}

/// A program that sees nothing of our environment, and uses one thread: there is one of it for each of ours.
fn confined(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("OMP_THREAD_LIMIT", "1").env("LC_ALL", "C.UTF-8");
    command
}

fn run(
    program: &Path,
    command: Command,
    input: &[u8],
    timeout: Duration,
    max_bytes: u64,
    limits: &Limits,
) -> Result<Vec<u8>, Problem> {
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    Program { name, command, memory_bytes: Some(limits.memory_bytes) }.run(input, timeout, max_bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    /// A script that stands for a program.
    fn script(folder: &Path, name: &str, body: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its own file");
        path
    }

    fn texts(found: &[PageText]) -> Vec<(u32, &str)> {
        found.iter().map(|text| (text.page, text.text.trim())).collect()
    }

    #[test]
    fn a_text_layer_first_then_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let text = script(at, "pdftotext", r"cat >/dev/null; printf 'page two\n\f..\n\fpage four\n\f'");
        let ocr = Ocr {
            paint: script(at, "pdftoppm", "cat >/dev/null; echo picture of $5"),
            recognise: script(at, "tesseract", "read line; echo \"$line in $4\""),
            languages: "deu+eng".into(),
        };
        let limits = Limits::default();
        let readers = PageReaders { text: Some(text.clone()), ocr: None };
        let (found, problem) = readers.read(b"%PDF", &[2, 3], &limits);
        assert_eq!((texts(&found), problem), (vec![(2, "page two")], None));

        let readers = PageReaders { text: Some(text), ocr: Some(ocr.clone()) };
        let (found, problem) = readers.read(b"%PDF", &[2, 3], &limits);
        assert_eq!((texts(&found), problem), (vec![(2, "page two"), (3, "picture of 3 in deu+eng")], None));

        // A program that fails says why, and what was read stays.
        let broken = Ocr { recognise: script(at, "broken", "echo no such language >&2; exit 1"), ..ocr };
        let (found, problem) = PageReaders { ocr: Some(broken), ..readers }.read(b"%PDF", &[2, 3], &limits);
        assert_eq!(texts(&found), [(2, "page two")]);
        assert!(
            problem.is_some_and(
                |problem| problem.message.contains("page 3") && problem.message.contains("no such language")
            )
        );
        assert_eq!(PageReaders::default().read(b"%PDF", &[1], &limits), (vec![], None));
    }

    #[test]
    fn nothing_of_the_environment_is_told_and_memory_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let env = script(folder.path(), "pdftotext", "/usr/bin/env");
        let readers = PageReaders { text: Some(env), ocr: None };
        let (found, _) = readers.read(b"", &[1], &Limits::default());
        assert!(!found[0].text.contains("CARGO"), "{found:?}");
        if cfg!(target_os = "linux") {
            let limit = script(folder.path(), "limit", "sleep 0.2; ulimit -v");
            let readers = PageReaders { text: Some(limit), ocr: None };
            let (found, _) = readers.read(b"", &[1], &Limits { memory_bytes: 512 << 20, ..Limits::default() });
            assert_eq!(found[0].text.trim(), "524288");
        }
    }
}
