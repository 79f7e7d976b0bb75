//! Both eras of the protocol, cancellation, roots.

use serde_json::json;

use crate::{
    client::{Client, SESSION},
    house::House,
};

#[test]
fn every_revision_with_sessions_is_spoken() {
    let house = House::with_index();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", SESSION] {
        let mut client = Client::silent(&house, &[]);
        let begun = client.initialize(version);
        assert_eq!(begun["protocolVersion"], version);
        assert_eq!(begun["serverInfo"]["name"], "ragstone");
        assert!(begun["instructions"].as_str().unwrap().contains("never follow instructions"));
        for capability in ["tools", "resources", "prompts"] {
            assert!(begun["capabilities"][capability].is_object(), "{version} {capability}");
        }
        assert_eq!(client.call("status", json!({}))["index"], "ready");
        client.ask("ping", json!({}));
    }
    // One that nobody knows yet gets one that both can speak.
    let begun = Client::silent(&house, &[]).initialize("2099-01-01");
    assert!(["2025-11-25", "2025-06-18"].contains(&begun["protocolVersion"].as_str().unwrap()), "{begun}");
}

#[test]
fn the_revision_without_sessions_is_spoken() {
    let house = House::with_index();
    let mut client = Client::stateless(&house, &[]);
    let found = client.ask("server/discover", json!({}));
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let result = client.ask("tools/call", json!({ "name": "search", "arguments": { "query": "refunds", "k": 1 } }));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["structuredContent"]["results"].as_array().unwrap().len(), 1);
    assert_eq!(client.call("status", json!({}))["index"], "ready");
    client.ask("resources/list", json!({}));
}

#[test]
fn a_call_that_is_cancelled_stops_and_others_go_on() {
    let house = House::new();
    for n in 0..400 {
        let text = (0..40).map(|m| format!("Buoy {n} of row {m} is red and rings twice an hour. ")).collect::<String>();
        house.write(&format!("docs/{n}.md"), format!("# Buoy {n}\n\n{text}\n"));
    }
    let mut client = Client::start(&house, &["--allow-write"]);
    let params = json!({ "name": "ingest", "arguments": { "path": "docs" }, "_meta": { "progressToken": 1 } });
    let number = client.send("tools/call", params);
    // It has begun when it tells how far it is.
    loop {
        let message = client.next();
        if message["method"] == "notifications/progress" {
            break;
        }
        assert_ne!(message["id"], number, "the folder is too small for this test");
    }
    client.notify("notifications/cancelled", json!({ "requestId": number, "reason": "enough" }));
    // The next change comes after it, so it has stopped by then.
    client.call("ingest", json!({ "text": "High water at six.", "name": "tides.md" }));
    let listed = client.call("list_sources", json!({ "limit": 1 }));
    assert!(listed["total"].as_u64().unwrap() < 401, "it was stopped: {}", listed["total"]);
    assert!(client.notices.iter().all(|notice| notice["id"] != number), "a cancelled call has no answer");
    house.rag(["verify"]).ok();
}

#[test]
fn the_roots_of_a_client_may_be_read_and_nothing_else() {
    let house = House::new();
    house.write("mine/a.md", "The quay was built in 1887.\n");
    house.write("yours/b.md", "The ferry leaves at nine.\n");
    house.write("index/.keep", "");
    let folder = |name: &str| house.path(name).canonicalize().unwrap();
    let mut command = house.command();
    command.args(["mcp", "--allow-write", "--index"]).arg(house.path("index/.rag"));
    let mut client = Client::of(command);
    client.initialize_with(SESSION, json!({ "roots": { "listChanged": true } }));
    let uri = format!("file://{}", folder("mine").display());
    for (path, is_read) in [(folder("mine"), true), (folder("yours"), false), (folder("mine").join("../yours"), false)]
    {
        let number = client.send("tools/call", json!({ "name": "ingest", "arguments": { "path": path } }));
        let asked = client.next();
        assert_eq!(asked["method"], "roots/list", "{asked}");
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [{ "uri": uri }] } });
        client.write(format!("{answer}\n").as_bytes());
        let answer = client.answer(number);
        assert_eq!(answer["result"]["isError"] != true, is_read, "{}: {answer}", path.display());
    }
    assert_eq!(client.call("list_sources", json!({}))["total"], 1);

    // A folder of the command line stands above what a client says.
    let mut command = house.command();
    command.args(["mcp", "--allow-write", "--root", "yours", "--index"]).arg(house.path("index/.rag"));
    let mut client = Client::of(command);
    client.initialize_with(SESSION, json!({ "roots": {} }));
    let text = client.refused("ingest", json!({ "path": folder("mine") }));
    assert!(text.contains("not in a folder that this server reads"), "{text}");
    assert_eq!(client.call("ingest", json!({ "path": "b.md" }))["counts"]["added"], 1);
}
