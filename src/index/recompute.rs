//! What of an index follows from other parts of it, made anew and compared: ids from texts, columns and word counts from
//! records, lengths of vectors, codes from rows.
//!
//! Useful for: damage that every checksum agrees with (a fault of ours, a machine that miscounts, a file made to look
//! right). Not for: vectors from texts, which is a model's business.

use tantivy::{DocAddress, Searcher, SegmentReader};

use super::{
    ChunkRecord, catalog,
    lexical::{
        document::{self, Composer},
        schema::{FIELDS, column},
    },
    snapshot::Snapshot,
};

/// A vector of length 1 may miss it by this: rows of half precision are off by a few ten-thousandths.
const LENGTH_TOLERANCE: f32 = 2e-3;
/// So many faults of one kind are told; there are more.
const MAX_TOLD: usize = 20;

/// Tells every chunk whose text documents disagree with its record.
pub(super) fn texts(searcher: &Searcher, tell: &mut dyn FnMut(String)) -> tantivy::Result<()> {
    let mut told = 0;
    let mut composer = Composer::default();
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let mut docs = Vec::new();
        catalog::each_value(reader, &reader.fast_fields().u64(column::CHUNK_ID)?, |doc, _| docs.push(doc));
        for doc in docs {
            let chunk: ChunkRecord = catalog::record(searcher, DocAddress::new(segment, doc))?;
            for what in chunk_faults(reader, doc, &chunk, &mut composer)? {
                if told < MAX_TOLD {
                    tell(format!("chunk {} of `{}` {what}", chunk.id, chunk.path));
                }
                told += 1;
            }
        }
    }
    if told > MAX_TOLD {
        tell(format!("{} more chunks disagree with their records", told - MAX_TOLD));
    }
    Ok(())
}

fn chunk_faults(
    reader: &SegmentReader,
    doc: u32,
    chunk: &ChunkRecord,
    composer: &mut Composer,
) -> tantivy::Result<Vec<&'static str>> {
    let mut faults = Vec::new();
    if chunk.id != ChunkRecord::id_of(chunk.source, chunk.span, &chunk.text) {
        faults.push("has the id of another text");
    }
    let fast = reader.fast_fields();
    let number = |name: &str| Ok::<_, tantivy::TantivyError>(fast.f64(name)?.first(doc));
    let same = |column: Option<f64>, record: f32| column == Some(f64::from(record));
    if fast.u64(column::ORDINAL)?.first(doc) != Some(u64::from(chunk.ordinal)) {
        faults.push("stands in another place than its record says");
    }
    if !same(number(column::FERTILITY)?, chunk.fertility) || !same(number(column::CODE_SHARE)?, chunk.code_share) {
        faults.push("has other measures than its record says");
    }
    let made = composer.of_chunk(chunk);
    for field in [FIELDS.stem, FIELDS.exact, FIELDS.title] {
        let words = document::words(&made, field);
        let norms = reader.get_fieldnorms_reader(field)?;
        if norms.fieldnorm_id(doc) != tantivy::fieldnorm::FieldNormReader::fieldnorm_to_id(words) {
            faults.push("has another number of words than its text");
        }
    }
    Ok(faults)
}

/// Tells live rows that are not of length 1 where the space says they are, and segments whose codes are not of their rows.
pub(super) fn vectors(snapshot: &Snapshot, tell: &mut dyn FnMut(&str, String)) {
    let (Some(space), Some(toc)) = (snapshot.space(), snapshot.toc()) else { return };
    for (entry, (segment, tombstones)) in toc.entries.iter().zip(snapshot.vectors().parts()) {
        let name = &entry.segment.name;
        if let Err(damage) = segment.verify_recomputed() {
            tell(name, damage.to_string());
        }
        if !space.normalised {
            continue;
        }
        let length = |row: &usize| segment.row(*row).iter().map(|value| value * value).sum::<f32>().sqrt();
        let is_off = |row: &usize| {
            let off = (length(row) - 1.0).abs();
            off.is_nan() || off > LENGTH_TOLERANCE
        };
        let live = (0..segment.len()).filter(|row| !tombstones.contains(*row));
        let off: Vec<usize> = live.filter(is_off).collect();
        if let Some(first) = off.first() {
            let what = format!("{} rows are not of length 1, the first is row {first}: {}", off.len(), length(first));
            tell(name, what);
        }
    }
}
