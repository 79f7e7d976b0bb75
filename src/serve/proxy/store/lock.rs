//! Whose is the cache? One process owns it; another is told which, and where to reach it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::Path,
};

use super::super::error::{Error, Result};

/// The cache is ours until this is dropped, or the process dies.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Who owns a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    /// Where it listens, once it does.
    pub url: Option<String>,
}

impl Lock {
    /// Takes a cache folder. Errors: `Locked` with who has it, `Io`.
    pub fn take(dir: &Path) -> Result<Self> {
        let path = dir.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(Error::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = match read(&path) {
                    Some(Owner { pid, url: Some(url) }) => format!("process {pid} (rag proxy at {url})"),
                    Some(Owner { pid, url: None }) => format!("process {pid}"),
                    None => "another process".to_owned(),
                };
                return Err(Error::Locked { path: dir.to_path_buf(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
        }
        let mut lock = Self { file };
        lock.say(None).map_err(Error::io("write", &path))?;
        Ok(lock)
    }

    /// Writes down where the owner listens.
    pub fn say(&mut self, url: Option<&str>) -> std::io::Result<()> {
        let text = format!("pid {}\n{}", std::process::id(), url.map(|url| format!("url {url}\n")).unwrap_or_default());
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Who owns the cache in this folder now, if anybody does.
pub fn owner(dir: &Path) -> Option<Owner> {
    let path = dir.join("lock");
    match File::open(&path).ok()?.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read(&path).unwrap_or(Owner { pid: 0, url: None })),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

fn read(path: &Path) -> Option<Owner> {
    let mut text = String::new();
    File::open(path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    let fact = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    Some(Owner { pid: fact("pid")?.parse().ok()?, url: fact("url") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_learns_who_the_first_is() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(owner(dir.path()), None);
        let mut lock = Lock::take(dir.path()).unwrap();
        assert_eq!(owner(dir.path()), Some(Owner { pid: std::process::id(), url: None }));
        lock.say(Some("http://127.0.0.1:1")).unwrap();
        let error = Lock::take(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("process {} (rag proxy at http://127.0.0.1:1)", std::process::id())),
            "{error}"
        );
        drop(lock);
        assert_eq!(owner(dir.path()), None);
        Lock::take(dir.path()).unwrap();
    }
}
