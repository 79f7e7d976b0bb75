//! `rag proxy` as a process: killed, started twice, watched for keys.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    behind::{Behind, Reply, chat},
    house::{Got, and, got, new_client, question},
};

const CANARY: &str = "sk-canary-0123456789abcdef";

/// A running `rag proxy`. Killed when it is dropped.
struct Program {
    child: Child,
    url: String,
}

fn rag(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rag"));
    command
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null());
    command
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    rag(dir, arguments).output().unwrap()
}

impl Program {
    fn start(dir: &Path, upstream: &str, more: &[&str]) -> Self {
        let arguments =
            [&["proxy", "--json", "--listen", "127.0.0.1:0", "--cache-dir", "cache", "--upstream", upstream], more];
        let mut command = rag(dir, &arguments.concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).env("RAG_LLM_API_KEY", CANARY);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut errors = String::new();
            let _ = child.stderr.as_mut().unwrap().read_to_string(&mut errors);
            panic!("{error}: {line} {errors}")
        });
        assert_eq!(ready["schema"], "rag.proxy.ready/1");
        Self { url: ready["url"].as_str().unwrap().to_owned(), child }
    }

    async fn ask(&self, path: &str, key: &str, body: &Value) -> Got {
        got(new_client()
            .post(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {key}"))
            .json(body))
        .await
    }

    async fn chat(&self, text: &str) -> Got {
        self.ask("/chat/completions", CANARY, &question(text)).await
    }

    /// SIGKILL, at once.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; gives the exit code and what was said.
    #[cfg(unix)]
    fn end(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut said = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn n14_the_proxy_speaks_tls() {
    let dir = tempfile::tempdir().unwrap();
    let behind = Behind::chatting();
    let file = |name: &str| format!("{}/tests/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let flags = ["--tls-cert", &file("cert.pem"), "--tls-key", &file("key.pem")];
    let program = Program::start(dir.path(), &behind.url, &flags);
    assert!(program.url.starts_with("https://127.0.0.1:"), "{}", program.url);
    let authority = reqwest::Certificate::from_pem(&std::fs::read(file("ca.pem")).unwrap()).unwrap();
    let trusting = rag::model::http::client(false, true, Duration::from_secs(5), |builder| {
        builder.tls_certs_merge([authority.clone()])
    });
    let trusting = trusting.unwrap();
    for want in ["miss", "hit"] {
        let ask = trusting.post(format!("{}/chat/completions", program.url)).json(&question("over TLS"));
        assert_eq!(got(ask).await.cache(), want);
    }
    // Who does not know the authority, or speaks no TLS, is told nothing.
    let ask = |url: String| new_client().post(url + "/chat/completions").json(&question("over TLS")).send();
    assert!(ask(program.url.clone()).await.is_err());
    assert!(ask(program.url.replace("https", "http")).await.is_err());
    assert_eq!(behind.calls(), 1);
    drop(program);
    let half =
        rag(dir.path(), &["proxy", "--upstream", &behind.url, "--tls-cert", &file("cert.pem")]).output().unwrap();
    assert_eq!(half.status.code(), Some(2));
}

#[tokio::test]
async fn hits_survive_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let behind = Behind::chatting();
    let mut texts = Vec::new();
    for round in 0..5 {
        let program = Program::start(dir.path(), &behind.url, &[]);
        for (at, text) in texts.iter().enumerate() {
            let got = program.chat(&format!("question {at}")).await;
            assert_eq!((got.cache(), &got.text()), ("hit", text), "round {round}: {at}");
        }
        for _ in 0..3 {
            let number = texts.len();
            let streams = and(question(&format!("question {number}")), json!({"stream": number % 2 == 0}));
            texts.push(program.ask("/chat/completions", CANARY, &streams).await.text());
        }
        // The last answer was heard to its end a moment ago, and nothing else is waited for.
        program.kill();
    }
    assert_eq!(behind.calls(), 15);
}

#[tokio::test]
async fn a_client_that_has_read_done_can_count_on_it() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let behind = Behind::chatting();
    for round in 0..10 {
        let program = Program::start(dir.path(), &behind.url, &[]);
        let body = and(question(&format!("round {round}")), json!({"stream": true})).to_string();
        let address = program.url.trim_start_matches("http://").trim_end_matches("/v1");
        let mut socket = std::net::TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(socket, "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nauthorization: Bearer {CANARY}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut heard = Vec::new();
        let mut buffer = [0; 64];
        while !heard.windows(6).any(|six| six == b"[DONE]") {
            let read = socket.read(&mut buffer).unwrap();
            assert!(read > 0);
            heard.extend_from_slice(&buffer[..read]);
        }
        program.kill();
        let program = Program::start(dir.path(), &behind.url, &[]);
        let again = and(question(&format!("round {round}")), json!({"stream": true}));
        assert_eq!(program.ask("/chat/completions", CANARY, &again).await.cache(), "hit", "round {round}");
        program.kill();
    }
}

#[tokio::test]
async fn a_damaged_cache_is_set_aside_with_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let behind = Behind::chatting();
    let program = Program::start(dir.path(), &behind.url, &[]);
    program.chat("hi").await;
    let (code, said) = program.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    std::fs::write(dir.path().join("cache/cache.redb"), b"not a database".repeat(500)).unwrap();
    // Who only looks leaves it where it is.
    for verb in ["stats", "purge"] {
        let refused = run(dir.path(), &["cache", verb, "--cache-dir", "cache"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(7) && said.contains("is damaged") && said.contains("hint:"), "{said}");
    }
    assert!(!dir.path().join("cache/cache.redb.damaged-1").exists());
    let program = Program::start(dir.path(), &behind.url, &[]);
    assert_eq!(program.chat("hi").await.cache(), "miss");
    assert_eq!(program.chat("hi").await.cache(), "hit");
    let (code, said) = program.end();
    assert_eq!(code, Some(0));
    assert!(said.contains("warning: the cache was damaged") && said.contains("cache.redb.damaged-1"), "{said}");
    assert!(dir.path().join("cache/cache.redb.damaged-1").exists());
}

#[tokio::test]
async fn one_process_owns_a_cache_and_others_ask_it() {
    let dir = tempfile::tempdir().unwrap();
    let behind = Behind::chatting();
    let program = Program::start(dir.path(), &behind.url, &[]);
    program.chat("one").await;
    program.chat("one").await;
    program.chat("two").await;
    let second =
        run(dir.path(), &["proxy", "--listen", "127.0.0.1:0", "--cache-dir", "cache", "--upstream", &behind.url]);
    assert_eq!(second.status.code(), Some(6));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains(&format!("process {}", program.child.id())), "{said}");
    assert!(said.contains(program.url.trim_end_matches("/v1")), "{said}");

    let stats = |running: bool| {
        let output = run(dir.path(), &["cache", "stats", "--cache-dir", "cache", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let stats: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&stats["schema"], &stats["running"]), (&json!("rag.proxy.stats/1"), &json!(running)));
        stats
    };
    assert_eq!(stats(true)["hits"], 1);
    assert_eq!(stats(true)["cache"]["entries"], 2);
    let text = run(dir.path(), &["cache", "stats", "--cache-dir", "cache"]);
    assert!(
        String::from_utf8_lossy(&text.stdout).contains("holds      2 entries"),
        "{}",
        String::from_utf8_lossy(&text.stdout)
    );
    let purged = run(dir.path(), &["cache", "purge", "--cache-dir", "cache", "--older-than", "1h"]);
    assert_eq!(String::from_utf8_lossy(&purged.stdout), "purged 0 entries\n");
    program.kill();

    assert_eq!(stats(false)["cache"]["entries"], 2);
    let purged = run(dir.path(), &["cache", "purge", "--cache-dir", "cache"]);
    assert_eq!(
        (purged.status.code(), String::from_utf8_lossy(&purged.stdout).as_ref()),
        (Some(0), "purged 2 entries\n")
    );
    assert_eq!(stats(false)["cache"]["entries"], 0);
    let program = Program::start(dir.path(), &behind.url, &[]);
    assert_eq!(program.chat("one").await.cache(), "miss");
}

fn files(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn k02_no_key_is_written_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    // A server that repeats the key it was given, in an error and in an answer that is no error.
    let behind = Behind::start(|heard| {
        let given =
            heard.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        match heard.json()["messages"][0]["content"].as_str() {
            Some("fail") => Reply::of(
                401,
                "application/json",
                vec![format!("{{\"error\": {{\"message\": \"wrong key {given}\"}}}}")],
            ),
            _ => Reply::json(&chat("hi")),
        }
    });
    let program = Program::start(dir.path(), &behind.url, &["--own-key"]);
    for text in ["hi", "fail", "hi"] {
        program.chat(text).await;
        // Without a key of its own: the operator's is lent, and never shown.
        let got = got(new_client().post(format!("{}/chat/completions", program.url)).json(&question(text))).await;
        assert_eq!(got.status, if text == "fail" { 401 } else { 200 });
    }
    assert_eq!(behind.heard()[1].headers["authorization"], format!("Bearer {CANARY}"));
    let vectors = json!({"model": "e", "input": "text"});
    program.ask("/embeddings", CANARY, &vectors).await;
    let stats = got(new_client().get(program.url.replace("/v1", "/stats"))).await;
    assert!(!String::from_utf8(stats.bytes()).unwrap().contains("canary"));
    let look = |when: &str| {
        let mut seen = 0;
        for path in files(&dir.path().join("cache")) {
            let bytes = std::fs::read(&path).unwrap();
            seen += bytes.len();
            assert!(!bytes.windows(12).any(|part| part == &CANARY.as_bytes()[..12]), "{when}: {}", path.display());
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
            }
        }
        assert!(seen > 1000, "there are files to look at");
    };
    look("while it runs");
    let (code, said) = program.end();
    assert_eq!(code, Some(0));
    assert!(!said.contains("canary"), "{said}");
    look("afterwards");
}

#[test]
fn n01_the_program_refuses_to_be_open() {
    let dir = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = run(dir.path(), &["proxy", "--listen", address, "--upstream", "http://127.0.0.1:9/v1"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("--insecure") && said.contains("RAG_PROXY_API_KEY"), "{said}");
    }
    for (arguments, word) in [
        (&["proxy"][..], "--upstream"),
        (&["proxy", "--upstream", "http://192.0.2.1/v1"], "unencrypted"),
        (&["proxy", "--upstream", "https://me:canary@host/v1"], "user name or a password"),
        (&["proxy", "--upstream", "nonsense"], "neither `http://`"),
        (&["proxy", "--upstream", "http://127.0.0.1:9", "--own-key"], "RAG_LLM_API_KEY"),
        (&["proxy", "--upstream", "http://127.0.0.1:9", "--semantic", "7"], "similarity"),
        (&["proxy", "--upstream", "http://127.0.0.1:9", "--ttl", "0"], "a second at least"),
    ] {
        let refused = run(
            dir.path(),
            &[arguments, if arguments.len() > 1 { &["--listen", "127.0.0.1:0"][..] } else { &[] }].concat(),
        );
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(word) && !said.contains("canary"), "{arguments:?}: {said}");
    }
}

#[tokio::test]
#[cfg(feature = "onnx")]
async fn questions_by_meaning_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let behind = Behind::chatting();
    let more = ["--semantic", "0.9"];
    let program = Program::start(dir.path(), &behind.url, &more);
    assert_eq!(program.chat("How do I reset my password?").await.cache(), "miss");
    program.kill();
    let program = Program::start(dir.path(), &behind.url, &more);
    let got = program.chat("How can I reset my password?").await;
    assert_eq!(got.cache(), "hit");
    assert!(got.header("x-rag-similarity").unwrap().parse::<f32>().unwrap() > 0.9);
    assert_eq!(program.chat("How can I reset my password 2?").await.cache(), "miss");
    program.kill();
    // Without the flag only the same words are the same.
    let program = Program::start(dir.path(), &behind.url, &[]);
    assert_eq!(program.chat("How could I reset my password?").await.cache(), "miss");
}
