//! Vectors on their way into an index: a file that lets an interrupted ingest go on without embedding a text twice.
//!
//! One file a space, appended to, never synced: a crash may lose its tail, and each record is checked when it is read.
//! A folder keeps the cache that was opened last: that of a space no longer written would never be cleared.
//! Useful for: the texts of one ingest, from their embedding to the commit. Not useful for: keeping vectors for good; the
//! index does, and a commit leaves only what still waits.
//!
//! ```text
//! | 0: magic "RAGE" 1A 0A | u16 version | u32 dim | u32 crc32c of the 12 bytes before |
//! | 16: records of 16 + 4 × dim + 4 bytes: first 16 bytes of blake3 of the text | dim × f32 | u32 crc32c of both |
//! ```
//! Numbers are little-endian.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Error, Result};
use crate::types::EmbeddingSpace;

/// A cache that would grow beyond this takes no more: about 690,000 vectors of 384 values.
pub const MAX_CACHE_BYTES: u64 = 1 << 30;

const MAGIC: &[u8; 6] = b"RAGE\x1a\n";
/// Of a cache's file name.
const EXTENSION: &str = "cache";

const VERSION: u16 = 1;
const HEADER_BYTES: usize = 16;
const CRC_BYTES: usize = 4;

/// What stands for a text: the first 16 bytes of its blake3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; KEY_BYTES]);

const KEY_BYTES: usize = 16;

impl Key {
    /// The key of a text as it is embedded, its prefix not counted: the file's space has that.
    pub fn of(text: &str) -> Self {
        let mut key = [0; KEY_BYTES];
        blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut key);
        Self(key)
    }
}

/// The cache of one space. Threads may share it; processes may not: the index's writer lock keeps them apart.
#[derive(Debug)]
pub struct EmbeddingCache {
    path: PathBuf,
    dim: usize,
    limit: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Where each record begins.
    records: HashMap<Key, u64>,
    /// Where the next one goes.
    end: u64,
}

impl EmbeddingCache {
    /// Opens or makes the cache of `space` in `folder`, which is made with mode 0700 if it is missing; caches of other
    /// spaces in it are removed. Reads the file once; records that are damaged or torn are forgotten, and a file of
    /// another version or dimension is begun anew.
    pub fn open(folder: &Path, space: &EmbeddingSpace) -> Result<Self> {
        Self::open_with_limit(folder, space, MAX_CACHE_BYTES)
    }

    fn open_with_limit(folder: &Path, space: &EmbeddingSpace, limit: u64) -> Result<Self> {
        make_folder(folder).map_err(|source| Error::Io { act: "make the folder", path: folder.to_owned(), source })?;
        let path = folder.join(format!("{}.{EXTENSION}", space.folder()));
        remove_others(folder, &path);
        let failed = |act: &'static str| {
            let path = path.clone();
            move |source| Error::Io { act, path, source }
        };
        let mut options = File::options();
        // What was embedded is nobody else's business.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.read(true).write(true).create(true).truncate(false).open(&path).map_err(failed("open"))?;
        let state = State::read(file, space.dim).map_err(failed("read"))?;
        Ok(Self { path, dim: space.dim, limit, state: Mutex::new(state) })
    }

    /// The vector of a text, if it is here: `dim` values. One read.
    pub fn get(&self, key: Key) -> Result<Option<Vec<f32>>> {
        let mut state = self.state();
        let Some(&start) = state.records.get(&key) else { return Ok(None) };
        let mut record = vec![0; record_bytes(self.dim)];
        let read = state.file.seek(SeekFrom::Start(start)).and_then(|_| state.file.read_exact(&mut record));
        read.map_err(|source| self.failed("read", source))?;
        Ok(parse(&record).filter(|(found, _)| *found == key).map(|(_, vector)| vector))
    }

    /// Keeps the vector of a text: `dim` values. One write. Says whether it is kept: a full cache takes no more.
    pub fn put(&self, key: Key, vector: &[f32]) -> Result<bool> {
        assert_eq!(vector.len(), self.dim, "a vector of the cache's space");
        let record = render(key, vector);
        let mut state = self.state();
        if state.records.contains_key(&key) {
            return Ok(true);
        }
        let (start, end) = (state.end, state.end.saturating_add(record.len() as u64));
        if end > self.limit {
            return Ok(false);
        }
        let written = state.file.seek(SeekFrom::Start(start)).and_then(|_| state.file.write_all(&record));
        // After a failed write the next record goes over the torn one.
        written.map_err(|source| self.failed("write", source))?;
        state.records.insert(key, start);
        state.end = end;
        Ok(true)
    }

    /// Forgets every vector and gives their space on disk back.
    pub fn clear(&self) -> Result<()> {
        let mut state = self.state();
        state.records.clear();
        state.end = HEADER_BYTES as u64;
        state.file.set_len(HEADER_BYTES as u64).map_err(|source| self.failed("clear", source))
    }

    /// Forgets every vector but those of `keys` and gives the space of the rest on disk back. Reads and writes what it
    /// keeps and moves.
    pub fn retain(&self, keys: &HashSet<Key>) -> Result<()> {
        let mut state = self.state();
        let size = record_bytes(self.dim) as u64;
        let mut kept: Vec<(u64, Key)> =
            state.records.iter().filter(|(key, _)| keys.contains(key)).map(|(key, start)| (*start, *key)).collect();
        kept.sort_unstable();
        // Every record moves towards the beginning, onto whole places of records that are moved or forgotten already, so
        // whatever a crash leaves is whole records, torn ones that their checksums tell, and copies.
        state.records.clear();
        state.end = HEADER_BYTES as u64;
        let mut record = vec![0; record_bytes(self.dim)];
        for (start, key) in kept {
            let end = state.end;
            if start != end {
                let State { file, .. } = &mut *state;
                let moved = file
                    .seek(SeekFrom::Start(start))
                    .and_then(|_| file.read_exact(&mut record))
                    .and_then(|()| file.seek(SeekFrom::Start(end)))
                    .and_then(|_| file.write_all(&record));
                moved.map_err(|source| self.failed("shorten", source))?;
            }
            state.records.insert(key, end);
            state.end = end + size;
        }
        state.file.set_len(state.end).map_err(|source| self.failed("shorten", source))
    }

    /// How many vectors are here.
    pub fn len(&self) -> usize {
        self.state().records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, act: &'static str, source: io::Error) -> Error {
        Error::Io { act, path: self.path.clone(), source }
    }
}

/// Makes a folder that is nobody else's business; those above it as usual.
fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

/// Removes the caches of other spaces. One that cannot be removed costs space and nothing else.
fn remove_others(folder: &Path, ours: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path != ours && path.extension().is_some_and(|extension| extension == EXTENSION) {
            let _ = fs::remove_file(path);
        }
    }
}

impl State {
    /// Finds the whole records of a file, or begins it.
    fn read(mut file: File, dim: usize) -> io::Result<Self> {
        let (header, size) = (header(dim), record_bytes(dim));
        let mut reader = BufReader::with_capacity(1 << 16, &file);
        let mut found = [0; HEADER_BYTES];
        let ours = match reader.read_exact(&mut found) {
            Ok(()) => found == header,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(error),
        };
        let mut records = HashMap::new();
        let mut end = HEADER_BYTES as u64;
        if ours {
            let whole = (file.metadata()?.len() - end) / size as u64;
            let mut record = vec![0; size];
            for _ in 0..whole {
                reader.read_exact(&mut record)?;
                if let Some((key, _)) = parse(&record) {
                    records.insert(key, end);
                }
                end += size as u64;
            }
            file.set_len(end)?;
        } else {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&header)?;
        }
        Ok(Self { file, records, end })
    }
}

fn record_bytes(dim: usize) -> usize {
    KEY_BYTES + 4 * dim + CRC_BYTES
}

fn header(dim: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..6].copy_from_slice(MAGIC);
    header[6..8].copy_from_slice(&VERSION.to_le_bytes());
    header[8..12].copy_from_slice(&u32::try_from(dim).unwrap_or(u32::MAX).to_le_bytes());
    let crc = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&crc.to_le_bytes());
    header
}

fn render(key: Key, vector: &[f32]) -> Vec<u8> {
    let mut record = Vec::with_capacity(record_bytes(vector.len()));
    record.extend_from_slice(&key.0);
    record.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
    let crc = crc32c::crc32c(&record);
    record.extend_from_slice(&crc.to_le_bytes());
    record
}

/// Key and vector of a record, if its checksum holds.
fn parse(record: &[u8]) -> Option<(Key, Vec<f32>)> {
    let (body, crc) = record.split_last_chunk::<CRC_BYTES>()?;
    let (key, values) = body.split_first_chunk::<KEY_BYTES>()?;
    let sound = crc32c::crc32c(body) == u32::from_le_bytes(*crc);
    sound.then(|| (Key(*key), values.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Embedder, fake::FakeEmbedder};

    const DIM: usize = 64;

    fn space() -> EmbeddingSpace {
        FakeEmbedder::new().space().clone()
    }

    fn vector(seed: usize) -> Vec<f32> {
        (0..DIM).map(|i| (seed * 100 + i) as f32).collect()
    }

    fn open(folder: &Path) -> EmbeddingCache {
        EmbeddingCache::open(folder, &space()).expect("opens")
    }

    fn key(i: usize) -> Key {
        Key::of(&format!("text {i}"))
    }

    fn filled(folder: &Path, count: usize) -> PathBuf {
        let cache = open(folder);
        for i in 0..count {
            assert!(cache.put(key(i), &vector(i)).expect("kept"));
        }
        cache.path
    }

    #[test]
    fn vectors_survive_reopening_until_cleared() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("cache");
        let path = filled(&folder, 5);
        let cache = open(&folder);
        assert_eq!(cache.len(), 5);
        assert!(cache.put(key(2), &vector(9)).expect("kept"), "a text keeps its first vector");
        for i in 0..5 {
            assert_eq!(cache.get(key(i)).expect("read"), Some(vector(i)));
        }
        assert_eq!(cache.get(key(5)).expect("read"), None);
        cache.clear().expect("cleared");
        assert_eq!((cache.len(), cache.get(key(1)).expect("read")), (0, None));
        assert!(cache.put(key(7), &vector(7)).expect("kept"));
        drop(cache);
        let cache = open(&folder);
        assert_eq!((cache.len(), cache.get(key(7)).expect("read")), (1, Some(vector(7))));
        assert_eq!(fs::metadata(path).expect("there").len(), (HEADER_BYTES + record_bytes(DIM)) as u64);
    }

    #[test]
    fn the_bytes_are_those_of_the_module_doc() {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes = fs::read(filled(folder.path(), 1)).expect("read");
        assert_eq!(&bytes[..12], b"RAGE\x1a\n\x01\0\x40\0\0\0");
        assert_eq!(bytes[12..16], crc32c::crc32c(&bytes[..12]).to_le_bytes());
        assert_eq!(bytes[16..32], blake3::hash(b"text 0").as_bytes()[..16]);
        assert_eq!(bytes[36..40], 1f32.to_le_bytes());
        assert_eq!(bytes[32 + 4 * DIM..], crc32c::crc32c(&bytes[16..32 + 4 * DIM]).to_le_bytes());
    }

    #[test]
    fn a_file_cut_anywhere_gives_its_whole_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = filled(folder.path(), 3);
        let whole = fs::read(&path).expect("read");
        for length in (0..=whole.len()).rev().step_by(7) {
            fs::write(&path, &whole[..length]).expect("written");
            let cache = open(folder.path());
            let want = length.saturating_sub(HEADER_BYTES) / record_bytes(DIM);
            assert_eq!(cache.len(), want, "{length}");
            assert_eq!(cache.get(key(0)).expect("read"), (want > 0).then(|| vector(0)));
            assert!(cache.put(key(50), &vector(50)).expect("kept"));
            drop(cache);
            assert_eq!(open(folder.path()).get(key(50)).expect("read"), Some(vector(50)), "{length}");
        }
    }

    #[test]
    fn a_changed_bit_costs_one_record() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = filled(folder.path(), 3);
        let whole = fs::read(&path).expect("read");
        for at in (HEADER_BYTES..whole.len()).step_by(13) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, &bytes).expect("written");
            let hit = (at - HEADER_BYTES) / record_bytes(DIM);
            let cache = open(folder.path());
            for i in 0..3 {
                assert_eq!(cache.get(key(i)).expect("read"), (i != hit).then(|| vector(i)), "byte {at}, text {i}");
            }
        }
        // Damage after opening is seen when the record is read.
        fs::write(&path, &whole).expect("written");
        let cache = open(folder.path());
        fs::write(&path, vec![0; whole.len()]).expect("written");
        assert_eq!(cache.get(key(0)).expect("read"), None);
    }

    #[test]
    fn foreign_files_are_begun_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = filled(folder.path(), 2);
        let mut other_version = fs::read(&path).expect("read");
        other_version[6] = 9;
        for bytes in [other_version, b"not a cache at all, but long enough".to_vec(), Vec::new()] {
            fs::write(&path, bytes).expect("written");
            let cache = open(folder.path());
            assert!(cache.is_empty());
            assert!(cache.put(key(1), &vector(1)).expect("kept"));
            drop(cache);
            assert_eq!(open(folder.path()).get(key(1)).expect("read"), Some(vector(1)));
        }
    }

    #[test]
    fn spaces_do_not_mix_and_a_full_cache_takes_no_more() {
        let folder = tempfile::tempdir().expect("a folder");
        filled(folder.path(), 2);
        let other = EmbeddingSpace { revision: "2".to_owned(), ..space() };
        let limit = (HEADER_BYTES + 2 * record_bytes(DIM)) as u64;
        let cache = EmbeddingCache::open_with_limit(folder.path(), &other, limit).expect("opens");
        assert!(cache.is_empty());
        let kept: Vec<bool> = (0..4).map(|i| cache.put(key(i), &vector(i)).expect("no error")).collect();
        assert_eq!(kept, [true, true, false, false]);
        drop(cache);
        assert!(open(folder.path()).is_empty(), "a folder keeps one cache");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[test]
    fn only_caches_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.txt"), "x").expect("written");
        fs::write(folder.path().join("old.cache"), "x").expect("written");
        filled(folder.path(), 1);
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).expect("listed").map(|entry| entry.expect("listed").file_name()).collect();
        names.sort_unstable();
        assert_eq!(names.len(), 2);
        assert!(names.contains(&"a.txt".into()) && !names.contains(&"old.cache".into()), "{names:?}");
    }

    #[cfg(unix)]
    #[test]
    fn folder_and_file_are_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("deep/cache");
        let file = filled(&folder, 1);
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    }

    #[test]
    fn what_is_retained_is_all_that_is_left() {
        for keep in [vec![], vec![0], vec![4], vec![1, 3], vec![0, 1, 2, 3, 4], vec![2, 9]] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = filled(folder.path(), 5);
            let cache = open(folder.path());
            cache.retain(&keep.iter().map(|&i| key(i)).collect()).expect("shortened");
            let check = |cache: &EmbeddingCache| {
                for i in 0..5 {
                    let want = keep.contains(&i).then(|| vector(i));
                    assert_eq!(cache.get(key(i)).expect("read"), want, "{keep:?}: {i}");
                }
            };
            check(&cache);
            let left = keep.iter().filter(|&&i| i < 5).count();
            assert_eq!(fs::metadata(&path).expect("there").len(), (HEADER_BYTES + left * record_bytes(DIM)) as u64);
            assert!(cache.put(key(7), &vector(7)).expect("kept"));
            drop(cache);
            let cache = open(folder.path());
            check(&cache);
            assert_eq!((cache.len(), cache.get(key(7)).expect("read")), (left + 1, Some(vector(7))));
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_an_error_with_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        let error = EmbeddingCache::open(&file, &space()).unwrap_err();
        assert!(error.to_string().starts_with("cannot make the folder `"), "{error}");
    }
}
