//! How is a text of a stranger shown in an error message?

/// The most characters of a foreign text in an error message.
pub const MAX_SHOWN: usize = 500;

/// One line of at most [`MAX_SHOWN`] characters: white space runs become one space, characters that control a terminal,
/// turn the direction of text or cannot be seen become `\u{…}`.
pub fn presentable(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_SHOWN));
    let mut letters = 0;
    for letter in text.trim().chars() {
        if letters >= MAX_SHOWN {
            out.push('…');
            break;
        }
        if letter.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
                letters += 1;
            }
        } else if is_unseen(letter) {
            let escaped = letter.escape_unicode();
            letters += escaped.len();
            out.extend(escaped);
        } else {
            out.push(letter);
            letters += 1;
        }
    }
    out
}

/// Controls, bidirectional and zero-width formatting, tags, private use.
fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_one_safe_line() {
        for (text, want) in [
            ("", ""),
            (" a\r\n\t b ", "a b"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
            ("größe 高", "größe 高"),
        ] {
            assert_eq!(presentable(text), want);
        }
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(presentable(&"é".repeat(MAX_SHOWN)).chars().count(), MAX_SHOWN);
        let cut = presentable(&"é".repeat(MAX_SHOWN + 1));
        assert_eq!(cut.chars().count(), MAX_SHOWN + 1);
        assert!(cut.ends_with('…'));
        assert!(presentable(&"\u{1b}".repeat(9_999)).chars().count() < MAX_SHOWN + 8);
    }
}
