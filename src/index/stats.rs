//! How many of what a snapshot holds.

use std::collections::BTreeMap;

use super::{Result, Snapshot, catalog, error::guard, layout, lexical::document::fact_prefix, snapshot::Inner};

/// How many of what a snapshot holds.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Stats {
    pub sources: u64,
    pub failed_sources: u64,
    pub chunks: u64,
    pub vectors: u64,
    pub text_bytes_on_disk: u64,
    pub vector_bytes_on_disk: u64,
    pub segments_text: u64,
    pub segments_vectors: u64,
    /// Rows and documents that are deleted but still on disk.
    pub dead_rows: u64,
    pub by_collection: BTreeMap<String, CollectionStats>,
    /// Chunks by ISO 639-1 code; `""` for unknown.
    pub by_language: BTreeMap<String, u64>,
    /// Sources by format word.
    pub by_type: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CollectionStats {
    pub sources: u64,
    pub chunks: u64,
}

impl Snapshot {
    /// Counts from the index itself, never from a side file. O(sources + segments).
    pub fn stats(&self) -> Result<Stats> {
        let Inner { dir, manifest, searcher, toc, vectors, .. } = &*self.0;
        let mut stats = Stats {
            sources: manifest.sources,
            chunks: manifest.chunks,
            vectors: vectors.len() as u64,
            by_language: manifest.languages.clone(),
            segments_text: searcher.segment_readers().len() as u64,
            ..Stats::default()
        };
        guard(dir, || {
            catalog::each_fact(searcher, &fact_prefix(&["status"]), |status, _| {
                stats.failed_sources += u64::from(status == "failed");
            })?;
            catalog::each_fact(searcher, &fact_prefix(&["type"]), |format, _| {
                *stats.by_type.entry(format.to_owned()).or_default() += 1;
            })?;
            catalog::each_fact(searcher, &fact_prefix(&["collection"]), |name, chunks| {
                let counts = stats.by_collection.entry(name.to_owned()).or_default();
                counts.sources += 1;
                counts.chunks += chunks;
            })?;
            for reader in searcher.segment_readers() {
                stats.dead_rows += u64::from(reader.num_deleted_docs());
            }
            for name in &self.0.text_files {
                let size = std::fs::metadata(layout::text_dir(dir).join(name)).map(|meta| meta.len());
                stats.text_bytes_on_disk += size.unwrap_or_default();
            }
            Ok(())
        })?;
        if let Some(toc) = toc {
            stats.segments_vectors = toc.entries.len() as u64;
            for entry in &toc.entries {
                stats.dead_rows += u64::from(entry.rows.saturating_sub(entry.live));
                let tombstones = entry.tombstones.as_ref().map_or(0, |file| file.bytes);
                stats.vector_bytes_on_disk += entry.segment.bytes + tombstones;
            }
        }
        Ok(stats)
    }
}
