//! Which lines of a page are headings: those the bookmarks name, or, without bookmarks, those set larger than the text.

use super::{
    engine::{Page, Sizes},
    layout::UNIT,
    outline::Bookmark,
};
use crate::ingest::extract::clean;

/// How much larger than the text a heading is set.
const MIN_RATIO: f32 = 1.15;

/// Longest heading, in characters without white space, and most lines of one.
const MAX_LETTERS: usize = 160;
const MAX_LINES: usize = 3;

/// Lines of a page that are looked at, and most headings of one: a page with more has none.
const MAX_PAGE_LINES: usize = 2000;
const MAX_PAGE_RUNS: usize = 64;

/// Levels told apart by size.
const MAX_LEVELS: usize = 4;

/// Share of the letters of a document that may be headings, in percent; with more, size says nothing.
const MAX_SHARE: usize = 30;

/// Fewest bookmarks that are taken for the sections of a document.
const MIN_BOOKMARKS: usize = 2;

/// A heading: the lines of the page it is set in, none if it only takes effect before line `first`.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub first: usize,
    pub end: usize,
    pub level: u8,
    /// As it is named in heading paths.
    pub title: String,
    /// As it is set.
    pub text: String,
}

/// The headings of a document.
pub struct Headings<'a> {
    bookmarks: &'a [Bookmark],
    /// Size of the text.
    body: f32,
    /// Ratios of heading to text, largest first: a level is a place in it.
    ratios: Vec<f32>,
}

impl<'a> Headings<'a> {
    pub fn of(pages: &[Page], bookmarks: &'a [Bookmark]) -> Self {
        let bookmarks = if bookmarks.len() < MIN_BOOKMARKS { &[] } else { bookmarks };
        let mut headings = Self { bookmarks, body: body_size(pages), ratios: Vec::new() };
        if bookmarks.is_empty() {
            headings.rank(pages);
        }
        headings
    }

    /// Ranks the sizes of headings.
    fn rank(&mut self, pages: &[Page]) {
        let (mut letters, mut all) = (0, 0);
        let mut ratios: Vec<f32> = Vec::new();
        for page in pages {
            let lines: Vec<&str> = page.text.lines().collect();
            all += page.text.chars().filter(|c| !c.is_whitespace()).count();
            for (mark, ratio) in self.large(page, &lines) {
                letters += mark.text.chars().filter(|c| !c.is_whitespace()).count();
                if !ratios.iter().any(|known| (known - ratio).abs() < 0.05) {
                    ratios.push(ratio);
                }
            }
        }
        if letters * 100 <= all * MAX_SHARE {
            ratios.sort_by(|a, b| b.total_cmp(a));
            self.ratios = ratios;
        }
    }

    /// The headings of a page, in order.
    pub fn of_page(&self, number: u32, page: &Page, lines: &[&str]) -> Vec<Mark> {
        if !self.bookmarks.is_empty() {
            return self.named(number, lines);
        }
        if self.ratios.is_empty() {
            return Vec::new();
        }
        let mut marks = Vec::new();
        for (mut mark, ratio) in self.large(page, lines) {
            let place = self.ratios.iter().position(|known| (known - ratio).abs() < 0.05).unwrap_or(MAX_LEVELS);
            mark.level = u8::try_from(place.min(MAX_LEVELS - 1) + 1).unwrap_or(1);
            marks.push(mark);
        }
        marks
    }

    /// Lines that are set larger, with how much larger.
    fn large(&self, page: &Page, lines: &[&str]) -> Vec<(Mark, f32)> {
        let body = if page.body_size > 0.0 { self.body } else { UNIT };
        if body <= 0.0 {
            return Vec::new();
        }
        let runs: Vec<(&str, f32)> = page
            .large
            .iter()
            .map(|(text, size)| (text.as_str(), size / body))
            .filter(|(text, ratio)| *ratio >= MIN_RATIO && text.chars().count() <= MAX_LETTERS)
            .collect();
        if runs.is_empty() || runs.len() > MAX_PAGE_RUNS {
            return Vec::new();
        }
        let mut marks: Vec<(Mark, f32)> = Vec::new();
        let bare: Vec<String> = lines.iter().take(MAX_PAGE_LINES).map(|line| bare(line)).collect();
        let mut at = 0;
        while let Some(line) = bare.get(at) {
            let found = (!line.is_empty())
                .then(|| runs.iter().find_map(|&(run, ratio)| Some((said(&bare, at, run)?, ratio))))
                .flatten();
            let Some((end, ratio)) = found else {
                at += 1;
                continue;
            };
            let set: Vec<&str> =
                lines.get(at..end).unwrap_or(&[]).iter().map(|l| l.trim()).filter(|l| !l.is_empty()).collect();
            let mark = Mark { first: at, end, level: 1, title: String::new(), text: set.join(" ") };
            marks.push((mark, ratio));
            at = end;
        }
        marks.retain_mut(|(mark, _)| {
            let letters = mark.text.chars().filter(|c| c.is_alphabetic()).count();
            mark.title = clean::title(&mark.text).unwrap_or_default();
            letters >= 2
        });
        marks
    }

    /// The bookmarks of a page, at the lines that say the same, or where the one before it stands.
    fn named(&self, number: u32, lines: &[&str]) -> Vec<Mark> {
        let from = self.bookmarks.iter().filter(|bookmark| bookmark.page == number);
        let keys: Vec<String> = lines.iter().map(|line| key(line)).collect();
        let mut marks = Vec::new();
        let mut at = 0;
        for bookmark in from {
            let wanted = key(&bookmark.title);
            let found = (at..lines.len()).find_map(|first| Some((first, matched(&keys, first, &wanted)?)));
            let (first, end) = found.unwrap_or((at, at));
            let text: Vec<&str> = lines.get(first..end).unwrap_or(&[]).iter().map(|line| line.trim()).collect();
            let text = text.join(" ");
            marks.push(Mark { first, end, level: bookmark.level, title: bookmark.title.clone(), text });
            at = end;
        }
        marks
    }
}

/// Where the lines end that say `wanted`, from line `first` on, with or without a number before it.
fn matched(keys: &[String], first: usize, wanted: &str) -> Option<usize> {
    let wanted = wanted.trim_start_matches(|c: char| c.is_numeric());
    if wanted.is_empty() {
        return None;
    }
    let mut said = String::new();
    for (at, key) in keys.iter().enumerate().skip(first).take(MAX_LINES) {
        said.push_str(key);
        let bare = said.trim_start_matches(|c: char| c.is_numeric());
        if bare == wanted {
            return Some(at + 1);
        }
        if key.is_empty() || !wanted.starts_with(bare) {
            return None;
        }
    }
    None
}

/// Where the lines end that are `run` together, from line `first` on.
fn said(bare: &[String], first: usize, run: &str) -> Option<usize> {
    let mut rest = run;
    let mut filled = 0;
    for (at, line) in bare.iter().enumerate().skip(first) {
        if line.is_empty() {
            continue;
        }
        rest = rest.strip_prefix(line.as_str())?;
        filled += 1;
        if rest.is_empty() {
            return Some(at + 1);
        }
        if filled == MAX_LINES {
            return None;
        }
    }
    None
}

/// Letters and digits of a line, small.
fn key(line: &str) -> String {
    line.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn bare(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The size of most letters of a document.
fn body_size(pages: &[Page]) -> f32 {
    let mut sizes = Sizes::default();
    for page in pages.iter().filter(|page| page.body_size > 0.0) {
        sizes.add(page.body_size, page.body_letters);
    }
    sizes.usual().map_or(0.0, |(size, _)| size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str, large: &[(&str, f32)]) -> Page {
        Page {
            text: text.into(),
            large: large.iter().map(|(run, size)| ((*run).to_owned(), *size)).collect(),
            body_size: 10.0,
            body_letters: 100,
            ..Page::default()
        }
    }

    /// Headings of a page as first line, end, level, title.
    fn found(pages: &[Page], bookmarks: &[Bookmark], number: u32) -> Vec<(usize, usize, u8, String)> {
        let page = &pages[number as usize - 1];
        let lines: Vec<&str> = page.text.lines().collect();
        let headings = Headings::of(pages, bookmarks);
        headings.of_page(number, page, &lines).into_iter().map(|m| (m.first, m.end, m.level, m.title)).collect()
    }

    const BODY: &str = "many words of text that nobody set larger than any other words on this page of the document";

    #[test]
    fn larger_lines_are_headings() {
        let text = format!("The title of a\nlong paper\n{BODY}\n\n1 Part\n{BODY}\nPart\n12");
        let runs = [("Thetitleofalongpaper", 20.0), (BODY, 10.0), ("1Part", 14.0), ("12", 14.0)];
        let pages = [page(&text, &runs)];
        assert_eq!(found(&pages, &[], 1), [(0, 2, 1, "The title of a long paper".into()), (4, 5, 2, "1 Part".into())]);
        let poster = [page("Large words\nand more", &[("Largewordsandmore", 20.0)])];
        assert_eq!(found(&poster, &[], 1), []);
    }

    #[test]
    fn bookmarks_are_headings() {
        let bookmark = |title: &str, level, page| Bookmark { title: title.into(), level, page };
        let marks = [bookmark("Intro", 1, 1), bookmark("Not set here", 2, 2), bookmark("Long title over lines", 2, 2)];
        let pages = [page("1 Intro\nwords", &[]), page("words\nLong title\nover lines\nwords", &[])];
        assert_eq!(found(&pages, &marks, 1), [(0, 1, 1, "Intro".into())]);
        assert_eq!(
            found(&pages, &marks, 2),
            [(0, 0, 2, "Not set here".into()), (1, 3, 2, "Long title over lines".into())]
        );
    }
}
