//! Where a text may be cut: after lines, sentences, clauses, words, and if nothing else helps inside a word.
//!
//! Every function tiles its span: the pieces follow each other without a gap, white space stays at the end of the piece
//! before it. All run in O(n), whatever the text.
//!
//! The sentence rules are a preference, not a grammar: a wrong boundary makes a chunk end early, nothing worse.

use unicode_segmentation::GraphemeCursor;

use crate::types::Span;

/// How many bytes for each token of the budget a piece of an endless word is first thought to have.
const WORD_BYTES_PER_TOKEN: usize = 8;

/// Words before a full stop that do not end a sentence, in lower case, without the stop.
const ABBREVIATIONS: [&str; 52] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "fig", "figs", "eq", "eqs", "sec", "no", "nos",
    "vol", "pp", "ed", "eds", "al", "cf", "e.g", "i.e", "ca", "approx", "inc", "ltd", "co", "corp", "dept", "est",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "bzw", "z.b", "d.h", "u.a",
    "nr", "abb", "vgl",
];

/// Lines, each with its line end.
pub fn lines(text: &str, span: Span) -> Vec<Span> {
    tile(span, text[span.range()].split_inclusive('\n').map(str::len))
}

/// Groups of lines, each up to the end of a run of blank lines.
pub fn paragraphs(text: &str, span: Span) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    let mut after_blank = true;
    for line in lines(text, span) {
        let blank = text[line.range()].trim().is_empty();
        match out.last_mut() {
            Some(last) if blank || !after_blank => last.end = line.end,
            _ => out.push(line),
        }
        after_blank = blank;
    }
    out
}

/// Sentences, each with the white space after it. A blank line ends one too.
pub fn sentences(text: &str, span: Span) -> Vec<Span> {
    let body = &text[span.range()];
    let mut out = Vec::new();
    let mut start = 0;
    let mut letters = body.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let ends = match letter {
            '.' | '!' | '?' | '…' => End::BeforeSpace,
            '。' | '！' | '？' | '｡' | '।' | '॥' | '؟' | '۔' | '։' | '።' => End::Here,
            '\n' => End::Blank,
            _ => continue,
        };
        // Closing marks and further stops belong to the sentence.
        while ends != End::Blank && letters.peek().is_some_and(|&(_, c)| closes(c)) {
            letters.next();
        }
        let mut spaces = 0;
        let mut line_ends = usize::from(letter == '\n');
        while let Some(&(_, c)) = letters.peek().filter(|(_, c)| c.is_whitespace()) {
            spaces += 1;
            line_ends += usize::from(c == '\n');
            letters.next();
        }
        let Some(&(next, follower)) = letters.peek() else { break };
        let is_end = match ends {
            End::Here => true,
            End::Blank => line_ends > 1,
            End::BeforeSpace if line_ends > 1 => true,
            End::BeforeSpace => {
                spaces > 0 && !follower.is_lowercase() && !(letter == '.' && is_abbreviation(&body[start..at]))
            }
        };
        if is_end {
            out.push(Span::new(span.start + start, span.start + next));
            start = next;
        }
    }
    if start < body.len() {
        out.push(Span::new(span.start + start, span.end));
    }
    out
}

#[derive(PartialEq, Eq)]
enum End {
    Here,
    BeforeSpace,
    Blank,
}

fn closes(c: char) -> bool {
    ".!?…。！？｡)]}\"'”’»›」』）】〉》".contains(c)
}

/// The text ends in a word whose full stop does not end a sentence: an abbreviation, an initial, or a number that begins
/// the sentence (`1. Open the valve`).
fn is_abbreviation(before: &str) -> bool {
    let word_start = before.rfind(|c: char| c.is_whitespace() || "([\"'“‘".contains(c));
    let word = match word_start {
        Some(at) => before[at..].trim_start_matches(|c: char| c.is_whitespace() || "([\"'“‘".contains(c)),
        None => before,
    };
    // Longer words are no abbreviations, and need not be looked at whole.
    if word.is_empty() || word.len() > 12 {
        return false;
    }
    let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let numbered = word.bytes().all(|b| b.is_ascii_digit()) && word.len() == before.trim_start().len();
    initial || numbered || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Cuts a span into pieces of at most `budget` by `size`: after a line or a clause if one ends in the later half of a
/// piece, else after a word, else inside one. A piece larger than `budget` is one letter. O(n).
pub fn cut(text: &str, span: Span, budget: usize, size: &dyn Fn(&str) -> usize) -> Vec<Span> {
    let mut out = Vec::new();
    let mut start = span.start;
    let mut used = 0;
    // The best place to cut so far: where, what was used up to there, and how good it is.
    let mut best: Option<(usize, usize, u8)> = None;
    for word in words(text, span) {
        let word_size = size(&text[word.range()]);
        if word_size > budget {
            if start < word.start {
                out.push(Span::new(start, word.start));
            }
            cut_word(text, word, budget, size, &mut out);
            (start, used, best) = (word.end, 0, None);
            continue;
        }
        if used + word_size > budget {
            if let Some((at, used_there, _)) = best.take() {
                out.push(Span::new(start, at));
                (start, used) = (at, used - used_there);
            }
            if used + word_size > budget {
                out.push(Span::new(start, word.start));
                (start, used) = (word.start, 0);
            }
        }
        used += word_size;
        let rank = boundary_rank(&text[word.range()]);
        if rank > 0 && used * 2 >= budget && best.is_none_or(|(.., best)| rank >= best) {
            best = Some((word.end, used, rank));
        }
    }
    if start < span.end {
        out.push(Span::new(start, span.end));
    }
    out
}

/// How good a cut after this word is: 2 at a line's end, 1 at a clause's.
fn boundary_rank(word: &str) -> u8 {
    let bare = word.trim_end();
    if word[bare.len()..].contains('\n') {
        return 2;
    }
    u8::from(bare.ends_with([',', ';', ':', '、', '，', '；', '：', '،', '؛']))
}

/// Words, each with the white space after it; white space at the start is a word of its own.
fn words(text: &str, span: Span) -> Vec<Span> {
    let mut out = Vec::new();
    let mut start = span.start;
    let mut in_space = true;
    for (at, letter) in text[span.range()].char_indices() {
        let is_space = letter.is_whitespace();
        if in_space && !is_space && span.start + at > start {
            out.push(Span::new(start, span.start + at));
            start = span.start + at;
        }
        in_space = is_space;
    }
    if start < span.end {
        out.push(Span::new(start, span.end));
    }
    out
}

/// Cuts one endless word: between graphemes if they are not endless too, after a clause's mark if there is one (scripts
/// without spaces).
fn cut_word(text: &str, word: Span, budget: usize, size: &dyn Fn(&str) -> usize, out: &mut Vec<Span>) {
    let mut start = word.start;
    let mut guess = budget.saturating_mul(WORD_BYTES_PER_TOKEN);
    while start < word.end {
        let rest = &text[start..word.end];
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let mut end = rest.floor_char_boundary(guess).max(first);
        while end > first {
            let found = size(&rest[..end]);
            if found <= budget {
                break;
            }
            let smaller = (end as u128 * budget as u128 / found as u128) as usize;
            end = rest.floor_char_boundary(smaller.min(end - 1)).max(first);
        }
        if end < rest.len() {
            end = tidy_end(rest, end).max(first);
        }
        out.push(Span::new(start, start + end));
        start += end;
        // The next piece is most likely as long as this one.
        guess = end.saturating_add(end / 4).saturating_add(16);
    }
}

/// A better place to cut at or before `end`, in the later half: after a mark, or at least between graphemes.
fn tidy_end(rest: &str, end: usize) -> usize {
    let half = rest.floor_char_boundary(end / 2);
    let mark = |c: char| "、，；：,;}>)".contains(c);
    if let Some((at, c)) = rest[half..end].char_indices().rev().find(|&(_, c)| mark(c)) {
        return half + at + c.len_utf8();
    }
    // The text is cut off behind the letter that follows: what comes later has no say in this boundary.
    let next = rest[end..].chars().next().map_or(0, char::len_utf8);
    let window = &rest[..end + next];
    let mut cursor = GraphemeCursor::new(end, window.len(), true);
    match cursor.is_boundary(window, 0) {
        Ok(false) => cursor.prev_boundary(window, 0).ok().flatten().filter(|&before| before > half).unwrap_or(end),
        _ => end,
    }
}

fn tile(span: Span, lengths: impl Iterator<Item = usize>) -> Vec<Span> {
    let mut at = span.start;
    lengths
        .map(|length| {
            let piece = Span::new(at, at + length);
            at = piece.end;
            piece
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Span {
        Span::new(0, text.len())
    }

    fn texts<'a>(text: &'a str, spans: &[Span]) -> Vec<&'a str> {
        spans.iter().map(|span| &text[span.range()]).collect()
    }

    #[test]
    fn sentences_end_where_readers_think() {
        for (text, want) in [
            ("", &[][..]),
            ("One. Two! Three?", &["One. ", "Two! ", "Three?"]),
            ("He said \"Stop.\" Then left.", &["He said \"Stop.\" ", "Then left."]),
            ("See Fig. 3 and Dr. Smith et al. Then go.", &["See Fig. 3 and Dr. Smith et al. Then go."]),
            ("J. R. Smith wrote it. He did.", &["J. R. Smith wrote it. ", "He did."]),
            ("Version 3.5.1 is out. Use it.", &["Version 3.5.1 is out. ", "Use it."]),
            ("e.g. this one. and so on", &["e.g. this one. and so on"]),
            ("1. Open the valve. 2. Wait.", &["1. Open the valve. ", "2. Wait."]),
            ("今日は。明日は？はい", &["今日は。", "明日は？", "はい"]),
            ("first line\nsame sentence\n\nnew one", &["first line\nsame sentence\n\n", "new one"]),
            ("Wait... What?! No.", &["Wait... ", "What?! ", "No."]),
            ("यह है। वह है।", &["यह है। ", "वह है।"]),
        ] {
            assert_eq!(texts(text, &sentences(text, all(text))), want, "{text:?}");
        }
    }

    #[test]
    fn paragraphs_keep_their_blank_lines() {
        let text = "a\nb\n\n \nc\n\nd";
        assert_eq!(texts(text, &paragraphs(text, all(text))), ["a\nb\n\n \n", "c\n\n", "d"]);
        assert_eq!(texts("\n\na", &paragraphs("\n\na", all("\n\na"))), ["\n\n", "a"]);
    }

    #[test]
    fn cuts_prefer_lines_then_clauses_then_words() {
        let chars = |text: &str| text.chars().count();
        for (text, budget, want) in [
            ("aa bb cc dd", 6, &["aa bb ", "cc dd"][..]),
            ("aa bb\ncc dd", 10, &["aa bb\n", "cc dd"]),
            ("aa, bb cc dd", 8, &["aa, ", "bb cc dd"]),
            ("aa bb, cc dd", 10, &["aa bb, ", "cc dd"]),
            ("aaaaaaaaaa", 4, &["aaaa", "aaaa", "aa"]),
            ("xx aaaaaaaaaa yy", 4, &["xx ", "aaaa", "aaaa", "aa ", "yy"]),
            ("ああ、いいううえ", 4, &["ああ、", "いいうう", "え"]),
        ] {
            assert_eq!(texts(text, &cut(text, all(text), budget, &chars)), want, "{text:?}");
        }
    }

    #[test]
    fn a_cut_keeps_clusters_together_unless_they_are_endless() {
        let bytes = |text: &str| text.len();
        let family = "👨‍👩‍👧";
        let text = format!("{family}{family}{family}");
        assert_eq!(texts(&text, &cut(&text, all(&text), family.len() + 5, &bytes)), [family; 3]);
        let zalgo = format!("a{}", "\u{301}".repeat(500));
        let pieces = cut(&zalgo, all(&zalgo), 40, &bytes);
        assert!(pieces.iter().all(|piece| piece.len() <= 40) && pieces.len() > 20);
    }
}
