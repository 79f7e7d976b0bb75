//! How bytes reach the disk so that they stay: every call that changes the index folder passes through here.
//!
//! Useful for: durable writes with modes that keep other users out, counting what was written, refusing to go on after
//! a failed write (after a failed fsync the kernel may have dropped the pages, so a retry would lie), and dying at the
//! n-th call in tests. Not for: reading.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering},
    },
};

const STREAM_BUFFER: usize = 256 * 1024;

/// What happens at the chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process ends at once, before the call, as by `kill -9`.
    Kill,
    /// The call fails with `ENOSPC`'s kind, and so do all later ones of that writer.
    Fail,
    /// As [`Fault::Kill`], but the call happens first, and of a write only the first half.
    Tear,
}

static CALLS_LEFT: AtomicI64 = AtomicI64::new(-1);
static FAULT: AtomicU8 = AtomicU8::new(0);

/// Ends the process before the `n`-th changing call from now (from 0). For crash tests; the door may read `n` from the
/// environment.
pub fn kill_after(n: u32) {
    inject(Fault::Kill, n);
}

/// Lets the `n`-th changing call of this process (from 0) meet a fault. For tests.
pub fn inject(fault: Fault, n: u32) {
    FAULT.store(fault as u8, Ordering::SeqCst);
    CALLS_LEFT.store(i64::from(n), Ordering::SeqCst);
}

/// A fault was injected and no call has met it yet.
pub fn is_pending() -> bool {
    CALLS_LEFT.load(Ordering::SeqCst) >= 0
}

/// Whether the call that asks is the chosen one.
fn due() -> Option<Fault> {
    if CALLS_LEFT.load(Ordering::Relaxed) < 0 || CALLS_LEFT.fetch_sub(1, Ordering::SeqCst) != 0 {
        return None;
    }
    match FAULT.load(Ordering::SeqCst) {
        fault if fault == Fault::Fail as u8 => Some(Fault::Fail),
        fault if fault == Fault::Tear as u8 => Some(Fault::Tear),
        _ => Some(Fault::Kill),
    }
}

/// A change to the disk that was made. For tests of what is left when the power fails; files are known by their inode.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Change {
    Folder(PathBuf),
    Create(PathBuf, u64),
    Write(u64, Vec<u8>),
    Sync(u64),
    SyncFolder(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

static IS_TRACED: AtomicBool = AtomicBool::new(false);
static TRACE: Mutex<Vec<Change>> = Mutex::new(Vec::new());

/// Keeps every change from now on, with all bytes written. For tests.
pub fn trace() {
    IS_TRACED.store(true, Ordering::SeqCst);
}

/// The changes kept so far, in their order.
pub fn traced() -> Vec<Change> {
    std::mem::take(&mut *TRACE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn note(change: impl FnOnce() -> Change) {
    if IS_TRACED.load(Ordering::Relaxed) {
        TRACE.lock().unwrap_or_else(PoisonError::into_inner).push(change());
    }
}

/// 0 where the system has none.
fn inode(file: &File) -> u64 {
    #[cfg(unix)]
    return file.metadata().map_or(0, |meta| std::os::unix::fs::MetadataExt::ino(&meta));
    #[cfg(not(unix))]
    return u64::from(file.metadata().is_err());
}

/// One writer's way to the disk. Clones share their state.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk(Arc<State>);

#[derive(Debug, Default)]
struct State {
    written: AtomicU64,
    failed: AtomicBool,
    /// What failed first.
    failure: OnceLock<(io::ErrorKind, String)>,
}

impl Disk {
    /// Bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// A write or sync has failed; nothing more will be written.
    pub(super) fn has_failed(&self) -> bool {
        self.0.failed.load(Ordering::SeqCst)
    }

    /// Runs one changing call. A failure that may have lost bytes stops this writer for good.
    fn step<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.has_failed() {
            return Err(io::Error::other("an earlier write failed"));
        }
        let result = match due() {
            None => call(),
            Some(Fault::Fail) => Err(io::Error::new(io::ErrorKind::StorageFull, "injected: no space left on device")),
            Some(Fault::Kill) => std::process::abort(),
            Some(Fault::Tear) => {
                let _ = call();
                std::process::abort()
            }
        };
        if let Err(error) = &result {
            let _ = self.0.failure.set((error.kind(), error.to_string()));
            self.0.failed.store(true, Ordering::SeqCst);
        }
        result
    }

    /// The first failure, if there was one.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.0.failure.get().map(|(kind, what)| io::Error::new(*kind, what.clone()))
    }

    /// Makes a folder with mode 0700; one that is there is left as it is, also one that another process makes meanwhile.
    pub(super) fn create_dir(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        self.step(|| match builder.create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        })?;
        note(|| Change::Folder(path.to_path_buf()));
        Ok(())
    }

    /// Makes a new file with mode 0600. Errors if the name is taken.
    pub(super) fn create(&self, path: &Path) -> io::Result<File> {
        let file = self.step(|| options().create_new(true).open(path))?;
        note(|| Change::Create(path.to_path_buf(), inode(&file)));
        Ok(file)
    }

    pub(super) fn write_all(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        if CALLS_LEFT.load(Ordering::Relaxed) == 0 && FAULT.load(Ordering::SeqCst) == Fault::Tear as u8 {
            let half = &bytes[..bytes.len() / 2];
            return self.step(|| file.write_all(half));
        }
        self.step(|| file.write_all(bytes))?;
        note(|| Change::Write(inode(file), bytes.to_vec()));
        self.0.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn sync(&self, file: &File) -> io::Result<()> {
        self.step(|| file.sync_data())?;
        note(|| Change::Sync(inode(file)));
        Ok(())
    }

    /// Makes the names in a folder durable.
    pub(super) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // Elsewhere a folder cannot be opened as a file, and its names are durable without.
        self.step(|| if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) })?;
        note(|| Change::SyncFolder(path.to_path_buf()));
        Ok(())
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|| fs::rename(from, to))?;
        note(|| Change::Rename(from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    /// Removes a file; one that is gone already is no error. A failure loses nothing, so it stops nothing.
    pub(super) fn remove_file(&self, path: &Path) -> io::Result<()> {
        match due() {
            Some(Fault::Fail) => return Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            Some(Fault::Kill | Fault::Tear) => std::process::abort(),
            None => {}
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => {
                note(|| Change::Remove(path.to_path_buf()));
                Ok(())
            }
        }
    }

    /// Removes everything in a folder, links not followed. A folder that is not there is empty.
    pub(super) fn empty_dir(&self, path: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.empty_dir(&entry.path())?;
                fs::remove_dir(entry.path())?;
            } else {
                self.remove_file(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Puts a whole file under a name: written beside (in `tmp`, which must be on the same file system), synced, renamed.
    /// The name itself is durable only after [`sync_dir`](Self::sync_dir) of its folder.
    pub(super) fn write_file(&self, tmp: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.stream_file(tmp, path, |out| out.write_all(bytes)).map(|_| ())
    }

    /// As [`write_file`](Self::write_file), for content that comes in pieces. Gives its length and crc32c.
    pub(super) fn stream_file(
        &self,
        tmp: &Path,
        path: &Path,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<(u64, u32)> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let beside = tmp.join(format!("{}-{serial}", std::process::id()));
        let file = self.create(&beside)?;
        let output = Output { disk: self, file, bytes: 0, checksum: 0 };
        let mut output = io::BufWriter::with_capacity(STREAM_BUFFER, output);
        content(&mut output)?;
        let output = output.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.sync(&output.file)?;
        self.rename(&beside, path)?;
        Ok((output.bytes, output.checksum))
    }

    /// Opens the lock file for reading and writing, made with mode 0600 if it is not there.
    pub(super) fn open_lock(&self, path: &Path) -> io::Result<File> {
        let mut options = options();
        options.read(true).create(true);
        // A lock that cannot be opened (a read-only folder) is no lost write.
        options.open(path)
    }
}

/// A file being streamed: counts and checks what passes.
struct Output<'a> {
    disk: &'a Disk,
    file: File,
    bytes: u64,
    checksum: u32,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write_all(&mut self.file, bytes)?;
        self.bytes += bytes.len() as u64;
        self.checksum = crc32c::crc32c_append(self.checksum, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Reads a small file whole. Errors with `InvalidData` if it is longer than `max_bytes`, before reading it.
pub(super) fn read_small(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > max_bytes {
        let what = format!("{size} bytes where at most {max_bytes} are expected");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    io::Read::read_to_end(&mut io::Read::take(file, max_bytes), &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t03_files_are_ours_alone_whatever_the_umask() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::default();
        let (tmp, name) = (dir.path().join("tmp"), dir.path().join("a"));
        disk.create_dir(&tmp).unwrap();
        disk.create_dir(&tmp).unwrap();
        disk.write_file(&tmp, &name, b"one").unwrap();
        disk.write_file(&tmp, &name, b"two!").unwrap();
        assert_eq!(fs::read(&name).unwrap(), b"two!");
        assert_eq!(disk.written(), 7);
        assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&name).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::metadata(&tmp).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn nothing_is_written_after_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::default();
        assert!(disk.create(&dir.path().join("no/such/folder")).is_err());
        assert!(disk.has_failed());
        let error = disk.create(&dir.path().join("a")).unwrap_err();
        assert!(error.to_string().contains("earlier"), "{error}");
        assert!(!dir.path().join("a").exists());
        // Removing is no write: it may go on.
        fs::write(dir.path().join("b"), "").unwrap();
        disk.remove_file(&dir.path().join("b")).unwrap();
        disk.remove_file(&dir.path().join("b")).unwrap();
    }

    #[test]
    fn small_files_have_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_small(&path, 5).unwrap(), b"12345");
        assert_eq!(read_small(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
