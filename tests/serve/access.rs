//! Who may do what: keys, hosts, origins, paths, addresses; and what is said of it.

use rag::serve::server::Access;
use serde_json::{Value, json};

use super::server::{Server, keys};

#[test]
fn n02_only_keys_that_are_known_and_only_what_they_allow() {
    let (keys, made) = keys(&["scopes = [\"read\"]", "scopes = [\"read\", \"write\"]", "scopes = [\"admin\"]"]);
    let server = Server::with(|options| options.access.keys = keys);
    let nobody = server.client();
    let refused = nobody.get("/v1/status").is(401);
    assert_eq!((refused.header("www-authenticate"), refused.problem().as_str()), (Some("Bearer"), "unauthorized"));
    for wrong in ["", "x", "rag-", &made[0][1..], &format!("{}0", made[0])] {
        nobody.with_key(wrong).get("/v1/status").is(401);
    }
    for odd in ["Basic abc", "Bearer", made[0].as_str()] {
        nobody.send("GET", "/v1/status", &[("authorization", odd)], b"").is(401);
    }
    // Two keys are none.
    let two = [("authorization", "Bearer a"), ("authorization", &*format!("Bearer {}", made[0]))];
    nobody.send("GET", "/v1/status", &two, b"").is(401);
    nobody.get("/health").ok();
    let document = json!({ "name": "a.md", "text": "the quay is closed" });
    let (read, write, admin) = (nobody.with_key(&made[0]), nobody.with_key(&made[1]), nobody.with_key(&made[2]));
    assert_eq!(read.post("/v1/documents", &document).is(403).problem(), "forbidden");
    write.post("/v1/documents", &document).ok();
    read.get("/v1/status").ok();
    read.post("/v1/query", &json!({ "text": "quay" })).ok();
    read.get("/metrics").is(403);
    write.get("/metrics").is(403);
    admin.get("/metrics").ok();
    write.post("/v1/verify", &json!({})).is(403);
    assert_eq!(admin.post("/v1/verify", &json!({})).ok().json()["sound"], true);
    admin.delete("/v1/documents/api%2Fa.md").ok();
}

#[test]
fn n02_failed_keys_are_limited_and_good_ones_are_not() {
    let (keys, made) = keys(&["scopes = [\"read\"]"]);
    let server = Server::with(|options| options.access.keys = keys);
    server.client().with_key(&made[0]).get("/v1/hello").ok();
    let statuses: Vec<u16> =
        (0..60).map(|n| server.client().with_key(&format!("guess{n}")).get("/v1/hello").status).collect();
    assert!(statuses.iter().all(|status| [401, 429].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
    server.client().with_key(&made[0]).get("/v1/hello").ok();
}

#[test]
fn n03_a_page_whose_name_was_bent_here_gets_nothing() {
    let server = Server::with(|options| {
        options.access.allowed_hosts = vec!["rag.example".into(), "other.example:8443".into()];
        options.access.cors_origins = vec!["https://app.example".into()];
    });
    let client = server.client();
    let port = server.address.port();
    let own = format!("127.0.0.1:{port}");
    for (host, want) in [
        (own.as_str(), 200),
        ("localhost", 200),
        ("LOCALHOST:9", 200),
        ("[::1]:80", 200),
        ("rag.example", 200),
        ("rag.example:443", 200),
        ("other.example:8443", 200),
        ("other.example", 421),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("10.0.0.1", 421),
        ("", 421),
    ] {
        assert_eq!(client.send("GET", "/health", &[("host", host)], b"").status, want, "{host}");
    }
    for (origin, want) in [
        (format!("http://{own}"), 200),
        ("https://app.example".to_owned(), 200),
        ("http://app.example".to_owned(), 403),
        ("https://app.example.evil.example".to_owned(), 403),
        ("http://localhost:1".to_owned(), 403),
        ("null".to_owned(), 403),
        ("file://".to_owned(), 403),
    ] {
        for path in ["/health", "/v1/hello", "/mcp"] {
            let status = client.send("GET", path, &[("origin", &origin)], b"").status;
            // The tools say no by themselves to a request that is none of theirs.
            let is_allowed = if path == "/mcp" { ![403, 421].contains(&status) } else { status == 200 };
            assert_eq!(is_allowed, want == 200, "{path} {origin}: {status}");
        }
    }
    let two = client
        .raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n")
        .unwrap();
    assert_eq!(two.status, 400);
}

#[test]
fn n04_no_other_site_reads_or_writes() {
    let server = Server::with(|options| options.access.cors_origins = vec!["https://app.example".into()]);
    let client = server.client();
    let plain = client.get("/v1/hello").ok();
    assert!(plain.headers.iter().all(|(name, _)| !name.starts_with("access-control-")));
    let allowed = client.send("GET", "/v1/hello", &[("origin", "https://app.example")], b"").ok();
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(allowed.header("vary"), Some("Origin"));
    let preflight = |origin: &str| {
        let headers = [("origin", origin), ("access-control-request-method", "POST")];
        client.send("OPTIONS", "/v1/query", &headers, b"")
    };
    assert_eq!(preflight("https://app.example").status, 204);
    preflight("https://evil.example").is(403);
    let body = br#"{"name":"a.md","text":"x"}"#;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"] {
        let refused = client.send("POST", "/v1/documents", &[("content-type", kind)], body).is(415);
        assert_eq!(refused.problem(), "media_type", "{kind}");
    }
    client.send("POST", "/v1/query", &[("content-type", "multipart/form-data; boundary=x")], body).is(415);
    client.send("POST", "/v1/documents", &[("content-type", "Application/JSON; charset=utf-8")], body).ok();
}

#[test]
fn n08_a_client_sends_the_server_nowhere() {
    let ingest = |pages: &[&str]| json!({ "pages": pages });
    let closed = Server::start();
    assert_eq!(closed.client().post("/v1/ingest", &ingest(&["https://example.org/"])).is(403).problem(), "forbidden");
    // Whoever listens here must hear nothing.
    let inner = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    inner.set_nonblocking(true).unwrap();
    let port = inner.local_addr().unwrap().port();
    let server = Server::with(|options| options.access.allow_url_ingest = true);
    let client = server.client();
    for page in ["file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "http://user:pw@127.0.0.1/"] {
        let refused = client.post("/v1/ingest", &ingest(&[page])).is(400);
        assert!(!refused.text().contains("pw@"), "{}", refused.text());
    }
    let pages: Vec<String> = [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "0",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "[fe80::1]",
        "[fd00::1]",
    ]
    .iter()
    .map(|host| format!("http://{host}:{port}/"))
    .collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let job = client.post("/v1/ingest", &ingest(&pages)).is(202).json();
    let done = super::documents::finished(&client, job["id"].as_str().unwrap());
    let failed = done["report"]["failed"].as_array().unwrap();
    assert_eq!(failed.len(), pages.len(), "{done}");
    for outcome in failed {
        let reason = outcome["problems"][0]["reason"].as_str().unwrap();
        assert!(["forbidden", "unreachable"].contains(&reason), "{outcome}");
    }
    assert!(failed.iter().filter(|outcome| outcome["problems"][0]["reason"] == "forbidden").count() >= 10, "{done}");
    assert!(inner.accept().is_err(), "somebody came");
    // Nor does a request name an endpoint, a header or a prompt.
    for field in ["llm_url", "base_url", "model", "headers", "system", "system_prompt", "key"] {
        let refused = client.post("/v1/ask", &json!({ "text": "x", field: "http://127.0.0.1" })).is(400);
        assert!(refused.text().contains("unknown field"), "{}", refused.text());
    }
}

#[test]
fn n09_paths_lead_into_the_folders_that_were_named() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.md"), "the vault opens at nine").unwrap();
    let docs = tempfile::tempdir().unwrap();
    std::fs::create_dir(docs.path().join("in")).unwrap();
    std::fs::write(docs.path().join("in/open.md"), "the quay opens at six").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path(), docs.path().join("link")).unwrap();
    let root = docs.path().canonicalize().unwrap();
    let closed = Server::start();
    let absolute = root.display().to_string();
    closed.client().post("/v1/ingest", &json!({ "paths": [absolute] })).is(403);
    let server = Server::with(|options| options.access.ingest_roots = vec![root.clone()]);
    let client = server.client();
    let secret = outside.path().join("secret.md").display().to_string();
    let up = format!("../{}/secret.md", outside.path().file_name().unwrap().to_string_lossy());
    let prefix = format!("{absolute}-not");
    let mut said = Vec::new();
    for path in [
        "/etc",
        "/etc/passwd",
        "/nowhere",
        "..",
        "in/../..",
        "missing.md",
        "link",
        "link/secret.md",
        &secret,
        &up,
        &prefix,
    ] {
        if path.starts_with("link") && !cfg!(unix) {
            continue;
        }
        let refused = client.post("/v1/ingest", &json!({ "paths": [path] })).is(403).json();
        said.push(refused["error"]["message"].as_str().unwrap().replace(path.trim_start_matches('/'), "X"));
    }
    said.sort();
    said.dedup();
    assert_eq!(said.len(), 1, "what is there and what is not sound alike: {said:?}");
    for path in [absolute.as_str(), "in/../in"] {
        let job = client.post("/v1/ingest", &json!({ "paths": [path] })).is(202).json();
        super::documents::finished(&client, job["id"].as_str().unwrap());
    }
    assert_eq!(
        client.post("/v1/query", &json!({ "text": "quay opens" })).ok().json()["results"].as_array().unwrap().len(),
        1
    );
    let vault = client.post("/v1/query", &json!({ "text": "vault nine", "mode": "lexical" })).ok().json();
    assert!(!vault.to_string().contains("the vault opens"), "{vault}");
}

#[test]
fn n10_errors_say_what_and_show_nothing() {
    let server = Server::start();
    let client = server.client();
    // There is no index yet.
    let missing = client.post("/v1/query", &json!({ "text": "x" })).is(404);
    server.add("a.md", "the quay is closed");
    let chunk = json!({ "text": "x", "like": ["0000000000000"] });
    let answers: Vec<(&str, super::http::Answer)> = vec![
        ("not_found", missing),
        ("no_route", client.get("/v1/nothing")),
        ("method", client.get("/v1/query")),
        ("usage", client.post("/v1/query", &json!({ "text": "" }))),
        ("usage", client.post("/v1/query", &json!({ "text": "x", "kk": 3 }))),
        ("usage", client.post("/v1/query", &json!({ "text": "x", "k": 1001 }))),
        ("usage", client.post("/v1/query", &json!({ "text": "x", "filter": "typ:pdf" }))),
        ("usage", client.post("/v1/query", &json!({ "text": "x", "rerank": true }))),
        ("not_found", client.post("/v1/query", &chunk)),
        ("not_found", client.get("/v1/documents/nothing.md")),
        ("usage", client.send("POST", "/v1/query", &[("content-type", "application/json")], b"{")),
        ("usage", client.post("/v1/documents", &json!({ "name": "../x", "text": "x" }))),
    ];
    let folder = server.dir.path().display().to_string();
    let mut ids = std::collections::BTreeSet::new();
    for (kind, answer) in answers {
        let body = answer.json();
        assert_eq!(body["error"]["type"], kind, "{body}");
        let id = body["error"]["request_id"].as_str().unwrap().to_owned();
        assert_eq!(answer.header("x-request-id"), Some(id.as_str()));
        assert!(server.log().iter().any(|line| line.contains(&id)), "the log knows {id}");
        assert!(ids.insert(id), "every request has a name of its own");
        let text = answer.text();
        for hidden in [folder.as_str(), "/tmp", "panicked", "src/", "stack backtrace"] {
            assert!(!text.contains(hidden), "{text}");
        }
    }
}

#[test]
fn n15_refusals_and_writes_are_in_the_log_and_no_text_is() {
    let (keys, made) = keys(&["scopes = [\"read\"]", "scopes = [\"read\", \"write\"]\ncollections = [\"docs-*\"]"]);
    let server = Server::with(|options| {
        options.access = Access { keys: keys.clone(), allow_write: true, ..Access::default() };
    });
    let fingerprints: Vec<String> = keys.iter().map(|key| key.fingerprint.clone()).collect();
    let (read, write) = (server.client().with_key(&made[0]), server.client().with_key(&made[1]));
    let document = |collection: &str| json!({ "name": "very-private-name.md", "text": "very private words", "collection": collection });
    read.post("/v1/documents", &document("docs-a")).is(403);
    write.post("/v1/documents", &document("other")).is(403);
    write.post("/v1/documents", &document("docs-a")).ok();
    server.client().get("/v1/status").is(401);
    write.post("/v1/query", &json!({ "text": "very private question" })).ok();
    write.get("/v1/documents/api%2Fvery-private-name.md").ok();
    let log = server.log();
    let line = |parts: &[&str]| log.iter().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(line(&[&fingerprints[0], "POST /v1/documents 403", "denied=forbidden"]), "{log:#?}");
    assert!(line(&[&fingerprints[1], "POST /v1/documents 200", "write collection=\"docs-a\""]), "{log:#?}");
    assert!(line(&["key=-", "/v1/status 401", "denied=unauthorized"]), "{log:#?}");
    assert!(line(&["GET /v1/documents/{id} 200"]), "{log:#?}");
    let all = log.join("\n");
    for hidden in ["private", &made[0], &made[1]] {
        assert!(!all.contains(hidden), "{hidden}: {all}");
    }
}

#[test]
fn a_key_of_some_collections_sees_those_alone() {
    let of_some = "collections = [\"open-*\"]";
    let writing = format!("scopes = [\"write\"]\n{of_some}");
    let (keys, made) = keys(&["scopes = [\"admin\"]", of_some, &writing]);
    let server = Server::with(|options| options.access.keys = keys);
    let (all, some) = (server.client().with_key(&made[0]), server.client().with_key(&made[1]));
    for (collection, name) in [("open-a", "quay.md"), ("open-b", "tide.md"), ("closed", "vault.md")] {
        let text = format!("{name} speaks of the secret word zanzibar in {collection}");
        all.post("/v1/documents", &json!({ "name": name, "text": text, "collection": collection })).ok();
    }
    let closed = all.post("/v1/list", &json!({ "collection": "closed" })).ok().json()["documents"][0].clone();
    let id = closed["source_id"].as_str().unwrap().to_owned();
    let shown = all.post("/v1/show", &json!({ "what": id })).ok().json();
    let chunk = shown["chunks"][0]["chunk_id"].as_str().unwrap().to_owned();
    let asked: Vec<(&str, Value)> = vec![
        ("/v1/query", json!({ "text": "zanzibar", "k": 50 })),
        ("/v1/query", json!({ "text": "zanzibar", "filter": "path:**", "duplicates": true })),
        ("/v1/query", json!({ "text": "zanzibar", "filter": "type:pdf) or (collection=\"closed\"" })),
        ("/v1/query", json!({ "text": "zanzibar", "collection": "closed" })),
        ("/v1/query", json!({ "text": "zanzibar", "min_score": 1.0 })),
        ("/v1/query", json!({ "like": [chunk] })),
        ("/v1/ask", json!({ "text": "what of zanzibar?" })),
        ("/v1/list", json!({})),
        ("/v1/list", json!({ "collection": "closed" })),
        ("/v1/status", json!({ "facets": true })),
        ("/v1/show", json!({ "what": id })),
        ("/v1/show", json!({ "what": chunk })),
        ("/v1/show", json!({ "what": "api/vault.md" })),
        ("/v1/why", json!({ "file": "api/vault.md" })),
        ("/v1/why-not", json!({ "text": "zanzibar", "file": id })),
        ("/v1/check", json!({ "answer": "Zanzibar [1].\n\nSources:\n[1] api/vault.md" })),
    ];
    for (route, body) in &asked {
        let answer = some.post(route, body);
        let text = answer.text().replace("\"file\":\"api/vault.md\"", "").replace("what of zanzibar?", "");
        for hidden in ["in closed", "vault.md speaks", "\"closed\"", "/vault.md\""] {
            // What the client said itself is repeated.
            let said = body.to_string().contains(hidden.trim_matches('"'));
            assert!(!text.contains(hidden) || said, "{route} {body}: {text}");
        }
        assert!(!text.contains("in closed"), "{route} {body}: {text}");
    }
    let seen = some.post("/v1/query", &json!({ "text": "zanzibar", "duplicates": true })).ok().json();
    assert_eq!(seen["results"].as_array().unwrap().len(), 2, "{seen}");
    let names: Vec<Value> = some.get("/v1/collections").ok().json()["collections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].clone())
        .collect();
    assert_eq!(names, ["open-a", "open-b"]);
    assert_eq!(some.get("/v1/status").ok().json()["sources"], 2);
    some.post("/mcp", &json!({})).is(403);
    // What somebody else began to write there is not there either.
    let begun = json!({ "root": "laptop", "settings": { "collection": "closed" } });
    let id = all.post("/v1/sync", &begun).ok().json()["id"].as_str().unwrap().to_owned();
    let writer = server.client().with_key(&made[2]);
    writer.post(&format!("/v1/sync/{id}/files"), &json!({ "files": [], "last": true })).is(404);
    writer.post(&format!("/v1/sync/{id}/finish"), &json!({})).is(404);
    writer.delete(&format!("/v1/sync/{id}")).is(404);
    all.delete(&format!("/v1/sync/{id}")).ok();
    let judged = json!({ "queries": [{ "id": "q", "text": "zanzibar" }], "qrels": { "q": { "api/quay.md": 1 } } });
    let chunks = |client: &super::http::Client| {
        client.post("/v1/eval", &judged).ok().json()["configurations"][0]["chunks"].as_u64().unwrap()
    };
    assert_eq!((chunks(&all), chunks(&some)), (3, 2));
}
