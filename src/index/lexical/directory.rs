//! How tantivy reaches the disk: its own mapped reads, our durable writes.
//!
//! What stock `MmapDirectory` lacks and this adds (`docs/format.md`, "The commit"): the folder is synced after `meta.json`
//! was renamed and before anything old is unlinked; after the first failed write nothing more is written; files are made
//! with mode 0600. The list of files that tantivy keeps in `.managed.json` is the folder itself, so it cannot be wrong, and
//! locks are empty shells: the index has its own writer lock, and readers, who may not even be able to write, start over
//! when a file is gone.

use std::{
    borrow::Cow,
    fmt, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use tantivy::{
    Directory,
    directory::{
        AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback, WatchHandle,
        WritePtr,
        error::{DeleteError, LockError, OpenReadError, OpenWriteError},
    },
};

use super::{
    super::{fs::Disk, layout},
    read_file::ReadFile,
};

/// The name under which tantivy keeps its list of files.
const MANAGED_FILE: &str = ".managed.json";

/// Tantivy's folder. Without a [`Disk`] it refuses every change.
#[derive(Clone)]
pub(in crate::index) struct DurableDirectory {
    reads: MmapDirectory,
    /// Files are read where they are asked for, not mapped.
    unmapped: bool,
    root: PathBuf,
    writes: Option<Writes>,
}

#[derive(Clone)]
struct Writes {
    disk: Disk,
    tmp: PathBuf,
}

impl fmt::Debug for DurableDirectory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DurableDirectory({:?})", self.root)
    }
}

impl DurableDirectory {
    /// The text folder of an index, to be read only.
    pub(in crate::index) fn read(index: &Path) -> tantivy::Result<Self> {
        let root = layout::text_dir(index);
        Ok(Self { reads: MmapDirectory::open(&root)?, unmapped: false, root, writes: None })
    }

    /// As [`read`](Self::read), without a map of any file.
    pub(in crate::index) fn read_unmapped(index: &Path) -> tantivy::Result<Self> {
        Ok(Self { unmapped: true, ..Self::read(index)? })
    }

    /// The text folder of an index, to be written through `disk`.
    pub(in crate::index) fn write(index: &Path, disk: Disk) -> tantivy::Result<Self> {
        let writes = Writes { disk, tmp: index.join(layout::TMP_DIR) };
        Ok(Self { writes: Some(writes), ..Self::read(index)? })
    }

    fn writes(&self) -> io::Result<&Writes> {
        self.writes.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::ReadOnlyFilesystem))
    }

    /// All files of the folder, in the form tantivy stores its own list.
    fn managed(&self) -> io::Result<Vec<u8>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            if let Some(name) = entry.file_name().to_str()
                && !name.starts_with('.')
                && entry.file_type()?.is_file()
            {
                names.push(name.to_owned());
            }
        }
        Ok(serde_json::to_vec(&names)?)
    }
}

impl Directory for DurableDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if self.unmapped {
            return match ReadFile::open(&self.root.join(path)) {
                Ok(file) => Ok(Arc::new(file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Err(OpenReadError::FileDoesNotExist(path.to_owned()))
                }
                Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
            };
        }
        self.reads.get_file_handle(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.reads.exists(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        if path == Path::new(MANAGED_FILE) {
            return self.managed().map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()));
        }
        let bytes = self.reads.atomic_read(path)?;
        if path == Path::new(layout::META_FILE) {
            return unseal(bytes).map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()));
        }
        Ok(bytes)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let removed = self.writes().and_then(|writes| writes.disk.remove_file(&self.root.join(path)));
        removed.map_err(|error| DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let failed = |error| OpenWriteError::wrap_io_error(error, path.to_owned());
        let writes = self.writes().map_err(failed)?;
        let file = writes.disk.create(&self.root.join(path)).map_err(failed)?;
        Ok(io::BufWriter::new(Box::new(Output { file, disk: writes.disk.clone() })))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path == Path::new(MANAGED_FILE) {
            return Ok(());
        }
        let Writes { disk, tmp } = self.writes()?;
        let is_meta = path == Path::new(layout::META_FILE);
        let data = if is_meta { Cow::Owned(seal(data)) } else { Cow::Borrowed(data) };
        disk.write_file(tmp, &self.root.join(path), &data)?;
        // The commit point: only after this may an old file be unlinked, or the commit be told.
        disk.sync_dir(&self.root)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.writes()?.disk.sync_dir(&self.root)
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.reads.watch(callback)
    }
}

/// What begins the last line of `meta.json`.
const SEAL: &str = "# crc32c ";

/// Adds the line with the checksum of all before it. Tantivy's segment files bear one, its `meta.json` does not.
pub(in crate::index) fn seal(json: &[u8]) -> Vec<u8> {
    let mut bytes = json.trim_ascii_end().to_vec();
    bytes.push(b'\n');
    let line = format!("{SEAL}{:08x}\n", crc32c::crc32c(&bytes));
    bytes.extend_from_slice(line.as_bytes());
    bytes
}

/// Checks that line and takes it away.
fn unseal(mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let length = SEAL.len() + 9;
    let body = bytes.len().saturating_sub(length);
    if seal(&bytes[..body]) != bytes {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum is another"));
    }
    bytes.truncate(body);
    Ok(bytes)
}

/// A file on its way: synced when tantivy says that it is whole.
struct Output {
    file: fs::File,
    disk: Disk,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write_all(&mut self.file, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for Output {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.disk.sync(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tantivy::directory::{INDEX_WRITER_LOCK, META_LOCK};

    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(layout::TEXT_DIR)).unwrap();
        fs::create_dir(dir.path().join(layout::TMP_DIR)).unwrap();
        dir
    }

    #[test]
    fn a_reader_leaves_no_trace() {
        let dir = folder();
        let directory = DurableDirectory::read(dir.path()).unwrap();
        for lock in [&*META_LOCK, &*INDEX_WRITER_LOCK] {
            directory.acquire_lock(lock).unwrap();
        }
        assert!(directory.atomic_write(Path::new("meta.json"), b"{}").is_err());
        assert!(directory.open_write(Path::new("a.idx")).is_err());
        assert!(directory.delete(Path::new("a.idx")).is_err());
        assert!(directory.sync_directory().is_err());
        assert_eq!(fs::read_dir(layout::text_dir(dir.path())).unwrap().count(), 0);
    }

    #[test]
    fn the_list_of_files_is_the_folder() {
        let dir = folder();
        let text = layout::text_dir(dir.path());
        for name in ["a.idx", "meta.json", ".hidden"] {
            fs::write(text.join(name), "").unwrap();
        }
        let directory = DurableDirectory::write(dir.path(), Disk::default()).unwrap();
        directory.atomic_write(Path::new(MANAGED_FILE), b"[]").unwrap();
        let mut names: Vec<String> =
            serde_json::from_slice(&directory.atomic_read(Path::new(MANAGED_FILE)).unwrap()).unwrap();
        names.sort();
        assert_eq!(names, ["a.idx", "meta.json"]);
        assert!(!text.join(MANAGED_FILE).exists());
    }

    #[test]
    fn the_first_failure_is_the_last_write() {
        let dir = folder();
        let disk = Disk::default();
        let directory = DurableDirectory::write(dir.path(), disk.clone()).unwrap();
        directory.atomic_write(Path::new("meta.json"), b"{}\n").unwrap();
        fs::write(layout::text_dir(dir.path()).join("taken"), "").unwrap();
        assert!(directory.open_write(Path::new("taken")).is_err());
        assert!(disk.has_failed());
        assert!(directory.atomic_write(Path::new("meta.json"), b"{\"new\":1}").is_err());
        assert_eq!(directory.atomic_read(Path::new("meta.json")).unwrap(), b"{}\n");
    }

    #[test]
    fn a_changed_meta_file_is_found_out() {
        let sealed = seal(b"{\"opstamp\": 1}");
        assert_eq!(unseal(sealed.clone()).unwrap(), b"{\"opstamp\": 1}\n");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 4;
            assert!(unseal(changed).is_err(), "byte {at}");
            assert!(unseal(sealed[..at].to_vec()).is_err(), "cut at {at}");
        }
    }
}
