//! What stands before every route: who asks, from where, in which form; and the line in the log afterwards.
//!
//! In this order: the address is short enough; `Host` is a name of ours (a page that had its name point here is turned
//! away, N3); `Origin`, if there is one, is ours or allowed; the key; its scope's rate; the type of the body. Every refusal
//! and every write is a line with the fingerprint of the key, the route and the collection, and no text (N15).

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use axum::{
    body::Body,
    extract::{FromRequestParts, MatchedPath, Request, State as Given},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header, request::Parts},
    middleware::Next,
    response::IntoResponse,
};

use super::{
    failure::{Failure, Result},
    keys::{Scope, StoredKey},
    state::State,
};
use crate::{
    index::Room,
    serve::{
        api::{CONTENTS_TYPE, ErrorType, routes},
        host::without_port,
        page, wire,
    },
};

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Where a connection comes from and where it arrived; put into every request by whoever accepts connections.
#[derive(Debug, Clone, Copy)]
pub enum Peer {
    Tcp {
        peer: SocketAddr,
        local: SocketAddr,
    },
    /// A socket file, which only its owner can open.
    Unix,
}

/// Who asks, checked.
#[derive(Debug, Clone)]
pub struct Caller {
    key: Option<Arc<StoredKey>>,
    peer: Option<IpAddr>,
}

impl Caller {
    /// Somebody who shows no key and asks for nothing that needs one.
    pub fn nobody() -> Self {
        Self { key: None, peer: None }
    }

    /// Whose index it is; from the key and nothing else.
    pub fn tenant(&self) -> Option<&str> {
        self.key.as_ref()?.tenant.as_deref()
    }

    pub fn key(&self) -> Option<&StoredKey> {
        self.key.as_deref()
    }

    /// Without keys everybody may do what the server does at all.
    pub fn allows(&self, scope: Scope) -> bool {
        self.key.as_ref().is_none_or(|key| key.allows(scope))
    }

    pub fn check(&self, scope: Scope) -> Result<()> {
        match self.allows(scope) {
            true => Ok(()),
            false => Err(Failure::forbidden(format!("the key has no scope `{}`", scope.word()))),
        }
    }

    pub fn sees_all(&self) -> bool {
        self.key.as_ref().is_none_or(|key| key.collections.is_none())
    }

    pub fn sees(&self, collection: &str) -> bool {
        self.key.as_ref().is_none_or(|key| key.sees(collection))
    }

    /// May see what the server's inside looks like: whoever runs it, and keys with `admin` of no tenant.
    pub fn is_insider(&self) -> bool {
        self.key
            .as_ref()
            .is_none_or(|key| key.allows(Scope::Admin) && key.tenant.is_none() && key.collections.is_none())
    }

    /// How much the tenant's index may hold.
    pub fn room(&self) -> Room {
        self.key.as_ref().map_or_else(Room::default, |key| key.quota.room())
    }

    fn fingerprint(&self) -> &str {
        self.key.as_ref().map_or("-", |key| &key.fingerprint)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Failure::bug("the request was not checked"))
    }
}

/// What a handler tells the log of a write.
#[derive(Debug, Clone)]
pub struct Audit {
    pub collection: String,
}

/// What the log calls a request.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

/// A line about a write that is durable before its request is answered, or of which one request does several.
pub fn tell_write(
    state: &State,
    caller: &Caller,
    RequestId(id): &RequestId,
    route: &str,
    tool: &str,
    collection: &str,
) {
    if let Some(log) = &state.options().log {
        log(&format!("{} {route} tool={tool} write collection={collection:?}", begin(id, Some(caller))));
    }
}

/// How each line begins: when, which request, whose.
fn begin(id: &str, caller: Option<&Caller>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let time = wire::rfc3339(i64::try_from(now).unwrap_or(i64::MAX));
    let peer = caller.and_then(|caller| caller.peer).map_or_else(|| "-".to_owned(), |ip| ip.to_string());
    format!("{time} id={id} peer={peer} key={}", caller.map_or("-", Caller::fingerprint))
}

impl IntoResponse for Failure {
    /// The words are filled in by `guard`, which knows the request's id.
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(self);
        response
    }
}

/// See the module.
pub async fn guard(Given(state): Given<State>, mut request: Request, next: Next) -> Response<Body> {
    let begun = Instant::now();
    let id = state.next_id();
    let (method, route) = (request.method().clone(), route_of(&request));
    let origin = allowed_origin(&state, request.headers());
    let checked = check(&state, &request);
    let caller = checked.as_ref().ok().and_then(|checked| checked.caller.clone());
    let mut response = match checked {
        Err(failure) => failure.into_response(),
        Ok(checked) if checked.is_preflight => preflight(),
        Ok(checked) => {
            if let Some(caller) = checked.caller {
                request.extensions_mut().insert(caller);
                request.extensions_mut().insert(RequestId(id.clone()));
            }
            next.run(request).await
        }
    };
    let failure = response.extensions_mut().remove::<Failure>();
    if let Some(failure) = &failure {
        let paths = private_paths(&state, caller.as_ref());
        let known: Vec<&std::path::Path> = paths.iter().map(std::path::PathBuf::as_path).collect();
        response = failure.clone().without_paths(&known).response(&id);
    }
    finish_headers(response.headers_mut(), &id, origin);
    let audit = response.extensions_mut().remove::<Audit>();
    let status = response.status();
    state.0.metrics.answered(&route, status.as_u16(), begun.elapsed());
    if let Some(log) = &state.options().log {
        let line = Line {
            id: &id,
            caller: caller.as_ref(),
            method: &method,
            route: &route,
            status,
            milliseconds: begun.elapsed().as_secs_f64() * 1e3,
            denied: failure.as_ref().map(|failure| failure.kind).filter(is_denial),
            audit,
        };
        log(&line.text());
    }
    response
}

fn private_paths(state: &State, caller: Option<&Caller>) -> Vec<std::path::PathBuf> {
    let options = state.options();
    let mut paths =
        caller.and_then(|caller| state.house(caller).ok()).map_or_else(Vec::new, |house| house.private_paths());
    paths.extend(options.access.ingest_roots.iter().cloned());
    paths.extend(options.tenants.clone());
    paths
}

fn is_denial(kind: &ErrorType) -> bool {
    use ErrorType as E;
    matches!(kind, E::Unauthorized | E::Forbidden | E::Misdirected | E::TooMany)
}

/// The route as it is written in the table, never the path: that may hold somebody's words.
fn route_of(request: &Request) -> String {
    request.extensions().get::<MatchedPath>().map_or_else(|| "-".to_owned(), |path| path.as_str().to_owned())
}

struct Checked {
    caller: Option<Caller>,
    is_preflight: bool,
}

fn check(state: &State, request: &Request) -> Result<Checked> {
    let options = state.options();
    let limits = &options.limits;
    let peer = request.extensions().get::<Peer>().copied();
    let length = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    if length > limits.url_bytes {
        return Err(Failure::new(
            ErrorType::TooLarge,
            format!("the address is longer than {} bytes", limits.url_bytes),
        ));
    }
    check_host(state, request, peer)?;
    check_origin(state, request)?;
    let is_preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if is_preflight {
        return Ok(Checked { caller: None, is_preflight });
    }
    let path = request.uri().path();
    let needs_no_key = [routes::HEALTH, routes::READY, routes::OPENAPI].contains(&path) || page::ROUTES.contains(&path);
    let ip = match peer {
        Some(Peer::Tcp { peer, .. }) => Some(peer.ip()),
        Some(Peer::Unix) | None => None,
    };
    let key = if needs_no_key { None } else { key_of(state, request.headers(), peer)? };
    let caller = Caller { key, peer: ip };
    if let Some(key) = &caller.key
        && let Some(rate) = key.quota.requests_per_second
        && !state.0.requests.take(&key.fingerprint, rate, Instant::now())
    {
        return Err(Failure::new(ErrorType::TooMany, format!("the key allows {rate} requests a second"))
            .header(header::RETRY_AFTER, "1"));
    }
    if !needs_no_key {
        caller.check(Scope::Read).or_else(|failure| match caller.allows(Scope::Write) {
            true => Ok(()),
            false => Err(failure),
        })?;
    }
    check_type(request)?;
    Ok(Checked { caller: Some(caller), is_preflight })
}

/// The one host that a request names, in lower case, with its port if it has one.
fn host_of(request: &Request) -> Result<String> {
    let bad = |what: &str| Failure::new(ErrorType::BadRequest, what);
    let mut named = request.headers().get_all(header::HOST).iter();
    let (first, second) = (named.next(), named.next());
    if second.is_some() {
        return Err(bad("the request has several `Host` headers"));
    }
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let readable = |host: &HeaderValue| host.to_str().map(str::to_owned);
    let host = match (first, authority) {
        // Where the address names a host too, both have to be the same.
        (Some(host), Some(authority)) if !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()) => {
            return Err(bad("the request names two hosts"));
        }
        (Some(host), _) => readable(host).map_err(|_| bad("the `Host` header is not readable"))?,
        (None, Some(authority)) => authority,
        (None, None) => return Err(bad("the request names no host")),
    };
    Ok(host.to_ascii_lowercase())
}

fn check_host(state: &State, request: &Request, peer: Option<Peer>) -> Result<()> {
    if let Some(Peer::Unix) = peer {
        return Ok(());
    }
    let host = host_of(request)?;
    let name = without_port(&host);
    let ip: Option<IpAddr> = name.parse().ok();
    let is_loopback = name == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
    let is_local = match peer {
        Some(Peer::Tcp { local, .. }) => ip == Some(local.ip().to_canonical()),
        Some(Peer::Unix) | None => false,
    };
    let allowed = &state.options().access.allowed_hosts;
    let is_allowed = allowed.iter().any(|allowed| {
        let allowed = allowed.to_ascii_lowercase();
        allowed == host || allowed == name
    });
    if is_loopback || is_local || is_allowed {
        return Ok(());
    }
    Err(Failure::new(ErrorType::Misdirected, "the request is for a host that this server is not called")
        .hint("whoever runs the server can name it with `--allowed-host`"))
}

fn check_origin(state: &State, request: &Request) -> Result<()> {
    let Some(origin) = request.headers().get(header::ORIGIN) else { return Ok(()) };
    if allowed_origin(state, request.headers()).is_some() || is_own_origin(origin, request) {
        return Ok(());
    }
    Err(Failure::forbidden("pages of this origin may not use the server")
        .hint("whoever runs the server can name it with `--cors-origin`"))
}

/// A page of this very server.
fn is_own_origin(origin: &HeaderValue, request: &Request) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = host_of(request);
    matches!((origin, host), (Some(("http" | "https", origin)), Ok(host)) if origin.eq_ignore_ascii_case(&host))
}

/// The origin of a request, if pages of it may read answers.
fn allowed_origin(state: &State, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let text = origin.to_str().ok()?;
    state.options().access.cors_origins.iter().any(|allowed| allowed == text).then(|| origin.clone())
}

fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    let allowed = HeaderValue::from_static("authorization, content-type, mcp-protocol-version, mcp-session-id");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

fn finish_headers(headers: &mut HeaderMap, id: &str, origin: Option<HeaderValue>) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("x-request-id, mcp-session-id"));
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
}

/// The key that a request shows. Errors: none is shown, several are, or one that is not known.
fn key_of(state: &State, headers: &HeaderMap, peer: Option<Peer>) -> Result<Option<Arc<StoredKey>>> {
    let keys = &state.options().access.keys;
    // Whoever can open the socket file is the user who runs the server.
    if keys.is_empty() || matches!(peer, Some(Peer::Unix)) {
        return Ok(None);
    }
    let refuse = |message: &str| {
        Failure::new(ErrorType::Unauthorized, message)
            .hint("send `Authorization: Bearer KEY`")
            .header(header::WWW_AUTHENTICATE, "Bearer")
    };
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(first), None) = (shown.next(), shown.next()) else {
        return Err(refuse("this server wants one key"));
    };
    let key = first.to_str().ok().and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    if let Some(found) = key.and_then(|key| keys.find(key)) {
        return Ok(Some(Arc::new(found.clone())));
    }
    if let Some(Peer::Tcp { peer, .. }) = peer
        && !state.0.failed_keys.take(&peer.ip(), state.options().limits.failed_keys_per_second, Instant::now())
    {
        return Err(Failure::new(ErrorType::TooMany, "too many wrong keys").header(header::RETRY_AFTER, "1"));
    }
    Err(refuse("the key is not known"))
}

/// What has a body says what it is. A form of another site can send neither of these but the last, and its `Origin` has
/// been refused by now.
fn check_type(request: &Request) -> Result<()> {
    let path = request.uri().path();
    if ![Method::POST, Method::PUT, Method::PATCH].contains(request.method()) || path.starts_with(routes::MCP) {
        return Ok(());
    }
    let found = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let found = found.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_contents = path.starts_with(routes::SYNC) && path.ends_with("/contents");
    let wanted: &[&str] = match path {
        _ if is_contents => &[CONTENTS_TYPE],
        routes::DOCUMENTS => &["application/json", "multipart/form-data"],
        _ => &["application/json"],
    };
    if wanted.contains(&found.as_str()) {
        return Ok(());
    }
    Err(Failure::new(ErrorType::MediaType, format!("the body has to be of type `{}`", wanted.join("` or `"))))
}

/// One line of the access log.
struct Line<'a> {
    id: &'a str,
    caller: Option<&'a Caller>,
    method: &'a Method,
    route: &'a str,
    status: StatusCode,
    milliseconds: f64,
    denied: Option<ErrorType>,
    audit: Option<Audit>,
}

impl Line<'_> {
    fn text(&self) -> String {
        let mut line = format!(
            "{} {} {} {} {:.1}ms",
            begin(self.id, self.caller),
            self.method,
            self.route,
            self.status.as_u16(),
            self.milliseconds
        );
        if let Some(denied) = self.denied {
            line.push_str(&format!(" denied={}", denied.word()));
        }
        if let Some(audit) = &self.audit {
            line.push_str(&format!(" write collection={:?}", audit.collection));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lose_their_port() {
        for (host, want) in [
            ("localhost:8080", "localhost"),
            ("localhost", "localhost"),
            ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]:80", "::1"),
            ("[::1]", "::1"),
            ("::1", "::1"),
            ("evil.example:80:80", "evil.example:80:80"),
        ] {
            assert_eq!(without_port(host), want);
        }
    }
}
