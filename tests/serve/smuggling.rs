//! Requests as nobody should send them.

use std::io::{Read as _, Write as _};

use super::server::Server;

/// A small generator of our own: the seed alone decides (splitmix64, Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }
}

/// Sends bytes, closes that side, and gives every status line that came.
fn statuses(server: &Server, bytes: &[u8]) -> Vec<u16> {
    let mut stream = server.client().connect().unwrap();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    text.match_indices("HTTP/1.1 ").filter_map(|(at, word)| text[at + word.len()..].get(..3)?.parse().ok()).collect()
}

#[test]
fn n07_two_lengths_are_none() {
    let server = Server::start();
    server.add("a.md", "the quay is closed");
    let post = "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let hidden = "GET /v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for head in [
        "content-length: 4\r\ncontent-length: 5\r\n",
        "content-length: +4\r\n",
        "content-length: 4, 5\r\n",
        "content-length: -1\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding : chunked\r\n",
        " transfer-encoding: chunked\r\n",
    ] {
        let answers = statuses(&server, format!("{post}{head}\r\nabcd{hidden}").as_bytes());
        assert!(answers.len() <= 1, "{head:?}: {answers:?}");
        assert!(answers.iter().all(|status| (400..500).contains(status)), "{head:?}: {answers:?}");
    }
    // With both, the chunks count, and what follows them is not read as a request of its own on a connection that lives on.
    let both = format!("{post}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n");
    assert!(statuses(&server, both.as_bytes()).iter().all(|status| (400..500).contains(status)));
    for chunks in
        ["zz\r\nab\r\n0\r\n\r\n", "-1\r\n", "ffffffffffffffff\r\nab", "2\r\nabc\r\n0\r\n\r\n", "2;x=\"\r\nab\r\n"]
    {
        let answers = statuses(&server, format!("{post}transfer-encoding: chunked\r\n\r\n{chunks}").as_bytes());
        assert!(answers.iter().all(|status| (400..500).contains(status)), "{chunks:?}: {answers:?}");
    }
}

#[test]
fn n07_odd_paths_lead_nowhere() {
    let server = Server::start();
    server.add("a.md", "the quay is closed");
    for path in [
        "/v1/documents/%00",
        "/v1/documents/a%00.md",
        "/v1/documents/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/v1/documents/..%2f..%2fetc%2fpasswd",
        "/v1/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/v1/documents/%ff%fe",
        "/v1/documents/%",
        "/v1/ingest/..%2f1",
        "http://evil.example/v1/status",
        "*",
    ] {
        let answers = statuses(&server, format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes());
        assert!(answers.iter().all(|status| (400..500).contains(status)), "{path}: {answers:?}");
    }
    let tunnel = statuses(&server, b"CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n");
    assert!(tunnel.iter().all(|status| (400..500).contains(status)), "{tunnel:?}");
}

#[test]
fn n07_no_bytes_are_a_fault_of_the_server() {
    let seed = std::env::var("RAG_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    println!("seed {seed}");
    let mut random = Random(seed);
    let server = Server::start();
    server.add("a.md", "the quay is closed");
    let good = b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{\"text\":\"quay\"}";
    for round in 0..300 {
        let mut bytes = good.to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
                1 => bytes.truncate(at + 1),
                2 => bytes.insert(at, u8::try_from(random.below(256)).unwrap()),
                _ => {
                    let part = bytes[at..].to_vec();
                    bytes.extend(part);
                }
            }
        }
        for status in statuses(&server, &bytes) {
            assert!(status < 500, "round {round} of seed {seed}: {status} to {:?}", String::from_utf8_lossy(&bytes));
        }
    }
    server.client().post("/v1/query", &serde_json::json!({ "text": "quay" })).ok();
}
