//! What a vendor's server says, byte by byte, and what it must have been asked: a file of exchanges.
//!
//! An exchange begins with a line `=== what it is about`; then the request: method and path, the headers it must have (one
//! with `!` it must not have), an empty line, its JSON. A line `--- STATUS` begins the answer: headers, an empty line, and
//! the body up to the line feed before the next exchange.

use std::path::Path;

use serde_json::Value;

use super::Request;

/// One question and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub about: String,
    method_and_path: String,
    /// `None`: it must not be there.
    headers: Vec<(String, Option<String>)>,
    request: Value,
    pub status: u16,
    pub answer_headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The exchanges of a vendor.
pub fn read(vendor: &str) -> Vec<Exchange> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/transcripts/{vendor}.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let body = text.strip_prefix("=== ").unwrap_or_else(|| panic!("{vendor}: no exchange")).strip_suffix('\n').unwrap();
    body.split("\n=== ").map(exchange).collect()
}

fn exchange(text: &str) -> Exchange {
    let (about, rest) = text.split_once('\n').unwrap();
    let (request, answer) = rest.split_once("\n--- ").unwrap_or_else(|| panic!("{about}: no answer"));
    let (method_and_path, request) = request.split_once('\n').unwrap();
    let (headers, request) = request.split_once("\n\n").unwrap();
    let header = |line: &str| match line.strip_prefix('!') {
        Some(name) => (name.to_owned(), None),
        None => {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), Some(value.to_owned()))
        }
    };
    let (status, answer) = answer.split_once('\n').unwrap();
    let (answer_headers, body) = answer.split_once("\n\n").unwrap();
    let plain = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    Exchange {
        about: about.to_owned(),
        method_and_path: method_and_path.to_owned(),
        headers: headers.lines().map(header).collect(),
        request: serde_json::from_str(request).unwrap_or_else(|error| panic!("{about}: {error}")),
        status: status.parse().unwrap(),
        answer_headers: answer_headers.lines().map(plain).collect(),
        body: body.as_bytes().to_vec(),
    }
}

impl Exchange {
    /// Asserts that this is what was asked.
    pub fn check(&self, request: &Request) {
        let about = &self.about;
        assert_eq!(format!("{} {}", request.method, request.path), self.method_and_path, "{about}");
        for (name, value) in &self.headers {
            assert_eq!(request.header(name), value.as_deref(), "{about}: {name}");
        }
        assert_eq!(request.body, self.request, "{about}");
    }

    /// The JSON it was asked with.
    pub fn request(&self) -> &Value {
        &self.request
    }

    /// The JSON of each event of a stream.
    pub fn events(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.body).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}
