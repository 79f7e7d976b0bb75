//! A client that speaks raw JSON-RPC with a child process, line by line, and believes nothing it has not read.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread::JoinHandle,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{house::House, validate};

/// Longer than anything takes on a loaded machine; only a hang waits for it.
const PATIENCE: Duration = Duration::from_secs(120);

/// The revision that sessions agree on.
pub const SESSION: &str = "2025-11-25";

pub struct Client {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    number: u64,
    /// What came besides answers.
    pub notices: Vec<Value>,
    /// Added to every request: the revision without sessions says there who asks.
    meta: Option<Value>,
}

impl Client {
    /// A session, begun.
    pub fn start(house: &House, arguments: &[&str]) -> Self {
        let mut client = Self::silent(house, arguments);
        client.initialize(SESSION);
        client
    }

    /// A client of the revision without sessions.
    pub fn stateless(house: &House, arguments: &[&str]) -> Self {
        let mut client = Self::silent(house, arguments);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        }));
        client
    }

    /// A server to which nothing was said yet.
    pub fn silent(house: &House, arguments: &[&str]) -> Self {
        let mut command = house.command();
        command.arg("mcp").args(arguments);
        Self::of(command)
    }

    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output, errors) = (child.stdin.take(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if tell.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap());
        Self { child, input, lines, errors: Some(errors), number: 0, notices: Vec::new(), meta: None }
    }

    pub fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({}))
    }

    pub fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        let who = json!({ "name": "raw", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": who });
        let result = self.ask("initialize", params);
        self.notify("notifications/initialized", json!({}));
        result
    }

    /// Sends bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).and_then(|()| input.flush()).unwrap();
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let line = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.write(format!("{line}\n").as_bytes());
    }

    /// Sends a request and gives its number; the answer is for [`answer`](Self::answer).
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.number += 1;
        if let Some(meta) = &self.meta {
            let own = params["_meta"].as_object().cloned().unwrap_or_default();
            params["_meta"] = meta.clone();
            params["_meta"].as_object_mut().unwrap().extend(own);
        }
        let line = json!({ "jsonrpc": "2.0", "id": self.number, "method": method, "params": params });
        self.write(format!("{line}\n").as_bytes());
        self.number
    }

    /// The next message. Whatever is no message of the protocol is a fault of the server.
    pub fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server answers");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Waits for an answer; what else comes is kept.
    pub fn answer(&mut self, number: u64) -> Value {
        let is_it = |message: &Value| message["id"] == number && message.get("method").is_none();
        // Answers come in the order in which they are ready.
        if let Some(at) = self.notices.iter().position(is_it) {
            return self.notices.remove(at);
        }
        loop {
            let message = self.next();
            if is_it(&message) {
                return message;
            }
            self.notices.push(message);
        }
    }

    /// The result of a request.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let number = self.send(method, params);
        let answer = self.answer(number);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The error of a request.
    #[track_caller]
    pub fn ask_wrongly(&mut self, method: &str, params: Value) -> Value {
        let number = self.send(method, params);
        let answer = self.answer(number);
        assert!(answer["error"]["message"].is_string(), "{method}: {answer}");
        answer["error"].clone()
    }

    /// What a tool answers, checked against what `tools/list` says of it: its structure.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let tools = self.ask("tools/list", json!({}));
        let told = tools["tools"].as_array().unwrap().iter().find(|told| told["name"] == tool).unwrap();
        let faults = validate::faults(&told["outputSchema"], &result["structuredContent"]);
        assert_eq!(faults, Vec::<String>::new(), "{tool}: {result}");
        assert_eq!(result["content"][0]["type"], "text");
        result["structuredContent"].clone()
    }

    /// The words of a tool that could not do what it was asked.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.contains("Next: "), "it says what to do: {text}");
        text
    }

    /// Closes the server's input.
    pub fn hang_up(&mut self) {
        self.input.take();
    }

    /// Closes its input and waits for its end: how it ended, what it said on stderr.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.hang_up();
        let status = self.child.wait().unwrap();
        let errors = self.errors.take().unwrap().join().unwrap();
        while let Ok(line) = self.lines.recv() {
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
            assert_eq!(message["jsonrpc"], "2.0");
        }
        (status, errors)
    }

    /// As a power cut would, but for the disk.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
