//! The same tools over HTTP, as a server mounts them at `/mcp`.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    time::Duration,
};

use rag::{
    index::{Snapshot, WriterOptions},
    ingest::{Loaders, Options as IngestOptions, PageReaders, extract},
    model::{Chat, Embedder, fake::FakeEmbedder},
    retrieve::{Ask, Query, Unsupported},
    serve::{
        mcp::{HttpOptions, Options, Server, http_service},
        models::Models,
        told::Told,
    },
};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);

/// Knows words and nothing of what they mean.
struct Fake(Arc<dyn Embedder>);

impl Models for Fake {
    fn embedder(&self, _: &Snapshot) -> Result<Option<Arc<dyn Embedder>>, Told> {
        Ok(Some(Arc::clone(&self.0)))
    }
    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>, Told> {
        Ok(Some(Arc::clone(&self.0)))
    }
    fn chat(&self) -> Result<Option<Arc<dyn Chat>>, Told> {
        Ok(None)
    }
}

/// A server on a port of its own, until it is dropped.
pub struct Site {
    pub address: SocketAddr,
    pub dir: tempfile::TempDir,
    server: Server,
    _runtime: tokio::runtime::Runtime,
}

impl Site {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::new(options(&dir.path().join(".rag"), dir.path()));
        let service = http_service(
            &server,
            &HttpOptions { allowed_origins: vec!["http://app.example:80".into()], ..HttpOptions::default() },
        );
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let app = axum::Router::new().nest_service("/mcp", service);
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { address, dir, server, _runtime: runtime }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Ingests a folder below the site's own.
    pub fn ingest(&self, folder: &str) {
        let path = self.dir.path().join(folder).display().to_string();
        let report = self.call("ingest", json!({ "path": path }));
        assert_ne!(report["isError"], true, "{report}");
    }

    /// One request on a connection of its own: its status, headers and body.
    fn send(&self, headers: &[(&str, &str)], body: &Value) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = body.to_string();
        let mut head = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
        let has = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let host = self.address.to_string();
        let defaults = [
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        for (key, value) in defaults.into_iter().filter(|(key, _)| !has(key)).chain(headers.iter().copied()) {
            head.push_str(&format!("{key}: {value}\r\n"));
        }
        // A body that is too long need not be read to its end: then the answer has come before.
        let sent = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        assert!(sent.is_ok() || body.len() > 1 << 20, "{sent:?}");
        let mut answer = String::new();
        // A stream of events may stay open: its first message is enough.
        let mut buffer = [0; 4096];
        while let Ok(read) = stream.read(&mut buffer) {
            answer.push_str(&String::from_utf8_lossy(&buffer[..read]));
            let is_message = answer.split("\r\n\r\n").skip(1).any(|rest| rest.contains("\"jsonrpc\""));
            if read == 0 || (is_message && answer.contains("\n\n")) {
                break;
            }
        }
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
        (status, head.to_owned(), body.to_owned())
    }

    /// A call of the revision without sessions: one request, one answer.
    fn call(&self, tool: &str, arguments: Value) -> Value {
        let body = stateless(json!({ "name": tool, "arguments": arguments }));
        let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
        let (status, head, body) = self.send(&headers, &body);
        assert_eq!(status, 200, "{head}\n{body}");
        let line = body.lines().find(|line| line.contains("\"jsonrpc\"")).unwrap_or(&body);
        let message: Value = serde_json::from_str(line.trim_start_matches("data:").trim()).unwrap();
        message["result"].clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.close(PATIENCE);
    }
}

fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

fn initialize() -> Value {
    let who = json!({ "name": "raw", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

fn options(index_dir: &Path, home: &Path) -> Options {
    let query = Query::default();
    Options {
        allow_write: true,
        memory: true,
        roots: vec![home.join("docs")],
        trust_roots: false,
        home: None,
        ingest: IngestOptions {
            paths: Vec::new(),
            given: Vec::new(),
            pages: Vec::new(),
            home: Some(home.to_owned()),
            index_dir: index_dir.to_owned(),
            collection: "default".into(),
            include: Vec::new(),
            exclude: Vec::new(),
            ignore_rules: true,
            hidden: false,
            follow: false,
            max_file_bytes: 1 << 20,
            tags: Default::default(),
            chunk_tokens: 230,
            chunk_overlap: 40,
            jobs: 1,
            dry_run: false,
            loaders: Loaders::default(),
            page_readers: PageReaders::default(),
            archives: false,
            passwords: extract::Passwords::default(),
            retry_failed: false,
            prune: true,
            allow_empty: false,
            file_timeout: PATIENCE,
            worker: extract::Worker::InProcess,
        },
        ask: Ask {
            query: query.clone(),
            max_tokens: 800,
            context_tokens: 8192,
            no_gate: false,
            unsupported: Unsupported::Mark,
            stream: false,
            history: Vec::new(),
            system: None,
            datamark: false,
        },
        query,
        writer: WriterOptions { wait: PATIENCE, command: "test".into(), ..WriterOptions::default() },
        models: Arc::new(Fake(Arc::new(FakeEmbedder::new()))),
        documents: None,
    }
}

#[test]
fn tools_answer_without_a_session_and_many_at_once() {
    let site = Site::start();
    std::fs::create_dir(site.dir.path().join("docs")).unwrap();
    std::fs::write(site.dir.path().join("docs/quay.md"), "# Quay\n\nThe quay was built in 1887.\n").unwrap();
    let report = site.call("ingest", json!({ "path": "." }));
    assert_eq!(report["structuredContent"]["counts"]["added"], 1, "{report}");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let site = &site;
            scope.spawn(move || {
                let content = format!("Buoy {n} rings twice.");
                let stored = site.call("remember", json!({ "content": content, "key": n.to_string() }));
                assert_eq!(stored["structuredContent"]["state"], "added", "{stored}");
                let found = site.call("search", json!({ "query": "when was the quay built", "k": 1 }));
                assert_eq!(found["structuredContent"]["results"][0]["path"], "docs/quay.md", "{found}");
            });
        }
    });
    let listed = site.call("list_memories", json!({}));
    assert_eq!(listed["structuredContent"]["total"], 8);
    let outside = site.call("ingest", json!({ "path": "/etc" }));
    assert_eq!(outside["isError"], true);
}

#[test]
fn sessions_begin_for_those_who_have_them() {
    let site = Site::start();
    let (status, head, body) = site.send(&[], &initialize());
    assert_eq!(status, 200, "{head}\n{body}");
    assert!(head.to_lowercase().contains("mcp-session-id:"), "{head}");
    assert!(body.contains("\"2025-11-25\""), "{body}");
}

#[test]
fn a_rebound_name_and_a_strange_page_get_no_further() {
    let site = Site::start();
    let port = site.address.port();
    let good = [
        vec![("Host", format!("localhost:{port}"))],
        vec![("Host", "127.0.0.1".to_owned())],
        vec![("Origin", "http://app.example".to_owned())],
        vec![("Origin", format!("http://localhost:{port}"))],
    ];
    let bad = [
        vec![("Host", "evil.example".to_owned())],
        vec![("Host", format!("evil.example:{port}"))],
        vec![("Host", "127.0.0.1.evil.example".to_owned())],
        vec![("Origin", "http://evil.example".to_owned())],
        vec![("Origin", "null".to_owned())],
        vec![("Origin", format!("http://localhost.evil.example:{port}"))],
        vec![("Origin", "https://app.example".to_owned())],
    ];
    for (cases, is_good) in [(&good[..], true), (&bad, false)] {
        for headers in cases {
            let headers: Vec<(&str, &str)> = headers.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let (status, head, _) = site.send(&headers, &initialize());
            assert_eq!(status == 200, is_good, "{headers:?}: {head}");
            assert!(is_good || status == 403 || status == 421 || status == 400, "{headers:?}: {head}");
        }
    }
    let plain = [("Content-Type", "text/plain")];
    let (status, ..) = site.send(&plain, &initialize());
    assert_eq!(status, 415, "a form of another site cannot write");
    let (status, ..) =
        site.send(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": "y".repeat(9 << 20) }));
    assert!(status == 413 || status == 0, "a body has a bound: {status}");
}
