//! What the proxy costs: hits at a constant rate, and misses beside the same requests without it.
//!
//! Open loop: request `i` is due at `i / rate` seconds, and its time counts from then, so that a stall is not hidden by the
//! requests that were never sent. Everything is on this machine: server, proxy and client share its cores, so only the ratios
//! to the direct calls mean something elsewhere.
//!
//! `cargo bench --bench proxy [-- --seconds 10 --rate 500]`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::{
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use rag::{
    model::http::client,
    serve::proxy::{Options, bind, serve},
    types::Cancel,
};
use serde_json::{Value, json};

/// A server that answers every chat at once.
fn behind() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let answer = json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "word ".repeat(200)}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 200, "total_tokens": 209},
            });
            let app = axum::Router::new().fallback(move |_: axum::body::Bytes| {
                let answer = answer.clone();
                async move { axum::Json(answer) }
            });
            axum::serve(listener, app).await.unwrap();
        });
    });
    url
}

fn question(text: &str) -> Value {
    json!({"model": "m", "temperature": 0, "messages": [{"role": "user", "content": text}]})
}

/// Sends requests at a constant rate; times from when each was due.
async fn load(
    client: &reqwest::Client,
    url: &str,
    rate: f64,
    time: Duration,
    want: &'static str,
    body: impl Fn(u64) -> Value,
) -> Histogram<u64> {
    let times = Arc::new(Mutex::new(Histogram::<u64>::new(3).unwrap()));
    let start = Instant::now() + Duration::from_millis(50);
    let count = (rate * time.as_secs_f64()) as u64;
    let mut running = Vec::new();
    for i in 0..count {
        let due = start + Duration::from_secs_f64(i as f64 / rate);
        tokio::time::sleep_until(due.into()).await;
        let request = client.post(url).json(&body(i));
        let times = Arc::clone(&times);
        running.push(tokio::spawn(async move {
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 200);
            let said =
                response.headers().get("x-rag-cache").map_or("direct", |value| value.to_str().unwrap()).to_owned();
            assert_eq!(said, want);
            response.bytes().await.unwrap();
            times.lock().unwrap().record(due.elapsed().as_micros() as u64).unwrap();
        }));
    }
    for one in running {
        one.await.unwrap();
    }
    Arc::try_unwrap(times).unwrap().into_inner().unwrap()
}

fn line(name: &str, times: &Histogram<u64>) {
    let ms = |quantile| times.value_at_quantile(quantile) as f64 / 1000.0;
    println!(
        "{name:28} n {:6}  p50 {:7.2} ms  p90 {:7.2} ms  p99 {:7.2} ms  max {:7.2} ms",
        times.len(),
        ms(0.5),
        ms(0.9),
        ms(0.99),
        times.max() as f64 / 1000.0
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, default: f64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let (rate, time) = (number("--rate", 500.0), Duration::from_secs_f64(number("--seconds", 10.0)));
    let upstream = behind();
    let dir = tempfile::tempdir().unwrap();
    let listener = bind("127.0.0.1:0", false, false).unwrap();
    let cancel = Cancel::default();
    let (ready, is_ready) = mpsc::channel();
    let (options, stop) = (Options::new(&upstream, dir.path()), cancel.clone());
    let proxy =
        std::thread::spawn(move || serve(options, listener, &stop, &mut |now| ready.send(now.address).unwrap()));
    let through = format!("http://{}/v1/chat/completions", is_ready.recv().unwrap());
    let direct = format!("{upstream}/chat/completions");

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let client = client(false, true, Duration::from_secs(5), |builder| builder).unwrap();
        // 100 answers that are asked for again and again.
        let again = |i: u64| question(&format!("question {}", i % 100));
        load(&client, &through, 50.0, Duration::from_secs(2), "miss", again).await;
        let straight = load(&client, &direct, rate, time, "direct", again).await;
        let hits = load(&client, &through, rate, time, "hit", again).await;
        println!("{rate} requests a second for {} s, answers of 1 kB", time.as_secs());
        line("direct", &straight);
        line("hits", &hits);
        let ratio = |q| hits.value_at_quantile(q) as f64 / straight.value_at_quantile(q).max(1) as f64;
        println!("hits / direct                p50 {:.2}  p99 {:.2}", ratio(0.5), ratio(0.99));

        // Alternating, so that what else the machine does falls on both alike.
        let miss_rate = rate / 5.0;
        let (mut plain, mut missed) = (Histogram::<u64>::new(3).unwrap(), Histogram::<u64>::new(3).unwrap());
        for round in 0..5u64 {
            let new = |i: u64| question(&format!("question {round} {i} of its own"));
            let part = time / 5;
            plain.add(load(&client, &direct, miss_rate, part, "direct", new).await).unwrap();
            missed.add(load(&client, &through, miss_rate, part, "miss", new).await).unwrap();
        }
        println!("{miss_rate} requests a second, every one new");
        line("direct", &plain);
        line("misses", &missed);
        let more = |q| (missed.value_at_quantile(q) as f64 - plain.value_at_quantile(q) as f64) / 1000.0;
        println!(
            "misses − direct              p50 {:+.2} ms  p99 {:+.2} ms  (p50 ratio {:.2})",
            more(0.5),
            more(0.99),
            missed.value_at_quantile(0.5) as f64 / plain.value_at_quantile(0.5).max(1) as f64
        );
    });
    cancel.ask();
    proxy.join().unwrap().unwrap();
}
