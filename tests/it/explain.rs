//! why, why-not, and what a query says of itself: stale files, copies, near misses, spelling, rerankers, facets.

use std::time::Duration;

use serde_json::Value;

use crate::{
    house::{House, Ran},
    rerank_double::{Double, Shape},
};

fn results(value: &Value) -> &Vec<Value> {
    value["results"].as_array().unwrap()
}

fn paths(value: &Value) -> Vec<&str> {
    results(value).iter().map(|hit| hit["path"].as_str().unwrap()).collect()
}

#[test]
fn why_names_chunks_or_the_rule() {
    let house = House::with_samples();
    house.write("sample-docs/.ragignore", "# scraps\n*.tmp\n");
    house.write("sample-docs/x.tmp", "scrap");
    house.write("sample-docs/.env", "SECRET=1");
    house.write("sample-docs/raw.dat", [0u8, 159, 146, 150, 0, 1, 2, 3]);
    house.rag(["ingest", "sample-docs", "--quiet"]);
    house.write("sample-docs/later.md", "It came later.");
    house.write("elsewhere/y.md", "It was never given.");

    let known = house.rag(["why", "sample-docs/handbook.md", "--json"]).ok().json("rag.why/1");
    assert_eq!((&known["indexed"], &known["reason"]), (&true.into(), &"indexed".into()));
    let chunk = &known["chunks"][0];
    assert!(chunk["chunk_id"].is_string() && chunk["tokens"].as_u64().unwrap() > 0 && chunk["byte_range"][1].is_u64());
    assert_eq!(known["document"]["path"], "sample-docs/handbook.md");
    let text = house.rag(["why", "sample-docs/handbook.md"]).ok().stdout;
    assert!(text.starts_with("indexed  sample-docs/handbook.md") && text.contains("tokens"), "{text}");

    for (file, reason) in [
        ("sample-docs/x.tmp", "ignored"),
        ("sample-docs/.env", "built_in"),
        ("sample-docs/raw.dat", "skipped"),
        ("sample-docs/later.md", "new"),
        ("elsewhere/y.md", "not_given"),
        ("sample-docs/no-such.md", "absent"),
        (".rag/FORMAT", "inside_index"),
        ("/etc/passwd", "outside"),
    ] {
        let why = house.rag(["why", file, "--json"]).exits(1).json("rag.why/1");
        assert_eq!((&why["reason"], &why["indexed"]), (&reason.into(), &false.into()), "{file}: {why:#}");
    }
    let why = house.rag(["why", "sample-docs/x.tmp", "--json"]).exits(1).json("rag.why/1");
    assert_eq!((&why["rule"]["line"], &why["rule"]["pattern"]), (&2.into(), &"*.tmp".into()), "{why:#}");
    let text = house.rag(["why", "sample-docs/x.tmp"]).exits(1).stdout;
    assert!(text.contains(".ragignore` line 2") && text.contains("`*.tmp`"), "{text}");
    house.rag(["why"]).exits(2);
}

#[test]
fn why_not_says_what_kept_a_file_out() {
    let house = House::with_index();
    let ask = |more: &[&str]| -> Ran {
        let mut command = house.command();
        command.args(["why-not", "how are refunds handled", "sample-docs/prices.csv", "--json"]).args(more);
        command.output().unwrap().into()
    };
    let out = ask(&["-k", "1"]).exits(1).json("rag.why-not/1");
    assert_eq!(out["reason"], "rank", "{out:#}");
    let rank = out["best"]["rank"].as_u64().unwrap();
    assert!(rank > 1 && out["best"]["explain"]["dense"]["rank"].is_u64(), "{out:#}");
    assert_eq!(out["last"]["rank"], 1);
    assert!(out["words"]["lacking"].as_array().unwrap().iter().any(|word| word == "refunds"), "{out:#}");
    let remedy = out["remedy"].as_str().unwrap().strip_prefix("-k ").unwrap().to_owned();
    let found = ask(&["-k", &remedy]).ok().json("rag.why-not/1");
    assert!(found["found"].is_u64() && found["reason"].is_null(), "{found:#}");
    for (more, reason) in [
        (&["--filter", "type:pdf"][..], "filter"),
        (&["--min-score", "0.99"], "min_score"),
        (&["--mode", "lexical"], "no_word"),
    ] {
        let out = ask(more).exits(1).json("rag.why-not/1");
        assert_eq!(out["reason"], reason, "{more:?}: {out:#}");
        assert!(out["best"]["chunk_id"].is_string());
    }
    let gone = house.rag(["why-not", "refunds", "sample-docs/none.md", "--json"]).exits(1).json("rag.why-not/1");
    assert_eq!((&gone["reason"], &gone["why"]["reason"]), (&"not_indexed".into(), &"absent".into()));
    let text = house.rag(["why-not", "how are refunds handled", "sample-docs/prices.csv", "-k", "1"]).exits(1).stdout;
    for word in ["not found", "rank:", "to see it: -k", "last shown: ", "meaning", "lacks", "refunds"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    house.rag(["why-not", "refunds"]).exits(2);
}

#[test]
fn changed_and_vanished_files_are_marked() {
    let house = House::new();
    let text = |word: &str| format!("The {word} is oiled once a year by the keeper of the mill.\n");
    for (name, word) in
        [("same", "axle"), ("touched", "shaft"), ("grown", "wheel"), ("gone", "sluice"), ("swapped", "hinge")]
    {
        house.write(&format!("docs/{name}.md"), text(word));
    }
    house.rag(["ingest", "docs", "--quiet"]).ok();
    std::fs::remove_file(house.path("docs/gone.md")).unwrap();
    house.write("docs/grown.md", format!("{}More.\n", text("wheel")));
    house.write("docs/swapped.md", text("latch"));
    let later = std::time::SystemTime::now() + Duration::from_secs(100);
    for name in ["touched", "swapped"] {
        let file = std::fs::File::options().write(true).open(house.path(&format!("docs/{name}.md"))).unwrap();
        file.set_modified(later).unwrap();
    }
    let found = house.rag(["query", "what is oiled once a year", "--json"]).ok().json("rag.query/1");
    let state = |name: &str| {
        let path = format!("docs/{name}.md");
        results(&found).iter().find(|hit| hit["path"] == path.as_str()).unwrap()["state"].clone()
    };
    assert_eq!((state("same"), state("touched")), (Value::Null, Value::Null), "{found:#}");
    assert_eq!((state("grown"), state("swapped"), state("gone")), ("stale".into(), "stale".into(), "missing".into()));
    let shown = house.rag(["query", "what is oiled once a year"]).ok().stdout;
    assert_eq!((shown.matches("(stale)").count(), shown.matches("(missing)").count()), (2, 1), "{shown}");
    let answer = house.rag(["ask", "Is the sluice oiled once a year?", "--json"]).json("rag.answer/1");
    let cited: Vec<&Value> = answer["sources"].as_array().unwrap().iter().filter(|s| s["cited"] == true).collect();
    assert!(
        cited.iter().any(|source| source["source"] == "docs/gone.md" && source["state"] == "missing"),
        "{answer:#}"
    );
    let why = house.rag(["why", "docs/gone.md", "--json"]).ok().json("rag.why/1");
    assert_eq!(why["state"], "missing");
}

#[test]
fn what_has_no_file_is_not_missing() {
    let house = House::new();
    let mut command = house.command();
    command.args(["ingest", "-", "--name", "note.md"]).stdin(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"The heron stands in the reeds.").unwrap();
    assert!(child.wait().unwrap().success());
    let found = house.rag(["query", "heron", "--json"]).ok().json("rag.query/1");
    assert!(results(&found)[0].get("state").is_none(), "{found:#}");
}

#[test]
fn likes_and_unlikes_are_flags() {
    let house = House::with_index();
    let found = house.rag(["query", "warranty", "--json"]).ok().json("rag.query/1");
    let ids: Vec<&str> = results(&found).iter().map(|hit| hit["chunk_id"].as_str().unwrap()).collect();
    let like =
        house.rag(["query", "--like", ids[0], "--like", ids[1], "--unlike", ids[2], "--json"]).json("rag.query/1");
    let left: Vec<&str> = results(&like).iter().map(|hit| hit["chunk_id"].as_str().unwrap()).collect();
    assert!(!left.is_empty() && ids[..3].iter().all(|id| !left.contains(id)));
    house.rag(["query", "warranty", "--unlike", ids[0]]).ok();
    house.rag(["query", "--unlike", ids[0]]).exits(2);
    house.rag(["query", "--like", ids[0], "--unlike", ids[0]]).exits(2);
    house.rag(["query", "--like", "0000000000000"]).exits(2);
}

#[test]
fn copies_are_counted_and_can_be_kept() {
    let house = House::new();
    let rule = "Every visitor signs the book at the gate, wears the badge in sight, and gives it back on leaving";
    house.write("docs/a.md", format!("{rule}.\n"));
    house.write("docs/b.txt", format!("{rule}, please.\n"));
    house.write("docs/c.md", "The canteen serves soup at noon.\n");
    house.rag(["ingest", "docs", "--quiet"]).ok();
    let found = house.rag(["query", "who signs the book at the gate", "--json"]).ok().json("rag.query/1");
    let first = &results(&found)[0];
    let others = first["duplicates"].as_array().map_or(0, Vec::len) + first["copies"].as_array().map_or(0, Vec::len);
    assert_eq!(others, 1, "{found:#}");
    let kept =
        house.rag(["query", "who signs the book at the gate", "--duplicates", "--json"]).ok().json("rag.query/1");
    assert_eq!(results(&kept).len(), results(&found).len() + 1);
    let answer = house.rag(["ask", "Who signs the book at the gate?", "--json"]).ok().json("rag.answer/1");
    let source = answer["sources"].as_array().unwrap().iter().find(|source| source["cited"] == true).unwrap();
    assert_eq!(source["copies"].as_array().map(Vec::len), Some(1), "{answer:#}");
    assert!(house.rag(["ask", "Who signs the book at the gate?"]).ok().stdout.contains("also in docs/"));
}

#[test]
fn an_endpoint_reranks_in_either_shape() {
    let house = House::with_index();
    let query = ["query", "pump", "--rerank", "--explain", "--json"];
    for shape in [Shape::Documents, Shape::Texts] {
        let double = Double::start(shape, Duration::ZERO, "seal");
        let url = double.url();
        let found = house.rag_env(query, &[("RAG_RERANK_URL", &url), ("RAG_RERANK_MODEL", "m")]).json("rag.query/1");
        let scores: Vec<f64> = results(&found).iter().map(|hit| hit["explain"]["rerank"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b) && scores[0] > 0.0, "{shape:?} {scores:?}");
        let text = results(&found)[0]["text"].as_str().unwrap().to_lowercase();
        let title = results(&found)[0]["heading"].to_string().to_lowercase();
        assert!(text.contains("seal") || title.contains("seal"), "{found:#}");
        assert!(found["timing_ms"]["rerank"].is_f64());
        let count = double.requests()[0]["documents"].as_array().map_or(0, Vec::len);
        assert!((1..=20).contains(&count), "{count}");
        let text = house.rag_env(["query", "pump", "--rerank", "--explain"], &[("RAG_RERANK_URL", &url)]);
        assert!(text.stdout.contains("by reranker"), "{}", text.stdout);
    }
}

#[test]
fn a_reranker_that_fails_is_told() {
    let house = House::with_index();
    let ran = house.rag(["query", "pump", "--rerank"]).exits(2);
    assert!(ran.stderr.contains("no reranker") && ran.stderr.contains("rerank.url"), "{}", ran.stderr);
    let plain = house.rag(["query", "pump", "--json"]).json("rag.query/1");
    let slow = Double::start(Shape::Documents, Duration::from_secs(20), "warranty");
    let begun = std::time::Instant::now();
    let url = slow.url();
    let late =
        house.rag_env(["query", "pump", "--rerank", "--rerank-budget", "300ms", "--json"], &[("RAG_RERANK_URL", &url)]);
    let late = late.json("rag.query/1");
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(paths(&late), paths(&plain));
    assert!(late["notes"].to_string().contains("did not rerank within 0.3 s"), "{late:#}");
    house.rag_env(["query", "pump", "--rerank"], &[("RAG_RERANK_URL", "http://127.0.0.1:9/v1")]).exits(5);
    house.rag_env(["query", "pump", "--rerank"], &[("RAG_RERANK_FOLDER", "/no/such/folder")]).exits(8);
    house.write(".rag/rag.toml", "[rerank]\nurl = \"http://evil.example\"\n");
    house.rag(["query", "pump"]).exits(2);
}

#[test]
fn explain_adds_up() {
    let house = House::with_index();
    for fusion in ["blend", "rrf", "weighted", "dbsf"] {
        let found = house.rag(["query", "error E4", "--fusion", fusion, "--explain", "--json"]).json("rag.query/1");
        for hit in results(&found) {
            let part = |leg: &str| hit["explain"][leg]["contribution"].as_f64().unwrap();
            let sum = part("lexical") + part("dense");
            assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-5, "{fusion}: {hit:#}");
        }
        assert!(found["explain"]["trust"].is_f64());
    }
    let text = house.rag(["query", "error E4", "--explain"]).ok().stdout;
    assert!(text.contains("score ") && text.contains("= lexical ") && text.contains("+ dense "), "{text}");
}

#[test]
fn near_misses_and_misspellings_are_told() {
    let house = House::with_index();
    let ran = house.rag(["query", "how are refunds handled", "--min-score", "1"]).exits(1);
    assert!(ran.stderr.contains("the best left out is") && ran.stderr.contains("--min-score 0."), "{}", ran.stderr);
    let miss = house.rag(["query", "refunds", "--filter", "type:epub", "--json"]).exits(1).json("rag.query/1");
    assert_eq!(miss["near_miss"]["left_out_by"], "filter", "{miss:#}");
    let ran = house.rag(["query", "waranty"]);
    assert!(ran.stderr.contains("did you mean `warranty` for `waranty`?"), "{}", ran.stderr);
    assert!(!house.rag(["query", "warranty"]).stderr.contains("did you mean"));
}

#[test]
fn facets_count_what_filters_ask_for() {
    let house = House::with_samples();
    house.rag(["ingest", "sample-docs", "--tag", "team=ops", "--quiet"]).ok();
    let status = house.rag(["status", "--facets", "--json"]).ok().json("rag.status/1");
    let facets = &status["facets"];
    assert_eq!((&facets["documents"], &facets["tags"]["team"]["ops"]), (&12.into(), &12.into()), "{facets:#}");
    assert_eq!((&facets["type"]["pdf"], &facets["folders"]["sample-docs/"]), (&1.into(), &12.into()));
    let pdf = house.rag(["status", "--facets", "--filter", "type:pdf", "--json"]).ok().json("rag.status/1");
    assert_eq!(pdf["facets"]["documents"], 1);
    let text = house.rag(["status", "--facets"]).ok().stdout;
    assert!(text.starts_with("12 documents\n") && text.contains("tag.team  ops 12"), "{text}");
    house.rag(["status", "--filter", "type:pdf"]).exits(2);
    house.rag(["status", "--facets", "--filter", "typ:pdf"]).exits(2);
}

#[test]
fn a_whole_section_can_be_shown() {
    let house = House::new();
    let long =
        |name: &str| (0..60).map(|i| format!("The {name} number {i} is checked in the morning. ")).collect::<String>();
    house.write("docs/a.md", format!("# Mill\n\n## Gears\n\n{}\n\n## Sails\n\n{}\n", long("gear"), long("sail")));
    house.rag(["ingest", "docs", "--quiet"]).ok();
    let found = house.rag(["query", "gear number 7", "-k", "1", "--expand", "section", "--json"]).json("rag.query/1");
    let hit = &results(&found)[0];
    let around = ["before", "after"].map(|side| hit[side].as_array().cloned().unwrap_or_default()).concat();
    assert!(!around.is_empty());
    assert!(around.iter().all(|chunk| chunk["text"].as_str().unwrap().contains("gear")), "{found:#}");
    let whole: String = around.iter().chain([hit]).map(|chunk| chunk["text"].as_str().unwrap()).collect();
    assert!((0..60).all(|i| whole.contains(&format!("number {i} "))), "{whole}");
}
