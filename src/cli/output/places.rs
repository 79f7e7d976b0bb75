//! Where something stands, for people: `guide.md:12-30`, `report.pdf p. 7`, clickable where the terminal can.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rag::{
    ingest::PageUrl,
    serve::{files, wire::Pair},
    types::Pages,
};

use super::{Screen, Style, sanitize};

/// The folders that display paths start from.
#[derive(Debug, Clone, Default)]
pub struct Places {
    home: Option<PathBuf>,
    roots: BTreeMap<String, String>,
}

impl Places {
    /// `home`: the folder that holds the index, if the index is called `.rag`.
    pub fn new(home: Option<PathBuf>, roots: BTreeMap<String, String>) -> Self {
        Self { home, roots }
    }

    /// The file on this machine that a display path names, if its root is known. Pages and standard input are none.
    pub fn file(&self, display: &str) -> Option<PathBuf> {
        files::path_of(self.home.as_deref(), &self.roots, display)
    }

    /// A location, painted, and linked to its file on a terminal.
    pub fn show(&self, screen: &Screen, path: &str, lines: Option<Pair>, pages: Option<Pair>) -> String {
        let text = screen.paint(Style::Place, &sanitize::line(&location(path, lines, pages)));
        let target = match self.file(path) {
            Some(file) => file.is_absolute().then(|| file_url(&file)),
            None => PageUrl::is_one(path).then(|| page_url(path)),
        };
        match target.filter(|_| screen.color && screen.stdout_is_terminal) {
            Some(url) => format!("\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\"),
            None => text,
        }
    }
}

/// `path:12-30`, `path:12`, `path p. 7-8` (as [`Pages::of`] says it), or the path alone.
pub fn location(path: &str, lines: Option<Pair>, pages: Option<Pair>) -> String {
    match (lines, pages) {
        (_, Some([first, last])) => format!("{path} {}", Pages { first, last }.of(path)),
        (Some([first, last]), None) if first == last => format!("{path}:{first}"),
        (Some([first, last]), None) => format!("{path}:{first}-{last}"),
        (None, None) => path.to_string(),
    }
}

/// An address as it was asked for, nothing in it that a terminal would take for its own.
fn page_url(address: &str) -> String {
    address.chars().filter(|letter| letter.is_ascii_graphic()).collect()
}

/// Built from our own path alone, every byte that is not plain percent-encoded: nothing of a file name reaches the
/// terminal as it is.
fn file_url(path: &Path) -> String {
    let mut url = String::from("file://");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => url.push(char::from(byte)),
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_looked_for_on_disk() {
        let places = Places::new(Some("/home".into()), BTreeMap::from([("data".to_owned(), "/data".to_owned())]));
        for (path, want) in [
            ("docs/a.md", Some("/home/docs/a.md")),
            ("data/a.md", Some("/data/a.md")),
            ("https://example.org/a.md", None),
            ("stdin/a.md", None),
        ] {
            assert_eq!(places.file(path), want.map(PathBuf::from), "{path}");
        }
        assert_eq!(page_url("https://example.org/a\x1b]8;b"), "https://example.org/a]8;b");
    }

    #[test]
    fn locations() {
        let lines = |first, last| Some([first, last]);
        let pages = |first, last| Some([first, last]);
        for (lines, pages, want) in [
            (None, None, "a"),
            (lines(3, 3), None, "a:3"),
            (lines(3, 9), None, "a:3-9"),
            (None, pages(7, 7), "a p. 7"),
            (lines(1, 2), pages(7, 8), "a p. 7-8"),
        ] {
            assert_eq!(location("a", lines, pages), want);
        }
        assert_eq!(location("a.PPTX", lines(1, 2), pages(3, 3)), "a.PPTX slide 3");
    }

    #[test]
    fn display_paths_lead_to_files() {
        let roots = BTreeMap::from([("corpus".to_string(), "/data/corpus".to_string())]);
        let places = Places::new(Some("/home/me".into()), roots);
        assert_eq!(places.file("corpus/a b.md"), Some("/data/corpus/a b.md".into()));
        assert_eq!(places.file("notes/x.md"), Some("/home/me/notes/x.md".into()));
        assert_eq!(Places::default().file("x"), None);
    }

    #[test]
    fn links_hold_no_raw_byte() {
        assert_eq!(file_url(Path::new("/a b/\x1b]8;;ü")), "file:///a%20b/%1B%5D8%3B%3B%C3%BC");
    }
}
