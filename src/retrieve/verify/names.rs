//! Which words of a sentence are names, as far as capitals tell.
//!
//! Useful for: languages that write names, and little else, with a capital. Not for: German, where only words with a
//! capital inside or throughout are taken, and scripts without capitals.

use unicode_segmentation::UnicodeSegmentation;

use super::calendar::{month_of, weekday_of};
use crate::retrieve::words::{Tongue, normal};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub at: usize,
    pub word: String,
    pub norm: String,
    pub stem: String,
    /// It begins the sentence, where any word has a capital.
    pub first: bool,
    /// The word before it is a name too.
    pub follows: bool,
}

/// All words that begin with a capital but for function words, days and months.
pub(super) fn names(text: &str, tongue: &mut Tongue) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let (mut capitals, mut total) = (0, 0);
    let mut end = 0;
    for (at, word) in text.unicode_word_indices() {
        let between = &text[end..at];
        let first = end == 0 || between.contains(['.', '!', '?', ':', '"', '“', '„', '«', '\n', '|']);
        end = at + word.len();
        total += usize::from(word.chars().all(char::is_alphabetic));
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        if !capital && !word.chars().any(char::is_uppercase) {
            continue;
        }
        capitals += 1;
        let norm = normal(word);
        let inner = word.chars().skip(1).any(char::is_uppercase);
        if tongue.is_stop(&norm) && !inner
            || norm.chars().count() < 2
            || month_of(word).is_some()
            || weekday_of(word).is_some()
            || word.chars().any(|c| c.is_ascii_digit())
            || (tongue.is_german() && !inner)
        {
            continue;
        }
        let follows = names.last().is_some_and(|last: &Name| {
            let gap = &text[last.at + last.word.len()..at];
            matches!(gap, " " | "-" | " & ")
        });
        let stem = tongue.stem_of(&norm);
        names.push(Name { at, word: word.to_owned(), norm, stem, first: first && !inner, follows });
    }
    // A title in capitals: its capitals say nothing.
    let open = !text.trim_end().ends_with(['.', '!', '?']);
    if open && total >= 4 && capitals * 10 >= total * 8 { Vec::new() } else { names }
}

/// The first letters of neighbouring names: `Human Resources` is `hr`.
pub(super) fn initials(names: &[Name]) -> Vec<(usize, String)> {
    let mut groups: Vec<(usize, String)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let letter = name.norm.chars().next().unwrap_or(' ');
        match groups.last_mut() {
            Some((_, group)) if name.follows => group.push(letter),
            _ => groups.push((at, letter.to_string())),
        }
    }
    groups.retain(|(_, group)| group.chars().count() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_make_names() {
        for (lang, text, want) in [
            ("en", "The office in New York is led by Sarah O'Neil.", &["New", "York", "Sarah", "O'Neil"][..]),
            ("en", "Sarah leads it on Monday in May.", &["Sarah"]),
            ("en", "How To Reset The Device Now", &[]),
            ("de", "Die Mitarbeiter nutzen das iPhone der BSI im Büro.", &["iPhone", "BSI"]),
            ("en", "I use it with NASA.", &["NASA"]),
        ] {
            let got: Vec<String> = names(text, &mut Tongue::of(Some(lang))).into_iter().map(|name| name.word).collect();
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn initials_of_neighbours() {
        let names = names("You may ask Human Resources or Bob.", &mut Tongue::of(None));
        assert_eq!(initials(&names), [(0, "hr".to_owned())]);
    }
}
