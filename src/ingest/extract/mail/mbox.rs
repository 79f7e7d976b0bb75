//! A mailbox in one file: where each message begins.

use std::{borrow::Cow, ops::Range};

use super::header;

/// The messages of a mailbox, without the `From ` lines between them. If there is no such line, the whole is one message.
/// One pass; a message's length field is believed where another message, or the end, follows it.
pub fn messages(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut messages = Vec::new();
    let mut open: Option<usize> = None;
    let mut at = 0;
    let mut after_blank = true;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let line = &bytes[at..end];
        if line.starts_with(b"From ") && is_envelope(line, &bytes[end..], after_blank) {
            messages.extend(open.map(|start| start..at));
            open = Some(end);
            at = skip_by_length(bytes, end).unwrap_or(end);
            after_blank = false;
            continue;
        }
        after_blank = line.trim_ascii().is_empty();
        at = end;
    }
    match open {
        Some(start) => messages.push(start..bytes.len()),
        None => messages.push(0..bytes.len()),
    }
    messages
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| at + length + 1)
}

/// A line that begins a message: `From ann@example.com Mon Jun  1 10:00:00 2026`; or anything after a blank line, if a
/// header follows.
fn is_envelope(line: &[u8], rest: &[u8], after_blank: bool) -> bool {
    let has_time = line.windows(5).any(|w| w[2] == b':' && [w[0], w[1], w[3], w[4]].iter().all(u8::is_ascii_digit));
    let has_year = line.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() == 4);
    let before_header = || {
        let next = &rest[..rest.len().min(1000)];
        let next = next.split(|&byte| byte == b'\n').next().unwrap_or_default();
        is_mail_field(next) || next.starts_with(b">From ")
    };
    if after_blank { (has_time && has_year) || before_header() } else { has_time && has_year && before_header() }
}

/// A field that a message may begin with; `Note: …` is none.
fn is_mail_field(line: &[u8]) -> bool {
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default().to_ascii_lowercase();
    let is_known =
        matches!(name.as_slice(), b"from" | b"to" | b"cc" | b"date" | b"subject" | b"received" | b"status" | b"sender");
    header::is_field(line) && (is_known || name.contains(&b'-'))
}

/// The end of a message by its `Content-Length`, if that is the end of one.
fn skip_by_length(bytes: &[u8], start: usize) -> Option<usize> {
    let (fields, body) = header::end(&bytes[start..]);
    let length = bytes[start..start + fields].split(|&byte| byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(b"content-length:".len())?;
        let value = name.eq_ignore_ascii_case(b"content-length:").then_some(value)?;
        std::str::from_utf8(value).ok()?.trim().parse::<usize>().ok()
    })?;
    let end = (start + body).checked_add(length).filter(|&end| end <= bytes.len())?;
    let rest = &bytes[end..];
    let follows = rest.trim_ascii_start();
    (follows.is_empty() || (follows.starts_with(b"From ") && rest.len() - follows.len() <= 4)).then_some(end)
}

/// A message without the marks that kept its lines from looking like the start of another.
pub fn unescaped(message: &[u8]) -> Cow<'_, [u8]> {
    let is_escaped = |line: &[u8]| {
        let bare = line.iter().position(|&byte| byte != b'>').unwrap_or(line.len());
        bare > 0 && line[bare..].starts_with(b"From ")
    };
    let lines = || message.split_inclusive(|&byte| byte == b'\n');
    if !lines().any(is_escaped) {
        return Cow::Borrowed(message);
    }
    Cow::Owned(lines().flat_map(|line| &line[usize::from(is_escaped(line))..]).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_at_from_lines() {
        let by_length = "From a Mon Jun 01 10:00:00 2026\nContent-Length: 41\n\nx\n\nFrom b Mon Jun 01 10:00:00 2026\nA: b\n\n\nFrom c Mon Jun 01 10:00:00 2026\nB: c\n\ny\n";
        for (bytes, want) in [
            ("From a Mon Jun 01 10:00:00 2026\nA: b\n\nx\n\nFrom here on\n\nFrom c 10:00 2026\n\ny", 2),
            ("From a Mon Jun 01 10:00:00 2026\nA: b\nFrom b Mon Jun 01 10:00:00 2026\nTo: b\n\n", 2),
            ("\nFrom -\nTo: b\n\nx\n\nFrom -\r\nX-C: d\r\n\r\n", 2),
            ("A: b\n\nno from line", 1),
            ("From a Mon Jun 01 10:00:00 2026\nA: b\n\nx\n\nFrom here on\nNote: no message\n", 1),
            (by_length, 2),
            (&by_length.replace("41", "40000"), 3),
            (&by_length.replace("41", "18446744073709551615"), 3),
        ] {
            assert_eq!(messages(bytes.as_bytes()).len(), want, "{bytes}");
        }
    }

    #[test]
    fn escapes_are_undone() {
        for (escaped, want) in
            [("a\n>From b\n>>From c\n> From d\n>Fro", "a\nFrom b\n>From c\n> From d\n>Fro"), ("a", "a")]
        {
            assert_eq!(String::from_utf8_lossy(&unescaped(escaped.as_bytes())), want);
        }
    }
}
