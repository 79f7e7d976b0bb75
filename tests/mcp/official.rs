//! The official clients of the protocol, in the eras that each knows, over both transports. `scripts/mcp-setup.sh`
//! installs them; without them these tests are left out, except in CI.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
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

/// Scenarios of the conformance suite that need no tools of its own making, with the revisions they know.
const SCENARIOS: [(&str, &[&str]); 11] = [
    ("server-initialize", &["2025-06-18", "2025-11-25"]),
    ("server-session-lifecycle", &["2025-03-26", "2025-06-18", "2025-11-25"]),
    ("server-stateless", &["2026-07-28"]),
    ("ping", &["2025-06-18", "2025-11-25"]),
    ("tools-list", &["2025-06-18", "2025-11-25", "2026-07-28"]),
    ("resources-list", &["2025-06-18", "2025-11-25", "2026-07-28"]),
    ("sep-2164-resource-not-found", &["2026-07-28"]),
    ("prompts-list", &["2025-06-18", "2025-11-25", "2026-07-28"]),
    ("dns-rebinding-protection", &["2025-11-25", "2026-07-28"]),
    ("caching", &["2026-07-28"]),
    ("http-header-validation", &["2026-07-28"]),
];

/// Checks of those that call tools which only the suite's own servers have.
const NEED_FIXTURES: [&str; 4] = [
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-missing-capability-http-400",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2575-server-rejects-undeclared-capability",
];

#[test]
fn the_conformance_suite_passes_where_it_needs_no_fixtures() {
    let Some((node, folder)) = node() else { return };
    let site = Site::start();
    std::fs::create_dir(site.dir.path().join("docs")).unwrap();
    std::fs::write(site.dir.path().join("docs/quay.md"), "# Quay\n\nThe quay was built in 1887.\n").unwrap();
    site.ingest("docs");
    let run = |scenario: &str, version: &str| {
        let mut command = Command::new(&node);
        command.arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
        command.current_dir(site.dir.path()).args(["server", "--url", &site.url(), "--scenario", scenario]);
        let output = command.args(["--spec-version", version]).output().unwrap();
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(words.contains("SUCCESS"), "{scenario} {version} was run: {words}");
        let faults = words.lines().filter(|line| line.contains(" FAILURE "));
        let own = faults.filter(|line| !NEED_FIXTURES.iter().any(|check| line.contains(check)));
        own.map(|line| format!("{scenario} {version}: {line}")).collect::<Vec<_>>()
    };
    // Most of the time is each program's start.
    let failed: Vec<String> = std::thread::scope(|scope| {
        let run = &run;
        let runs: Vec<_> = SCENARIOS
            .iter()
            .map(|(scenario, versions)| {
                scope.spawn(move || versions.iter().flat_map(|version| run(scenario, version)).collect::<Vec<_>>())
            })
            .collect();
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
