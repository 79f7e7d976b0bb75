//! Does the text of a page stand for what is shown?
//!
//! A font without a key to its letters gives the numbers of its glyphs instead, which come out as letters of nothing. Only
//! clear cases are called: a page wrongly left out is worse than a page of noise.

/// Fewest characters a page is judged by.
const MIN_CHARS: usize = 40;

/// Whether the text of a page is noise.
pub fn is_garbled(text: &str) -> bool {
    let (mut chars, mut bad) = (0usize, 0usize);
    for letter in text.chars().filter(|c| !c.is_whitespace()) {
        chars += 1;
        bad += usize::from(is_bad(letter));
    }
    if chars < MIN_CHARS {
        return false;
    }
    bad * 4 > chars || is_shifted(text)
}

/// Replacement characters, private use and control characters are nobody's text.
fn is_bad(letter: char) -> bool {
    letter == char::REPLACEMENT_CHARACTER
        || letter.is_control()
        || matches!(letter, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}

/// Glyph numbers read as character codes are ASCII shifted by a constant: letters, digits and signs in one word, capitals
/// in its middle, no vowels where they should be. Words are judged one by one.
fn is_shifted(text: &str) -> bool {
    let (mut words, mut odd) = (0usize, 0usize);
    for word in text.split_whitespace().filter(|word| word.chars().count() >= 4) {
        if !word.is_ascii() && !word.chars().all(|c| c.is_ascii() || ('\u{a0}'..'\u{250}').contains(&c)) {
            words += 1;
            continue;
        }
        words += 1;
        odd += usize::from(is_odd(word));
    }
    words >= 20 && odd * 2 > words
}

/// Letters broken up by capitals, digits and signs as no word is.
fn is_odd(word: &str) -> bool {
    let inner: Vec<char> = word.trim_matches(|c: char| c.is_ascii_punctuation()).chars().collect();
    let breaks = inner
        .windows(2)
        .filter(|pair| {
            let class = |c: char| match c {
                c if c.is_lowercase() => 0,
                c if c.is_uppercase() => 1,
                c if c.is_ascii_digit() => 2,
                _ => 3,
            };
            let (a, b) = (class(pair[0]), class(pair[1]));
            // A capital at the start of a word is followed by small letters; hyphens and dots join.
            a != b
                && !(a == 1 && b == 0)
                && !matches!(pair, ['-' | '.' | '/' | '\'' | '’' | '_', _] | [_, '-' | '.' | '/' | '\'' | '’' | '_'])
        })
        .count();
    breaks * 3 >= inner.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_called_and_text_is_not() {
        assert!(is_garbled(&"\u{fffd}\u{e001} ".repeat(30)));
        let noise = "3HQČåQtSURVWĜHGN\\ 1iNODG\\ D] 6WUXNWXUD ~Y$UX 9êGDMH=D 2EGREt% ";
        assert!(is_garbled(&noise.repeat(6)));
        for text in [
            "The concept of the word processor predates modern computers and has evolved through several innovations.",
            "Größe: 25,4 mm × 3.1 cm; IBM z/OS V2R4, iPhone OS, McDonald's, e-mail, C++11, x86_64 and ISO-8859-1 in one line of text",
            "わたくしといふ現象は仮定された有機交流電燈のひとつの青い照明です風景やみんなといつしよにせはしくせはしく明滅しながら",
            "1,204 3,922 18.5% 25,159 1,100 4,000 18,870 33 12 7 $4.00 A1 B2 C3 D4 E5 1,204 3,922 18.5% 25,159 1,100 4,000 18,870",
            "",
        ] {
            assert!(!is_garbled(text), "{text}");
            assert!(!is_garbled(&text.repeat(10)), "{text}");
        }
    }
}
