//! How an index folder begins, and how one is recognised.
//!
//! `FORMAT` comes first: from then on the folder is ours, and whatever is half-made in it may be made anew. `meta.json`
//! with its payload comes last: from then on the index exists.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tantivy::{IndexMeta, index::SegmentId};

use super::{
    Error, Index, Result, Settings,
    fs::{Disk, read_small},
    layout,
    lexical::{schema, seal},
    lock::Lock,
    manifest::{Manifest, SpaceFile, TocFile},
    vector::Toc,
};
use crate::types::EmbeddingSpace;

/// How long to wait for another process that makes the same index.
const CREATION: Duration = Duration::from_secs(10);

/// What `FORMAT` says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Format {
    format: u32,
    /// The oldest program that may read the index.
    least_reader: u32,
    uuid: String,
}

/// See [`Index::create`].
pub(super) fn create(dir: &Path, settings: &Settings) -> Result<Index> {
    match open(dir) {
        Ok(index) => {
            check_settings(dir, &index, settings)?;
            return Ok(index);
        }
        Err(Error::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    let disk = Disk::default();
    let failed = |act, path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Io { act, path, source }
    };
    make_dir(&disk, dir)?;
    let _lock = Lock::take(&disk, dir, CREATION, "making the index")?;
    // Another process may have made it meanwhile.
    if let Ok(index) = open(dir) {
        check_settings(dir, &index, settings)?;
        return Ok(index);
    }
    let tmp = dir.join(layout::TMP_DIR);
    for folder in [layout::TMP_DIR, layout::CACHE_DIR] {
        disk.create_dir(&dir.join(folder)).map_err(failed("create", &dir.join(folder)))?;
    }
    disk.empty_dir(&tmp).map_err(failed("empty", &tmp))?;

    let format_path = dir.join(layout::FORMAT_FILE);
    if !format_path.exists() {
        let format = Format {
            format: layout::FORMAT,
            least_reader: layout::LEAST_READER,
            uuid: SegmentId::generate_random().uuid_string(),
        };
        let text = toml::to_string(&format).expect("plain values serialise");
        disk.write_file(&tmp, &format_path, text.as_bytes()).map_err(failed("write", &format_path))?;
        disk.sync_dir(dir).map_err(failed("sync", dir))?;
    }

    for folder in [layout::TEXT_DIR, layout::VECTORS_DIR] {
        let folder = dir.join(folder);
        disk.empty_dir(&folder).map_err(failed("empty", &folder))?;
        disk.create_dir(&folder).map_err(failed("create", &folder))?;
    }
    let format_bytes = read_small(&format_path, layout::MAX_SMALL_FILE).map_err(failed("read", &format_path))?;
    let mut manifest = Manifest { format_crc32c: crc32c::crc32c(&format_bytes), ..Manifest::default() };
    if let Some(space) = &settings.space {
        let (space, toc) = create_space(&disk, dir, space)?;
        manifest.space = Some(space);
        manifest.toc = Some(toc);
    }
    disk.sync_dir(dir).map_err(failed("sync", dir))?;

    let mut meta = IndexMeta::with_schema(schema::FIELDS.schema.clone());
    meta.index_settings = schema::settings();
    meta.payload = Some(manifest.encode());
    let bytes = seal(&serde_json::to_vec_pretty(&meta).expect("plain values serialise"));
    let text = layout::text_dir(dir);
    let meta_path = text.join(layout::META_FILE);
    disk.write_file(&tmp, &meta_path, &bytes).map_err(failed("write", &meta_path))?;
    disk.sync_dir(&text).map_err(failed("sync", &text))?;
    open(dir)
}

/// Makes the folder with mode 0700, and those above it as usual.
fn make_dir(disk: &Disk, dir: &Path) -> Result<()> {
    let failed = |source| Error::Io { act: "create", path: dir.to_path_buf(), source };
    match stranger(dir) {
        Ok(Some(entry)) => Err(Error::NotAnIndex { path: dir.to_path_buf(), entry }),
        Ok(None) if dir.join(layout::FORMAT_FILE).exists() => Ok(()),
        Ok(None) => {
            // A folder that waited for us, with a `rag.toml` perhaps: it is to be as closed as one of our making.
            close_to_others(dir).map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = match dir.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            fs::create_dir_all(parent).map_err(failed)?;
            disk.create_dir(dir).map_err(failed)?;
            disk.sync_dir(parent).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

fn close_to_others(dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let _ = dir;
    Ok(())
}

/// Makes the folder of a space with an empty vector manifest.
fn create_space(disk: &Disk, dir: &Path, space: &EmbeddingSpace) -> Result<(SpaceFile, TocFile)> {
    let path = layout::space_dir(dir, &space.folder());
    let tmp = dir.join(layout::TMP_DIR);
    let failed = |act, path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Io { act, path, source }
    };
    let file = write_space_file(disk, dir, space)?;
    let toc = Toc { generation: 0, dim: space.dim, entries: Vec::new(), live_sum: vec![0.0; space.dim] };
    let bytes = toc.encode();
    let name = layout::toc_name(0);
    disk.write_file(&tmp, &path.join(&name), &bytes).map_err(failed("write", &path.join(&name)))?;
    disk.sync_dir(&path).map_err(failed("sync", &path))?;
    let vectors = dir.join(layout::VECTORS_DIR);
    disk.sync_dir(&vectors).map_err(failed("sync", &vectors))?;
    Ok((file, TocFile { name, bytes: bytes.len() as u64, crc32c: crc32c::crc32c(&bytes) }))
}

/// Makes the folder of a space, if it is not there, and writes its `space.toml`. The folder is synced by whoever fills it.
pub(super) fn write_space_file(disk: &Disk, dir: &Path, space: &EmbeddingSpace) -> Result<SpaceFile> {
    let folder = space.folder();
    let path = layout::space_dir(dir, &folder);
    disk.create_dir(&path).map_err(|source| Error::Io { act: "create", path: path.clone(), source })?;
    let text = toml::to_string(space).expect("plain values serialise");
    let space_path = path.join(layout::SPACE_FILE);
    let written = disk.write_file(&dir.join(layout::TMP_DIR), &space_path, text.as_bytes());
    written.map_err(|source| Error::Io { act: "write", path: space_path, source })?;
    Ok(SpaceFile { folder, crc32c: crc32c::crc32c(text.as_bytes()) })
}

/// See [`Index::open`].
pub(super) fn open(dir: &Path) -> Result<Index> {
    read_format(dir)?;
    // Made half-way only: to be finished by `create`.
    if !layout::text_dir(dir).join(layout::META_FILE).exists() && !was_finished(dir) {
        return Err(Error::NotFound { path: dir.to_path_buf() });
    }
    Ok(Index { dir: dir.to_path_buf() })
}

/// The number of an index's format. Errors: as [`open`].
pub(super) fn format_of(dir: &Path) -> Result<u32> {
    Ok(read_format(dir)?.format)
}

/// Reads `FORMAT`, and refuses what this program does not read.
fn read_format(dir: &Path) -> Result<Format> {
    let path = dir.join(layout::FORMAT_FILE);
    let bytes = match read_small(&path, layout::MAX_SMALL_FILE) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(missing_format(dir));
        }
        Err(source) => return Err(Error::Io { act: "read", path, source }),
    };
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    let text = std::str::from_utf8(&bytes).map_err(|error| damaged(error.to_string()))?;
    let format: Format = toml::from_str(text).map_err(|error| damaged(error.message().to_owned()))?;
    if format.least_reader > layout::FORMAT {
        return Err(Error::Format { path: dir.to_path_buf(), found: format.format, expected: layout::FORMAT });
    }
    if format.format == 0 || format.uuid.is_empty() {
        return Err(damaged("format number and uuid are missing".to_owned()));
    }
    Ok(format)
}

/// There are segments of a commit: an index whose `meta.json` was lost, not one that never began.
fn was_finished(dir: &Path) -> bool {
    let holds = |folder: PathBuf, endings: &[&str]| {
        fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
            let name = entry.file_name();
            endings.iter().any(|ending| name.to_string_lossy().ends_with(ending))
        })
    };
    holds(layout::text_dir(dir), &[".store", ".idx", ".term"])
}

fn missing_format(dir: &Path) -> Error {
    let path = dir.to_path_buf();
    match stranger(dir) {
        Ok(Some(entry)) => Error::NotAnIndex { path, entry },
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && dir.is_file() => Error::NotAFolder { path },
        Ok(None) | Err(_) => Error::NotFound { path },
    }
}

/// What stands in a folder that is no index and may not become one, if anything does.
fn stranger(dir: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !layout::MAY_PRECEDE.contains(&name.as_str()) {
            // Looked for last: another process may be making the index while we read.
            return Ok((!dir.join(layout::FORMAT_FILE).exists()).then_some(name));
        }
    }
    Ok(None)
}

fn check_settings(dir: &Path, index: &Index, settings: &Settings) -> Result<()> {
    let snapshot = index.snapshot()?;
    let (found, expected) = (snapshot.space(), settings.space.as_ref());
    if found.map(EmbeddingSpace::folder) == expected.map(EmbeddingSpace::folder) {
        return Ok(());
    }
    Err(Error::Space { path: dir.to_path_buf(), found: in_words(found, expected), expected: in_words(expected, found) })
}

/// A space as people know it; with more of it where the name alone does not tell it from the other.
fn in_words(space: Option<&EmbeddingSpace>, other: Option<&EmbeddingSpace>) -> String {
    let Some(space) = space else { return "no embedding model".to_owned() };
    if other.is_none_or(|other| other.model != space.model) {
        return format!("model `{}`", space.model);
    }
    let sha256 = space.sha256.get(..12).unwrap_or(&space.sha256);
    format!(
        "model `{}` (revision `{}`, sha256 {sha256}…, {} dimensions, prefixes {:?} and {:?}, folder {})",
        space.model,
        space.revision,
        space.dim,
        space.query_prefix,
        space.passage_prefix,
        space.folder()
    )
}
