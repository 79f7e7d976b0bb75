//! Servers that are not there, break off, ask for patience, send away, or are something else.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use crate::{
    house::{House, Ran},
    served::Served,
};

/// Answers one connection after another by a script of bytes, and keeps what it was sent.
struct Scripted {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Scripted {
    fn start(script: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&heard);
        let thread = std::thread::spawn(move || {
            for answer in script {
                let Ok((stream, _)) = listener.accept() else { return };
                own.lock().unwrap().push(request(&stream));
                // The client may have hung up.
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        Self { url, heard, thread: Some(thread) }
    }

    /// What was asked, once all of the script has been said.
    fn heard(mut self) -> Vec<String> {
        self.thread.take().unwrap().join().unwrap();
        self.heard.lock().unwrap().clone()
    }
}

/// Reads one request, head and body.
fn request(mut stream: &TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut bytes = Vec::new();
    let mut step = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut step) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&step[..n]),
            Ok(_) | Err(_) => return text,
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

fn asked(house: &House, url: &str, arguments: &[&str]) -> Ran {
    house.command().args(arguments).args(["--remote", url]).output().unwrap().into()
}

const LISTED: &str = r#"{"schema":"rag.list/1","generation":7,"documents":[],"next":null,"of_tomorrow":{"a":1}}"#;

#[test]
fn nobody_there_is_exit_5() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let ran = asked(&House::new(), &url, &["query", "x", "--json"]).exits(5);
    assert_eq!(ran.json_error()["kind"], "model");
    assert!(ran.json_error()["hint"].as_str().unwrap().contains("rag serve"), "{}", ran.stderr);
}

#[test]
fn a_server_that_is_busy_is_asked_again_when_it_says() {
    let busy = answer(
        "503 Service Unavailable",
        "retry-after: 0\r\n",
        r#"{"error":{"type":"busy","message":"too many requests wait","request_id":"1"}}"#,
    );
    let server = Scripted::start(vec![busy.clone(), busy.clone(), answer("200 OK", "", LISTED)]);
    let ran = asked(&House::new(), &server.url, &["list", "--json"]).exits(1);
    assert_eq!(ran.stdout.trim_end(), r#"{"schema":"rag.list/1","generation":7,"documents":[]}"#);
    let heard = server.heard();
    assert_eq!(heard.len(), 3);
    assert!(heard.iter().all(|request| request.starts_with("post /v1/list http/1.1")), "{heard:?}");

    // Not for ever.
    let server = Scripted::start(vec![busy; 4]);
    let ran = asked(&House::new(), &server.url, &["list"]).exits(5);
    assert!(ran.stderr.contains("too many requests wait"), "{}", ran.stderr);
    assert_eq!(server.heard().len(), 4);
}

#[test]
fn an_answer_that_breaks_off_is_none() {
    let whole = answer("200 OK", "", LISTED);
    let server = Scripted::start(vec![whole[..whole.len() - 10].to_owned()]);
    let ran = asked(&House::new(), &server.url, &["list"]).exits(5);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    // An answer of a model that never ends in the checked one.
    let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let begun = format!("{stream}event: text\ndata: {{\"text\":\"It is \"}}\n\nevent: of_tomorrow\ndata: 1\n\n");
    let server = Scripted::start(vec![begun]);
    let ran = asked(&House::new(), &server.url, &["ask", "x"]).exits(5);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("broke"), "{ran:?}");
    // One that fails on the way.
    let failed = format!(
        "{stream}event: error\ndata: {{\"error\":{{\"type\":\"corrupt\",\"message\":\"it is damaged\",\"hint\":\"mend it\"}}}}\n\n"
    );
    let server = Scripted::start(vec![failed]);
    let ran = asked(&House::new(), &server.url, &["ask", "x"]).exits(7);
    assert_eq!(ran.stderr, "error: it is damaged\nhint: mend it\n");
}

#[test]
fn redirects_are_not_followed() {
    let server = Scripted::start(vec![answer("307 Temporary Redirect", "location: http://192.0.2.1/v1/list\r\n", "")]);
    let ran = asked(&House::new(), &server.url, &["list"]).exits(5);
    assert!(ran.stderr.contains("sends its callers to `http://192.0.2.1/v1/list`"), "{}", ran.stderr);
}

#[test]
fn what_is_no_server_of_ours_is_named() {
    for body in ["<html>Welcome to nginx", "{}", "[1]", ""] {
        let server = Scripted::start(vec![answer("200 OK", "", body)]);
        let ran = asked(&House::new(), &server.url, &["list"]).exits(5);
        assert!(ran.stderr.contains("does not answer as `rag serve` does"), "{body}: {}", ran.stderr);
    }
    let server = Scripted::start(vec![answer("404 Not Found", "", "<html>\u{1b}[31mno such page")]);
    let ran = asked(&House::new(), &server.url, &["list"]).exits(5);
    assert!(ran.stderr.contains("404") && !ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
}

#[test]
fn what_a_server_says_reaches_no_terminal_unescaped() {
    let hostile = r#"{"error":{"type":"usage","message":"\u001b]52;c;eA==\u0007 \u202e","hint":"\u001b[2J"}}"#;
    let server = Scripted::start(vec![answer("400 Bad Request", "", hostile)]);
    let ran = asked(&House::new(), &server.url, &["list"]).exits(2);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", ran.stderr);
}

#[test]
fn a_server_that_dies_is_exit_5_and_a_new_one_answers() {
    let house = House::with_index();
    let mut server = Served::start(&house, &[]);
    asked(&house, &server.url, &["query", "refunds"]).ok();
    server.kill();
    asked(&house, &server.url, &["query", "refunds"]).exits(5);
    let again = Served::start(&house, &[]);
    asked(&house, &again.url, &["query", "refunds"]).ok();
}
