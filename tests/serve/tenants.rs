//! Several tenants behind one server: nobody ever sees a word of another's (N11, N12).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    server::{Server, keys},
    smuggling::Random,
};

const TENANTS: usize = 8;

/// Documents of each tenant and rounds of asking: short here, long where RAG_TEST_LONG asks for it.
fn size() -> (usize, usize) {
    if std::env::var_os("RAG_TEST_LONG").is_some() { (400, 200) } else { (12, 40) }
}

#[test]
fn n11_the_tenant_is_the_key_s_and_nothing_in_a_request_changes_it() {
    let entries = [
        "tenant = \"acme\"\nscopes = [\"read\", \"write\"]",
        "tenant = \"other\"\nscopes = [\"admin\"]",
        "scopes = [\"admin\"]",
    ];
    let (keys, made) = keys(&entries);
    let server = Server::with(|options| {
        options.access.keys = keys;
        options.tenants = Some(options.index.with_file_name("tenants"));
    });
    let [acme, other, own] = [0, 1, 2].map(|at| server.client().with_key(&made[at]));
    acme.post("/v1/documents", &json!({ "name": "a.md", "text": "acme keeps a quay" })).ok();
    // A tenant without an index has none; the others are not shown in its place.
    other.get("/v1/status").is(404);
    own.get("/v1/status").is(404);
    for headers in [[("x-tenant", "acme")], [("tenant", "acme")], [("x-forwarded-user", "acme")]] {
        assert_eq!(other.send("GET", "/v1/status?tenant=acme", &headers, b"").status, 404);
    }
    other.post("/v1/query", &json!({ "text": "quay", "tenant": "acme" })).is(400);
    assert_eq!(acme.get("/v1/status").ok().json()["index"], "acme");
    // Counts are the server's; a tenant's admin does not get them.
    other.get("/metrics").is(403);
    own.get("/metrics").ok();
    assert!(server.dir.path().join("tenants/acme/FORMAT").is_file());
    let begun = acme.post("/v1/sync", &json!({ "root": "far" })).ok().json();
    other.post(&format!("/v1/sync/{}/files", begun["id"].as_str().unwrap()), &json!({ "files": [] })).is(404);
}

/// Fields of answers that hold what an index says.
const OF_INDEX: [&str; 11] = [
    "results",
    "near_miss",
    "answer",
    "sentences",
    "sources",
    "document",
    "documents",
    "chunks",
    "removed",
    "choices",
    "best",
];

#[test]
fn n12_no_tenant_ever_sees_another_s_words() {
    let seed: u64 = std::env::var("RAG_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(12);
    let (documents, rounds) = size();
    println!("seed {seed}, {documents} documents of each tenant, {rounds} rounds");
    let entries: Vec<String> =
        (0..TENANTS).map(|n| format!("tenant = \"t{n}\"\nscopes = [\"read\", \"write\"]")).collect();
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let (keys, made) = keys(&entries);
    let server = Server::with(|options| {
        options.access.keys = keys;
        options.tenants = Some(options.index.with_file_name("tenants"));
    });
    let clients: Vec<_> = made.iter().map(|key| server.client().with_key(key)).collect();
    // Each word of a tenant holds its mark, so that any of them tells on whoever lets it out.
    let mark = |tenant: usize| format!("zq{tenant}zq");
    let text = |tenant: usize, n: usize| {
        let m = mark(tenant);
        format!("# {m}head{n}\n\nthe {m}quay number {n} of {m}harbour keeps {m}secret{n} and the tide")
    };
    let mut held: Vec<BTreeMap<usize, (String, String)>> = vec![BTreeMap::new(); TENANTS];
    let add = |tenant: usize, n: usize| {
        let body = json!({ "name": format!("{}-{n}.md", mark(tenant)), "text": text(tenant, n), "tags": { "who": mark(tenant) } });
        clients[tenant].post("/v1/documents", &body).ok();
        let path = format!("api/{}-{n}.md", mark(tenant));
        let shown = clients[tenant].post("/v1/show", &json!({ "what": path })).ok().json();
        (
            shown["document"]["source_id"].as_str().unwrap().to_owned(),
            shown["chunks"][0]["chunk_id"].as_str().unwrap().to_owned(),
        )
    };
    for n in 0..documents {
        for (tenant, own) in held.iter_mut().enumerate() {
            own.insert(n, add(tenant, n));
        }
    }
    let mut random = Random(seed);
    let (mut asked, mut leaks) = (0, Vec::new());
    for round in 0..rounds {
        let who = random.below(TENANTS);
        let other = (who + 1 + random.below(TENANTS - 1)) % TENANTS;
        // Interleaved changes: a document goes, one comes anew, files are merged.
        let n = random.below(documents);
        match random.below(4) {
            0 => {
                let path = format!("api/{}-{n}.md", mark(other));
                clients[other].post("/v1/rm", &json!({ "what": [path], "purge": random.below(3) == 0 })).ok();
                held[other].remove(&n);
            }
            1 => {
                held[other].insert(n, add(other, n));
            }
            _ => {}
        }
        let (source, chunk) = held[other].values().next().cloned().unwrap_or_default();
        let exact = text(other, n);
        let path = format!("api/{}-{n}.md", mark(other));
        let mut requests: Vec<(&str, Value)> = vec![
            ("/v1/query", json!({ "text": exact, "mode": "hybrid", "k": 50 })),
            ("/v1/query", json!({ "text": exact, "mode": "lexical" })),
            ("/v1/query", json!({ "text": exact, "mode": "dense", "exact": true, "min_score": 0.0 })),
            (
                "/v1/query",
                json!({ "text": format!("{}quay", mark(other)), "filter": format!("tag.who={}", mark(other)) }),
            ),
            ("/v1/ask", json!({ "text": exact })),
            ("/v1/show", json!({ "what": path })),
            ("/v1/why", json!({ "file": path })),
            ("/v1/why-not", json!({ "text": exact, "file": path })),
            ("/v1/rm", json!({ "what": [path], "dry_run": true })),
            ("/v1/list", json!({})),
            ("/v1/status", json!({ "facets": true })),
            ("/v1/chat/completions", json!({ "messages": [{ "role": "user", "content": exact }] })),
            ("/v1/check", json!({ "answer": format!("{exact} [1].\n\nSources:\n[1] {path}") })),
        ];
        if !chunk.is_empty() {
            requests.push(("/v1/query", json!({ "like": [chunk] })));
            requests.push(("/v1/show", json!({ "what": chunk })));
            requests.push(("/v1/show", json!({ "what": source })));
            requests.push(("/v1/rm", json!({ "what": [source], "dry_run": true })));
        }
        for (route, body) in requests {
            asked += 1;
            let answer = clients[who].post(route, &body);
            assert!(answer.status < 500, "{route} {body}: {}", answer.text());
            let mut said = answer.text();
            // What the client said itself may be repeated to it: the question, whole.
            for own in [exact.as_str(), path.as_str(), &format!("{}quay", mark(other)), &mark(other)] {
                if body.to_string().contains(serde_json::to_string(own).unwrap().trim_matches('"'))
                    && own != mark(other)
                {
                    said = said.replace(serde_json::to_string(own).unwrap().trim_matches('"'), "");
                }
            }
            // What comes from an index, whatever the client said. Of `check` it is all the client's own words.
            let read = answer.json();
            let of_index = match route {
                "/v1/check" => String::new(),
                // Answers for clients of OpenAI hold the whole of ours.
                _ => [&read, &read["rag"]].iter().flat_map(|of| OF_INDEX.map(|field| of[field].to_string())).collect(),
            };
            let is_leak = (0..TENANTS).filter(|tenant| *tenant != who).any(|tenant| {
                let mark = mark(tenant);
                of_index.contains(&mark) || (said.contains(&mark) && !body.to_string().contains(&mark))
            });
            if is_leak {
                leaks.push(format!("round {round}: {who} saw of {other} by {route} {body}: {}", answer.text()));
            }
        }
        // Not there and not yours sound alike.
        let (yours, nobodys) = (
            clients[who]
                .get(&format!("/v1/documents/{}", if source.is_empty() { "0000000000000" } else { &source }))
                .is(404),
            clients[who].get("/v1/documents/0000000000001").is(404),
        );
        let words =
            |answer: super::http::Answer, id: &str| answer.json()["error"]["message"].as_str().unwrap().replace(id, "");
        let source = if source.is_empty() { "0000000000000" } else { &source };
        assert_eq!(words(yours, source), words(nobodys, "0000000000001"));
    }
    println!("{asked} requests, {} leaks", leaks.len());
    assert!(leaks.is_empty(), "{leaks:#?}");
    for (tenant, client) in clients.iter().enumerate() {
        assert_eq!(client.get("/v1/status").ok().json()["sources"], held[tenant].len());
    }
}
