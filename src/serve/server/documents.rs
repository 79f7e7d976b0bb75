//! Routes about what the index holds: `list`, `show`, collections, one document; and `rm`.

use axum::{
    body::Body,
    extract::{Path, RawQuery, State as Given},
    http::Response,
};

use super::{
    body::Json,
    explain::spelled,
    failure::{Failure, Result},
    guard::{Audit, Caller},
    keys::Scope,
    scope,
    search::json,
    state::{State, Work},
};
use crate::{
    index::{Room, Snapshot, SourceRecord, Status},
    retrieve::{self, Named, Naming, Several},
    serve::{
        api::{Collection, Collections, DocumentsPage, ListRequest, MAX_PAGE, RemoveRequest, ShowRequest},
        wire,
    },
};

/// Documents of a page where the client does not say.
const PAGE: usize = 1_000;

/// `POST /v1/list`
pub async fn list(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<ListRequest>,
) -> Result<Response<Body>> {
    page(state, caller, request).await
}

/// `GET /v1/documents?filter=…&collection=…&problems=true&cursor=…&limit=…`
pub async fn documents(
    Given(state): Given<State>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response<Body>> {
    let request = list_request(query.as_deref().unwrap_or_default())?;
    page(state, caller, request).await
}

/// The fields of a query string. Errors: one that is not known, or not what it should be.
fn list_request(query: &str) -> Result<ListRequest> {
    let mut request = ListRequest::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value)?;
        match name {
            "filter" => request.filter = Some(value),
            "collection" => request.collection = Some(value),
            "cursor" => request.cursor = Some(value),
            "problems" => {
                request.problems = match value.as_str() {
                    "true" | "1" | "" => true,
                    "false" | "0" => false,
                    _ => return Err(Failure::usage("`problems` is true or false")),
                }
            }
            "limit" => {
                let number = value.parse().map_err(|_| Failure::usage("`limit` is a number"))?;
                request.limit = Some(number);
            }
            other => {
                let known = "`filter`, `collection`, `problems`, `cursor`, `limit`";
                return Err(Failure::usage(format!("unknown parameter `{other}`; there are {known}")));
            }
        }
    }
    Ok(request)
}

/// Percent-decodes a value of a query string.
fn decoded(value: &str) -> Result<String> {
    let bad = || Failure::usage("the query string is not encoded as it should be");
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit().ok_or_else(bad)?, digit().ok_or_else(bad)?);
                u8::try_from(high * 16 + low).map_err(|_| bad())?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

async fn page(state: State, caller: Caller, request: ListRequest) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    let limit = request.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(Failure::usage(format!("`limit` is {limit}, expected 1 to {MAX_PAGE}")));
    }
    let house = state.house(&caller)?;
    let who = caller.clone();
    let result = state.work(&caller, Work::Search, None, move || {
        let snapshot = house.snapshot()?;
        let mut found = sources(&snapshot, request.filter.as_deref(), request.collection.as_deref())?;
        scope::retain(&who, &mut found);
        if request.problems {
            found.retain(|source| source.status != Status::Indexed);
        }
        if let Some(cursor) = &request.cursor {
            let after = Cursor::read(cursor)?;
            found.retain(|source| Cursor::of(source) > after);
        }
        let next = found.get(limit - 1).filter(|_| found.len() > limit).map(|last| Cursor::of(last).text());
        found.truncate(limit);
        Ok(DocumentsPage { list: wire::ListResult::new(snapshot.generation(), &found), next })
    });
    json(&result.await?)
}

/// The sources that a filter and a collection leave.
pub fn sources(snapshot: &Snapshot, filter: Option<&str>, collection: Option<&str>) -> Result<Vec<SourceRecord>> {
    Ok(match filter.filter(|filter| !filter.trim().is_empty()) {
        Some(filter) => snapshot.sources_where(&retrieve::filter::parse(filter)?, collection)?,
        None => snapshot.sources(collection)?,
    })
}

/// Where a page ended: the order of documents is by collection, then path.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    collection: String,
    path: String,
    id: u64,
}

impl Cursor {
    fn of(source: &SourceRecord) -> Self {
        Self { collection: source.collection.clone(), path: source.display_path(), id: source.id.0 }
    }

    fn text(&self) -> String {
        let parts = (&self.collection, &self.path, self.id.to_string());
        hex(&serde_json::to_vec(&parts).unwrap_or_default())
    }

    fn read(text: &str) -> Result<Self> {
        let bad = || Failure::usage("`cursor` is none that this server gave");
        let (collection, path, id): (String, String, String) =
            serde_json::from_slice(&unhex(text).ok_or_else(bad)?).map_err(|_| bad())?;
        Ok(Self { collection, path, id: id.parse().map_err(|_| bad())? })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// `POST /v1/show`
pub async fn show(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<ShowRequest>,
) -> Result<Response<Body>> {
    json(&shown(state, caller, request).await?)
}

/// `GET /v1/documents/{id}`: an id of a document or a chunk, or a path with its `/` encoded.
pub async fn document(Given(state): Given<State>, caller: Caller, Path(id): Path<String>) -> Result<Response<Body>> {
    let request = ShowRequest { what: id.clone(), collection: None };
    let result = shown(state, caller, request).await?;
    if result.document.is_none() && result.chunks.is_empty() {
        return Err(Failure::not_found(format!("no chunk and no document `{id}` in the index")));
    }
    json(&result)
}

async fn shown(state: State, caller: Caller, request: ShowRequest) -> Result<wire::ShowResult> {
    caller.check(Scope::Read)?;
    let house = state.house(&caller)?;
    let who = caller.clone();
    let result = state.work(&caller, Work::Search, None, move || {
        let snapshot = house.snapshot()?;
        let found = find(&who, &snapshot, &request)?;
        let (source, chunks) = found.unwrap_or_default();
        Ok(wire::ShowResult::new(snapshot.generation(), source.as_ref(), &chunks))
    });
    result.await
}

/// A chunk id, a document id, or a display path.
fn find(caller: &Caller, snapshot: &Snapshot, request: &ShowRequest) -> Result<Option<Named>> {
    let sees = |collection: &str| caller.sees(collection);
    let naming = Naming { snapshot, collection: request.collection.as_deref(), sees: &sees };
    Ok(naming.one(&request.what, || spelled(&request.what).to_owned())?)
}

/// `GET /v1/collections`
pub async fn collections(Given(state): Given<State>, caller: Caller) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    let house = state.house(&caller)?;
    let who = caller.clone();
    let result = state.work(&caller, Work::Search, None, move || {
        let snapshot = house.snapshot()?;
        let all = snapshot.stats()?.by_collection.into_iter().filter(|(name, _)| who.sees(name));
        let collections =
            all.map(|(name, stats)| Collection { name, documents: stats.sources, chunks: stats.chunks }).collect();
        let schema = "rag.collections/1".to_owned();
        Ok(Collections { schema, generation: snapshot.generation(), collections })
    });
    json(&result.await?)
}

/// `POST /v1/rm`
pub async fn remove(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<RemoveRequest>,
) -> Result<Response<Body>> {
    removed(state, caller, request).await
}

/// `DELETE /v1/documents/{id}`
pub async fn delete(Given(state): Given<State>, caller: Caller, Path(id): Path<String>) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    // One document and no more: a name with stars in it is no pattern here.
    let (house, who) = (state.house(&caller)?, caller.clone());
    let found = state.blocking(move || {
        let request = ShowRequest { what: id.clone(), collection: None };
        let source = find(&who, &house.snapshot()?, &request)?.and_then(|(source, _)| source);
        source.ok_or_else(|| Failure::not_found(format!("no chunk and no document `{id}` in the index")))
    });
    let source = found.await?;
    let request = RemoveRequest { what: vec![source.id.to_string()], ..RemoveRequest::default() };
    removed(state, caller, request).await
}

async fn removed(state: State, caller: Caller, request: RemoveRequest) -> Result<Response<Body>> {
    state.check_writable(&caller)?;
    if request.what.is_empty() && request.tags.is_empty() {
        return Err(Failure::usage("`what` or `tags` has to name documents"));
    }
    if request.purge && request.dry_run {
        return Err(Failure::usage("`purge` and `dry_run` exclude each other"));
    }
    if request.what.len() > state.options().limits.batch {
        return Err(Failure::usage(format!("more than {} names in `what`", state.options().limits.batch)));
    }
    let house = state.house(&caller)?;
    let collection = request.collection.clone().unwrap_or_else(|| "*".to_owned());
    let (own, who) = (state.clone(), caller.clone());
    let result = state.writing(move || {
        if request.dry_run {
            let snapshot = house.snapshot()?;
            let (found, missing) = named(&who, &snapshot, &request)?;
            return Ok(report(found, missing, &request, snapshot.generation()));
        }
        if !house.exists() {
            house.snapshot()?;
        }
        house.write(&own, Room::default(), move |writer, _| {
            let (found, missing) = named(&who, writer.snapshot(), &request)?;
            for id in found.keys() {
                writer.remove(*id)?;
            }
            writer.commit()?;
            if request.purge {
                writer.compact()?;
            }
            Ok(report(found, missing, &request, writer.snapshot().generation()))
        })
    });
    let mut response = json(&result.await?)?;
    response.extensions_mut().insert(Audit { collection });
    Ok(response)
}

/// The documents that a request names, and the names that name none.
fn named(caller: &Caller, snapshot: &Snapshot, request: &RemoveRequest) -> Result<(Several, Vec<String>)> {
    let sees = |collection: &str| caller.sees(collection);
    let naming = Naming { snapshot, collection: request.collection.as_deref(), sees: &sees };
    let names: Vec<String> = request.what.iter().map(|what| spelled(what).to_owned()).collect();
    let (found, missing) = naming.several(&names, request.tags.iter())?;
    Ok((found, missing.into_iter().map(|at| request.what[at].clone()).collect()))
}

fn report(found: Several, missing: Vec<String>, request: &RemoveRequest, generation: u64) -> wire::RemoveResult {
    let mut removed: Vec<String> = found.into_values().map(|(path, _)| path).collect();
    removed.sort();
    wire::RemoveResult {
        schema: "rag.rm/1".into(),
        removed,
        not_found: missing,
        dry_run: request.dry_run,
        purged: request.purge,
        generation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_strings_are_read_strictly() {
        let request = list_request("filter=path%3Aa%2A+lang:de&limit=5&problems=true&cursor=").unwrap();
        assert_eq!(request.filter.as_deref(), Some("path:a* lang:de"));
        assert_eq!((request.limit, request.problems, request.cursor.as_deref()), (Some(5), true, Some("")));
        for bad in ["x=1", "limit=many", "filter=%zz", "filter=%f", "problems=maybe", "filter=%ff"] {
            assert!(list_request(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cursors_come_back_as_they_were() {
        let cursor = Cursor { collection: "a\"b".into(), path: "docs/ü 1.md".into(), id: u64::MAX };
        assert_eq!(Cursor::read(&cursor.text()).unwrap(), cursor);
        for bad in ["", "0", "zz", "7b7d", "ü"] {
            assert!(Cursor::read(bad).is_err(), "{bad}");
        }
    }
}
