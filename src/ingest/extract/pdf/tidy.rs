//! Pages as an engine gives them into pages as a reader wants them.
//!
//! Ligatures and presentation forms become letters, lines from right to left come into reading order, hyphens at line ends are joined, and lines that stand at the top or
//! the bottom of most pages are kept on the first of them only. Nothing else is normalised: ² stays ².

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

use super::rtl::in_reading_order;

/// Lines at each end of a page that may be headers or footers.
const EDGE_LINES: usize = 2;

/// Fewest pages on which lines can be said to repeat.
const MIN_PAGES: usize = 4;

/// Share of pages on which a line must stand to be a header or footer, in percent.
const REPEATED_PERCENT: usize = 60;

/// Cleans all pages of a document. Linear in their size.
pub fn tidy(pages: Vec<String>) -> Vec<String> {
    let mut pages: Vec<String> = pages.into_iter().map(|page| in_reading_order(fold_forms(page))).collect();
    drop_repeated(&mut pages);
    let vocabulary = Vocabulary::of(&pages);
    pages.iter().map(|page| join_hyphens(page, &vocabulary)).collect()
}

/// Parts of a page between blank lines.
pub fn paragraphs(page: &str) -> impl Iterator<Item = &str> {
    let mut rest = page;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let mut at = 0;
            let end = rest.split_inclusive('\n').find_map(|line| {
                let start = at;
                at += line.len();
                line.trim().is_empty().then_some((start, at))
            });
            let (paragraph, next) = match end {
                Some((start, next)) => (&rest[..start], next),
                None => (rest, rest.len()),
            };
            rest = &rest[next..];
            if !paragraph.trim().is_empty() {
                return Some(paragraph);
            }
        }
        None
    })
}

/// Writes ligatures, Arabic and Hebrew presentation forms as the letters they show. Line ends become `\n`.
fn fold_forms(page: String) -> String {
    let is_form = |c: char| matches!(c, '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    if !page.contains(is_form) && !page.contains('\r') {
        return page;
    }
    let mut out = String::with_capacity(page.len());
    let mut letters = page.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            letter if is_form(letter) => out.extend(std::iter::once(letter).nfkc()),
            letter => out.push(letter),
        }
    }
    out
}

/// What makes two lines the same: words, with every number as one sign.
fn line_key(line: &str) -> String {
    let mut key = String::new();
    for letter in line.trim().chars() {
        if letter.is_numeric() {
            if !key.ends_with('#') {
                key.push('#');
            }
        } else if !(letter.is_whitespace() && key.ends_with(' ')) {
            key.push(if letter.is_whitespace() { ' ' } else { letter });
        }
    }
    key
}

/// The lines of a page that may be header or footer, as (is at the bottom, line number).
fn edges(lines: &[&str]) -> Vec<(bool, usize)> {
    let filled: Vec<usize> = (0..lines.len()).filter(|&at| !lines[at].trim().is_empty()).collect();
    if filled.len() <= 2 * EDGE_LINES {
        return Vec::new();
    }
    let top = filled.iter().take(EDGE_LINES).map(|&at| (false, at));
    let bottom = filled.iter().rev().take(EDGE_LINES).map(|&at| (true, at));
    top.chain(bottom).collect()
}

fn drop_repeated(pages: &mut [String]) {
    let with_text = pages.iter().filter(|page| !page.trim().is_empty()).count();
    if with_text < MIN_PAGES {
        return;
    }
    let mut counts: HashMap<(bool, String), usize> = HashMap::new();
    for page in pages.iter() {
        let lines: Vec<&str> = page.lines().collect();
        let keys: HashSet<_> = edges(&lines).into_iter().map(|(bottom, at)| (bottom, line_key(lines[at]))).collect();
        for key in keys {
            *counts.entry(key).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count >= MIN_PAGES && *count * 100 >= with_text * REPEATED_PERCENT);
    if counts.is_empty() {
        return;
    }
    let mut seen: HashSet<(bool, String)> = HashSet::new();
    for page in pages.iter_mut() {
        let lines: Vec<&str> = page.lines().collect();
        let mut dropped = HashSet::new();
        for (bottom, at) in edges(&lines) {
            let key = (bottom, line_key(lines[at]));
            // The first one stays: it may be the only place where it is said. A bare number never does.
            if counts.contains_key(&key) && (!seen.insert(key.clone()) || !key.1.contains(char::is_alphabetic)) {
                dropped.insert(at);
            }
        }
        if !dropped.is_empty() {
            let kept: Vec<&str> =
                lines.iter().enumerate().map(|(at, line)| if dropped.contains(&at) { "" } else { line }).collect();
            *page = kept.join("\n");
        }
    }
}

/// The words of a document that stand whole on a line, and those with a hyphen inside.
struct Vocabulary {
    words: HashSet<u64>,
    hyphenated: HashSet<u64>,
}

impl Vocabulary {
    fn of(pages: &[String]) -> Self {
        let (mut words, mut hyphenated) = (HashSet::new(), HashSet::new());
        for line in pages.iter().flat_map(|page| page.lines()) {
            for word in line.split(|c: char| !(c.is_alphanumeric() || c == '-')) {
                let word = word.trim_start_matches('-');
                if word.is_empty() || word.ends_with('-') {
                    continue;
                }
                if word.contains('-') {
                    hyphenated.insert(hash(word))
                } else {
                    words.insert(hash(word))
                };
            }
        }
        Self { words, hyphenated }
    }
}

fn hash(word: &str) -> u64 {
    let mut hash = blake3::Hasher::new();
    for letter in word.chars().flat_map(char::to_lowercase) {
        hash.update(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
    let mut first = [0; 8];
    hash.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}

/// Joins words that a line end cut. After a soft hyphen always; after a hyphen when the next line goes on in small
/// letters or the document has the joined word, unless it has the word with its hyphen: then that stays.
fn join_hyphens(page: &str, vocabulary: &Vocabulary) -> String {
    if !page.contains(['-', '\u{ad}', '\u{2010}']) {
        return page.to_owned();
    }
    let mut out = String::with_capacity(page.len());
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line.trim_end());
        let Some(next) = lines.peek().map(|next| next.trim_start()) else { break };
        match joint(&out, next, vocabulary) {
            Some(Joint::Drop(bytes)) => out.truncate(out.len() - bytes),
            Some(Joint::Keep) => {}
            None => out.push('\n'),
        }
    }
    out
}

enum Joint {
    /// The hyphen goes: so many bytes.
    Drop(usize),
    Keep,
}

fn joint(before: &str, next: &str, vocabulary: &Vocabulary) -> Option<Joint> {
    let hyphen = before.chars().next_back().filter(|c| matches!(c, '-' | '\u{ad}' | '\u{2010}'))?;
    let first = next.chars().next().filter(|c| c.is_alphabetic())?;
    if hyphen == '\u{ad}' {
        return Some(Joint::Drop(hyphen.len_utf8()));
    }
    let stem = &before[..before.len() - hyphen.len_utf8()];
    let start = stem
        .rfind(|c: char| !(c.is_alphanumeric() || c == '-'))
        .map_or(0, |at| at + stem[at..].chars().next().map_or(1, char::len_utf8));
    let left = &stem[start..];
    if !left.ends_with(char::is_alphabetic) {
        return None;
    }
    let right = &next[..next.find(|c: char| !c.is_alphanumeric()).unwrap_or(next.len())];
    if vocabulary.hyphenated.contains(&hash(&format!("{left}-{right}"))) {
        return Some(Joint::Keep);
    }
    let joined_is_known = vocabulary.words.contains(&hash(&format!("{left}{right}")));
    if joined_is_known || first.is_lowercase() {
        return Some(Joint::Drop(hyphen.len_utf8()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(page: &str) -> String {
        tidy(vec![page.to_owned()]).remove(0)
    }

    #[test]
    fn forms_are_folded_in_their_ranges_only() {
        assert_eq!(one("o\u{fb03}ce \u{fb01}ne ²½ Ⅳ"), "office fine ²½ Ⅳ");
        assert_eq!(one("\u{feed}\u{fe8d}"), "وا");
        assert_eq!(one("a\r\nb\rc"), "a\nb\nc");
    }

    #[test]
    fn hyphens_are_joined_with_care() {
        for (page, want) in [
            ("consec-\ntetuer adip", "consectetuer adip"),
            ("soft\u{ad}\nHyphen", "softHyphen"),
            ("a well-known fact, well-\nknown indeed", "a well-known fact, well-known indeed"),
            ("Smith-\nJones", "Smith-\nJones"),
            ("SmithJones Smith-\nJones", "SmithJones SmithJones"),
            ("1990-\n1995", "1990-\n1995"),
            ("list:\n-\nitem", "list:\n-\nitem"),
            ("end -\nx", "end -\nx"),
            ("über-\nraschend-\ngut", "überraschendgut"),
        ] {
            assert_eq!(one(page), want);
        }
    }

    #[test]
    fn headers_and_footers_are_kept_once() {
        let page = |n: usize| format!("Pump manual\nPage {n} of 9\n\nwords {n}\nmore\nand more\nlast\n\nsecret\n{n}");
        let pages = tidy((1..=5).map(page).collect());
        assert!(pages[0].starts_with("Pump manual\nPage 1"));
        assert_eq!(paragraphs(&pages[0]).count(), 3);
        assert_eq!(pages[4].trim(), "words 5\nmore\nand more\nlast");
        let few = tidy((1..=3).map(page).collect());
        assert!(few[2].contains("Pump manual"));
        let short = tidy(vec!["same\ntext".into(); 9]);
        assert!(short.iter().all(|page| page == "same\ntext"));
    }

    #[test]
    fn paragraphs_stand_between_blank_lines() {
        let found: Vec<_> = paragraphs("\na\nb\n \n\nc").collect();
        assert_eq!(found, ["a\nb\n", "c"]);
        assert_eq!(paragraphs("").count(), 0);
    }
}
