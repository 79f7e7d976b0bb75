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

/// Fewest characters that are judged to be shifted.
const MIN_SHIFTED: usize = 100;

/// Many writers number glyphs as ASCII less 29, so small letters come out as `D` to `]`, and `A`, `B` and `C` hardly at
/// all. Text in capitals has those three in every tenth place.
fn is_shifted(text: &str) -> bool {
    let (mut chars, mut shifted, mut first) = (0usize, 0usize, 0usize);
    for letter in text.chars().filter(|c| !c.is_whitespace()) {
        chars += 1;
        shifted += usize::from(matches!(letter, 'D'..=']'));
        first += usize::from(matches!(letter, 'A'..='C'));
    }
    chars >= MIN_SHIFTED && shifted * 2 > chars && first * 50 < shifted
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
            "ALL CAPITALS: WARNING! BEFORE THE PUMP IS STARTED, THE OPERATOR HAS TO CHECK THE OIL LEVEL, THE FILTER AND THE BELT",
            "1,204 3,922 18.5% 25,159 1,100 4,000 18,870 33 12 7 $4.00 A1 B2 C3 D4 E5 1,204 3,922 18.5% 25,159 1,100 4,000 18,870",
            "",
        ] {
            assert!(!is_garbled(text), "{text}");
            assert!(!is_garbled(&text.repeat(10)), "{text}");
        }
    }
}
