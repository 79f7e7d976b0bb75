//! Where a text divides into sentences, and what kind of line each one is.
//!
//! Useful for: answers and passages: prose, lists, tables, fenced code, in any script with a full stop. Not for: finding
//! blocks of a document, which extraction has done, and scripts that end a sentence with a space (Thai).

use std::ops::Range;

use super::words::WordList;

/// What a unit of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Prose,
    /// One item of a list; the range begins after its bullet.
    Item,
    Heading,
    /// One row of a table drawn with `|`; rules between rows are left out.
    Row,
    /// A fenced block, fences included.
    Code,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Bytes of the text, without white space at either end.
    pub range: Range<usize>,
    pub kind: Kind,
    /// The text after it begins on a new line or paragraph.
    pub ends_line: bool,
}

/// Divides a text. Ranges ascend, do not overlap and hold every character that is not white space, a bullet, a heading's
/// `#` or a table's rule. O(bytes).
pub(super) fn units(text: &str) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut lines = lines_of(text).peekable();
    while let Some(line) = lines.next() {
        let body = &text[line.clone()];
        let inner = trimmed(text, line.clone());
        if inner.is_empty() {
            continue;
        }
        if let Some(fence) = fence_of(body) {
            let mut end = inner.end;
            for next in lines.by_ref() {
                end = trimmed(text, next.clone()).end.max(end);
                if text[next].trim().starts_with(fence) {
                    break;
                }
            }
            units.push(Unit { range: inner.start..end, kind: Kind::Code, ends_line: true });
            continue;
        }
        if let Some(kind) = lone_kind(&text[inner.clone()]) {
            let start = inner.start + prefix_len(&text[inner.clone()], kind);
            let range = trimmed(text, start..inner.end);
            let rule = kind == Kind::Row && is_rule(&text[range.clone()]);
            if !range.is_empty() && !rule {
                units.push(Unit { range, kind, ends_line: true });
            }
            continue;
        }
        let bullet = bullet_len(&text[inner.clone()]);
        let kind = if bullet > 0 { Kind::Item } else { Kind::Prose };
        let mut end = inner.end;
        // Lines that are only wrapped belong together.
        while let Some(next) = lines.peek() {
            let more = trimmed(text, next.clone());
            let body = &text[more.clone()];
            if more.is_empty()
                || fence_of(&text[next.clone()]).is_some()
                || lone_kind(body).is_some()
                || bullet_len(body) > 0
                || bullet > 0 && end == inner.end && names_what_follows(&text[inner.clone()], body)
            {
                break;
            }
            end = more.end;
            lines.next();
        }
        prose(text, trimmed(text, inner.start + bullet..end), kind, &mut units);
    }
    units
}

/// A short numbered line without a full stop above a long one that begins anew: `1. Orders`, a heading of plain text.
fn names_what_follows(line: &str, next: &str) -> bool {
    let digits = line.starts_with(|c: char| c.is_ascii_digit());
    let open = !line.ends_with(['.', ',', ';', ':', '!', '?', '-', '–', '—']);
    let (own, follows) = (line.chars().count(), next.chars().count());
    digits && open && own <= MAX_NAME_CHARS && follows > MAX_NAME_CHARS && next.starts_with(char::is_uppercase)
}

/// Longer lines are text.
const MAX_NAME_CHARS: usize = 40;

/// The lines of a text as ranges without their ends.
fn lines_of(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    text.split_inclusive(['\n', '\u{2028}', '\u{2029}']).map(move |line| {
        let start = at;
        at += line.len();
        start..start + line.trim_end_matches(['\n', '\r', '\u{2028}', '\u{2029}']).len()
    })
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let body = &text[range.clone()];
    let start = range.start + (body.len() - body.trim_start().len());
    start..(start + body.trim().len())
}

fn fence_of(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence))
}

/// A line that is a unit by itself.
fn lone_kind(line: &str) -> Option<Kind> {
    let hashes = line.bytes().take_while(|&b| b == b'#').count();
    if (1..=6).contains(&hashes) && line[hashes..].starts_with([' ', '\t']) {
        return Some(Kind::Heading);
    }
    (line.starts_with('|') && line[1..].contains('|')).then_some(Kind::Row)
}

fn prefix_len(line: &str, kind: Kind) -> usize {
    if kind == Kind::Heading { line.bytes().take_while(|&b| b == b'#').count() } else { 0 }
}

fn is_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '+' | '='))
}

/// Length of a list bullet or number with the space after it; 0 if the line is no item.
pub(super) fn bullet_len(line: &str) -> usize {
    let marks = ["- ", "* ", "+ ", "• ", "– ", "— ", "▪ ", "‣ ", "◦ ", "· "];
    if let Some(mark) = marks.iter().find(|mark| line.starts_with(**mark)) {
        return mark.len();
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let number = if digits > 0 { digits } else { usize::from(line.starts_with(|c: char| c.is_ascii_alphabetic())) };
    // A letter makes an item only before a bracket: `a) …`, and never `I. Newton`.
    let closers: &[char] = if digits > 0 { &['.', ')'] } else { &[')'] };
    let rest = &line[number..];
    if (1..=3).contains(&number) && rest.starts_with(closers) && rest[1..].starts_with([' ', '\t']) {
        return number + 2;
    }
    0
}

/// Ends a sentence wherever it stands.
fn always_ends(letter: char) -> bool {
    matches!(letter, '。' | '！' | '？' | '｡' | '．' | '।' | '॥' | '؟' | '۔' | '։' | '።' | '။' | '៕')
}

/// Ends a sentence if white space, a marker or the end follows.
fn may_end(letter: char) -> bool {
    matches!(letter, '.' | '!' | '?' | '…' | '‼' | '⁇' | '⁈' | '⁉')
}

fn closes(letter: char) -> bool {
    matches!(letter, ')' | ']' | '"' | '\'' | '”' | '’' | '»' | '›' | '」' | '』' | '）' | '】' | '*' | '_' | '`')
}

/// Divides one paragraph or item.
fn prose(text: &str, range: Range<usize>, kind: Kind, units: &mut Vec<Unit>) {
    let mut start = range.start;
    let mut code = false;
    let mut chars = text[range.clone()].char_indices().map(|(at, c)| (range.start + at, c)).peekable();
    while let Some((at, letter)) = chars.next() {
        code ^= letter == '`';
        if code || !(always_ends(letter) || may_end(letter)) {
            continue;
        }
        let mut end = at + letter.len_utf8();
        while let Some(&(next, c)) = chars.peek() {
            let again = always_ends(c) || may_end(c);
            // A quotation mark that opens is no closer: it stands after a space, which ends this loop.
            if !again && !closes(c) {
                break;
            }
            end = next + c.len_utf8();
            chars.next();
        }
        let hard = text[at..end].chars().any(always_ends);
        end = after_markers(text, end, range.end);
        while chars.peek().is_some_and(|&(next, _)| next < end) {
            chars.next();
        }
        let rest = &text[end..range.end];
        if rest.trim().is_empty() {
            break;
        }
        let real = hard || (rest.starts_with(char::is_whitespace) && !goes_on(text, start, at, letter, rest));
        let marked = text[..end].ends_with([']', '】']) && rest.starts_with(char::is_alphanumeric);
        if real || marked {
            push(text, start..end, kind, false, units);
            start = end;
        }
    }
    push(text, start..range.end, kind, true, units);
}

fn push(text: &str, range: Range<usize>, kind: Kind, ends_line: bool, units: &mut Vec<Unit>) {
    let range = trimmed(text, range);
    if !range.is_empty() {
        units.push(Unit { range, kind, ends_line });
    } else if let (true, Some(last)) = (ends_line, units.last_mut()) {
        last.ends_line = true;
    }
}

/// Where the markers that follow a full stop end: they belong to the sentence before.
fn after_markers(text: &str, from: usize, to: usize) -> usize {
    let mut end = from;
    loop {
        let rest = &text[end..to];
        let inner = rest.trim_start_matches([' ', '\t', '\u{A0}']);
        let marker = [('[', ']'), ('【', '】')].into_iter().find_map(|(open, close)| {
            let body = inner.strip_prefix(open)?;
            let length = body.find(close).filter(|&length| length <= MAX_MARKER_BYTES)?;
            let listed = body[..length].chars().all(|c| c.is_ascii_digit() || ", -–^†".contains(c));
            (listed && body[..length].contains(|c: char| c.is_ascii_digit()))
                .then_some(open.len_utf8() + length + close.len_utf8())
        });
        let Some(length) = marker else { return end };
        end = to - inner.len() + length;
        // `… [1].` keeps its second full stop.
        if text[end..to].starts_with('.') && !text[end..to].starts_with("..") {
            end += 1;
        }
    }
}

const MAX_MARKER_BYTES: usize = 24;

/// Words that a full stop follows without ending the sentence, in lower case without the stop.
static ABBREVIATIONS: WordList = WordList::new(
    "mr mrs ms dr prof sr jr st vs etc e.g i.e cf al fig figs eq no nos vol pp p ed eds approx dept est ext \
    inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun a.m p.m u.s u.k \
    z.b bzw ca d.h u.a usw vgl abs art bd nr str tel evtl ggf inkl zzgl std min max sog u.u z.t dipl ing hr fr \
    sra srta ud uds pág núm av m mme mlle bsp tab kap sec ch gen col lt sgt capt rev hon",
);

/// The full stop at `at` does not end the sentence that begins at `start`.
fn goes_on(text: &str, start: usize, at: usize, letter: char, rest: &str) -> bool {
    let next = rest.trim_start();
    let next = next.trim_start_matches(['"', '\'', '“', '‘', '«', '(', '*', '_', '`', '¿', '¡']);
    let first = next.chars().next();
    if letter == '…' || text[start..at].ends_with("..") {
        return first.is_some_and(char::is_lowercase);
    }
    if letter != '.' {
        return false;
    }
    let before = &text[start..at];
    let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
    let word = word.trim_start_matches(['(', '[', '"', '“', '„', '\'', '*', '_']);
    let lower = word.to_lowercase();
    if first.is_some_and(char::is_lowercase) {
        return true;
    }
    // An initial: `J. Smith`, `U.S. Army`; but `plan B. The …` ends.
    let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    if initial {
        let alone = before.trim_end_matches(word).trim_end().ends_with(|c: char| c.is_lowercase());
        return !(alone && next.split_whitespace().next().is_some_and(|w| STARTERS.contains(&w)));
    }
    // Number words that only abbreviate before a number: `No. 5`, `p. 7`, and German ordinals: `12. März`.
    let numbered =
        ["no", "nos", "nr", "p", "pp", "fig", "figs", "art", "abs", "vol", "ch", "sec", "eq", "min", "max", "st"];
    if numbered.contains(&lower.as_str()) {
        return first.is_some_and(|c| c.is_ascii_digit()) || lower == "st";
    }
    if word.bytes().all(|b| b.is_ascii_digit()) && word.len() <= 2 && !word.is_empty() {
        return next.split_whitespace().next().is_some_and(super::verify::is_month);
    }
    ABBREVIATIONS.has(&lower)
        && !(["etc", "usw", "a.m", "p.m", "inc", "ltd", "co", "corp", "sun", "sat"].contains(&lower.as_str())
            && next.split_whitespace().next().is_some_and(|w| STARTERS.contains(&w)))
}

/// Words that begin a sentence more often than they follow an initial or an abbreviation.
const STARTERS: [&str; 24] = [
    "The", "This", "That", "These", "It", "If", "In", "We", "You", "They", "He", "She", "A", "An", "For", "When", "To",
    "Der", "Die", "Das", "Es", "El", "La", "Los",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[&str]) {
        let got: Vec<&str> = units(text).into_iter().map(|unit| &text[unit.range]).collect();
        assert_eq!(got, want, "{text:?}");
    }

    #[test]
    fn prose() {
        check("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]);
        check("It costs $3.50. That is 1.5 % more.", &["It costs $3.50.", "That is 1.5 % more."]);
        check(
            "Dr. J. Smith of Acme Inc. came at 9 a.m. on Monday.",
            &["Dr. J. Smith of Acme Inc. came at 9 a.m. on Monday."],
        );
        check("Use plan B. The rest waits.", &["Use plan B.", "The rest waits."]);
        check("See e.g. Fig. 3 for more. Done.", &["See e.g. Fig. 3 for more.", "Done."]);
        check("Is it? \"Yes.\" (He said so.) Good.", &["Is it?", "\"Yes.\"", "(He said so.)", "Good."]);
        check("Run `a. B` now. Then `x.y`.", &["Run `a. B` now.", "Then `x.y`."]);
        check("Wait... what? Well…  Now.", &["Wait... what?", "Well…", "Now."]);
        check("See No. 5. No. It is not.", &["See No. 5.", "No.", "It is not."]);
        check("wrapped\nlines are. One\nparagraph.\n\nnew", &["wrapped\nlines are.", "One\nparagraph.", "new"]);
        check("", &[]);
        check(" \n\t ", &[]);
        check("...", &["..."]);
    }

    #[test]
    fn other_languages() {
        check("第一句。第二句！「第三句？」第四", &["第一句。", "第二句！", "「第三句？」", "第四"]);
        check(
            "Am 12. März 2024 z. B. Herr Nr. 5. Danach nicht.",
            &["Am 12. März 2024 z. B. Herr Nr. 5.", "Danach nicht."],
        );
        check("¿Qué? ¡Sí! No hay.", &["¿Qué?", "¡Sí!", "No hay."]);
        check("यह एक है। वह दो है।", &["यह एक है।", "वह दो है।"]);
    }

    #[test]
    fn markers_belong_to_the_sentence_before() {
        check("One. [1] Two.[2] Three [3]. Four.", &["One. [1]", "Two.[2]", "Three [3].", "Four."]);
        check("One.[1][2] Two。【3】三。", &["One.[1][2]", "Two。【3】", "三。"]);
        check("One.[^1] Two. [1, 2] Three.", &["One.[^1]", "Two. [1, 2]", "Three."]);
    }

    #[test]
    fn blocks() {
        check(
            "# Title. Yes\nText. More\n- A one. A two\n- b\n2) c\n",
            &["Title. Yes", "Text.", "More", "A one.", "A two", "b", "c"],
        );
        check("| a | b |\n|---|---|\n| 1. | 2 |", &["| a | b |", "| 1. | 2 |"]);
        check("Do:\n```sh\nrag ask. No\n\n# x\n```\nEnd.", &["Do:", "```sh\nrag ask. No\n\n# x\n```", "End."]);
        check("```\nopen", &["```\nopen"]);
        let kinds: Vec<Kind> = units("# h\np\n- i\n| r | s |\n```\nc").into_iter().map(|unit| unit.kind).collect();
        assert_eq!(kinds, [Kind::Heading, Kind::Prose, Kind::Item, Kind::Row, Kind::Code]);
    }

    proptest::proptest! {
        #[test]
        fn units_are_in_order_and_lose_nothing(text in "[a-zA-Z0-9 .!?\\n\\[\\]#|`。é\u{1F600}-]{0,80}") {
            let mut at = 0;
            for unit in units(&text) {
                assert!(unit.range.start >= at && unit.range.end > unit.range.start);
                let left_out = &text[at..unit.range.start];
                assert!(left_out.chars().all(|c| c.is_whitespace() || "-#|:=+.)".contains(c) || c.is_ascii_alphanumeric()), "{left_out:?}");
                assert_eq!(text[unit.range.clone()].trim(), &text[unit.range.clone()]);
                at = unit.range.end;
            }
        }
    }
}
