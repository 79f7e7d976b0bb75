//! Memories go where the index goes.

use serde_json::json;

use crate::{client::Client, house::House};

#[test]
fn an_export_takes_memories_along_and_an_import_remembers_them() {
    let from = House::with_index();
    let mut client = Client::start(&from, &[]);
    client.call("remember", json!({ "content": "# Quay\n\n  Closed on \"Mondays\".", "key": "quay", "tags": ["ops"] }));
    client.call("remember", json!({ "content": "The ferry leaves at nine.", "namespace": "travel", "ttl": 86400 }));
    client.call("remember", json!({ "content": "gone in a second", "ttl": 1 }));
    let before = client.call("list_memories", json!({}))["memories"].as_array().unwrap().clone();
    assert_eq!(before.len(), 3);

    let whole = from.rag(["export", "--out", "all.jsonl"]).ok();
    assert!(whole.stderr.contains("memories"), "{}", whole.stderr);
    let lines = std::fs::read_to_string(from.path("all.jsonl")).unwrap();
    let memories = lines.lines().filter(|line| line.contains("rag.memory/1")).count();
    assert!((2..=3).contains(&memories), "an expired one is left out: {memories}");
    for arguments in
        [["export", "--no-memories"], ["export", "--filter=type:markdown"], ["export", "--collection=default"]]
    {
        let part = from.rag(arguments).ok();
        assert!(!part.stdout.contains("rag.memory/1"), "{arguments:?}");
    }

    let to = House::new();
    std::fs::copy(from.path("all.jsonl"), to.path("all.jsonl")).unwrap();
    to.rag(["import", "all.jsonl"]).ok();
    let mut other = Client::start(&to, &[]);
    for memory in before.iter().filter(|memory| memory["content"] != "gone in a second") {
        let listed = other.call("list_memories", json!({ "namespace": memory["namespace"] }));
        let found = listed["memories"].as_array().unwrap().iter().find(|found| found["key"] == memory["key"]);
        assert_eq!(found, Some(memory));
    }
    let found = other.call("recall", json!({ "query": "when is the quay closed" }));
    assert_eq!(found["memories"][0]["key"], "quay");
    let sources = |house: &House| house.rag(["status", "--json"]).ok().json("rag.status/1")["sources"].clone();
    assert_eq!(sources(&to), sources(&from));

    // Twice is once, and memories alone make an index too.
    to.rag(["import", "all.jsonl"]).ok();
    let memories: String =
        lines.lines().filter(|line| line.contains("rag.memory/1")).map(|line| format!("{line}\n")).collect();
    let alone = House::new();
    alone.write("memories.jsonl", &memories);
    alone.rag(["import", "memories.jsonl"]).ok();
    assert_eq!(Client::start(&alone, &[]).call("recall", json!({ "query": "quay" }))["memories"][0]["key"], "quay");
    alone.write("bad.jsonl", "{\"schema\":\"rag.memory/1\",\"colour\":1}\n");
    let bad = alone.rag(["import", "bad.jsonl"]).exits(3);
    assert!(bad.stderr.contains("unknown field `colour`"), "{}", bad.stderr);
}

#[test]
fn damage_is_found_and_what_was_forgotten_is_gone_from_the_files() {
    let house = House::with_index();
    let mut client = Client::start(&house, &[]);
    client.call("remember", json!({ "content": "The password is xyzzy-4711.", "key": "secret" }));
    client.call("remember", json!({ "content": "The ferry leaves at nine.", "key": "ferry" }));
    client.call("forget", json!({ "key": "secret" }));
    client.end();
    house.rag(["compact"]).ok();
    let files = crate::house::contents(&house.path(".rag/memories"));
    let secret = b"xyzzy";
    for (path, bytes) in &files {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{}", path.display());
    }
    house.rag(["verify"]).ok();
    house.rag(["verify", "--paranoid"]).ok();
    let (path, bytes) = files.iter().find(|(path, _)| path.extension().is_some_and(|e| e == "store")).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, damaged).unwrap();
    let verified = house.rag(["verify"]).exits(1);
    assert!(verified.stdout.contains("memories"), "{}", verified.stdout);
    let mut client = Client::start(&house, &[]);
    assert_eq!(client.call("search", json!({ "query": "refunds", "k": 1 }))["results"].as_array().unwrap().len(), 1);
}
