//! Where does one event of a stream end? A parser of server-sent events over bytes as they come.
//! Source: WHATWG HTML, "Server-sent events", 9.2.5 and 9.2.6; but an event that the end of the stream cuts off before its
//! blank line is given, not dropped, because servers forget that line.
//!
//! Not good for: reconnecting (`id` and `retry` are ignored), or what the data means.

/// The most bytes one event may hold.
pub const MAX_EVENT_BYTES: usize = 8 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One event. Fields that the stream did not name are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub data: String,
}

/// An event is longer than [`MAX_EVENT_BYTES`] (or the limit that was given).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLong;

/// The state between two reads. Memory: one event.
#[derive(Debug)]
pub struct SseParser {
    /// Bytes of the line that is not ended yet.
    line: Vec<u8>,
    /// The last byte was CR, so an LF that follows belongs to it.
    after_cr: bool,
    /// No line has ended yet: it may begin with a byte order mark.
    at_start: bool,
    event: Event,
    has_data: bool,
    limit: usize,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    pub fn with_limit(limit: usize) -> Self {
        Self { line: Vec::new(), after_cr: false, at_start: true, event: Event::default(), has_data: false, limit }
    }

    /// Reads some bytes and appends the events they complete to `out`. Where the bytes are cut does not matter.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Event>) -> Result<(), EventTooLong> {
        if self.after_cr && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            self.after_cr = false;
        }
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
            let (line, rest) = bytes.split_at(end);
            self.append(line)?;
            let is_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if is_cr {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            self.end_line(out);
        }
        self.append(bytes)
    }

    /// The event that the end of the stream completes, if one was begun.
    pub fn finish(mut self) -> Option<Event> {
        let mut out = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        self.end_event(&mut out);
        out.pop()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        let held = self.line.len() + self.event.data.len() + self.event.name.len();
        if held.saturating_add(bytes.len()) > self.limit {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        let text = if std::mem::take(&mut self.at_start) { line.strip_prefix(BOM).unwrap_or(&line) } else { &line };
        if text.is_empty() {
            self.end_event(out);
        } else {
            self.field(text);
        }
        // Keep the room for the next line.
        self.line = line;
        self.line.clear();
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = match colon {
            Some(at) => (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default()),
            None => (line, &b""[..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
            }
            b"event" => self.event.name = value.into_owned(),
            // Comments have an empty name; `id` and `retry` serve reconnecting.
            _ => {}
        }
    }

    fn end_event(&mut self, out: &mut Vec<Event>) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            out.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    /// Events of a stream that arrives in the given parts.
    fn parse<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let mut parser = SseParser::default();
        let mut out = Vec::new();
        for part in parts {
            parser.push(part, &mut out).unwrap();
        }
        out.extend(parser.finish());
        out
    }

    #[test]
    fn the_grammar() {
        for (stream, want) in [
            ("", vec![]),
            ("data: a\n\n", vec![event("", "a")]),
            ("data:a\n\n", vec![event("", "a")]),
            ("data:  a\n\n", vec![event("", " a")]),
            ("data: a\r\n\r\n", vec![event("", "a")]),
            ("data: a\r\r", vec![event("", "a")]),
            ("data: a\r\n\ndata: b\n\r\n", vec![event("", "a"), event("", "b")]),
            ("data: a\ndata: b\n\n", vec![event("", "a\nb")]),
            ("data\n\n", vec![event("", "")]),
            ("data:\n\n", vec![event("", "")]),
            ("data\ndata\n\n", vec![event("", "\n")]),
            (": keep-alive\n\ndata: a\n\n", vec![event("", "a")]),
            (":\n:\n\n\n", vec![]),
            ("event: error\ndata: a\n\n", vec![event("error", "a")]),
            ("event: lost\n\ndata: a\n\n", vec![event("", "a")]),
            ("id: 1\nretry: 5\nother: x\nother\ndata: a\n\n", vec![event("", "a")]),
            ("Data: a\n data: b\n\n", vec![]),
            ("data: a: b\n\n", vec![event("", "a: b")]),
            ("\u{feff}data: a\n\n", vec![event("", "a")]),
            ("\n\u{feff}data: a\n\n", vec![]),
            ("data: a\n\ndata: b", vec![event("", "a"), event("", "b")]),
            ("data: a\n\ndata: b\n", vec![event("", "a"), event("", "b")]),
            ("event: only", vec![]),
            ("data: größe 🦀\n\n", vec![event("", "größe 🦀")]),
        ] {
            assert_eq!(parse([stream.as_bytes()]), want, "{stream:?}");
        }
        assert_eq!(parse([&b"data: \xff\xfe!\n\n"[..]]), [event("", "\u{fffd}\u{fffd}!")]);
    }

    #[test]
    fn every_cut_gives_the_same_events() {
        let stream = "\u{feff}: hello\r\ndata: {\"a\":\"größe 🦀\"}\r\n\r\nevent: x\rdata: 1\rdata: 2\r\r\ndata:3\n\n\ndata: [DONE]";
        let bytes = stream.as_bytes();
        let whole = parse([bytes]);
        assert_eq!(whole.len(), 4);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(parse(parts), whole, "cut at {first} and {second}");
            }
        }
        assert_eq!(parse(bytes.chunks(1)), whole);
    }

    #[test]
    fn an_event_has_a_limit() {
        let mut out = Vec::new();
        for stream in ["data: 0123456789", "data: 012\ndata: 345\ndata: 678\n", ": 012345678901234\n"] {
            assert_eq!(SseParser::with_limit(15).push(stream.as_bytes(), &mut out), Err(EventTooLong), "{stream}");
        }
        let mut parser = SseParser::with_limit(15);
        for _ in 0..100 {
            parser.push(b"data: 01234567\n\n: comment\n", &mut out).unwrap();
        }
        assert_eq!(out.len(), 100);
    }

    proptest! {
        /// Streams of the letters that the grammar cares about, cut anywhere, and any bytes at all.
        #[test]
        fn cuts_never_matter(stream in "(data|event|:|\r|\n| |a|é|\u{feff}){0,40}", step in 1usize..9) {
            let bytes = stream.as_bytes();
            prop_assert_eq!(parse(bytes.chunks(step)), parse([bytes]));
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), step in 1usize..9) {
            prop_assert_eq!(parse(bytes.chunks(step)), parse([&bytes[..]]));
        }
    }
}
