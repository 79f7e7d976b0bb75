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

use super::{layout, snapshot::Snapshot};

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

/// Files inside the index that no committed generation names, sorted. While a writer runs, its work is among them.
pub(super) fn orphans(dir: &Path, snapshot: &Snapshot) -> io::Result<Vec<PathBuf>> {
    let mut orphans = Vec::new();
    let text = layout::text_dir(dir);
    let meta = snapshot.meta_files();
    let mut named: HashSet<PathBuf> = meta.into_iter().map(|name| text.join(name)).collect();
    named.insert(text.join(layout::META_FILE));
    if let (Some(space), Some(toc)) = (&snapshot.manifest().space, &snapshot.manifest().toc) {
        let folder = layout::space_dir(dir, space);
        named.insert(folder.join(layout::SPACE_FILE));
        named.insert(folder.join(&toc.name));
        for entry in snapshot.toc().iter().flat_map(|toc| &toc.entries) {
            named.insert(folder.join(&entry.segment.name));
            named.extend(entry.tombstones.iter().map(|file| folder.join(&file.name)));
        }
    }
    for folder in [text, dir.join(layout::VECTORS_DIR), dir.join(layout::TMP_DIR)] {
        each_file(&folder, &mut |path| {
            if !named.contains(&path) {
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
