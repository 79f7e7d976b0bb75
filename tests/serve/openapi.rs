//! The description of the routes is true: real answers of every one of them are as it says.

use std::{collections::BTreeMap, sync::Arc};

use rag::model::fake::{Reply, ScriptedChat};
use serde_json::{Value, json};

use super::{
    http::{Answer, Client, events},
    schema::faults,
    server::{Fakes, Server},
};

/// What was asked of which routes, and the description.
struct Book {
    client: Client,
    document: Value,
    asked: BTreeMap<String, usize>,
}

impl Book {
    /// Looks a real answer up in the description.
    #[track_caller]
    fn check(&mut self, method: &str, route: &str, answer: &Answer) {
        let responses = &self.document["paths"][route][method]["responses"];
        assert!(responses.is_object(), "{method} {route} is not described");
        let status = if answer.status >= 400 { "default".to_owned() } else { answer.status.to_string() };
        let kind = answer.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
        let schema = &responses[&status]["content"][kind]["schema"];
        assert!(schema.is_object(), "{method} {route}: {status} {kind} is not described");
        let value = if kind == "application/json" { answer.json() } else { Value::String(answer.text()) };
        let found = faults(&self.document, schema, &value);
        assert!(found.is_empty(), "{method} {route}: {found:#?}\n{value:#}");
        *self.asked.entry(format!("{method} {route}")).or_default() += 1;
    }

    #[track_caller]
    fn get(&mut self, route: &str, path: &str) -> Answer {
        let answer = self.client.get(path).ok();
        self.check("get", route, &answer);
        answer
    }

    #[track_caller]
    fn post(&mut self, route: &str, path: &str, body: &Value) -> Answer {
        let takes = &self.document["paths"][route]["post"]["requestBody"]["content"]["application/json"]["schema"];
        let found = faults(&self.document, takes, body);
        assert!(found.is_empty(), "{route} takes no {body}: {found:#?}");
        let answer = self.client.post(path, body).ok();
        self.check("post", route, &answer);
        answer
    }

    #[track_caller]
    fn delete(&mut self, route: &str, path: &str) {
        let answer = self.client.delete(path).ok();
        self.check("delete", route, &answer);
    }
}

#[test]
fn real_answers_of_every_route_are_as_described() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tide.md"), "# Tide\n\nHigh water is at noon.").unwrap();
    std::fs::write(folder.path().join("broken.pdf"), "%PDF-1.7 this is none").unwrap();
    let root = folder.path().canonicalize().unwrap();
    let turns: Vec<Reply> =
        (0..4).map(|_| Reply::pieces(&["The quay is closed on Mondays", " [1]. It is green."])).collect();
    let server = Server::with(|options| {
        options.models = Arc::new(Fakes { chat: Some(Arc::new(ScriptedChat::new(turns))), ..Fakes::default() });
        options.access.ingest_roots = vec![root.clone()];
    });
    let client = server.client();
    let document = client.get("/openapi.json").ok().json();
    let mut book = Book { client, document, asked: BTreeMap::new() };
    writing(&mut book, &root);
    reading(&mut book);
    for_others(&mut book);
    removing(&mut book);
    refusing(&mut book);
    for (path, methods) in book.document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            assert!(book.asked.contains_key(&format!("{method} {path}")), "{method} {path} was not asked");
        }
    }
}

fn writing(book: &mut Book, root: &std::path::Path) {
    for (name, text) in
        [("quay.md", "# Quay\n\nThe quay is closed on Mondays."), ("copy.md", "The quay is closed on Mondays.")]
    {
        let body = json!({ "name": name, "text": text, "tags": { "team": "ops" }, "title": "Quay" });
        book.post("/v1/documents", "/v1/documents", &body);
    }
    let job = book.post("/v1/ingest", "/v1/ingest", &json!({ "paths": [root.display().to_string()] })).json();
    let path = format!("/v1/ingest/{}", job["id"].as_str().unwrap());
    let done = loop {
        let job = book.get("/v1/ingest/{id}", &path).json();
        if job["state"] != "queued" && job["state"] != "running" {
            break job;
        }
        std::thread::yield_now();
    };
    assert_eq!(
        (done["state"].as_str(), done["report"]["failed"].as_array().unwrap().len()),
        (Some("done"), 1),
        "{done}"
    );
    book.delete("/v1/ingest/{id}", &path);
    let id = |answer: Answer| answer.json()["id"].as_str().unwrap().to_owned();
    let given_up = id(book.post("/v1/sync", "/v1/sync", &json!({ "root": "near" })));
    book.delete("/v1/sync/{id}", &format!("/v1/sync/{given_up}"));
    let session = id(book.post("/v1/sync", "/v1/sync", &json!({ "root": "far" })));
    let route = |act: &str| format!("/v1/sync/{session}/{act}");
    let file = json!({ "path": "bell.md", "size": 11, "mtime_ns": 5, "ctime_ns": 6, "inode": 7 });
    let wanted = book.post("/v1/sync/{id}/files", &route("files"), &json!({ "files": [file], "last": true })).json();
    assert_eq!(wanted["send"], json!(["bell.md"]));
    let contents = format!("{file}\nA bell rang");
    let kind = [("content-type", "application/x-rag-contents")];
    let taken = book.client.send("POST", &route("contents"), &kind, contents.as_bytes()).ok();
    book.check("post", "/v1/sync/{id}/contents", &taken);
    let report = book.post("/v1/sync/{id}/finish", &route("finish"), &json!({})).json();
    assert_eq!(report["added"][0]["path"], "far/bell.md");
}

fn reading(book: &mut Book) {
    for path in ["/health", "/ready", "/openapi.json", "/metrics", "/v1/hello", "/v1/status", "/v1/collections"] {
        book.get(path, path);
    }
    book.get("/v1/documents", "/v1/documents?limit=2");
    book.get("/v1/documents/{id}", "/v1/documents/api%2Fquay.md");
    book.post("/v1/status", "/v1/status", &json!({ "facets": true }));
    let listed = book.post("/v1/list", "/v1/list", &json!({ "problems": true })).json();
    assert_eq!(listed["documents"][0]["status"], "failed");
    let shown = book.post("/v1/show", "/v1/show", &json!({ "what": "api/quay.md" })).json();
    let chunk = shown["chunks"][0]["chunk_id"].as_str().unwrap().to_owned();
    let ask = json!({ "text": "quay closed", "explain": true, "flags": true, "context": 1, "k": 5 });
    let found = book.post("/v1/query", "/v1/query", &ask).json();
    assert!(found["results"][0]["explain"].is_object() && found["explain"]["dense"].is_object(), "{found}");
    book.post("/v1/query", "/v1/query", &json!({ "like": [chunk], "mode": "dense" }));
    let missed = book.post("/v1/query", "/v1/query", &json!({ "text": "quay", "filter": "lang:xx" })).json();
    assert!(missed["near_miss"].is_object(), "{missed}");
    let answer = book.post("/v1/ask", "/v1/ask", &json!({ "text": "When is the quay closed?" })).json();
    assert_eq!(answer["status"], "answered", "{answer}");
    book.post("/v1/ask", "/v1/ask", &json!({ "text": "When is the quay closed?", "extractive": true }));
    let streamed = book.client.post("/v1/ask", &json!({ "text": "When is the quay closed?", "stream": true })).ok();
    book.check("post", "/v1/ask", &streamed);
    let described =
        book.document["paths"]["/v1/ask"]["post"]["responses"]["200"]["content"]["text/event-stream"]["x-events"]
            .clone();
    for (name, data) in events(&streamed) {
        let found = faults(&book.document, &described[&name], &serde_json::from_str(&data).unwrap());
        assert!(found.is_empty(), "{name} {data}: {found:#?}");
    }
    let saved = json!({ "answer": answer.to_string() });
    book.post("/v1/check", "/v1/check", &saved);
    for file in ["api/quay.md", "nothing.md"] {
        book.post("/v1/why", "/v1/why", &json!({ "file": file }));
        book.post("/v1/why-not", "/v1/why-not", &json!({ "text": "bell", "file": file }));
    }
    book.post("/v1/verify", "/v1/verify", &json!({}));
    let eval = json!({
        "queries": [{ "id": "q", "text": "quay closed" }], "qrels": { "q": { "api/quay.md": 1 } }, "per_query": true,
    });
    book.post("/v1/eval", "/v1/eval", &eval);
}

fn for_others(book: &mut Book) {
    let messages = json!([{ "role": "user", "content": "When is the quay closed?" }]);
    book.post("/v1/chat/completions", "/v1/chat/completions", &json!({ "messages": messages }));
    book.post("/v1/responses", "/v1/responses", &json!({ "input": "When is the quay closed?" }));
    for format in ["float", "base64"] {
        book.post("/v1/embeddings", "/v1/embeddings", &json!({ "input": ["quay"], "encoding_format": format }));
    }
    book.get("/v1/models", "/v1/models");
    book.get("/v1/models/{id}", "/v1/models/rag");
    let who = json!({ "name": "raw", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who });
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let answer = book.client.send("POST", "/mcp", &headers, begin.to_string().as_bytes()).ok();
    book.check("post", "/mcp", &answer);
    assert!(answer.text().contains("\"jsonrpc\""), "{}", answer.text());
}

fn removing(book: &mut Book) {
    book.post("/v1/rm", "/v1/rm", &json!({ "what": ["far/bell.md", "nothing"] }));
    book.delete("/v1/documents/{id}", "/v1/documents/api%2Fcopy.md");
}

fn refusing(book: &mut Book) {
    for (route, body) in [("/v1/query", json!({ "text": "" })), ("/v1/query", json!({ "words": "x" }))] {
        let refused = book.client.post(route, &body).is(400);
        book.check("post", route, &refused);
    }
    let refused = book.client.get("/v1/documents/0000000000000").is(404);
    book.check("get", "/v1/documents/{id}", &refused);
}
