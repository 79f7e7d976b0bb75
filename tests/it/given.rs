//! What is not a file of the disk: standard input, and pages of the web.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::{Arc, Mutex},
};

use serde_json::Value;

use crate::house::{House, Ran};

fn piped(house: &House, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = house.command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input);
    Ran::from(child.wait_with_output().unwrap())
}

fn counts(report: &Value) -> (usize, usize, u64, usize) {
    let count = |list: &str| report[list].as_array().map_or(0, Vec::len);
    (count("added"), count("updated"), report["unchanged"].as_u64().unwrap(), count("failed"))
}

#[test]
fn standard_input_is_a_document() {
    let house = House::new();
    let ingest = |arguments: &[&str], input: &[u8]| {
        let arguments = [&["ingest", "-", "--json"], arguments].concat();
        piped(&house, &arguments, input).ok().json("rag.ingest/1")
    };
    let text = b"# Kingfisher\n\nThe kingfisher nests in the bank of the river.\n";
    let report = ingest(&["--name", "birds/notes.md"], text);
    assert_eq!(report["added"][0]["path"], "stdin/birds/notes.md");
    assert_eq!(counts(&ingest(&["--name", "birds/notes.md"], text)), (0, 0, 1, 0));
    let report = ingest(&["--name", "birds/notes.md"], b"# Heron\n\nThe heron stands in the shallows.\n");
    assert_eq!(counts(&report), (0, 1, 0, 0));

    // What it is taken for can be said.
    let page = b"<p>The <b>dipper</b> walks under water.</p>";
    ingest(&["--type", "html"], page);
    let hit = house.rag(["query", "dipper under water", "--json"]).ok().json("rag.query/1");
    assert_eq!(hit["results"][0]["path"], "stdin/text");
    assert_eq!(hit["results"][0]["text"], "The dipper walks under water.");

    // No walk calls it gone; a removal does.
    house.write("docs/a.md", "Another text.\n");
    house.rag(["ingest", "docs"]).ok();
    house.rag(["query", "heron shallows"]).ok();
    house.rag(["rm", "stdin/birds/notes.md"]).ok();
    house.rag(["query", "heron shallows", "--mode", "lexical"]).exits(1);
}

#[test]
fn standard_input_is_asked_for_rightly() {
    let house = House::new();
    for arguments in [
        &["ingest", "-", "--type", "nonsense"][..],
        &["ingest", "-", "--name", "../up.md"],
        &["ingest", "-", "--name", ""],
        &["ingest", "-", "--watch"],
        &["ingest", "-", "--max-file-size", "3"],
        &["ingest", ".", "--name", "x.md"],
    ] {
        let ran = piped(&house, arguments, b"some text");
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stderr);
        assert!(!house.path(".rag").exists(), "{arguments:?} leaves nothing behind");
    }
}

/// Answers that a test may change while it serves: path → (status line, headers, body).
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Vec<(String, String)>>>);

impl Pages {
    fn put(&self, path: &str, answer: String) {
        let mut pages = self.0.lock().unwrap();
        pages.retain(|(known, _)| known != path);
        pages.push((path.to_owned(), answer));
    }

    /// Serves on a loopback port for as long as the test lives. A request with the page's `ETag` gets a 304.
    fn serve(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let pages = self.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| pages.answer(stream)));
        port
    }

    fn answer(&self, mut stream: TcpStream) {
        let lines: Vec<String> = BufReader::new(stream.try_clone().unwrap())
            .lines()
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let pages = self.0.lock().unwrap();
        let answer = pages.iter().find(|(known, _)| known == path).map(|(_, answer)| answer.clone());
        let answer = answer.unwrap_or_else(|| "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned());
        let asked =
            lines.iter().find_map(|line| line.to_lowercase().strip_prefix("if-none-match: ").map(str::to_owned));
        let is_known = asked.is_some_and(|tag| answer.contains(&format!("ETag: {tag}\r\n")));
        let answer = if is_known { "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned() } else { answer };
        let _ = stream.write_all(answer.as_bytes());
    }
}

fn page(kind: &str, tag: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nETag: {tag}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

#[test]
fn a_page_is_fetched_and_fetched_again_only_when_it_changed() {
    let (house, pages) = (House::new(), Pages::default());
    let port = pages.serve();
    let url = format!("http://127.0.0.1:{port}/birds?page=1");
    pages.put("/birds?page=1", page("text/html", "\"one\"", "<h1>Birds</h1><p>The dipper walks under water.</p>"));
    let ingest = || house.rag(["ingest", &url, "--json"]);
    let report = ingest().ok().json("rag.ingest/1");
    assert_eq!(report["added"][0]["path"], url.as_str());
    let hit = house.rag(["query", "dipper", "--json"]).ok().json("rag.query/1");
    assert_eq!((&hit["results"][0]["path"], &hit["results"][0]["title"]), (&url.clone().into(), &"Birds".into()));

    let again = ingest().ok().json("rag.ingest/1");
    assert_eq!((counts(&again), &again["bytes_written"]), ((0, 0, 1, 0), &0.into()));
    pages.put("/birds?page=1", page("text/html", "\"two\"", "<h1>Birds</h1><p>The wren sings.</p>"));
    assert_eq!(counts(&ingest().ok().json("rag.ingest/1")), (0, 1, 0, 0));

    // A page that is gone fails, and its text stays until it is removed.
    pages.put("/birds?page=1", "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n".to_owned());
    let report = ingest().exits(3).json("rag.ingest/1");
    assert_eq!(report["failed"][0]["problems"][0]["reason"], "http_410");
    house.rag(["query", "wren"]).ok();
    house.write("docs/a.md", "Another text.\n");
    house.rag(["ingest", "docs"]).ok();
    house.rag(["query", "wren"]).ok();
    house.rag(["rm", &url]).ok();
    house.rag(["query", "wren", "--mode", "lexical"]).exits(1);
}

#[test]
fn redirects_are_looked_at() {
    let (house, pages) = (House::new(), Pages::default());
    let port = pages.serve();
    pages.put("/text", page("text/plain; charset=windows-1252", "\"x\"", "The dipper walks under water."));
    pages.put("/near", redirect("/text"));
    pages.put("/loop", redirect("/loop"));
    pages.put("/file", redirect("file:///etc/passwd"));
    // Another name for this machine: no public address, and not what was typed.
    pages.put("/inside", redirect(&format!("http://localhost:{port}/text")));
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let report = house.rag(["ingest", &url("/near"), "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["added"][0]["path"], url("/near").as_str(), "known by the address that was asked for");
    for (path, reason) in
        [("/loop", "redirect"), ("/file", "redirect"), ("/inside", "redirect"), ("/nowhere", "http_404")]
    {
        let report = house.rag(["ingest", &url(path), "--json"]).exits(3).json("rag.ingest/1");
        assert_eq!(report["failed"][0]["problems"][0]["reason"], reason, "{path}");
    }
    let report = house.rag(["ingest", &url("/text"), "--max-file-size", "5", "--json"]).exits(3).json("rag.ingest/1");
    assert_eq!(report["failed"][0]["problems"][0]["reason"], "too_large");
    let unreachable = house.rag(["ingest", "http://127.0.0.1:1/x", "--json"]).exits(3).json("rag.ingest/1");
    assert_eq!(unreachable["failed"][0]["problems"][0]["reason"], "unreachable");
    let error = house.rag(["ingest", "https://user:secret@127.0.0.1/"]).exits(2).stderr;
    assert!(!error.contains("secret"), "{error}");
}
