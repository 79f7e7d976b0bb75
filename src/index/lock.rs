//! Who may write: one process, by `flock` on the file `lock`.
//!
//! The kernel frees the lock when its holder dies, so nothing here ever needs cleaning up. What the file says (pid,
//! host, since, command) is for the message another process shows, never for a decision.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use tantivy::time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{Error, Result, fs::Disk, layout};

/// How often a waiting writer looks again.
const POLL: Duration = Duration::from_millis(50);

/// The writer lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that this one is about to start has a copy of the handle for a moment.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of the index folder, waiting up to `wait` for its holder. Errors: `Locked`, `Io`.
    pub(super) fn take(disk: &Disk, index: &Path, wait: Duration, command: &str) -> Result<Self> {
        let path = index.join(layout::LOCK_FILE);
        let failed = |act| {
            let path = path.clone();
            move |source| Error::Io { act, path, source }
        };
        let mut file = disk.open_lock(&path).map_err(failed("open"))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
                Err(TryLockError::WouldBlock) if started.elapsed() >= wait => {
                    return Err(Error::Locked { path: index.to_path_buf(), holder: holder(&path) });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL.min(wait)),
            }
        }
        say_who(&mut file, command).map_err(failed("write"))?;
        Ok(Self { file })
    }
}

fn say_who(file: &mut File, command: &str) -> io::Result<()> {
    let since = OffsetDateTime::from(SystemTime::now()).replace_nanosecond(0).ok();
    let since = since.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default();
    let command: String = command.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = format!("pid {}\nhost {}\nsince {since}\ncommand {command}\n", std::process::id(), host());
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}

/// This machine's name, empty where the system keeps it elsewhere.
fn host() -> String {
    ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok())
        .map(|name| name.trim().chars().filter(|c| !c.is_control()).collect())
        .unwrap_or_default()
}

/// Who holds the lock of an index now, if anybody does.
pub(super) fn holder_now(index: &Path) -> Option<String> {
    let path = index.join(layout::LOCK_FILE);
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(holder(&path)),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// Who holds the lock, in words: `process 4711 (rag ingest docs, on kiel, since 2026-01-02T03:04:05Z)`.
fn holder(path: &PathBuf) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // Whatever can be read will do: this is a message.
        let _ = file.take(layout::MAX_SMALL_FILE).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let fact = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).filter(|value| !value.is_empty())
    };
    let Some(pid) = fact("pid") else { return "another process".to_owned() };
    let mut facts: Vec<String> = fact("command").map(str::to_owned).into_iter().collect();
    facts.extend(fact("host").map(|host| format!("on {host}")));
    facts.extend(fact("since").map(|since| format!("since {since}")));
    if facts.is_empty() { format!("process {pid}") } else { format!("process {pid} ({})", facts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(dir: &Path, wait: Duration) -> Result<Lock> {
        Lock::take(&Disk::default(), dir, wait, "rag ingest docs")
    }

    #[test]
    fn a_second_writer_learns_who_the_first_is() {
        let dir = tempfile::tempdir().unwrap();
        let first = take(dir.path(), Duration::ZERO).unwrap();
        let error = take(dir.path(), Duration::from_millis(60)).unwrap_err();
        let Error::Locked { holder, .. } = &error else { panic!("{error}") };
        assert!(holder.starts_with(&format!("process {} (rag ingest docs", std::process::id())), "{holder}");
        drop(first);
        take(dir.path(), Duration::ZERO).unwrap();
    }

    #[test]
    fn waiting_pays() {
        let dir = tempfile::tempdir().unwrap();
        let first = take(dir.path(), Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| take(dir.path(), Duration::from_secs(600)));
            drop(first);
            second.join().unwrap().unwrap();
        });
    }

    #[test]
    fn what_a_dead_holder_left_is_no_obstacle() {
        for left in ["", "pid 4711\nhost elsewhere\n", "\0\u{fffd}garbage"] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("lock"), left).unwrap();
            take(dir.path(), Duration::ZERO).unwrap();
        }
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(holder(&dir.path().join("lock")), "another process");
    }
}
