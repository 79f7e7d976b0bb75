//! Routes that add documents: texts, uploads, and ingests of the server's own folders and of pages.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    extract::{FromRequest as _, Multipart, Path, Request, State as Given, multipart::Field},
    http::{Response, StatusCode, header},
};

use super::{
    body::{Json, check_length, too_large},
    failure::{Failure, Result},
    guard::{Audit, Caller},
    house::House,
    scope,
    search::json,
    state::State,
};
use crate::{
    index::{Problem, Snapshot, SourceRecord},
    ingest::{self, Content, Deposit, Deposited, PageUrl, Report, detect::extension_for},
    serve::{
        api::{API_ROOT, DocumentRequest, ErrorType, IngestRequest, IngestSettings},
        wire,
        writes::Done,
    },
    types::Kind,
};

/// Where documents go that are given no collection.
const DEFAULT: &str = "default";
/// Longer paths are nobody's.
const MAX_PATH_BYTES: usize = 4096;
const MAX_NAME_BYTES: usize = 128;
/// Of the fields of an upload that are no files.
const MAX_FIELD_BYTES: usize = 16 << 10;

/// The options of an ingest: the server's, with what the client may choose.
pub fn options(state: &State, caller: &Caller, house: &House, settings: &IngestSettings) -> Result<ingest::Options> {
    let base = &state.options().ingest;
    let collection = settings.collection.clone().unwrap_or_else(|| base.collection.clone());
    check_name("collection", &collection)?;
    scope::check_target(caller, &collection)?;
    let in_range = |name: &str, value: Option<u16>, from: u16, to: u16| match value {
        Some(value) if !(from..=to).contains(&value) => {
            Err(Failure::usage(format!("`{name}` is {value}, expected {from} to {to}")))
        }
        Some(_) | None => Ok(value.map(usize::from)),
    };
    let tokens = in_range("chunk_tokens", settings.chunk_tokens, 32, 254)?;
    let overlap = in_range("chunk_overlap", settings.chunk_overlap, 0, 127)?;
    let chunk_tokens = tokens.unwrap_or(base.chunk_tokens);
    let chunk_overlap = overlap.unwrap_or(match tokens {
        Some(tokens) => ingest::default_overlap(tokens),
        None => base.chunk_overlap,
    });
    Ok(ingest::Options {
        home: house.home.clone(),
        index_dir: house.dir.clone(),
        collection,
        tags: settings.tags.clone(),
        chunk_tokens,
        chunk_overlap,
        archives: settings.archives.unwrap_or(base.archives),
        retry_failed: settings.retry_failed,
        prune: !settings.no_prune,
        allow_empty: settings.allow_empty,
        dry_run: settings.dry_run,
        ..base.clone()
    })
}

/// A name on one line that is no path.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let is_fine = !name.trim().is_empty()
        && name.len() <= MAX_NAME_BYTES
        && ![".", ".."].contains(&name)
        && !name.contains(['/', '\\'])
        && !name.contains(char::is_control);
    match is_fine {
        true => Ok(()),
        false => {
            Err(Failure::usage(format!("`{what}` has to be a name without `/`, of at most {MAX_NAME_BYTES} bytes")))
        }
    }
}

/// A path below a root. It never touches a disk, but it is shown as one.
pub fn check_path(path: &str) -> Result<()> {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    let is_fine = path.len() <= MAX_PATH_BYTES && path.split('/').all(is_part) && !path.contains('\0');
    match is_fine {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "a document is called by a relative path like `notes/monday.md`, of at most {MAX_PATH_BYTES} bytes"
        ))),
    }
}

/// A root for what is handed over. Errors: it is a folder's of the index, so that a document could pass for a file.
pub fn check_root(snapshot: Option<&Snapshot>, root: &str) -> Result<()> {
    check_name("root", root)?;
    let Some(snapshot) = snapshot else { return Ok(()) };
    let below = format!("{root}/");
    let is_taken = snapshot.roots().contains_key(root)
        || snapshot
            .sources(None)?
            .iter()
            .any(|source| source.root.is_empty() && source.path.as_str().starts_with(&below));
    match is_taken {
        true => Err(Failure::usage(format!("`{root}` is a folder of the index")).hint("choose another root")),
        false => Ok(()),
    }
}

/// Errors: more documents, or bytes of them, than the key's tenant may have once these are there: their display paths and
/// sizes. What they take the place of does not count.
pub fn check_quota(caller: &Caller, snapshot: &Snapshot, arriving: &[(String, u64)]) -> Result<()> {
    let Some(quota) = caller.key().map(|key| key.quota) else { return Ok(()) };
    let over = |what: &str, limit: u64| {
        Err(Failure::new(ErrorType::TooMany, format!("the quota is {limit} {what}")).hint("remove some first"))
    };
    if quota.documents.is_none() && quota.bytes.is_none() {
        return Ok(());
    }
    let arriving: HashMap<&str, u64> = arriving.iter().map(|(path, size)| (path.as_str(), *size)).collect();
    let mut staying = snapshot.sources(None)?;
    let held = |sources: &[SourceRecord]| {
        let bytes = sources.iter().map(|source| source.size_bytes).fold(0u64, u64::saturating_add);
        (sources.len() as u64, bytes)
    };
    let (documents, bytes) = held(&staying);
    staying.retain(|source| !arriving.contains_key(source.display_path().as_str()));
    let (staying, staying_bytes) = held(&staying);
    let documents_then = staying.saturating_add(arriving.len() as u64);
    let bytes_then = arriving.values().fold(staying_bytes, |sum, size| sum.saturating_add(*size));
    // Who holds more than a quota that was lowered may still put less in the place of what there is.
    for (what, limit, before, then) in
        [("documents", quota.documents, documents, documents_then), ("bytes", quota.bytes, bytes, bytes_then)]
    {
        if let Some(limit) = limit.filter(|limit| then > *limit && then > before) {
            return over(what, limit);
        }
    }
    Ok(())
}

/// Errors: the server stopped in the middle of it; what was committed stays.
pub fn whole(report: Report) -> Result<Report> {
    match report.interrupted {
        true => Err(Failure::new(ErrorType::Busy, "the server is stopping").header(header::RETRY_AFTER, "1")),
        false => Ok(report),
    }
}

/// Adds documents, durable when it returns; those that come at one time share a commit. Blocks.
fn add(
    state: &State,
    caller: &Caller,
    house: &House,
    root: &str,
    deposits: Vec<Deposit>,
) -> Result<wire::IngestReport> {
    let begun = Instant::now();
    house.create(state)?;
    let snapshot = house.snapshot()?;
    check_root(Some(&snapshot), root)?;
    let size = |deposit: &Deposit| match &deposit.content {
        Content::Plain(text) => text.len() as u64,
        Content::File { bytes, .. } => bytes.len() as u64,
    };
    let names: Vec<String> = deposits.iter().map(|deposit| format!("{root}/{}", deposit.name)).collect();
    let arriving: Vec<(String, u64)> = names.iter().cloned().zip(deposits.iter().map(size)).collect();
    check_quota(caller, &snapshot, &arriving)?;
    let is_one = deposits.len() == 1;
    let mut report = Report::default();
    for (path, done) in names.into_iter().zip(house.put(state, caller.room(), deposits)?) {
        match done {
            Ok(Done { generation, put, embedded, bytes_written, .. }) => {
                report.chunks_embedded += embedded;
                // Documents that came together may share a commit.
                if generation > report.generation {
                    report.bytes_written += bytes_written;
                }
                report.generation = report.generation.max(generation);
                for (record, state) in put {
                    let outcome = ingest::Outcome {
                        path: record.display_path(),
                        problems: record.problems.clone(),
                        chunks: record.chunks,
                        from: None,
                    };
                    report.bytes_read += record.size_bytes;
                    if !record.problems.is_empty() {
                        report.warnings.push(outcome.clone());
                    }
                    match state {
                        Deposited::Added => report.added.push(outcome),
                        Deposited::Updated => report.updated.push(outcome),
                        Deposited::Unchanged => report.unchanged.push(outcome),
                    }
                    if state != Deposited::Unchanged {
                        report.chunks_written += u64::from(record.chunks);
                    }
                }
            }
            // What is wrong with the only one is wrong with the request.
            Err(told) if is_one => return Err(told.into()),
            Err(told) => {
                let transient = told.kind != Kind::Usage;
                let problem = Problem { reason: "refused".to_owned(), message: told.message, transient };
                report.failed.push(ingest::Outcome { path, problems: vec![problem], chunks: 0, from: None });
            }
        }
    }
    let snapshot = house.snapshot()?;
    if snapshot.space().is_some() {
        report.chunks_reused = report.chunks_written.saturating_sub(report.chunks_embedded);
    }
    report.generation = report.generation.max(snapshot.generation());
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(wire::IngestReport::new(&report, house.embedder_name(state)?))
}

/// `POST /v1/documents`: a text as JSON, or files as `multipart/form-data`.
pub async fn document(Given(state): Given<State>, caller: Caller, request: Request) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    let house = state.house(&caller)?;
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut place = None;
    let (root, collection, deposits) = match kind.trim().to_ascii_lowercase().starts_with("multipart/form-data") {
        true => {
            let limit = state.options().limits.upload_bytes;
            check_length(request.headers(), limit)?;
            place = Some(state.room_for_files(request.headers(), limit).await?);
            upload(&state, request).await?
        }
        false => {
            let Json(request) = Json::<DocumentRequest>::from_request(request, &state).await?;
            text(request)?
        }
    };
    check_name("collection", &collection)?;
    scope::check_target(&caller, &collection)?;
    let own = state.clone();
    let report = state.writing(move || {
        let _place = place;
        add(&own, &caller, &house, &root, deposits)
    });
    let report = report.await?;
    let mut response = json(&report)?;
    response.extensions_mut().insert(Audit { collection });
    Ok(response)
}

/// Root, collection and documents of a request.
type Handed = (String, String, Vec<Deposit>);

fn text(request: DocumentRequest) -> Result<Handed> {
    let DocumentRequest { name, text, root, extension, title, collection, tags } = request;
    check_path(&name)?;
    let root = root.unwrap_or_else(|| API_ROOT.to_owned());
    let collection = collection.unwrap_or_else(|| DEFAULT.to_owned());
    let extension = extension.map(|word| known_extension(&word)).transpose()?;
    let deposit = Deposit {
        collection: collection.clone(),
        root: root.clone(),
        name,
        content: Content::File { bytes: text.into_bytes(), extension },
        title,
        tags: (!tags.is_empty()).then_some(tags),
        metadata: BTreeMap::new(),
    };
    Ok((root, collection, vec![deposit]))
}

pub fn known_extension(word: &str) -> Result<String> {
    extension_for(word).ok_or_else(|| Failure::usage("no format of that name; say its file extension, as in `md`"))
}

/// Files of a form, and its fields `root`, `collection`, `tag` (`key=value`, may come again).
async fn upload(state: &State, request: Request) -> Result<Handed> {
    let limits = &state.options().limits;
    let bad = |_| Failure::new(ErrorType::BadRequest, "the form is malformed, or larger than is taken");
    let mut form = Multipart::from_request(request, state)
        .await
        .map_err(|_| Failure::new(ErrorType::BadRequest, "the body is no form of files"))?;
    let mut left = limits.upload_bytes;
    let (mut root, mut collection, mut tags) = (API_ROOT.to_owned(), DEFAULT.to_owned(), BTreeMap::new());
    let mut files = Vec::new();
    while let Some(field) = form.next_field().await.map_err(bad)? {
        let (name, file) = (field.name().unwrap_or_default().to_owned(), field.file_name().map(str::to_owned));
        let limit = if file.is_some() { left } else { MAX_FIELD_BYTES as u64 };
        let bytes = part(field, limit, limits.upload_bytes, limits.idle_timeout).await?;
        left = left.saturating_sub(bytes.len() as u64);
        if let Some(file) = file {
            check_path(&file)?;
            if files.len() >= limits.batch {
                return Err(Failure::usage(format!("more than {} files in one upload", limits.batch)));
            }
            files.push((file, bytes));
            continue;
        }
        let text = String::from_utf8(bytes).map_err(|_| Failure::usage(format!("the field `{name}` is not UTF-8")))?;
        match name.as_str() {
            "root" => root = text,
            "collection" => collection = text,
            "tag" => {
                let (key, value) = text
                    .split_once('=')
                    .filter(|(key, _)| !key.trim().is_empty())
                    .ok_or_else(|| Failure::usage("a tag is written `key=value`"))?;
                tags.insert(key.trim().to_owned(), value.to_owned());
            }
            other => {
                let known = "`root`, `collection`, `tag`, and files";
                return Err(Failure::usage(format!("unknown field `{other}`; there are {known}")));
            }
        }
    }
    if files.is_empty() {
        return Err(Failure::usage("the form holds no file"));
    }
    let tags = (!tags.is_empty()).then_some(tags);
    let deposit = |(name, bytes)| Deposit {
        collection: collection.clone(),
        root: root.clone(),
        name,
        content: Content::File { bytes, extension: None },
        title: None,
        tags: tags.clone(),
        metadata: BTreeMap::new(),
    };
    let deposits = files.into_iter().map(deposit).collect();
    Ok((root, collection, deposits))
}

/// All of one part of a form.
async fn part(mut field: Field<'_>, limit: u64, told: u64, idle: Duration) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let Ok(chunk) = tokio::time::timeout(idle, field.chunk()).await else {
            return Err(Failure::new(ErrorType::Timeout, format!("nothing of the body came for {} s", idle.as_secs())));
        };
        let chunk = chunk.map_err(|_| Failure::new(ErrorType::BadRequest, "the form broke off or is malformed"))?;
        let Some(chunk) = chunk else { return Ok(bytes) };
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Err(too_large(told));
        }
        bytes.extend_from_slice(&chunk);
    }
}

/// `POST /v1/ingest`
pub async fn begin(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<IngestRequest>,
) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    let house = state.house(&caller)?;
    if request.paths.is_empty() && request.pages.is_empty() {
        return Err(Failure::usage("`paths` or `pages` has to name something"));
    }
    if request.paths.len() + request.pages.len() > state.options().limits.batch {
        return Err(Failure::usage(format!("more than {} paths and pages", state.options().limits.batch)));
    }
    let paths = request.paths.iter().map(|path| inside(&state, path)).collect::<Result<Vec<_>>>()?;
    let pages = pages(&state, &request.pages)?;
    let base = options(&state, &caller, &house, &request.settings)?;
    let options = ingest::Options {
        paths,
        pages,
        include: if request.include.is_empty() { base.include.clone() } else { request.include },
        exclude: if request.exclude.is_empty() { base.exclude.clone() } else { request.exclude },
        ignore_rules: !request.no_ignore,
        hidden: request.hidden.unwrap_or(base.hidden),
        ..base
    };
    let collection = options.collection.clone();
    let Some(job) = state.0.jobs.begin(caller.tenant().map(str::to_owned), collection.clone()) else {
        return Err(Failure::busy());
    };
    let (own, running) = (state.clone(), Arc::clone(&job));
    tokio::task::spawn_blocking(move || {
        let result = run(&own, &caller, &house, &options, &running).map_err(|failure| {
            let paths = house.private_paths();
            let mut known: Vec<&std::path::Path> = paths.iter().map(PathBuf::as_path).collect();
            known.extend(own.options().access.ingest_roots.iter().map(PathBuf::as_path));
            failure.without_paths(&known).detail("")
        });
        running.end(result);
    });
    let mut response = json(&job.wire())?;
    *response.status_mut() = StatusCode::ACCEPTED;
    response.extensions_mut().insert(Audit { collection });
    Ok(response)
}

fn run(
    state: &State,
    caller: &Caller,
    house: &House,
    options: &ingest::Options,
    job: &Arc<super::jobs::Job>,
) -> Result<(Report, Option<String>)> {
    house.create(state)?;
    let name = house.embedder_name(state)?;
    let (options, job) = (options.clone(), Arc::clone(job));
    let report = house.write(state, caller.room(), move |writer, embedder| {
        job.run();
        Ok(ingest::ingest(writer, embedder, &options, &job.counts, &job.cancel)?)
    })?;
    Ok((report, name))
}

/// A path that lies in a folder that may be ingested, whatever links and dots it has (N9). What lies outside and what is not
/// there are refused in the same words.
fn inside(state: &State, path: &str) -> Result<PathBuf> {
    let roots = &state.options().access.ingest_roots;
    if roots.is_empty() {
        return Err(Failure::forbidden("this server ingests no paths").hint("it was started without `--ingest-root`"));
    }
    let refused =
        || Failure::forbidden(format!("`{}` is in no folder that may be ingested", path.trim_start_matches('/')));
    if path.contains('\0') {
        return Err(refused());
    }
    let given = PathBuf::from(path);
    let candidates: Vec<PathBuf> =
        if given.is_absolute() { vec![given] } else { roots.iter().map(|root| root.join(&given)).collect() };
    let is_inside = |real: &PathBuf| roots.iter().any(|root| real.starts_with(root));
    candidates.iter().filter_map(|path| std::fs::canonicalize(path).ok()).find(is_inside).ok_or_else(refused)
}

/// Pages, from public addresses alone (N8).
fn pages(state: &State, pages: &[String]) -> Result<Vec<PageUrl>> {
    if pages.is_empty() {
        return Ok(Vec::new());
    }
    if !state.options().access.allow_url_ingest {
        return Err(
            Failure::forbidden("this server fetches no pages").hint("it was started without `--allow-url-ingest`")
        );
    }
    let page = |text: &String| match text.parse::<PageUrl>() {
        Ok(page) => Ok(page.public()),
        Err(error) => Err(Failure::usage(error.to_string())),
    };
    pages.iter().map(page).collect()
}

/// `GET /v1/ingest/{id}`
pub async fn job(Given(state): Given<State>, caller: Caller, Path(id): Path<String>) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    json(&found(&state, &caller, &id)?.wire())
}

/// `DELETE /v1/ingest/{id}`: what is whole by now is committed.
pub async fn cancel(Given(state): Given<State>, caller: Caller, Path(id): Path<String>) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    let job = found(&state, &caller, &id)?;
    job.cancel.ask();
    json(&job.wire())
}

fn found(state: &State, caller: &Caller, id: &str) -> Result<Arc<super::jobs::Job>> {
    // Who may not see the collection hears of no job that writes to it.
    let job = state.0.jobs.find(id, caller.tenant()).filter(|job| caller.sees(&job.collection));
    job.ok_or_else(|| Failure::not_found(format!("no job `{id}`")))
}
