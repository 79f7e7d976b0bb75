//! Power and patience: killed at random during ingest, the index opens, is sound, and the next ingest completes.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use crate::house::House;

const ROUNDS: u32 = 50;

/// A small deterministic generator, so that a failing seed can be run again.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(unix)]
#[test]
fn cr02_killed_fifty_times_at_random() {
    let seed: u64 = std::env::var("RAG_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed_cafe);
    println!("seed {seed} (RAG_TEST_SEED)");
    let mut state = seed;
    let house = House::new();
    let write = |round: u32| {
        for number in 0..12 {
            let text = format!("# Note {number}\n\nRound {round} says: the {number}th buoy was seen at dawn.\n");
            house.write(&format!("docs/{number}.md"), text);
        }
    };
    write(0);
    let started = Instant::now();
    house.rag(["ingest", "docs"]).ok();
    let whole = started.elapsed();
    let mut cut_short = 0;
    for round in 1..=ROUNDS {
        write(round);
        let wait = whole.mul_f64((next(&mut state) % 1100) as f64 / 1000.0);
        let mut child =
            house.command().args(["ingest", "docs"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(wait.max(Duration::from_millis(1)));
        cut_short += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();

        let context = format!("seed {seed}, round {round}, killed after {wait:?}");
        let verified = house.rag(["verify"]);
        assert_eq!(verified.code, 0, "{context}: {}{}", verified.stdout, verified.stderr);
        let listed = house.rag(["list", "--json"]).ok().json("rag.list/1");
        assert_eq!(listed["documents"].as_array().unwrap().len(), 12, "{context}");
        // Every third round the next ingest is not disturbed.
        if round % 3 == 0 {
            let ran = house.rag(["ingest", "docs"]);
            assert_eq!(ran.code, 0, "{context}: {}", ran.stderr);
            let found =
                house.rag(["query", &format!("Round {round} says"), "-k", "12", "--json"]).ok().json("rag.query/1");
            let texts = found["results"].to_string();
            assert_eq!(texts.matches(&format!("Round {round} says")).count() / 2, 12, "{context}: {texts}");
        }
    }
    house.rag(["ingest", "docs"]).ok();
    house.rag(["verify"]).ok();
    assert!(cut_short >= ROUNDS / 3, "only {cut_short} of {ROUNDS} rounds were cut short: the test kills too late");
}

#[cfg(unix)]
#[test]
fn cr16_ctrl_c_commits_what_is_whole_and_leaves_at_130() {
    const DOCUMENTS: usize = 200;
    let house = House::new();
    for number in 0..DOCUMENTS {
        house.write(
            &format!("docs/{number}.md"),
            format!("# Note {number}\n\n{}\n", "The tide turns at noon. ".repeat(60)),
        );
    }
    let child = house
        .command()
        .args(["ingest", "docs", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let asked = Instant::now();
    let output = child.wait_with_output().unwrap();
    if output.status.code() == Some(0) {
        panic!("the run ended before the signal: give it more to do");
    }
    assert_eq!(output.status.code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(5), "Ctrl-C took {:?}", asked.elapsed());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
    house.rag(["verify"]).ok();
    let kept = house.rag(["status", "--json"]).ok().json("rag.status/1")["sources"].as_u64().unwrap();
    assert_eq!(kept as usize, report["added"].as_array().unwrap().len());
    let rest = house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(rest["added"].as_array().unwrap().len() as u64, DOCUMENTS as u64 - kept);
}

/// The first ingest of all is killed at every call that makes the folder: the next one makes it.
#[cfg(unix)]
#[test]
fn cr01_a_first_ingest_that_was_cut_off_is_begun_again() {
    let mut half_made = 0;
    for at in 1..=24 {
        let house = House::new();
        house.write("docs/a.md", "The tern is white.\n");
        house.rag_env(["ingest", "docs", "--no-embed", "-q"], &[("RAG_KILL_AT", &at.to_string())]);
        let is_there = |name: &str| house.path(".rag").join(name).exists();
        half_made += u32::from(is_there("FORMAT") && !is_there("text/meta.json"));
        let ran = house.rag(["ingest", "docs", "--no-embed", "-q"]);
        assert_eq!(ran.code, 0, "killed at call {at}: {}", ran.stderr);
        house.rag(["query", "white tern"]).ok();
    }
    assert!(half_made > 0, "no kill leaves a folder half-made");
}
