//! One file: what its stat says, and its bytes, read so that no kind of file can hang, trick or overwhelm the run.
//!
//! Useful for: opening regular files and nothing else. Not for: deciding which files to open.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read},
    path::Path,
};

use crate::index::Problem;

/// The cheap facts that tell whether a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    pub size_bytes: u64,
    /// Nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Nanoseconds since 1970; 0 where the system has none.
    pub ctime_ns: i64,
    /// 0 where the system has none.
    pub inode: u64,
}

impl Stat {
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size_bytes: metadata.len(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    #[cfg(not(unix))]
    pub fn of(metadata: &Metadata) -> Self {
        let since_1970 =
            |time: io::Result<std::time::SystemTime>| match time.map(|t| t.duration_since(std::time::UNIX_EPOCH)) {
                Ok(Ok(after)) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
                Ok(Err(before)) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
                Err(_) => 0,
            };
        Self { size_bytes: metadata.len(), mtime_ns: since_1970(metadata.modified()), ctime_ns: 0, inode: 0 }
    }
}

/// The whole of a file, with the stat that held before and after it was read.
#[derive(Debug)]
pub struct Contents {
    pub bytes: Vec<u8>,
    pub stat: Stat,
}

impl Contents {
    /// blake3 of the bytes in hex.
    pub fn hash(&self) -> String {
        blake3::hash(&self.bytes).to_hex().to_string()
    }
}

/// Bytes that one call of `read` moves while a file is hashed.
const HASH_STEP_BYTES: usize = 256 << 10;

/// How often a file that changes under our hands is tried before it is called `changed`.
const ATTEMPTS: usize = 2;

/// Reads a regular file of at most `max_bytes` whole. Links are not followed, nothing but a regular file is opened for
/// long, and a file that changes meanwhile is read once more.
/// Problems: `vanished`, `permission`, `not_regular`, `too_large`, `changed`, `oom`, `io`.
pub fn read(path: &Path, max_bytes: u64) -> Result<Contents, Problem> {
    for _ in 0..ATTEMPTS {
        let (mut file, before) = open(path)?;
        check_size(before.size_bytes, max_bytes)?;
        let expected = usize::try_from(before.size_bytes).map_err(|_| out_of_memory(before.size_bytes))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(expected.saturating_add(1)).map_err(|_| out_of_memory(before.size_bytes))?;
        // One byte more than the size: a file that grew is seen, and a file that is read for ever is not read for ever.
        let read = Read::by_ref(&mut file).take(before.size_bytes.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| io_problem(&error))?;
        if bytes.len() == expected && same_content(before, stat_of(&file)?) {
            return Ok(Contents { bytes, stat: before });
        }
    }
    Err(changed())
}

/// The blake3 hash of a regular file in hex and its stat, without holding more than a step of it in memory.
/// Problems: as [`read`], without a limit of size.
pub fn hash(path: &Path) -> Result<(String, Stat), Problem> {
    for _ in 0..ATTEMPTS {
        let (mut file, before) = open(path)?;
        let mut hasher = blake3::Hasher::new();
        let mut step = vec![0; HASH_STEP_BYTES];
        let mut left = before.size_bytes.saturating_add(1);
        let mut total = 0u64;
        while left > 0 {
            let n = match file.read(&mut step) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(io_problem(&error)),
            };
            hasher.update(&step[..n]);
            total += n as u64;
            left = left.saturating_sub(n as u64);
        }
        if total == before.size_bytes && same_content(before, stat_of(&file)?) {
            return Ok((hasher.finalize().to_hex().to_string(), before));
        }
    }
    Err(changed())
}

/// Reads at most `max_bytes` of a small regular file; `None` for whatever cannot be read or is no regular file.
pub fn read_small(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    let (file, _) = open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Opens without following a link and without waiting (a FIFO), then looks at what was opened.
fn open(path: &Path) -> Result<(File, Stat), Problem> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| open_problem(&error))?;
    let metadata = file.metadata().map_err(|error| io_problem(&error))?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    Ok((file, Stat::of(&metadata)))
}

fn stat_of(file: &File) -> Result<Stat, Problem> {
    file.metadata().map(|metadata| Stat::of(&metadata)).map_err(|error| io_problem(&error))
}

/// ctime and inode may differ while the bytes do not (a rename, a new link).
fn same_content(before: Stat, after: Stat) -> bool {
    before.size_bytes == after.size_bytes && before.mtime_ns == after.mtime_ns
}

fn check_size(size: u64, max: u64) -> Result<(), Problem> {
    if size > max { Err(too_large(size, max)) } else { Ok(()) }
}

fn open_problem(error: &io::Error) -> Problem {
    #[cfg(unix)]
    {
        let code = error.raw_os_error();
        // A link now stands where a file was; a socket cannot be opened at all.
        if code == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return changed();
        }
        if code == Some(rustix::io::Errno::NXIO.raw_os_error()) {
            return not_regular();
        }
    }
    io_problem(error)
}

/// What an I/O error means for a source. All of these may go away without the file's bytes changing.
pub fn io_problem(error: &io::Error) -> Problem {
    let kind = error.kind();
    if is_absent(kind) {
        transient("vanished", "it was there when the folder was listed and is gone now")
    } else if kind == io::ErrorKind::PermissionDenied {
        transient("permission", "permission to read it is denied")
    } else {
        transient("io", &format!("reading failed: {error}"))
    }
}

/// Nothing is at the path.
pub fn is_absent(kind: io::ErrorKind) -> bool {
    kind == io::ErrorKind::NotFound || kind == io::ErrorKind::NotADirectory
}

pub fn too_large(size: u64, max: u64) -> Problem {
    lasting("too_large", &format!("{size} bytes are more than the limit of {max}"))
}

pub fn not_regular() -> Problem {
    lasting("not_regular", "not a regular file")
}

fn changed() -> Problem {
    transient("changed", "it was changed while it was read")
}

fn out_of_memory(size: u64) -> Problem {
    transient("oom", &format!("no memory for its {size} bytes"))
}

/// A problem that the same bytes will have again.
pub fn lasting(reason: &str, message: &str) -> Problem {
    Problem { reason: reason.to_owned(), message: message.to_owned(), transient: false }
}

/// A problem that may be gone at the next run.
pub fn transient(reason: &str, message: &str) -> Problem {
    Problem { reason: reason.to_owned(), message: message.to_owned(), transient: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason<T>(result: Result<T, Problem>) -> String {
        result.err().map_or_else(|| "fine".to_owned(), |problem| problem.reason)
    }

    #[test]
    fn reads_and_hashes_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for bytes in [vec![], b"text".to_vec(), vec![7; HASH_STEP_BYTES + 3]] {
            std::fs::write(&path, &bytes).unwrap();
            let contents = read(&path, 1 << 20).unwrap();
            assert_eq!(contents.bytes, bytes);
            assert_eq!(hash(&path).unwrap(), (contents.hash(), contents.stat));
        }
    }

    #[test]
    fn size_limit_is_inclusive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(reason(read(&path, 5)), "fine");
        assert_eq!(reason(read(&path, 4)), "too_large");
    }

    #[test]
    fn sparse_giant_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(10 << 30).unwrap();
        assert_eq!(reason(read(&path, 512 << 20)), "too_large");
    }

    #[test]
    fn missing_file_has_vanished() {
        let dir = tempfile::tempdir().unwrap();
        let problem = read(&dir.path().join("no"), 10).unwrap_err();
        assert_eq!((problem.reason.as_str(), problem.transient), ("vanished", true));
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", dir.path().join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("fifo"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        for (name, want) in [("file", "fine"), ("link", "changed"), ("socket", "not_regular"), ("fifo", "not_regular")]
        {
            assert_eq!(reason(read(&dir.path().join(name), 10)), want, "{name}");
            assert_eq!(reason(hash(&dir.path().join(name))), want, "{name}");
        }
        assert_eq!(reason(read(Path::new("/dev/zero"), 10)), "not_regular");
        assert_eq!(reason(read(dir.path(), 10)), "not_regular");
    }
}
