//! One request: let in or not, ours or the server's, from the cache or not.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::body::Body;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Body as _, Bytes, Incoming},
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use reqwest::Url;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    body::{self, Piped, Unread},
    cached, canonical, embeddings,
    flight::Broken,
    gate::{Refusal, Shown},
    headers::{self, Outcome, Wish, X_RAG_CACHE, X_RAG_CACHE_WHY},
    identity::Key,
    rules::{self, Endpoint},
    server::Inner,
    stats::bump,
    upstream::{self, Call},
};

/// A request for the server behind the proxy.
#[derive(Debug)]
pub struct Asked {
    pub method: Method,
    pub url: Url,
    /// As they go upstream, but for `accept-encoding`.
    pub headers: HeaderMap,
    /// Who asks.
    pub scope: Key,
    pub wish: Wish,
    pub permit: OwnedSemaphorePermit,
}

/// Answers one request.
pub async fn handle(inner: Arc<Inner>, peer: SocketAddr, request: Request<Incoming>) -> Response<Body> {
    let (head, incoming) = request.into_parts();
    let path = head.uri.path().to_owned();
    if let Err(refusal) = inner.gate.admits(&head.method, &head.uri, &head.headers) {
        return refused(&inner, &refusal);
    }
    if let Some(response) = own_route(&inner, peer, &head, &path).await {
        return response;
    }
    let shown = match inner.gate.identifies(&head.headers) {
        Ok(shown) => shown,
        Err(refusal) => return refused(&inner, &refusal),
    };
    let Some(wish) = Wish::of(&head.headers) else {
        let message = "x-rag-cache is force, bypass, refresh or only";
        return problem(StatusCode::BAD_REQUEST, "x_rag_cache", message);
    };
    let Some(url) = inner.upstream.url(&path, head.uri.query()) else {
        return problem(StatusCode::BAD_REQUEST, "path", "the path leads out of the upstream address");
    };
    let Ok(permit) = Arc::clone(&inner.in_flight).try_acquire_owned() else {
        let mut response = problem(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many requests at one time");
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        return response;
    };
    let (out, scope) = outgoing(&inner, &head.headers, shown);
    let endpoint = Endpoint::of(&path).filter(|_| head.method == Method::POST && is_plain_json(&head.headers));
    let asked = Asked { method: head.method, url, headers: out, scope, wish, permit };
    match endpoint {
        Some(endpoint) if wish != Wish::Bypass => judge(inner, asked, endpoint, incoming).await,
        Some(_) => forward(inner, asked, Outgoing::Stream(incoming), Outcome::Bypass, None).await,
        None if wish == Wish::Only => not_cached(),
        None => forward(inner, asked, Outgoing::Stream(incoming), Outcome::Uncacheable, Some("endpoint")).await,
    }
}

/// Reads the body and decides whether the cache has a say.
async fn judge(inner: Arc<Inner>, asked: Asked, endpoint: Endpoint, mut incoming: Incoming) -> Response<Body> {
    let bytes = match body::read(&mut incoming, inner.max_body_bytes).await {
        Ok(bytes) => bytes,
        Err(unread) => {
            tokio::spawn(body::drain(incoming));
            return unread_response(unread);
        }
    };
    let uncacheable = |asked: Asked, bytes: Bytes, why: &'static str| async {
        if asked.wish == Wish::Only {
            return not_cached();
        }
        forward(Arc::clone(&inner), asked, Outgoing::Whole(bytes), Outcome::Uncacheable, Some(why)).await
    };
    let Some(Value::Object(body)) = canonical::parse(&bytes) else {
        return uncacheable(asked, bytes, "body").await;
    };
    if let Some(why) = rules::refusal(endpoint, &body, inner.allowed, asked.wish) {
        return uncacheable(asked, bytes, why).await;
    }
    if endpoint == Endpoint::Embeddings {
        return match embeddings::Texts::of(&inner, &asked, &body) {
            Some(texts) => embeddings::answer(inner, asked, texts, body, bytes).await,
            None => uncacheable(asked, bytes, "input").await,
        };
    }
    cached::answer(inner, asked, endpoint, body, bytes).await
}

/// The headers that go upstream, with the operator's key where it is to be lent; and who asks.
fn outgoing(inner: &Inner, incoming: &HeaderMap, shown: Shown) -> (HeaderMap, Key) {
    let mut out = headers::upstream_request(incoming, false);
    if shown == Shown::Authorization {
        out.remove(AUTHORIZATION);
    }
    let brings_one = [AUTHORIZATION.as_str(), "api-key", "x-api-key", "x-goog-api-key"];
    let lent = inner.own_key.as_ref().filter(|_| !brings_one.iter().any(|name| out.contains_key(*name)));
    if let Some((name, value)) = lent.and_then(|key| key.credential(inner.upstream.is_azure)) {
        out.insert(name, value);
    }
    let (asked, sent) = (inner.secret.scope(incoming), inner.secret.scope(&out));
    (out, inner.secret.request("who", "", &asked, &blake3::Hash::from_bytes(sent).to_hex()))
}

fn is_plain_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/json");
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" && !headers.contains_key(CONTENT_ENCODING)
}

/// A body on its way upstream.
pub enum Outgoing {
    Stream(Incoming),
    Whole(Bytes),
}

/// Hands a request on and its answer back, part by part, keeping neither.
pub async fn forward(
    inner: Arc<Inner>,
    asked: Asked,
    body: Outgoing,
    outcome: Outcome,
    why: Option<&'static str>,
) -> Response<Body> {
    bump(if outcome == Outcome::Bypass { &inner.stats.bypassed } else { &inner.stats.uncacheable });
    let (too_much, unread) = tokio::sync::oneshot::channel();
    let body = match body {
        Outgoing::Whole(bytes) => reqwest::Body::from(bytes),
        Outgoing::Stream(incoming) if incoming.is_end_stream() => reqwest::Body::from(Bytes::new()),
        Outgoing::Stream(incoming) => {
            let size = incoming.size_hint();
            if size.lower() > inner.max_body_bytes as u64 {
                tokio::spawn(body::drain(incoming));
                return unread_response(Unread::TooLarge);
            }
            let (sender, piped) = Piped::channel(size.exact(), None);
            tokio::spawn(pump_up(incoming, sender, inner.max_body_bytes, too_much));
            reqwest::Body::wrap(piped)
        }
    };
    let call = Call { method: asked.method, url: asked.url, headers: asked.headers, body };
    let response = match upstream::send(&inner, call).await {
        Ok(response) => response,
        Err(broken) => {
            // A body that we broke off ourselves is not the server's fault.
            let mut unread = unread;
            return match unread.try_recv() {
                Ok(unread) => unread_response(unread),
                Err(_) => broken_response(&broken),
            };
        }
    };
    let mut headers = headers::client_response(response.headers());
    headers::set(&mut headers, X_RAG_CACHE, outcome.word());
    if let Some(why) = why {
        headers::set(&mut headers, X_RAG_CACHE_WHY, why);
    }
    let status = response.status();
    let length = response.content_length();
    let (sender, piped) = Piped::channel(length, Some(asked.permit));
    tokio::spawn(pump_down(inner, response, sender));
    respond(status, headers, Body::new(piped))
}

async fn pump_up(
    mut incoming: Incoming,
    sender: tokio::sync::mpsc::Sender<Result<Bytes, body::Failed>>,
    limit: usize,
    failed: tokio::sync::oneshot::Sender<Unread>,
) {
    let mut length = 0;
    while let Some(part) = body::next(&mut incoming).await {
        let part = part.and_then(|part| {
            length += part.len();
            if length > limit { Err(Unread::TooLarge) } else { Ok(part) }
        });
        let (message, end) = match part {
            Ok(part) => (Ok(part), None),
            Err(unread) => (Err("the request broke off".into()), Some(unread)),
        };
        if let Some(unread) = end {
            let _ = failed.send(unread);
            let _ = sender.send(message).await;
            drop(sender);
            body::drain(incoming).await;
            return;
        }
        if sender.send(message).await.is_err() {
            return;
        }
    }
}

async fn pump_down(
    inner: Arc<Inner>,
    mut response: reqwest::Response,
    sender: tokio::sync::mpsc::Sender<Result<Bytes, body::Failed>>,
) {
    loop {
        let next = tokio::select! {
            next = response.chunk() => next,
            // The client has left, and with it the reason to go on.
            () = sender.closed() => return,
            () = inner.stopped() => {
                let _ = sender.send(Err("the proxy ends".into())).await;
                return;
            }
        };
        match next {
            Ok(Some(part)) => {
                if sender.send(Ok(part)).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(_) => {
                let _ = sender.send(Err("the answer broke off".into())).await;
                return;
            }
        }
    }
}

/// `/health`, `/stats`, `/metrics` and `/purge` are the proxy's own.
async fn own_route(
    inner: &Arc<Inner>,
    peer: SocketAddr,
    head: &hyper::http::request::Parts,
    path: &str,
) -> Option<Response<Body>> {
    let wanted = match path {
        "/health" | "/stats" | "/metrics" => Method::GET,
        "/purge" => Method::POST,
        _ => return None,
    };
    if head.method != wanted && !(wanted == Method::GET && head.method == Method::HEAD) {
        return Some(problem(StatusCode::METHOD_NOT_ALLOWED, "method", "this path takes another method"));
    }
    if path == "/health" {
        return Some(json_response(StatusCode::OK, &json!({"status": "ok"})));
    }
    if !inner.gate.is_operator(peer, &head.headers) {
        bump(&inner.stats.refused);
        return Some(problem(
            StatusCode::FORBIDDEN,
            "operator",
            "this is for the machine of the proxy, or for who has a key",
        ));
    }
    if path == "/purge" {
        return Some(purge(inner, head.uri.query().unwrap_or_default()).await);
    }
    let mut stats = inner.stats.snapshot(inner.store.stats());
    stats.upstream = Some(inner.upstream.shown());
    stats.uptime_seconds = inner.started.elapsed().as_secs();
    stats.in_flight = inner.flights.len() as u64;
    Some(if path == "/metrics" {
        let mut response = respond(StatusCode::OK, HeaderMap::new(), Body::from(stats.prometheus()));
        let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    } else {
        json_response(StatusCode::OK, &serde_json::to_value(stats).unwrap_or_default())
    })
}

async fn purge(inner: &Arc<Inner>, query: &str) -> Response<Body> {
    let mut older = None;
    for (name, value) in
        query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    {
        match (name, value.parse::<u64>()) {
            ("older_than_seconds", Ok(seconds)) => older = Some(Duration::from_secs(seconds)),
            _ => return problem(StatusCode::BAD_REQUEST, "query", "only older_than_seconds=N is known"),
        }
    }
    let purging = Arc::clone(inner);
    let purged = tokio::task::spawn_blocking(move || {
        if let (Some(semantic), None) = (&purging.semantic, older) {
            semantic.clear();
        }
        purging.store.purge(older)
    });
    match purged.await {
        Ok(Ok(purged)) => json_response(StatusCode::OK, &json!({"schema": "rag.proxy.purge/1", "purged": purged})),
        Ok(Err(error)) => problem(StatusCode::INTERNAL_SERVER_ERROR, "purge", &error.to_string()),
        Err(_) => problem(StatusCode::INTERNAL_SERVER_ERROR, "purge", "the cache could not be purged"),
    }
}

fn refused(inner: &Inner, refusal: &Refusal) -> Response<Body> {
    bump(&inner.stats.refused);
    let mut response = problem(refusal.status, refusal.code, refusal.message);
    if refusal.status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// `x-rag-cache: only`, and the cache has nothing.
pub fn not_cached() -> Response<Body> {
    problem(StatusCode::GATEWAY_TIMEOUT, "not_cached", "the cache has no answer, and the request wants none but that")
}

fn unread_response(unread: Unread) -> Response<Body> {
    let (status, message) = match unread {
        Unread::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
        Unread::TooSlow => (StatusCode::REQUEST_TIMEOUT, "the body did not come"),
        Unread::Broken => (StatusCode::BAD_REQUEST, "the body broke off"),
    };
    problem(status, "body", message)
}

/// An answer that never began.
pub fn broken_response(broken: &Broken) -> Response<Body> {
    match broken {
        Broken::Unreachable(why) => problem(
            StatusCode::BAD_GATEWAY,
            "upstream_unreachable",
            &format!("the upstream server cannot be reached: {why}"),
        ),
        Broken::TimedOut => problem(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout", "the upstream server is silent"),
        Broken::CutOff => {
            problem(StatusCode::BAD_GATEWAY, "upstream_cut_off", "the upstream server broke off its answer")
        }
        Broken::TooLarge => {
            problem(StatusCode::BAD_GATEWAY, "upstream_too_large", "the answer of the upstream server has no end")
        }
        Broken::Stopped => problem(StatusCode::SERVICE_UNAVAILABLE, "stopping", "the proxy ends"),
    }
}

/// An error of the proxy itself, in the shape that OpenAI's clients read.
pub fn problem(status: StatusCode, code: &str, message: &str) -> Response<Body> {
    let error = json!({"error": {"message": message, "type": "rag_proxy_error", "param": null, "code": code}});
    json_response(status, &error)
}

fn json_response(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = respond(status, HeaderMap::new(), Body::from(value.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
