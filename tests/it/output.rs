//! stdout is data, stderr is talk; pipes may close; nothing untrusted reaches a terminal.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use crate::house::House;

#[test]
fn a_closed_pipe_is_no_error() {
    let house = House::with_index();
    for arguments in
        [vec!["query", "pump", "-k", "100"], vec!["query", "pump", "--format", "jsonl", "-k", "100"], vec!["list"]]
    {
        let mut child = house.command().args(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("error"));
    }
}

#[test]
fn every_format_says_the_same() {
    let house = House::with_index();
    let question = "how are refunds handled";
    let json = house.rag(["query", question, "--json", "-k", "4"]).ok().json("rag.query/1");
    let same = house.rag(["query", question, "--format", "json", "-k", "4"]).ok().json("rag.query/1");
    assert_eq!(json["results"], same["results"]);
    let lines = house.rag(["query", question, "--format", "jsonl", "-k", "4"]).ok().stdout;
    let hits: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(serde_json::Value::from(hits.clone()), json["results"]);
    let text = house.rag(["query", question, "-k", "4"]).ok().stdout;
    let markdown = house.rag(["query", question, "--format", "md", "-k", "4"]).ok().stdout;
    let context = house.rag(["query", question, "--format", "context", "-k", "4"]).ok().stdout;
    for hit in &hits {
        let path = hit["path"].as_str().unwrap();
        assert!(text.contains(path) && markdown.contains(path) && context.contains(path), "{path}");
    }
    assert!(!text.contains('\x1b'), "no colour on a pipe");
    assert!(context.starts_with("[1] "), "{context}");
}

#[test]
fn scores_and_relevance_fall_in_order() {
    let house = House::with_index();
    let found = house.rag(["query", "shaft seal", "--json", "-k", "20", "--explain"]).ok().json("rag.query/1");
    let results = found["results"].as_array().unwrap();
    let scores: Vec<f64> = results.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    for hit in results {
        let relevance = hit["relevance"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&relevance));
        assert!(hit["explain"]["lexical"]["normalised"].is_number());
    }
    assert!(found["explain"]["weight"].is_number());
    let again = house.rag(["query", "shaft seal", "--json", "-k", "20", "--explain"]).ok().json("rag.query/1");
    assert_eq!(found["results"], again["results"], "the same query gives the same bytes");
}

#[test]
fn t01_hostile_text_and_names_cannot_move_the_cursor() {
    let house = House::new();
    let evil = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u{9b}31m\u{202e}";
    house.write("docs/a.md", format!("# Title {evil}\n\nThe walrus {evil} sings.\n"));
    house.write("docs/\x1b[31mred\n.md", "The second walrus is red.\n");
    house.rag(["ingest", "docs"]).ok();
    for ran in [
        house.rag(["query", "walrus"]),
        house.rag(["query", "walrus", "--color", "always", "--format", "md"]),
        house.rag(["list"]),
        house.rag(["show", "docs/a.md"]),
        house.rag(["ask", "What does the walrus do?"]),
    ] {
        for bad in ["\x1b]", "\x1b[2J", "\x07", "\u{9b}", "\u{202e}", "\x1b[31mred"] {
            assert!(!ran.stdout.contains(bad) && !ran.stderr.contains(bad), "{bad:?} in {:?}", ran.stdout);
        }
    }
}

#[test]
fn no_terminal_means_plain_progress() {
    let house = House::with_samples();
    let ran = house.rag(["ingest", "sample-docs"]).ok();
    assert!(!ran.stderr.contains('\r') && !ran.stderr.contains('\x1b'), "{:?}", ran.stderr);
    assert!(ran.stderr.contains("committed generation"), "{}", ran.stderr);
    let quiet = House::with_samples();
    let ran = quiet.rag(["ingest", "sample-docs", "--quiet"]).ok();
    assert_eq!(ran.stderr, "");
}

#[test]
fn help_names_verbs_that_work_and_no_others() {
    let house = House::new();
    let help = house.rag(["--help"]).ok().stdout;
    let verbs = "ingest query ask check status list show rm why why-not verify compact reembed migrate doctor export import eval tune \
                 serve mcp config completions man";
    for verb in verbs.split(' ') {
        assert!(help.contains(&format!("\n  {verb} ")), "{verb}");
        house.rag([verb, "--help"]).ok();
    }
    for absent in ["proxy", "__extract", "--watch", "--rerank"] {
        assert!(!help.contains(absent), "{absent}");
    }
    assert!(house.rag(["--version"]).ok().stdout.starts_with("rag "));
}

#[test]
fn syntax_is_read_only_when_asked() {
    let house = House::with_index();
    for text in ["title:(", "\"unclosed", "AND OR NOT", "a:b:c^^^", "+-!(){}[]^~*?:\\/ refunds"] {
        let ran = house.rag(["query", text]);
        assert!(matches!(ran.code, 0 | 1), "{text}: {}", ran.stderr);
    }
    let found = house
        .rag(["query", "\"residual-current device\"", "--syntax", "--json", "--mode", "lexical"])
        .json("rag.query/1");
    assert!(!found["results"].as_array().unwrap().is_empty());
    house.rag(["query", "title:(", "--syntax"]).exits(2);
}
