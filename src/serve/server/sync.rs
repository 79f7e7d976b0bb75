//! Files of clients on their way in: `rag ingest --remote`. The conversation is described in [`api`](crate::serve::api).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    extract::{Path, Request, State as Given},
    http::Response,
};

use super::{
    body::{Json, Parts, check_length},
    failure::{Failure, Result},
    guard::{Audit, Caller},
    house::House,
    ingest::{check_path, check_root, known_extension, options, whole},
    search::json,
    state::State,
};
use crate::{
    ingest::{self, Arrival, Manifest, ManifestFile, Report, Times},
    serve::{
        api::{
            ErrorType, MAX_CONTENTS_BYTES, MAX_SYNC_FILES, Sync, SyncContent, SyncFile, SyncFiles, SyncFinish,
            SyncRequest, SyncTaken, SyncWanted,
        },
        wire,
    },
};

/// Conversations at once.
const MAX_SESSIONS: usize = 64;
/// One that says nothing for so long is over.
const SILENCE: Duration = Duration::from_secs(60 * 60);
/// Files of one conversation.
const MAX_FILES: usize = 1_000_000;
/// The line before a file's bytes.
const MAX_LINE_BYTES: usize = 16 << 10;

/// All conversations of this process.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

/// One client's files.
pub struct Session {
    tenant: Option<String>,
    house: Arc<House>,
    options: ingest::Options,
    used: Mutex<Instant>,
    talk: Mutex<Talk>,
}

/// What was said.
struct Talk {
    manifest: Manifest,
    done: Report,
    is_complete: bool,
}

impl Sessions {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Session>>> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A request that goes on, however long it waits, is no silence.
        sessions.retain(|_, session| {
            let silence = session.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            silence < SILENCE || Arc::strong_count(session) > 1
        });
        sessions
    }

    fn find(&self, id: &str, caller: &Caller) -> Result<Arc<Session>> {
        // Who may not see the collection has not begun it.
        let is_own = |session: &&Arc<Session>| {
            session.tenant.as_deref() == caller.tenant() && caller.sees(&session.options.collection)
        };
        let session = self.lock().get(id).filter(is_own).cloned();
        let session = session.ok_or_else(|| {
            Failure::not_found(format!("no conversation `{id}`"))
                .hint("begin again: what was committed is not asked for again")
        })?;
        *session.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(session)
    }
}

impl Session {
    fn talk(&self) -> std::sync::MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `POST /v1/sync`
pub async fn begin(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<SyncRequest>,
) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    for path in request.below.iter().filter(|path| !path.is_empty()) {
        check_path(path)?;
    }
    let house = state.house(&caller)?;
    let options = options(&state, &caller, &house, &request.settings)?;
    let own = state.clone();
    let root = request.root.clone();
    let (house, generation) = state
        .blocking(move || {
            house.create(&own)?;
            let snapshot = house.snapshot()?;
            check_root(Some(&snapshot), &root)?;
            Ok((house, snapshot.generation()))
        })
        .await?;
    let id = state.next_id();
    let session = Session {
        tenant: caller.tenant().map(str::to_owned),
        house,
        used: Mutex::new(Instant::now()),
        talk: Mutex::new(Talk {
            manifest: Manifest::new(request.root, request.below, request.narrowed),
            done: Report::default(),
            is_complete: false,
        }),
        options,
    };
    let mut sessions = state.0.sessions.lock();
    if sessions.len() >= MAX_SESSIONS {
        return Err(Failure::busy());
    }
    let max_file_bytes = session.options.max_file_bytes.min(MAX_CONTENTS_BYTES - MAX_LINE_BYTES as u64);
    sessions.insert(id.clone(), Arc::new(session));
    drop(sessions);
    let schema = "rag.sync/1".to_owned();
    json(&Sync { schema, id, generation, max_file_bytes, max_contents_bytes: MAX_CONTENTS_BYTES })
}

/// `DELETE /v1/sync/{id}`
pub async fn give_up(Given(state): Given<State>, caller: Caller, Path(id): Path<String>) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    state.0.sessions.find(&id, &caller)?;
    state.0.sessions.lock().remove(&id);
    json(&serde_json::json!({}))
}

/// `POST /v1/sync/{id}/files`
pub async fn files(
    Given(state): Given<State>,
    caller: Caller,
    Path(id): Path<String>,
    Json(request): Json<SyncFiles>,
) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    let session = state.0.sessions.find(&id, &caller)?;
    if request.files.len() > MAX_SYNC_FILES {
        return Err(Failure::usage(format!("more than {MAX_SYNC_FILES} files at once")));
    }
    for file in &request.files {
        check_path(&file.path)?;
        let is_hash = |hash: &String| hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !file.hash.as_ref().is_none_or(is_hash) {
            return Err(Failure::usage(format!("the hash of `{}` is no blake3 in hex", file.path)));
        }
    }
    let wants = state.blocking(move || {
        let snapshot = session.house.snapshot()?;
        let mut talk = session.talk();
        if talk.manifest.len() + request.files.len() > MAX_FILES {
            return Err(Failure::usage(format!("more than {MAX_FILES} files under one root")));
        }
        let named = |file: SyncFile| {
            let SyncFile { path, size, mtime_ns, ctime_ns, inode, hash } = file;
            ManifestFile { path, size_bytes: size, times: Times { mtime_ns, ctime_ns, inode }, hash }
        };
        let files = request.files.into_iter().map(named).collect();
        let mut wants = talk.manifest.add(&snapshot, &session.options, files, request.last)?;
        talk.is_complete |= request.last;
        if session.options.dry_run {
            // Nothing is going to be done with it.
            wants.send.clear();
        }
        Ok(SyncWanted { stand: wants.stand, hash: wants.hash, send: wants.send })
    });
    json(&wants.await?)
}

/// `POST /v1/sync/{id}/contents`
pub async fn contents(
    Given(state): Given<State>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    let session = state.0.sessions.find(&id, &caller)?;
    if session.options.dry_run {
        return Err(Failure::usage("a dry run takes no contents"));
    }
    check_length(request.headers(), MAX_CONTENTS_BYTES)?;
    let place = state.room_for_files(request.headers(), MAX_CONTENTS_BYTES).await?;
    let parts = Parts::new(request.into_body(), MAX_CONTENTS_BYTES, state.options().limits.idle_timeout);
    let contents = read(parts).await?;
    let collection = session.options.collection.clone();
    let own = state.clone();
    let taken = state.writing(move || {
        let _place = place;
        take(&own, &caller, &session, contents)
    });
    let taken = taken.await?;
    let mut response = json(&taken)?;
    response.extensions_mut().insert(Audit { collection });
    Ok(response)
}

/// Reads contents: a line, the bytes it announces, and again. What is announced is never more than the body may have.
async fn read(mut parts: Parts) -> Result<Vec<(SyncContent, Vec<u8>)>> {
    let bad = |what: &str| Failure::new(ErrorType::BadRequest, what);
    let mut buffer = Buffer::default();
    let mut files = Vec::new();
    loop {
        let line = loop {
            if let Some(line) = buffer.line() {
                break line;
            }
            if buffer.len() > MAX_LINE_BYTES {
                return Err(bad("the line before a file is too long"));
            }
            match parts.next().await? {
                Some(part) => buffer.push(&part),
                None if buffer.len() == 0 => return Ok(files),
                None => return Err(bad("the contents break off in a line")),
            }
        };
        let content: SyncContent = serde_json::from_slice(&line)
            .map_err(|error| Failure::usage(format!("the line before a file: {error}")))?;
        check_path(&content.path)?;
        if content.size > MAX_CONTENTS_BYTES {
            return Err(super::body::too_large(MAX_CONTENTS_BYTES));
        }
        let size = usize::try_from(content.size).map_err(|_| super::body::too_large(MAX_CONTENTS_BYTES))?;
        while buffer.len() < size {
            match parts.next().await? {
                Some(part) => buffer.push(&part),
                None => return Err(bad("the contents break off in a file")),
            }
        }
        files.push((content, buffer.take(size)));
    }
}

/// What came and is not used yet.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    at: usize,
}

impl Buffer {
    fn len(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn push(&mut self, part: &Bytes) {
        // What was used goes when there is more of it than of the rest, so that each byte is moved once or twice.
        if self.at > self.bytes.len() / 2 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(part);
    }

    fn take(&mut self, size: usize) -> Vec<u8> {
        let taken = self.bytes[self.at..self.at + size].to_vec();
        self.at += size;
        taken
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().take(MAX_LINE_BYTES).position(|byte| *byte == b'\n')?;
        let line = self.take(end);
        self.at += 1;
        Some(line)
    }
}

fn take(
    state: &State,
    caller: &Caller,
    session: &Arc<Session>,
    contents: Vec<(SyncContent, Vec<u8>)>,
) -> Result<SyncTaken> {
    let house = &session.house;
    let root = session.talk().manifest.root().to_owned();
    let mut arrivals = Vec::new();
    let mut named = Vec::new();
    for (content, bytes) in contents {
        let times = Times { mtime_ns: content.mtime_ns, ctime_ns: content.ctime_ns, inode: content.inode };
        let extension = content.extension.as_deref().map(known_extension).transpose()?;
        // It may have changed since it was named: this is what counts now.
        let hash = Some(blake3::hash(&bytes).to_hex().to_string());
        named.push(ManifestFile { path: content.path.clone(), size_bytes: bytes.len() as u64, times, hash });
        let times = Some(times);
        arrivals.push(Arrival { root: root.clone(), path: content.path, extension, title: None, times, bytes });
    }
    let files = arrivals.len();
    let (own, of) = (state.clone(), Arc::clone(session));
    let report = house.write(state, caller.room(), move |writer, embedder| {
        let silent = |_: ingest::Event<'_>| {};
        let cancel = &own.options().cancel;
        whole(ingest::arrive(writer, embedder, &of.options, arrivals, &silent, cancel)?)
    })?;
    let snapshot = house.snapshot()?;
    let mut talk = session.talk();
    let is_complete = talk.is_complete;
    talk.manifest.add(&snapshot, &session.options, named, is_complete)?;
    let (failed, chunks, generation) = (report.failed.len(), report.chunks_written, report.generation);
    talk.done = std::mem::take(&mut talk.done).followed_by(report);
    Ok(SyncTaken { files, failed, chunks, generation })
}

/// `POST /v1/sync/{id}/finish`
pub async fn finish(
    Given(state): Given<State>,
    caller: Caller,
    Path(id): Path<String>,
    Json(request): Json<SyncFinish>,
) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    let session = state.0.sessions.find(&id, &caller)?;
    let collection = session.options.collection.clone();
    let own = state.clone();
    let report = state.writing(move || settle(&own, &caller, &session, request)).await?;
    state.0.sessions.lock().remove(&id);
    let mut response = json(&report)?;
    response.extensions_mut().insert(Audit { collection });
    Ok(response)
}

fn settle(state: &State, caller: &Caller, session: &Arc<Session>, request: SyncFinish) -> Result<wire::IngestReport> {
    let house = &session.house;
    let manifest = {
        let talk = session.talk();
        if !talk.is_complete {
            return Err(Failure::usage("not all files were named: the last of them come with `last`"));
        }
        talk.manifest.clone()
    };
    let options = &session.options;
    let is_whole = manifest.is_empty() && options.prune && !options.allow_empty && request.vanished.is_empty();
    let snapshot = house.snapshot()?;
    let held = snapshot.sources(Some(&options.collection))?;
    let held = held.iter().filter(|source| source.root == manifest.root()).count();
    if is_whole && held > 0 && !manifest.is_narrowed() {
        return Err(Failure::usage(format!("no file was named, but the index holds {held} of this root"))
            .hint("nothing was changed: is a disk not mounted? `--allow-empty` takes the documents out of the index"));
    }
    let (own, of) = (state.clone(), Arc::clone(session));
    let report = house.write(state, caller.room(), move |writer, embedder| {
        let silent = |_: ingest::Event<'_>| {};
        let gone = (&request.vanished[..], &request.unreadable[..]);
        let watched: (&dyn ingest::Observer, _) = (&silent, &own.options().cancel);
        whole(manifest.settle(writer, embedder, &of.options, gone, watched)?)
    })?;
    let all = std::mem::take(&mut session.talk().done).followed_by(report);
    Ok(wire::IngestReport::new(&all, house.embedder_name(state)?))
}
