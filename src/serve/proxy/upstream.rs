//! Requests to the server behind the proxy, and its answers as they come.

use std::{sync::Arc, time::Duration};

use hyper::{HeaderMap, Method, StatusCode, body::Bytes, header::CONTENT_TYPE};
use reqwest::Url;

use super::{
    answer::Answer,
    error::{Error, Result},
    flight::{Broken, Flight, Head, LINGER},
    headers::{self, X_RAG_CACHE_WHY},
    identity::Key,
    paths::Upstream,
    rules::Endpoint,
    server::Inner,
    stats::bump,
};
use crate::model::http::{cause, client};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of an answer that is read here; a longer one is handed on unread.
const MAX_READ_BYTES: usize = 64 << 20;
/// The most bytes of one stream to a request whose answer may be kept.
const MAX_STREAM_BYTES: usize = 64 << 20;

/// What goes upstream.
#[derive(Debug)]
pub struct Call {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: reqwest::Body,
}

/// Makes the client of the one upstream server.
pub fn connect(upstream: &Upstream, ca_pem: &[u8], idle: Duration) -> Result<reqwest::Client> {
    let trusted = match ca_pem {
        [] => Vec::new(),
        pem => reqwest::Certificate::from_pem_bundle(pem)
            .map_err(|error| Error::Options { what: format!("the certificates cannot be read: {error}") })?,
    };
    let adjust = |builder: reqwest::ClientBuilder| {
        let builder = builder.read_timeout(idle).pool_max_idle_per_host(256);
        if trusted.is_empty() { builder } else { builder.tls_certs_merge(trusted.clone()) }
    };
    client(upstream.is_https, upstream.is_loopback, CONNECT_TIMEOUT, adjust).map_err(|what| Error::Options { what })
}

/// Why a request or the reading of its answer failed.
pub fn broken(error: reqwest::Error, has_begun: bool) -> Broken {
    if error.is_timeout() && !error.is_connect() {
        Broken::TimedOut
    } else if has_begun {
        Broken::CutOff
    } else {
        Broken::Unreachable(cause(error))
    }
}

/// Sends a request; its answer has begun when this returns.
pub async fn send(inner: &Inner, call: Call) -> std::result::Result<reqwest::Response, Broken> {
    bump(&inner.stats.upstream_calls);
    let request = inner.client.request(call.method, call.url).headers(call.headers).body(call.body);
    match request.send().await {
        Ok(response) => {
            if response.status().is_client_error() || response.status().is_server_error() {
                bump(&inner.stats.upstream_errors);
            }
            Ok(response)
        }
        Err(error) => {
            bump(&inner.stats.upstream_errors);
            Err(broken(error, false))
        }
    }
}

/// What becomes of the answer of a flight.
#[derive(Debug, Clone)]
pub struct Keep {
    pub key: Key,
    pub endpoint: Endpoint,
    pub question: Option<super::semantic::Question>,
}

/// Asks the server and lets everyone hear what it says, until the end, or until nobody has listened for a while.
/// An answer that may be kept is kept before anybody hears its end.
pub async fn lead(inner: Arc<Inner>, flight: Arc<Flight>, call: Call, keep: Keep) {
    let key = keep.key;
    let end = tokio::select! {
        end = hear(&inner, &flight, call, keep) => end,
        () = flight.abandoned(LINGER) => Err(Broken::Stopped),
        () = inner.stopped() => Err(Broken::Stopped),
    };
    // Before the end is told: who comes now finds the stored answer, or asks anew.
    inner.flights.remove(&key, &flight);
    flight.end(end);
}

async fn hear(inner: &Arc<Inner>, flight: &Flight, call: Call, keep: Keep) -> std::result::Result<(), Broken> {
    let response = send(inner, call).await?;
    let status = response.status();
    let headers = headers::client_response(response.headers());
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    if status == StatusCode::OK && content_type.to_ascii_lowercase().starts_with("text/event-stream") {
        flight.begin(Head { status, headers, length: None, failed: false });
        return hear_stream(inner, flight, response, keep, content_type).await;
    }
    hear_whole(inner, flight, response, keep, Head { status, headers, length: None, failed: status.is_server_error() })
        .await
}

async fn hear_stream(
    inner: &Arc<Inner>,
    flight: &Flight,
    mut response: reqwest::Response,
    keep: Keep,
    content_type: String,
) -> std::result::Result<(), Broken> {
    let (mut keep, mut parts, mut length) = (Some(keep), Vec::<Bytes>::new(), 0);
    let (mut tail, mut ending, mut tries) = (b"\n".to_vec(), false, 0);
    let mut held = Vec::<Bytes>::new();
    while let Some(part) = response.chunk().await.map_err(|error| broken(error, true))? {
        length += part.len();
        if length > MAX_STREAM_BYTES {
            return Err(Broken::TooLarge);
        }
        if part.is_empty() {
            continue;
        }
        parts.push(part.clone());
        // The end of the text is on the disk before any client has read it.
        tail.extend_from_slice(&part);
        ending |= has_mark(&tail);
        // An event is judged once it is whole, with the blank line behind it.
        let is_whole = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"].iter().any(|end| tail.ends_with(end));
        if let Some(wanted) = keep.as_ref().filter(|_| ending && is_whole && tries < MAX_TRIES) {
            tries += 1;
            let answer = streamed(wanted, &content_type, &parts);
            // It may have been half an event: then it is judged again.
            if store(inner, wanted.clone(), answer).await.is_ok() {
                keep = None;
            }
        }
        tail.drain(..tail.len().saturating_sub(MARK_BYTES));
        held.push(part);
        // The beginning of an end waits for the rest of it, however it is cut; a stream that is full of marks waits for its
        // own end.
        if keep.is_none() || !ending || (is_whole && tries < MAX_TRIES) {
            held.drain(..).for_each(|part| flight.push(part));
        }
    }
    if let Some(keep) = keep {
        let answer = streamed(&keep, &content_type, &parts);
        // The client hears the answer whether it is kept or not.
        let _ = store(inner, keep, answer).await;
    }
    held.into_iter().for_each(|part| flight.push(part));
    Ok(())
}

fn streamed(keep: &Keep, content_type: &str, parts: &[Bytes]) -> Answer {
    Answer { endpoint: keep.endpoint, is_stream: true, content_type: content_type.to_owned(), parts: parts.to_vec() }
}

/// How often a stream is judged before its end: one that is full of marks is not read again for each.
const MAX_TRIES: u32 = 4;
/// Longer than any mark of an end.
const MARK_BYTES: usize = 32;

/// The last event of a stream has begun: `[DONE]`, or what ends a stream of the Responses API. A line begins so, which no
/// text within an event can: there a line feed is escaped.
fn has_mark(tail: &[u8]) -> bool {
    let marks =
        [&b"\ndata: [DONE]"[..], b"\ndata:[DONE]", b"\nevent: response.completed", b"\nevent:response.completed"];
    marks.iter().any(|mark| tail.windows(mark.len()).any(|window| window == *mark))
}

async fn hear_whole(
    inner: &Arc<Inner>,
    flight: &Flight,
    mut response: reqwest::Response,
    keep: Keep,
    mut head: Head,
) -> std::result::Result<(), Broken> {
    let (mut parts, mut length) = (Vec::<Bytes>::new(), 0);
    while length <= MAX_READ_BYTES {
        match response.chunk().await.map_err(|error| broken(error, true))? {
            Some(part) => {
                length += part.len();
                parts.push(part);
            }
            None => {
                let body = Bytes::from(parts.concat());
                head.length = Some(body.len() as u64);
                if head.status == StatusCode::OK {
                    let content_type = head
                        .headers
                        .get(CONTENT_TYPE)
                        .and_then(|value| value.to_str().ok())
                        .unwrap_or_default()
                        .to_owned();
                    let answer =
                        Answer { endpoint: keep.endpoint, is_stream: false, content_type, parts: vec![body.clone()] };
                    if let Err(why) = store(inner, keep, answer).await {
                        headers::set(&mut head.headers, X_RAG_CACHE_WHY, why);
                    }
                }
                flight.begin(head);
                flight.push(body);
                return Ok(());
            }
        }
    }
    flight.begin(head);
    parts.into_iter().for_each(|part| flight.push(part));
    Err(Broken::TooLarge)
}

/// Keeps an answer if it may be kept. Errors: why not.
async fn store(inner: &Arc<Inner>, keep: Keep, answer: Answer) -> std::result::Result<(), &'static str> {
    let inner = Arc::clone(inner);
    let kept = tokio::task::spawn_blocking(move || {
        answer.judged()?;
        let question = keep.question.as_ref().map(super::semantic::Question::encoded);
        inner.put(keep.key, &answer.encoded(), question)?;
        if let (Some(semantic), Some(question)) = (&inner.semantic, keep.question) {
            semantic.learn(keep.key, question);
        }
        Ok(())
    });
    kept.await.unwrap_or(Err("store"))
}
