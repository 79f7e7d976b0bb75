//! A client's folder comes in over HTTP.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{http::Client, server::Server};

type Disk = BTreeMap<&'static str, &'static str>;

fn contents(files: &[(&str, &str)]) -> Vec<u8> {
    let file = |(path, text): &(&str, &str)| {
        format!("{}\n{text}", json!({ "path": path, "size": text.len(), "mtime_ns": 5, "ctime_ns": 6, "inode": 7 }))
    };
    files.iter().map(file).collect::<String>().into_bytes()
}

const KIND: [(&str, &str); 1] = [("content-type", "application/x-rag-contents")];

fn named(path: &str, text: &str, hash: bool) -> Value {
    let hash = hash.then(|| blake3::hash(text.as_bytes()).to_hex().to_string());
    json!({ "path": path, "size": text.len(), "mtime_ns": 5, "ctime_ns": 6, "inode": 7, "hash": hash })
}

/// The whole conversation. Gives what was sent, and the report.
fn sync(client: &Client, disk: &Disk, settings: Value) -> (Vec<String>, Value) {
    let begun = client.post("/v1/sync", &json!({ "root": "far", "settings": settings })).ok().json();
    let route = |act: &str| format!("/v1/sync/{}/{act}", begun["id"].as_str().unwrap());
    let files: Vec<Value> = disk.iter().map(|(path, text)| named(path, text, false)).collect();
    let wanted = client.post(&route("files"), &json!({ "files": files })).ok().json();
    let list = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let hashed: Vec<Value> = list(&wanted["hash"]).iter().map(|path| named(path, disk[path.as_str()], true)).collect();
    let more = client.post(&route("files"), &json!({ "files": hashed, "last": true })).ok().json();
    let sent: Vec<String> = [list(&wanted["send"]), list(&more["send"])].concat();
    if !sent.is_empty() {
        let files: Vec<(&str, &str)> = sent.iter().map(|path| (path.as_str(), disk[path.as_str()])).collect();
        let taken = client.send("POST", &route("contents"), &KIND, &contents(&files)).ok().json();
        assert_eq!(taken["files"], sent.len());
    }
    (sent, client.post(&route("finish"), &json!({})).ok().json())
}

fn paths(report: &Value, list: &str) -> Vec<String> {
    report[list].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_index_agrees_with_the_other_machine() {
    let server = Server::start();
    let client = server.client();
    let first = Disk::from([("a.md", "one quay"), ("b/c.md", "# Two\n\ntwo tides"), ("d.md", "three buoys")]);
    let (sent, report) = sync(&client, &first, json!({ "tags": { "from": "laptop" } }));
    assert_eq!(sent.len(), 3);
    assert_eq!(paths(&report, "added"), ["far/a.md", "far/b/c.md", "far/d.md"]);
    let (sent, report) = sync(&client, &first, json!({}));
    assert_eq!((sent.len(), &report["unchanged"]), (0, &json!(3)));
    let second = Disk::from([("a.md", "one quay more"), ("e/c.md", "# Two\n\ntwo tides")]);
    let (sent, report) = sync(&client, &second, json!({}));
    assert_eq!(sent, ["a.md"]);
    assert_eq!(
        (paths(&report, "updated"), paths(&report, "moved"), paths(&report, "removed")),
        (vec!["far/a.md".to_owned()], vec!["far/e/c.md".to_owned()], vec!["far/d.md".to_owned()],)
    );
    let listed = client.get("/v1/documents").ok().json();
    assert_eq!(paths(&listed, "documents"), ["far/a.md", "far/e/c.md"]);
    assert_eq!(listed["documents"][1]["tags"]["from"], "laptop");
    // A dry run asks for nothing and changes nothing.
    let third = Disk::from([("a.md", "one quay more"), ("new.md", "a bell")]);
    let (sent, report) = sync(&client, &third, json!({ "dry_run": true }));
    assert_eq!(
        (sent.len(), paths(&report, "added"), paths(&report, "removed")),
        (0, vec!["far/new.md".to_owned()], vec!["far/e/c.md".to_owned()])
    );
    assert_eq!(client.get("/v1/documents").ok().json()["documents"], listed["documents"]);
    // An empty folder may be a disk that is not mounted.
    let begun = client.post("/v1/sync", &json!({ "root": "far" })).ok().json();
    let id = begun["id"].as_str().unwrap();
    client.post(&format!("/v1/sync/{id}/finish"), &json!({})).is(400);
    client.post(&format!("/v1/sync/{id}/files"), &json!({ "files": [], "last": true })).ok();
    assert!(client.post(&format!("/v1/sync/{id}/finish"), &json!({})).is(400).text().contains("no file was named"));
    let (_, report) = sync(&client, &Disk::new(), json!({ "allow_empty": true }));
    assert_eq!(paths(&report, "removed"), ["far/a.md", "far/e/c.md"]);
}

#[test]
fn odd_contents_are_refused_and_change_nothing() {
    let server = Server::start();
    let client = server.client();
    let begun = client.post("/v1/sync", &json!({ "root": "far" })).ok().json();
    let route = format!("/v1/sync/{}/contents", begun["id"].as_str().unwrap());
    let whole = contents(&[("a.md", "one quay")]);
    for bad in [
        &b"no line at all"[..],
        b"{}\n",
        b"{\"path\":\"a.md\",\"size\":9,\"mtime_ns\":5}\nshort",
        b"{\"path\":\"../a.md\",\"size\":1,\"mtime_ns\":5}\nx",
        b"{\"path\":\"a.md\",\"size\":18446744073709551615,\"mtime_ns\":5}\nx",
        b"{\"path\":\"a.md\",\"size\":-1,\"mtime_ns\":5}\nx",
        b"\n",
        &whole[..whole.len() - 1],
        &[&whole[..], b"x"].concat(),
        &[b'x'; 40_000],
    ] {
        let refused = client.send("POST", &route, &KIND, bad);
        let shown = String::from_utf8_lossy(bad).chars().take(80).collect::<String>();
        assert!([400, 413].contains(&refused.status), "{shown}: {} {}", refused.status, refused.text());
    }
    client.post(&route, &json!({})).is(415);
    client.send("POST", "/v1/sync/nobody/contents", &KIND, &whole).is(404);
    assert_eq!(client.get("/v1/status").ok().json()["sources"], 0);
    for root in ["", ".", "..", "a/b", "x\u{0}", "\u{7}"] {
        client.post("/v1/sync", &json!({ "root": root })).is(400);
    }
    let files = json!({ "files": [{ "path": "/etc/passwd", "size": 1, "mtime_ns": 1 }] });
    client.post(&route.replace("contents", "files"), &files).is(400);
    assert_eq!(client.delete(&route.replace("/contents", "")).status, 200);
    client.send("POST", &route, &KIND, &whole).is(404);
}
