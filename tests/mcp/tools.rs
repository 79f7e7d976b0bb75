//! Each tool, as its description and its schemas say.

use serde_json::{Value, json};

use crate::{client::Client, house::House};

fn tools(client: &mut Client) -> Vec<String> {
    let listed = client.ask("tools/list", json!({}));
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

const READ: [&str; 6] = ["search", "ask", "get", "neighbors", "list_sources", "status"];
const MEMORY: [&str; 5] = ["remember", "recall", "forget", "list_memories", "list_namespaces"];
const WRITE: [&str; 2] = ["ingest", "delete_source"];

#[test]
fn what_is_offered_is_what_is_allowed() {
    let house = House::new();
    for (arguments, want) in [
        (&[][..], [&READ[..], &MEMORY].concat()),
        (&["--allow-write"], [&READ[..], &MEMORY, &WRITE].concat()),
        (&["--no-memory"], READ.to_vec()),
        (&["--no-memory", "--allow-write"], [&READ[..], &WRITE].concat()),
    ] {
        let mut client = Client::start(&house, arguments);
        assert_eq!(tools(&mut client), want, "{arguments:?}");
        for name in [&READ[..], &MEMORY, &WRITE].concat().into_iter().filter(|name| !want.contains(name)) {
            let error = client.ask_wrongly("tools/call", json!({ "name": name, "arguments": {} }));
            assert_eq!(error["code"], -32602, "{name}");
        }
    }
    assert!(!house.path(".rag").exists(), "nothing was made");
}

#[test]
fn hints_say_what_a_tool_does() {
    let house = House::new();
    let mut client = Client::start(&house, &["--allow-write"]);
    let listed = client.ask("tools/list", json!({}));
    for tool in listed["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let hints = &tool["annotations"];
        let writes = ["remember", "forget", "ingest", "delete_source"].contains(&name);
        assert_eq!(hints["readOnlyHint"], !writes, "{name}");
        assert_eq!(hints["destructiveHint"], ["forget", "ingest", "delete_source"].contains(&name), "{name}");
        assert_eq!(hints["openWorldHint"], false, "{name}");
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{name}");
    }
}

#[test]
fn without_an_index_tools_say_how_to_make_one() {
    let house = House::new();
    let mut client = Client::start(&house, &[]);
    let status = client.call("status", json!({}));
    assert_eq!((&status["index"], &status["documents"]), (&json!("none"), &json!(0)));
    assert!(status["next_step"].as_str().unwrap().contains("rag ingest"));
    for (tool, arguments) in [
        ("search", json!({ "query": "quay" })),
        ("ask", json!({ "question": "quay" })),
        ("get", json!({ "path": "a.md" })),
        ("neighbors", json!({ "id": "0000000000000" })),
        ("list_sources", json!({})),
    ] {
        let text = client.refused(tool, arguments);
        assert!(text.contains("no index yet") && text.contains("rag ingest"), "{text}");
    }
    for (tool, list) in [("list_memories", "memories"), ("list_namespaces", "namespaces")] {
        assert_eq!(client.call(tool, json!({}))[list], json!([]));
    }
    assert_eq!(client.call("recall", json!({ "query": "quay" }))["memories"], json!([]));
    assert_eq!(client.ask("resources/list", json!({}))["resources"], json!([]));
    assert!(!house.path(".rag").exists(), "reading made nothing");

    // What is remembered makes one, and an ingest beside the server is seen at the next call.
    client.call("remember", json!({ "content": "The quay is closed on Mondays." }));
    assert_eq!(client.call("status", json!({}))["memories"], 1);
    house.write("docs/quay.md", "# Quay\n\nThe quay was built in 1887.\n");
    house.rag(["ingest", "docs"]).ok();
    let found = client.call("search", json!({ "query": "when was the quay built" }));
    assert_eq!(found["results"][0]["path"], "docs/quay.md");
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "memories are not among the documents");
}

#[test]
fn search_pages_filters_and_adds_context() {
    let house = House::with_index();
    let mut client = Client::start(&house, &[]);
    let first = client.call("search", json!({ "query": "pump", "k": 3 }));
    let ids = |page: &Value| -> Vec<String> {
        page["results"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((ids(&first).len(), &first["truncated"]), (3, &json!(true)));
    let second = client.call("search", json!({ "query": "pump", "k": 3, "cursor": first["next_cursor"] }));
    assert_eq!(second["results"][0]["rank"], 4);
    assert!(ids(&second).iter().all(|id| !ids(&first).contains(id)), "pages do not overlap");
    let whole = client.call("search", json!({ "query": "pump", "k": 6 }));
    assert_eq!(ids(&whole), [ids(&first), ids(&second)].concat());

    let filtered = client.call("search", json!({ "query": "pump", "filter": "type:pdf", "mode": "lexical" }));
    let results = filtered["results"].as_array().unwrap();
    assert!(!results.is_empty() && results.iter().all(|hit| hit["path"].as_str().unwrap().ends_with(".pdf")));
    assert!(results.iter().all(|hit| hit["pages"].is_array()));
    let around =
        client.call("search", json!({ "query": "holiday", "k": 1, "context": 1, "filter": "name:handbook.md" }));
    assert!(around["results"][0]["before"].is_string() || around["results"][0]["after"].is_string());

    let nothing =
        client.call("search", json!({ "query": "zebra", "collection": "default", "filter": "type:pdf lang:xx" }));
    assert_eq!(nothing["results"], json!([]));
    for (wrong, words) in [
        (json!({ "query": "x", "collection": "nope" }), "no collection `nope`"),
        (json!({ "query": "x", "filter": "colour:red" }), "`colour` is not a field"),
        (json!({ "query": "" }), "empty"),
        (json!({ "query": "x".repeat(9000) }), "at most 8192"),
        (json!({ "query": "x", "k": 51 }), "expected 1 to 50"),
        (json!({ "query": "x", "k": 0 }), "expected 1 to 50"),
        (json!({ "query": "x", "cursor": "other" }), "cursor"),
        (json!({ "query": "x", "min_relevance": 2 }), "0 to 1"),
    ] {
        let text = client.refused("search", wrong);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_search_finds_can_be_read() {
    let house = House::with_index();
    let mut client = Client::start(&house, &[]);
    let found = client.call("search", json!({ "query": "refunds", "k": 1, "filter": "type:markdown" }));
    let hit = &found["results"][0];
    let passage = client.call("get", json!({ "id": hit["id"] }));
    assert_eq!(passage["text"], hit["text"]);
    assert_eq!((&passage["passage_id"], &passage["document_id"]), (&hit["id"], &hit["document_id"]));
    let (by_id, by_path) =
        (client.call("get", json!({ "id": hit["document_id"] })), client.call("get", json!({ "path": hit["path"] })));
    assert_eq!(by_id, by_path);
    assert!(by_id["text"].as_str().unwrap().contains(hit["text"].as_str().unwrap()));

    // In parts it is the same.
    let (mut whole, mut offset) = (String::new(), json!(0));
    loop {
        let part = client.call("get", json!({ "id": hit["document_id"], "offset": offset, "max_bytes": 700 }));
        whole.push_str(part["text"].as_str().unwrap());
        match part.get("next_offset") {
            Some(next) => offset = next.clone(),
            None => break,
        }
    }
    assert_eq!(Value::from(whole), by_id["text"]);

    let lines = hit["lines"].as_array().unwrap();
    let read = client.call("get", json!({ "path": hit["path"], "first_line": lines[0], "last_line": lines[1] }));
    let file = std::fs::read_to_string(house.path(hit["path"].as_str().unwrap())).unwrap();
    let (first, last) = (lines[0].as_u64().unwrap() as usize, lines[1].as_u64().unwrap() as usize);
    let wanted: Vec<&str> = file.lines().skip(first - 1).take(last + 1 - first).collect();
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(plain(read["text"].as_str().unwrap()), plain(&wanted.join("\n")));

    let around = client.call("neighbors", json!({ "id": hit["id"], "before": 1, "after": 1 }));
    let passages = around["passages"].as_array().unwrap();
    assert!((2..=3).contains(&passages.len()));
    assert_eq!(passages.iter().filter(|passage| passage["asked"] == true).count(), 1);

    for (tool, wrong, words) in [
        ("get", json!({}), "neither `id` nor `path`"),
        ("get", json!({ "id": hit["id"], "path": hit["path"] }), "both"),
        ("get", json!({ "id": "nonsense" }), "is not an id"),
        ("get", json!({ "id": "zzzzzzzzzzzz1" }), "is not an id"),
        ("get", json!({ "id": "0000000000000" }), "no document or passage"),
        ("get", json!({ "path": "../../etc/passwd" }), "no document"),
        ("get", json!({ "path": hit["path"], "offset": 99_999_999 }), "the text has"),
        ("get", json!({ "path": hit["path"], "first_line": 9, "last_line": 3 }), "before"),
        ("get", json!({ "path": hit["path"], "first_line": 99_999 }), "no such lines"),
        ("neighbors", json!({ "id": "0000000000000" }), "no passage"),
        ("neighbors", json!({ "id": hit["id"], "before": 99 }), "expected 0 to 20"),
    ] {
        let text = client.refused(tool, wrong);
        assert!(text.contains(words), "{tool}: {text}");
    }
}

#[test]
fn ask_quotes_and_cites() {
    let house = House::with_index();
    let mut client = Client::start(&house, &[]);
    let answer = client.call("ask", json!({ "question": "How long do refunds take?" }));
    assert_eq!(answer["status"], "extractive");
    assert!(answer["answer"].as_str().unwrap().contains("[1]"));
    let cited: Vec<&Value> = answer["sources"].as_array().unwrap().iter().filter(|s| s["cited"] == true).collect();
    assert!(!cited.is_empty());
    let sentence = &answer["sentences"][0];
    assert_eq!(sentence["state"], "supported");
    let nothing = client.call("ask", json!({ "question": "Who won the chess olympiad of 1972?" }));
    assert_eq!((&nothing["status"], &nothing["sources"]), (&json!("no_answer"), &json!([])));
}

#[test]
fn documents_are_listed_page_by_page() {
    let house = House::with_index();
    let mut client = Client::start(&house, &[]);
    let (mut paths, mut cursor) = (Vec::new(), None);
    loop {
        let mut arguments = json!({ "limit": 5 });
        if let Some(cursor) = cursor.take() {
            arguments["cursor"] = cursor;
        }
        let page = client.call("list_sources", arguments);
        paths.extend(page["documents"].as_array().unwrap().iter().map(|d| d["path"].as_str().unwrap().to_owned()));
        match page.get("next_cursor") {
            Some(next) => cursor = Some(next.clone()),
            None => {
                assert_eq!(page["total"], paths.len());
                break;
            }
        }
    }
    let listed = house.rag(["list", "--json"]).ok().json("rag.list/1");
    let wanted: Vec<&str> =
        listed["documents"].as_array().unwrap().iter().map(|d| d["path"].as_str().unwrap()).collect();
    assert_eq!(paths, wanted);
    let some = client.call("list_sources", json!({ "filter": "type:html" }));
    assert_eq!((&some["total"], &some["documents"][0]["type"]), (&json!(1), &json!("html")));
    assert_eq!(client.call("list_sources", json!({ "problems": true }))["total"], 0);
    let status = client.call("status", json!({}));
    assert_eq!((&status["index"], &status["documents"]), (&json!("ready"), &json!(wanted.len())));
}

#[test]
fn memory_from_remembering_to_forgetting() {
    let house = House::new();
    let mut client = Client::start(&house, &[]);
    let added =
        client.call("remember", json!({ "content": "Ada prefers metric units.", "key": "units", "tags": ["ada"] }));
    assert_eq!((&added["state"], &added["namespace"]), (&json!("added"), &json!("default")));
    let replaced =
        client.call("remember", json!({ "content": "Ada prefers nautical miles.", "key": "units", "tags": ["ada"] }));
    assert_eq!((&replaced["state"], &replaced["id"]), (&json!("replaced"), &added["id"]));
    client.call("remember", json!({ "content": "The ferry leaves at nine.", "namespace": "travel" }));
    let kept = client.call("remember", json!({ "content": "The code is on the fridge.", "ttl": 3600 }));
    assert!(kept["expires"].is_string());

    let found = client.call("recall", json!({ "query": "which units does Ada like", "k": 1 }));
    let memory = &found["memories"][0];
    assert_eq!((&memory["content"], &memory["tags"]), (&json!("Ada prefers nautical miles."), &json!(["ada"])));
    assert_eq!(found["strength"], "found");
    assert_eq!(client.call("recall", json!({ "query": "ferry", "tags": ["ada"] }))["memories"][0]["key"], "units");
    let names = client.call("list_namespaces", json!({}));
    assert_eq!(
        names["namespaces"],
        json!([{ "namespace": "default", "memories": 2 }, { "namespace": "travel", "memories": 1 }])
    );
    let listed = client.call("list_memories", json!({ "limit": 2 }));
    assert_eq!(listed["total"], 3);
    let rest = client.call("list_memories", json!({ "limit": 2, "cursor": listed["next_cursor"] }));
    assert_eq!(rest["memories"][0]["namespace"], "travel");

    assert_eq!(client.call("forget", json!({ "key": "units" }))["forgotten"], 1);
    assert!(client.refused("forget", json!({ "key": "units" })).contains("nothing is remembered"));
    assert_eq!(client.call("forget", json!({ "namespace": "travel", "all": true }))["forgotten"], 1);
    assert_eq!(client.call("list_memories", json!({}))["total"], 1);
    for (tool, wrong, words) in [
        ("remember", json!({ "content": "" }), "empty"),
        ("remember", json!({ "content": "x".repeat(20_000) }), "at most 16384"),
        ("remember", json!({ "content": "x", "namespace": "a/b" }), "no name of a namespace"),
        ("remember", json!({ "content": "x", "ttl": 0 }), "expected 1 to"),
        ("remember", json!({ "content": 7 }), "invalid type"),
        ("recall", json!({}), "missing field `query`"),
        ("recall", json!({ "query": "" }), "empty"),
        ("forget", json!({}), "neither"),
        ("forget", json!({ "all": true }), "without a namespace"),
        ("forget", json!({ "key": "a", "all": true, "namespace": "default" }), "both"),
    ] {
        let text = client.refused(tool, wrong);
        assert!(text.contains(words), "{tool}: {text}");
    }
    // Nothing of it is a document.
    let status = house.rag(["status", "--json"]).ok().json("rag.status/1");
    assert_eq!((&status["sources"], &status["chunks"]), (&json!(0), &json!(0)));
    house.rag(["list"]).exits(1);
}

#[test]
fn ingest_takes_folders_and_texts_and_delete_takes_them_out() {
    let house = House::new();
    house.write("docs/quay.md", "# Quay\n\nThe quay was built in 1887.\n");
    house.write("docs/ferry.md", "# Ferry\n\nThe ferry leaves at nine.\n");
    house.write("docs/broken.pdf", "%PDF-1.7 and no more");
    let mut client = Client::start(&house, &["--allow-write", "--root", "docs"]);
    let dry = client.call("ingest", json!({ "path": ".", "dry_run": true }));
    assert_eq!((&dry["dry_run"], &dry["counts"]["added"]), (&json!(true), &json!(2)));
    let number = client.send(
        "tools/call",
        json!({ "name": "ingest", "arguments": { "path": "." }, "_meta": { "progressToken": "p" } }),
    );
    let answer = client.answer(number);
    let report = &answer["result"]["structuredContent"];
    assert_eq!((&report["counts"]["added"], &report["counts"]["failed"]), (&json!(2), &json!(1)));
    assert_eq!(report["failed"][0]["path"], "docs/broken.pdf");
    let told: Vec<&Value> = client.notices.iter().filter(|n| n["method"] == "notifications/progress").collect();
    assert!(!told.is_empty() && told.iter().all(|notice| notice["params"]["progressToken"] == "p"));

    let text = json!({ "text": "# Tides\n\nHigh water at six.", "name": "notes/tides.md", "tags": ["team=ops"] });
    assert_eq!(client.call("ingest", text.clone())["counts"]["added"], 1);
    assert_eq!(client.call("ingest", text)["counts"]["unchanged"], 1);
    let found = client.call("search", json!({ "query": "high water", "filter": "tag.team=ops" }));
    assert_eq!(found["results"][0]["path"], "given/notes/tides.md");

    // The next ingest of the folder leaves it alone, and takes what has vanished.
    std::fs::remove_file(house.path("docs/ferry.md")).unwrap();
    let again = client.call("ingest", json!({ "path": "." }));
    assert_eq!((&again["counts"]["removed"], &again["removed"][0]["path"]), (&json!(1), &json!("docs/ferry.md")));
    let gone = client.call("delete_source", json!({ "path": "given/notes/tides.md" }));
    assert_eq!(gone["path"], "given/notes/tides.md");
    assert!(client.refused("delete_source", json!({ "path": "given/notes/tides.md" })).contains("no document"));
    let listed = client.call("list_sources", json!({}));
    assert_eq!(listed["total"], 2);
    for (wrong, words) in [
        (json!({}), "neither"),
        (json!({ "path": ".", "text": "x" }), "both"),
        (json!({ "text": "x" }), "without a `name`"),
        (json!({ "text": "x", "name": "../up" }), "no name of a document"),
        (json!({ "text": "x", "name": "/etc/x" }), "no name of a document"),
        (json!({ "text": " ", "name": "blank.md" }), "no text"),
        (json!({ "path": ".", "name": "x" }), "go with `text`"),
        (json!({ "path": ".", "tags": ["ops"] }), "not KEY=VALUE"),
        (json!({ "path": ".", "collection": "a/b" }), "no name of a collection"),
    ] {
        let text = client.refused("ingest", wrong);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn documents_are_resources_and_there_is_a_prompt() {
    let house = House::with_index();
    let mut client = Client::start(&house, &[]);
    let resources = client.ask("resources/list", json!({}));
    let uri = resources["resources"][0]["uri"].as_str().unwrap().to_owned();
    assert!(uri.starts_with("rag://doc/"), "{uri}");
    let read = client.ask("resources/read", json!({ "uri": uri }));
    let content = &read["contents"][0];
    assert_eq!((&content["uri"], &content["mimeType"]), (&json!(uri), &json!("text/plain")));
    assert_eq!(content["_meta"]["ragstone/untrusted"], true);
    let text = content["text"].as_str().unwrap();
    let part = client.ask("resources/read", json!({ "uri": format!("{uri}?offset=10") }));
    assert_eq!(part["contents"][0]["text"].as_str().unwrap(), &text[10..]);
    let templates = client.ask("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "rag://doc/{id}");
    for wrong in ["rag://doc/x", "rag://doc/0000000000000", "rag://other/x", "file:///etc/passwd", "", "rag://doc/../x"]
    {
        client.ask_wrongly("resources/read", json!({ "uri": wrong }));
    }
    let prompts = client.ask("prompts/list", json!({}));
    assert_eq!(prompts["prompts"][0]["name"], "ask_docs");
    let prompt = json!({ "name": "ask_docs", "arguments": { "question": "How long do refunds take?" } });
    let filled = client.ask("prompts/get", prompt);
    assert!(filled["messages"][0]["content"]["text"].as_str().unwrap().contains("How long do refunds take?"));
    client.ask_wrongly("prompts/get", json!({ "name": "ask_docs", "arguments": {} }));
    client.ask_wrongly("prompts/get", json!({ "name": "nope", "arguments": {} }));
}
