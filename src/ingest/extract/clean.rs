//! Takes out of a text what no reader sees: characters that hide text, reorder it, or break what stands around it.
//!
//! Removed: NUL, soft hyphens, byte order marks, bidi controls, Unicode tags, interlinear marks, zero-width characters
//! (joiners stay where a script or an emoji needs one), and every variation selector but the first. Line ends become
//! `\n`. Not for changing letters: no normalisation happens here.

use super::{problem, reason};
use crate::index::Problem;

/// How many characters were taken out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    pub total: u64,
    /// Those of them that have hardly any use but to hide or disguise: tags outside flags, bidi overrides.
    pub suspicious: u64,
}

impl Removed {
    /// Says that something was hidden, if so. Ordinary marks are only counted.
    pub fn warning(self) -> Option<Problem> {
        (self.suspicious > 0).then(|| {
            problem(
                reason::HIDDEN_CHARACTERS,
                format!("{} characters that hide or reorder text were taken out", self.suspicious),
            )
        })
    }
}

/// Cleans a whole text. Lines keep their numbers. A clean text is returned as it came, after one pass over its bytes.
pub fn clean(text: String, removed: &mut Removed) -> String {
    if !text.bytes().any(may_begin_removable) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    clean_into(&text, &mut out, removed);
    out
}

/// Appends the cleaned form of `text` to `out`.
pub fn clean_into(text: &str, out: &mut String, removed: &mut Removed) {
    if !text.bytes().any(may_begin_removable) {
        out.push_str(text);
        return;
    }
    let mut before: Option<char> = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let keep = match letter {
            '\r' => {
                if letters.peek() != Some(&'\n') {
                    out.push('\n');
                    before = Some('\n');
                }
                continue;
            }
            '\u{200c}' | '\u{200d}' => {
                before.is_some_and(takes_joiner) && letters.peek().is_some_and(|&c| takes_joiner(c))
            }
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
                before.is_some_and(|c| !c.is_whitespace() && !is_selector(c))
            }
            _ => !is_removable(letter),
        };
        if keep {
            out.push(letter);
            before = Some(letter);
        } else {
            removed.total += 1;
            let in_flag = before == Some('\u{1f3f4}');
            let suspicious = match letter {
                '\u{e0000}'..='\u{e007f}' => !in_flag,
                '\u{202d}' | '\u{202e}' => true,
                _ => false,
            };
            removed.suspicious += u64::from(suspicious);
        }
    }
}

/// Makes one line of a title: cleaned, white space collapsed, at most [`MAX_TITLE_BYTES`]. `None` if nothing is left.
pub fn title(text: &str) -> Option<String> {
    let mut cleaned = String::new();
    clean_into(text, &mut cleaned, &mut Removed::default());
    let mut out = String::new();
    for word in cleaned.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > MAX_TITLE_BYTES {
            out.truncate(out.floor_char_boundary(MAX_TITLE_BYTES - '…'.len_utf8()));
            out.push('…');
            break;
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The longest title or heading kept, in bytes.
pub const MAX_TITLE_BYTES: usize = 240;

fn may_begin_removable(byte: u8) -> bool {
    matches!(byte, 0 | b'\r' | 0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xef | 0xf3)
}

fn is_removable(letter: char) -> bool {
    matches!(letter,
        '\0' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn is_selector(letter: char) -> bool {
    matches!(letter, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Scripts that write with joiners (Arabic to Sinhala, Khmer, Mongolian and their kin) and the signs emoji are made of.
fn takes_joiner(letter: char) -> bool {
    matches!(letter,
        '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{2190}'..='\u{2bff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe0f}' | '\u{fe70}'..='\u{fefc}'
        | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_goes_and_what_is_written_stays() {
        let cases = [
            ("plain", "plain", 0, 0),
            ("a\r\nb\rc\n\r", "a\nb\nc\n\n", 0, 0),
            ("nul\0 and soft\u{ad}hyphen", "nul and softhyphen", 2, 0),
            ("zero\u{200b}width\u{200d}\u{200c}\u{2060}\u{feff}", "zerowidth", 5, 0),
            ("admin\u{202e}txt.exe\u{202c}", "admintxt.exe", 2, 1),
            ("hi\u{e0049}\u{e0047}\u{e004e}", "hi", 3, 3),
            ("می\u{200c}خواهم", "می\u{200c}خواهم", 0, 0),
            ("क\u{94d}\u{200d}ष", "क\u{94d}\u{200d}ष", 0, 0),
            ("👩\u{200d}👧", "👩\u{200d}👧", 0, 0),
            ("❤\u{fe0f}\u{fe0f}\u{fe01}x", "❤\u{fe0f}x", 2, 0),
            ("naïve £5 – “quoted” 中文", "naïve £5 – “quoted” 中文", 0, 0),
        ];
        for (text, want, total, suspicious) in cases {
            let mut removed = Removed::default();
            assert_eq!(clean(text.into(), &mut removed), want);
            assert_eq!(removed, Removed { total, suspicious }, "{text:?}");
            assert_eq!(clean(want.into(), &mut Removed::default()), want, "cleaning twice changes nothing");
        }
    }

    #[test]
    fn titles_are_one_short_line() {
        assert_eq!(title("  a\n b\u{200b}\tc "), Some("a b c".into()));
        assert_eq!(title(" \u{feff}\n"), None);
        let long = title(&"ü".repeat(1000)).expect("not empty");
        assert!(long.len() <= MAX_TITLE_BYTES && long.ends_with('…'), "{}", long.len());
    }
}
