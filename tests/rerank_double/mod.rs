//! A reranking server that does as it is told: the score of a passage is how often it has one word.

use std::{
    net::TcpListener,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use axum::{Json, http::StatusCode};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// What the server takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `documents`; `results` with a `relevance_score`, best first.
    Documents,
    /// `texts`, and 422 without them; a list with a `score`.
    Texts,
}

/// A running double.
pub struct Double {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Double {
    /// `delay`: before each answer.
    pub fn start(shape: Shape, delay: Duration, word: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (stop, stopped) = oneshot::channel();
        let kept = Arc::clone(&requests);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let answer = move |Json(body): Json<Value>| {
                    let kept = Arc::clone(&kept);
                    async move {
                        kept.lock().unwrap().push(body.clone());
                        tokio::time::sleep(delay).await;
                        answer(shape, word, &body)
                    }
                };
                let app = axum::Router::new().route("/v1/rerank", axum::routing::post(answer));
                tokio::select! {
                    ended = async { axum::serve(listener, app).await } => ended.unwrap(),
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self { url, requests, stop: Some(stop), thread: Some(thread) }
    }

    /// The base URL, with `/v1`.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// What came so far.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
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

fn answer(shape: Shape, word: &str, body: &Value) -> (StatusCode, Json<Value>) {
    let field = if shape == Shape::Documents { "documents" } else { "texts" };
    let Some(texts) = body[field].as_array() else {
        let missing = json!({"error": {"message": format!("missing field `{field}`"), "code": 422}});
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(missing));
    };
    let score = |text: &Value| text.as_str().unwrap().to_lowercase().matches(word).count() as f64;
    let name = if shape == Shape::Documents { "relevance_score" } else { "score" };
    let mut list: Vec<Value> =
        texts.iter().enumerate().map(|(index, text)| json!({"index": index, name: score(text)})).collect();
    list.sort_by(|a, b| b[name].as_f64().unwrap().total_cmp(&a[name].as_f64().unwrap()));
    let list = Value::Array(list);
    (StatusCode::OK, Json(if shape == Shape::Documents { json!({"results": list}) } else { list }))
}
