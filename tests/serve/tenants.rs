//! Several tenants behind one server: nobody ever sees a word of another's (N11, N12).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    http::{Answer, Client},
    process::{Process, home},
    server::{Server, keys, keys_file},
    smuggling::Random,
};

const TENANTS: usize = 8;

/// Documents of each tenant and rounds of asking: short here, long where RAG_TEST_LONG asks for it.
fn size() -> (usize, usize) {
    if std::env::var_os("RAG_TEST_LONG").is_some() { (2_000, 200) } else { (12, 40) }
}

/// Files of one upload.
const UPLOAD: usize = 250;

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

/// A server of tenants: the library's, or where RAG_TEST_BINARY names a program, that.
enum Place {
    Here(Server),
    Program(Process, #[expect(dead_code, reason = "the folder lives as long")] tempfile::TempDir),
}

impl Place {
    fn client(&self) -> Client {
        match self {
            Self::Here(server) => server.client(),
            Self::Program(process, _) => process.client.clone(),
        }
    }
}

/// Each word of a tenant holds its mark, so that any of them tells on whoever lets it out.
fn mark(tenant: usize) -> String {
    format!("zq{tenant}zq")
}

fn text(tenant: usize, n: usize) -> String {
    let m = mark(tenant);
    format!("# {m}head{n}\n\nthe {m}quay number {n} of {m}harbour keeps {m}secret{n} and the tide")
}

fn path(tenant: usize, n: usize) -> String {
    format!("api/{}-{n}.md", mark(tenant))
}

/// One tenant: its key, and which of its documents are there.
struct Tenant {
    number: usize,
    client: Client,
    held: BTreeSet<usize>,
    /// Documents that came by a job.
    more: u64,
}

impl Tenant {
    fn add(&mut self, n: usize) {
        let name = path(self.number, n).replace("api/", "");
        let body = json!({ "name": name, "text": text(self.number, n), "tags": { "who": mark(self.number) } });
        self.client.post("/v1/documents", &body).ok();
        self.held.insert(n);
    }

    fn fill(&mut self, documents: usize) {
        for from in (0..documents).step_by(UPLOAD) {
            let some = from..documents.min(from + UPLOAD);
            let file = |n| (path(self.number, n).replace("api/", ""), text(self.number, n));
            let report = self.client.upload(&some.clone().map(file).collect::<Vec<_>>()).ok().json();
            assert_eq!(report["added"].as_array().unwrap().len(), some.len(), "{report}");
            self.held.extend(some);
        }
        // One with a tag, for filters.
        self.add(0);
        self.client.tool("remember", &json!({ "content": format!("{}memory of the tide", mark(self.number)) }));
    }

    /// Ids of one of its documents and of its chunk.
    fn ids(&self, n: usize) -> Option<(String, String)> {
        let n = self.held.range(n..).next().or(self.held.first())?;
        let shown = self.client.post("/v1/show", &json!({ "what": path(self.number, *n) })).ok().json();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        Some((word(&shown["document"]["source_id"]), word(&shown["chunks"][0]["chunk_id"])))
    }
}

/// What one tenant asks about another's: routes, and tools of `/mcp` as `mcp:NAME`.
fn requests(other: usize, n: usize, ids: Option<(String, String)>) -> Vec<(&'static str, Value)> {
    let (exact, path, word) = (text(other, n), path(other, n), format!("{}quay", mark(other)));
    let saved = format!("{exact} [1].\n\nSources:\n[1] {path}");
    let judged = json!({ "queries": [{ "id": "q", "text": exact }], "qrels": { "q": { path.as_str(): 1 } } });
    let tagged = format!("tag.who={}", mark(other));
    let mut requests = vec![
        ("/v1/query", json!({ "text": exact, "mode": "hybrid", "k": 50 })),
        ("/v1/query", json!({ "text": exact, "mode": "lexical" })),
        ("/v1/query", json!({ "text": exact, "mode": "dense", "exact": true, "min_score": 0.0 })),
        ("/v1/query", json!({ "text": word, "filter": tagged })),
        ("/v1/ask", json!({ "text": exact })),
        ("/v1/show", json!({ "what": path })),
        ("/v1/why", json!({ "file": path })),
        ("/v1/why-not", json!({ "text": exact, "file": path })),
        ("/v1/rm", json!({ "what": [path], "dry_run": true })),
        ("/v1/list", json!({})),
        ("/v1/status", json!({ "facets": true })),
        ("/v1/chat/completions", json!({ "messages": [{ "role": "user", "content": exact }] })),
        ("/v1/check", json!({ "answer": saved })),
        ("/v1/eval", judged),
        ("mcp:search", json!({ "query": exact, "k": 20 })),
        ("mcp:ask", json!({ "question": exact })),
        ("mcp:get", json!({ "path": path })),
        ("mcp:list_sources", json!({ "filter": tagged })),
        ("mcp:list_sources", json!({})),
        ("mcp:status", json!({})),
        ("mcp:recall", json!({ "query": format!("{}memory of the tide", mark(other)) })),
        ("mcp:list_memories", json!({})),
        ("mcp:delete_source", json!({ "path": path })),
    ];
    if let Some((source, chunk)) = ids {
        requests.push(("/v1/query", json!({ "like": [chunk] })));
        requests.push(("/v1/show", json!({ "what": chunk })));
        requests.push(("/v1/show", json!({ "what": source })));
        requests.push(("/v1/rm", json!({ "what": [source], "dry_run": true })));
        requests.push(("mcp:neighbors", json!({ "id": chunk })));
        requests.push(("mcp:get", json!({ "id": source })));
    }
    requests
}

/// Whether an answer holds a word of anybody else's that its reader did not say: whole phrases of the request may be
/// repeated, and in what comes from an index nothing may.
fn leaks(who: usize, other: usize, n: usize, (route, body, answer): (&str, &Value, &Value)) -> bool {
    let asked = body.to_string();
    let quoted = |text: &str| serde_json::to_string(text).unwrap().trim_matches('"').to_owned();
    let mut said = answer.to_string();
    for own in
        [text(other, n), path(other, n), format!("{}quay", mark(other)), format!("{}memory of the tide", mark(other))]
    {
        if asked.contains(&quoted(&own)) {
            // As it is, and where a result of a tool is JSON within JSON.
            said = said.replace(&quoted(&own), "").replace(&quoted(&quoted(&own)), "");
        }
    }
    let of_index = match route {
        // Of `check` it is all the client's own words, and `eval` gives numbers.
        "/v1/check" | "/v1/eval" => String::new(),
        _ if route.starts_with("mcp:") => {
            let mut structure = answer["structuredContent"].clone();
            if let Some(structure) = structure.as_object_mut() {
                for field in ["query", "question", "notice"] {
                    structure.remove(field);
                }
            }
            structure.to_string()
        }
        // Answers for clients of OpenAI hold the whole of ours.
        _ => [answer, &answer["rag"]].iter().flat_map(|of| OF_INDEX.map(|field| of[field].to_string())).collect(),
    };
    (0..TENANTS).filter(|tenant| *tenant != who).any(|tenant| {
        let mark = mark(tenant);
        of_index.contains(&mark) || (said.contains(&mark) && !asked.contains(&mark))
    })
}

#[test]
fn n12_no_tenant_ever_sees_another_s_words() {
    let seed: u64 = std::env::var("RAG_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(12);
    let (documents, rounds) = size();
    println!("seed {seed}, {documents} documents of each tenant, {rounds} rounds");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tide.md"), "The tide is nobody's.").unwrap();
    let root = folder.path().canonicalize().unwrap();
    let entries: Vec<String> =
        (0..TENANTS).map(|n| format!("tenant = \"t{n}\"\nscopes = [\"read\", \"write\"]")).collect();
    let (file, made) = keys_file(&entries.iter().map(String::as_str).collect::<Vec<_>>());
    let place = match std::env::var_os("RAG_TEST_BINARY") {
        Some(_) => {
            let home = home();
            std::fs::write(home.path().join("keys.toml"), &file).unwrap();
            let root = root.display().to_string();
            let arguments =
                ["--allow-write", "--tenants", "tenants", "--keys-file", "keys.toml", "--ingest-root", &root];
            Place::Program(Process::start(home.path(), &arguments, &[]), home)
        }
        None => Place::Here(Server::with(|options| {
            options.access.keys = rag::serve::server::Keys::read(&file).unwrap();
            options.access.ingest_roots = vec![root.clone()];
            options.tenants = Some(options.index.with_file_name("tenants"));
        })),
    };
    let tenant = |(number, key): (usize, &String)| Tenant {
        number,
        client: place.client().with_key(key),
        held: BTreeSet::new(),
        more: 0,
    };
    let mut tenants: Vec<Tenant> = made.iter().enumerate().map(tenant).collect();
    tenants.iter_mut().for_each(|tenant| tenant.fill(documents));
    let mut random = Random(seed);
    let (mut asked, mut found) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for round in 0..rounds {
        let who = random.below(TENANTS);
        let other = (who + 1 + random.below(TENANTS - 1)) % TENANTS;
        // Interleaved changes: a document goes, one comes anew, files are merged, a folder is read.
        let n = random.below(documents);
        match random.below(4) {
            0 => {
                let body = json!({ "what": [path(other, n)], "purge": random.below(3) == 0 });
                tenants[other].client.post("/v1/rm", &body).ok();
                tenants[other].held.remove(&n);
            }
            1 => tenants[other].add(n),
            _ => {}
        }
        if round % 10 == 0 {
            let client = &tenants[other].client;
            let job = client.post("/v1/ingest", &json!({ "paths": [root.display().to_string()] })).is(202).json();
            let id = job["id"].as_str().unwrap();
            let [theirs, nobody_s] = [id, "999999"].map(|id| {
                let words = |answer: Answer| {
                    answer.is(404).text().replace(id, "").split("request_id").next().map(str::to_owned)
                };
                let client = &tenants[who].client;
                (words(client.get(&format!("/v1/ingest/{id}"))), words(client.delete(&format!("/v1/ingest/{id}"))))
            });
            assert_eq!(theirs, nobody_s);
            *asked.entry("/v1/ingest/{id}").or_default() += 2;
            let done = super::documents::finished(client, id);
            assert_eq!(done["state"], "done", "{done}");
            tenants[other].more = 1;
        }
        let ids = tenants[other].ids(n);
        let client = &tenants[who].client;
        for (route, body) in requests(other, n, ids.clone()) {
            *asked.entry(route).or_default() += 1;
            let answer = match route.strip_prefix("mcp:") {
                Some(tool) => client.tool(tool, &body),
                None => {
                    let answer = client.post(route, &body);
                    assert!(answer.status < 500, "{route} {body}: {}", answer.text());
                    answer.json()
                }
            };
            assert!(answer.is_object(), "{route} {body}: {answer}");
            if leaks(who, other, n, (route, &body, &answer)) {
                found.push(format!("round {round}: {who} saw of {other} by {route} {body}: {answer}"));
            }
        }
        // Not there and not yours sound alike.
        let words = |id: &str| {
            let answer = client.get(&format!("/v1/documents/{id}")).is(404).json();
            answer["error"]["message"].as_str().unwrap().replace(id, "")
        };
        let theirs = ids.map_or_else(|| "0000000000000".to_owned(), |(source, _)| source);
        assert_eq!(words(&theirs), words("0000000000001"));
    }
    let all: usize = asked.values().sum();
    println!("{all} requests, {} leaks: {asked:?}", found.len());
    assert!(found.is_empty(), "{found:#?}");
    assert!(all >= 604, "{all}");
    for tenant in &tenants {
        let status = tenant.client.get("/v1/status").ok().json();
        assert_eq!(status["sources"].as_u64().unwrap(), tenant.held.len() as u64 + tenant.more);
    }
}
