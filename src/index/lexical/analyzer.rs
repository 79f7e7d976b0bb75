//! Which words a text has: the one reading that index, queries, filters and highlights share.
//!
//! Useful for: cutting any text into lower-case words with positions. Not for: stems (`language`) or what is done with
//! a word (`document`, `query`).
//!
//! A word is a run of letters, marks, digits, underscores and zero-width joiners, after NFKC. Beside the plain ones:
//! - a name in `snake_case` or `camelCase` is the whole name and each of its parts;
//! - numbers joined by dots (`2026.4.10`, `v1.2`, `3.14`) are the whole, without a leading `v`, and each part;
//! - scripts that write no spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) give single letters and pairs of them.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, char::is_combining_mark, is_nfkc_quick};

/// Words are cut after so many characters: longer ones are data, and tantivy drops terms over 64 KiB.
pub(in crate::index) const MAX_WORD_CHARS: usize = 128;
/// Longer chains of numbers are no version: only their parts are words.
const MAX_NUMBER_BYTES: usize = 64;

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::index) enum Kind {
    Plain,
    /// One part of a name or of a dotted number.
    Part,
    /// The whole of a name in `camelCase`: it may be an ordinary word (`JavaScript`, `PDFs`), so it is stemmed.
    Name,
    /// The whole of a name with underscores, or of a dotted number: never stemmed.
    Whole,
    /// One letter, with its marks, of a script without spaces.
    Letter,
    /// Two neighbouring such letters.
    Pair,
}

impl Kind {
    /// The word has a position of its own: in a phrase these stand one after the other.
    pub(in crate::index) fn is_step(self) -> bool {
        matches!(self, Self::Plain | Self::Part | Self::Letter)
    }

    pub(in crate::index) fn is_stemmed(self) -> bool {
        matches!(self, Self::Plain | Self::Part | Self::Name)
    }
}

/// Calls `each` with the text, position and kind of every word, in order. Positions never fall; a whole has the position
/// of its first part, a pair that of its first letter. O(n).
pub(in crate::index) fn words(text: &str, each: &mut dyn FnMut(&str, u32, Kind)) {
    let mut out = Out { each, position: 0, lower: String::new() };
    if text.is_ascii() {
        return ascii_words(text, &mut out);
    }
    let text = normalised(text);
    let mut rest = 0;
    // The end of the chain of dotted numbers that was last told as a whole.
    let mut told = 0;
    while let Some((start, end)) = next_run(&text, rest) {
        if start >= told
            && let Some(chain_end) = dotted_number(&text, start, end)
        {
            told = chain_end;
            let whole = &text[start..chain_end];
            out.say(whole.strip_prefix(['v', 'V']).unwrap_or(whole), Kind::Whole, false);
        }
        out.run(&text[start..end], start < told);
        rest = end;
    }
}

/// What [`words`] says of a text in ASCII, where every character is a byte.
fn ascii_words(text: &str, out: &mut Out<'_>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut told = 0;
    while let Some(skipped) = bytes[at..].iter().position(|&byte| IS_ASCII_WORD[usize::from(byte)]) {
        let start = at + skipped;
        let length = bytes[start..].iter().position(|&byte| !IS_ASCII_WORD[usize::from(byte)]);
        let run_end = length.map_or(bytes.len(), |length| start + length);
        at = run_end;
        let inner = text[start..run_end].trim_matches('_');
        if inner.is_empty() {
            continue;
        }
        let start = start + (text[start..run_end].len() - text[start..run_end].trim_start_matches('_').len());
        let end = start + inner.len();
        if start >= told
            && bytes[end - 1].is_ascii_digit()
            && bytes.get(end) == Some(&b'.')
            && let Some(chain_end) = dotted_number(text, start, end)
        {
            told = chain_end;
            let whole = &text[start..chain_end];
            out.say(whole.strip_prefix(['v', 'V']).unwrap_or(whole), Kind::Whole, false);
        }
        out.spaced(inner, start < told);
    }
}

/// Letters, digits and underscores.
static IS_ASCII_WORD: [bool; 256] = {
    let mut is_word = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        is_word[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    is_word
};

fn normalised(text: &str) -> Cow<'_, str> {
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect())
    }
}

pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    c.is_alphanumeric() || is_combining_mark(c) || is_joiner(c)
}

/// The next run of word characters from byte `from` on, without underscores and joiners around it.
pub(super) fn next_run(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        let start = at + text[at..].find(is_word)?;
        let length = text[start..].find(|c| !is_word(c)).unwrap_or(text.len() - start);
        let run = &text[start..start + length];
        let around = |c: char| c == '_' || is_joiner(c);
        let inner = run.trim_matches(around);
        if !inner.is_empty() {
            let skipped = run.len() - run.trim_start_matches(around).len();
            return Some((start + skipped, start + skipped + inner.len()));
        }
        at = start + length;
    }
}

/// Where the chain of numbers ends that begins with the run `start..end`: `1.2.3`, `v2026.4.10`. `None`: no chain.
fn dotted_number(text: &str, start: usize, end: usize) -> Option<usize> {
    let mut chain_end = end;
    while text[..chain_end].ends_with(|c: char| c.is_ascii_digit())
        && text[chain_end..].starts_with('.')
        && text[chain_end + 1..].starts_with(|c: char| c.is_ascii_digit())
    {
        let (_, next) = next_run(text, chain_end + 1)?;
        chain_end = next;
        if chain_end - start > MAX_NUMBER_BYTES {
            return None;
        }
    }
    (chain_end > end).then_some(chain_end)
}

/// A letter of a script that writes no spaces between words.
pub(super) fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF          // Thai, Lao
        | 0x1000..=0x109F        // Burmese
        | 0x1780..=0x17FF        // Khmer
        | 0x3005..=0x3007        // iteration mark, closing mark, zero
        | 0x3031..=0x3035
        | 0x3041..=0x30FF        // Hiragana, Katakana
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF        // Han
        | 0x4E00..=0x9FFF
        | 0xA9E0..=0xA9FF        // Burmese
        | 0xAA60..=0xAA7F
        | 0xF900..=0xFAFF
        | 0x1AFF0..=0x1B16F      // Kana
        | 0x20000..=0x3FFFF)
}

/// Letters in lower case. The dot that `İ` leaves behind, and that some write over `i`, is no letter: `İstanbul` is
/// `istanbul`.
fn lower(word: &str) -> impl Iterator<Item = char> {
    let mut before = '\0';
    word.chars().flat_map(char::to_lowercase).filter(move |&c| {
        let is_dot = c == '\u{307}' && before == 'i';
        before = c;
        !is_dot
    })
}

/// How a word or stem is written as a term: the dotless `ı` of Turkish as `i`, for capitals do not tell them apart.
/// After stemming, which needs the difference.
pub(in crate::index) fn term(word: &str) -> Cow<'_, str> {
    if word.is_ascii() || !word.contains('ı') { Cow::Borrowed(word) } else { Cow::Owned(word.replace('ı', "i")) }
}

struct Out<'a> {
    each: &'a mut dyn FnMut(&str, u32, Kind),
    position: u32,
    lower: String,
}

impl Out<'_> {
    /// Says one word at the current position, in lower case and cut; `step`: the next word stands one further.
    fn say(&mut self, word: &str, kind: Kind, step: bool) {
        self.lower.clear();
        if word.is_ascii() {
            self.lower.push_str(&word[..word.len().min(MAX_WORD_CHARS)]);
            self.lower.make_ascii_lowercase();
        } else {
            self.lower.extend(lower(word).take(MAX_WORD_CHARS));
        }
        (self.each)(&self.lower, self.position, kind);
        if step {
            self.position = self.position.saturating_add(1);
        }
    }

    /// Says the words of one run; `in_number`: it is part of a dotted number.
    fn run(&mut self, run: &str, in_number: bool) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let dense = is_dense(first);
            // Marks and joiners belong to what they follow.
            let end = rest
                .char_indices()
                .find(|&(_, c)| is_dense(c) != dense && !is_combining_mark(c) && !is_joiner(c))
                .map_or(rest.len(), |(at, _)| at);
            let (part, after) = rest.split_at(end);
            rest = after;
            let part = part.trim_matches('_');
            if part.is_empty() {
                continue;
            }
            if dense { self.dense(part) } else { self.spaced(part, in_number) }
        }
    }

    /// Single letters and pairs.
    fn dense(&mut self, run: &str) {
        let starts = |from: usize| {
            let letters = run[from..].char_indices().skip(1);
            letters
                .into_iter()
                .find(|&(_, c)| !is_combining_mark(c) && !is_joiner(c))
                .map_or(run.len(), |(at, _)| from + at)
        };
        let (mut start, mut end) = (0, starts(0));
        while start < run.len() {
            let next_end = if end < run.len() { starts(end) } else { end };
            if next_end > end {
                self.say(&run[start..next_end], Kind::Pair, false);
            }
            self.say(&run[start..end], Kind::Letter, true);
            (start, end) = (end, next_end);
        }
    }

    /// A plain word, or a name with its parts.
    fn spaced(&mut self, run: &str, in_number: bool) {
        if run.len() > MAX_WORD_CHARS || is_one_part(run) {
            return self.say(run, if in_number { Kind::Part } else { Kind::Plain }, true);
        }
        let whole = if run.contains('_') { Kind::Whole } else { Kind::Name };
        self.say(run, whole, false);
        for piece in run.split('_') {
            let mut rest = piece;
            while !rest.is_empty() {
                let (part, after) = rest.split_at(camel_end(rest));
                self.say(part, Kind::Part, true);
                rest = after;
            }
        }
    }
}

fn is_one_part(run: &str) -> bool {
    let is_plain = |rest: &[u8]| rest.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    // An upper-case letter at the start alone parts nothing.
    let plain =
        run.as_bytes().split_first().is_some_and(|(first, rest)| first.is_ascii_alphanumeric() && is_plain(rest));
    plain || (!run.contains('_') && camel_end(run) == run.len())
}

/// Where the first part of a name in `camelCase` ends: before an upper-case letter that follows a lower-case letter or a
/// digit, and before the last of several upper-case letters when a lower-case one follows (`HTTPServer`), unless that is
/// the plural `s` of an abbreviation (`PDFs`).
fn camel_end(name: &str) -> usize {
    let mut before: Option<char> = None;
    let mut letters = name.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        if let Some(before) = before
            && c.is_uppercase()
        {
            let rises = before.is_lowercase() || before.is_numeric();
            let starts_word = before.is_uppercase()
                && letters.peek().is_some_and(|&(next, c)| c.is_lowercase() && &name[next..] != "s");
            if rises || starts_word {
                return at;
            }
        }
        before = Some(c);
    }
    name.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `word@position`, with a mark for wholes (`=`), letters (`'`) and pairs (`"`).
    fn spelled(text: &str) -> String {
        let mut out = Vec::new();
        words(text, &mut |word, position, kind| {
            let mark = match kind {
                Kind::Plain | Kind::Part => "",
                Kind::Name => "~",
                Kind::Whole => "=",
                Kind::Letter => "'",
                Kind::Pair => "\"",
            };
            out.push(format!("{word}{mark}@{position}"));
        });
        out.join(" ")
    }

    #[test]
    fn texts_become_words() {
        let cases = [
            ("", ""),
            (" .,;-—\u{200b}", ""),
            ("The Quick, brown FOX.", "the@0 quick@1 brown@2 fox@3"),
            ("don't state-of-the-art", "don@0 t@1 state@2 of@3 the@4 art@5"),
            ("get_user_name()", "get_user_name=@0 get@0 user@1 name@2"),
            ("_emphasis_ __init__ ___", "emphasis@0 init@1"),
            ("getUserName", "getusername~@0 get@0 user@1 name@2"),
            ("HTTPServer parseUTF8String", "httpserver~@0 http@0 server@1 parseutf8string~@2 parse@2 utf8@3 string@4"),
            ("PDFs API iPhone", "pdfs@0 api@1 iphone~@2 i@2 phone@3"),
            ("a_b_C", "a_b_c=@0 a@0 b@1 c@2"),
            ("std::vec::Vec a.b(c)", "std@0 vec@1 vec@2 a@3 b@4 c@5"),
            ("version 2026.4.10.", "version@0 2026.4.10=@1 2026@1 4@2 10@3"),
            ("v1.2 V3.0.1 3.14", "1.2=@0 v1@0 2@1 3.0.1=@2 v3@2 0@3 1@4 3.14=@5 3@5 14@6"),
            ("1. two 3.x .5 1..2", "1@0 two@1 3@2 x@3 5@4 1@5 2@6"),
            ("Straße ＦＵＬＬ ﬁne İ", "straße@0 full@1 fine@2 i@3"),
            ("İSTANBUL i\u{307}ki ė ışık", "istanbul@0 iki@1 ė@2 ışık@3"),
            ("हिन्दी में", "हिन्दी@0 में@1"),
            ("العربيّة", "العربيّة@0"),
            ("東京都", "東京\"@0 東'@0 京都\"@1 京'@1 都'@2"),
            ("PDF文書2", "pdf@0 文書\"@1 文'@1 書'@2 2@3"),
            ("ﾃﾞｰﾀ", "デー\"@0 デ'@0 ータ\"@1 ー'@1 タ'@2"),
            ("ที่นี่", "ที่นี่\"@0 ที่'@0 นี่'@1"),
            ("한국어 문서", "한국어@0 문서@1"),
            ("😀 a😀b", "a@0 b@1"),
        ];
        for (text, want) in cases {
            assert_eq!(spelled(text), want, "{text:?}");
        }
    }

    #[test]
    fn long_words_are_cut_and_nothing_panics() {
        for text in
            ["x".repeat(100_000), "é".repeat(9_000), "aB".repeat(50_000), "1.".repeat(50_000), "漢".repeat(9_000)]
        {
            let (mut longest, mut last) = (0, 0);
            words(&text, &mut |word, position, _| {
                longest = longest.max(word.chars().count());
                assert!(position >= last);
                last = position;
            });
            assert!(longest <= MAX_WORD_CHARS, "{longest}");
        }
    }

    proptest::proptest! {
        #[test]
        fn ascii_is_read_as_any_other_text(text in "[a-zA-Z0-9_. ,]{0,60}") {
            // A letter that is not ASCII at the end sends it the other way.
            assert_eq!(spelled(&format!("{text} é")).rsplit_once("é").unwrap().0.trim_end(), spelled(&text));
        }

        #[test]
        fn any_text_can_be_read(text in "\\PC{0,60}|[a-zA-Z0-9_.\u{200d}\u{301}漢ก ]{0,60}") {
            let mut steps = 0;
            let mut last = 0;
            words(&text, &mut |word, position, kind| {
                assert!(!word.is_empty());
                assert!(position >= last);
                last = position;
                if kind.is_step() {
                    assert_eq!(position, steps);
                    steps += 1;
                } else {
                    assert_eq!(position, steps);
                }
            });
        }
    }
}
