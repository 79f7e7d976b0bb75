//! A second embedding space, built beside the one in force and put in its place by one commit.
//!
//! While it is built its folder holds `begun`, `space.toml` and parts (segments of rows, each durable when
//! [`NewSpace::add`] returns); no generation names any of them. A run that is cut off leaves them, and the next one into
//! the same space goes on from there. Useful for: changing the model of an index without its sources. Not for: making
//! vectors.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    path::{Path, PathBuf},
};

use super::{
    Committed, Error, Result, Writer, commit, create,
    fs::Disk,
    layout,
    manifest::{SpaceFile, TocFile},
    mmap,
    snapshot::Snapshot,
    vector::{FileEntry, LiveRows, NewRow, Segment, SegmentOptions, Toc, TocEntry, Tombstones, encode_segment},
};
use crate::types::{ChunkId, EmbeddingSpace};

/// A row of the new space: chunk, hash of the embedded text, `dim` finite values.
pub type SpaceRow = (ChunkId, [u8; 16], Vec<f32>);

/// The space being built. Dropping it leaves what was added, for a later run.
pub struct NewSpace<'w> {
    writer: &'w mut Writer,
    dim: usize,
    file: SpaceFile,
    folder: PathBuf,
    parts: Vec<Segment>,
    /// Where the row of each chunk stands: part, row.
    rows: HashMap<u64, (usize, usize)>,
    /// Chunks that were asked for or added, and so belong to the new space.
    confirmed: HashSet<u64>,
    next_part: u64,
    /// What the writer had written before.
    written: u64,
}

impl Writer {
    /// Begins a second space, or goes on with one that was cut off; one begun with another model is dropped. Commits what
    /// is pending first.
    ///
    /// Errors: `Space` where the index is in that space already; `Io`.
    pub fn begin_space(&mut self, space: &EmbeddingSpace) -> Result<NewSpace<'_>> {
        self.commit()?;
        let name = space.folder();
        if self.snapshot().space().is_some_and(|current| current.folder() == name) {
            let (path, found) = (self.dir().to_path_buf(), format!("model `{}`", space.model));
            return Err(Error::Space { path, found, expected: "another one".to_owned() });
        }
        self.drop_begun(Some(&name))?;
        let written = self.folder_and_disk().1.written();
        let begun = self.begin(space);
        let (file, folder, parts) = self.poison_on_error(begun)?;
        let mut rows = HashMap::new();
        for (at, part) in parts.iter().enumerate() {
            rows.extend(part.ids().iter().enumerate().map(|(row, id)| (*id, (at, row))));
        }
        let next_part = next_part(&folder);
        Ok(NewSpace {
            writer: self,
            dim: space.dim,
            file,
            folder,
            parts,
            rows,
            confirmed: HashSet::new(),
            next_part,
            written,
        })
    }

    fn begin(&mut self, space: &EmbeddingSpace) -> Result<(SpaceFile, PathBuf, Vec<Segment>)> {
        let (dir, disk) = self.folder_and_disk();
        let folder = layout::space_dir(dir, &space.folder());
        disk.create_dir(&folder).map_err(failed("create", &folder))?;
        let begun = folder.join(layout::BEGUN_FILE);
        if !begun.exists() {
            // First of all: without it the next writer takes the rest for what a dead one left.
            disk.write_file(&dir.join(layout::TMP_DIR), &begun, b"").map_err(failed("write", &begun))?;
            disk.sync_dir(&folder).map_err(failed("sync", &folder))?;
        }
        let file = create::write_space_file(disk, dir, space)?;
        let parts = read_parts(disk, &folder, space.dim)?;
        Ok((file, folder, parts))
    }

    /// Removes spaces that were begun and not finished, but for one folder. Says how many there were.
    pub fn drop_begun(&mut self, but: Option<&str>) -> Result<usize> {
        let (dir, disk) = self.folder_and_disk();
        let mut dropped = 0;
        for folder in begun(dir, self.snapshot()) {
            if folder.file_name().and_then(|name| name.to_str()) == but {
                continue;
            }
            // The mark last: what is cut off here is a space begun with fewer parts.
            let entries = fs::read_dir(&folder).map_err(failed("list", &folder))?;
            for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
                if path.file_name().is_none_or(|name| name != layout::BEGUN_FILE) {
                    disk.remove_file(&path).map_err(failed("remove", &path))?;
                }
            }
            let mark = folder.join(layout::BEGUN_FILE);
            disk.remove_file(&mark).map_err(failed("remove", &mark))?;
            let _ = fs::remove_dir(&folder);
            dropped += 1;
        }
        Ok(dropped)
    }

    /// Makes this an index without vectors: search by words alone. `None`: it is one.
    pub fn drop_space(&mut self) -> Result<Option<Committed>> {
        self.commit()?;
        self.drop_begun(None)?;
        if self.snapshot().space().is_none() {
            return Ok(None);
        }
        self.swap(None).map(Some)
    }

    /// The commit that puts another space (or none) in force.
    fn swap(&mut self, space: Option<(SpaceFile, TocFile)>) -> Result<Committed> {
        let before = self.folder_and_disk().1.written();
        let result = self.commit_as(|dir, _, snapshot, text| commit::commit_space(dir, snapshot, text, space));
        self.poison_on_error(result)?;
        let bytes_written = self.folder_and_disk().1.written() - before;
        Ok(Committed { generation: self.snapshot().generation(), bytes_written })
    }
}

impl NewSpace<'_> {
    /// The generation whose chunks the new space is for.
    pub fn snapshot(&self) -> &Snapshot {
        self.writer.snapshot()
    }

    /// Rows that an interrupted run left, or this one added.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the row of a chunk is there, made of the text with this hash. If so, it will be part of the space.
    pub fn has(&mut self, id: ChunkId, hash: &[u8; 16]) -> bool {
        let found = self.rows.get(&id.0).is_some_and(|&(part, row)| self.parts[part].hash(row) == *hash);
        if found {
            self.confirmed.insert(id.0);
        }
        found
    }

    /// The vector of another chunk with the same text.
    pub fn vector_by_hash(&self, hash: &[u8; 16]) -> Option<Vec<f32>> {
        self.parts.iter().find_map(|part| Some(part.row(part.find_hash(hash)?).into_owned()))
    }

    /// Adds rows, each of another chunk, and makes them durable. Errors: `Io`, which stops the writer.
    pub fn add(&mut self, rows: &[SpaceRow]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let result = self.write_part(rows);
        let part = self.writer.poison_on_error(result)?;
        let at = self.parts.len();
        for (row, id) in part.ids().iter().enumerate() {
            self.rows.insert(*id, (at, row));
            self.confirmed.insert(*id);
        }
        self.parts.push(part);
        Ok(())
    }

    fn write_part(&mut self, rows: &[SpaceRow]) -> Result<Segment> {
        let (dir, disk) = self.writer.folder_and_disk();
        let rows: Vec<NewRow<'_>> =
            rows.iter().map(|(id, hash, vector)| NewRow { id: id.0, hash: *hash, vector }).collect();
        // Codes are made once, of the whole.
        let options = SegmentOptions { codes_from: usize::MAX, ..self.writer.segment_options().clone() };
        let bytes = encode_segment(self.dim, &rows, &options);
        let path = self.folder.join(layout::part_name(self.next_part));
        disk.write_file(&dir.join(layout::TMP_DIR), &path, &bytes).map_err(failed("write", &path))?;
        disk.sync_dir(&self.folder).map_err(failed("sync", &self.folder))?;
        self.next_part += 1;
        open_part(&path)
    }

    /// Puts the new space in force: from this commit on queries are of it, and the old one's files are removed. Counts all
    /// bytes written since it was begun by this writer.
    ///
    /// Errors: `Space` where a chunk of the index was neither asked for nor added; `Corrupt` where a part is damaged; `Io`.
    pub fn finish(self) -> Result<Committed> {
        let chunks = self.snapshot().manifest().chunks;
        if self.confirmed.len() as u64 != chunks {
            let path = self.writer.folder_and_disk().0.to_path_buf();
            let found = format!("{} rows", self.confirmed.len());
            return Err(Error::Space { path, found, expected: format!("one for each of {chunks} chunks") });
        }
        let written = self.write_whole();
        let toc = self.writer.poison_on_error(written)?;
        let committed = self.writer.swap(Some((self.file, toc)))?;
        let bytes_written = self.writer.folder_and_disk().1.written() - self.written;
        Ok(Committed { bytes_written, ..committed })
    }

    /// All parts as one segment, and the manifest that names it.
    fn write_whole(&self) -> Result<TocFile> {
        let (dir, disk) = self.writer.folder_and_disk();
        let tmp = dir.join(layout::TMP_DIR);
        let generation = self.snapshot().generation() + 1;
        let mut toc = Toc { generation, dim: self.dim, entries: Vec::new(), live_sum: vec![0.0; self.dim] };
        let dead: Vec<Tombstones> = (0..self.parts.len()).map(|at| self.dead_rows(at)).collect();
        let sources: Vec<(&Segment, &Tombstones)> = self.parts.iter().zip(&dead).collect();
        if !self.confirmed.is_empty() {
            let live = LiveRows::of(&sources).map_err(|damage| self.damaged(&damage.to_string()))?;
            let name = layout::segment_name(generation, 0);
            let path = self.folder.join(&name);
            let options = self.writer.segment_options();
            let (bytes, checksum) = disk
                .stream_file(&tmp, &path, |out| live.write(self.dim, options, out))
                .map_err(failed("write", &path))?;
            let segment = open_part(&path)?;
            toc.live_sum.copy_from_slice(segment.sum());
            let rows = u32::try_from(segment.len()).expect("a segment has at most u32::MAX rows");
            let file = FileEntry { name, bytes, checksum };
            toc.entries.push(TocEntry { segment: file, tombstones: None, rows, live: rows });
        }
        let (name, bytes) = (layout::toc_name(generation), toc.encode());
        let path = self.folder.join(&name);
        disk.write_file(&tmp, &path, &bytes).map_err(failed("write", &path))?;
        disk.sync_dir(&self.folder).map_err(failed("sync", &self.folder))?;
        let vectors = dir.join(layout::VECTORS_DIR);
        disk.sync_dir(&vectors).map_err(failed("sync", &vectors))?;
        Ok(TocFile { name, bytes: bytes.len() as u64, crc32c: crc32c::crc32c(&bytes) })
    }

    /// Rows of chunks that are gone, or that another part has anew.
    fn dead_rows(&self, part: usize) -> Tombstones {
        let mut dead = Tombstones::default();
        for (row, id) in self.parts[part].ids().iter().enumerate() {
            if !self.confirmed.contains(id) || self.rows.get(id) != Some(&(part, row)) {
                dead.insert(row);
            }
        }
        dead
    }

    fn damaged(&self, what: &str) -> Error {
        Error::Corrupt { path: self.folder.clone(), what: what.to_owned() }
    }
}

/// Folders of spaces that were begun and are not in force.
pub(super) fn begun(dir: &Path, snapshot: &Snapshot) -> Vec<PathBuf> {
    let current = snapshot.manifest().space.as_ref().map(|space| layout::space_dir(dir, &space.folder));
    let folders = fs::read_dir(dir.join(layout::VECTORS_DIR)).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = folders
        .map(|entry| entry.path())
        .filter(|folder| Some(folder) != current.as_ref() && folder.join(layout::BEGUN_FILE).is_file())
        .collect();
    found.sort();
    found
}

/// The parts that are whole; what is not, is removed.
fn read_parts(disk: &Disk, folder: &Path, dim: usize) -> Result<Vec<Segment>> {
    let mut paths: Vec<(u64, PathBuf)> = part_paths(folder);
    paths.sort();
    let mut parts = Vec::new();
    for (_, path) in paths {
        match open_part(&path) {
            Ok(part) if part.dim() == dim && part.verify().is_ok() => parts.push(part),
            Ok(_) | Err(Error::Corrupt { .. }) => disk.remove_file(&path).map_err(failed("remove", &path))?,
            Err(error) => return Err(error),
        }
    }
    Ok(parts)
}

fn part_paths(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((layout::part_number(entry.file_name().to_str()?)?, entry.path()))).collect()
}

fn next_part(folder: &Path) -> u64 {
    part_paths(folder).iter().map(|(number, _)| number + 1).max().unwrap_or(0)
}

fn open_part(path: &Path) -> Result<Segment> {
    let file = File::open(path).map_err(failed("open", path))?;
    let map = mmap::map(&file).map_err(failed("map", path))?;
    Segment::open(map).map_err(|damage| Error::Corrupt { path: path.to_path_buf(), what: damage.to_string() })
}

fn failed(act: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { act, path, source }
}
