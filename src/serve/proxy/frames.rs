//! Events of a stream with the bytes they came in, so that one can be taken out and the others stay as they are.

use crate::model::sse::{Event, SseParser};

/// An event of a stream, or a comment, with its blank line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'a> {
    pub bytes: &'a [u8],
    /// What its `data` lines say; empty for a comment.
    pub data: String,
}

/// Cuts a whole stream into its events. Their bytes one after another are the stream.
pub fn frames(stream: &[u8]) -> Vec<Frame<'_>> {
    let mut all = Vec::new();
    let (mut from, mut line) = (0, 0);
    while line < stream.len() {
        let end = line_end(stream, line);
        // A line of nothing but its end closes the event.
        if stream[line..end].iter().all(|byte| matches!(byte, b'\n' | b'\r')) {
            all.push(frame(&stream[from..end]));
            from = end;
        }
        line = end;
    }
    if from < stream.len() {
        all.push(frame(&stream[from..]));
    }
    all
}

/// Behind the line that begins here, its end included.
fn line_end(stream: &[u8], line: usize) -> usize {
    match stream[line..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        Some(at) if stream[line + at..].starts_with(b"\r\n") => line + at + 2,
        Some(at) => line + at + 1,
        None => stream.len(),
    }
}

fn frame(bytes: &[u8]) -> Frame<'_> {
    let mut events: Vec<Event> = Vec::new();
    let mut parser = SseParser::default();
    // An event too long has no data that could be judged, so it is not kept.
    if parser.push(bytes, &mut events).is_ok() {
        events.extend(parser.finish());
    }
    Frame { bytes, data: events.into_iter().map(|event| event.data).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_the_stream() {
        for (stream, want) in [
            ("", &[][..]),
            ("data: a\n\n", &["a"]),
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            (": hello\n\ndata: a\r\n\r\ndata: b", &["", "a", "b"]),
            ("event: x\ndata: a\ndata: b\n\n\ndata: c\r\r", &["a\nb", "", "c"]),
            ("data: [DONE]\n", &["[DONE]"]),
        ] {
            let frames = frames(stream.as_bytes());
            assert_eq!(frames.iter().map(|frame| frame.data.as_str()).collect::<Vec<_>>(), want, "{stream:?}");
            assert_eq!(frames.iter().flat_map(|frame| frame.bytes).copied().collect::<Vec<u8>>(), stream.as_bytes());
        }
    }
}
