//! How a chunk and a source become text documents.

use tantivy::{
    TantivyDocument,
    schema::{Field, Value},
};

use super::{
    analyzer::{self, Kind},
    language::Stems,
    schema::{CHUNK, FACT_SEPARATOR, FIELDS, SOURCE},
    stems::StemCache,
    terms::{self, Terms},
};
use crate::index::{ChunkRecord, SourceRecord};

/// Longer values are cut in `facts`; the record keeps them whole.
const MAX_FACT_BYTES: usize = 4096;

/// Room for the numbers and short words of a chunk's document.
const SMALL_FIELDS_BYTES: usize = 256;

/// Makes documents of chunks, and keeps what many of them share.
#[derive(Default)]
pub(in crate::index) struct Composer {
    stems: StemCache,
    stem: Terms,
    exact: Terms,
    title: Terms,
}

impl Composer {
    /// The document of a chunk.
    pub(in crate::index) fn of_chunk(&mut self, chunk: &ChunkRecord) -> TantivyDocument {
        let fields = &*FIELDS;
        let Self { stems, stem, exact, title } = self;
        for terms in [&mut *stem, &mut *exact, &mut *title] {
            terms.clear();
        }
        let language = Stems::of(chunk.lang.as_deref());
        let mut offset = 0;
        // Title and headings are words of the body as well: measured, and how the embedded text is made.
        let titles = chunk.title.as_deref().into_iter().chain(chunk.heading.iter().map(String::as_str));
        for part in titles.clone().chain([chunk.context.as_str(), chunk.text.as_str()]) {
            let mut last = None;
            analyzer::words(part, &mut |word, position, kind| {
                let position = position.saturating_add(offset);
                last = Some(position);
                exact.push(&analyzer::term(word), position);
                push_stem(stem, stems, language, word, kind);
            });
            // A phrase does not run from a heading into the text.
            offset = last.map_or(offset, |last| last.saturating_add(2));
        }
        for part in titles.chain(chunk.path.rsplit('/').next()) {
            analyzer::words(part, &mut |word, _, kind| push_stem(title, stems, language, word, kind));
        }

        let record = serde_json::to_vec(chunk).expect("plain values serialise");
        let size = record.len() + stem.as_str().len() + exact.as_str().len() + title.as_str().len();
        let mut document = TantivyDocument::with_capacity(size + SMALL_FIELDS_BYTES);
        document.add_text(fields.kind, CHUNK);
        document.add_u64(fields.chunk_id, chunk.id.0);
        document.add_u64(fields.parent, chunk.source.0);
        document.add_u64(fields.ordinal, u64::from(chunk.ordinal));
        document.add_text(fields.lang, chunk.lang.as_deref().unwrap_or_default());
        document.add_f64(fields.fertility, f64::from(chunk.fertility));
        document.add_f64(fields.code_share, f64::from(chunk.code_share));
        document.add_bytes(fields.record, &record);
        for (field, terms) in [(fields.stem, stem), (fields.exact, exact), (fields.title, title)] {
            // An empty value would still count as a field of length 0; a missing one does the same and costs nothing.
            if !terms.as_str().is_empty() {
                document.add_text(field, terms.as_str());
            }
        }
        document
    }
}

/// How many words a field of a document of [`Composer::of_chunk`] has.
pub(in crate::index) fn words(document: &TantivyDocument, field: Field) -> u32 {
    let values = document.get_all(field).filter_map(|value| value.as_str().map(terms::count));
    u32::try_from(values.sum::<usize>()).unwrap_or(u32::MAX)
}

/// The document of a source.
pub(in crate::index) fn of_source(source: &SourceRecord) -> TantivyDocument {
    let fields = &*FIELDS;
    let mut document = TantivyDocument::default();
    document.add_text(fields.kind, SOURCE);
    document.add_u64(fields.source, source.id.0);
    document.add_u64(fields.size, source.size_bytes);
    document.add_i64(fields.mtime, source.mtime_ns);
    document.add_u64(fields.chunks, u64::from(source.chunks));
    if let Some(pages) = source.pages {
        document.add_u64(fields.pages, u64::from(pages));
    }
    let status = source.status.word();
    let path = source.display_path();
    let facts = [
        ("collection", Some(source.collection.as_str())),
        ("path", Some(path.as_str())),
        ("type", Some(source.format.as_str())),
        ("status", Some(status)),
        ("title", source.title.as_deref()),
        ("author", source.author.as_deref()),
        ("lang", source.lang.as_deref()),
    ];
    for (key, value) in facts {
        if let Some(value) = value {
            document.add_text(fields.facts, fact(&[key], value));
        }
    }
    for (kind, map) in [("tag", &source.tags), ("meta", &source.metadata)] {
        for (key, value) in map {
            document.add_text(fields.facts, fact(&[kind, key], value));
        }
    }
    document.add_bytes(fields.record, &serde_json::to_vec(source).expect("plain values serialise"));
    document
}

/// A term of `facts`: the keys, each with [`FACT_SEPARATOR`] after it, then the value.
fn fact(keys: &[&str], value: &str) -> String {
    let mut term = fact_prefix(keys);
    term.push_str(&value[..value.floor_char_boundary(MAX_FACT_BYTES)]);
    term
}

/// What all terms of `facts` under these keys begin with.
pub(in crate::index) fn fact_prefix(keys: &[&str]) -> String {
    let mut prefix = String::new();
    for key in keys {
        // A separator inside a key would let one key speak for another.
        prefix.extend(key[..key.floor_char_boundary(MAX_FACT_BYTES)].chars().filter(|&c| c != FACT_SEPARATOR));
        prefix.push(FACT_SEPARATOR);
    }
    prefix
}

/// Fields without positions: where a word stands is not told.
fn push_stem(terms: &mut Terms, cache: &mut StemCache, language: Stems, word: &str, kind: Kind) {
    if let Some(stem) = cache.stem(language, word, kind.is_stemmed()) {
        terms.push(stem, 0);
    }
}
