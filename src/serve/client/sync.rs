//! Handing files over, step by step: see [`api::Sync`](crate::serve::api::Sync) and its neighbours for the protocol.

use super::{Client, Error, Manner, Result};
use crate::{
    model::http::{Method, Reply},
    serve::{
        api::{CONTENTS_TYPE, Sync, SyncContent, SyncFiles, SyncFinish, SyncRequest, SyncTaken, SyncWanted, routes},
        wire::IngestReport,
    },
};

/// Files on their way, as one body.
#[derive(Debug, Default)]
pub struct Contents {
    bytes: Vec<u8>,
    files: usize,
}

impl Contents {
    /// Adds a file. `about.size` is the length of `bytes`.
    pub fn push(&mut self, about: &SyncContent, bytes: &[u8]) -> Result<()> {
        debug_assert_eq!(about.size, bytes.len() as u64);
        let line = serde_json::to_vec(about).map_err(|error| Error::Unsayable { why: error.to_string() })?;
        self.bytes.extend_from_slice(&line);
        self.bytes.push(b'\n');
        self.bytes.extend_from_slice(bytes);
        self.files += 1;
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// Bytes of the body.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl Client {
    /// Begins. To begin twice is to have begun twice, and the first one is forgotten when nobody uses it.
    pub fn sync(&self, request: &SyncRequest) -> Result<Sync> {
        self.post(routes::SYNC, request, Manner { patient: false, twice: true })
    }

    /// Names files; the answer says which of them are to be hashed or sent.
    pub fn sync_files(&self, id: &str, files: &SyncFiles) -> Result<SyncWanted> {
        self.post(&routes::with_id(routes::SYNC_FILES, id), files, Manner::STUDIES)
    }

    /// Sends contents. When this returns they are durable. The same file twice is one file.
    pub fn sync_contents(&self, id: &str, contents: Contents) -> Result<SyncTaken> {
        let route = routes::with_id(routes::SYNC_CONTENTS, id);
        self.send(Method::POST, &route, Some(contents.bytes), Some(CONTENTS_TYPE), Manner::STUDIES)
    }

    /// Ends, and hears what became of everything.
    pub fn sync_finish(&self, id: &str, finish: &SyncFinish) -> Result<IngestReport> {
        self.post(&routes::with_id(routes::SYNC_FINISH, id), finish, Manner::CHANGES)
    }

    /// Gives up: what was committed stays. Nothing is to be done about a server that is not there any more.
    pub fn sync_give_up(&self, id: &str) -> Result<()> {
        match self.reply(Method::DELETE, &routes::with_id(routes::SYNC_ONE, id), None, None, Manner::ASKS)? {
            Reply::Success(_) => Ok(()),
            Reply::Failure(failure) => Err(self.refused(&failure)),
        }
    }
}
