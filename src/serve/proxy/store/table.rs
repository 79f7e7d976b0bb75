//! The database file: stored bytes by key, and beside them what must be known of all of them at the start.

use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};

use super::super::{
    error::{Error, Result},
    identity::Key,
};

/// Stored bytes.
const ENTRIES: TableDefinition<&Key, &[u8]> = TableDefinition::new("entries");
/// When it was stored, its size, the order in which it came.
const FACTS: TableDefinition<&Key, (u64, u64, u64)> = TableDefinition::new("facts");
/// Questions by meaning, for `--semantic`.
const QUESTIONS: TableDefinition<&Key, &[u8]> = TableDefinition::new("questions");

/// Pages kept in memory.
const CACHE_BYTES: usize = 64 << 20;

const FILE: &str = "cache.redb";
const ASIDE: &str = "cache.redb.damaged";

/// What one commit changes.
#[derive(Debug, Default)]
pub struct Batch {
    pub put: Vec<Put>,
    pub delete: Vec<Key>,
    /// Everything goes first.
    pub clear: bool,
}

/// An entry to be written.
#[derive(Debug, Clone)]
pub struct Put {
    pub key: Key,
    pub stored_at: u64,
    pub order: u64,
    pub bytes: std::sync::Arc<Vec<u8>>,
    pub question: Option<std::sync::Arc<Vec<u8>>>,
}

/// One line of the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    pub key: Key,
    pub stored_at: u64,
    pub size_bytes: u64,
    pub order: u64,
}

/// The open database.
pub struct Table {
    database: Database,
    /// Commits fail, as on a full disk.
    #[cfg(test)]
    pub is_full: std::sync::atomic::AtomicBool,
}

/// What becomes of a damaged database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damaged {
    /// It gets another name, and an empty one is begun.
    SetAside,
    /// It stays as it is: nobody came to use it.
    Refuse,
}

impl Table {
    /// Opens the database of a folder and reads what it knows; gives the name under which a damaged one was set aside.
    /// A disk that cannot be read is no damage. Errors: `Io`, `Store`, and `Damaged` where that is refused.
    pub fn open(dir: &Path, damaged: Damaged) -> Result<(Self, Vec<Fact>, Option<PathBuf>)> {
        let path = dir.join(FILE);
        match Self::read_whole(&path) {
            Ok((table, facts)) => Ok((table, facts, None)),
            Err(Error::Damaged { .. }) if damaged == Damaged::SetAside => {
                let aside = free_name(dir);
                std::fs::rename(&path, &aside).map_err(Error::io("set aside", &path))?;
                let (table, facts) = Self::read_whole(&path)?;
                Ok((table, facts, Some(aside)))
            }
            Err(error) => Err(error),
        }
    }

    fn read_whole(path: &Path) -> Result<(Self, Vec<Fact>)> {
        let database = open(path)?;
        let table = Self {
            database,
            #[cfg(test)]
            is_full: false.into(),
        };
        // Whole pages with senseless content are damage too: of another program, or another version.
        let facts = table.facts().map_err(|error| match error {
            redb::Error::Io(source) => Error::io("read", path)(source),
            _ => Error::Damaged { path: path.to_path_buf() },
        })?;
        Ok((table, facts))
    }

    /// What is there, in the order it came. Errors: a sentence.
    fn facts(&self) -> std::result::Result<Vec<Fact>, redb::Error> {
        let reading = self.database.begin_read()?;
        let table = match reading.open_table(FACTS) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut all = Vec::new();
        for entry in table.iter()? {
            let (key, value) = entry?;
            let (stored_at, size_bytes, order) = value.value();
            all.push(Fact { key: *key.value(), stored_at, size_bytes, order });
        }
        all.sort_by_key(|fact| fact.order);
        Ok(all)
    }

    /// The questions that are kept, by the key of their answers.
    pub fn questions(&self) -> std::result::Result<Vec<(Key, Vec<u8>)>, redb::Error> {
        let reading = self.database.begin_read()?;
        let table = match reading.open_table(QUESTIONS) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        table.iter()?.map(|entry| entry.map(|(k, v)| (*k.value(), v.value().to_vec())).map_err(Into::into)).collect()
    }

    pub fn read(&self, key: &Key) -> std::result::Result<Option<Vec<u8>>, redb::Error> {
        let reading = self.database.begin_read()?;
        let table = match reading.open_table(ENTRIES) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(table.get(key)?.map(|value| value.value().to_vec()))
    }

    /// Commits a batch; when this returns, it is on the disk.
    pub fn commit(&self, batch: &Batch) -> std::result::Result<(), redb::Error> {
        #[cfg(test)]
        if self.is_full.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(redb::Error::Io(std::io::ErrorKind::StorageFull.into()));
        }
        let writing = self.database.begin_write()?;
        if batch.clear {
            writing.delete_table(ENTRIES)?;
            writing.delete_table(FACTS)?;
            writing.delete_table(QUESTIONS)?;
        }
        {
            let mut entries = writing.open_table(ENTRIES)?;
            let mut facts = writing.open_table(FACTS)?;
            let mut questions = writing.open_table(QUESTIONS)?;
            for key in &batch.delete {
                entries.remove(key)?;
                facts.remove(key)?;
                questions.remove(key)?;
            }
            for put in &batch.put {
                entries.insert(&put.key, put.bytes.as_slice())?;
                facts.insert(&put.key, (put.stored_at, put.bytes.len() as u64, put.order))?;
                match &put.question {
                    Some(question) => drop(questions.insert(&put.key, question.as_slice())?),
                    None => drop(questions.remove(&put.key)?),
                }
            }
        }
        writing.commit()?;
        Ok(())
    }
}

/// Reads every page of an existing file once, so that a flipped bit is found here and not by a panic later.
fn open(path: &Path) -> Result<Database> {
    use redb::{DatabaseError, StorageError};
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    #[cfg(unix)]
    {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map_err(Error::io("open", path))?;
    }
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.create(path)));
    match opened {
        Ok(Ok(database)) => Ok(database),
        Ok(Err(DatabaseError::Storage(StorageError::Io(error))))
            if !matches!(error.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) =>
        {
            Err(Error::io("open", path)(error))
        }
        Ok(Err(
            error @ (DatabaseError::DatabaseAlreadyOpen
            | DatabaseError::LockProtocolMismatch
            | DatabaseError::TransactionInProgress),
        )) => Err(Error::Store { path: path.to_path_buf(), why: error.to_string() }),
        Ok(Err(_)) | Err(_) => Err(Error::Damaged { path: path.to_path_buf() }),
    }
}

/// Removes the databases that were set aside.
pub fn forget_set_aside(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(ASIDE)) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn free_name(dir: &Path) -> PathBuf {
    let names = (1..1000).map(|n| dir.join(format!("{ASIDE}-{n}")));
    names.into_iter().find(|path| !path.exists()).unwrap_or_else(|| dir.join(ASIDE))
}
