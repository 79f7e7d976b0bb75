//! Lines that stand at the top or the bottom of page after page: headers, footers, page numbers.
//!
//! They are the same but for numbers that count with the pages. The first of them is kept, for it may be the only place
//! where it is said; a bare page number never is.

use std::collections::{HashMap, HashSet};

/// Lines at each end of a page that may be headers or footers.
const EDGE_LINES: usize = 3;

/// Fewest pages on which lines can be said to repeat.
const MIN_PAGES: usize = 3;

/// Share of the pages (all, or those with odd or with even numbers) on which a line must stand, in percent.
const REPEATED_PERCENT: usize = 60;

/// Numbers of a line that may count with the pages.
const MAX_NUMBERS: u32 = 3;

/// Longest header or footer, in bytes.
const MAX_LINE_BYTES: usize = 200;

/// A line at an end of a page: whether that is the bottom, and what it says. Numbers that count with the pages are written
/// as their distance to the page's number.
type Key = (bool, String);

/// Pages on which a key stands: odd ones, even ones.
type Count = [usize; 2];

/// Empties the lines of headers and footers. `pages` are all pages of a document, in order.
pub fn drop_repeated(pages: &mut [String]) {
    let mut filled: Count = [0, 0];
    let mut counts: HashMap<Key, Count> = HashMap::new();
    for (number, page) in (1i64..).zip(pages.iter()) {
        let parity = usize::from(number % 2 == 0);
        filled[parity] += usize::from(!page.trim().is_empty());
        let lines: Vec<&str> = page.lines().collect();
        let found = edges(&lines);
        let keys: HashSet<Key> =
            found.iter().flat_map(|edge| keys(edge.bottom, lines.get(edge.line).unwrap_or(&""), number)).collect();
        for key in keys {
            counts.entry(key).or_default()[parity] += 1;
        }
    }
    let is_most = |count: usize, of: usize| count >= MIN_PAGES && count * 100 >= of * REPEATED_PERCENT;
    counts.retain(|_, &mut [odd, even]| {
        is_most(odd + even, filled[0] + filled[1]) || is_most(odd, filled[0]) || is_most(even, filled[1])
    });
    if counts.is_empty() {
        return;
    }
    let mut seen: HashSet<Key> = HashSet::new();
    for (number, page) in (1i64..).zip(pages.iter_mut()) {
        let lines: Vec<&str> = page.lines().collect();
        let mut dropped = HashSet::new();
        let mut is_inside = [false, false];
        for edge in edges(&lines) {
            let line = lines.get(edge.line).copied().unwrap_or("");
            let inside = &mut is_inside[usize::from(edge.bottom)];
            let known = keys(edge.bottom, line, number).into_iter().find(|key| counts.contains_key(key));
            let Some(key) = known.filter(|_| !*inside) else {
                *inside = true;
                continue;
            };
            if !seen.insert(key) || is_bare_number(line) {
                dropped.insert(edge.line);
            }
        }
        if !dropped.is_empty() {
            let kept: Vec<&str> =
                lines.iter().enumerate().map(|(at, line)| if dropped.contains(&at) { "" } else { line }).collect();
            *page = kept.join("\n");
        }
    }
}

struct Edge {
    bottom: bool,
    line: usize,
}

/// The lines of a page that may be header or footer, from the outside inwards.
fn edges(lines: &[&str]) -> Vec<Edge> {
    let filled: Vec<usize> =
        (0..lines.len()).filter(|&at| lines.get(at).is_some_and(|l| !l.trim().is_empty())).collect();
    let count = match filled.len() {
        0..3 => return Vec::new(),
        few if few <= 2 * EDGE_LINES => 1,
        _ => EDGE_LINES,
    };
    let top = filled.iter().take(count).map(|&line| Edge { bottom: false, line });
    let bottom = filled.iter().rev().take(count).map(|&line| Edge { bottom: true, line });
    top.chain(bottom).collect()
}

/// A page number and nothing else.
fn is_bare_number(line: &str) -> bool {
    let line = line.trim();
    !line.chars().any(char::is_alphabetic) || roman(line).is_some()
}

/// Everything the line may be the same as, on other pages.
fn keys(bottom: bool, line: &str, page: i64) -> Vec<Key> {
    let line = line.trim();
    if line.len() > MAX_LINE_BYTES {
        return Vec::new();
    }
    if let Some(value) = roman(line) {
        return vec![(bottom, format!("\0r{}", value - page))];
    }
    let numbers = numbers(line);
    let countable = u32::try_from(numbers.len()).unwrap_or(u32::MAX).min(MAX_NUMBERS);
    (0..1u32 << countable)
        .map(|counting| {
            let mut key = String::new();
            let mut end = 0;
            for (at, (start, stop, value)) in numbers.iter().enumerate() {
                if at < countable as usize && counting >> at & 1 == 1 {
                    key.push_str(line.get(end..*start).unwrap_or(""));
                    key.push_str(&format!("\0{}", value - page));
                    end = *stop;
                }
            }
            key.push_str(line.get(end..).unwrap_or(""));
            (bottom, key.split_whitespace().collect::<Vec<_>>().join(" "))
        })
        .collect()
}

/// Numbers of up to six digits: start, end, value.
fn numbers(line: &str) -> Vec<(usize, usize, i64)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, letter) in line.char_indices().chain(std::iter::once((line.len(), ' '))) {
        match (start, letter.is_ascii_digit()) {
            (None, true) => start = Some(at),
            (Some(first), false) => {
                let digits = line.get(first..at).unwrap_or("");
                if digits.len() <= 6
                    && let Ok(value) = digits.parse()
                {
                    found.push((first, at, value));
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// The value of a line that is a small roman numeral.
fn roman(line: &str) -> Option<i64> {
    if line.is_empty() || line.len() > 8 {
        return None;
    }
    let mut value = 0;
    let mut last = 0;
    for letter in line.chars().rev() {
        let digit = match letter.to_ascii_lowercase() {
            'i' => 1,
            'v' => 5,
            'x' => 10,
            'l' => 50,
            'c' => 100,
            _ => return None,
        };
        value += if digit < last { -digit } else { digit };
        last = last.max(digit);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(page: impl Fn(usize) -> String, count: usize) -> Vec<String> {
        let mut pages: Vec<String> = (1..=count).map(page).collect();
        drop_repeated(&mut pages);
        pages
    }

    #[test]
    fn headers_and_footers_are_kept_once() {
        let page = |n: usize| {
            format!("Pump manual\nPage {n} of 9\n\nwords {}\nmore\nand\nmore\nlast {}\n\nsecret\n{n}", n * n, n * n)
        };
        let pages = dropped(page, 5);
        assert!(pages[0].starts_with("Pump manual\nPage 1"));
        assert!(pages[0].trim_end().ends_with("secret"));
        assert_eq!(pages[4].trim(), "words 25\nmore\nand\nmore\nlast 25");
        assert!(dropped(page, 2)[1].contains("Pump manual"));
        assert!(dropped(|_| "same\ntext".into(), 9).iter().all(|page| page == "same\ntext"));
    }

    #[test]
    fn odd_and_even_pages_have_their_own() {
        let page = |n: usize| {
            let head = if n.is_multiple_of(2) { format!("{n}   The Author") } else { format!("The Title   {n}") };
            format!("{head}\n\nbody {}\n\nmore\n\nend of {}", n * n, n * n)
        };
        let pages = dropped(page, 8);
        assert!(pages[0].contains("The Title") && pages[1].contains("The Author"));
        assert!(pages[2..].iter().all(|page| !page.contains("The ")), "{pages:?}");
    }

    #[test]
    fn numbers_that_do_not_count_with_the_pages_are_text() {
        let pages = dropped(|n| format!("Invoice {}\n\nbody\n{}\nend {}", n * n * 7, n * 31, n * n), 6);
        assert!(pages.iter().all(|page| page.contains("Invoice") && page.contains("end")), "{pages:?}");
    }

    #[test]
    fn roman_numbers_are_numbers() {
        assert_eq!(["i", "iv", "IX", "xl", "mild", ""].map(roman), [Some(1), Some(4), Some(9), Some(40), None, None]);
        let pages = dropped(|n| format!("text {}\nb\nc\n{}", n * n, ["i", "ii", "iii", "iv"][n - 1]), 4);
        assert!(pages.iter().all(|page| page.trim_end().ends_with('c')), "{pages:?}");
    }
}
