//! `rag eval` as a user runs it: a small collection in BEIR's layout, its figures, its bars and its complaints.

use std::process::Command;

use serde_json::Value;

use crate::{
    house::{House, Ran, contents, project},
    llm_double::{Behaviour, Double, Profile},
};

const BIRDS: [(&str, &str, &str); 6] = [
    ("d1", "Dipper", "The dipper walks under water and hunts larvae between the stones of fast brooks."),
    ("d2", "Heron", "The heron stands in the shallows and waits for fish that come too near."),
    ("d3", "", "The kingfisher dives from a branch and nests in a tunnel in the bank of the river."),
    ("d4", "Owl", "The barn owl hears mice under snow, for its ears sit at different heights."),
    ("d5", "Woodpecker", "The woodpecker drums on dead wood; a bone behind its tongue spares its brain."),
    ("d6", "Empty", ""),
];

const QUESTIONS: [(&str, &str); 5] = [
    ("q1", "which bird hunts under water"),
    ("q2", "who waits for fish in the shallows"),
    ("q3", "nest in the bank of a river"),
    ("q4", "how does an owl find mice"),
    ("q5", "drumming on wood"),
];

const QRELS: &str = "q1\td1\t2\nq1\td3\t1\nq2\td2\t1\nq3\td3\t1\nq4\td4\t1\nq5\td5\t1\n";

/// A collection in `birds/`.
fn birds() -> House {
    let house = House::new();
    let line = |(id, title, text): &(&str, &str, &str)| {
        format!("{}\n", serde_json::json!({"_id": id, "title": title, "text": text, "metadata": {}}))
    };
    house.write("birds/corpus.jsonl", BIRDS.iter().map(line).collect::<String>());
    let line = |(id, text): &(&str, &str)| format!("{}\n", serde_json::json!({"_id": id, "text": text}));
    house.write("birds/queries.jsonl", QUESTIONS.iter().map(line).collect::<String>());
    house.write("birds/qrels/test.tsv", format!("query-id\tcorpus-id\tscore\n{QRELS}"));
    house
}

fn mean(result: &Value, metric: &str) -> f64 {
    result["metrics"][metric]["mean"].as_f64().unwrap_or_else(|| panic!("{metric}: {result:#}"))
}

/// What is in the temporary folder of a test, which nobody else uses.
fn rag_in(house: &House, arguments: &[&str]) -> Ran {
    std::fs::create_dir_all(house.path("tmp")).unwrap();
    let mut command = house.command();
    command.args(arguments).env("TMPDIR", house.path("tmp"));
    Ran::from(command.output().unwrap())
}

#[test]
fn a_collection_is_measured_and_nothing_is_left_behind() {
    let house = birds();
    let ran = rag_in(&house, &["eval", "birds", "--json", "--per-query"]).ok();
    assert_eq!(ran.stderr, "");
    let result = ran.json("rag.eval/1");
    assert_eq!((&result["queries"], &result["documents"]), (&5.into(), &6.into()));
    for metric in ["ndcg@10", "recall@10", "recall@100", "mrr@10", "map"] {
        let value = &result["metrics"][metric];
        let (low, high) = (value["low"].as_f64().unwrap(), value["high"].as_f64().unwrap());
        assert!(low <= mean(&result, metric) && mean(&result, metric) <= high && high <= 1.0, "{metric}: {value}");
    }
    assert_eq!(mean(&result, "mrr@10"), 1.0, "each question has its bird first: {result:#}");
    assert_eq!(mean(&result, "recall@100"), 1.0);
    let one = &result["configurations"][0];
    assert_eq!(one["configuration"]["mode"], "hybrid");
    assert_eq!(one["configuration"]["chunk_tokens"], 230);
    assert_eq!(one["metrics"], result["metrics"]);
    let first = &one["per_query"][0];
    assert_eq!((&first["id"], &first["metrics"]["mrr@10"]), (&"q1".into(), &1.0.into()));
    assert!(first["relevance"].as_f64().unwrap() > 0.5);
    assert!(contents(&house.path("tmp")).is_empty());
    assert!(!house.path(".rag").exists());

    // The same again, to the last digit; the text says the same.
    let again = rag_in(&house, &["eval", "birds", "--json"]).ok().json("rag.eval/1");
    assert_eq!(again["metrics"], result["metrics"]);
    let text = rag_in(&house, &["eval", "birds"]).ok().stdout;
    assert!(text.starts_with("birds: 5 questions, 6 documents, 6 chunks, hybrid blend 230/40\n"), "{text}");
    assert!(text.contains(&format!("ndcg@10     {:.4}  ", mean(&result, "ndcg@10"))), "{text}");
}

#[test]
fn every_layout_of_a_collection_gives_the_same_figures() {
    let house = birds();
    let want = rag_in(&house, &["eval", "birds", "--json"]).ok().json("rag.eval/1");
    // TREC's columns, and `id` for `_id`.
    let text = std::fs::read_to_string(house.path("birds/corpus.jsonl")).unwrap();
    house.write("plain/corpus.jsonl", text.replace("\"_id\"", "\"id\""));
    house.write("plain/queries.jsonl", std::fs::read(house.path("birds/queries.jsonl")).unwrap());
    house.write("plain/qrels.tsv", QRELS.replace("\td", " 0 d").replace('\t', " "));
    let got = rag_in(&house, &["eval", "plain", "--json"]).ok().json("rag.eval/1");
    assert_eq!(got["metrics"], want["metrics"]);

    // Packed.
    let packed = house.path("packed/corpus.jsonl.gz");
    std::fs::create_dir_all(packed.parent().unwrap()).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(std::fs::File::create(packed).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    gzip.finish().unwrap();
    let arguments = ["eval", "packed", "--queries", "birds/queries.jsonl", "--qrels", "birds/qrels/test.tsv", "--json"];
    assert_eq!(rag_in(&house, &arguments).ok().json("rag.eval/1")["metrics"], want["metrics"]);

    // Files, which judgements may call with or without extension.
    for (id, title, text) in BIRDS {
        house.write(&format!("files/corpus/{id}.md"), format!("# {title}\n\n{text}\n"));
    }
    house.write("files/queries.jsonl", std::fs::read(house.path("birds/queries.jsonl")).unwrap());
    for qrels in [QRELS.to_owned(), QRELS.replace("\t1\n", ".md\t1\n").replace("\t2\n", ".md\t2\n")] {
        house.write("files/qrels.tsv", qrels);
        let got = rag_in(&house, &["eval", "files", "--json"]).ok().json("rag.eval/1");
        assert_eq!((mean(&got, "mrr@10"), &got["documents"]), (1.0, &6.into()), "{got:#}");
        assert_eq!(got["warnings"], Value::Array(vec![]));
    }
}

#[test]
fn all_combinations_are_measured_once() {
    let house = birds();
    let arguments = [
        "eval",
        "birds",
        "--mode",
        "hybrid,lexical,dense",
        "--fusion",
        "blend,rrf",
        "--chunk-tokens",
        "200,64",
        "--run-out",
        "run.trec",
        "--json",
    ];
    let result = rag_in(&house, &arguments).ok().json("rag.eval/1");
    let all = result["configurations"].as_array().unwrap();
    let label = |one: &Value| {
        let of = &one["configuration"];
        format!("{} {} {}", of["mode"].as_str().unwrap(), of["fusion"].as_str().unwrap_or("-"), of["chunk_tokens"])
    };
    let want = [
        "hybrid blend 200",
        "hybrid rrf 200",
        "lexical - 200",
        "dense - 200",
        "hybrid blend 64",
        "hybrid rrf 64",
        "lexical - 64",
        "dense - 64",
    ];
    assert_eq!(all.iter().map(label).collect::<Vec<_>>(), want);
    assert_eq!(all[0]["against_first"], Value::Null);
    let p = all[2]["against_first"]["ndcg@10"]["p"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&p));
    // Runs can be measured again, and compared.
    let arguments = ["eval", "birds", "--compare", "run-1.trec", "run-3.trec", "--json"];
    let compared = rag_in(&house, &arguments).ok().json("rag.eval/1");
    assert_eq!(compared["comparison"]["first_metrics"], all[0]["metrics"]);
    assert_eq!(compared["comparison"]["second_metrics"], all[2]["metrics"]);
    assert_eq!(compared["comparison"]["differences"], all[2]["against_first"]);
    let text = rag_in(&house, &["eval", "birds", "--mode", "lexical,dense"]).ok().stdout;
    assert!(text.contains("\nlexical 230/40 ") && text.contains("\nover lexical 230/40 "), "{text}");
    let text = rag_in(&house, &["eval", "birds", "--compare", "run-1.trec", "run-3.trec"]).ok().stdout;
    assert!(text.contains("\ndifference ") && text.contains(" worse\n"), "{text}");
    let own = rag_in(&house, &["eval", "birds", "--compare", "run-1.trec", "--json"]).ok().json("rag.eval/1");
    assert_eq!(own["comparison"]["differences"]["map"]["mean"], 0.0);
    assert_eq!(own["comparison"]["differences"]["map"]["p"], 1.0);
}

#[test]
fn a_bar_that_is_missed_is_a_no() {
    let house = birds();
    let eval = |bars: &[&str]| {
        let mut arguments = vec!["eval", "birds", "--json"];
        bars.iter().for_each(|bar| arguments.extend(["--fail-under", bar]));
        rag_in(&house, &arguments)
    };
    eval(&["mrr@10=1.0", "recall@5=0.5"]).ok();
    let missed = eval(&["mrr@10=1.0", "ndcg@10=1.0"]).exits(1).json("rag.eval/1");
    assert_eq!((&missed["bars"][0]["met"], &missed["bars"][1]["met"]), (&true.into(), &false.into()));
    for wrong in ["ndcg@10", "ndcg@10=2", "speed=0.5"] {
        let error = eval(&[wrong]).exits(2).json_error();
        assert_eq!(error["kind"], "usage", "{wrong}");
    }
    let text = rag_in(&house, &["eval", "birds", "--fail-under", "ndcg@10=1"]).exits(1).stdout;
    assert!(text.contains("missed  ndcg@10 at least 1, is "), "{text}");
}

#[test]
fn an_index_that_is_kept_makes_the_next_run_quick() {
    let house = birds();
    let eval = || rag_in(&house, &["eval", "birds", "--index", "kept", "--json"]).ok().json("rag.eval/1");
    let first = eval();
    // The lock names its last holder.
    let kept =
        || contents(&house.path("kept")).into_iter().filter(|(path, _)| !path.ends_with("lock")).collect::<Vec<_>>();
    let before = kept();
    let second = eval();
    assert_eq!(first["metrics"], second["metrics"]);
    assert!(before == kept(), "nothing is written for what is unchanged");
    // A title that changes is a change, and so is a document that goes.
    let text = std::fs::read_to_string(house.path("birds/corpus.jsonl")).unwrap();
    let fewer: String = text.replace("\"Owl\"", "\"Tyto\"").lines().skip(1).map(|line| format!("{line}\n")).collect();
    house.write("birds/corpus.jsonl", fewer);
    let third = rag_in(&house, &["eval", "birds", "--index", "kept", "--json"]).ok().json("rag.eval/1");
    assert_eq!(third["documents"], 5);
    assert_eq!(third["warnings"][0], "judged but not there: 1 of 5 documents (`d1`)");
    let hit = house.rag(["query", "tyto", "--index", "kept", "--json"]).json("rag.query/1");
    assert_eq!((&hit["results"][0]["title"], &hit["results"][0]["path"]), (&"Tyto".into(), &"corpus/d4/_".into()));
    let status = house.rag(["status", "--index", "kept", "--json"]).ok().json("rag.status/1");
    assert_eq!(status["sources"], 5);

    // An index of other documents is none for an evaluation.
    house.write("docs/a.md", "Words.");
    house.rag(["ingest", "docs"]).ok();
    let refused = rag_in(&house, &["eval", "birds", "--index", ".rag"]).exits(2).stderr;
    assert!(refused.contains("holds other documents"), "{refused}");
    house.rag(["query", "words"]).ok();
}

#[test]
fn the_index_there_is_can_be_measured() {
    let house = birds();
    for (id, title, text) in BIRDS {
        house.write(&format!("docs/{id}.md"), format!("# {title}\n\n{text}\n"));
    }
    house.rag(["ingest", "docs"]).ok();
    for (from, to) in [("d", "docs/d"), ("d", "d")] {
        house.write("judged.tsv", QRELS.replace(&format!("\t{from}"), &format!("\t{to}")));
        let arguments = ["eval", "--queries", "birds/queries.jsonl", "--qrels", "judged.tsv", "--json"];
        let result = rag_in(&house, &arguments).ok().json("rag.eval/1");
        assert_eq!((mean(&result, "mrr@10"), &result["documents"]), (1.0, &6.into()), "{result:#}");
    }
    let arguments = ["eval", "--queries", "birds/queries.jsonl", "--qrels", "judged.tsv", "--chunk-tokens", "64"];
    assert!(rag_in(&house, &arguments).exits(2).stderr.contains("cut into chunks already"));
}

#[test]
fn what_does_not_fit_together_is_counted() {
    let house = birds();
    house.write("birds/qrels.tsv", format!("{QRELS}q1\td99\t1\nq9\td1\t1\nq2\td1\t0\nq8\td1\t0\nq2\td1\t0\n"));
    let result = rag_in(&house, &["eval", "birds", "--json"]).ok().json("rag.eval/1");
    let warnings: Vec<&str> = result["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    let want = [
        "judged but not among the queries, scored 0: 1 question (`q9`)",
        "without a relevant document, left out: 1 question (`q8`)",
        "judged again by a later line, which counts: 1 judgement",
        "judged but not there: 1 of 6 documents (`d99`)",
    ];
    assert_eq!(warnings, want);
    assert_eq!(result["queries"], 6, "the one that is missing counts");

    for (file, text, want) in [
        ("birds/qrels.tsv", "q1\td1\n", "`birds/qrels.tsv` line 1: 2 columns"),
        ("birds/qrels.tsv", "x\td1\t1\n", "none has judgements"),
        ("birds/qrels.tsv", "q1\tx\t1\n", "none of the 1 judged documents is there, `x`"),
        ("birds/corpus.jsonl", "{\"_id\": \"d1\"}\n", "`birds/corpus.jsonl` line 1: no `text`"),
        ("birds/queries.jsonl", "nonsense\n", "`birds/queries.jsonl` line 1: "),
    ] {
        let house = birds();
        house.write(file, text);
        let error = rag_in(&house, &["eval", "birds", "--json"]).exits(2).json_error();
        assert!(error["message"].as_str().unwrap().contains(want), "{file} {text}: {error:#}");
        assert!(contents(&house.path("tmp")).is_empty());
    }
    for arguments in [
        &["eval"][..],
        &["eval", "nowhere"],
        &["eval", "tmp"],
        &["eval", "birds", "--qrels", "nowhere.tsv"],
        &["eval", "birds", "--chunk-tokens", "64", "--chunk-overlap", "40"],
        &["eval", "birds", "--mode", "telepathic"],
        &["eval", "birds", "--compare", "nowhere.run", "other.run"],
        &["eval", "--queries", "birds/queries.jsonl", "--qrels", "birds/qrels/test.tsv"],
    ] {
        let ran = rag_in(&house, arguments).exits(2);
        assert!(!ran.stderr.is_empty(), "{arguments:?}");
    }
}

/// Of the collections beside the project; where they are not, there is nothing to compare.
#[test]
fn the_figures_are_those_of_the_scorer() {
    let shared = project().join("../shared/eval");
    if !shared.join("score.py").exists() {
        println!("skipped: no collections beside the project");
        return;
    }
    let house = House::new();
    let adi = shared.join("adi");
    let arguments = ["eval", adi.to_str().unwrap(), "--mode", "lexical", "--run-out", "adi.run", "--json"];
    let result = rag_in(&house, &arguments).ok().json("rag.eval/1");
    let scored = Command::new("python3")
        .args([shared.join("score.py"), adi.join("qrels.tsv"), house.path("adi.run")])
        .arg("--json")
        .output()
        .expect("python3");
    let scored: Value = serde_json::from_slice(&scored.stdout).unwrap();
    for (ours, theirs) in [
        ("ndcg@10", "nDCG@10"),
        ("recall@10", "Recall@10"),
        ("recall@100", "Recall@100"),
        ("mrr@10", "MRR@10"),
        ("map", "MAP"),
    ] {
        let difference = mean(&result, ours) - scored[theirs].as_f64().unwrap();
        assert!(difference.abs() < 1e-6, "{ours}: {difference}");
    }
    assert_eq!(result["queries"], scored["queries"]);
}

#[test]
fn questions_are_made_from_the_documents() {
    let house = House::with_index();
    let eval = |seed: &str| rag_in(&house, &["eval", "--auto", "--seed", seed, "--json"]).ok().json("rag.eval/1");
    let first = eval("1");
    assert_eq!(first["metrics"], eval("1")["metrics"], "the seed decides");
    let kinds = first["made"]["kinds"].as_object().unwrap();
    let count: u64 = kinds.values().map(|number| number.as_u64().unwrap()).sum();
    assert_eq!(first["queries"], count);
    assert!(count > 20, "{kinds:?}");
    let modes: Vec<_> =
        first["configurations"].as_array().unwrap().iter().map(|one| &one["configuration"]["mode"]).collect();
    assert_eq!(modes, ["hybrid", "lexical", "dense"]);
    assert!(mean(&first, "recall@10") > 0.9, "{first:#}");
    assert!(mean(&first, "ndcg@10") > 0.7, "{first:#}");
    let told = first["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().contains("favour"));
    assert!(told, "words stand beside meaning: {first:#}");

    // A bar is for what the settings do, not for a leg that is shown beside it.
    let of = |at: usize| first["configurations"][at]["metrics"]["mrr@10"]["mean"].as_f64().unwrap();
    let least = of(1).min(of(2));
    assert!(least < of(0), "{first:#}");
    let bar = format!("mrr@10={}", (least + of(0)) / 2.0);
    let judged = rag_in(&house, &["eval", "--auto", "--seed", "1", "--fail-under", &bar, "--json"]).ok();
    let judged = judged.json("rag.eval/1")["bars"][0]["mean"].as_f64().unwrap();
    assert!((judged - of(0)).abs() < 1e-3, "{judged} {}", of(0));
    let all = ["eval", "--auto", "--seed", "1", "--mode", "hybrid,lexical,dense", "--fail-under", &bar];
    rag_in(&house, &all).exits(1);

    // A set that is kept can be asked of the index, and of itself.
    let arguments = ["eval", "--auto", "--write", "set", "--mode", "hybrid", "--json"];
    let made = rag_in(&house, &arguments).ok().json("rag.eval/1");
    let arguments = [
        "eval",
        "--queries",
        "set/queries.jsonl",
        "--qrels",
        "set/qrels.tsv",
        "--metrics",
        "recall@1,recall@5,recall@10,mrr@10,ndcg@10",
        "--json",
    ];
    assert_eq!(rag_in(&house, &arguments).ok().json("rag.eval/1")["metrics"], made["metrics"]);
    let alone = rag_in(&house, &["eval", "set", "--mode", "lexical", "--json"]).ok().json("rag.eval/1");
    assert!(mean(&alone, "recall@10") > 0.8, "{alone:#}");
    rag_in(&house, &["eval", "--auto", "--write", "set"]).exits(2);
    rag_in(&house, &["eval", "set", "--auto"]).exits(2);

    let empty = House::new();
    empty.write("docs/a.md", "Words.");
    empty.rag(["ingest", "docs"]).ok();
    assert!(rag_in(&empty, &["eval", "--auto"]).exits(2).stderr.contains("too few"));
}

#[test]
fn settings_are_proposed_where_they_are_better() {
    let house = House::with_index();
    house.write(".rag/rag.toml", "# ours\n[retrieve]\nk = 1 # one is enough\n");
    let result = rag_in(&house, &["tune", "--json", "--chunk-tokens", "100"]).ok().json("rag.tune/1");
    let setting = |key: &str| {
        let all = result["settings"].as_array().unwrap();
        all.iter().find(|setting| setting["key"] == key).unwrap_or_else(|| panic!("{key}: {result:#}")).clone()
    };
    assert!(setting("retrieve.k")["proposal"].as_f64().unwrap() >= 5.0, "more than one result: {result:#}");
    for (key, values) in [("retrieve.k", 8), ("retrieve.alpha", 7), ("ingest.chunk_tokens", 2)] {
        let trials = setting(key)["trials"].as_array().unwrap().clone();
        assert_eq!(trials.len(), values, "{key}");
        assert_eq!(trials.iter().filter(|trial| trial["against_current"].is_null()).count(), 1, "{key}");
    }
    assert_eq!(result["written"], Value::Null);
    assert!(contents(&house.path("tmp")).is_empty());

    let text = rag_in(&house, &["tune", "--write"]).ok().stdout;
    assert!(text.contains("proposal: retrieve.k = ") && text.contains("\nwritten to "), "{text}");
    let file = std::fs::read_to_string(house.path(".rag/rag.toml")).unwrap();
    assert!(file.starts_with("# ours\n[retrieve]\n") && file.contains(" # one is enough\n"), "{file}");
    house.rag(["query", "refunds"]).ok();
    let again = rag_in(&house, &["tune", "--json"]).ok().json("rag.tune/1");
    assert_eq!(again["settings"][0]["proposal"], Value::Null, "what was proposed is kept: {again:#}");

    // One's own questions, too few to tell anything.
    let house = birds();
    for (id, title, text) in BIRDS {
        house.write(&format!("docs/{id}.md"), format!("# {title}\n\n{text}\n"));
    }
    house.rag(["ingest", "docs"]).ok();
    let arguments = ["tune", "--queries", "birds/queries.jsonl", "--qrels", "birds/qrels/test.tsv"];
    let text = rag_in(&house, &arguments).ok().stdout;
    assert!(text.contains("\nkeep the settings as they are\n"), "{text}");
}

/// A folder of documents with questions about them: one answered in its words, one in others, one not at all.
fn birds_with_answers() -> House {
    let house = House::new();
    for (id, title, text) in BIRDS.iter().filter(|(_, _, text)| !text.is_empty()) {
        house.write(&format!("birds/corpus/{id}.md"), format!("# {title}\n\n{text}\n"));
    }
    let lines = [
        r#"{"id":"a1","question":"Where does the dipper walk?","gold":[{"path":"d1.md","text":"under water"}]}"#,
        r#"{"id":"a2","question":"Where does the kingfisher nest?","kind":"paraphrased","gold":[{"path":"d3.md","text":"in a tunnel"}]}"#,
        r#"{"id":"a3","question":"What is the boiling point of mercury?","kind":"unanswerable"}"#,
    ];
    house.write("birds/answers.jsonl", lines.join("\n"));
    house
}

#[test]
fn answers_are_measured() {
    let house = birds_with_answers();
    let ran = rag_in(&house, &["eval", "birds", "--answers", "--json"]).ok();
    assert_eq!(ran.stderr, "");
    let result = ran.json("rag.eval-answers/1");
    assert_eq!(result["by"], serde_json::json!({"extractive": true}));
    for metric in ["span@answer", "span@source", "citation-precision", "citation-recall", "abstention", "answered"] {
        assert_eq!(mean(&result, metric), 1.0, "{metric}: {result:#}");
    }
    assert_eq!(mean(&result, "false-abstention"), 0.0);
    let ids: Vec<&Value> = result["questions"].as_array().unwrap().iter().map(|question| &question["id"]).collect();
    assert_eq!(ids, ["a1", "a2", "a3"]);
    assert_eq!(result["questions"][2]["status"], "no_answer");
    assert!(contents(&house.path("tmp")).is_empty() && !house.path(".rag").exists());

    // Of lines each document is called by its id.
    house.write("lines/corpus.jsonl", std::fs::read(birds().path("birds/corpus.jsonl")).unwrap());
    let lines = std::fs::read_to_string(house.path("birds/answers.jsonl")).unwrap().replace(".md\"", "\"");
    house.write("lines/answers.jsonl", lines);
    let of_lines = rag_in(&house, &["eval", "lines", "--answers", "--json"]).ok().json("rag.eval-answers/1");
    assert_eq!((mean(&of_lines, "span@answer"), &of_lines["warnings"]), (1.0, &Value::Array(vec![])));

    // On an index, with bars; the questions that went wrong are named.
    house.rag(["ingest", "birds/corpus", "--quiet"]).ok();
    let wrong = r#"{"id":"w1","question":"Where does the dipper walk?","gold":[{"path":"d1.md","text":"under snow"}]}"#;
    let strange = r#"{"id":"w2","question":"Where does the dipper walk?","kind":"unanswerable"}"#;
    house.write("wrong.jsonl", format!("{wrong}\n{strange}\n"));
    let bars = ["--fail-under", "answered=1", "--fail-under", "span@answer=0.85"];
    let ran = rag_in(&house, &[&["eval", "--answers", "wrong.jsonl"], &bars[..]].concat()).exits(1);
    assert!(ran.stdout.contains("met  answered at least 1, is 1.0000\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("missed  span@answer at least 0.85, is 0.0000\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("answered beside the point: w1\nanswered without ground: w2\n"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("gold that is not in the documents as they are indexed: 1 question (w1)"),
        "{}",
        ran.stderr
    );
    house.rag(["eval", "--answers", "birds/answers.jsonl", "--fail-under", "abstention=1"]).ok();
}

/// A model that cites the wrong passage is worth what it is worth.
#[test]
fn answers_of_a_model_are_measured() {
    let house = birds_with_answers();
    house.rag(["ingest", "birds/corpus", "--quiet"]).ok();
    let measured = |behaviour: Behaviour| {
        let llm = Double::start(Profile::OpenAi, [behaviour]);
        let variables = [("RAG_LLM_URL", llm.url()), ("RAG_LLM_MODEL", "double".to_owned())];
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
        let ran = house.rag_env(["eval", "--answers", "birds/answers.jsonl", "--json"], &variables).ok();
        (ran.json("rag.eval-answers/1"), llm.requests().len())
    };
    let (right, _) = measured(Behaviour::CiteRight);
    assert_eq!(right["by"], serde_json::json!({"extractive": false, "model": "double"}));
    assert_eq!((mean(&right, "citation-precision"), mean(&right, "citation-recall")), (1.0, 1.0), "{right:#}");
    assert_eq!(mean(&right, "span@source"), 1.0);
    let (wrong, _) = measured(Behaviour::Answer("The dipper was born in 1843 in Paris [1].".into()));
    assert_eq!((mean(&wrong, "citation-precision"), mean(&wrong, "citation-recall")), (0.0, 0.0), "{wrong:#}");
    assert_eq!(wrong["questions"][0]["flagged"], 1);
    let (none, _) = measured(Behaviour::Answer("NO_ANSWER".into()));
    assert_eq!((mean(&none, "false-abstention"), mean(&none, "abstention")), (1.0, 1.0), "{none:#}");
    assert!(none["metrics"].get("citation-precision").is_none(), "nothing was cited");
}

#[test]
fn what_cannot_be_measured_of_answers_is_said() {
    let house = birds_with_answers();
    house.rag(["ingest", "birds/corpus", "--quiet"]).ok();
    let check = |arguments: &[&str], want: &str| {
        let mut all = vec!["eval"];
        all.extend(arguments);
        let ran = rag_in(&house, &all).exits(2);
        assert!(ran.stderr.contains(want), "{arguments:?}: {}", ran.stderr);
    };
    check(&["--answers"], "no collection and no file with questions");
    check(&["--answers", "birds/answers.jsonl", "--fail-under", "ndcg@10=0.5"], "measured of retrieval");
    check(&["birds", "--fail-under", "span@answer=0.5"], "`span@answer` is measured of answers");
    check(&["--answers", "birds/answers.jsonl", "--fail-under", "false-abstention=0.1"], "write `answered=`");
    check(&["--answers", "birds/answers.jsonl", "--mode", "hybrid,lexical"], "one configuration a run");
    check(&["--answers", "absent.jsonl"], "cannot read `absent.jsonl`");
    house.write("bad.jsonl", "\n{\"id\":\"x\",\"question\":\"q\"}");
    check(&["--answers", "bad.jsonl"], "`bad.jsonl` line 2: it is answerable, but no `gold` says where");
    house.write("empty.jsonl", "\n");
    check(&["--answers", "empty.jsonl"], "holds no question");
}
