//! Which programs of this machine can help to read pages.

use std::path::{Path, PathBuf};

use rag::ingest::{Ocr, PageReaders};

use crate::cli::{config::Config, env, report::Failure};

/// `tesseract`'s own default.
const LANGUAGES: &str = "eng";

/// `pdftotext` where it is installed; `pdftoppm` and `tesseract` if OCR is asked for. Errors: one of these is missing.
pub fn page_readers(ocr: bool, languages: Option<&str>, config: &Config) -> Result<PageReaders, Failure> {
    let ocr = if ocr || config.bool("ingest.ocr") {
        let languages = languages.or(config.text("ingest.ocr_languages")).unwrap_or(LANGUAGES);
        let languages = check_languages(languages).map_err(|why| {
            Failure::usage(format!("`{languages}`: {why}")).hint("the setting is `ingest.ocr_languages`")
        })?;
        Some(Ocr { paint: needed("pdftoppm")?, recognise: needed("tesseract")?, languages })
    } else {
        None
    };
    Ok(PageReaders { text: find("pdftotext"), ocr })
}

/// Names as `eng` or `chi_sim`, joined by `+`.
pub fn check_languages(text: &str) -> Result<String, String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-/".contains(c))
    };
    if text.split('+').all(is_name) { Ok(text.to_owned()) } else { Err("write languages as `eng` or `deu+eng`".into()) }
}

fn needed(name: &str) -> Result<PathBuf, Failure> {
    find(name).ok_or_else(|| {
        Failure::usage(format!("OCR needs `{name}`, which is not on PATH"))
            .hint("install tesseract and poppler's tools (Debian: `apt install tesseract-ocr poppler-utils`)")
    })
}

/// A program on PATH. Folders that are not absolute are passed over: what lies in the current folder is anybody's.
fn find(name: &str) -> Option<PathBuf> {
    let path = env::os(env::PATH)?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    is_executable(path).unwrap_or(false)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata()?;
    Ok(metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> std::io::Result<bool> {
    Ok(path.metadata()?.is_file())
}

#[cfg(test)]
mod tests {
    use super::check_languages;

    #[test]
    fn languages_are_names() {
        for good in ["eng", "deu+eng", "chi_sim", "script/Latin"] {
            assert!(check_languages(good).is_ok(), "{good}");
        }
        for bad in ["", "+", "eng+", "-l", "--psm", "eng deu", "../x", "a;b"] {
            assert!(check_languages(bad).is_err(), "{bad}");
        }
    }
}
