//! What was answered is on disk, whoever else writes and however the server ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{client::Client, house::House};

fn keys(client: &mut Client) -> Vec<String> {
    let listed = client.call("list_memories", json!({ "limit": 200 }));
    listed["memories"].as_array().unwrap().iter().map(|m| m["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_killed_server_has_lost_nothing_that_it_answered() {
    let house = House::new();
    let mut kept = Vec::new();
    for round in 0..5 {
        let mut client = Client::start(&house, &["--allow-write"]);
        for n in 0..4 {
            let key = format!("{round}-{n}");
            client.call("remember", json!({ "content": format!("Buoy {round} {n} rings."), "key": key }));
            kept.push(key);
            let text = json!({ "text": format!("Buoy {round} {n} is red."), "name": format!("{round}-{n}.md") });
            client.call("ingest", text);
        }
        // One is on its way when the power goes.
        client.send("tools/call", json!({ "name": "remember", "arguments": { "content": "late", "key": "late" } }));
        client.kill();
    }
    let mut client = Client::start(&house, &[]);
    let mut found = keys(&mut client);
    found.retain(|key| key != "late");
    kept.sort();
    assert_eq!(found, kept);
    assert_eq!(client.call("list_sources", json!({}))["total"], 20);
    house.rag(["verify"]).ok();
}

#[test]
fn two_servers_share_one_memory() {
    let house = House::new();
    let (mut one, mut two) = (Client::start(&house, &[]), Client::start(&house, &[]));
    for n in 0..5 {
        let first = one.send("tools/call", remember(&format!("one-{n}")));
        let second = two.send("tools/call", remember(&format!("two-{n}")));
        for answer in [one.answer(first), two.answer(second)] {
            assert_ne!(answer["result"]["isError"], true, "{answer}");
        }
    }
    let found = keys(&mut one);
    assert_eq!((found.len(), &found), (10, &keys(&mut two)));
    one.call("forget", json!({ "key": "two-0" }));
    assert!(!keys(&mut two).contains(&"two-0".to_owned()), "what one forgets the other has not");
}

fn remember(key: &str) -> Value {
    json!({ "name": "remember", "arguments": { "content": format!("What {key} says of the tide."), "key": key } })
}

#[cfg(unix)]
#[test]
fn a_long_ingest_keeps_nobody_from_remembering() {
    let house = House::with_index();
    // Whoever has the lock of the documents.
    let lock = std::fs::File::open(house.path(".rag/lock")).unwrap();
    lock.lock().unwrap();
    let mut client = Client::start(&house, &["--allow-write", "--wait", "200ms"]);
    client.call("remember", json!({ "content": "The quay is closed.", "key": "quay" }));
    let text = client.refused("ingest", json!({ "text": "High water at six.", "name": "tides.md" }));
    assert!(text.contains("being written by"), "{text}");
    assert!(!text.contains(house.path("").to_str().unwrap()), "where the index stands is nobody's business: {text}");
    lock.unlock().unwrap();
    client.call("ingest", json!({ "text": "High water at six.", "name": "tides.md" }));
}

#[test]
fn the_end_of_input_is_the_end_and_what_was_asked_is_done() {
    let house = House::new();
    let mut client = Client::start(&house, &["--allow-write"]);
    client.call("remember", json!({ "content": "warm", "key": "warm" }));
    let numbers: Vec<u64> = (0..5).map(|n| client.send("tools/call", remember(&format!("last-{n}")))).collect();
    client.hang_up();
    let began = Instant::now();
    for number in numbers {
        let answer = client.answer(number);
        assert_ne!(answer["result"]["isError"], true, "{answer}");
    }
    let (status, errors) = client.end();
    assert!(status.success(), "{errors}");
    assert_eq!(errors, "", "it has nothing to say");
    // A bound, not a measure: two seconds are promised, and the machine may be busy.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(keys(&mut Client::start(&house, &[])).len(), 6);
}

#[test]
fn what_reads_is_answered_after_the_end_of_input() {
    let house = House::with_index();
    house.write("tides.md", "# Tides\n\nHigh water is at six in the evening.\n");
    house.rag(["ingest", "tides.md"]).ok();
    let mut client = Client::start(&house, &[]);
    let ask = json!({ "question": "When is high water?" });
    client.call("ask", ask.clone());
    let number = client.send("tools/call", json!({ "name": "ask", "arguments": ask }));
    client.hang_up();
    let answer = client.answer(number);
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(client.end().0.success());
}

#[cfg(unix)]
#[test]
fn the_end_comes_even_while_another_writes() {
    let house = House::with_index();
    let lock = std::fs::File::open(house.path(".rag/lock")).unwrap();
    lock.lock().unwrap();
    let mut client = Client::start(&house, &["--allow-write", "--wait", "1h"]);
    let text = json!({ "text": "High water at six.", "name": "tides.md" });
    let number = client.send("tools/call", json!({ "name": "ingest", "arguments": text }));
    client.hang_up();
    let answer = client.answer(number);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let (status, _) = client.end();
    assert!(status.success());
}

#[test]
fn a_server_that_nobody_talks_to_ends_quietly() {
    let house = House::new();
    for arguments in [&[][..], &["--allow-write"]] {
        let (status, errors) = Client::silent(&house, arguments).end();
        assert!(status.success(), "{errors}");
        assert_eq!(errors, "");
    }
    assert!(!house.path(".rag").exists());
    house.rag(["mcp", "--root", "nowhere"]).exits(2);
}

#[test]
fn an_ingest_neither_sees_nor_prunes_memories() {
    let house = House::new();
    house.write("a.md", "The quay.\n");
    let mut client = Client::start(&house, &["--allow-write"]);
    client.call("remember", json!({ "content": "The ferry leaves at nine.", "key": "ferry" }));
    house.rag(["ingest", "."]).ok();
    client.call("ingest", json!({ "path": "." }));
    house.rag(["compact"]).ok();
    assert_eq!(client.call("list_sources", json!({}))["total"], 1);
    assert_eq!(keys(&mut client), ["ferry"]);
    let query = house.rag(["query", "when does the ferry leave", "--json"]);
    assert!(!query.stdout.contains("nine"), "{}", query.stdout);
}
