//! The one order in which a generation becomes durable (`docs/format.md`, "The commit").
//!
//! Vector files, each synced; their folder; text files, each synced; the text folder; `meta.json` with the payload that
//! names everything, renamed into place; the text folder again. Only then is the generation told and anything old
//! unlinked. Until the rename the index is the old one, whole.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use tantivy::{IndexWriter, Term};

use super::{
    Error, Result, compact,
    error::guard,
    fs::Disk,
    layout,
    lexical::{document, schema::FIELDS},
    manifest::{Manifest, SpaceFile, TocFile},
    snapshot::Snapshot,
    vector::{
        Bytes, FileEntry, LiveRows, NewRow, Segment, SegmentOptions, Set, Toc, TocEntry, Tombstones, encode_segment,
    },
    writer::Batch,
};

/// Writes a batch as the generation after `before`. Text of chunks was given to `text` already.
pub(super) fn commit(
    dir: &Path,
    disk: &Disk,
    before: &Snapshot,
    text: &mut IndexWriter,
    batch: &Batch,
    roots: Option<&std::collections::BTreeMap<String, String>>,
    segments: &SegmentOptions,
) -> Result<()> {
    let mut manifest = before.manifest().clone();
    manifest.generation += 1;
    if let Some(roots) = roots {
        manifest.roots.clone_from(roots);
    }
    count(&mut manifest, batch);
    if let (Some(space), Some(toc)) = (manifest.space.clone(), before.toc()) {
        let folder = layout::space_dir(dir, &space.folder);
        let vectors = Vectors { dir, disk, folder: &folder, generation: manifest.generation, segments };
        manifest.toc = Some(vectors.write(toc, before.vectors(), batch)?);
    }
    let payload = manifest.encode();
    guard(dir, || {
        for (&source, change) in &batch.changes {
            text.delete_term(Term::from_field_u64(FIELDS.source, source));
            if let Some(record) = &change.record {
                text.add_document(document::of_source(record))?;
            }
        }
        let mut prepared = text.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        Ok(())
    })
}

/// Writes the vectors of `before` as one segment without dead rows, as the next generation. Does nothing where they are.
pub(super) fn commit_compacted(
    dir: &Path,
    disk: &Disk,
    before: &Snapshot,
    text: &mut IndexWriter,
    segments: &SegmentOptions,
) -> Result<()> {
    let mut manifest = before.manifest().clone();
    let (Some(space), Some(toc)) = (manifest.space.clone(), before.toc()) else { return Ok(()) };
    if !compact::vectors_worth_it(before) {
        return Ok(());
    }
    manifest.generation += 1;
    let folder = layout::space_dir(dir, &space.folder);
    let vectors = Vectors { dir, disk, folder: &folder, generation: manifest.generation, segments };
    let mut parts = vectors.delete(toc, before.vectors(), &Batch::default(), &mut []);
    let all = (0..parts.len()).collect();
    vectors.merge_chosen(toc.dim, &mut parts, &all)?;
    manifest.toc = Some(vectors.write_toc(toc.dim, toc.live_sum.clone(), parts, None)?);
    commit_payload(dir, text, &manifest)
}

/// Puts another space (or none) in force, as the next generation. Its files are durable.
pub(super) fn commit_space(
    dir: &Path,
    before: &Snapshot,
    text: &mut IndexWriter,
    space: Option<(SpaceFile, TocFile)>,
) -> Result<()> {
    let mut manifest = before.manifest().clone();
    manifest.generation += 1;
    (manifest.space, manifest.toc) = space.unzip();
    commit_payload(dir, text, &manifest)
}

/// A commit that changes no text.
fn commit_payload(dir: &Path, text: &mut IndexWriter, manifest: &Manifest) -> Result<()> {
    let payload = manifest.encode();
    guard(dir, || {
        let mut prepared = text.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        Ok(())
    })
}

fn count(manifest: &mut Manifest, batch: &Batch) {
    for change in batch.changes.values() {
        manifest.sources += u64::from(change.record.is_some());
        manifest.sources = manifest.sources.saturating_sub(u64::from(change.was_there));
        manifest.chunks = (manifest.chunks + change.ids.len() as u64).saturating_sub(change.old.len() as u64);
        for (_, lang) in &change.old {
            manifest.take_language(lang, 1);
        }
        for (lang, n) in &change.languages {
            manifest.add_language(lang, *n);
        }
    }
}

/// The vector side of one commit.
struct Vectors<'a> {
    dir: &'a Path,
    disk: &'a Disk,
    folder: &'a Path,
    generation: u64,
    segments: &'a SegmentOptions,
}

/// A segment of the new generation.
struct Part {
    segment: Segment,
    tombstones: Tombstones,
    /// `None`: its file is still to be written.
    file: Option<FileEntry>,
    /// `None`: there are none, or they have changed.
    tombstones_file: Option<FileEntry>,
}

impl Vectors<'_> {
    /// Writes segment, tombstones and manifest, and makes them durable.
    fn write(&self, before: &Toc, vectors: &Set, batch: &Batch) -> Result<TocFile> {
        let dim = before.dim;
        let mut live_sum = before.live_sum.clone();
        let mut parts = self.delete(before, vectors, batch, &mut live_sum);
        let rows: Vec<NewRow<'_>> = batch
            .changes
            .values()
            .flat_map(|change| &change.rows)
            .map(|row| NewRow { id: row.id, hash: row.hash, vector: &row.vector })
            .collect();
        let mut bytes = None;
        if !rows.is_empty() {
            for row in &rows {
                live_sum.iter_mut().zip(row.vector).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            let encoded = Arc::new(encode_segment(dim, &rows, self.segments));
            let segment = Segment::open(Arc::clone(&encoded) as Bytes).map_err(|damage| self.damaged("", &damage))?;
            parts.push(Part { segment, tombstones: Tombstones::default(), file: None, tombstones_file: None });
            bytes = Some(encoded);
        }
        self.merge(dim, &mut parts)?;
        self.write_toc(dim, live_sum, parts, bytes.as_deref().map(Vec::as_slice))
    }

    /// Writes the files that parts lack, and the manifest, and makes them durable. `bytes`: of the one part without a file.
    fn write_toc(&self, dim: usize, live_sum: Vec<f64>, parts: Vec<Part>, bytes: Option<&[u8]>) -> Result<TocFile> {
        let mut toc = Toc { generation: self.generation, dim, entries: Vec::new(), live_sum };
        for part in parts {
            let file = match (part.file, bytes) {
                (Some(file), _) => file,
                (None, Some(bytes)) => self.file(layout::segment_name(self.generation, 0), bytes)?,
                (None, None) => unreachable!("only new rows are without a file"),
            };
            let tombstones = match part.tombstones_file {
                None if !part.tombstones.is_empty() => {
                    let name = layout::tombstones_name(&file.name, self.generation);
                    Some(self.file(name, &part.tombstones.encode())?)
                }
                file => file,
            };
            let rows = u32::try_from(part.segment.len()).expect("a segment has at most u32::MAX rows");
            let dead = u32::try_from(part.tombstones.len()).expect("as many as rows");
            toc.entries.push(TocEntry { segment: file, tombstones, rows, live: rows.saturating_sub(dead) });
        }
        if toc.entries.is_empty() {
            // What rounding left of rows that are gone.
            toc.live_sum.fill(0.0);
        }
        let toc_file = self.file(layout::toc_name(self.generation), &toc.encode())?;
        self.disk.sync_dir(self.folder).map_err(|source| self.failed("sync", "", source))?;
        Ok(TocFile { name: toc_file.name, bytes: toc_file.bytes, crc32c: toc_file.checksum })
    }

    /// The parts of the generation before without the rows that the batch deletes; parts with no row left are left out.
    fn delete(&self, before: &Toc, vectors: &Set, batch: &Batch, live_sum: &mut [f64]) -> Vec<Part> {
        let mut parts: Vec<Part> = before
            .entries
            .iter()
            .zip(vectors.parts())
            .map(|(entry, (segment, tombstones))| Part {
                segment: segment.clone(),
                tombstones: tombstones.clone(),
                file: Some(entry.segment.clone()),
                tombstones_file: entry.tombstones.clone(),
            })
            .collect();
        for id in batch.changes.values().flat_map(|change| &change.dead) {
            let Some((part, row)) = vectors.locate(*id) else { continue };
            let Some(part) = parts.get_mut(part) else { continue };
            if !part.tombstones.contains(row) {
                part.tombstones.insert(row);
                part.tombstones_file = None;
                let row = part.segment.row(row);
                live_sum.iter_mut().zip(&*row).for_each(|(sum, value)| *sum -= f64::from(*value));
            }
        }
        parts.retain(|part| part.tombstones.len() < part.segment.len());
        parts
    }

    /// Writes parts again as one where that is worth it.
    fn merge(&self, dim: usize, parts: &mut Vec<Part>) -> Result<()> {
        let set = Set::new(dim, parts.iter().map(|part| (part.segment.clone(), part.tombstones.clone())).collect());
        match set.merge_candidates() {
            Some(chosen) => self.merge_chosen(dim, parts, &chosen),
            None => Ok(()),
        }
    }

    /// Writes the chosen parts again as one.
    fn merge_chosen(&self, dim: usize, parts: &mut Vec<Part>, chosen: &BTreeSet<usize>) -> Result<()> {
        if chosen.is_empty() {
            return Ok(());
        }
        let is_chosen = |at: usize, chosen: &BTreeSet<usize>| chosen.contains(&at);
        let sources: Vec<(&Segment, &Tombstones)> = parts
            .iter()
            .enumerate()
            .filter(|(at, _)| is_chosen(*at, chosen))
            .map(|(_, part)| (&part.segment, &part.tombstones))
            .collect();
        // Verifies the segments first, so damage is never sealed under a new checksum.
        let live = LiveRows::of(&sources).map_err(|damage| self.damaged("", &damage))?;
        let name = layout::segment_name(self.generation, 1);
        let path = self.folder.join(&name);
        let tmp = self.dir.join(layout::TMP_DIR);
        let (bytes, checksum) = self
            .disk
            .stream_file(&tmp, &path, |out| live.write(dim, self.segments, out))
            .map_err(|source| self.failed("write", &name, source))?;
        drop(live);
        let file = std::fs::File::open(&path).map_err(|source| self.failed("open", &name, source))?;
        let map = super::mmap::map(&file).map_err(|source| self.failed("map", &name, source))?;
        let segment = Segment::open(map).map_err(|damage| self.damaged(&name, &damage))?;
        let mut at = 0;
        parts.retain(|_| {
            at += 1;
            !is_chosen(at - 1, chosen)
        });
        let file = Some(FileEntry { name, bytes, checksum });
        parts.push(Part { segment, tombstones: Tombstones::default(), file, tombstones_file: None });
        Ok(())
    }

    fn file(&self, name: String, bytes: &[u8]) -> Result<FileEntry> {
        let tmp = self.dir.join(layout::TMP_DIR);
        let written = self.disk.write_file(&tmp, &self.folder.join(&name), bytes);
        written.map_err(|source| self.failed("write", &name, source))?;
        Ok(FileEntry::of(name, bytes))
    }

    fn failed(&self, act: &'static str, name: &str, source: std::io::Error) -> Error {
        Error::Io { act, path: self.folder.join(name), source }
    }

    fn damaged(&self, name: &str, damage: &super::vector::Damage) -> Error {
        Error::Corrupt { path: self.folder.join(name), what: damage.to_string() }
    }
}

/// Removes what only the generation before named. A file that cannot be removed stays for the next writer.
pub(super) fn remove_old(dir: &Path, disk: &Disk, now: &Snapshot) {
    for path in compact::orphans(dir, now).unwrap_or_default() {
        if path.starts_with(dir.join(layout::VECTORS_DIR)) {
            let _ = disk.remove_file(&path);
        }
    }
    // The folder of a space that is no longer in force; one that holds anything stays.
    let current = now.manifest().space.as_ref().map(|space| layout::space_dir(dir, &space.folder));
    for entry in std::fs::read_dir(dir.join(layout::VECTORS_DIR)).into_iter().flatten().flatten() {
        if Some(entry.path()) != current {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}
