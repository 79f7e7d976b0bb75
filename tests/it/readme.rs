//! Every example of the README is run: a line that starts with `$ rag` in a console block, and its exit code is 0.

use crate::house::{House, project};

fn examples() -> Vec<String> {
    let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
    let mut inside = false;
    let mut found = Vec::new();
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && line.starts_with("$ ") {
            found.push(line[2..].to_string());
        }
    }
    found
}

#[test]
fn every_example_runs() {
    let house = House::with_samples();
    let examples = examples();
    assert!(examples.len() >= 8, "{examples:?}");
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_rag")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for example in examples {
        let mut command = std::process::Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &example]).current_dir(house.path(""));
        command.env_clear().env("PATH", &path).env("HOME", house.path(""));
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{example}\n{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
