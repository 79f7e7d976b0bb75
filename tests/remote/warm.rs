//! The warm process: it is found by itself, says the same, and is not missed.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Stdio},
    sync::{Arc, Mutex},
};

use crate::{
    house::{House, Ran},
    served::untimed,
};

/// `rag serve --socket`, and what it logs.
struct Warm {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
}

impl Warm {
    fn start(house: &House, variables: &[(&str, &str)]) -> Self {
        let mut command = house.command();
        command.args(["serve", "--socket", "--query-timeout", "60s"]).envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("listening on unix:"), "{first}");
        let log = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&log);
        std::thread::spawn(move || lines.for_each(|line| own.lock().unwrap().push(line.unwrap())));
        Self { child, log }
    }

    /// How many requests to a route it has logged. What it has answered is logged before long.
    fn asked(&self, route: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|line| line.contains(route)).count()
    }

    fn waits_for(&self, route: &str) -> bool {
        // Bounded: twenty seconds of looking.
        (0..2_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            self.asked(route) > 0
        })
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        self.kill();
    }
}

const LINES: [&[&str]; 9] = [
    &["query", "How are refunds handled?"],
    &["query", "How are refunds handled?", "--explain", "--json"],
    &["query", "How are refunds handled?", "--format", "context", "--filter", "type:html"],
    &["query", "qqzzxx", "--mode", "lexical"],
    &["query", "refunds", "--filter", "colour:red"],
    &["ask", "How long do refunds take?"],
    &["ask", "How long do refunds take?", "--json"],
    &["ask", "Who won the chess championship of 1972?", "--format", "md"],
    &["ask", "How long do refunds take?", "--extractive", "--strict"],
];

fn all(house: &House, variables: &[(&str, &str)]) -> Vec<(i32, String, String)> {
    let run = |line: &&[&str]| {
        let ran: Ran = house.command().args(*line).envs(variables.iter().copied()).output().unwrap().into();
        (ran.code, untimed(&ran.stdout), ran.stderr)
    };
    LINES.iter().map(run).collect()
}

#[test]
fn it_says_the_same_and_is_not_missed() {
    let house = House::with_index();
    let cold = all(&house, &[]);
    let mut warm = Warm::start(&house, &[]);
    let socket = house.path(".rag/serve.sock");
    assert_eq!(fs::symlink_metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(all(&house, &[]), cold);
    // On a machine that is busy it may be too late to be asked.
    let is_asked = || warm.asked("/v1/query 200") > 0 && warm.asked("/v1/ask 200") > 0;
    for _ in (0..20).take_while(|_| !is_asked()) {
        assert_eq!(all(&house, &[]), cold);
    }
    assert!(is_asked(), "{:?}", warm.log);
    house.rag(["verify"]).ok();

    // Killed, it leaves its socket behind; nobody stumbles over it, and the next one takes its place.
    warm.kill();
    assert!(socket.exists());
    assert_eq!(all(&house, &[]), cold);
    drop(Warm::start(&house, &[]));
}

#[test]
fn it_sees_what_is_committed() {
    let house = House::with_index();
    let _warm = Warm::start(&house, &[]);
    house.write("sample-docs/llamas.md", "Llamas are shorn in October.");
    house.rag(["ingest", "sample-docs", "--quiet"]).ok();
    let found = house.rag(["query", "When are llamas shorn?", "-k", "1", "--json"]).ok().json("rag.query/1");
    assert_eq!((&found["generation"], &found["results"][0]["path"]), (&2.into(), &"sample-docs/llamas.md".into()));
}

#[test]
fn other_settings_are_not_asked_of_it() {
    let house = House::with_index();
    let warm = Warm::start(&house, &[]);
    let other = [("RAG_RETRIEVE_K", "1")];
    let ran = house.rag_env(["query", "refunds", "--json"], &other).ok().json("rag.query/1");
    assert_eq!(ran["results"].as_array().unwrap().len(), 1);
    // A model elsewhere is not its business either.
    house.rag_env(["ask", "refunds", "--json"], &[("RAG_LLM_URL", "http://127.0.0.1:1/v1")]);
    house.rag(["query", "refunds", "--rerank"]).exits(2);
    assert!(warm.waits_for("/v1/hello"), "{:?}", warm.log);
    assert_eq!(warm.asked("/v1/query") + warm.asked("/v1/ask"), 0, "{:?}", warm.log);
}

#[test]
fn a_socket_that_others_may_open_is_not_trusted() {
    let house = House::with_index();
    let warm = Warm::start(&house, &[]);
    fs::set_permissions(house.path(".rag/serve.sock"), fs::Permissions::from_mode(0o666)).unwrap();
    house.rag(["query", "refunds"]).ok();
    // What is logged would be there before the answer to a request that comes after it.
    fs::set_permissions(house.path(".rag/serve.sock"), fs::Permissions::from_mode(0o600)).unwrap();
    // On a machine that is busy the process may be too late to be asked.
    let mut tries = 0;
    while warm.asked("/v1/query") == 0 {
        tries += 1;
        assert!(tries <= 100, "{:?}", warm.log);
        house.rag(["query", "refunds"]).ok();
    }
    assert!(warm.asked("/v1/hello") <= tries, "{:?}", warm.log);
}

#[test]
fn a_process_that_hangs_is_not_waited_for() {
    let house = House::with_index();
    let cold = house.rag(["query", "refunds"]).ok();
    // It takes connections and says nothing.
    let listener = std::os::unix::net::UnixListener::bind(house.path(".rag/serve.sock")).unwrap();
    fs::set_permissions(house.path(".rag/serve.sock"), fs::Permissions::from_mode(0o600)).unwrap();
    let ran = house.rag(["query", "refunds"]).ok();
    assert_eq!((ran.stdout, ran.stderr), (cold.stdout, cold.stderr));
    drop(listener);
}

#[test]
fn a_process_that_is_stopped_is_not_waited_for() {
    let house = House::with_index();
    let cold = all(&house, &[]);
    let warm = Warm::start(&house, &[]);
    let stopped = rustix::process::Pid::from_child(&warm.child);
    rustix::process::kill_process(stopped, rustix::process::Signal::STOP).unwrap();
    assert_eq!(all(&house, &[]), cold);
    assert_eq!(warm.asked("/v1/"), 0, "{:?}", warm.log);
    rustix::process::kill_process(stopped, rustix::process::Signal::CONT).unwrap();
}
