//! The table: each line is run here and asked of a server, and both say the same.

use serde_json::Value;

use crate::{
    house::{House, Ran},
    served::{Served, both, both_env, same},
};

const Q: &str = "How are refunds handled?";

/// Ids of the first chunk that a query finds and of its document.
fn ids(house: &House) -> (String, String) {
    let found = house.rag(["query", Q, "-k", "1", "--json"]).ok().json("rag.query/1");
    let id = |name: &str| found["results"][0][name].as_str().unwrap().to_owned();
    (id("chunk_id"), id("source_id"))
}

fn check(house: &House, server: &Served, lines: &[&[&str]]) -> Vec<Ran> {
    let run = |line: &&[&str]| {
        let ran = both(house, server, line);
        same(line, &ran);
        let [here, _] = ran;
        here
    };
    lines.iter().map(run).collect()
}

#[test]
fn queries_say_the_same() {
    let house = House::with_index();
    let server = Served::start(&house, &[]);
    let (chunk, _) = ids(&house);
    let lines: &[&[&str]] = &[
        &["query", Q],
        &["query", Q, "--json"],
        &["query", Q, "--format", "json"],
        &["query", Q, "--format", "jsonl"],
        &["query", Q, "--format", "md"],
        &["query", Q, "--format", "jsonl"],
        &["query", Q, "--format", "context"],
        &["query", Q, "--color", "always"],
        &["query", Q, "--quiet"],
        &["query", Q, "--explain"],
        &["query", Q, "--explain", "--json"],
        &["query", Q, "--mode", "lexical", "-k", "3"],
        &["query", Q, "--mode", "dense"],
        &["query", Q, "--fusion", "rrf"],
        &["query", Q, "--fusion", "weighted", "--alpha", "0.3"],
        &["query", Q, "--fusion", "dbsf"],
        &["query", Q, "--filter", "type:pdf"],
        &["query", Q, "--filter", "type:pdf or path:**/*.md"],
        &["query", Q, "--collection", "other"],
        &["query", Q, "--mmr", "0.5"],
        &["query", Q, "--exact"],
        &["query", Q, "--ef", "50"],
        &["query", Q, "--duplicates"],
        &["query", Q, "--per-source", "1"],
        &["query", Q, "--min-score", "0.5"],
        &["query", Q, "--min-score", "0.9999"],
        &["query", Q, "--context", "1"],
        &["query", Q, "--expand", "section"],
        &["query", "\"refunds are\" +paid", "--syntax"],
        &["query", "--like", &chunk],
        &["query", "pump", "--like", &chunk, "--unlike", &chunk],
    ];
    let ran = check(&house, &server, lines);
    assert!(ran[0].stdout.contains("five working days"), "{}", ran[0].stdout);
}

#[test]
fn what_is_wrong_or_not_there_is_said_the_same() {
    let house = House::with_index();
    let server = Served::start(&house, &["--allow-write"]);
    let lines: &[&[&str]] = &[
        &["query", "qqzzxx"],
        &["query", "qqzzxx", "--json"],
        &["query", "qqzzxx", "--mode", "lexical"],
        &["query", ""],
        &["query", " "],
        &["query", Q, "--filter", "colour:red"],
        &["query", Q, "--filter", "type:"],
        &["query", Q, "--filter", "colour:red", "--json"],
        &["query", "\"unclosed", "--syntax"],
        &["query", "--like", "0000000000000"],
        &["query", Q, "--rerank"],
        &["ask", "Who won the chess championship of 1972?"],
        &["ask", Q, "--filter", "colour:red", "--json"],
        &["ask", ""],
        &["list", "--filter", "colour:red"],
        &["list", "--collection", "none"],
        &["show", "nothing.md"],
        &["show", "nothing.md", "--json"],
        &["rm", "nothing.md", "--dry-run"],
        &["why", "sample-docs/nothing.md"],
        &["why-not", Q, "sample-docs/nothing.md"],
        &["check", "nothing.json"],
    ];
    let ran = check(&house, &server, lines);
    let codes: Vec<i32> = ran.iter().map(|ran| ran.code).collect();
    assert!(codes.iter().all(|code| [1, 2].contains(code)), "{codes:?}");
}

#[test]
fn documents_and_accounts_say_the_same() {
    let house = House::with_samples();
    house.write("sample-docs/broken.pdf", "%PDF-1.7 and no more");
    house.rag(["ingest", "sample-docs", "--quiet", "--tag", "team=ops"]).exits(3);
    let server = Served::start(&house, &["--allow-write"]);
    let (chunk, source) = ids(&house);
    let lines: &[&[&str]] = &[
        &["list"],
        &["list", "--json"],
        &["list", "--filter", "type:pdf"],
        &["list", "--problems"],
        &["show", &chunk],
        &["show", &chunk, "--raw"],
        &["show", &chunk, "--json"],
        &["show", &source],
        &["show", "./sample-docs/faq.html", "--json"],
        &["show", "sample-docs/prices.csv", "--raw"],
        &["show", "sample-docs/faq.html", "--collection", "other"],
        &["status"],
        &["status", "--json"],
        &["status", "--problems"],
        &["status", "--facets"],
        &["status", "--facets", "--filter", "type:markdown", "--json"],
        &["rm", "sample-docs/faq.html", "--dry-run"],
        &["rm", "sample-docs", "--dry-run", "--json"],
        &["rm", "sample-docs/*.md", "nothing", "--dry-run"],
        &["rm", "--tag", "team=ops", "--dry-run"],
        &["why", "sample-docs/faq.html"],
        &["why", &source, "--json"],
        &["why", "sample-docs/broken.pdf"],
        &["why-not", Q, "sample-docs/prices.csv"],
        &["why-not", Q, "sample-docs/prices.csv", "--json"],
        &["why-not", Q, &chunk],
        &["verify"],
        &["verify", "--paranoid", "--json"],
    ];
    let ran = check(&house, &server, lines);
    assert!(ran[3].stdout.contains("broken.pdf"), "{}", ran[3].stdout);
}

#[test]
fn a_list_of_many_pages_is_one_list() {
    let house = House::new();
    for number in 0..1_234 {
        house.write(&format!("docs/{number:04}.txt"), format!("note number {number}"));
    }
    house.rag(["ingest", "docs", "--quiet", "--no-embed"]).ok();
    let server = Served::start(&house, &[]);
    let ran = check(&house, &server, &[&["list", "--json"], &["list", "--filter", "path:docs/00*"]]);
    assert_eq!(ran[0].json("rag.list/1")["documents"].as_array().unwrap().len(), 1_234);
}

#[test]
fn answers_of_extracts_say_the_same() {
    let house = House::with_index();
    let server = Served::start(&house, &[]);
    let lines: &[&[&str]] = &[
        &["ask", Q],
        &["ask", Q, "--json"],
        &["ask", Q, "--format", "md"],
        &["ask", Q, "--extractive", "-k", "3"],
        &["ask", Q, "--strict", "--no-stream"],
        &["ask", Q, "--unsupported", "drop", "--no-gate"],
        &["ask", Q, "--filter", "type:html", "--context-tokens", "600", "--max-tokens", "60"],
    ];
    let ran = check(&house, &server, lines);
    assert!(ran[0].stdout.contains("[1] sample-docs/faq.html"), "{}", ran[0].stdout);

    // Saved, and checked again when a source has changed.
    house.write("saved.json", &ran[1].stdout);
    house.write("saved.txt", &ran[0].stdout);
    let lines: &[&[&str]] = &[
        &["check", "saved.json"],
        &["check", "saved.txt", "--json"],
        &["check", "saved.json", "--strict"],
        &["check", "sample-docs/prices.csv"],
    ];
    check(&house, &server, lines);
    let text = std::fs::read_to_string(house.path("sample-docs/faq.html")).unwrap();
    house.write("sample-docs/faq.html", text.replace("five", "nine"));
    let ran = check(&house, &server, &[&["query", Q, "-k", "1"], &["check", "saved.json"]]);
    assert!(ran[0].stdout.contains("(stale)"), "{}", ran[0].stdout);
    house.rag(["ingest", "sample-docs", "--quiet"]).ok();
    let ran = check(&house, &server, &[&["check", "saved.json"], &["query", Q, "-k", "1", "--json"]]);
    assert_eq!(ran[0].code, 1, "{}", ran[0].stdout);
    assert_eq!(ran[1].json("rag.query/1")["generation"], 2, "a server sees what was committed");
}

#[test]
fn documents_are_removed_there() {
    let house = House::with_index();
    let server = Served::start(&house, &["--allow-write"]);
    let [_, there] = both(&house, &server, &["rm", "sample-docs/faq.html", "--dry-run", "--json"]);
    assert_eq!(there.ok().json("rag.rm/1")["removed"], serde_json::json!(["sample-docs/faq.html"]));
    let run = |arguments: &[&str]| -> Ran {
        house.command().args(arguments).args(["--remote", &server.url]).output().unwrap().into()
    };
    let gone = run(&["rm", "sample-docs/faq.html", "nothing.md"]).exits(1);
    assert_eq!(gone.stdout, "removed  sample-docs/faq.html\n1 document removed; generation 2\n");
    assert_eq!(gone.stderr, "note: `nothing.md` names no document in the index\n");
    let listed = house.rag(["list", "--json"]).ok().json("rag.list/1");
    let paths: Vec<&Value> = listed["documents"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert!(!paths.is_empty() && !paths.contains(&&Value::from("sample-docs/faq.html")), "{paths:?}");
}

#[test]
fn the_variable_names_a_server_and_the_servers_settings_count() {
    let house = House::with_index();
    house.write(".rag/rag.toml", "[retrieve]\nk = 2\n");
    let server = Served::start(&house, &[]);
    let ran = both(&house, &server, &["query", Q, "--format", "jsonl"]);
    same(&["query"], &ran);
    assert_eq!(ran[1].stdout.lines().count(), 2, "{}", ran[1].stdout);
    // What is set where the question is asked counts for nothing; what its flags say counts.
    let [_, there] = both_env(&house, &server, &["query", Q, "-k", "3", "--json"], &[("RAG_RETRIEVE_K", "7")]);
    assert_eq!(there.json("rag.query/1")["results"].as_array().unwrap().len(), 3);
    let away = House::new();
    let named = away.rag_env(["query", Q, "--format", "jsonl"], &[("RAG_REMOTE", &server.url)]).ok();
    assert_eq!(named.stdout, ran[0].stdout);
}

#[test]
fn measures_say_the_same() {
    let house = House::with_index();
    let server = Served::start(&house, &[]);
    let question = |id: &str, text: &str| format!("{{\"_id\":\"{id}\",\"text\":\"{text}\"}}\n");
    house.write(
        "queries.jsonl",
        question("1", Q) + &question("2", "How heavy is the pump?") + &question("3", "not judged"),
    );
    house.write("qrels.tsv", "1\tsample-docs/faq.html\t1\n2\tsample-docs/safety-sheet.pdf\t2\n2\tnothing.md\t1\n");
    let judged = ["eval", "--queries", "queries.jsonl", "--qrels", "qrels.tsv"];
    let lines = [
        &[][..],
        &["--json", "--per-query"],
        &["--mode", "lexical", "--metrics", "map,ndcg@3"],
        &["--fusion", "rrf", "--fail-under", "ndcg@10=0.999", "--json"],
    ]
    .map(|more| [&judged, more].concat());
    let lines: Vec<&[&str]> = lines.iter().map(Vec::as_slice).collect();
    check(&house, &server, &lines);
    for more in [&["--auto"][..], &["--mode", "lexical,dense"], &["--run-out", "run.trec"]] {
        let mut command = house.command();
        command.args(judged).args(more).args(["--remote", &server.url]);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, 2, "{more:?}: {ran:?}");
    }
}
