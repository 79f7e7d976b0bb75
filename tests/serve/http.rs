//! HTTP as bytes: what is sent is what a test says, and what came is looked at whole.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};

/// Nothing in a test takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The word for what went wrong.
    pub fn problem(&self) -> String {
        self.json()["error"]["type"].as_str().unwrap_or_default().to_owned()
    }

    /// With a status that was wanted.
    pub fn ok(self) -> Self {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text());
        self
    }

    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

/// Requests to one address.
#[derive(Debug, Clone)]
pub struct Client {
    pub address: SocketAddr,
    pub key: Option<String>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, key: None }
    }

    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    /// With a `Host`, a length and a key, unless the headers say otherwise.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        let has = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        if !has("host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        if !has("content-length") && !has("transfer-encoding") && (!body.is_empty() || method == "POST") {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        if let Some(key) = self.key.as_ref().filter(|_| !has("authorization")) {
            head.push_str(&format!("authorization: Bearer {key}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.raw(&[head.as_bytes(), body].concat()).expect("an answer")
    }

    /// Calls a tool at `/mcp`, by the revision without sessions. Gives the result as the protocol has it.
    pub fn tool(&self, name: &str, arguments: &Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
        ];
        let answer = self.send("POST", "/mcp", &headers, body.as_bytes()).ok();
        let text = answer.text();
        let line = text.lines().find(|line| line.contains("\"jsonrpc\"")).unwrap_or(&text);
        let message: Value = serde_json::from_str(line.trim_start_matches("data:").trim())
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        message["result"].clone()
    }

    /// Sends files as a form.
    pub fn upload(&self, files: &[(String, String)]) -> Answer {
        const MARK: &str = "a-mark-that-no-file-holds";
        let part = |(name, text): &(String, String)| {
            format!("--{MARK}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n")
        };
        let body = files.iter().map(part).collect::<String>() + &format!("--{MARK}--\r\n");
        let kind = format!("multipart/form-data; boundary={MARK}");
        self.send("POST", "/v1/documents", &[("content-type", &kind)], body.as_bytes())
    }

    pub fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Sends bytes and reads until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<Answer> {
        let mut stream = self.connect()?;
        // A server that has said no does not read the rest.
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }
}

/// Reads one answer to the end of the stream.
pub fn read(stream: &mut impl Read) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes);
    if bytes.is_empty() {
        ended?;
    }
    parse(&bytes)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, String::from_utf8_lossy(&bytes).into_owned()))
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if is_chunked { unchunked(rest)? } else { rest.to_vec() };
    Some(Answer { status, headers, body })
}

fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?.trim(), 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

/// Events of a stream: name and data.
pub fn events(answer: &Answer) -> Vec<(String, String)> {
    let text = answer.text();
    let event = |part: &str| {
        let field =
            |name: &str| part.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
        Some((field("event:").unwrap_or_default(), field("data:")?))
    };
    text.split("\n\n").filter_map(event).collect()
}
