//! N12 at the proxy: eight clients ask the same things at once, by every way there is to an answer, and none is ever told
//! what was said to another.

use std::sync::Arc;

use rag::model::fake::FakeEmbedder;
use serde_json::{Value, json};

use crate::{
    behind::{Behind, Heard, Reply, chat, chat_stream},
    house::{House, and, question},
};

const CLIENTS: u64 = 8;
const ROUNDS: u64 = 76;
const SEED: u64 = 0x1eaf;

/// Who asks, as the server behind sees it.
fn caller(heard: &Heard) -> String {
    let value = heard.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.trim_start_matches("Bearer ").to_owned()
}

/// A server that says in every answer whose it is: in texts by name, in vectors by number.
fn behind() -> Behind {
    Behind::start(|heard| {
        let (who, body) = (caller(heard), heard.json());
        let text = format!("this is said to {who} alone");
        if heard.path.ends_with("/embeddings") {
            let number: f64 = who.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(-1.0);
            let inputs = body["input"].as_array().map_or(1, Vec::len);
            let item = |index| json!({"object": "embedding", "index": index, "embedding": [number, 0.5]});
            let data: Vec<Value> = (0..inputs).map(item).collect();
            return Reply::json(
                &json!({"object": "list", "data": data, "model": "e", "usage": {"prompt_tokens": 3, "total_tokens": 3}}),
            );
        }
        if heard.path.contains("/responses") {
            let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
            return Reply::json(&json!({
                "id": "resp_1", "object": "response", "status": "completed", "model": "m", "created_at": 1,
                "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}],
                "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
            }));
        }
        match body["stream"] == true {
            true => Reply::stream(chat_stream(&text, false)),
            false => Reply::json(&chat(&text)),
        }
    })
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// One request, and whether the answer is of vectors.
fn request(random: &mut u64) -> (&'static str, Value) {
    let text = format!("where is the weir of the river {}", next(random) % 5);
    match next(random) % 5 {
        0 => ("/v1/chat/completions", question(&text)),
        1 => ("/v1/chat/completions", and(question(&text), json!({"stream": true}))),
        2 => ("/v1/embeddings", json!({"model": "e", "input": [text, "shared text"]})),
        3 => ("/v1/responses", json!({"model": "m", "input": text, "temperature": 0, "store": false})),
        _ => ("/v1/not-known", json!({ "text": text })),
    }
}

#[tokio::test]
async fn n12_nobody_is_told_what_was_said_to_another() {
    eprintln!("seed {SEED:#x}");
    let behind = behind();
    let near = |options: &mut rag::serve::proxy::Options| options.semantic = Some((0.5, Arc::new(FakeEmbedder::new())));
    let house = Arc::new(House::with(&behind.url, near));
    let (mut asked, mut from_cache, mut random) = (0, 0, SEED);
    for round in 0..ROUNDS {
        // All at once, so that each may come upon the other's answer while it is under way.
        let mut tasks = Vec::new();
        for client in 0..CLIENTS {
            let (path, body) = request(&mut random);
            let (house, wish) = (Arc::clone(&house), ["", "refresh", "only", ""][next(&mut random) as usize % 4]);
            tasks.push(tokio::spawn(async move {
                let who = format!("client-{client}");
                let bearer = format!("Bearer {who}");
                let headers = [("authorization", bearer.as_str()), ("x-rag-cache", wish)];
                let headers = &headers[..if wish.is_empty() { 1 } else { 2 }];
                (who, client, path, wish, house.ask(path, headers, &body).await)
            }));
        }
        for task in tasks {
            let (who, client, path, wish, got) = task.await.unwrap();
            asked += 1;
            if wish == "only" && got.status == 504 {
                continue;
            }
            assert_eq!(got.status, 200, "round {round}: {who} {path} {wish}");
            from_cache += u32::from(got.cache() == "hit" || got.cache() == "coalesced");
            let all = String::from_utf8_lossy(&got.bytes()).into_owned();
            if path == "/v1/embeddings" {
                for item in got.json()["data"].as_array().unwrap() {
                    assert_eq!(item["embedding"][0].as_f64(), Some(client as f64), "round {round}: {who}: {all}");
                }
                continue;
            }
            let whole = if all.contains("data: ") { got.text() } else { all };
            let named = (0..CLIENTS).filter(|other| whole.contains(&format!("client-{other}"))).collect::<Vec<_>>();
            assert_eq!(named, [client], "round {round}: {who} {path} {wish}: {whole}");
        }
        if round % 25 == 24 {
            house.ask("/purge", &[], &json!({})).await;
        }
    }
    // It would prove nothing if nobody had ever been answered from the cache.
    assert!(asked >= 604 && from_cache > 100, "{asked} asked, {from_cache} of them from the cache");
}
