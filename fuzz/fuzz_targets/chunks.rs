//! Any text in chunks of any size.
#![no_main]

#[path = "../../tests/fuzz/chunks.rs"]
mod chunks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| chunks::run(input));
