//! What cannot be asked of a server, and whom a server does not answer.

use crate::{
    house::{House, Ran},
    served::Served,
};

fn asked(house: &House, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    house.command().args(arguments).envs(variables.iter().copied()).output().unwrap().into()
}

#[test]
fn verbs_of_this_machine_say_so() {
    let house = House::new();
    let server = "http://127.0.0.1:1";
    for verb in [&["compact"][..], &["reembed"], &["migrate"], &["doctor"], &["export"], &["import", "-"], &["tune"]] {
        for (flags, variables) in [(&["--remote", server][..], &[][..]), (&[], &[("RAG_REMOTE", server)])] {
            let ran = asked(&house, &[verb, flags].concat(), variables).exits(2);
            assert!(ran.stderr.contains("cannot be asked of a server"), "{verb:?}: {}", ran.stderr);
        }
    }
    for verb in ["config", "man", "serve"] {
        let ran = asked(&house, &[verb, "--remote", server], &[]).exits(2);
        assert!(ran.stderr.contains("cannot be asked of a server"), "{verb}: {}", ran.stderr);
    }
    asked(&house, &["config"], &[("RAG_REMOTE", server)]).ok();
}

#[test]
fn flags_of_this_machine_say_so() {
    let house = House::new();
    let server = "http://127.0.0.1:1";
    for flags in [&["--llm-url", "http://x"][..], &["--model", "m"], &["--llm-header", "a: b"], &["--llm-no-system"]] {
        let ran = asked(&house, &[&["ask", "x", "--remote", server], flags].concat(), &[]).exits(2);
        assert!(ran.stderr.contains(&format!("`{}` cannot be asked", flags[0])), "{}", ran.stderr);
    }
    let ran = asked(&house, &["query", "x", "--remote", server, "--index", ".rag"], &[]).exits(2);
    assert!(ran.stderr.contains("both given"), "{}", ran.stderr);
    let ran = asked(&house, &["query", "x", "--remote", "ftp://host"], &[]).exits(2);
    assert!(ran.stderr.contains("begins with neither"), "{}", ran.stderr);
    // An index that is named counts for more than a variable.
    let ran = asked(&house, &["query", "x", "--index", "none"], &[("RAG_REMOTE", server)]).exits(2);
    assert!(ran.stderr.contains("no index at `none`"), "{}", ran.stderr);
}

#[test]
fn k05_the_key_of_a_server_travels_encrypted_or_not_at_all() {
    let house = House::new();
    let canary = ("RAG_API_KEY", "canary-0123456789");
    // TEST-NET-1: nobody is there, and nothing must be sent.
    let ran = asked(&house, &["query", "x", "--remote", "http://192.0.2.1:9"], &[canary]).exits(2);
    assert!(ran.stderr.contains("a key would travel unencrypted") && !ran.stderr.contains("canary"), "{}", ran.stderr);
}

#[test]
fn a_key_opens_and_another_does_not() {
    let house = House::with_index();
    let server = Served::start_env(&house, &[], &[("RAG_API_KEY", "right-0123456789")]);
    let arguments = ["query", "refunds", "-k", "1", "--remote", &server.url];
    asked(&house, &arguments, &[("RAG_API_KEY", "right-0123456789")]).ok();
    for variables in [&[][..], &[("RAG_API_KEY", "wrong-0123456789")]] {
        let ran = asked(&house, &arguments, variables).exits(5);
        assert!(ran.stderr.contains("RAG_API_KEY"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("0123456789") && ran.stdout.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_server_that_takes_no_changes_says_so() {
    let house = House::with_index();
    let server = Served::start(&house, &[]);
    let ran = asked(&house, &["rm", "sample-docs/faq.html", "--remote", &server.url], &[]).exits(5);
    assert!(ran.stderr.contains("--allow-write"), "{}", ran.stderr);
    assert_eq!(house.rag(["status", "--json"]).json("rag.status/1")["generation"], 1);
}
