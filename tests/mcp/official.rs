//! The official clients of the protocol, in the eras that each knows, over both transports. `scripts/mcp-setup.sh`
//! installs them; without them these tests are left out, except in CI.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    fixture::Running,
    house::{House, project},
    http::Site,
};

/// The folder of the setup, if it is whole. Else a word about it.
fn setup() -> Option<PathBuf> {
    let folder = project().join(".node-test/mcp");
    if folder.join("ready").exists() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "the official clients are missing: run `make deps`");
    eprintln!("left out: the official clients of the protocol; `make deps` installs them");
    None
}

fn python() -> Option<PathBuf> {
    setup().map(|_| project().join(".venv-test/bin/python"))
}

/// Node that is new enough, and the folder of the packages.
fn node() -> Option<(PathBuf, PathBuf)> {
    setup().map(|folder| (folder.join("node"), folder))
}

#[track_caller]
fn check(what: &str, output: &Output, version: Option<&str>) {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{stdout}\n{stderr}", output.status);
    let said: Value = serde_json::from_str(stdout.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{what}: {error}\n{stdout}\n{stderr}"));
    if let Some(version) = version {
        assert_eq!(said["version"], version, "{what}");
    }
    let tools = said["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("search")) && tools.contains(&json!("recall")), "{what}: {tools:?}");
    assert_eq!(said["memory"], "Ada likes the quay.", "{what}");
    assert!(said["errors"].as_array().unwrap().iter().all(|error| error == false), "{what}: {said}");
    assert_eq!(said["wrong"], true, "{what}");
    assert!(said["resource"].as_u64().unwrap() > 0 && said["prompt"].as_str().unwrap().contains("How long?"), "{what}");
    assert_eq!(said["answer"], "extractive", "{what}");
}

/// The server that the clients start, and its arguments.
fn server(house: &House) -> [String; 4] {
    [env!("CARGO_BIN_EXE_rag").into(), "mcp".into(), "--index".into(), house.path(".rag").display().to_string()]
}

const PYTHON: [(&str, &str); 3] = [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")];
const NODE: [(&str, &str, Option<&str>); 4] = [
    ("client", "auto", Some("2026-07-28")),
    ("client", "legacy", Some("2025-11-25")),
    ("client", "pin", Some("2026-07-28")),
    ("sdk", "legacy", None),
];

#[test]
fn the_python_client_over_standard_input_and_output() {
    let Some(python) = python() else { return };
    let house = House::with_index();
    for (mode, version) in PYTHON {
        let mut command = Command::new(&python);
        command.arg(project().join("tests/mcp/official/session.py")).args([mode, "--"]).args(server(&house));
        check(&format!("python {mode}"), &command.output().unwrap(), Some(version));
    }
}

#[test]
fn the_typescript_clients_over_standard_input_and_output() {
    let Some((node, folder)) = node() else { return };
    let house = House::with_index();
    for (package, mode, version) in NODE {
        let mut command = Command::new(&node);
        command.arg(project().join("tests/mcp/official/session.mjs")).arg(&folder).args([package, mode, "--"]);
        command.args(server(&house));
        check(&format!("typescript {package} {mode}"), &command.output().unwrap(), version);
    }
}

#[test]
fn both_over_http() {
    let (python, node) = (python(), node());
    let site = Site::start();
    crate::house::copy_tree(&project().join("sample-docs"), &site.dir.path().join("docs"));
    site.ingest("docs");
    if let Some(python) = python {
        for (mode, version) in PYTHON {
            let mut command = Command::new(&python);
            command.arg(project().join("tests/mcp/official/session.py")).args([mode, &site.url()]);
            check(&format!("python {mode} over http"), &command.output().unwrap(), Some(version));
        }
    }
    if let Some((node, folder)) = node {
        for (package, mode, version) in NODE {
            let mut command = Command::new(&node);
            command.arg(project().join("tests/mcp/official/session.mjs")).arg(&folder).args([
                package,
                mode,
                &site.url(),
            ]);
            check(&format!("typescript {package} {mode} over http"), &command.output().unwrap(), version);
        }
    }
}

#[test]
fn the_inspector_finds_every_schema_portable() {
    let Some((node, folder)) = node() else { return };
    let house = House::new();
    let mut command = Command::new(node);
    command.arg(folder.join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"));
    command.env("MCP_CATALOG_PATH", house.path("catalog.json"));
    command.args(["--cli"]).args(server(&house)).args(["--allow-write", "--method", "tools/list", "--strict"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stderr}", output.status);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 13);
    assert_eq!(stderr, "", "it has nothing to remark");
}

/// Scenarios of the conformance suite that need no tools of its own making, with the revisions they know: our own server.
const SCENARIOS: [(&str, &[&str]); 11] = [
    ("server-initialize", &["2025-06-18", "2025-11-25"]),
    ("server-session-lifecycle", &["2025-03-26", "2025-06-18", "2025-11-25"]),
    ("server-stateless", &["2026-07-28"]),
    ("ping", &["2025-06-18", "2025-11-25"]),
    ("tools-list", &ALL),
    ("resources-list", &ALL),
    ("sep-2164-resource-not-found", &["2026-07-28"]),
    ("prompts-list", &ALL),
    ("dns-rebinding-protection", &["2025-11-25", "2026-07-28"]),
    ("caching", &["2026-07-28"]),
    ("http-header-validation", &["2026-07-28"]),
];

const ALL: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];
const SESSIONS: [&str; 2] = ["2025-06-18", "2025-11-25"];

/// Those that call what only the suite's own servers have: our door with the fixture behind it. Left out are `tasks-…` and
/// `sep-2640-skills-…`, extensions that the server does not announce.
const FIXTURE_SCENARIOS: [(&str, &[&str]); 45] = [
    ("server-stateless", &["2026-07-28"]),
    ("logging-set-level", &SESSIONS),
    ("completion-complete", &ALL),
    ("tools-list", &ALL),
    ("tools-call-simple-text", &ALL),
    ("tools-call-image", &ALL),
    ("tools-call-audio", &ALL),
    ("tools-call-embedded-resource", &ALL),
    ("tools-call-mixed-content", &ALL),
    ("tools-call-with-logging", &SESSIONS),
    ("tools-call-error", &ALL),
    ("tools-call-with-progress", &ALL),
    ("tools-call-sampling", &SESSIONS),
    ("tools-call-elicitation", &SESSIONS),
    ("json-schema-2020-12", &["2025-11-25", "2026-07-28"]),
    ("elicitation-sep1034-defaults", &["2025-11-25"]),
    ("elicitation-sep1330-enums", &["2025-11-25"]),
    ("server-sse-polling", &["2025-11-25"]),
    ("server-sse-multiple-streams", &["2025-11-25", "2026-07-28"]),
    ("resources-list", &ALL),
    ("resources-read-text", &ALL),
    ("resources-read-binary", &ALL),
    ("resources-templates-read", &ALL),
    ("resources-subscribe", &SESSIONS),
    ("resources-unsubscribe", &SESSIONS),
    ("prompts-list", &ALL),
    ("prompts-get-simple", &ALL),
    ("prompts-get-with-args", &ALL),
    ("prompts-get-embedded-resource", &ALL),
    ("prompts-get-with-image", &ALL),
    ("http-custom-header-server-validation", &["2026-07-28"]),
    ("input-required-result-basic-elicitation", &["2026-07-28"]),
    ("input-required-result-basic-sampling", &["2026-07-28"]),
    ("input-required-result-basic-list-roots", &["2026-07-28"]),
    ("input-required-result-request-state", &["2026-07-28"]),
    ("input-required-result-multiple-input-requests", &["2026-07-28"]),
    ("input-required-result-multi-round", &["2026-07-28"]),
    ("input-required-result-missing-input-response", &["2026-07-28"]),
    ("input-required-result-non-tool-request", &["2026-07-28"]),
    ("input-required-result-result-type", &["2026-07-28"]),
    ("input-required-result-unsupported-methods", &["2026-07-28"]),
    ("input-required-result-tampered-state", &["2026-07-28"]),
    ("input-required-result-capability-check", &["2026-07-28"]),
    ("input-required-result-ignore-extra-params", &["2026-07-28"]),
    ("input-required-result-validate-input", &["2026-07-28"]),
];

/// Checks of the first list that call tools which only the suite's own servers have.
const NEED_FIXTURES: [&str; 4] = [
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-missing-capability-http-400",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2575-server-rejects-undeclared-capability",
];

/// Runs scenarios, some at a time, for most of the time is each program's start. Gives what failed but for checks that are
/// known to.
fn failures(url: &str, scenarios: &[(&str, &[&str])], known: &[&str]) -> Vec<String> {
    let Some((node, folder)) = node() else { return Vec::new() };
    let results = tempfile::tempdir().unwrap();
    let run = |scenario: &str, version: &str| {
        let mut command = Command::new(&node);
        command.arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
        command.current_dir(results.path()).args(["server", "--url", url, "--scenario", scenario]);
        let output = command.args(["--spec-version", version]).output().unwrap();
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        if !words.contains("SUCCESS") {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return vec![format!("{scenario} {version} was not run: {words}{said}")];
        }
        let faults = words.lines().filter(|line| line.contains(" FAILURE "));
        let own = faults.filter(|line| !known.iter().any(|check| line.contains(check)));
        own.map(|line| format!("{scenario} {version}: {line}")).collect::<Vec<_>>()
    };
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (run, next) = (&run, &next);
        let one = move || {
            let mut failed = Vec::new();
            while let Some((scenario, versions)) = scenarios.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
            {
                failed.extend(versions.iter().flat_map(|version| run(scenario, version)));
            }
            failed
        };
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(one)).collect();
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect()
    })
}

#[test]
fn the_conformance_suite_passes_where_it_needs_no_fixtures() {
    if setup().is_none() {
        return;
    }
    let site = Site::start();
    std::fs::create_dir(site.dir.path().join("docs")).unwrap();
    std::fs::write(site.dir.path().join("docs/quay.md"), "# Quay\n\nThe quay was built in 1887.\n").unwrap();
    site.ingest("docs");
    let failed = failures(&site.url(), &SCENARIOS, &NEED_FIXTURES);
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn the_conformance_suite_passes_with_its_fixtures_behind_our_door() {
    if setup().is_none() {
        return;
    }
    let running = Running::start();
    let failed = failures(&running.url(), &FIXTURE_SCENARIOS, &[]);
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
