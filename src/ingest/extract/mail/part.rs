//! The parts of a message: where each begins and ends, and what its header says.
//!
//! Each level of nesting is one pass over its bytes, and levels are bounded by who asks, so time is linear whatever
//! boundaries a message invents.

use std::ops::Range;

use mail_parser::MessageParser;

use super::header::{self, Header};

/// Most parts looked at in one multipart; what comes after belongs to the last.
const MAX_PARTS: usize = 10_000;

/// A message, or a part of one. Ranges are of the bytes it was split from.
#[derive(Debug)]
pub struct Part {
    pub header: Header,
    pub body: Range<usize>,
}

impl Part {
    pub fn split(parser: &MessageParser, bytes: &[u8], range: Range<usize>) -> Self {
        let own = bytes.get(range.clone()).unwrap_or_default();
        let (end, body) = header::end(own);
        Self { header: Header::parse(parser, &own[..end]), body: range.start + body..range.end }
    }

    /// The parts of a multipart; `None` if its boundary is not to be found. The flag: its end is missing.
    pub fn children(&self, parser: &MessageParser, bytes: &[u8]) -> Option<(Vec<Self>, bool)> {
        let said = self.header.boundary.as_deref().map(str::as_bytes);
        let boundary = said.or_else(|| first_boundary(bytes.get(self.body.clone())?))?;
        let (ranges, is_closed) = between(bytes, self.body.clone(), boundary);
        let mut parts: Vec<Self> = ranges.into_iter().map(|range| Self::split(parser, bytes, range)).collect();
        if self.header.kind == "multipart/digest" {
            for part in &mut parts {
                let says_nothing = part.header.boundary.is_none() && part.header.kind == "text/plain";
                if says_nothing {
                    part.header.kind = "message/rfc822".into();
                }
            }
        }
        (!parts.is_empty()).then_some((parts, !is_closed))
    }
}

/// The boundary of a multipart that does not name it: what its first line of two dashes says, if another says it again.
fn first_boundary(body: &[u8]) -> Option<&[u8]> {
    let marks = || {
        let lines = body.split(|&byte| byte == b'\n').filter_map(|line| line.trim_ascii_end().strip_prefix(b"--"));
        lines.map(|mark| mark.strip_suffix(b"--").unwrap_or(mark))
    };
    let first = marks().next().filter(|boundary| (2..=70).contains(&boundary.len()))?;
    (marks().filter(|&mark| mark == first).count() > 1).then_some(first)
}

/// What stands between the lines of a boundary, without the line ends before them; and whether the last line was found.
fn between(bytes: &[u8], range: Range<usize>, boundary: &[u8]) -> (Vec<Range<usize>>, bool) {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut at = range.start;
    let mut open: Option<usize> = None;
    let without_line_end = |start: usize, end: usize| {
        let text = &bytes[start..end];
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        start..start + text.strip_suffix(b"\r").unwrap_or(text).len()
    };
    for line in bytes[range.clone()].split_inclusive(|&byte| byte == b'\n') {
        let start = at;
        at += line.len();
        let Some(rest) = line.strip_prefix(b"--").and_then(|rest| rest.strip_prefix(boundary)) else { continue };
        let rest = rest.trim_ascii_end();
        let is_last = rest == b"--";
        if !(is_last || rest.is_empty()) || parts.len() >= MAX_PARTS {
            continue;
        }
        if let Some(begin) = open.take() {
            parts.push(without_line_end(begin, start));
        }
        if is_last {
            return (parts, true);
        }
        open = Some(at);
    }
    parts.extend(open.map(|begin| begin..range.end));
    (parts, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_between_boundaries() {
        for (body, want, closed) in [
            ("before\n--b\none\n--b\ntwo\r\n--b--\nafter", &["one", "two"][..], true),
            ("--b\none\n--bb\n--b \n\n", &["one\n--bb", "\n"], false),
            ("--b\n--b--", &[""], true),
            ("nothing", &[], false),
        ] {
            let (parts, is_closed) = between(body.as_bytes(), 0..body.len(), b"b");
            let parts: Vec<_> = parts.into_iter().map(|range| &body[range]).collect();
            assert_eq!((parts.as_slice(), is_closed), (want, closed), "{body:?}");
        }
    }
}
