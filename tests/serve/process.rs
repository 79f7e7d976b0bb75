//! The program itself: what it refuses before it listens, how it ends, what a kill leaves.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};

use super::http::{Answer, Client, read};

/// `rag` in a folder of its own, without the machine's settings.
pub fn command(home: &Path) -> Command {
    // RAG_TEST_BINARY: another build of the same program, for the long forms of tests.
    let program = std::env::var_os("RAG_TEST_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_rag").into());
    let mut command = Command::new(program);
    command.current_dir(home).stdin(Stdio::null()).env_clear();
    command.env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

pub fn home() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("rag-serve-it-").tempdir().unwrap()
}

pub fn samples(home: &Path) {
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sample-docs");
    let to = home.join("sample-docs");
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    ok(command(home).args(["ingest", "sample-docs", "--quiet"]).output().unwrap());
}

fn ok(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A server of its own, ended by its pid when this goes.
pub struct Process {
    child: Child,
    pub client: Client,
    pub socket: Option<PathBuf>,
}

impl Process {
    /// Starts `rag serve --listen 127.0.0.1:0 …` and waits for it to say where it listens.
    pub fn start(home: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_at(home, "127.0.0.1:0", arguments, variables)
    }

    pub fn start_at(home: &Path, address: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::run(command(home), home, address, arguments, variables)
    }

    /// With a limit of the system, as `ulimit` sets it.
    #[cfg(unix)]
    fn limited(home: &Path, limit: &str) -> Self {
        let program = command(home);
        let mut shell = Command::new("sh");
        shell.current_dir(home).stdin(Stdio::null()).env_clear().env("HOME", home);
        shell.arg("-c").arg(format!("ulimit {limit}; exec \"$0\" \"$@\"")).arg(program.get_program());
        Self::run(shell, home, "127.0.0.1:0", &[], &[])
    }

    fn run(mut command: Command, home: &Path, address: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        command.args(["serve", "--json", "--listen", address]).args(arguments).envs(variables.iter().copied());
        Self::of(command, home)
    }

    /// Starts this command, which is a server's.
    fn of(mut command: Command, home: &Path) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("no server: {said}");
        }
        // The log must not fill its pipe.
        let mut err = child.stderr.take().unwrap();
        std::thread::spawn(move || std::io::copy(&mut err, &mut std::io::sink()));
        let told: Value = serde_json::from_str(&line).unwrap();
        let url = told["url"].as_str().unwrap();
        let address = url.rsplit('/').next().unwrap().parse().unwrap();
        let socket = told["socket"].as_str().map(|path| home.join(path));
        Self { child, client: Client::new(address), socket }
    }

    #[cfg(unix)]
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn refused(home: &Path, arguments: &[&str]) -> String {
    let output = command(home).arg("serve").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(!said.contains("listening on"), "{said}");
    said
}

/// As many clients as there are handles, and more: who comes after them is answered.
#[cfg(unix)]
#[test]
fn cr08_a_server_with_few_handles_goes_on() {
    let home = home();
    samples(home.path());
    let script = "ulimit -n 64; exec \"$0\" serve --json --listen 127.0.0.1:0";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(command(home.path()).get_program()).current_dir(home.path()).stdin(Stdio::null());
    shell.env_clear().env("HOME", home.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let mut server = Process::of(shell, home.path());
    server.client.get("/health").ok();
    let crowd: Vec<_> = (0..200).map_while(|_| server.client.connect().ok()).collect();
    assert!(crowd.len() > 64, "{} came in", crowd.len());
    drop(crowd);
    server.client.get("/health").ok();
    server.client.post("/v1/query", &json!({"text": "shaft seal"})).ok();
    assert!(server.child.try_wait().unwrap().is_none());
    drop(server);
    ok(command(home.path()).arg("verify").output().unwrap());
}

#[test]
fn n01_nobody_from_outside_without_a_key() {
    let home = home();
    samples(home.path());
    for address in ["0.0.0.0:0", "[::]:0", "0.0.0.0", "[::ffff:0.0.0.0]:0"] {
        let said = refused(home.path(), &["--listen", address]);
        assert!(said.contains("RAG_API_KEY"), "{said}");
    }
    // An address of this machine that is not loopback, if it has one: found without sending anything.
    let outside = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    match outside.map(|address| address.ip()) {
        Ok(ip) if !ip.is_loopback() && !ip.is_unspecified() => {
            refused(home.path(), &["--listen", &format!("{ip}:0")]);
        }
        _ => eprintln!("left out: this machine has no address but loopback"),
    }
    refused(home.path(), &["--listen", "not a host"]);
    refused(home.path(), &["--cors-origin", "*"]);
    refused(home.path(), &["--keys-file", "nothing.toml"]);
    refused(home.path(), &["--ingest-root", "."]);
    refused(home.path(), &["--index", "nowhere"]);
    let open = Process::start_at(home.path(), "0.0.0.0:0", &[], &[("RAG_API_KEY", "a-key-of-some-length")]);
    let local = |server: &Process| Client::new(([127, 0, 0, 1], server.client.address.port()).into());
    local(&open).get("/v1/status").is(401);
    local(&open).with_key("a-key-of-some-length").get("/v1/status").ok();
    drop(open);
    let insecure = Process::start_at(home.path(), "0.0.0.0:0", &["--insecure"], &[]);
    local(&insecure).get("/v1/status").ok();
}

#[test]
fn a_key_is_made_and_works() {
    let home = home();
    samples(home.path());
    let made = ok(command(home.path()).args(["serve", "--new-key", "ci", "--json"]).output().unwrap());
    let made: Value = serde_json::from_str(&made).unwrap();
    let file = ok(command(home.path()).args(["serve", "--new-key", "web \"x\""]).output().unwrap());
    let key = file.split_whitespace().find(|word| word.starts_with("rag-")).unwrap().to_owned();
    let entry = format!("[[key]]\nname = \"ci\"\nhash = {}\n", made["hash"]);
    std::fs::write(home.path().join("keys.toml"), entry + &file).unwrap();
    let server = Process::start(home.path(), &["--keys-file", "keys.toml"], &[]);
    server.client.get("/v1/status").is(401);
    server.client.with_key(&key).get("/v1/status").ok();
    server.client.with_key(made["key"].as_str().unwrap()).get("/v1/status").ok();
}

/// Without the times that differ from run to run.
fn untimed(mut value: Value) -> Value {
    for field in ["timing_ms", "embedder"] {
        if let Some(object) = value.as_object_mut() {
            object.remove(field);
        }
    }
    value
}

#[test]
fn the_server_says_what_the_command_says() {
    let home = home();
    samples(home.path());
    let server = Process::start(home.path(), &[], &[]);
    let cases: &[(&[&str], &str, Value)] = &[
        (&["query", "how are refunds handled"], "/v1/query", json!({ "text": "how are refunds handled" })),
        (
            &["query", "refunds", "-k", "3", "--mode", "lexical", "--explain", "--context", "1"],
            "/v1/query",
            json!({ "text": "refunds", "k": 3, "mode": "lexical", "explain": true, "context": 1 }),
        ),
        (
            &["query", "pump", "--filter", "type:pdf", "--mmr", "0.5", "--fusion", "rrf", "--min-score", "0.1"],
            "/v1/query",
            json!({ "text": "pump", "filter": "type:pdf", "mmr": 0.5, "fusion": "rrf", "min_score": 0.1 }),
        ),
        (&["ask", "how long do refunds take?"], "/v1/ask", json!({ "text": "how long do refunds take?" })),
        (&["ask", "what is the capital of Mars?"], "/v1/ask", json!({ "text": "what is the capital of Mars?" })),
        (&["show", "sample-docs/faq.html"], "/v1/show", json!({ "what": "sample-docs/faq.html" })),
        (&["status", "--facets"], "/v1/status", json!({ "facets": true })),
        (&["why", "sample-docs/faq.html"], "/v1/why", json!({ "file": "sample-docs/faq.html" })),
        (
            &["why-not", "refunds", "sample-docs/faq.html"],
            "/v1/why-not",
            json!({ "text": "refunds", "file": "sample-docs/faq.html" }),
        ),
    ];
    for (arguments, route, body) in cases {
        let local = command(home.path()).args(*arguments).arg("--json").output().unwrap();
        let local: Value = serde_json::from_slice(&local.stdout).unwrap();
        let remote = server.client.post(route, body).ok().json();
        assert_eq!(untimed(local), untimed(remote), "{arguments:?}");
    }
    let local = command(home.path()).args(["list", "--json"]).output().unwrap();
    let local: Value = serde_json::from_slice(&local.stdout).unwrap();
    assert_eq!(local["documents"], server.client.get("/v1/documents").ok().json()["documents"]);
    // What another process commits is seen at once.
    std::fs::write(home.path().join("sample-docs/new.md"), "The zebra crosses at noon.").unwrap();
    ok(command(home.path()).args(["ingest", "sample-docs", "--quiet"]).output().unwrap());
    let found = server.client.post("/v1/query", &json!({ "text": "zebra at noon" })).ok().json();
    assert_eq!(found["results"][0]["path"], "sample-docs/new.md");
}

#[cfg(unix)]
#[test]
fn the_socket_file_is_its_owner_s_and_goes_with_the_server() {
    use std::os::unix::{fs::MetadataExt as _, net::UnixStream};
    let home = home();
    samples(home.path());
    let mut server = Process::start(home.path(), &["--socket", "s.sock"], &[("RAG_API_KEY", "only for the port")]);
    let path = server.socket.clone().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let ask = || -> Answer {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"GET /v1/hello HTTP/1.1\r\nhost: anything\r\nconnection: close\r\n\r\n").unwrap();
        read(&mut stream).unwrap()
    };
    // Whoever can open the file is the user whose index it is.
    assert_eq!(ask().ok().json()["schema"], "rag.hello/1");
    server.client.get("/v1/hello").is(401);
    let second = command(home.path()).args(["serve", "--socket", "s.sock"]).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait().code(), Some(0));
    assert!(!path.exists());
    // One that was killed leaves its file, and the next takes its place.
    let killed = Process::start(home.path(), &["--socket", "s.sock"], &[]);
    drop(killed);
    assert!(path.exists());
    let _next = Process::start(home.path(), &["--socket", "s.sock"], &[]);
    ask().ok();
}

#[cfg(unix)]
#[test]
fn a_kill_loses_no_write_that_was_acknowledged() {
    let home = home();
    ok(command(home.path()).args(["ingest", "--quiet", "-"]).stdin(Stdio::from(source(home.path()))).output().unwrap());
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..4 {
        let mut server = Process::start(home.path(), &["--allow-write"], &[]);
        let (tell, told) = std::sync::mpsc::channel();
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (client, tell) = (server.client.clone(), tell.clone());
                std::thread::spawn(move || {
                    for n in 0.. {
                        let name = format!("r{round}w{writer}n{n}.md");
                        let body = json!({ "name": name, "text": format!("note {name} of a quay") }).to_string();
                        let head = format!(
                            "POST /v1/documents HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                            body.len()
                        );
                        match client.raw(head.as_bytes()) {
                            Ok(answer) if answer.status == 200 => tell.send(name).unwrap(),
                            Ok(_) | Err(_) => return,
                        }
                    }
                })
            })
            .collect();
        drop(tell);
        // Killed when so many were acknowledged: in the middle of whatever it does then.
        for _ in 0..5 + 3 * round {
            acknowledged.push(told.recv().unwrap());
        }
        server.signal(rustix::process::Signal::KILL);
        server.wait();
        acknowledged.extend(told.iter());
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    }
    let verified = command(home.path()).args(["verify", "--quiet"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(0));
    let listed = ok(command(home.path()).args(["list", "--json"]).output().unwrap());
    let missing: Vec<&String> = acknowledged.iter().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "of {} acknowledged writes these are lost: {missing:?}", acknowledged.len());
}

/// Something to make an index of.
fn source(home: &Path) -> std::fs::File {
    let path = home.join("first.txt");
    std::fs::write(&path, "the first note of a quay").unwrap();
    std::fs::File::open(path).unwrap()
}

#[cfg(unix)]
#[test]
fn signals_end_it_in_good_order() {
    let home = home();
    samples(home.path());
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let mut server = Process::start(home.path(), &["--allow-write"], &[]);
        server.client.post("/v1/documents", &json!({ "name": "a.md", "text": "a note" })).ok();
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0));
        assert_eq!(command(home.path()).args(["verify", "--quiet"]).output().unwrap().status.code(), Some(0));
    }
}

#[cfg(unix)]
#[test]
fn k02_keys_show_nowhere() {
    let home = home();
    samples(home.path());
    let secret = "sk-canary-0123456789abcdef";
    let mut command = command(home.path());
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--json", "--access-log", "access.log"])
        .env("RAG_API_KEY", secret);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let client = Client::new(told["url"].as_str().unwrap().rsplit('/').next().unwrap().parse().unwrap());
    let good = client.with_key(secret);
    let mut said = String::new();
    for answer in [
        good.get("/v1/status").ok(),
        good.get("/v1/hello").ok(),
        good.get("/metrics").ok(),
        good.post("/v1/query", &json!({ "text": "" })),
        client.with_key(&format!("{secret}x")).get("/v1/status"),
        good.get("/openapi.json").ok(),
    ] {
        said.push_str(&answer.text());
        said.push_str(&format!("{:?}", answer.headers));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    stdout.read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    said.push_str(&std::fs::read_to_string(home.path().join("access.log")).unwrap());
    assert!(said.contains("/v1/status"), "{said}");
    assert!(!said.contains(secret), "{said}");
}

/// More sockets than there may be connections, none of which ever asks for anything; where the system gives few files, too.
#[cfg(unix)]
#[test]
fn n06_two_thousand_slow_sockets_keep_nobody_out() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const SOCKETS: usize = 2_000;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let files = maximum.map_or(4 * SOCKETS as u64, |hard| hard.min(4 * SOCKETS as u64));
    if files < SOCKETS as u64 + 200 {
        assert!(std::env::var_os("CI").is_none(), "the system gives {files} open files");
        eprintln!("left out: the system gives {files} open files, and this takes more");
        return;
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum }).unwrap();
    let home = home();
    samples(home.path());
    for limit in ["-S -n 512", "-n 200"] {
        let process = Process::limited(home.path(), limit);
        let client = &process.client;
        let mut waiting = Vec::new();
        for n in 0..SOCKETS {
            let mut stream = client.connect().unwrap();
            let _ = stream.write_all(b"GET /health HTTP/1.1\r\nhost: loc");
            waiting.push(stream);
            if n % 100 == 99 {
                assert_eq!(client.get("/health").status, 200, "{limit}: {n}");
                let found = client.post("/v1/query", &json!({ "text": "refunds", "mode": "lexical" })).ok().json();
                assert!(!found["results"].as_array().unwrap().is_empty());
            }
        }
    }
}
