//! What is stored of sources and chunks: records out of tantivy's doc store, facts out of its columns.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use tantivy::{
    DocAddress, Searcher, SegmentReader, TantivyDocument, TantivyError, columnar::Column, columnar::ColumnIndex,
    columnar::StrColumn, error::DataCorruption, schema::Value,
};

use super::{
    lexical::{
        schema::{FIELDS, column},
        search::{by_segment, find_all},
    },
    record::SourceRecord,
};

/// Reads the record of a document.
pub(super) fn record<T: DeserializeOwned>(searcher: &Searcher, address: DocAddress) -> tantivy::Result<T> {
    let document: TantivyDocument = searcher.doc(address)?;
    let bytes = document.get_first(FIELDS.record).and_then(|value| value.as_bytes());
    let bytes = bytes.ok_or_else(|| damaged(address, "there is no record"))?;
    serde_json::from_slice(bytes).map_err(|error| damaged(address, &error.to_string()))
}

fn damaged(address: DocAddress, what: &str) -> TantivyError {
    let where_ = format!("record of document {} in segment {}: {what}", address.doc_id, address.segment_ord);
    TantivyError::DataCorruption(DataCorruption::comment_only(where_))
}

/// Calls `each` with every live document that has a value in a column of single values, in order. One pass.
pub(super) fn each_value<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    reader: &SegmentReader,
    column: &Column<T>,
    mut each: impl FnMut(u32, T),
) {
    let mut visit = |doc, value| {
        if !reader.is_deleted(doc) {
            each(doc, value);
        }
    };
    match &column.index {
        ColumnIndex::Empty { .. } => {}
        ColumnIndex::Full => (0..).zip(column.values.iter()).for_each(|(doc, value)| visit(doc, value)),
        ColumnIndex::Optional(docs) => {
            docs.iter_non_null_docs().zip(column.values.iter()).for_each(|(doc, value)| visit(doc, value));
        }
        ColumnIndex::Multivalued(_) => {
            (0..column.num_docs()).filter_map(|doc| Some((doc, column.first(doc)?))).for_each(|(d, v)| visit(d, v));
        }
    }
}

/// Every live source. O(sources), each read from the store.
pub(super) fn sources(searcher: &Searcher) -> tantivy::Result<Vec<SourceRecord>> {
    let mut records = Vec::new();
    each_source(searcher, |record| records.push(record))?;
    Ok(records)
}

/// Calls `each` with every live source, one in memory at a time.
pub(super) fn each_source(searcher: &Searcher, mut each: impl FnMut(SourceRecord)) -> tantivy::Result<()> {
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let mut docs = Vec::new();
        each_value(reader, &reader.fast_fields().u64(column::SOURCE)?, |doc, _| docs.push(doc));
        for doc in docs {
            each(record(searcher, DocAddress::new(segment, doc))?);
        }
    }
    Ok(())
}

/// Ids of a source's live chunks with the language of each.
pub(super) fn chunks_of(searcher: &Searcher, source: u64) -> tantivy::Result<Vec<(u64, String)>> {
    let addresses = find_all(searcher, FIELDS.parent, source)?;
    let mut chunks = Vec::with_capacity(addresses.len());
    for (segment, range) in by_segment(&addresses) {
        let fast = searcher.segment_reader(segment).fast_fields();
        let ids = fast.u64(column::CHUNK_ID)?;
        let langs = fast.str(column::LANG)?;
        let mut lang = String::new();
        for address in &addresses[range] {
            lang.clear();
            if let Some(langs) = &langs
                && let Some(ord) = langs.ords().first(address.doc_id)
            {
                langs.ord_to_str(ord, &mut lang)?;
            }
            let id = ids.first(address.doc_id).ok_or_else(|| damaged(*address, "a chunk has no id"))?;
            chunks.push((id, lang.clone()));
        }
    }
    Ok(chunks)
}

/// The values under a prefix of `facts` in one segment, by term number.
pub(super) fn facts_under(facts: &StrColumn, prefix: &str) -> tantivy::Result<BTreeMap<u64, String>> {
    let mut values = BTreeMap::new();
    let mut terms = facts.dictionary().prefix_range(prefix).into_stream()?;
    while terms.advance() {
        let value = terms.key().get(prefix.len()..).unwrap_or_default();
        values.insert(terms.term_ord(), String::from_utf8_lossy(value).into_owned());
    }
    Ok(values)
}

/// Calls `each` with the value under a prefix of `facts`, and the number of chunks, of every live source that has one.
/// O(sources).
pub(super) fn each_fact(searcher: &Searcher, prefix: &str, mut each: impl FnMut(&str, u64)) -> tantivy::Result<()> {
    for reader in searcher.segment_readers() {
        let fast = reader.fast_fields();
        let Some(facts) = fast.str(column::FACTS)? else { continue };
        let values = facts_under(&facts, prefix)?;
        let chunks = fast.u64(column::CHUNKS)?;
        each_value(reader, &fast.u64(column::SOURCE)?, |doc, _| {
            for value in facts.ords().values_for_doc(doc).filter_map(|ord| values.get(&ord)) {
                each(value, chunks.first(doc).unwrap_or_default());
            }
        });
    }
    Ok(())
}
