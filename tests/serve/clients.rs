//! The official clients of OpenAI, as people use them: Python from `.venv-test`, JavaScript from `.node-test`
//! (`scripts/test-setup.sh`, `scripts/node-setup.sh`).

use std::{path::PathBuf, process::Command, sync::Arc};

use rag::model::fake::{Reply, ScriptedChat};

use super::server::{Fakes, Server};

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Where a counterpart is missing: CI fails, anybody else is told.
fn left_out(what: &str, how: &str) {
    assert!(std::env::var_os("CI").is_none(), "{what} is missing; {how} installs it");
    eprintln!("left out: {what} is missing; {how} installs it");
}

fn server() -> Server {
    let replies: Vec<Reply> = (0..16).map(|_| Reply::pieces(&["The quay is ", "closed on Mondays", " [1]."])).collect();
    let server = Server::with(|options| {
        options.models = Arc::new(Fakes { chat: Some(Arc::new(ScriptedChat::new(replies))), ..Fakes::default() })
    });
    server.add("quay.md", "# Quay\n\nThe quay is closed on Mondays. The ferry sails at six.");
    server
}

fn run(mut command: Command, server: &Server) {
    command.env("BASE_URL", format!("http://{}/v1", server.address)).env("NO_PROXY", "127.0.0.1");
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("all is well"), "{said}");
}

#[test]
fn the_official_python_client() {
    let python = project().join(".venv-test/bin/python");
    let has_it =
        Command::new(&python).args(["-c", "import openai"]).output().is_ok_and(|output| output.status.success());
    if !has_it {
        return left_out("the Python package `openai`", "scripts/test-setup.sh");
    }
    let server = server();
    let mut command = Command::new(python);
    command.arg(project().join("tests/serve/openai_client.py"));
    run(command, &server);
}

#[test]
fn the_official_javascript_client() {
    let folder = project().join(".node-test");
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_node || !folder.join("node_modules/openai").is_dir() {
        return left_out("the npm package `openai`", "scripts/node-setup.sh");
    }
    let server = server();
    // Modules are looked for beside the script.
    let script = folder.join("rag-serve-client.mjs");
    std::fs::copy(project().join("tests/serve/openai_client.mjs"), &script).unwrap();
    let mut command = Command::new("node");
    command.arg(script);
    run(command, &server);
}
