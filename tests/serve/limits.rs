//! How much, how long, how many at once.

use std::{
    io::{Read as _, Write as _},
    ops::ControlFlow,
    sync::{Arc, Condvar, Mutex, mpsc},
    time::Duration,
};

use rag::{
    model::{self, Chat, ChatRequest, Completion, Embedder, Finish, Usage, fake::FakeEmbedder},
    serve::server::Limits,
    types::EmbeddingSpace,
};
use serde_json::json;

use super::{
    http::Client,
    server::{Fakes, Server},
};

#[test]
fn n05_what_is_too_large_is_refused_before_it_is_read() {
    let server = Server::start();
    let client = server.client();
    server.add("a.md", "the quay is closed");
    // Announced and never sent: the answer comes all the same.
    for (path, kind, length) in [
        ("/v1/query", "application/json", 9 << 20),
        ("/v1/documents", "multipart/form-data; boundary=x", 70 << 20),
        ("/v1/query", "application/json", u64::MAX / 2),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        let answer = client.raw(head.as_bytes()).unwrap();
        assert_eq!((answer.status, answer.problem().as_str()), (413, "too_large"), "{path}");
    }
    // Not announced.
    let mut body = Vec::new();
    for _ in 0..150 {
        body.extend_from_slice(format!("{:x}\r\n", 64 << 10).as_bytes());
        body.extend_from_slice(&[b' '; 64 << 10]);
        body.extend_from_slice(b"\r\n");
    }
    let headers = [("content-type", "application/json"), ("transfer-encoding", "chunked")];
    client.send("POST", "/v1/query", &headers, &body).is(413);
    let long = format!("/v1/documents?filter={}", "a".repeat(9000));
    assert_eq!(client.get(&long).is(413).problem(), "too_large");
    let header = "h".repeat(20 << 10);
    assert_eq!(client.send("GET", "/health", &[("x-long", &header)], b"").status, 431);
    let many: String = (0..200).map(|n| format!("x-{n}: 1\r\n")).collect();
    let answer = client.raw(format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{many}\r\n").as_bytes()).unwrap();
    assert_eq!(answer.status, 431);
    let deep = format!("{{\"text\":{}1{}}}", "[".repeat(100), "]".repeat(100));
    let refused = client.send("POST", "/v1/query", &[("content-type", "application/json")], deep.as_bytes()).is(400);
    assert!(refused.text().contains("nested deeper"), "{}", refused.text());
    let texts: Vec<String> = (0..257).map(|n| n.to_string()).collect();
    client.post("/v1/embeddings", &json!({ "input": texts })).is(400);
    client.post("/v1/query", &json!({ "text": "x".repeat(8193) })).is(400);
    client.post("/v1/query", &json!({ "text": "x", "k": 1001 })).is(400);
    client.post("/v1/query", &json!({ "text": "quay", "k": 1000 })).ok();
}

fn short(limits: &mut Limits) {
    limits.header_timeout = Duration::from_millis(300);
    limits.idle_timeout = Duration::from_millis(300);
    limits.keep_alive = Duration::from_millis(600);
}

#[test]
fn n06_who_only_waits_is_sent_away() {
    let server = Server::with(|options| short(&mut options.limits));
    let client = server.client();
    // Nothing; half a head; a head byte by byte; a body that never comes.
    let mut silent = client.connect().unwrap();
    let mut half = client.connect().unwrap();
    half.write_all(b"GET /health HTTP/1.1\r\nhost: local").unwrap();
    let mut drip = client.connect().unwrap();
    let dripping = std::thread::spawn(move || {
        for byte in b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-much: ".iter().chain([b'x'; 400].iter()) {
            if drip.write_all(&[*byte]).is_err() {
                return true;
            }
            // The pace of the attack, not a wait for anything.
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    });
    let mut body = client.connect().unwrap();
    body.write_all(
        b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{",
    )
    .unwrap();
    let mut rest = Vec::new();
    assert_eq!(silent.read_to_end(&mut rest).unwrap_or(0), 0);
    let _ = half.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains(" 200 "));
    assert!(dripping.join().unwrap(), "a head that never ends");
    let mut answer = vec![0; 32];
    let read = body.read(&mut answer).unwrap();
    assert!(
        String::from_utf8_lossy(&answer[..read]).starts_with("HTTP/1.1 408"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    // A connection is kept between requests, and not for ever.
    let mut kept = client.connect().unwrap();
    for _ in 0..3 {
        kept.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut bytes = [0; 1024];
        let read = kept.read(&mut bytes).unwrap();
        assert!(bytes[..read].starts_with(b"HTTP/1.1 200"));
    }
    let mut end = Vec::new();
    kept.read_to_end(&mut end).unwrap();
    assert!(end.is_empty());
}

#[test]
fn n06_sockets_that_wait_keep_nobody_out() {
    let server = Server::with(|options| options.limits.connections = 16);
    let client = server.client();
    let mut waiting = Vec::new();
    for round in 0..10 {
        for _ in 0..40 {
            let mut stream = client.connect().unwrap();
            let _ = stream.write_all(b"GET /health HTTP/1.1\r\n");
            waiting.push(stream);
        }
        assert_eq!(client.get("/health").status, 200, "round {round}");
    }
}

/// A model that answers when it is let.
#[derive(Default)]
struct Held {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Held {
    /// Counts who comes, and lets nobody go on before the release.
    fn hold(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(_, released)| !*released).unwrap());
    }

    fn wait_for_asked(&self, wanted: usize) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |(asked, _)| *asked < wanted).unwrap());
    }

    fn release(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

impl Chat for Held {
    fn chat(&self, _: &ChatRequest, on_text: &mut dyn FnMut(&str) -> ControlFlow<()>) -> model::Result<Completion> {
        self.hold();
        let text = "The quay is closed on Mondays [1].".to_owned();
        let _ = on_text(&text);
        Ok(Completion { text, finish: Finish::Stop, usage: Usage::default(), model: None })
    }

    fn model(&self) -> &str {
        "held"
    }

    fn context_tokens(&self) -> Option<usize> {
        None
    }
}

fn with_held(limit: impl FnOnce(&mut Limits)) -> (Server, Arc<Held>) {
    let held = Arc::new(Held::default());
    let chat = Arc::clone(&held);
    let server = Server::with(|options| {
        options.models = Arc::new(Fakes { chat: Some(chat), ..Fakes::default() });
        limit(&mut options.limits);
    });
    server.add("a.md", "The quay is closed on Mondays.");
    (server, held)
}

fn ask(client: &Client) -> super::http::Answer {
    client.post("/v1/ask", &json!({ "text": "When is the quay closed?" }))
}

#[test]
fn n06_what_cannot_wait_hears_when_to_come_again() {
    let (server, held) = with_held(|limits| {
        limits.in_flight = 1;
        limits.queue = 1;
    });
    let client = server.client();
    let first = std::thread::spawn({
        let client = client.clone();
        move || ask(&client)
    });
    held.wait_for_asked(1);
    let second = std::thread::spawn({
        let client = client.clone();
        move || ask(&client)
    });
    // Searches have a gate of their own; the counts say when the second one waits.
    loop {
        let metrics = client.get("/metrics").ok().text();
        if metrics.contains("rag_answers_waiting 1") {
            break;
        }
    }
    let third = ask(&client).is(503);
    assert_eq!((third.header("retry-after"), third.problem().as_str()), (Some("1"), "busy"));
    client.post("/v1/query", &json!({ "text": "quay" })).ok();
    held.release();
    for answer in [first.join().unwrap(), second.join().unwrap()] {
        assert_eq!(answer.ok().json()["status"], "answered");
    }
}

#[test]
fn what_is_in_flight_is_answered_when_the_server_stops() {
    let (mut server, held) = with_held(|_| ());
    let client = server.client();
    let asking = std::thread::spawn({
        let client = client.clone();
        move || ask(&client)
    });
    held.wait_for_asked(1);
    // One that is kept alive without a request ends at once.
    let mut idle = client.connect().unwrap();
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut bytes = [0; 1024];
    assert!(idle.read(&mut bytes).unwrap() > 0);
    server.begin_to_stop();
    assert_eq!(idle.read(&mut bytes).unwrap_or(0), 0);
    held.release();
    assert_eq!(asking.join().unwrap().ok().json()["status"], "answered");
    assert!(server.stop(), "all ended by itself");
    assert!(client.connect().is_err(), "nobody listens any more");
}

#[test]
fn a_query_that_takes_too_long_is_told_so() {
    let late = Arc::new(Late(Held::default(), FakeEmbedder::new()));
    let embedder: Arc<dyn Embedder> = late.clone();
    let server = Server::with(|options| {
        options.models = Arc::new(Fakes { embedder: Some(embedder), ..Fakes::default() });
        options.limits.query_timeout = Duration::from_millis(50);
    });
    server.add("a.md", "the quay is closed");
    let answer = server.client().post("/v1/query", &json!({ "text": "quay" })).is(408);
    assert_eq!(answer.problem(), "timeout");
    late.0.release();
    // What was late is over, and takes nobody's place.
    late.0.wait_for_asked(1);
    server.client().get("/v1/status").ok();
}

/// Embeds passages at once, and queries when it is told to.
struct Late(Held, FakeEmbedder);

impl Embedder for Late {
    fn space(&self) -> &EmbeddingSpace {
        self.1.space()
    }

    fn embed_passages(&self, texts: &[&str]) -> model::Result<Vec<f32>> {
        self.1.embed_passages(texts)
    }

    fn embed_query(&self, text: &str) -> model::Result<Vec<f32>> {
        self.0.hold();
        self.1.embed_query(text)
    }

    fn concurrency(&self) -> usize {
        self.1.concurrency()
    }

    fn batch_size(&self) -> usize {
        self.1.batch_size()
    }

    fn backend(&self) -> String {
        self.1.backend()
    }
}

/// A model that talks until somebody hangs up, and tells whether somebody did.
struct Endless(Mutex<mpsc::Sender<bool>>);

/// So much text fills every buffer between a model and a client many times.
const WORDS: usize = 20_000_000;

impl Chat for Endless {
    fn chat(&self, _: &ChatRequest, on_text: &mut dyn FnMut(&str) -> ControlFlow<()>) -> model::Result<Completion> {
        let hung_up = (0..WORDS).any(|_| on_text("The quay is closed on Mondays [1]. ").is_break());
        self.0.lock().unwrap().send(hung_up).unwrap();
        Err(model::Error::Cancelled)
    }

    fn model(&self) -> &str {
        "endless"
    }

    fn context_tokens(&self) -> Option<usize> {
        None
    }
}

#[test]
fn a_client_that_leaves_hangs_up_on_the_model() {
    let (told, hears) = mpsc::channel();
    let chat: Arc<dyn Chat> = Arc::new(Endless(Mutex::new(told)));
    let server = Server::with(|options| {
        options.models = Arc::new(Fakes { chat: Some(chat), ..Fakes::default() });
    });
    server.add("a.md", "The quay is closed on Mondays.");
    let mut stream = server.client().connect().unwrap();
    let body = json!({ "text": "When is the quay closed?", "stream": true }).to_string();
    let head = format!(
        "POST /v1/ask HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The model has begun to answer.
    let (mut bytes, mut said) = ([0; 1024], String::new());
    while !said.contains("event: text") {
        let n = stream.read(&mut bytes).unwrap();
        assert!(n > 0, "{said}");
        said.push_str(&String::from_utf8_lossy(&bytes[..n]));
    }
    drop(stream);
    let hung_up = hears.recv_timeout(Duration::from_secs(60)).expect("the model is still talking to nobody");
    assert!(hung_up, "the model talked to its end");
    assert_eq!(server.client().get("/health").status, 200);
}
