//! Routes about the server itself: `status`, who it is, whether it lives, and its counts.

use axum::{
    body::Body,
    extract::State as Given,
    http::{HeaderValue, Response, header},
};

use super::{
    body::Json,
    documents::sources,
    failure::{Failure, Result},
    guard::Caller,
    keys::Scope,
    metrics::Now,
    scope,
    search::json,
    state::{State, Work},
};
use crate::{
    index::{Facets, SourceRecord},
    serve::{
        api::{ErrorType, Hello, StatusRequest},
        wire,
    },
};

/// `GET /health`
pub async fn health() -> Result<Response<Body>> {
    json(&serde_json::json!({ "status": "ok" }))
}

/// `GET /ready`: the index that is served opens.
pub async fn ready(Given(state): Given<State>) -> Result<Response<Body>> {
    let nobody = Caller::nobody();
    let house = state.house(&nobody)?;
    // A server that may write makes the index with the first document, and one of tenants needs none of its own.
    let may_lack = state.options().access.allow_write || state.options().tenants.is_some();
    let opened = state.blocking(move || if may_lack && !house.exists() { Ok(()) } else { house.snapshot().map(drop) });
    match opened.await {
        Ok(()) => json(&serde_json::json!({ "status": "ready" })),
        // Whoever asks may be anybody: the log has the rest.
        Err(_) => Err(Failure::new(ErrorType::Busy, "the index cannot be opened").header(header::RETRY_AFTER, "1")),
    }
}

/// `GET /v1/hello`
pub async fn hello(Given(state): Given<State>, caller: Caller) -> Result<Response<Body>> {
    let house = state.house(&caller)?;
    let own = state.clone();
    let generation = state.blocking({
        let house = std::sync::Arc::clone(&house);
        move || if house.exists() { house.snapshot().map(|snapshot| snapshot.generation()) } else { Ok(0) }
    });
    let generation = generation.await?;
    let dir = std::fs::canonicalize(&house.dir).unwrap_or_else(|_| house.dir.clone());
    // What the server does at all, and the key allows.
    let does = |scope: &Scope| *scope != Scope::Write || state.options().access.allow_write;
    let scopes =
        [Scope::Read, Scope::Write, Scope::Admin].into_iter().filter(does).filter(|scope| caller.allows(*scope));
    json(&Hello {
        schema: "rag.hello/1".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: own.0.instance.clone(),
        generation,
        index: blake3::hash(dir.as_os_str().as_encoded_bytes()).to_hex().to_string(),
        settings: own.options().settings.clone(),
        scopes: scopes.map(|scope| scope.word().to_owned()).collect(),
    })
}

/// `GET /v1/status`
pub async fn get(Given(state): Given<State>, caller: Caller) -> Result<Response<Body>> {
    status(state, caller, StatusRequest::default()).await
}

/// `POST /v1/status`
pub async fn post(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<StatusRequest>,
) -> Result<Response<Body>> {
    status(state, caller, request).await
}

async fn status(state: State, caller: Caller, request: StatusRequest) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    if !request.facets && (request.filter.is_some() || request.collection.is_some()) {
        return Err(Failure::usage("`filter` and `collection` are of `facets`, which are not asked for"));
    }
    let house = state.house(&caller)?;
    let (own, who) = (state.clone(), caller.clone());
    let result = state.work(&caller, Work::Search, None, move || {
        let snapshot = house.snapshot()?;
        let mut all = snapshot.sources(None)?;
        scope::retain(&who, &mut all);
        let mut stats = snapshot.stats()?;
        if !who.sees_all() {
            let seen: std::collections::BTreeMap<_, _> =
                stats.by_collection.into_iter().filter(|(name, _)| who.sees(name)).collect();
            stats = crate::index::Stats {
                sources: all.len() as u64,
                chunks: seen.values().map(|collection| collection.chunks).sum(),
                // What is counted for the whole index tells of what is not seen.
                vectors: 0,
                dead_rows: 0,
                text_bytes_on_disk: 0,
                vector_bytes_on_disk: 0,
                by_type: counted(&all, |source| source.format.clone()),
                by_language: counted(&all, |source| source.lang.clone().unwrap_or_default()),
                by_collection: seen,
                ..stats
            };
        }
        let mut roots = snapshot.roots().clone();
        if !who.is_insider() {
            let used: std::collections::BTreeSet<&str> = all.iter().map(|source| source.root.as_str()).collect();
            roots.retain(|name, _| used.contains(name.as_str()));
            roots.values_mut().for_each(String::clear);
        }
        let embedder = snapshot.space().and_then(|space| own.options().models.embedder_name(space));
        let mut status = wire::StatusResult::new(
            house.shown(who.is_insider()),
            snapshot.generation(),
            roots,
            stats,
            snapshot.space(),
            embedder,
            &all,
        );
        if request.facets {
            let mut counted = sources(&snapshot, request.filter.as_deref(), request.collection.as_deref())?;
            scope::retain(&who, &mut counted);
            status.facets = Some(Facets::of(&counted));
        }
        Ok(status)
    });
    json(&result.await?)
}

fn counted(sources: &[SourceRecord], of: impl Fn(&SourceRecord) -> String) -> std::collections::BTreeMap<String, u64> {
    let mut counts = std::collections::BTreeMap::new();
    for source in sources {
        *counts.entry(of(source)).or_default() += 1;
    }
    counts
}

/// `GET /metrics`
pub async fn metrics(Given(state): Given<State>, caller: Caller) -> Result<Response<Body>> {
    if !caller.is_insider() {
        return Err(Failure::forbidden("counts are for keys with the scope `admin`"));
    }
    let [search, answers] = state.load();
    let mut now = Now::default();
    let mut gauge = |name, help, value: usize| now.gauges.push((name, help, value as f64));
    gauge("rag_searches_in_flight", "Searches at work.", search.0);
    gauge("rag_searches_waiting", "Searches that wait for their turn.", search.1);
    gauge("rag_answers_in_flight", "Answers at work.", answers.0);
    gauge("rag_answers_waiting", "Answers that wait for their turn.", answers.1);
    let house = state.house(&caller)?;
    let generation =
        state.blocking(move || if house.exists() { house.snapshot().map(|s| s.generation()) } else { Ok(0) }).await;
    if let Ok(generation) = generation {
        now.gauges.push(("rag_index_generation", "Generation of the index that is served.", generation as f64));
    }
    let mut response = Response::new(Body::from(state.0.metrics.print(&now)));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    Ok(response)
}
