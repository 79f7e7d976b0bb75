//! export, import: out of one index and into another.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::house::{House, Ran};

/// The lines of an export, by path.
fn lines(ran: &str) -> BTreeMap<String, Value> {
    let parse = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    ran.lines().map(parse).map(|line| (line["path"].as_str().unwrap().to_owned(), line)).collect()
}

/// What a query finds: chunk, place, text and relevance.
fn found(house: &House, index: &str, query: &str) -> Vec<(String, String, String)> {
    let found = house.rag(["query", query, "-k", "5", "--index", index, "--json"]).json("rag.query/1");
    let hit = |hit: &Value| {
        let word = |key: &str| hit[key].to_string();
        (word("chunk_id"), format!("{} {} {}", word("path"), word("lines"), word("pages")), word("relevance"))
    };
    found["results"].as_array().unwrap().iter().map(hit).collect()
}

const QUERIES: [&str; 5] = [
    "how are refunds handled",
    "What does error E4 mean?",
    "shaft seal price",
    "Mindestbestellwert",
    "flash point of the cleaning agent",
];

#[test]
fn an_export_with_vectors_is_the_index_again() {
    let house = House::with_index();
    house.rag(["ingest", "sample-docs", "--tag", "team=ops", "-q"]).ok();
    house.rag(["export", "--vectors", "--out", "all.jsonl"]).ok();
    let report = house.rag(["import", "all.jsonl", "--index", "other", "--json"]).ok().json("rag.import/1");
    assert_eq!(report["added"].as_array().unwrap().len(), 12);
    assert_eq!(report["chunks"]["embedded"], 0, "{report:#}");
    house.rag(["verify", "--index", "other"]).ok();
    for query in QUERIES {
        let here = found(&house, ".rag", query);
        assert!(!here.is_empty(), "{query}");
        assert_eq!(here, found(&house, "other", query), "{query}");
    }
    // What goes out again is what came in, byte for byte.
    let again = house.rag(["export", "--vectors", "--index", "other", "-q"]).ok().stdout;
    assert_eq!(again, std::fs::read_to_string(house.path("all.jsonl")).unwrap());
    let again = house.rag(["import", "all.jsonl", "--index", "other", "--json"]).ok().json("rag.import/1");
    assert_eq!((&again["unchanged"], &again["bytes_written"]), (&12.into(), &0.into()));
}

#[test]
fn an_export_without_vectors_is_cut_and_embedded_anew() {
    let house = House::with_index();
    let exported = house.rag(["export", "-q"]).ok().stdout;
    let lines = lines(&exported);
    assert_eq!(lines.len(), 12);
    for line in lines.values() {
        assert_eq!(line["schema"], "rag.document/1");
        for key in ["title", "type", "lang", "status", "metadata", "tags", "collection", "blake3"] {
            assert!(!line[key].is_null() || ["title", "lang"].contains(&key), "{key}: {line:#}");
        }
        assert!(line["text"].is_string() != line["pages"].is_array(), "{line:#}");
        assert!(line["chunks"].is_null());
    }
    let pdf = &lines["sample-docs/safety-sheet.pdf"];
    assert_eq!(pdf["pages"][0]["number"], 1);
    house.write("all.jsonl", &exported);
    house.rag(["import", "all.jsonl", "--index", "other"]).ok();
    house.rag(["verify", "--index", "other"]).ok();
    // Text that stood so in its file is cut as it was: the same ids.
    for path in ["sample-docs/handbook.md", "sample-docs/otter-manual.md", "sample-docs/lieferbedingungen.txt"] {
        let ids = |index: &str| -> Vec<String> {
            let shown = house.rag(["show", path, "--index", index, "--json"]).ok().json("rag.show/1");
            shown["chunks"].as_array().unwrap().iter().map(|chunk| chunk["chunk_id"].to_string()).collect()
        };
        assert_eq!(ids(".rag"), ids("other"), "{path}");
    }
    for query in QUERIES {
        let best =
            |index: &str| found(&house, index, query).first().map(|hit| hit.1.split(' ').next().unwrap().to_owned());
        assert_eq!(best(".rag"), best("other"), "{query}");
    }
    let page = house.rag(["query", "flash point", "--filter", "type:pdf", "--index", "other", "--json"]);
    assert!(page.json("rag.query/1")["results"][0]["page"].is_number(), "{}", page.stdout);
}

#[test]
fn what_is_asked_for_goes_out() {
    let house = House::with_index();
    house.write("more/b.md", "# B\n\nThe second collection.\n");
    house.rag(["ingest", "more", "--collection", "two", "-q"]).ok();
    let paths = |ran: Ran| lines(&ran.ok().stdout).into_keys().collect::<Vec<_>>();
    assert_eq!(paths(house.rag(["export", "--collection", "two"])), ["more/b.md"]);
    assert_eq!(paths(house.rag(["export", "--filter", "type:pdf"])), ["sample-docs/safety-sheet.pdf"]);
    house.rag(["export", "--filter", "type:docx"]).exits(1);
    house.rag(["export", "--filter", "nonsense:1"]).exits(2);
    let told = house.rag(["export", "--out", "x.jsonl", "--json"]).ok().json("rag.export/1");
    assert_eq!(told["documents"], 13);
    assert_eq!(told["bytes"].as_u64(), Some(std::fs::metadata(house.path("x.jsonl")).unwrap().len()));
    house.rag(["export", "--out", "no/such/folder/x"]).exits(8);
    // Another collection's documents, under the name asked for.
    house.rag(["import", "x.jsonl", "--collection", "copy", "--no-embed", "--index", "words"]).ok();
    let listed = house.rag(["list", "--index", "words", "--collection", "copy", "--json"]).ok().json("rag.list/1");
    assert_eq!(listed["documents"].as_array().unwrap().len(), 13);
}

#[test]
fn plain_lines_of_other_programs_are_taken() {
    let house = House::new();
    let lines =
        "{\"_id\": \"d1\", \"title\": \"Tides\", \"text\": \"The spring tide follows the new moon.\"}\nnot json\n";
    house.write("corpus.jsonl", lines);
    let ran = house.rag(["import", "corpus.jsonl", "--tag", "set=tides", "--json"]).exits(3);
    let report = ran.json("rag.import/1");
    assert_eq!(report["failed"][0]["path"], "line 2");
    let hit =
        &house.rag(["query", "spring tide", "--filter", "tag.set=tides", "--json"]).json("rag.query/1")["results"][0];
    assert_eq!((&hit["path"], &hit["title"]), (&"import/d1".into(), &"Tides".into()));
    // An ingest of the folder leaves it alone.
    house.write("docs/a.md", "Something else.\n");
    house.rag(["ingest", ".", "--include", "*.md"]).ok();
    house.rag(["show", "import/d1"]).ok();
    house.rag(["import", "absent.jsonl"]).exits(2);
    house.rag(["import", "docs"]).exits(2);
    let fresh = House::new();
    fresh.write("bad", "no\n");
    fresh.rag(["import", "bad"]).exits(3);
    assert!(!fresh.path(".rag").exists(), "a wrong file leaves no index");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::Stdio;
    let house = House::with_index();
    let mut child =
        house.command().args(["export", "--vectors"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

/// What was imported was never on this disk, so that its absence says nothing; once its file was met, it does.
#[test]
fn an_ingest_takes_nothing_that_came_from_elsewhere() {
    let house = House::with_index();
    house.write("here.md", "The harbour opens at six.\n");
    house.write("notes/tides.md", "High water at noon.\n");
    house.rag(["ingest", "here.md", "notes"]).ok();
    house.rag(["export", "--vectors", "--out", "all.jsonl"]).ok();
    house.rag(["import", "all.jsonl", "--index", "far/.rag"]).ok();
    house.write("far/here.md", "The harbour opens at six.\n");
    let ingest = || house.rag(["ingest", "far", "--index", "far/.rag", "--json"]).ok().json("rag.ingest/1");
    let report = ingest();
    assert_eq!((&report["removed"], &report["unchanged"]), (&serde_json::json!([]), &1.into()), "{report:#}");
    let hits = house.rag(["query", "high water", "--index", "far/.rag", "--json"]).ok().json("rag.query/1");
    assert_eq!((&hits["results"][0]["path"], &hits["results"][0]["state"]), (&"notes/tides.md".into(), &Value::Null));
    // From now on its file can vanish.
    house.write("far/notes/tides.md", "High water at noon.\n");
    ingest();
    std::fs::remove_file(house.path("far/notes/tides.md")).unwrap();
    assert_eq!(ingest()["removed"][0]["path"], "notes/tides.md");
}
