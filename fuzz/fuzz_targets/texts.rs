//! Any text as a filter, as a stream of events, and as what the tokenizer reads.
#![no_main]

#[path = "../../tests/fuzz/texts.rs"]
mod texts;

libfuzzer_sys::fuzz_target!(|input: &[u8]| texts::run(input));
