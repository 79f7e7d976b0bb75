//! How does a request reach a model's server, and how does its answer come back? One origin a client: its key goes there
//! and nowhere else. Blocking to call, asynchronous inside.
//!
//! Not good for: calls from an async task, which panic (use `spawn_blocking` there), redirects, or what the bytes mean.

mod address;
mod body;
mod client;
mod key;
mod present;
mod retry;
mod waits;

pub use address::{Address, shown};
pub use body::Body;
pub use client::{cause, client};
pub use key::Key;
pub use present::{MAX_SHOWN, presentable};
pub use retry::{Clock, SystemClock, is_passing};
pub use waits::{Wait, Waits, Why};

use std::{
    future::Future,
    path::PathBuf,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

pub use reqwest::Method;
use reqwest::{
    Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
};
use tokio::runtime::Runtime;

use crate::{
    model::{Error, Result},
    types::Cancel,
};

/// How often a wait looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(50);
/// The most bytes of an error answer that are read.
const MAX_FAILURE_BYTES: usize = 256 << 10;
/// The pause while a server says that it still loads its model.
const LOADING_PAUSE: Duration = Duration::from_secs(1);

/// Limits of every request of a client.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub connect_timeout: Duration,
    /// From sending a request to the first byte of its answer, and then to the first byte of its body.
    pub first_byte_timeout: Duration,
    /// Between two parts of an answer.
    pub idle_timeout: Duration,
    /// For everything, pauses and repeated tries included; none unless given.
    pub total_timeout: Option<Duration>,
    /// How often a request is sent at most, 1..; the first time counts.
    pub tries: u32,
    /// A key may travel unencrypted to a host that is not this machine.
    pub allow_plaintext: bool,
    /// Certificates in PEM that are trusted besides those of the system; empty for none.
    pub ca_pem: Vec<u8>,
    /// Connect to this socket of this machine, whatever host the address names. Nowhere else than on Unix.
    pub socket: Option<PathBuf>,
    pub clock: Arc<dyn Clock>,
    /// Hears of each pause before a request is sent again.
    pub waits: Waits,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(60),
            total_timeout: None,
            tries: 4,
            allow_plaintext: false,
            ca_pem: Vec::new(),
            socket: None,
            clock: Arc::new(SystemClock),
            waits: Waits::default(),
        }
    }
}

/// When a wait is given up because the user wants to go.
#[derive(Debug, Clone, Default)]
pub struct Leave {
    pub cancel: Cancel,
    /// The first request to stop lets an answer under way come in and ends only pauses; the second hangs up.
    pub finish_first: bool,
}

impl Leave {
    fn hangs_up(&self) -> bool {
        if self.finish_first { self.cancel.is_urgent() } else { self.cancel.is_asked() }
    }
}

/// An answer that is not a success, read whole (up to a limit).
#[derive(Debug)]
pub struct Failure {
    pub status: u16,
    pub content_type: String,
    pub body: Vec<u8>,
    /// The pause the server asks for.
    pub retry_after: Option<Duration>,
    /// Where a redirect wanted to go, without secrets.
    pub redirect: Option<String>,
}

/// What is to be done about a [`Failure`] with a passing status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    GiveUp,
    TryAgain,
    /// The server is not ready; it is asked again as long as a first byte may take.
    Loading,
}

/// One request to a server of our own kind, where [`Http::get`] and [`Http::post`] say too little.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub method: Method,
    /// As in [`Http::get`].
    pub path: &'a str,
    pub body: Option<Vec<u8>>,
    /// Of the body; unset: JSON, or what the headers of the client say.
    pub content_type: Option<&'static str>,
    /// In place of [`HttpOptions::first_byte_timeout`].
    pub first_byte_timeout: Option<Duration>,
    pub if_lost: IfLost,
}

/// Whether a request is sent again that found no connection, or whose connection broke before its answer began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfLost {
    /// Doing it twice is not as good as doing it once.
    GiveUp,
    /// Sent again where the server has answered before, so that it exists.
    IfKnown,
    /// Also once where it has not: it may just be starting.
    Once,
}

impl<'a> Request<'a> {
    fn get(path: &'a str) -> Self {
        let if_lost = IfLost::IfKnown;
        Self { method: Method::GET, path, body: None, content_type: None, first_byte_timeout: None, if_lost }
    }

    fn post(path: &'a str, body: &serde_json::Value) -> Self {
        let body = serde_json::to_vec(body).expect("a JSON value serialises");
        Self { method: Method::POST, body: Some(body), ..Self::get(path) }
    }
}

/// What came back.
#[derive(Debug)]
pub enum Reply<'a> {
    Success(Body<'a>),
    Failure(Failure),
}

/// A client of one origin. Several threads may call at once; they share connections.
#[derive(Debug)]
pub struct Http {
    client: reqwest::Client,
    /// Present until the client is dropped.
    runtime: Option<Runtime>,
    address: Address,
    headers: HeaderMap,
    secrets: Vec<Key>,
    options: HttpOptions,
    /// The server has answered before, so that it exists and a lost connection is worth another try.
    answered: AtomicBool,
}

enum Waited<T> {
    Done(T),
    TimedOut,
    Left,
}

impl Http {
    /// Prepares a client; sends nothing. `headers` replace what we would send under the same name.
    /// Errors: [`Error::Options`] for an address that is none or a key that fits no header; [`Error::Unencrypted`].
    pub fn new(base_url: &str, key: Option<&Key>, headers: &[(String, Key)], options: HttpOptions) -> Result<Self> {
        let address = Address::parse(base_url)?;
        let key = key.filter(|key| !key.is_empty());
        let has_secret = key.is_some() || address.user().is_some() || !headers.is_empty();
        if has_secret && !address.is_https() && !address.is_loopback() && !options.allow_plaintext {
            return Err(Error::Unencrypted { url: shown(base_url) });
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| Error::Options { what: format!("no event loop for the network: {error}") })?;
        let trusted = certificates(&options.ca_pem)?;
        let adjust = |builder: reqwest::ClientBuilder| {
            #[cfg(unix)]
            let builder = match &options.socket {
                Some(path) => builder.unix_socket(path.as_path()),
                None => builder,
            };
            if trusted.is_empty() { builder } else { builder.tls_certs_merge(trusted.clone()) }
        };
        let client = client(address.is_https(), address.is_loopback(), options.connect_timeout, adjust)
            .map_err(|what| Error::Options { what })?;
        let secrets = key.into_iter().chain(headers.iter().map(|(_, value)| value)).chain(address.user().map(|u| u.1));
        Ok(Self {
            client,
            runtime: Some(runtime),
            headers: build_headers(&address, key, headers)?,
            secrets: secrets.cloned().collect(),
            address,
            options,
            answered: AtomicBool::new(false),
        })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The URL of an endpoint as people may see it.
    pub fn shown(&self, path: &str) -> String {
        shown(self.address.join(path).as_str())
    }

    /// A text of the server as people may see it: no secrets, no control characters, at most [`MAX_SHOWN`] characters.
    pub fn clean(&self, text: &str) -> String {
        presentable(&self.without_secrets(text))
    }

    /// A text of the server, for who makes it safe to be shown.
    pub fn without_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.secrets.iter().for_each(|secret| secret.scrub(&mut text));
        text
    }

    /// Asks for a resource. Passing failures are repeated.
    pub fn get(&self, path: &str, leave: &Leave) -> Result<Reply<'_>> {
        self.call(&Request::get(path), leave, &|_| Verdict::TryAgain, None)
    }

    /// Sends JSON. A failure with a passing status (429, 5xx, …) is repeated as `judge` says, with pauses; other
    /// failures come back at once. Nothing is repeated after a success has begun.
    pub fn post(
        &self,
        path: &str,
        body: &serde_json::Value,
        leave: &Leave,
        judge: &dyn Fn(&Failure) -> Verdict,
    ) -> Result<Reply<'_>> {
        self.call(&Request::post(path, body), leave, judge, None)
    }

    /// [`post`](Self::post) that ends with [`Error::TimedOut`] at `deadline`, pauses and repeated tries included.
    pub fn post_by(
        &self,
        path: &str,
        body: &serde_json::Value,
        leave: &Leave,
        judge: &dyn Fn(&Failure) -> Verdict,
        deadline: Instant,
    ) -> Result<Reply<'_>> {
        self.call(&Request::post(path, body), leave, judge, Some(deadline))
    }

    /// Sends any request; as [`post`](Self::post).
    pub fn send(&self, request: &Request<'_>, leave: &Leave, judge: &dyn Fn(&Failure) -> Verdict) -> Result<Reply<'_>> {
        self.call(request, leave, judge, None)
    }

    fn call(
        &self,
        request: &Request<'_>,
        leave: &Leave,
        judge: &dyn Fn(&Failure) -> Verdict,
        by: Option<Instant>,
    ) -> Result<Reply<'_>> {
        let total = self.options.total_timeout.map(|total| Instant::now() + total);
        let deadline = [total, by].into_iter().flatten().min();
        let mut loading = Duration::ZERO;
        let mut tried = 0;
        loop {
            tried += 1;
            let reply = self.attempt(request, leave, deadline);
            let verdict = match &reply {
                Ok(Reply::Failure(failure)) if retry::is_passing(failure.status) => judge(failure),
                Err(Error::Unreachable { .. }) => match request.if_lost {
                    IfLost::Once if tried == 1 => Verdict::TryAgain,
                    IfLost::IfKnown | IfLost::Once if self.answered.load(Ordering::Relaxed) => Verdict::TryAgain,
                    IfLost::GiveUp | IfLost::IfKnown | IfLost::Once => Verdict::GiveUp,
                },
                Ok(_) | Err(_) => Verdict::GiveUp,
            };
            let asked = match &reply {
                Ok(Reply::Failure(failure)) => failure.retry_after,
                Ok(Reply::Success(_)) | Err(_) => None,
            };
            let pause = match verdict {
                Verdict::GiveUp => None,
                Verdict::Loading if loading < self.options.first_byte_timeout => {
                    loading += LOADING_PAUSE;
                    tried -= 1;
                    Some(LOADING_PAUSE)
                }
                Verdict::Loading | Verdict::TryAgain => self.pause_after(tried, asked),
            };
            match pause {
                Some(pause) if deadline.is_none_or(|deadline| Instant::now() + pause < deadline) => {
                    let why = match &reply {
                        _ if verdict == Verdict::Loading => Why::Loading,
                        Ok(Reply::Failure(failure)) => Why::Status(failure.status),
                        Ok(Reply::Success(_)) | Err(_) => Why::Lost,
                    };
                    self.tell_wait(request.path, why, pause, (tried + 1, self.options.tries));
                    self.pause(pause, leave)?;
                }
                Some(_) | None => return reply,
            }
        }
    }

    /// Tells who listens that the request is sent again after a pause, as the `next` try `of` so many.
    pub fn tell_wait(&self, path: &str, why: Why, pause: Duration, (next, of): (u32, u32)) {
        self.options.waits.tell(&Wait { url: &self.shown(path), why, pause, next, of });
    }

    /// The pause before another try, or `None` if there is to be no other.
    pub fn pause_after(&self, tried: u32, asked: Option<Duration>) -> Option<Duration> {
        if tried >= self.options.tries { None } else { retry::pause(tried, asked, self.options.clock.chance()) }
    }

    /// Waits, and ends early with [`Error::Cancelled`] when the user wants to go.
    pub fn pause(&self, mut time: Duration, leave: &Leave) -> Result<()> {
        while !time.is_zero() {
            if leave.cancel.is_asked() {
                return Err(Error::Cancelled);
            }
            let slice = time.min(POLL);
            self.options.clock.sleep(slice);
            time -= slice;
        }
        Ok(())
    }

    fn attempt(&self, what: &Request<'_>, leave: &Leave, deadline: Option<Instant>) -> Result<Reply<'_>> {
        let url = self.address.join(what.path);
        let mut headers = self.headers.clone();
        if let Some(content_type) = what.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        let mut request = self.client.request(what.method.clone(), url.clone()).headers(headers);
        if let Some(body) = &what.body {
            request = request.body(body.clone());
        }
        let connect = self.options.connect_timeout;
        let limit = what.first_byte_timeout.unwrap_or(self.options.first_byte_timeout);
        let response = match self.wait(request.send(), limit, leave, deadline) {
            Waited::Done(Ok(response)) => response,
            Waited::Done(Err(error)) if error.is_timeout() => return Err(timed_out(&url, connect, "connect")),
            Waited::Done(Err(error)) => return Err(self.unreachable(&url, error)),
            Waited::TimedOut => return Err(self.late(&url, limit, "begin its answer", deadline)),
            Waited::Left => return Err(Error::Cancelled),
        };
        self.answered.store(true, Ordering::Relaxed);
        let status = response.status();
        let headers = response.headers();
        let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let content_type = content_type.to_ascii_lowercase();
        if status.is_success() {
            return Ok(Reply::Success(Body::new(self, response, url, leave.clone(), deadline)));
        }
        let retry_after = retry::asked(headers, self.options.clock.now());
        let redirect = headers.get(LOCATION).and_then(|value| value.to_str().ok()).map(|to| self.clean(&shown(to)));
        let redirect = redirect.filter(|_| status.is_redirection());
        let body = Body::new(self, response, url, leave.clone(), deadline).some(MAX_FAILURE_BYTES)?;
        Ok(Reply::Failure(Failure { status: status.as_u16(), content_type, body, retry_after, redirect }))
    }

    /// Runs a future of ours to its end, for `limit` at most. What is given up is dropped, and its connection closed,
    /// before this returns.
    fn wait<F: Future>(
        &self,
        future: F,
        limit: Duration,
        leave: &Leave,
        deadline: Option<Instant>,
    ) -> Waited<F::Output> {
        let runtime = self.runtime();
        let waited = runtime.block_on(async {
            let mut future = pin!(future);
            let end = Instant::now() + limit;
            let end = deadline.map_or(end, |deadline| deadline.min(end));
            loop {
                if leave.hangs_up() {
                    return Waited::Left;
                }
                let slice = end.saturating_duration_since(Instant::now());
                if slice.is_zero() {
                    return Waited::TimedOut;
                }
                if let Ok(done) = tokio::time::timeout(slice.min(POLL), &mut future).await {
                    return Waited::Done(done);
                }
            }
        });
        if !matches!(waited, Waited::Done(_)) {
            self.settle();
        }
        waited
    }

    /// Lets the connection tasks notice what was dropped: they only run while we wait for something.
    fn settle(&self) {
        /// A task sees the drop, shuts its connection down and ends within a few turns.
        const TURNS: usize = 32;
        self.runtime().block_on(async {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
        });
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("present until dropped")
    }

    fn late(&self, url: &Url, limit: Duration, what: &'static str, deadline: Option<Instant>) -> Error {
        match self.options.total_timeout {
            Some(total) if deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                timed_out(url, total, "answer")
            }
            Some(_) | None => timed_out(url, limit, what),
        }
    }

    fn unreachable(&self, url: &Url, error: reqwest::Error) -> Error {
        Error::Unreachable { url: shown(url.as_str()), why: self.clean(&cause(error)) }
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A name lookup that hangs must not hold us up.
            runtime.shutdown_background();
        }
    }
}

fn timed_out(url: &Url, time: Duration, what: &'static str) -> Error {
    Error::TimedOut { url: shown(url.as_str()), seconds: time.as_secs().max(1), what }
}

fn certificates(pem: &[u8]) -> Result<Vec<reqwest::Certificate>> {
    if pem.is_empty() {
        return Ok(Vec::new());
    }
    let read = reqwest::Certificate::from_pem_bundle(pem);
    let read = read.map_err(|error| Error::Options { what: format!("the certificates cannot be read: {error}") })?;
    if read.is_empty() {
        return Err(Error::Options { what: "the file of certificates holds none in PEM".to_owned() });
    }
    Ok(read)
}

fn build_headers(address: &Address, key: Option<&Key>, given: &[(String, Key)]) -> Result<HeaderMap> {
    let secret = |name: &str, value: &str| {
        let mut value = HeaderValue::from_str(value).map_err(|_| Error::Options {
            what: format!("the value for the header `{}` has characters that no header can carry", presentable(name)),
        })?;
        value.set_sensitive(true);
        Ok::<_, Error>(value)
    };
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    if let Some(key) = key.filter(|_| address.is_azure()) {
        headers.insert(HeaderName::from_static("api-key"), secret("api-key", key.expose())?);
    } else if let Some(key) = key {
        headers.insert(AUTHORIZATION, secret("authorization", &format!("Bearer {}", key.expose()))?);
    } else if let Some((name, password)) = address.user() {
        use base64::Engine as _;
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{}", password.expose()));
        headers.insert(AUTHORIZATION, secret("authorization", &format!("Basic {pair}"))?);
    }
    for (name, value) in given {
        let known = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Error::Options { what: format!("`{}` is not the name of a header", presentable(name)) })?;
        headers.insert(known, secret(name, value.expose())?);
    }
    Ok(headers)
}
