//! Routes that explain: `why`, `check`, `verify`.

use std::path::PathBuf;

use axum::{body::Body, extract::State as Given, http::Response};

use super::{
    body::Json,
    failure::{Failure, Result},
    guard::Caller,
    house::House,
    keys::Scope,
    scope,
    search::json,
    state::{State, Work},
};
use crate::{
    index::{Index, Snapshot, SourceRecord},
    ingest::{self, Why, WhyOptions},
    retrieve::{self, Saved},
    serve::{
        api::{CheckRequest, VerifyRequest, WhyRequest},
        wire::{self, WhyResult},
    },
    types::SourceId,
};

/// A path without what the current folder of a client adds to it.
pub fn spelled(what: &str) -> &str {
    what.trim_start_matches("./").trim_end_matches('/')
}

/// What is known of a file, and its record if there is one. Where the server has files of its own to look at, and the
/// caller may know of them, also why one that is not in the index is not.
pub fn explain(
    state: &State,
    caller: &Caller,
    house: &House,
    snapshot: &Snapshot,
    file: &str,
    collection: Option<&str>,
) -> Result<(WhyResult, Option<SourceRecord>)> {
    let wanted = if ingest::PageUrl::is_one(file) { file } else { spelled(file) };
    let mut sources = snapshot.sources(None)?;
    scope::retain(caller, &mut sources);
    let id = file.parse::<SourceId>().ok();
    let is_it = |source: &&SourceRecord| {
        collection.is_none_or(|name| name == source.collection)
            && (Some(source.id) == id || source.display_path() == wanted || source.path.as_str() == wanted)
    };
    if let Some(source) = sources.iter().find(is_it) {
        let chunks = snapshot.chunks_of(source.id)?;
        let Why { reason, message, .. } = Why::of_record(source);
        let freshness = house.files(snapshot).freshness(source);
        let path = source.display_path();
        let result = WhyResult::known(path, (reason, message), snapshot.generation(), source, freshness, &chunks);
        return Ok((result, Some(source.clone())));
    }
    let settings = &state.options().ingest;
    // A path is looked at on disk only below folders that were ingested: whether another file exists is nobody's business.
    let inside =
        house.files(snapshot).path(wanted).filter(|_| caller.is_insider() && !PathBuf::from(wanted).has_root());
    let inside = inside.filter(|_| !wanted.split('/').any(|part| part == ".."));
    let options = WhyOptions {
        home: house.home.clone(),
        roots: snapshot.roots(),
        index_dir: &house.dir,
        sources: &sources,
        include: &settings.include,
        exclude: &settings.exclude,
        hidden: settings.hidden,
        follow: settings.follow,
        archives: settings.archives,
        max_file_bytes: settings.max_file_bytes,
    };
    let nowhere = PathBuf::from("\u{0}");
    let why = ingest::why(inside.as_deref().unwrap_or(&nowhere), &options);
    let why = match inside {
        Some(_) => why,
        None => Why { reason: "absent", message: "the index holds nothing of it".to_owned(), rule: None },
    };
    Ok((WhyResult::unknown(wanted.to_owned(), &why, snapshot.generation()), None))
}

/// `POST /v1/why`
pub async fn why(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<WhyRequest>,
) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    let house = state.house(&caller)?;
    let (own, who) = (state.clone(), caller.clone());
    let result = state.work(&caller, Work::Search, None, move || {
        let snapshot = house.snapshot()?;
        let collection = request.collection.as_deref();
        explain(&own, &who, &house, &snapshot, &request.file, collection).map(|(result, _)| result)
    });
    json(&result.await?)
}

/// `POST /v1/check`
pub async fn check(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<CheckRequest>,
) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    if !caller.sees_all() {
        return Err(Failure::forbidden(
            "a saved answer is checked against the whole index, of which the key sees a part",
        ));
    }
    let house = state.house(&caller)?;
    let result = state.work(&caller, Work::Search, None, move || {
        let saved = Saved::read(&request.answer).map_err(|why| {
            Failure::usage(format!("`answer` is no saved answer: {why}"))
                .hint("`rag ask … --json > FILE` saves one; so does the text that `rag ask` prints, sources included")
        })?;
        let snapshot = house.snapshot()?;
        let files = house.files(&snapshot);
        let checked = retrieve::check(&snapshot, &saved, &|source| files.file(source))?;
        Ok(wire::CheckResult::from(&checked))
    });
    json(&result.await?)
}

/// `POST /v1/verify`
pub async fn verify(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<VerifyRequest>,
) -> Result<Response<Body>> {
    caller.check(Scope::Admin)?;
    let house = state.house(&caller)?;
    let is_insider = caller.is_insider();
    let result = state.work(&caller, Work::Answer, None, move || {
        let index = Index::open(&house.dir)?;
        let report = if request.paranoid { index.verify_thoroughly()? } else { index.verify()? };
        let generation = index.snapshot().ok().map(|snapshot| snapshot.generation());
        Ok(wire::VerifyResult {
            schema: "rag.verify/1".into(),
            index: house.shown(is_insider),
            generation,
            sound: report.is_sound(),
            faults: report.faults.iter().map(ToString::to_string).collect(),
            files: report.files as u64,
            bytes: report.bytes,
            paranoid: request.paranoid,
            orphans: report.orphans.iter().map(|path| path.display().to_string()).collect(),
        })
    });
    json(&result.await?)
}
