//! Any bytes as a file of any format.
#![no_main]

#[path = "../../tests/fuzz/documents.rs"]
mod documents;

// What other people's readers panic over is caught: only what nobody catches ends the run.
libfuzzer_sys::fuzz_target!(init: drop(std::panic::take_hook()), |input: &[u8]| documents::run(input));
