//! Routes that search: `query`, `why-not`, `eval`.

use axum::{
    body::Body,
    extract::State as Given,
    http::{HeaderValue, Response, header},
};
use serde::Serialize;

use super::{
    body::Json,
    explain::explain,
    failure::{Failure, Result},
    guard::Caller,
    keys::Scope,
    requests,
    state::{State, Work},
};
use crate::{
    retrieve,
    serve::{
        api::{QueryRequest, WhyNotRequest},
        wire,
    },
    types::ChunkId,
};

/// An answer of JSON.
pub fn json(body: &impl Serialize) -> Result<Response<Body>> {
    let text = serde_json::to_vec(body).map_err(|_| Failure::bug("the answer cannot be written as JSON"))?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// `POST /v1/query`
pub async fn query(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<QueryRequest>,
) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    let house = state.house(&caller)?;
    let (limit, own, who) = (state.options().limits.query_timeout, state.clone(), caller.clone());
    let result = state.work(&caller, Work::Search, Some(limit), move || {
        let query = requests::query(request, own.options())?;
        let snapshot = house.snapshot()?;
        let query = own.narrowed(&who, &snapshot, query)?;
        check_chunks(&who, &snapshot, query.like.iter().chain(&query.unlike).copied())?;
        let embedder = match query.vector {
            Some(_) => None,
            None => house.embedder(&own, &snapshot, query.mode)?,
        };
        let mut hits = retrieve::query(&snapshot, embedder.as_deref(), &query)?;
        hide(&who, &mut hits);
        house.files(&snapshot).mark(&mut hits);
        Ok(wire::QueryResult::new(&query, &hits))
    });
    json(&result.await?)
}

/// Errors: a chunk that the caller may not see, in the words of one that is not there.
fn check_chunks(caller: &Caller, snapshot: &crate::index::Snapshot, ids: impl Iterator<Item = ChunkId>) -> Result<()> {
    if caller.sees_all() {
        return Ok(());
    }
    for id in ids {
        let seen = snapshot.chunk(id)?.is_some_and(|chunk| caller.sees(&chunk.collection));
        if !seen {
            return Err(retrieve::Error::NoChunk { id }.into());
        }
    }
    Ok(())
}

/// What a result says of others: copies and near misses of collections that the caller may not see.
fn hide(caller: &Caller, hits: &mut retrieve::Hits) {
    if caller.sees_all() {
        return;
    }
    for hit in &mut hits.hits {
        hit.copies.retain(|chunk| caller.sees(&chunk.collection));
        hit.duplicates.retain(|chunk| caller.sees(&chunk.collection));
    }
    // It is what was found without the filter.
    hits.near_miss = None;
    // Spelling notes know every word of the index.
    hits.notes.retain(|note| !note.contains('`'));
}

/// `POST /v1/why-not`
pub async fn why_not(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<WhyNotRequest>,
) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    let house = state.house(&caller)?;
    let (limit, own, who) = (state.options().limits.query_timeout, state.clone(), caller.clone());
    let result = state.work(&caller, Work::Search, Some(limit), move || {
        let options = own.options();
        let search = request.search();
        let query = retrieve::Query { text: request.text, ..requests::searched(&options.query, search, options)? };
        let snapshot = house.snapshot()?;
        let query = own.narrowed(&who, &snapshot, query)?;
        // A chunk's id names its document and narrows the question to it.
        let chunk = match request.file.parse::<ChunkId>() {
            Ok(id) => snapshot.chunk(id)?.filter(|chunk| who.sees(&chunk.collection)),
            Err(_) => None,
        };
        let file = chunk.as_ref().map_or_else(|| request.file.clone(), |chunk| chunk.source.to_string());
        let (known, source) = explain(&own, &who, &house, &snapshot, &file, None)?;
        match source {
            Some(source) if known.indexed => {
                let embedder = house.embedder(&own, &snapshot, query.mode)?;
                let only = chunk.map(|chunk| chunk.id);
                let answer = retrieve::why_not(&snapshot, embedder.as_deref(), &query, &source, only)?;
                Ok(wire::WhyNotResult::of(&query, &source, &answer))
            }
            Some(_) | None => Ok(wire::WhyNotResult::not_indexed(&query, known)),
        }
    });
    json(&result.await?)
}
