//! What goes through as it is, and what does not get in.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    behind::{Behind, Reply, chat},
    house::{House, got, new_client, question},
};

#[tokio::test]
async fn unknown_routes_go_through_both_ways() {
    let behind = Behind::start(|heard| {
        Reply::of(
            207,
            "text/plain",
            vec![format!("{} {} ", heard.method, heard.path), String::from_utf8_lossy(&heard.bytes).into_owned()],
        )
        .with("x-custom", "kept")
        .with("set-cookie", "a=1")
        .with("set-cookie", "b=2")
        .with("connection", "x-private")
        .with("x-private", "1")
        .with("keep-alive", "timeout=1")
    });
    let house = House::new(&behind.url);
    for (method, path, body) in [
        ("GET", "/v1/models", ""),
        ("GET", "/v1/models/a%2Fb?x=1&y=%20", ""),
        ("POST", "/v1/audio/transcriptions", "binary \u{0} body"),
        ("PUT", "/v1/anything", "x"),
        ("DELETE", "/v1/files/f", ""),
        ("GET", "/v1/chat/completions", ""),
        ("POST", "/v1/completions", "{\"temperature\": 0}"),
    ] {
        let request = house.client.request(method.parse().unwrap(), house.url(path));
        let request =
            request.header("x-mine", "yes").header("keep-alive", "1").header("accept-encoding", "gzip").body(body);
        let got = got(request).await;
        assert_eq!(got.status, 207, "{path}");
        assert_eq!(String::from_utf8(got.bytes()).unwrap(), format!("{method} {path} {body}"));
        assert_eq!((got.cache(), got.header("x-custom")), ("uncacheable", Some("kept")), "{path}");
        assert_eq!(got.headers.get_all("set-cookie").iter().count(), 2);
        assert!(got.header("x-private").is_none() && got.header("keep-alive").is_none());
        let heard = behind.heard().pop().unwrap();
        assert_eq!(heard.headers["x-mine"], "yes");
        assert_eq!(heard.headers["accept-encoding"], "gzip");
        assert!(heard.headers.get("keep-alive").is_none());
        assert_eq!(heard.headers["host"], behind.url[7..].trim_end_matches("/v1"));
    }
}

#[tokio::test]
async fn answers_come_through_part_by_part() {
    let gate = Arc::new(Semaphore::new(0));
    let parts: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let behind = Behind::saying(Reply::stream(parts).held(&gate, false));
    let house = House::new(&behind.url);
    let body = json!({"model": "m", "stream": true});
    gate.add_permits(1);
    let mut response = house.client.post(house.url("/v1/chat/completions")).json(&body).send().await.unwrap();
    for part in ["a", "b", "c"] {
        // The next one is not even written before this one is here.
        assert_eq!(response.chunk().await.unwrap().unwrap(), part);
        gate.add_permits(1);
    }
    assert_eq!(response.chunk().await.unwrap(), None);
}

#[tokio::test]
async fn errors_come_through_word_for_word() {
    for (status, body) in
        [(400, "{\"error\": 1}"), (401, "no"), (404, "{}"), (429, "slow down"), (500, "<html>"), (529, "full")]
    {
        let reply = Reply::of(status, "application/problem+json", vec![body.to_owned()])
            .with("retry-after", "7")
            .with("x-request-id", "r1");
        let behind = Behind::saying(reply);
        let house = House::new(&behind.url);
        for request in [question("hi"), json!({"model": "m"}), json!({"model": "m", "temperature": 0, "stream": true})]
        {
            let got = house.chat(&request).await;
            assert_eq!((got.status, String::from_utf8(got.bytes()).unwrap().as_str()), (status, body), "{request}");
            for (name, value) in
                [("content-type", "application/problem+json"), ("retry-after", "7"), ("x-request-id", "r1")]
            {
                assert_eq!(got.header(name), Some(value), "{request}");
            }
        }
        assert_eq!(behind.calls(), 3, "nothing is repeated");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_bad_gateway() {
    let house = House::new("http://127.0.0.1:9/v1");
    for body in [question("hi"), json!({"model": "m"})] {
        let got = house.chat(&body).await;
        assert_eq!((got.status, got.json()["error"]["code"].as_str()), (502, Some("upstream_unreachable")));
    }
    let got = house.ask("/v1/embeddings", &[], &json!({"model": "m", "input": "x"})).await;
    assert_eq!(got.status, 502);
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let gate = Arc::new(Semaphore::new(0));
    let behind = Behind::saying(Reply::json(&chat("never")).held(&gate, true));
    let house = House::with(&behind.url, |options| options.idle_timeout = Duration::from_millis(200));
    let got = house.chat(&question("hi")).await;
    assert_eq!((got.status, got.json()["error"]["code"].as_str()), (504, Some("upstream_timeout")));
}

#[tokio::test]
async fn n05_long_bodies_are_refused() {
    let behind = Behind::saying(Reply::json(&chat("hi")));
    let house = House::with(&behind.url, |options| options.max_body_bytes = 100_000);
    let long = "x".repeat(200_000);
    for path in ["/v1/chat/completions", "/v1/files"] {
        // With its length, and without one.
        let whole = house.client.post(house.url(path)).header("content-type", "application/json").body(long.clone());
        assert_eq!(got(whole).await.status, 413, "{path}");
        let parts: Vec<Result<String, std::io::Error>> = (0..40).map(|_| Ok("x".repeat(5000))).collect();
        let parts = reqwest::Body::wrap_stream(futures_util::stream::iter(parts));
        let unknown = house.client.post(house.url(path)).header("content-type", "application/json").body(parts);
        assert_eq!(got(unknown).await.status, 413, "{path}");
    }
    let fits = house.chat(&question(&"x".repeat(90_000))).await;
    assert_eq!(fits.status, 200);
}

/// Sends these bytes and reads what comes, up to the end of the headers.
fn raw(house: &House, request: &str) -> String {
    let mut socket = TcpStream::connect(house.ready.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while !all.windows(4).any(|four| four == b"\r\n\r\n") {
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => all.extend_from_slice(&buffer[..read]),
        }
    }
    String::from_utf8_lossy(&all).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n03_strange_requests_do_not_get_in() {
    let behind = Behind::saying(Reply::json(&chat("hi")));
    let house = House::new(&behind.url);
    for (request, status) in [
        ("CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n", "405"),
        ("GET http://example.org/v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n", "400"),
        ("GET /v1/models HTTP/1.1\r\nhost: evil.example\r\n\r\n", "421"),
        ("GET /v1/models HTTP/1.1\r\n\r\n", "400"),
        ("GET /v1/models HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n", "400"),
        ("GET /v1/models HTTP/1.1\r\nhost: localhost\r\norigin: http://evil.example\r\n\r\n", "403"),
        ("GET /v1/../admin HTTP/1.1\r\nhost: localhost\r\n\r\n", "400"),
        ("GET /v1/%2e%2e/admin HTTP/1.1\r\nhost: localhost\r\n\r\n", "400"),
        ("POST /purge HTTP/1.1\r\nhost: localhost\r\norigin: https://evil.example\r\ncontent-length: 0\r\n\r\n", "403"),
        ("GET /purge HTTP/1.1\r\nhost: localhost\r\n\r\n", "405"),
        ("nonsense\r\n\r\n", "400"),
        (
            "POST /v1/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "400",
        ),
    ] {
        let line = raw(&house, request);
        let allowed = line.contains(status) || (request.contains("transfer-encoding") && line.contains("200"));
        assert!(allowed, "{request:?} → {line:?}");
    }
    let long = format!("GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-long: {}\r\n\r\n", "x".repeat(17 << 10));
    assert!(raw(&house, &long).contains("431"));
    let far = format!("GET /v1/{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(9 << 10));
    assert!(raw(&house, &far).contains("414"));
    assert!(raw(&house, "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").contains("200"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n06_slow_clients_do_not_stop_the_others() {
    let behind = Behind::chatting();
    let house = House::new(&behind.url);
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut socket = TcpStream::connect(house.ready.address).unwrap();
            socket.write_all(b"POST /v1/chat/completions HTTP/1.1\r\nhost: loc").unwrap();
            socket
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(house.chat(&question("hi")).await.status, 200);
    }
    // Each is closed by the proxy, not by us.
    let mut last = slow.into_iter().next_back().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut rest = Vec::new();
    let _ = last.read_to_end(&mut rest);
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
}

#[tokio::test]
async fn n13_keys_of_the_proxy_are_its_own() {
    let behind = Behind::chatting();
    let house = House::with(&behind.url, |options| {
        options.client_keys = vec!["proxy-key-one".into(), "proxy-key-two".into()];
        options.own_key = Some("sk-upstream-canary".into());
    });
    let ask = async |headers: &[(&str, &str)]| house.ask("/v1/chat/completions", headers, &question("hi")).await;
    for wrong in [&[][..], &[("authorization", "Bearer nonsense")], &[("x-rag-key", "nonsense")]] {
        let got = ask(wrong).await;
        assert_eq!((got.status, got.header("www-authenticate")), (401, Some("Bearer")));
    }
    assert_eq!(behind.calls(), 0);
    // By `authorization`: it is replaced by the operator's own.
    let first = ask(&[("authorization", "Bearer proxy-key-one")]).await;
    assert_eq!(first.cache(), "miss");
    assert_eq!(behind.heard()[0].headers["authorization"], "Bearer sk-upstream-canary");
    // Two clients never share, though the server sees one key.
    assert_eq!(ask(&[("authorization", "Bearer proxy-key-two")]).await.cache(), "miss");
    assert_eq!(ask(&[("authorization", "Bearer proxy-key-one")]).await.cache(), "hit");
    // By our own header: the other one is for the server.
    ask(&[("x-rag-key", "proxy-key-one"), ("authorization", "Bearer sk-of-the-client")]).await;
    let heard = behind.heard().pop().unwrap();
    assert_eq!(heard.headers["authorization"], "Bearer sk-of-the-client");
    assert!(heard.headers.get("x-rag-key").is_none());
    // Counters and purge: this machine needs no key.
    assert_eq!(got(house.client.get(house.url("/stats"))).await.status, 200);
    let foreign = house.client.get(house.url("/metrics")).header("host", "192.0.2.1");
    assert_eq!(got(foreign).await.status, 421);
    let metrics = got(house.client.get(house.url("/metrics"))).await;
    assert!(String::from_utf8(metrics.bytes()).unwrap().contains("rag_proxy_requests_total{cache=\"hit\"} 1\n"));
    let purged = got(house.client.post(house.url("/purge"))).await;
    assert_eq!(purged.json()["purged"], 3);
    assert_eq!(ask(&[("authorization", "Bearer proxy-key-one")]).await.cache(), "miss");
    assert_eq!(got(house.client.post(house.url("/purge?older_than_seconds=3600"))).await.json()["purged"], 0);
    assert_eq!(got(house.client.post(house.url("/purge?nonsense"))).await.status, 400);
    assert_eq!(got(house.client.get(house.url("/health"))).await.json(), json!({"status": "ok"}));
    // By both: ours does not go upstream by the other header.
    ask(&[("x-rag-key", "proxy-key-one"), ("authorization", "Bearer proxy-key-one")]).await;
    assert!(behind.heard().iter().all(|heard| heard.headers["authorization"] != "Bearer proxy-key-one"));
}

#[tokio::test]
async fn the_end_lets_answers_come_to_theirs() {
    let gate = Arc::new(Semaphore::new(0));
    let behind = Behind::saying(Reply::json(&chat("late")).held(&gate, true));
    let house = House::new(&behind.url);
    let (url, client) = (house.url("/v1/chat/completions"), new_client());
    let asking = tokio::spawn(async move { got(client.post(url).json(&question("hi"))).await });
    while behind.calls() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let ending = std::thread::spawn(move || house.end());
    tokio::time::sleep(Duration::from_millis(150)).await;
    gate.add_permits(10);
    assert_eq!(asking.await.unwrap().text(), "late");
    let dir = ending.join().unwrap();
    let house = House::again(&behind.url, dir, |_| {});
    assert_eq!(house.chat(&question("hi")).await.cache(), "hit");
}
