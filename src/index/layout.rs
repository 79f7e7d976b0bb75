//! Which names, magic numbers and versions are on disk: one table. `docs/format.md` says what they mean.
//!
//! Useful for: every file of this room that builds or reads a path. Not for: the bytes inside vector files, which
//! `vector` describes itself.

use std::path::{Path, PathBuf};

/// The format this program writes.
pub(super) const FORMAT: u32 = 1;
/// The oldest program that may read what this one writes.
pub(super) const LEAST_READER: u32 = 1;
/// Format number, least reader and the index's own id; proof that a folder is ours.
pub(super) const FORMAT_FILE: &str = "FORMAT";
/// More bytes than this in `FORMAT` or `lock` are not ours.
pub(super) const MAX_SMALL_FILE: u64 = 64 * 1024;
/// Held with `flock` by the one writer.
pub(super) const LOCK_FILE: &str = "lock";
/// Tantivy's files.
pub(super) const TEXT_DIR: &str = "text";
/// The commit point: renamed into place, never changed.
pub(super) const META_FILE: &str = "meta.json";
/// A folder for each embedding space.
pub(super) const VECTORS_DIR: &str = "vectors";
/// The embedding space of its folder.
pub(super) const SPACE_FILE: &str = "space.toml";
/// Says of a space's folder that it is being built and no generation names it yet.
pub(super) const BEGUN_FILE: &str = "begun";
/// More bytes than this in `space.toml` are not ours: a probe of 65,536 values fits.
pub(super) const MAX_SPACE_FILE: u64 = 4 * 1024 * 1024;
/// More bytes than this in a manifest are not ours.
pub(super) const MAX_TOC_FILE: u64 = 64 * 1024 * 1024;
/// Embeddings of a batch in flight; ours to make, the ingest room's to fill.
pub(super) const CACHE_DIR: &str = "cache";
/// Scratch, emptied when a writer starts.
pub(super) const TMP_DIR: &str = "tmp";
/// Settings a person may put into the folder before the index is there.
pub(super) const CONFIG_FILE: &str = "rag.toml";
/// What may lie in a folder that is to become an index.
pub(super) const MAY_PRECEDE: &[&str] = &[LOCK_FILE, TMP_DIR, CACHE_DIR, CONFIG_FILE, ".gitignore"];

/// How often a reader starts over when a writer commits under its hands.
pub(super) const MAX_OPEN_TRIES: u32 = 10;

pub(super) fn text_dir(index: &Path) -> PathBuf {
    index.join(TEXT_DIR)
}

pub(super) fn space_dir(index: &Path, folder: &str) -> PathBuf {
    index.join(VECTORS_DIR).join(folder)
}

/// The manifest of a generation.
pub(super) fn toc_name(generation: u64) -> String {
    format!("{generation}.toc")
}

/// The `serial`-th segment that the commit of `generation` wrote.
pub(super) fn segment_name(generation: u64, serial: usize) -> String {
    format!("{generation}-{serial}.vec")
}

/// The tombstones of a segment as of a generation.
pub(super) fn tombstones_name(segment: &str, generation: u64) -> String {
    format!("{}.{generation}.del", segment.strip_suffix(".vec").unwrap_or(segment))
}

/// Rows of a space that is being built.
pub(super) fn part_name(number: u64) -> String {
    format!("part-{number}.vec")
}

/// The number of such a name.
pub(super) fn part_number(name: &str) -> Option<u64> {
    name.strip_prefix("part-")?.strip_suffix(".vec")?.parse().ok()
}

/// A name is a plain file name of this room's making: it cannot lead out of its folder.
pub(super) fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_say_where_they_come_from() {
        let segment = segment_name(7, 0);
        assert_eq!(segment, "7-0.vec");
        assert_eq!(tombstones_name(&segment, 9), "7-0.9.del");
        assert_eq!(part_number(&part_name(12)), Some(12));
        assert_eq!(part_number("12-0.vec"), None);
        assert_eq!(toc_name(u64::MAX), "18446744073709551615.toc");
        for name in [segment.as_str(), "7-0.9.del", "9.toc"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "..\\x", ".hidden", "a b", "ä"] {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}
