//! Any text as a filter, as a stream of events, and as what the tokenizer reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rag::{
    model::{sse::SseParser, wordpiece::WordPiece},
    retrieve::filter,
};

fuzz_target!(|input: &[u8]| {
    events(input);
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(read) = filter::parse(text) {
        let printed = filter::print(&read);
        assert_eq!(filter::parse(&printed).ok().map(|again| filter::print(&again)), Some(printed));
    }
    let pieces = WordPiece::builtin();
    let (ids, places) = (pieces.encode(text), pieces.offsets(text));
    assert_eq!((ids.len(), ids.len()), (pieces.count(text), places.len()));
    assert!(places.iter().all(|place| text.get(place.clone()).is_some()));
});

/// However a stream is cut, its events are the same.
fn events(input: &[u8]) {
    let read = |parts: &[&[u8]]| {
        let (mut parser, mut out) = (SseParser::with_limit(1 << 16), Vec::new());
        let all = parts.iter().all(|part| parser.push(part, &mut out).is_ok());
        all.then_some(out)
    };
    let whole = read(&[input]);
    for at in [input.len() / 3, input.len() / 2] {
        let (left, right) = input.split_at(at);
        assert_eq!(read(&[left, right]), whole);
    }
}
