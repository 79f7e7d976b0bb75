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
}

impl Table {
    /// Opens the database of a folder. A damaged one is set aside under the name that is given, and an empty one is begun.
    pub fn open(dir: &Path) -> Result<(Self, Option<PathBuf>)> {
        let path = dir.join(FILE);
        match open(&path) {
            Ok(database) => Ok((Self { database }, None)),
            Err(Refused::Io(source)) => Err(Error::io("open", path)(source)),
            Err(Refused::Damaged) => {
                let aside = free_name(dir);
                std::fs::rename(&path, &aside).map_err(Error::io("set aside", &path))?;
                let database = open(&path).map_err(|refused| match refused {
                    Refused::Io(source) => Error::io("open", &path)(source),
                    Refused::Damaged => Error::Store { path: path.clone(), why: "a new one is damaged".to_owned() },
                })?;
                Ok((Self { database }, Some(aside)))
            }
        }
    }

    /// What is there, in the order it came. Errors: a sentence.
    pub fn facts(&self) -> std::result::Result<Vec<Fact>, redb::Error> {
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

enum Refused {
    Io(std::io::Error),
    Damaged,
}

/// Reads every page of an existing file once, so that a flipped bit is found here and not by a panic later.
fn open(path: &Path) -> std::result::Result<Database, Refused> {
    use redb::{DatabaseError, StorageError};
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    #[cfg(unix)]
    {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map_err(Refused::Io)?;
    }
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.create(path)));
    match opened {
        Ok(Ok(database)) => Ok(database),
        Ok(Err(DatabaseError::Storage(StorageError::Io(error))))
            if !matches!(error.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) =>
        {
            Err(Refused::Io(error))
        }
        Ok(Err(_)) | Err(_) => Err(Refused::Damaged),
    }
}

fn free_name(dir: &Path) -> PathBuf {
    let names = (1..1000).map(|n| dir.join(format!("{FILE}.damaged-{n}")));
    names.into_iter().find(|path| !path.exists()).unwrap_or_else(|| dir.join(format!("{FILE}.damaged")))
}
