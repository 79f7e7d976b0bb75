//! status, list, show, rm, verify, config, completions.

use crate::house::House;

#[test]
fn status_counts_what_is_there() {
    let house = House::with_index();
    let status = house.rag(["status", "--json"]).ok().json("rag.status/1");
    assert_eq!(status["sources"], 12);
    assert_eq!(status["chunks"], status["vectors"]);
    assert_eq!(status["embedding_space"]["model"], "all-minilm-l6-v2");
    assert_eq!(status["embedding_space"]["dim"], 384);
    assert!(status["embedder"].as_str().unwrap().contains("rten"), "{status:#}");
    assert_eq!(status["languages"]["de"].as_u64().map(|n| n > 0), Some(true), "{status:#}");
    assert_eq!(status["types"]["pdf"], 1);
    let text = house.rag(["status"]).ok().stdout;
    assert!(text.contains("12 documents") && text.contains("all-minilm-l6-v2"), "{text}");
}

#[test]
fn list_and_filters() {
    let house = House::with_index();
    let listed = |filter: &str| -> Vec<String> {
        let ran = house.rag(["list", "--json", "--filter", filter]);
        let listed = ran.json("rag.list/1");
        listed["documents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d["path"].as_str().unwrap().replace("sample-docs/", ""))
            .collect()
    };
    assert_eq!(listed("type:pdf"), ["safety-sheet.pdf"]);
    assert_eq!(listed("lang:de"), ["lieferbedingungen.txt"]);
    assert_eq!(
        listed("path:sample-docs/*.md and not title:handbook"),
        ["CHANGELOG.md", "minutes-2026-04.md", "otter-manual.md"]
    );
    assert_eq!(listed("author:\"Ines Varga\""), ["handbook.md"]);
    assert_eq!(listed("meta.team=product"), ["minutes-2026-04.md"]);
    assert_eq!(listed("pages>=2"), ["safety-sheet.pdf"]);
    assert_eq!(listed("mtime<1999-01-01"), Vec::<String>::new());
    assert_eq!(listed("ext:csv or ext:py"), ["controller.py", "prices.csv"]);
    let found = house.rag(["query", "shaft seal", "--filter", "type:csv", "--json"]).ok().json("rag.query/1");
    assert!(found["results"].as_array().unwrap().iter().all(|hit| hit["path"] == "sample-docs/prices.csv"));
}

#[test]
fn tags_are_fields() {
    let house = House::new();
    house.write("docs/a.md", "The osprey circles.\n");
    house.rag(["ingest", "docs", "--tag", "team=ops", "--tag", "year=2026"]).ok();
    let found = house.rag(["query", "osprey", "--filter", "tag.team=ops", "--json"]).ok().json("rag.query/1");
    assert_eq!(found["results"][0]["path"], "docs/a.md");
    house.rag(["query", "osprey", "--filter", "tag.team=sales"]).exits(1);
    house.rag(["rm", "--tag", "team=sales"]).exits(1);
    house.rag(["rm", "--tag", "team=ops"]).ok();
    house.rag(["list"]).exits(1);
}

#[test]
fn show_prints_where_a_chunk_comes_from() {
    let house = House::with_index();
    let found = house.rag(["query", "error E4", "--json"]).ok().json("rag.query/1");
    let id = found["results"][0]["chunk_id"].as_str().unwrap();
    let shown = house.rag(["show", id, "--json"]).ok().json("rag.show/1");
    assert_eq!(shown["chunks"][0]["chunk_id"], id);
    assert_eq!(shown["chunks"][0]["text"], found["results"][0]["text"]);
    let text = house.rag(["show", id]).ok().stdout;
    assert!(text.contains("sample-docs/otter-manual.md:"), "{text}");
    let document = house.rag(["show", "sample-docs/otter-manual.md", "--json"]).ok().json("rag.show/1");
    assert_eq!(document["document"]["type"], "markdown");
    assert!(document["chunks"].as_array().unwrap().len() > 3);
    house.rag(["show", "sample-docs/nothing.md"]).exits(1);
    house.rag(["show", "0000000000000"]).exits(1);
}

#[test]
fn lines_point_at_the_source() {
    let house = House::with_index();
    let source = std::fs::read_to_string(house.path("sample-docs/handbook.md")).unwrap();
    let lines: Vec<&str> = source.lines().collect();
    let shown = house.rag(["show", "sample-docs/handbook.md", "--json"]).ok().json("rag.show/1");
    for chunk in shown["chunks"].as_array().unwrap() {
        let (first, last) =
            (chunk["lines"][0].as_u64().unwrap() as usize, chunk["lines"][1].as_u64().unwrap() as usize);
        let text = chunk["text"].as_str().unwrap();
        let cut = lines[first - 1..last].join("\n");
        assert!(cut.contains(text.trim_end()), "lines {first}-{last} hold\n{cut}\nnot\n{text}");
    }
}

#[test]
fn every_byte_range_cuts_its_text_out_of_what_show_prints() {
    let house = House::with_index();
    let listed = house.rag(["list", "--json"]).ok().json("rag.list/1");
    for document in listed["documents"].as_array().unwrap() {
        let path = document["path"].as_str().unwrap();
        let raw = house.rag(["show", path, "--raw"]).ok().stdout;
        let shown = house.rag(["show", path, "--json"]).ok().json("rag.show/1");
        for chunk in shown["chunks"].as_array().unwrap() {
            let (start, end) = (chunk["byte_range"][0].as_u64().unwrap(), chunk["byte_range"][1].as_u64().unwrap());
            if shown["chunks"].as_array().unwrap().len() > 1 {
                assert_eq!(&raw[start as usize..end as usize], chunk["text"].as_str().unwrap(), "{path}");
            }
        }
    }
}

#[test]
fn a_path_may_be_given_as_the_shell_completes_it() {
    let house = House::with_index();
    for (folder, path) in [("sample-docs", "faq.html"), (".", "./sample-docs/faq.html")] {
        let mut command = house.command();
        let output = command.current_dir(house.path(folder)).args(["show", path, "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{path} from {folder}");
    }
    let absolute = house.path("sample-docs/faq.html");
    house.rag(["show", absolute.to_str().unwrap()]).ok();
    house.rag(["rm", absolute.to_str().unwrap()]).ok();
    house.rag(["show", "sample-docs/faq.html"]).exits(1);
}

#[test]
fn rm_takes_exact_names_folders_and_globs() {
    let house = House::new();
    for name in ["a.md", "a*.md", "ab.md", "sub/c.md", "sub/d.txt"] {
        house.write(&format!("docs/{name}"), format!("The document {name} speaks of eels.\n"));
    }
    house.rag(["ingest", "docs"]).ok();
    let removed = |what: &str| -> Vec<String> {
        let ran = house.rag(["rm", what, "--json"]);
        ran.json("rag.rm/1")["removed"].as_array().unwrap().iter().map(|p| p.as_str().unwrap().to_string()).collect()
    };
    let dry = house.rag(["rm", "docs", "--dry-run", "--json"]).ok().json("rag.rm/1");
    assert_eq!(dry["removed"].as_array().unwrap().len(), 5);
    assert_eq!(removed("docs/a*.md"), ["docs/a*.md"], "an exact name wins over a pattern");
    assert_eq!(removed("docs/a*.md"), ["docs/a.md", "docs/ab.md"]);
    assert_eq!(removed("docs/sub"), ["docs/sub/c.md", "docs/sub/d.txt"]);
    house.rag(["rm", "docs/sub"]).exits(1);
    house.rag(["rm"]).exits(2);
    house.rag(["verify"]).ok();
    house.rag(["query", "eels"]).exits(1);
}

#[test]
fn config_says_where_values_come_from() {
    let house = House::with_index();
    house.write("config.toml", "[llm]\nurl = \"http://127.0.0.1:9/v1\"\n");
    house.write(".rag/rag.toml", "[retrieve]\nk = 3\n");
    let path = house.path("config.toml");
    let variables = [
        ("RAG_CONFIG", path.to_str().unwrap()),
        ("RAG_LLM_MODEL", "tiny"),
        ("RAG_LLM_API_KEY", "sk-canary-1234567890"),
    ];
    let ran = house.rag_env(["config", "--json"], &variables).ok();
    assert!(!ran.stdout.contains("canary"), "a key is never shown");
    let config = ran.json("rag.config/1");
    let get = |key: &str| {
        let settings = config["settings"].as_array().unwrap();
        let setting = settings.iter().find(|setting| setting["key"] == key).unwrap();
        (setting["value"].clone(), setting["origin"].as_str().unwrap().to_string())
    };
    assert_eq!(get("llm.url").1, path.to_str().unwrap());
    assert_eq!(get("llm.model"), ("tiny".into(), "environment RAG_LLM_MODEL".into()));
    assert!(get("retrieve.k").1.ends_with(".rag/rag.toml"));
    assert_eq!(get("ingest.chunk_tokens"), ("230".into(), "default".into()));
    assert_eq!(get("llm.api_key"), ("***".into(), "environment RAG_LLM_API_KEY".into()));
    let found = house.rag(["query", "pump", "--json"]).ok().json("rag.query/1");
    assert_eq!(found["results"].as_array().unwrap().len(), 3);
    house.write(".rag/rag.toml", "[llm]\nurl = \"http://evil.example\"\n");
    let ran = house.rag(["query", "pump"]).exits(2);
    assert!(ran.stderr.contains("llm.url"), "{}", ran.stderr);
    house.write(".rag/rag.toml", "[retrieve]\nkay = 3\n");
    let ran = house.rag(["query", "pump"]).exits(2);
    assert!(ran.stderr.contains("did you mean `retrieve.k`"), "{}", ran.stderr);
}

#[test]
fn completions_for_every_shell() {
    let house = House::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = house.rag(["completions", shell]).ok();
        assert!(ran.stdout.contains("ingest"), "{shell}");
        assert!(!ran.stdout.contains("__extract"), "{shell}");
    }
}
