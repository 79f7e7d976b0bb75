//! Which fields a text document has: chunks and sources in one tantivy index, told apart by `kind`.
//!
//! Changing anything here changes the format: see `layout::FORMAT`.

use std::sync::LazyLock;

use tantivy::{
    index::IndexSettings,
    schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions},
    store::Compressor,
};

use super::terms;

/// `kind` of a chunk document.
pub(in crate::index) const CHUNK: &str = "chunk";
/// `kind` of a source document.
pub(in crate::index) const SOURCE: &str = "source";
/// Between key and value in a term of `facts`.
pub(in crate::index) const FACT_SEPARATOR: char = '\u{1f}';

/// Names of fast columns.
pub(in crate::index) mod column {
    pub(in crate::index) const CHUNK_ID: &str = "chunk_id";
    pub(in crate::index) const PARENT: &str = "parent";
    pub(in crate::index) const SOURCE: &str = "source";
    pub(in crate::index) const ORDINAL: &str = "ordinal";
    pub(in crate::index) const LANG: &str = "lang";
    pub(in crate::index) const FERTILITY: &str = "fertility";
    pub(in crate::index) const CODE_SHARE: &str = "code_share";
    pub(in crate::index) const FACTS: &str = "facts";
    pub(in crate::index) const SIZE: &str = "size";
    pub(in crate::index) const MTIME: &str = "mtime";
    pub(in crate::index) const PAGES: &str = "pages";
    pub(in crate::index) const CHUNKS: &str = "chunks";
}

/// The fields, by the name of what they hold.
pub(in crate::index) struct Fields {
    pub(in crate::index) schema: Schema,
    /// Both: [`CHUNK`] or [`SOURCE`].
    pub(in crate::index) kind: Field,
    /// Both: the record as JSON.
    pub(in crate::index) record: Field,

    pub(in crate::index) chunk_id: Field,
    /// The chunk's source: deleting by it removes all chunks of a source and leaves its record.
    pub(in crate::index) parent: Field,
    pub(in crate::index) ordinal: Field,
    pub(in crate::index) lang: Field,
    pub(in crate::index) fertility: Field,
    pub(in crate::index) code_share: Field,
    pub(in crate::index) stem: Field,
    pub(in crate::index) exact: Field,
    pub(in crate::index) title: Field,

    pub(in crate::index) source: Field,
    /// What filters ask for, as `key` [`FACT_SEPARATOR`] `value`.
    pub(in crate::index) facts: Field,
    pub(in crate::index) size: Field,
    pub(in crate::index) mtime: Field,
    pub(in crate::index) pages: Field,
    pub(in crate::index) chunks: Field,
}

/// The one schema.
pub(in crate::index) static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    let words = |record| {
        let indexing = TextFieldIndexing::default().set_tokenizer(terms::TOKENIZER).set_index_option(record);
        TextOptions::default().set_indexing_options(indexing)
    };
    let kind = TextFieldIndexing::default()
        .set_tokenizer(terms::TOKENIZER)
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    let mut builder = SchemaBuilder::new();
    Fields {
        kind: builder.add_text_field("kind", TextOptions::default().set_indexing_options(kind)),
        record: builder.add_bytes_field("record", STORED),
        chunk_id: builder.add_u64_field(column::CHUNK_ID, INDEXED | FAST),
        parent: builder.add_u64_field(column::PARENT, INDEXED | FAST),
        ordinal: builder.add_u64_field(column::ORDINAL, FAST),
        lang: builder.add_text_field(column::LANG, TextOptions::default().set_fast("raw")),
        fertility: builder.add_f64_field(column::FERTILITY, FAST),
        code_share: builder.add_f64_field(column::CODE_SHARE, FAST),
        stem: builder.add_text_field("stem", words(IndexRecordOption::WithFreqs)),
        exact: builder.add_text_field("exact", words(IndexRecordOption::WithFreqsAndPositions)),
        title: builder.add_text_field("title", words(IndexRecordOption::WithFreqs)),
        source: builder.add_u64_field(column::SOURCE, INDEXED | FAST),
        facts: builder.add_text_field(column::FACTS, TextOptions::default().set_fast("raw")),
        size: builder.add_u64_field(column::SIZE, FAST),
        mtime: builder.add_i64_field(column::MTIME, FAST),
        pages: builder.add_u64_field(column::PAGES, FAST),
        chunks: builder.add_u64_field(column::CHUNKS, FAST),
        schema: builder.build(),
    }
});

/// Blocks of 16 KiB in lz4, compressed on the indexing thread.
pub(in crate::index) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::Lz4,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}
