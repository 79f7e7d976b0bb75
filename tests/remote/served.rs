//! `rag serve` as a process of its own, for as long as a test wants it.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
};

use crate::house::{House, Ran};

/// A server; ended by its own number when it is dropped.
pub struct Served {
    child: Child,
    pub url: String,
}

impl Served {
    /// Serves the index of a house on a free port of this machine.
    pub fn start(house: &House, more: &[&str]) -> Self {
        Self::start_env(house, more, &[])
    }

    pub fn start_env(house: &House, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = house.command();
        // Unoptimised programs under load are slow; what is tested is not how fast they are.
        command.args(["serve", "--listen", "127.0.0.1:0", "--query-timeout", "60s"]).args(more);
        command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let url = loop {
            match lines.next() {
                Some(line) => {
                    let line = line.unwrap();
                    if let Some(url) = line.strip_prefix("listening on ") {
                        break url.to_owned();
                    }
                    said.push(line);
                }
                None => panic!("the server ended: {said:?}"),
            }
        };
        // Its log has to go somewhere, or it would wait for us.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }

    /// Ends it at once, as a fault would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a command line here, and asks it of a server.
pub fn both(house: &House, server: &Served, arguments: &[&str]) -> [Ran; 2] {
    both_env(house, server, arguments, &[])
}

pub fn both_env(house: &House, server: &Served, arguments: &[&str], variables: &[(&str, &str)]) -> [Ran; 2] {
    let here = house.command().args(arguments).envs(variables.iter().copied()).output().unwrap();
    // Flags of every verb may stand anywhere.
    let there = house.command().args(arguments).args(["--remote", &server.url]).output().unwrap();
    [here.into(), there.into()]
}

/// Asserts that both runs said the same, byte for byte, but for how long it took.
#[track_caller]
pub fn same(arguments: &[&str], [here, there]: &[Ran; 2]) {
    assert_eq!(there.code, here.code, "{arguments:?}\n{here:#?}\n{there:#?}");
    assert_eq!(untimed(&there.stdout), untimed(&here.stdout), "stdout of {arguments:?}");
    assert_eq!(there.stderr, here.stderr, "stderr of {arguments:?}");
}

/// A text without the values of its timings.
pub fn untimed(text: &str) -> String {
    const NAMES: [&str; 2] = ["\"timing_ms\":", "\"seconds\":"];
    let mut out = String::new();
    let mut rest = text;
    while let Some((at, name)) = NAMES.iter().filter_map(|name| Some((rest.find(name)?, *name))).min() {
        let (before, after) = rest.split_at(at + name.len());
        out.push_str(before);
        let end = match after.starts_with('{') {
            true => after.find('}').map_or(after.len(), |end| end + 1),
            false => after.find([',', '}']).unwrap_or(after.len()),
        };
        out.push('…');
        rest = &after[end..];
    }
    out + rest
}

#[test]
fn timings_are_masked_and_nothing_else() {
    let text = r#"{"a":1,"timing_ms":{"x":1.5,"y":null},"b":{"seconds":0.25},"c":2}"#;
    assert_eq!(untimed(text), r#"{"a":1,"timing_ms":…,"b":{"seconds":…},"c":2}"#);
}
