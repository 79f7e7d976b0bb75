//! Documents in and out over HTTP.

use serde_json::{Value, json};

use super::{
    http::Client,
    server::{Server, keys},
};

/// A job when it is over. It is asked again and again, without a pause of ours: each answer takes its time.
pub fn finished(client: &Client, id: &str) -> Value {
    loop {
        let job = client.get(&format!("/v1/ingest/{id}")).ok().json();
        if !["queued", "running"].contains(&job["state"].as_str().unwrap()) {
            return job;
        }
    }
}

#[test]
fn what_is_answered_is_there() {
    let server = Server::start();
    let client = server.client();
    let added = client
        .post(
            "/v1/documents",
            &json!({ "name": "notes/monday.md", "text": "# Monday\n\nThe quay is closed.", "tags": { "team": "ops" } }),
        )
        .ok()
        .json();
    assert_eq!(added["added"][0]["path"], "api/notes/monday.md");
    let found = client.post("/v1/query", &json!({ "text": "quay", "filter": "tag.team=ops" })).ok().json();
    let hit = &found["results"][0];
    assert_eq!((hit["path"].as_str(), hit["title"].as_str()), (Some("api/notes/monday.md"), Some("Monday")));
    // The same again writes nothing; another text takes its place.
    let again = client
        .post("/v1/documents", &json!({ "name": "notes/monday.md", "text": "# Monday\n\nThe quay is closed." }))
        .ok()
        .json();
    assert_eq!((again["unchanged"].as_u64(), &again["generation"]), (Some(1), &added["generation"]));
    client.post("/v1/documents", &json!({ "name": "notes/monday.md", "text": "# Monday\n\nThe ferry sails." })).ok();
    let found = client.post("/v1/query", &json!({ "text": "quay", "mode": "lexical" })).ok().json();
    assert_eq!(found["results"], json!([]));
    let id = hit["source_id"].as_str().unwrap();
    let shown = client.get(&format!("/v1/documents/{id}")).ok().json();
    assert!(shown["chunks"][0]["text"].as_str().unwrap().contains("ferry"));
    for pattern in ["**", "api%2F**", "api"] {
        client.delete(&format!("/v1/documents/{pattern}")).is(404);
    }
    assert_eq!(client.delete(&format!("/v1/documents/{id}")).ok().json()["removed"], json!(["api/notes/monday.md"]));
    client.get(&format!("/v1/documents/{id}")).is(404);
    assert_eq!(client.get("/v1/status").ok().json()["sources"], 0);
}

#[test]
fn a_form_brings_several_files_and_a_bad_one_takes_no_other() {
    let server = Server::start();
    let client = server.client();
    let mut body = Vec::new();
    let mut part = |head: &str, content: &[u8]| {
        body.extend_from_slice(format!("--XX\r\ncontent-disposition: form-data; {head}\r\n\r\n").as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    };
    part("name=\"collection\"", b"letters");
    part("name=\"tag\"", b"year=1987");
    part("name=\"file\"; filename=\"a.md\"", b"# One\n\nThe quay is closed.");
    part("name=\"file\"; filename=\"b.html\"", b"<h1>Two</h1><p>The tide is high.</p>");
    part("name=\"file\"; filename=\"broken.pdf\"", b"%PDF-1.7 nothing more");
    body.extend_from_slice(b"--XX--\r\n");
    let kind = [("content-type", "multipart/form-data; boundary=XX")];
    let report = client.send("POST", "/v1/documents", &kind, &body).ok().json();
    let names = |list: &str| -> Vec<String> {
        report[list].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("added"), ["api/a.md", "api/b.html"]);
    assert_eq!(names("failed"), ["api/broken.pdf"]);
    let found = client.post("/v1/query", &json!({ "text": "tide", "collection": "letters" })).ok().json();
    assert_eq!(found["results"][0]["path"], "api/b.html");
    let listed = client.get("/v1/documents?filter=tag.year%3D1987").ok().json();
    assert_eq!(listed["documents"].as_array().unwrap().len(), 2);
    for bad in [
        &b"--XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"../x\"\r\n\r\nx\r\n--XX--\r\n"[..],
        b"--XX\r\ncontent-disposition: form-data; name=\"what\"\r\n\r\nx\r\n--XX--\r\n",
        b"--XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\nbroken off",
        b"--XX--\r\n",
        b"nothing of a form",
    ] {
        let refused = client.send("POST", "/v1/documents", &kind, bad);
        assert_eq!(refused.status, 400, "{}: {}", String::from_utf8_lossy(bad), refused.text());
    }
}

#[test]
fn pages_of_the_list_hold_everything_once() {
    let server = Server::start();
    let client = server.client();
    for n in 0..25 {
        server.add(&format!("n{n:02}.md"), &format!("note number {n}"));
    }
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let body = json!({ "limit": 7, "cursor": cursor });
        let page = client.post("/v1/list", &body).ok().json();
        seen.extend(page["documents"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    let want: Vec<String> = (0..25).map(|n| format!("api/n{n:02}.md")).collect();
    assert_eq!(seen, want);
    client.post("/v1/list", &json!({ "cursor": "zz" })).is(400);
    client.post("/v1/list", &json!({ "limit": 0 })).is(400);
    client.get("/v1/documents?what=1").is(400);
}

#[test]
fn removal_by_folder_glob_and_tag() {
    let server = Server::start();
    let client = server.client();
    for name in ["a/x.md", "a/y.md", "b/x.md", "c.md"] {
        server.add(name, &format!("words of {name}"));
    }
    let dry = client.post("/v1/rm", &json!({ "what": ["api/a"], "dry_run": true })).ok().json();
    assert_eq!(dry["removed"], json!(["api/a/x.md", "api/a/y.md"]));
    let gone = client.post("/v1/rm", &json!({ "what": ["api/**/x.md", "nothing"], "purge": true })).ok().json();
    assert_eq!((&gone["removed"], &gone["not_found"]), (&json!(["api/a/x.md", "api/b/x.md"]), &json!(["nothing"])));
    assert_eq!(client.get("/v1/status").ok().json()["sources"], 2);
    client.post("/v1/rm", &json!({})).is(400);
    let closed = Server::with(|options| options.access.allow_write = false);
    closed.client().post("/v1/rm", &json!({ "what": ["x"] })).is(403);
    closed.client().post("/v1/documents", &json!({ "name": "a.md", "text": "x" })).is(403);
}

#[test]
fn quotas_hold() {
    let (keys, made) = keys(&["scopes = [\"write\", \"read\"]\ndocuments = 2\nbytes = 100"]);
    let server = Server::with(|options| options.access.keys = keys);
    let client = server.client().with_key(&made[0]);
    let add = |name: &str, text: &str| client.post("/v1/documents", &json!({ "name": name, "text": text }));
    add("a.md", "one quay").ok();
    assert_eq!(add("b.md", &"x".repeat(101)).is(429).problem(), "too_many");
    add("b.md", "two tides").ok();
    assert!(add("c.md", "three").is(429).text().contains("2 documents"));
    client.delete("/v1/documents/api%2Fa.md").ok();
    add("c.md", "three").ok();
    let (keys, made) = super::server::keys(&["requests_per_second = 3"]);
    let server = Server::with(|options| options.access.keys = keys);
    let client = server.client().with_key(&made[0]);
    let statuses: Vec<u16> = (0..30).map(|_| client.get("/v1/hello").status).collect();
    assert!(statuses[..3].iter().all(|status| *status == 200) && statuses.contains(&429), "{statuses:?}");
}

#[test]
fn quotas_hold_for_folders_of_the_server_and_for_a_client_s() {
    let docs = tempfile::tempdir().unwrap();
    for name in ["a.md", "b.md", "c.md", "d.md"] {
        std::fs::write(docs.path().join(name), format!("the quay of {name}")).unwrap();
    }
    let root = docs.path().canonicalize().unwrap();
    let (keys, made) = keys(&["scopes = [\"write\", \"read\"]\ndocuments = 3", "scopes = [\"admin\"]"]);
    let server = Server::with(|options| {
        options.access.keys = keys;
        options.access.ingest_roots = vec![root.clone()];
    });
    let [client, admin] = [0, 1].map(|at| server.client().with_key(&made[at]));
    let ingest = |client: &Client| {
        let job = client.post("/v1/ingest", &json!({ "paths": [root.display().to_string()] })).is(202).json();
        finished(client, job["id"].as_str().unwrap())
    };
    let count = || client.get("/v1/status").ok().json()["sources"].as_u64().unwrap();
    let done = ingest(&client);
    let failed = done["report"]["failed"].as_array().unwrap();
    assert_eq!((done["report"]["added"].as_array().unwrap().len(), failed.len(), count()), (3, 1, 3), "{done}");
    assert!(failed[0].to_string().contains("the quota is 3 documents"), "{done}");
    // What is there may be changed, and what goes makes room.
    std::fs::write(docs.path().join("a.md"), "the quay of a, moved").unwrap();
    std::fs::remove_file(docs.path().join("b.md")).unwrap();
    let done = ingest(&client);
    let lengths = ["added", "updated", "removed", "failed"].map(|list| done["report"][list].as_array().unwrap().len());
    assert_eq!((lengths, count()), ([1, 1, 1, 0], 3), "{done}");
    client.post("/v1/documents", &json!({ "name": "e.md", "text": "one more" })).is(429);
    // The other key has none.
    admin.post("/v1/documents", &json!({ "name": "e.md", "text": "one more" })).ok();
    assert_eq!(count(), 4);
}

#[test]
fn quotas_hold_for_tools_and_their_writes_are_in_the_log() {
    let (keys, made) = keys(&["scopes = [\"write\", \"read\"]\ndocuments = 2"]);
    let server = Server::with(|options| options.access.keys = keys);
    let client = server.client().with_key(&made[0]);
    let call = |tool: &str, arguments: Value| client.tool(tool, &arguments);
    let add = |name: &str| call("ingest", json!({ "name": name, "text": "words", "collection": "notes" }));
    for name in ["a.md", "b.md", "a.md"] {
        let done = add(name);
        assert_ne!(done["isError"], true, "{done}");
    }
    let full = add("c.md");
    assert!(full["isError"] == true && full.to_string().contains("the quota is 2 documents"), "{full}");
    let remember = |content: &str| call("remember", json!({ "content": content }));
    assert!([remember("secret one"), remember("secret two")].iter().all(|done| done["isError"] != true));
    assert!(remember("secret three").to_string().contains("the quota is 2 documents"));
    call("search", json!({ "query": "words" }));
    let log = server.log();
    let writes: Vec<&String> = log.iter().filter(|line| line.contains(" write ")).collect();
    let of = |tool: &str, collection: &str| {
        let mark = format!("/mcp tool={tool} write collection=\"{collection}\"");
        writes.iter().filter(|line| line.ends_with(&mark) && !line.contains("key=- ")).count()
    };
    assert_eq!((of("ingest", "notes"), of("remember", "memories"), writes.len()), (3, 2, 5), "{log:#?}");
    assert!(!log.iter().any(|line| line.contains("words") || line.contains("secret")), "never a text");
}

#[test]
fn documents_do_not_pass_for_files() {
    let docs = tempfile::tempdir().unwrap();
    std::fs::write(docs.path().join("open.md"), "the quay opens at six").unwrap();
    let root = docs.path().canonicalize().unwrap();
    let server = Server::with(|options| options.access.ingest_roots = vec![root.clone()]);
    let client = server.client();
    let job = client.post("/v1/ingest", &json!({ "paths": [root.display().to_string()] })).is(202).json();
    let done = finished(&client, job["id"].as_str().unwrap());
    assert_eq!(done["state"], "done", "{done}");
    let name = root.file_name().unwrap().to_string_lossy().into_owned();
    client.post("/v1/documents", &json!({ "name": "open.md", "text": "the quay is gone", "root": name })).is(400);
    client.post("/v1/sync", &json!({ "root": name })).is(400);
    assert_eq!(client.delete(&format!("/v1/ingest/{}", job["id"].as_str().unwrap())).ok().json()["state"], "done");
    client.get("/v1/ingest/77").is(404);
}
