//! Any bytes as a file of any format: a document that keeps its promises or a reason, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rag::ingest::extract::{Limits, extract};

/// The first byte of an input says which of them it is called.
const NAMES: [&str; 32] = [
    "a.txt", "a.md", "a.html", "a.rst", "a.adoc", "a.org", "a.tex", "a.ipynb", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.xml",
    "a.eml", "a.mbox", "a.mhtml", "a.rtf", "a.epub", "a.docx", "a.pptx", "a.xlsx", "a.xls", "a.odt", "a.ods", "a.odp", "a.log",
    "a.1", "a.srt", "a.zip", "a.tar", "a.gz", "a",
];

fuzz_target!(|input: &[u8]| {
    let Some((which, bytes)) = input.split_first() else { return };
    let name = NAMES[usize::from(*which) % NAMES.len()];
    let limits = Limits { max_text_bytes: 1 << 20, max_pages: 200, archives: true, ..Limits::default() };
    if let Ok(document) = extract(name, bytes.to_vec(), &limits) {
        document.check().expect("a document keeps its promises");
    }
});
