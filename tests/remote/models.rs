//! `rag ask` of a server that has a model: its answers, conversations, and its failures.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use crate::{
    house::{House, Ran},
    llm_double::{Behaviour, Double, Profile},
    served::{Served, same},
};

const Q: &str = "How are refunds handled?";

fn fed(mut command: Command, lines: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

/// Asks here and there, each of a model that says the same.
fn asked(house: &House, script: &[Behaviour], more: &[&str], lines: &str) -> [Ran; 2] {
    let model = || Double::start(Profile::OpenAi, script.to_vec());
    let (own, servers) = (model(), model());
    let server = Served::start(house, &["--llm-url", &servers.url(), "--model", "scripted"]);
    let mut here = house.command();
    here.args(["ask", "--llm-url", &own.url(), "--model", "scripted"]).args(more);
    let mut there = house.command();
    there.args(["ask", "--remote", &server.url]).args(more);
    let ran = [fed(here, lines), fed(there, lines)];
    let prompts = |double: &Double| double.requests().iter().map(|request| request.prompt()).collect::<Vec<_>>();
    assert_eq!(prompts(&servers), prompts(&own), "the model is asked the same");
    ran
}

#[test]
fn answers_of_a_model_say_the_same() {
    let house = House::with_index();
    let lie = "You may send back any pump within 90 days [1]. Refunds are paid to the card you ordered with [1].";
    let says = |text: &str| Behaviour::Answer(text.into());
    for (behaviour, more) in [
        (Behaviour::CiteRight, &[Q][..]),
        (Behaviour::CiteRight, &[Q, "--json"]),
        (Behaviour::CiteOutOfRange, &[Q, "--no-stream", "--json"]),
        (says(lie), &[Q]),
        (says(lie), &[Q, "--strict", "--format", "md"]),
        (says(lie), &[Q, "--unsupported", "drop"]),
        (says("The company was founded on Mars in 1812 by Napoleon [1]."), &[Q]),
        (Behaviour::Refuse, &[Q]),
        (Behaviour::NoCite, &[Q, "--max-tokens", "30", "--context-tokens", "900"]),
    ] {
        let ran = asked(&house, &[behaviour], more, "");
        same(more, &ran);
    }
}

#[test]
fn a_conversation_is_kept_here_and_understood_there() {
    let house = House::with_index();
    let script = ["The warranty is 36 months [1].", "Does the warranty cover frost damage?", "It does not [1]."];
    let script = script.map(|text| Behaviour::Answer(text.into()));
    let lines = "How long is the warranty of the Otter 3?\nIs frost damage covered too?\n/sources\n/open 1\n/quit\n";
    let ran = asked(&house, &script, &["--chat"], lines);
    same(&["--chat"], &ran);
    assert!(ran[1].stdout.contains("otter"), "{}", ran[1].stdout);

    let server = Served::start(&house, &[]);
    for (file, more) in [("here.jsonl", &[][..]), ("there.jsonl", &["--remote", &server.url])] {
        for question in ["How long is the warranty of the Otter 3?", "And what does it not cover?"] {
            let mut command = house.command();
            command.args(["ask", question, "--history", file]).args(more);
            Ran::from(command.output().unwrap()).ok();
        }
    }
    let saved = |file: &str| std::fs::read_to_string(house.path(file)).unwrap();
    assert_eq!(saved("there.jsonl"), saved("here.jsonl"));
    assert!(saved("there.jsonl").lines().nth(1).unwrap().contains("searched"));
}

#[test]
fn a_model_that_fails_there_fails_here() {
    let house = House::with_index();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let server = Served::start(&house, &["--llm-url", &url, "--model", "scripted"]);
    let mut command = house.command();
    command.args(["ask", Q, "--json", "--remote", &server.url]);
    let ran = Ran::from(command.output().unwrap()).exits(5);
    assert_eq!(ran.json_error()["kind"], "model", "{}", ran.stderr);
}
