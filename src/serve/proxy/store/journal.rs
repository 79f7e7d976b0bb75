//! What was answered and is not yet in the database: records appended to a file before the client hears the end of an answer.
//!
//! A record that was written is in the page cache of the system, so it survives the death of this process. A power loss may
//! take what no commit has followed yet; it is a cache.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::super::identity::Key;

const NAME: &str = "journal.";
/// Longest record that is believed.
const MAX_RECORD_BYTES: usize = 256 << 20;

/// One file a batch; the files of batches that are committed are removed.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    file: File,
    number: u64,
}

/// Key and stored bytes.
pub type Record = (Key, Vec<u8>);

impl Journal {
    /// Begins a new file beside those that are there, and gives what they hold, oldest first.
    pub fn open(dir: &Path) -> io::Result<(Self, Vec<Record>)> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(dir)? {
            let name = entry?.file_name();
            numbers.extend(name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        let mut records = Vec::new();
        for number in &numbers {
            records.extend(read(&fs::read(path(dir, *number))?));
        }
        let number = numbers.last().map_or(0, |last| last + 1);
        Ok((Self { dir: dir.to_path_buf(), file: create(dir, number)?, number }, records))
    }

    /// Appends a record in one write.
    pub fn append(&mut self, key: &Key, stored: &[u8]) -> io::Result<()> {
        let length = u32::try_from(stored.len()).ok().filter(|length| *length as usize <= MAX_RECORD_BYTES);
        let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the record is too long"))?;
        let mut record = Vec::with_capacity(stored.len() + 40);
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&crc32c::crc32c_append(crc32c::crc32c(key), stored).to_le_bytes());
        record.extend_from_slice(key);
        record.extend_from_slice(stored);
        self.file.write_all(&record)
    }

    /// Begins the next file; what was written so far may be removed by [`forget`](Self::forget) once it is committed.
    pub fn turn(&mut self) -> io::Result<u64> {
        let before = self.number;
        self.file = create(&self.dir, before + 1)?;
        self.number = before + 1;
        Ok(before)
    }

    /// Removes the files up to this number.
    pub fn forget(dir: &Path, up_to: u64) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let number = entry.file_name().to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u64>().ok());
            if number.is_some_and(|number| number <= up_to) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{NAME}{number}"))
}

fn create(dir: &Path, number: u64) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path(dir, number))
}

/// The whole records of a file; a torn one, and whatever follows it, is not there.
fn read(mut bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<40>() {
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, sum) = (number(0) as usize, number(4));
        let Some((stored, rest)) = rest.split_at_checked(length) else { break };
        let mut key = [0; 32];
        key.copy_from_slice(&head[8..]);
        if length > MAX_RECORD_BYTES || crc32c::crc32c_append(crc32c::crc32c(&key), stored) != sum {
            break;
        }
        records.push((key, stored.to_vec()));
        bytes = rest;
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_and_torn_ones_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, before) = Journal::open(dir.path()).unwrap();
        assert!(before.is_empty());
        for n in 0..5u8 {
            journal.append(&[n; 32], &vec![n; usize::from(n) * 10]).unwrap();
        }
        let whole = fs::read(path(dir.path(), 0)).unwrap();
        let want: Vec<Record> = (0..5u8).map(|n| ([n; 32], vec![n; usize::from(n) * 10])).collect();
        assert_eq!(read(&whole), want);
        for end in 0..whole.len() {
            let read = read(&whole[..end]);
            assert_eq!(read, want[..read.len()], "cut at {end}");
            assert!(read.len() < 5);
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            let read = read(&flipped);
            assert_eq!(read, want[..read.len()], "flipped at {at}");
            assert!(read.len() < 5, "flipped at {at}");
        }
    }

    #[test]
    fn files_turn_and_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(dir.path()).unwrap();
        journal.append(&[1; 32], b"one").unwrap();
        let done = journal.turn().unwrap();
        journal.append(&[2; 32], b"two").unwrap();
        assert_eq!(Journal::open(dir.path()).unwrap().1.len(), 2);
        Journal::forget(dir.path(), done).unwrap();
        assert_eq!(Journal::open(dir.path()).unwrap().1, [([2; 32], b"two".to_vec())]);
    }
}
