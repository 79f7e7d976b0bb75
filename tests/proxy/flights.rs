//! One answer for all who ask at the same time.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    behind::{Behind, Reply, chat, chat_stream},
    house::{Got, House, and, question},
};

/// Waits until so many requests are in the proxy and not one less; fails after ten seconds.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..2000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("{what}");
}

/// Asks the same so many times at once.
fn crowd(house: &Arc<House>, count: usize, body: &serde_json::Value) -> Vec<tokio::task::JoinHandle<Got>> {
    let one = |_| {
        let (house, body) = (Arc::clone(house), body.clone());
        tokio::spawn(async move { house.chat(&body).await })
    };
    (0..count).map(one).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_equal_misses_are_one_call() {
    for stream in [false, true] {
        let gate = Arc::new(Semaphore::new(0));
        let reply = match stream {
            true => Reply::stream(chat_stream("one for all", true)),
            false => Reply::json(&chat("one for all")),
        };
        let behind = Behind::saying(reply.held(&gate, true));
        let house = Arc::new(House::new(&behind.url));
        let body = and(question("hi"), json!({"stream": stream, "stream_options": {"include_usage": stream}}));
        let asking = crowd(&house, 100, &body);
        until("the call comes", async || behind.calls() == 1).await;
        gate.add_permits(1000);
        let mut words = std::collections::BTreeMap::<String, usize>::new();
        for one in asking {
            let got = one.await.unwrap();
            assert_eq!((got.status, got.text().as_str()), (200, "one for all"));
            *words.entry(got.cache().to_owned()).or_default() += 1;
        }
        assert_eq!(behind.calls(), 1, "stream: {stream}");
        assert_eq!(words["miss"], 1, "{words:?}");
        assert_eq!(house.chat(&body).await.cache(), "hit");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_hear_a_stream_while_it_comes() {
    let gate = Arc::new(Semaphore::new(0));
    let parts = chat_stream("a b c", false);
    let behind = Behind::saying(Reply::stream(parts.clone()).held(&gate, false));
    let house = House::new(&behind.url);
    let body = and(question("hi"), json!({"stream": true}));
    let url = house.url("/v1/chat/completions");
    gate.add_permits(2);
    let mut first = house.client.post(&url).json(&body).send().await.unwrap();
    let mut second = house.client.post(&url).json(&body).send().await.unwrap();
    assert_eq!(second.headers()["x-rag-cache"], "coalesced");
    let mut heard = [Vec::new(), Vec::new()];
    for (who, response) in [&mut first, &mut second].into_iter().enumerate() {
        while heard[who].len() < parts[..2].concat().len() {
            heard[who].extend_from_slice(&response.chunk().await.unwrap().expect("more"));
        }
        assert_eq!(heard[who], parts[..2].concat().as_bytes(), "the rest is not there yet");
    }
    gate.add_permits(100);
    for (who, response) in [&mut first, &mut second].into_iter().enumerate() {
        while let Some(part) = response.chunk().await.unwrap() {
            heard[who].extend_from_slice(&part);
        }
        assert_eq!(heard[who], parts.concat().as_bytes());
    }
    assert_eq!(behind.calls(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_shape_waits_for_the_same_answer() {
    let gate = Arc::new(Semaphore::new(0));
    let behind = Behind::saying(Reply::stream(chat_stream("a b c", true)).held(&gate, true));
    let house = Arc::new(House::new(&behind.url));
    let streamed =
        crowd(&house, 3, &and(question("hi"), json!({"stream": true, "stream_options": {"include_usage": true}})));
    until("the call comes", async || behind.calls() == 1).await;
    let wholes = crowd(&house, 3, &question("hi"));
    gate.add_permits(1000);
    for one in streamed.into_iter().chain(wholes) {
        assert_eq!(one.await.unwrap().text(), "a b c");
    }
    assert_eq!(behind.calls(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_first_fails_one_of_the_others_tries_again() {
    // The first answer is a failure, and whoever asks again gets what the second word says.
    for (second_fails, want_status) in [(false, 200), (true, 503)] {
        let gate = Arc::new(Semaphore::new(0));
        let (held, calls) = (Arc::clone(&gate), AtomicUsize::new(0));
        let behind = Behind::start(move |_| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::of(503, "application/json", vec!["{\"error\": {\"message\": \"first\"}}".into()])
                .with("retry-after", "7")
                .held(&held, true),
            _ if second_fails => {
                Reply::of(503, "application/json", vec!["{\"error\": {\"message\": \"second\"}}".into()])
            }
            _ => Reply::json(&chat("second")),
        });
        let house = Arc::new(House::new(&behind.url));
        let mut asking = crowd(&house, 1, &question("hi"));
        until("the call comes", async || behind.calls() == 1).await;
        asking.extend(crowd(&house, 20, &question("hi")));
        // All twenty are in the proxy before the first is let go.
        let busy = || async { house.stats().await.in_flight };
        until("one flight", async || busy().await == 1).await;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        gate.add_permits(1000);
        let mut statuses = Vec::new();
        for one in asking {
            let got = one.await.unwrap();
            if got.status == 503 {
                assert!(["first", "second"].contains(&got.json()["error"]["message"].as_str().unwrap()));
            }
            statuses.push(got.status);
        }
        assert_eq!(statuses[0], 503, "the first hears what it got");
        let others = statuses[1..].iter().filter(|status| **status == want_status).count();
        assert_eq!(others, 20, "{statuses:?}");
        assert!((2..=3).contains(&behind.calls()), "{} calls", behind.calls());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_left_is_kept_all_the_same() {
    let gate = Arc::new(Semaphore::new(0));
    let behind = Behind::saying(Reply::stream(chat_stream("a b c", false)).held(&gate, false));
    let house = House::new(&behind.url);
    let body = and(question("hi"), json!({"stream": true}));
    gate.add_permits(2);
    let mut leaving = house.client.post(house.url("/v1/chat/completions")).json(&body).send().await.unwrap();
    leaving.chunk().await.unwrap().expect("a part");
    drop(leaving);
    gate.add_permits(100);
    until("the answer is kept", async || house.stats().await.cache.entries == 1).await;
    let got = house.chat(&body).await;
    assert_eq!((got.cache(), got.text().as_str()), ("hit", "a b c"));
    assert_eq!(behind.calls(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_kept_is_not_asked_for_in_a_crowd_either() {
    // Sampled answers are everyone's own.
    let behind = Behind::chatting();
    let house = Arc::new(House::new(&behind.url));
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let mut texts = std::collections::BTreeSet::new();
    for one in crowd(&house, 10, &body) {
        texts.insert(one.await.unwrap().text());
    }
    assert_eq!((texts.len(), behind.calls()), (10, 10));
}
