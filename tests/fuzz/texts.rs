//! Any text as a filter, as a stream of events, and as what the tokenizer reads.

use rag::{
    model::{
        sse::{Event, SseParser},
        wordpiece::WordPiece,
    },
    retrieve::filter,
};

pub fn run(input: &[u8]) {
    events(input);
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(read) = filter::parse(text) {
        let printed = filter::print(&read);
        let again = filter::parse(&printed).expect("what is printed can be read");
        assert_eq!(filter::print(&again), printed);
    }
    let pieces = WordPiece::builtin();
    let (ids, places) = (pieces.encode(text), pieces.offsets(text));
    assert_eq!((ids.len(), ids.len()), (pieces.count(text), places.len()));
    assert!(places.iter().all(|place| text.get(place.clone()).is_some()));
    assert_eq!(pieces.encode_at_most(text, 5), ids[..ids.len().min(5)]);
}

/// However a stream is cut, its events are the same.
fn events(input: &[u8]) {
    let whole = read(&[input]);
    for at in [input.len() / 3, input.len() / 2] {
        let (left, right) = input.split_at(at);
        assert_eq!(read(&[left, right]), whole);
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(read(&bytes), whole);
}

fn read(parts: &[&[u8]]) -> Option<Vec<Event>> {
    let (mut parser, mut out) = (SseParser::with_limit(1 << 12), Vec::new());
    for part in parts {
        parser.push(part, &mut out).ok()?;
    }
    out.extend(parser.finish());
    Some(out)
}
