//! A chat and embedding server that does as it is told: a script of behaviours, in the shape of one vendor.
//!
//! It runs on a thread and an event loop of its own, so a test may call it from this process or start a program against
//! its address. One behaviour a request, in the order of the script; the last one stays. Dropping it ends it.
//! Not good for: wit, or timing.

// Each test binary uses its own part of it, and what fails here is the test's own fault.
#![allow(dead_code, clippy::print_stdout, clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

mod embed;
mod profile;
mod says;
pub mod transcript;

use std::{
    collections::VecDeque,
    convert::Infallible,
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    http::{Response, StatusCode, header},
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

#[allow(unused_imports)]
pub use embed::{DIM, vector};
pub use profile::Profile;

/// The key that `NeedsKey` wants.
pub const KEY: &str = "sk-double-0123456789";

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Behaviour {
    /// Says this, word by word in a stream.
    Answer(String),
    /// Says the first sentence of the first passage of the prompt, and cites it.
    CiteRight,
    /// The same sentence with the number of the last passage, which does not hold it.
    CiteWrong,
    /// The same sentence with a number that no passage has.
    CiteOutOfRange,
    /// The same sentence without a number.
    NoCite,
    /// Says whatever follows `IGNORE` in the prompt, as an obedient victim would.
    EchoObey,
    /// Declines in the field for it.
    Refuse,
    /// The filter of the server refuses the request.
    Filtered,
    /// Says nothing.
    Empty,
    /// Says this and waits before each word.
    Slow { text: String, ms_per_word: u64 },
    /// Says so many words, then nothing more, with the connection open.
    StallAfter(usize),
    /// Says so many words, then breaks the connection.
    CutAfter(usize),
    /// Says this and runs into the token limit.
    Length(String),
    /// Thinks this before it answers that, in a field of its own and inline.
    Thinks { thought: String, answer: String },
    /// Says so many words, then sends an error within the stream.
    ErrorAfter(usize),
    /// Says this and ends without `[DONE]`.
    NoDone(String),
    /// Says this and ends with neither a reason to finish nor `[DONE]`.
    NoEnd(String),
    /// Says this in one JSON answer though a stream was asked for.
    NoStream(String),
    /// Says this without ever counting.
    NoUsage(String),
    /// Says this under a content type that is not true.
    WrongContentType(String),
    /// Too many requests, with these headers.
    Busy(Vec<(&'static str, String)>),
    /// Too many requests, because nothing is paid for any more.
    Quota,
    /// Fails with this status and an error in the profile's shape.
    Fail(u16),
    /// Not ready: the model is being loaded.
    Loading,
    /// A gateway's HTML page with status 502.
    Html502,
    /// A login page with status 200.
    HtmlLogin,
    /// A success without a body.
    Nothing,
    /// An answer of 100 MB without an end in sight.
    Huge,
    /// JSON that breaks off.
    BadJson,
    /// Refuses requests that have this parameter, answers the others.
    Rejects(&'static str),
    /// The prompt is too long: tokens of it and of the context.
    Overflow { found: u64, limit: u64 },
    /// Wants [`KEY`]; repeats the wrong one in its message.
    NeedsKey,
    /// Sends the client on to another address.
    Redirect(String),
    /// Embeds at most so many texts at once (400 else).
    AtMost(usize),
    /// Embeds only texts of at most so many bytes (500 "too large" else).
    UpTo(usize),
    /// Embeds in the wrong order, with the right numbers.
    Shuffled,
    /// Embeds in base64.
    Base64,
    /// Embeds one text too few.
    OneMissing,
    /// Embeds into vectors of another dimension.
    OtherDim,
    /// Embeds into zeros.
    Zeros,
    /// Embeds into vectors with a value that JSON cannot hold.
    NotANumber,
    /// Gives this answer, so many bytes at a time, whatever was asked.
    Replay(Box<transcript::Exchange>, usize),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// `Null` if it was no JSON.
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All messages of a chat request, one after another.
    pub fn prompt(&self) -> String {
        let messages = self.body["messages"].as_array().cloned().unwrap_or_default();
        messages.iter().filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// A running double.
pub struct Double {
    url: String,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    profile: Profile,
    script: Mutex<VecDeque<Behaviour>>,
    requests: Mutex<Vec<Request>>,
    hang_ups: AtomicUsize,
}

impl Double {
    pub fn start(profile: Profile, script: impl IntoIterator<Item = Behaviour>) -> Self {
        let shared = Arc::new(Shared {
            profile,
            script: Mutex::new(script.into_iter().collect()),
            requests: Mutex::default(),
            hang_ups: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let app = axum::Router::new().fallback(move |request| serve(Arc::clone(&served), request));
                tokio::select! {
                    ended = async { axum::serve(listener, app).await } => ended.unwrap(),
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self { url, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// A double that says one text, in OpenAI's shape.
    pub fn answering(text: &str) -> Self {
        Self::start(Profile::OpenAi, [Behaviour::Answer(text.to_owned())])
    }

    /// A double that gives the answers of a transcript, one a request, so many bytes at a time.
    pub fn replaying(exchanges: &[transcript::Exchange], part_bytes: usize) -> Self {
        // The profile of the list of models, for which nobody asks here.
        let script = exchanges.iter().map(|exchange| Behaviour::Replay(Box::new(exchange.clone()), part_bytes));
        Self::start(Profile::OpenAi, script)
    }

    /// The base URL, with `/v1`.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// What came so far, requests for the list of models included.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Answers that the client did not hear to their end.
    pub fn hang_ups(&self) -> usize {
        self.shared.hang_ups.load(Ordering::SeqCst)
    }

    /// Waits until a client has hung up; false if none does within ten seconds.
    pub fn hears_hang_up(&self) -> bool {
        let end = Instant::now() + Duration::from_secs(10);
        while self.hang_ups() == 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.hang_ups() > 0
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(shared: Arc<Shared>, request: axum::extract::Request) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 64 << 20).await.unwrap_or_default();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let request = Request {
        method: head.method.to_string(),
        path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers: headers.collect(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    shared.requests.lock().unwrap().push(request.clone());
    let path = head.uri.path();
    let response = if path.ends_with("/models") {
        json_answer(200, &shared.profile.models())
    } else {
        let behaviour = {
            let mut script = shared.script.lock().unwrap();
            if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
        };
        let behaviour = behaviour.unwrap_or(Behaviour::Fail(500));
        match failure(&shared, &behaviour, &request) {
            _ if matches!(behaviour, Behaviour::Replay(..)) => replay(&shared, &behaviour),
            Some(response) => response,
            None if path.ends_with("/chat/completions") => says::answer(&shared, &behaviour, &request),
            None if path.ends_with("/embeddings") => embed::answer(&shared, &behaviour, &request),
            None => json_answer(404, &shared.profile.error(404, "no such path")),
        }
    };
    Ok(response)
}

/// What goes wrong alike for every endpoint.
fn failure(shared: &Arc<Shared>, behaviour: &Behaviour, request: &Request) -> Option<Response<Body>> {
    let profile = shared.profile;
    let plain = |status, content_type, body: &str| Some(whole(status, content_type, body.to_owned()));
    match behaviour {
        Behaviour::Busy(headers) => {
            let mut response = json_answer(429, &profile.error(429, "Rate limit reached"));
            for (name, value) in headers {
                response.headers_mut().insert(*name, value.parse().unwrap());
            }
            Some(response)
        }
        Behaviour::Quota => Some(json_answer(429, &profile.quota())),
        Behaviour::Fail(status) => Some(json_answer(*status, &profile.error(*status, "something went wrong"))),
        Behaviour::Loading => Some(json_answer(
            503,
            &json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}),
        )),
        Behaviour::Html502 => plain(
            502,
            "text/html",
            "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>",
        ),
        Behaviour::HtmlLogin => {
            plain(200, "text/html", "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>")
        }
        Behaviour::Nothing => plain(200, "application/json", ""),
        Behaviour::Huge => Some(endless(shared)),
        Behaviour::BadJson => plain(200, "application/json", "{\"choices\": [{\"mess"),
        Behaviour::Overflow { found, limit } => Some(json_answer(400, &profile.overflow(*found, *limit))),
        Behaviour::Rejects(parameter) if request.body.get(parameter).is_some() => {
            Some(json_answer(profile.rejection_status(), &profile.rejection(parameter)))
        }
        Behaviour::Filtered => Some(json_answer(400, &profile.filtered())),
        Behaviour::NeedsKey if request.header("authorization") != Some(&format!("Bearer {KEY}")) => {
            let given = request.header("authorization").unwrap_or("none").trim_start_matches("Bearer ");
            Some(json_answer(401, &profile.error(401, &format!("Incorrect API key provided: {given}"))))
        }
        Behaviour::Redirect(to) => {
            let mut response = whole(307, "text/plain", String::new());
            response.headers_mut().insert(header::LOCATION, to.parse().unwrap());
            Some(response)
        }
        _ => None,
    }
}

fn whole(status: u16, content_type: &str, body: String) -> Response<Body> {
    let builder = Response::builder().status(StatusCode::from_u16(status).unwrap());
    builder.header(header::CONTENT_TYPE, content_type).body(Body::from(body)).unwrap()
}

fn json_answer(status: u16, value: &Value) -> Response<Body> {
    whole(status, "application/json", value.to_string())
}

/// How a body that is sent in parts ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    /// The connection breaks.
    Cut,
    /// Nothing more comes, and the connection stays.
    Stall,
}

/// Counts a hang-up when it is dropped before its body is through.
struct Listener {
    shared: Arc<Shared>,
    is_through: bool,
}

impl Drop for Listener {
    fn drop(&mut self) {
        if !self.is_through {
            self.shared.hang_ups.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A body in parts, with a pause before each.
fn parts(shared: &Arc<Shared>, content_type: &str, parts: Vec<String>, pause: Duration, end: End) -> Response<Body> {
    let mut response = bytes_in_parts(shared, parts.into_iter().map(String::into_bytes).collect(), pause, end);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type.parse().unwrap());
    response
}

fn bytes_in_parts(shared: &Arc<Shared>, parts: Vec<Vec<u8>>, pause: Duration, end: End) -> Response<Body> {
    let listener = Listener { shared: Arc::clone(shared), is_through: false };
    let state = (VecDeque::from(parts), listener);
    let stream = futures_util::stream::unfold(state, move |(mut parts, mut listener)| async move {
        if let Some(part) = parts.pop_front() {
            tokio::time::sleep(pause).await;
            listener.is_through = parts.is_empty() && end == End::Whole;
            return Some((Ok(part), (parts, listener)));
        }
        match end {
            End::Whole => None,
            End::Cut => {
                // What was said is to arrive before the connection breaks.
                tokio::time::sleep(Duration::from_millis(20)).await;
                listener.is_through = true;
                Some((Err(std::io::Error::other("cut")), (parts, listener)))
            }
            End::Stall => std::future::pending().await,
        }
    });
    Response::new(Body::from_stream(stream))
}

fn replay(shared: &Arc<Shared>, behaviour: &Behaviour) -> Response<Body> {
    let Behaviour::Replay(exchange, part_bytes) = behaviour else { unreachable!("it is asked for before") };
    let bytes = exchange.body.chunks((*part_bytes).max(1)).map(<[u8]>::to_vec).collect();
    let mut response = bytes_in_parts(shared, bytes, Duration::ZERO, End::Whole);
    *response.status_mut() = StatusCode::from_u16(exchange.status).unwrap();
    for (name, value) in &exchange.answer_headers {
        let name: header::HeaderName = name.parse().unwrap();
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

/// JSON that never closes, 100 MB of it.
fn endless(shared: &Arc<Shared>) -> Response<Body> {
    let mut text = vec!["{\"choices\": [{\"message\": {\"content\": \"".to_owned()];
    text.resize(1 + 100, "word ".repeat(200_000));
    parts(shared, "application/json", text, Duration::ZERO, End::Whole)
}
