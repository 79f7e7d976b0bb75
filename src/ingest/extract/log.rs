//! Logs: a record begins where a line begins with a time; what follows without one (a stack trace) belongs to it.

use super::{Extract, Input, blocks::Blocks, text::paragraphs};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
    types::Span,
};

/// How far into a line its time may begin: after a level, an address, a host.
const MAX_TIME_AT: usize = 80;

/// Lines that show whether a text is a log.
const SAMPLED_LINES: usize = 100;

/// Longest record; a longer one is cut at a line, so that a text with one time on top is not one record.
const MAX_RECORD_BYTES: usize = 16 << 10;

pub struct Log;

impl Extract for Log {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let text = &document.text;
        document.blocks = if is_log(text) { records(text) } else { paragraphs(text) };
        Ok(document)
    }
}

fn records(text: &str) -> Vec<crate::ingest::document::Block> {
    let mut blocks = Blocks::default();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if begins_record(line) || at - start > MAX_RECORD_BYTES {
            blocks.push(text, BlockKind::Record, Span::new(start, at), &[]);
            start = at;
        }
        at += line.len();
    }
    blocks.push(text, BlockKind::Record, Span::new(start, at), &[]);
    blocks.into_list()
}

/// Whether most of the first lines that are not indented begin with a time.
pub fn is_log(text: &str) -> bool {
    let lines = || text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with([' ', '\t']));
    let seen = lines().take(SAMPLED_LINES).count();
    let timed = lines().take(SAMPLED_LINES).filter(|line| begins_record(line)).count();
    timed >= 3 && timed * 2 > seen
}

/// A line that is not indented and has a time of day or a date near its start.
fn begins_record(line: &str) -> bool {
    let head = &line.as_bytes()[..line.len().min(MAX_TIME_AT)];
    if head.first().is_none_or(|byte| byte.is_ascii_whitespace()) {
        return false;
    }
    let is_time = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| head.get(before));
        !before.is_some_and(u8::is_ascii_digit)
            && (is_like(&head[at..], b"00:00:00")
                || is_like(&head[at..], b"0000-00-00")
                || is_like(&head[at..], b"0000/00/00"))
    };
    // What stands before the time is short words, not a sentence.
    (0..head.len()).take_while(|&at| at == 0 || head[at - 1] != b' ' || words_before(&head[..at]) <= 6).any(is_time)
        || (is_like(head, b"0000000000")
            && head.get(10).is_some_and(|byte| matches!(byte, b'.' | b' ' | b':' | b',' | b'\t')))
}

fn words_before(head: &[u8]) -> usize {
    head.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).count()
}

/// A `0` of the pattern stands for any digit.
fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    text.len() >= pattern.len()
        && pattern.iter().zip(text).all(|(want, byte)| if *want == b'0' { byte.is_ascii_digit() } else { want == byte })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::extract::{Limits, extract};

    fn check(name: &str, text: &str, want: &[&str]) {
        let document = extract(name, text.into(), &Limits::default()).expect("it is text");
        let records: Vec<&str> = document
            .blocks
            .iter()
            .map(|block| {
                assert_eq!(block.kind, BlockKind::Record, "{name}");
                &document.text[block.span.range()]
            })
            .collect();
        assert_eq!(records, want, "{text}");
        assert!(document.text_is_source && document.format == "log");
    }

    #[test]
    fn a_record_begins_with_a_time_and_keeps_its_trace() {
        check(
            "a.log",
            "2026-01-02 03:04:05 ERROR pump: failed\njava.lang.Error: x\n\tat a.b(C.java:1)\n2026-01-02 03:04:06 INFO ok\n2026-01-02 03:04:07 INFO ok\n",
            &[
                "2026-01-02 03:04:05 ERROR pump: failed\njava.lang.Error: x\n\tat a.b(C.java:1)",
                "2026-01-02 03:04:06 INFO ok",
                "2026-01-02 03:04:07 INFO ok",
            ],
        );
        for line in [
            "Jan  2 03:04:05 host sshd[1]: accepted",
            "[2026-01-02T03:04:05Z] INFO started",
            "INFO 2026/01/02 03:04:05 started",
            "10.0.0.1 - - [02/Jan/2026:03:04:05 +0000] \"GET / HTTP/1.1\" 200 2",
            "I0102 03:04:05.123456 1 main.go:1] started",
            "1700000000.123 [main] started",
            "03:04:05.123 [main] DEBUG started",
        ] {
            check("service", &format!("{line}\n").repeat(3), &[line; 3]);
        }
    }

    #[test]
    fn a_text_with_times_in_it_is_no_log() {
        let notes = "Minutes of the meeting\n\nWe met on 2026-01-02 and left at noon.\n\nThe pump was started, as was said, at 03:04:05 by Ann.\n";
        let document = extract("notes.txt", notes.into(), &Limits::default()).expect("it is text");
        assert_eq!((document.format.as_str(), document.blocks.len()), ("text", 3));
        let built = extract("build.log", b"compiling\n\nlinking\n".to_vec(), &Limits::default()).expect("it is text");
        assert_eq!((built.format.as_str(), built.blocks.len()), ("log", 2));
    }
}
