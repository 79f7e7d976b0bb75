//! A proxy in this process, and a client to ask it.

use std::{
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use rag::{
    model::http::client,
    serve::proxy::{Options, Ready, Stats, bind, serve},
    types::Cancel,
};
use serde_json::{Value, json};

pub struct House {
    pub dir: Arc<tempfile::TempDir>,
    pub ready: Ready,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
    pub client: reqwest::Client,
}

/// An answer, whole, with the parts in which it came.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub parts: Vec<Vec<u8>>,
    /// It broke off.
    pub broken: bool,
}

impl Got {
    pub fn bytes(&self) -> Vec<u8> {
        self.parts.concat()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes()).unwrap_or(Value::Null)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// What the cache did.
    pub fn cache(&self) -> &str {
        self.header("x-rag-cache").unwrap_or("nothing")
    }

    /// The text of a chat completion, whole or streamed.
    pub fn text(&self) -> String {
        if let Some(text) = self.json()["choices"][0]["message"]["content"].as_str() {
            return text.to_owned();
        }
        self.chunks()
            .iter()
            .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect()
    }

    pub fn chunks(&self) -> Vec<Value> {
        let text = String::from_utf8(self.bytes()).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect()
    }
}

pub fn new_client() -> reqwest::Client {
    client(false, true, Duration::from_secs(5), |builder| builder).unwrap()
}

impl House {
    pub fn new(upstream: &str) -> Self {
        Self::with(upstream, |_| {})
    }

    pub fn with(upstream: &str, adjust: impl FnOnce(&mut Options)) -> Self {
        Self::again(upstream, Arc::new(tempfile::tempdir().unwrap()), adjust)
    }

    /// On a cache that is there.
    pub fn again(upstream: &str, dir: Arc<tempfile::TempDir>, adjust: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::new(upstream, dir.path());
        adjust(&mut options);
        let listener = bind("127.0.0.1:0", false, false).unwrap();
        let cancel = Cancel::default();
        let (ready, is_ready) = mpsc::channel();
        let stop = cancel.clone();
        let thread = std::thread::spawn(move || {
            serve(options, listener, &stop, &mut |now| ready.send(now.clone()).unwrap()).unwrap();
        });
        let ready = is_ready.recv().expect("the proxy starts");
        Self { dir, ready, cancel, thread: Some(thread), client: new_client() }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.ready.address)
    }

    pub async fn ask(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Got {
        let mut request = self.client.post(self.url(path)).json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        got(request).await
    }

    pub async fn chat(&self, body: &Value) -> Got {
        self.ask("/v1/chat/completions", &[], body).await
    }

    pub async fn stats(&self) -> Stats {
        got(self.client.get(self.url("/stats"))).await.json_as()
    }

    /// Ends the proxy and gives its cache.
    pub fn end(mut self) -> Arc<tempfile::TempDir> {
        self.stop();
        Arc::clone(&self.dir)
    }

    fn stop(&mut self) {
        self.cancel.ask();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

impl Got {
    fn json_as<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.bytes()).unwrap()
    }
}

pub async fn got(request: reqwest::RequestBuilder) -> Got {
    let mut response = request.send().await.unwrap();
    let mut got = Got {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        parts: Vec::new(),
        broken: false,
    };
    loop {
        match response.chunk().await {
            Ok(Some(part)) => got.parts.push(part.to_vec()),
            Ok(None) => return got,
            Err(_) => {
                got.broken = true;
                return got;
            }
        }
    }
}

/// A chat request whose answer may be kept.
pub fn question(text: &str) -> Value {
    json!({"model": "m", "temperature": 0, "messages": [{"role": "user", "content": text}]})
}

/// The same with more members.
pub fn and(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
    body
}
