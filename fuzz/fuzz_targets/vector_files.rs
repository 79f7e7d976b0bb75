//! Any bytes as files of the vector core.
#![no_main]

#[path = "../../tests/fuzz/vector_files.rs"]
mod vector_files;

libfuzzer_sys::fuzz_target!(|input: &[u8]| vector_files::run(input));
