//! Any text in chunks of any size: nothing is lost, nothing stands in two chunks, and no chunk is longer than the model reads.

use rag::{
    ingest::{
        chunk::{Origin, Settings, chunk, embedding_text},
        extract::{Limits, extract},
    },
    model::wordpiece::WordPiece,
    types::SourceId,
};

const NAMES: [&str; 8] = ["a.txt", "a.md", "a.csv", "a.html", "a.rs", "a.jsonl", "a.log", "a.rst"];

/// One byte says which format, one the target, one the overlap; the others are the text.
pub fn run(input: &[u8]) {
    let [which, target, overlap, bytes @ ..] = input else { return };
    let name = NAMES[usize::from(*which) % NAMES.len()];
    let Ok(document) = extract(name, bytes.to_vec(), &Limits::default()) else { return };
    let target = usize::from(*target).clamp(16, 200);
    let overlap = usize::from(*overlap) % (target / 2 + 1);
    let settings = Settings::new(target, overlap, Some(254)).expect("in bounds");
    let origin = Origin { source: SourceId(1), collection: "default", path: "docs/pump_manual.md", title: None };
    let chunks = chunk(&document, origin, settings).chunks;

    let mut times = vec![0_u32; document.text.len()];
    for (at, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk.ordinal as usize, at);
        assert_eq!(chunk.text, document.text[chunk.span.range()]);
        assert!(!chunk.text.trim().is_empty());
        let tokens = WordPiece::builtin().count(&embedding_text(chunk, settings.limit()));
        assert!(tokens <= settings.limit(), "{tokens} tokens where {} are read", settings.limit());
        times[chunk.span.range()].iter_mut().for_each(|times| *times += 1);
    }
    for block in &document.blocks {
        let text = &document.text[block.span.range()];
        for (at, letter) in text.char_indices().filter(|(_, letter)| !letter.is_whitespace()) {
            let times = times[block.span.start + at];
            assert!(times >= 1, "{letter:?} is lost");
            assert!(times == 1 || overlap > 0, "{letter:?} stands in {times} chunks");
        }
    }
}
