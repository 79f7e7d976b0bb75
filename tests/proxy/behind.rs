//! The server behind the proxy: it says what a test tells it to, in the parts it tells, when it lets it.

use std::{
    convert::Infallible,
    net::TcpListener,
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, Response, StatusCode},
};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Heard {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

impl Heard {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }
}

/// What is answered.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub parts: Vec<Bytes>,
    /// Each part waits for a permit of it, and so does the head if `holds_head`.
    pub gate: Option<Arc<Semaphore>>,
    pub holds_head: bool,
    /// The connection breaks after the last part.
    pub cut: bool,
}

impl Reply {
    pub fn json(value: &Value) -> Self {
        Self::of(200, "application/json", vec![value.to_string()])
    }

    pub fn of(status: u16, content_type: &str, parts: Vec<String>) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            parts: parts.into_iter().map(Bytes::from).collect(),
            gate: None,
            holds_head: false,
            cut: false,
        }
    }

    pub fn stream(parts: Vec<String>) -> Self {
        Self::of(200, "text/event-stream; charset=utf-8", parts)
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn held(mut self, gate: &Arc<Semaphore>, holds_head: bool) -> Self {
        self.gate = Some(Arc::clone(gate));
        self.holds_head = holds_head;
        self
    }

    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }
}

/// A chat completion that says this.
pub fn chat(text: &str) -> Value {
    with_message(json!({"role": "assistant", "content": text}), "stop")
}

pub fn with_message(message: Value, finish: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_796_052_019, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
    })
}

/// The same as a stream, a part a word.
pub fn chat_stream(text: &str, usage: bool) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_796_052_019, "model": "m",
            "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]), Value::Null)
    };
    let mut parts = vec![delta(json!({"role": "assistant", "content": ""}), Value::Null)];
    parts.extend(text.split_inclusive(' ').map(|word| delta(json!({ "content": word }), Value::Null)));
    parts.push(delta(json!({}), json!("stop")));
    if usage {
        parts.push(chunk(json!([]), json!({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12})));
    }
    parts.push("data: [DONE]\n\n".to_owned());
    parts
}

/// A running server. Dropping it ends it.
pub struct Behind {
    pub url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Behind {
    /// Answers each request by what `says` makes of it.
    pub fn start(says: impl Fn(&Heard) -> Reply + Send + Sync + 'static) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let (all, says) = (Arc::clone(&heard), Arc::new(says));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
                    let (all, says) = (Arc::clone(&all), Arc::clone(&says));
                    async move {
                        let (head, body) = request.into_parts();
                        let heard = Heard {
                            method: head.method.to_string(),
                            path: head.uri.to_string(),
                            headers: head.headers,
                            bytes: axum::body::to_bytes(body, 64 << 20).await.unwrap_or_default(),
                        };
                        all.lock().unwrap().push(heard.clone());
                        Ok::<_, Infallible>(answer(says(&heard)).await)
                    }
                });
                tokio::select! {
                    ended = async { axum::serve(listener, app.into_make_service()).await } => ended.unwrap(),
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self { url, heard, stop: Some(stop), thread: Some(thread) }
    }

    /// Always says this.
    pub fn saying(reply: Reply) -> Self {
        Self::start(move |_| reply.clone())
    }

    /// A chat server that answers in the shape that is asked for, with the number of its answer.
    pub fn chatting() -> Self {
        let count = std::sync::atomic::AtomicUsize::new(0);
        Self::start(move |heard| {
            let text = format!("answer number {}", count.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
            let body = heard.json();
            match body["stream"] == true {
                true => Reply::stream(chat_stream(&text, body["stream_options"]["include_usage"] == true)),
                false => Reply::json(&chat(&text)),
            }
        })
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub fn calls(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn answer(reply: Reply) -> Response<Body> {
    let Reply { status, headers, parts, gate, holds_head, cut } = reply;
    if let (Some(gate), true) = (&gate, holds_head) {
        gate.acquire().await.unwrap().forget();
    }
    let mut builder = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    if parts.len() == 1 && gate.is_none() && !cut {
        return builder.body(Body::from(parts[0].clone())).unwrap();
    }
    let stream = futures_util::stream::unfold((parts.into_iter(), gate, cut), |(mut parts, gate, cut)| async move {
        match parts.next() {
            Some(part) => {
                match &gate {
                    Some(gate) => gate.acquire().await.unwrap().forget(),
                    // Each part in a packet of its own.
                    None => tokio::task::yield_now().await,
                }
                Some((Ok(part), (parts, gate, cut)))
            }
            None if cut => Some((Err(std::io::Error::other("cut")), (parts, gate, false))),
            None => None,
        }
    });
    builder.body(Body::from_stream(stream)).unwrap()
}
