//! How a reader comes to one generation: `meta.json`, its payload, the vector manifest, maps of all files, and `meta.json`
//! once more.

use std::{
    fs::File,
    io,
    path::Path,
    sync::{Arc, OnceLock},
};

use tantivy::ReloadPolicy;

use super::{
    Error, Result, Snapshot,
    error::guard,
    fs::read_small,
    layout,
    lexical::{DurableDirectory, schema::FIELDS},
    manifest::{Manifest, TocFile},
    mmap,
    snapshot::Inner,
    vector::{Bytes, FileEntry, Segment, Set, Toc, Tombstones},
};
use crate::types::EmbeddingSpace;

/// Blocks of 16 KiB that each text segment keeps unpacked.
const STORE_CACHE_BLOCKS: usize = 16;

/// Opens what the index holds now, starting over when a commit gets in between. Takes no lock.
pub(super) fn open(dir: &Path) -> Result<Snapshot> {
    open_by(dir, Access::Mapped)
}

/// How files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Mapped,
    /// Text piece by piece, vectors whole into memory: a file that is cut off meanwhile is an error.
    Read,
}

/// As [`open`], by either way.
pub(super) fn open_by(dir: &Path, access: Access) -> Result<Snapshot> {
    let mut tries = 0;
    loop {
        tries += 1;
        match open_once(dir, access) {
            Ok(Some(snapshot)) => return Ok(snapshot),
            Ok(None) if tries < layout::MAX_OPEN_TRIES => {}
            Err(error) if error.is_missing_file() && tries < layout::MAX_OPEN_TRIES => {}
            Ok(None) => {
                let path = layout::text_dir(dir).join(layout::META_FILE);
                let source = io::Error::from(io::ErrorKind::ResourceBusy);
                return Err(Error::Io { act: "read one state of", path, source });
            }
            // It is not a commit that took the file away.
            Err(Error::Io { path, source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Corrupt { path, what: "the file is missing".to_owned() });
            }
            Err(error) if error.is_missing_file() => {
                return Err(Error::Corrupt { path: layout::text_dir(dir), what: error.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
}

/// `None`: there was a commit meanwhile.
fn open_once(dir: &Path, access: Access) -> Result<Option<Snapshot>> {
    let meta_path = layout::text_dir(dir).join(layout::META_FILE);
    let (index, meta, searcher) = guard(dir, || {
        let index = tantivy::Index::open(directory(dir, access)?)?;
        let meta = index.load_metas()?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(STORE_CACHE_BLOCKS)
            .try_into()?;
        Ok((index, meta, reader.searcher()))
    })?;
    if index.schema() != FIELDS.schema {
        return Err(Error::Corrupt {
            path: meta_path,
            what: "it has other fields than this program writes".to_owned(),
        });
    }
    let payload = meta.payload.as_deref().unwrap_or_default();
    let manifest = Manifest::decode(dir, payload)?;
    let (space, toc, vectors) = match (&manifest.space, &manifest.toc) {
        (Some(space), Some(toc)) => {
            let folder = layout::space_dir(dir, &space.folder);
            let space = read_space(&folder, space.crc32c)?;
            let toc = read_toc(&folder, toc, manifest.generation, space.dim)?;
            let parts = toc.entries.iter().map(|entry| {
                let segment = open_segment(&folder, &entry.segment, entry.rows, toc.dim, access)?;
                let tombstones = open_tombstones(&folder, entry.tombstones.as_ref(), entry.rows)?;
                Ok((segment, tombstones))
            });
            let vectors = Set::new(toc.dim, parts.collect::<Result<_>>()?);
            (Some(space), Some(toc), vectors)
        }
        _ => (None, None, Set::default()),
    };
    let now = guard(dir, || index.load_metas())?;
    let same = now.payload == meta.payload
        && now.opstamp == meta.opstamp
        && now
            .segments
            .iter()
            .map(|s| (s.id(), s.delete_opstamp()))
            .eq(meta.segments.iter().map(|s| (s.id(), s.delete_opstamp())))
        && searcher.segment_readers().len() == meta.segments.len();
    if !same {
        return Ok(None);
    }
    let centroid = toc.as_ref().map(|toc| {
        let n = vectors.len().max(1) as f64;
        toc.live_sum.iter().map(|sum| (sum / n) as f32).collect()
    });
    let dir = dir.to_path_buf();
    let statistics = OnceLock::new();
    let text_files = meta.list_segment_files().into_iter().collect();
    Ok(Some(Snapshot(Arc::new(Inner {
        dir,
        manifest,
        searcher,
        text_files,
        statistics,
        space,
        toc,
        vectors,
        centroid,
    }))))
}

fn read_space(folder: &Path, checksum: u32) -> Result<EmbeddingSpace> {
    let path = folder.join(layout::SPACE_FILE);
    let bytes = read_small(&path, layout::MAX_SPACE_FILE).map_err(io_error("read", &path))?;
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    if crc32c::crc32c(&bytes) != checksum {
        return Err(damaged("its checksum is another".to_owned()));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| damaged(error.to_string()))?;
    let space: EmbeddingSpace = toml::from_str(text).map_err(|error| damaged(error.message().to_owned()))?;
    let name = folder.file_name().and_then(|name| name.to_str());
    if name != Some(space.folder().as_str()) {
        return Err(damaged(format!("it describes the space `{}`", space.folder())));
    }
    Ok(space)
}

/// Reads a vector manifest and checks it against what the payload says of it.
pub(super) fn read_toc(folder: &Path, file: &TocFile, generation: u64, dim: usize) -> Result<Toc> {
    let path = folder.join(&file.name);
    let bytes = read_small(&path, layout::MAX_TOC_FILE).map_err(io_error("read", &path))?;
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    if bytes.len() as u64 != file.bytes || crc32c::crc32c(&bytes) != file.crc32c {
        return Err(damaged("length or checksum differ from what the commit recorded".to_owned()));
    }
    let toc = Toc::decode(&bytes).map_err(|damage| damaged(damage.to_string()))?;
    if (toc.generation, toc.dim) != (generation, dim) {
        let what =
            format!("generation {} and dimension {} where {generation} and {dim} belong", toc.generation, toc.dim);
        return Err(damaged(what));
    }
    Ok(toc)
}

fn open_segment(folder: &Path, file: &FileEntry, rows: u32, dim: usize, access: Access) -> Result<Segment> {
    let path = folder.join(&file.name);
    let bytes = read_bytes(&path, access).map_err(io_error("read", &path))?;
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    if bytes.len() as u64 != file.bytes {
        return Err(damaged(format!("{} bytes where the manifest says {}", bytes.len(), file.bytes)));
    }
    let segment = Segment::open(bytes).map_err(|damage| damaged(damage.to_string()))?;
    if (segment.len(), segment.dim()) != (rows as usize, dim) {
        return Err(damaged(format!("{} rows of {} where {rows} of {dim} belong", segment.len(), segment.dim())));
    }
    Ok(segment)
}

/// All bytes of a file.
pub(super) fn read_bytes(path: &Path, access: Access) -> io::Result<Bytes> {
    match access {
        Access::Mapped => mmap::map(&File::open(path)?),
        Access::Read => Ok(Arc::new(std::fs::read(path)?)),
    }
}

/// The text folder, to be read.
pub(super) fn directory(dir: &Path, access: Access) -> tantivy::Result<DurableDirectory> {
    match access {
        Access::Mapped => DurableDirectory::read(dir),
        Access::Read => DurableDirectory::read_unmapped(dir),
    }
}

fn open_tombstones(folder: &Path, file: Option<&FileEntry>, rows: u32) -> Result<Tombstones> {
    let Some(file) = file else { return Ok(Tombstones::default()) };
    let path = folder.join(&file.name);
    let bytes = read_small(&path, file.bytes).map_err(io_error("read", &path))?;
    let damaged = |what: String| Error::Corrupt { path: path.clone(), what };
    if bytes.len() as u64 != file.bytes || crc32c::crc32c(&bytes) != file.checksum {
        return Err(damaged("length or checksum differ from what the manifest says".to_owned()));
    }
    Tombstones::decode(&bytes, rows as usize).map_err(|damage| damaged(damage.to_string()))
}

fn io_error(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| {
        if source.kind() == io::ErrorKind::InvalidData {
            return Error::Corrupt { path, what: source.to_string() };
        }
        Error::Io { act, path, source }
    }
}
