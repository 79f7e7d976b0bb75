//! Text of documents, file names and servers is untrusted: on its way to a person it loses the power to move the cursor,
//! set a title, fill the clipboard or reorder a line.

use std::borrow::Cow;

/// Escapes control characters (C0 but tab and line feed, DEL, C1) and bidirectional overrides as `\x1b`, `\u{202e}`.
pub fn text(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && c != '\t')
}

/// As [`text`], and the line stays one line.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, |_| true)
}

/// JSON that a terminal may show: what JSON leaves as it is and a terminal obeys stands as `\u009b`. The same value when read.
pub fn json(text: &str) -> Cow<'_, str> {
    let bad = |c: char| c != '\n' && (c.is_control() || is_override(c));
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) { out.push_str(&format!("\\u{:04x}", c as u32)) } else { out.push(c) }
    }
    Cow::Owned(out)
}

fn escape(text: &str, also: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| (c.is_control() && also(c)) || is_override(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !bad(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x80 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(out)
}

/// Embeddings, overrides and isolates: they reorder what follows. Marks and joiners, which scripts need, stay.
fn is_override(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_moves_nothing() {
        let value = serde_json::json!({"a\u{9b}": ["\u{9b}2J\u{7f}\u{202e}", "plain ü 🦀", "\n\u{1b}"]});
        let text = value.to_string();
        let shown = json(&text);
        assert!(!shown.contains(|c: char| c.is_control() || is_override(c)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert!(matches!(json("{\"a\":1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_reaches_the_terminal() {
        for (given, in_text, in_line) in [
            ("plain — ünïcode 🦀", "plain — ünïcode 🦀", "plain — ünïcode 🦀"),
            ("a\nb\tc", "a\nb\tc", "a\\nb\\tc"),
            ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07", "\\x1b]52;c;aGk=\\x07"),
            ("\u{9b}2J\r", "\\u{9b}2J\\r", "\\u{9b}2J\\r"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم", "می\u{200c}خواهم"),
        ] {
            assert_eq!(text(given), in_text);
            assert_eq!(line(given), in_line);
        }
    }
}
