//! An index of which any part is other bytes.
#![no_main]

#[path = "../../tests/fuzz/open_index.rs"]
mod open_index;

// What other people's readers panic over is caught: only what nobody catches ends the run.
libfuzzer_sys::fuzz_target!(init: drop(std::panic::take_hook()), |input: &[u8]| open_index::run(input));
