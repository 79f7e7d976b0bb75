//! What is written again to keep an index small, and what is thrown away.
//!
//! Vector segments merge as part of a commit, by the vector core's own policy; text segments merge right after one, by
//! tantivy's, while the writer lock is held. A text merge renames a `meta.json` with the same payload: same generation,
//! same content. Orphans are what a writer that died left behind; the next one removes them.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
};

use tantivy::{
    IndexWriter,
    index::SegmentId,
    indexer::{LogMergePolicy, MergePolicy},
};

use super::{Error, Result, layout, respace, snapshot::Snapshot};

/// A text segment with a larger share of deleted documents is written again.
const MAX_DEAD_SHARE: f32 = 0.3;
/// Merges of merged segments after one commit; the next commit goes on.
const MAX_ROUNDS: usize = 4;

/// Merges text segments until tantivy's policy finds nothing worth it.
pub(super) fn merge_text(writer: &mut IndexWriter) -> tantivy::Result<()> {
    let mut policy = LogMergePolicy::default();
    policy.set_del_docs_ratio_before_merge(MAX_DEAD_SHARE);
    for _ in 0..MAX_ROUNDS {
        let segments = writer.index().searchable_segment_metas()?;
        let mut candidates = policy.compute_merge_candidates(&segments);
        // A single segment without deleted documents has nothing to gain.
        candidates.retain(|candidate| {
            candidate.0.len() > 1 || segments.iter().any(|s| s.id() == candidate.0[0] && s.has_deletes())
        });
        drop(segments);
        if candidates.is_empty() {
            break;
        }
        for candidate in candidates {
            let segments: Vec<SegmentId> = candidate.0;
            writer.merge(&segments).wait()?;
        }
    }
    Ok(())
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    pub generation: u64,
    pub bytes_written: u64,
    /// Deleted rows and documents that are gone now.
    pub dropped: u64,
}

/// Whether text or vectors could be fewer files, or hold anything that is deleted.
pub(super) fn is_worth_it(snapshot: &Snapshot) -> bool {
    let text = snapshot.searcher().segment_readers();
    text.len() > 1 || text.iter().any(|reader| reader.num_deleted_docs() > 0) || vectors_worth_it(snapshot)
}

/// The vectors' part of that.
pub(super) fn vectors_worth_it(snapshot: &Snapshot) -> bool {
    let entries = snapshot.toc().map_or(&[][..], |toc| &toc.entries);
    entries.len() > 1 || entries.iter().any(|entry| entry.live < entry.rows)
}

/// Makes one text segment of all, without what is deleted. Same payload, same generation.
pub(super) fn merge_whole_text(writer: &mut IndexWriter) -> tantivy::Result<()> {
    let segments = writer.index().searchable_segment_metas()?;
    let is_whole = segments.len() < 2 && segments.iter().all(|segment| !segment.has_deletes());
    let ids: Vec<SegmentId> = segments.iter().map(|segment| segment.id()).collect();
    // Tantivy keeps files of segments that somebody holds.
    drop(segments);
    if !is_whole {
        writer.merge(&ids).wait()?;
    }
    Ok(())
}

/// Bytes of all files in an index folder. A file that goes away meanwhile has none.
pub(super) fn size_bytes(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    each_file(dir, &mut |path| bytes += fs::symlink_metadata(path).map_or(0, |meta| meta.len()))
        .map_err(|source| Error::Io { act: "list", path: dir.to_path_buf(), source })?;
    Ok(bytes)
}

/// Files inside the index that no committed generation names, sorted. While a writer runs, its work is among them;
/// a space that was begun is not: another run goes on with it.
pub(super) fn orphans(dir: &Path, snapshot: &Snapshot) -> io::Result<Vec<PathBuf>> {
    let mut orphans = Vec::new();
    let text = layout::text_dir(dir);
    let meta = snapshot.meta_files();
    let mut named: HashSet<PathBuf> = meta.into_iter().map(|name| text.join(name)).collect();
    named.insert(text.join(layout::META_FILE));
    if let (Some(space), Some(toc)) = (&snapshot.manifest().space, &snapshot.manifest().toc) {
        let folder = layout::space_dir(dir, &space.folder);
        named.insert(folder.join(layout::SPACE_FILE));
        named.insert(folder.join(&toc.name));
        for entry in snapshot.toc().iter().flat_map(|toc| &toc.entries) {
            named.insert(folder.join(&entry.segment.name));
            named.extend(entry.tombstones.iter().map(|file| folder.join(&file.name)));
        }
    }
    let begun = respace::begun(dir, snapshot);
    for folder in [text, dir.join(layout::VECTORS_DIR), dir.join(layout::TMP_DIR)] {
        each_file(&folder, &mut |path| {
            if !named.contains(&path) && !begun.iter().any(|folder| path.starts_with(folder)) {
                orphans.push(path);
            }
        })?;
    }
    orphans.sort();
    Ok(orphans)
}

/// Calls `each` with every file under a folder, links not followed.
fn each_file(folder: &Path, each: &mut dyn FnMut(PathBuf)) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() { each_file(&entry.path(), each)? } else { each(entry.path()) }
    }
    Ok(())
}
