//! Does the text of a page stand for what is shown, and if two engines differ, whose is better?
//!
//! A font without a key to its letters gives the numbers of its glyphs instead, which come out as letters of nothing. Only
//! clear cases are called noise: a page wrongly left out is worse than a page of noise. A page that is merely doubtful is
//! read again by another engine, which costs time and nothing else.

use super::{shown::Shown, tidy::rtl::is_rtl};

/// Fewest characters a page is judged by.
const MIN_CHARS: usize = 40;

/// Longest word of ASCII letters that is believed.
const MAX_WORD: usize = 45;

/// What can be counted in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Characters that are no white space.
    pub characters: usize,
    /// Replacement, private-use and control characters: nobody's text.
    pub bad: usize,
    pub rtl: usize,
    pub words: usize,
    /// Words of one letter; Chinese, Japanese and Korean ones are not counted.
    pub single: usize,
    /// Words of more than [`MAX_WORD`] ASCII letters.
    pub long: usize,
}

impl Counts {
    pub fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for word in text.split_whitespace() {
            counts.words += 1;
            let (mut letters, mut ascii) = (0usize, 0usize);
            let mut is_single = true;
            for letter in word.chars() {
                letters += 1;
                counts.bad += usize::from(is_bad(letter));
                counts.rtl += usize::from(is_rtl(letter));
                ascii = if letter.is_ascii_alphabetic() { ascii + 1 } else { 0 };
                is_single = letter.is_alphabetic() && !is_ideographic(letter);
                counts.long += usize::from(ascii == MAX_WORD + 1);
            }
            counts.characters += letters;
            counts.single += usize::from(letters == 1 && is_single);
        }
        counts
    }

    fn has_single_words(&self) -> bool {
        self.words >= 8 && self.single * 2 > self.words
    }

    fn bad_per_mille(&self) -> usize {
        self.bad * 1000 / self.characters.max(1)
    }
}

/// Whether another engine is to be asked: `counts` of the text, `shown` by its content stream.
pub fn is_doubtful(counts: &Counts, shown: Shown) -> bool {
    let nothing = counts.characters == 0 && (shown.characters > 0 || shown.paints_objects);
    let lost = shown.characters >= 8 && counts.characters * 10 < shown.characters * 8;
    nothing || lost || counts.bad > 0 || counts.rtl > 0 || counts.has_single_words() || counts.long > 0
}

/// Whether the text of a second engine is to be taken, in place of a first one's that is doubtful.
pub fn is_better(first: &Counts, second: &Counts) -> bool {
    if second.characters == 0 || first.characters == 0 {
        return second.characters > 0;
    }
    let (first_bad, second_bad) = (first.bad_per_mille(), second.bad_per_mille());
    let enough = second.characters * 10 >= first.characters * 8;
    if first_bad > second_bad + 20 {
        return second.characters * 2 >= first.characters.saturating_sub(first.bad);
    }
    if second_bad > first_bad + 20 {
        return false;
    }
    if first.has_single_words() != second.has_single_words() {
        return first.has_single_words() && enough;
    }
    if (first.long > 0) != (second.long > 0) {
        return first.long > 0 && enough;
    }
    if first.rtl * 5 > first.characters || second.rtl * 5 > second.characters {
        return enough;
    }
    second.characters * 4 > first.characters * 5
}

/// Whether most of what a page shows is missing from its text.
pub fn is_partial(text: &str, shown: usize) -> bool {
    shown >= MIN_CHARS && text.chars().filter(|c| !c.is_whitespace()).count() * 5 < shown * 2
}

/// Whether the text of a page is noise.
pub fn is_garbled(text: &str) -> bool {
    let counts = Counts::of(text);
    counts.characters >= MIN_CHARS && (counts.bad * 4 > counts.characters || is_shifted(text))
}

fn is_bad(letter: char) -> bool {
    letter == char::REPLACEMENT_CHARACTER
        || letter.is_control()
        || matches!(letter, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}

/// Letters that are words of their own.
pub fn is_ideographic(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
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
    fn counts(text: &str) -> Counts {
        Counts::of(text)
    }

    #[test]
    fn doubt() {
        let shown = |characters| Shown { characters, ..Shown::default() };
        for (text, characters, want) in [
            ("Plain words of a page", 17, false),
            ("Plain", 17, true),
            ("", 0, false),
            ("", 3, true),
            ("a \u{fffd} b", 3, true),
            ("H e l l o w o r l d", 10, true),
            ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}", 4, true),
            ("わ た く し と い ふ 現 象", 9, false),
        ] {
            assert_eq!(is_doubtful(&counts(text), shown(characters)), want, "{text}");
        }
        assert!(is_doubtful(&counts(&"x".repeat(60)), shown(60)));
        assert!(is_doubtful(&counts(""), Shown { paints_objects: true, ..Shown::default() }));
    }

    #[test]
    fn the_better_text() {
        for (first, second, want) in [
            ("", "text", true),
            ("text", "", false),
            ("some text", "some text", false),
            ("some text", "some text and more", true),
            ("so\u{fffd}e te\u{fffd}t", "some text", true),
            ("some text", "so\u{fffd}e te\u{fffd}t and \u{fffd} more", false),
            ("s o m e t e x t", "some text", true),
            ("some text", "s o m e t e x t a n d m o r e", false),
            ("םולש", "שלום", true),
            ("םולש םלועו", "לום", false),
        ] {
            assert_eq!(is_better(&counts(first), &counts(second)), want, "{first} / {second}");
        }
    }
}
