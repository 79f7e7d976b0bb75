//! OpenAI's own clients in Python and JavaScript through the proxy, against the scripted double.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    house::House,
    llm_double::{Behaviour, Double, Profile, vector},
};

const TEXT: &str = "It is 12 m high, \"größer\" than 🦀.";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The counterpart, or a word why the test is left out. In CI it must be there.
fn counterpart(path: PathBuf, setup: &str) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "no `{}`: run {setup}", path.display());
    eprintln!("left out: no `{}`; {setup} installs it", path.display());
    None
}

/// Runs a client against the proxy and checks what it tells.
fn check(profile: Profile, run: impl Fn(&str) -> Command) {
    // The scripts ask for base64 or numbers as their client likes; the double answers what is asked.
    let double = Double::start(profile, [Behaviour::Answer(TEXT.to_owned())]);
    let house = House::new(&double.url());
    let output = run(&house.url("/v1")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{profile:?}: {errors}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["cache"], json!(["miss", "hit", "hit", "hit", "miss", "hit"]), "{told}");
    for at in 0..4 {
        assert_eq!(told["texts"][at], TEXT, "{profile:?} {at}");
    }
    for at in 4..6 {
        let floats: Vec<Vec<f32>> = serde_json::from_value(told["texts"][at].clone()).unwrap();
        assert_eq!(floats, [vector("one", 16), vector("two", 16)], "{profile:?} {at}");
    }
    assert!(told["models"].as_array().unwrap().contains(&json!(profile.model())), "{told}");
    assert_eq!(told["refused"], json!([504, "not_cached"]));
    let chats = double.requests().iter().filter(|request| request.path.ends_with("/chat/completions")).count();
    assert_eq!(chats, 1, "{profile:?}");
}

#[test]
fn openai_for_python() {
    let Some(python) = counterpart(root().join(".venv-test/bin/python"), "scripts/test-setup.sh") else { return };
    let has = Command::new(&python).args(["-c", "import openai"]).output().unwrap().status.success();
    if !has {
        assert!(std::env::var_os("CI").is_none(), "no openai in .venv-test: run scripts/test-setup.sh");
        eprintln!("left out: no openai in .venv-test; scripts/test-setup.sh installs it");
        return;
    }
    for profile in [Profile::OpenAi, Profile::LlamaCpp, Profile::Vllm] {
        check(profile, |url| {
            let mut command = Command::new(&python);
            command.arg(root().join("tests/proxy/clients/openai_client.py")).arg(url).env_clear();
            command
        });
    }
}

#[test]
fn openai_for_javascript() {
    let Some(folder) = counterpart(root().join(".node-test/node_modules/openai"), "scripts/node-setup.sh") else {
        return;
    };
    let modules = folder.ancestors().nth(2).unwrap();
    for profile in [Profile::OpenAi, Profile::LlamaCpp, Profile::Vllm] {
        check(profile, |url| {
            let mut command = Command::new("node");
            command.arg(root().join("tests/proxy/clients/openai_client.mjs")).arg(url).arg(modules);
            command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
            command
        });
    }
}
