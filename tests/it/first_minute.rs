//! The first minute: ingest, query and ask on the sample documents, offline, with nothing configured.

use serde_json::Value;

use crate::house::{House, project};

#[derive(serde::Deserialize)]
struct Question {
    question: String,
    path: String,
    phrase: String,
    page: Option<u32>,
}

fn questions() -> Vec<Question> {
    let text = std::fs::read_to_string(project().join("tests/fixtures/sample-questions.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_sample_question_finds_its_passage() {
    let house = House::with_samples();
    let report = house.rag(["ingest", "sample-docs", "--json"]).ok().json("rag.ingest/1");
    assert_eq!(report["added"].as_array().unwrap().len(), 12, "{report:#}");
    assert_eq!(report["failed"], Value::Array(vec![]), "{report:#}");
    assert!(report["chunks"]["embedded"].as_u64().unwrap() > 30);
    let (mut first, mut surely) = (0, 0);
    let all = questions();
    for question in &all {
        let ran = house.rag(["query", &question.question, "--json", "-k", "3"]);
        let found = ran.json("rag.query/1");
        surely += usize::from(ran.code == 0);
        let results = found["results"].as_array().unwrap();
        let right = |result: &Value| {
            let text = format!("{} {}", result["context"].as_str().unwrap_or(""), result["text"].as_str().unwrap());
            result["path"].as_str().unwrap() == format!("sample-docs/{}", question.path)
                && plain(&text).contains(&question.phrase)
                && question.page.is_none_or(|page| result["page"] == page)
        };
        let rank = results.iter().position(right);
        assert!(
            rank.is_some(),
            "`{}`: `{}` is not in the first three: {results:#?}",
            question.question,
            question.phrase
        );
        first += usize::from(rank == Some(0));
    }
    assert!(first * 100 >= all.len() * 85, "{first} of {} come first", all.len());
    assert!(surely * 100 >= all.len() * 85, "{surely} of {} are said to be found", all.len());
}

#[test]
fn ask_quotes_the_documents_with_nothing_configured() {
    let house = House::with_index();
    for (question, phrase) in [
        ("How many days of annual leave do I have?", "27 days"),
        ("How are refunds handled?", "five working days"),
        ("How long is the warranty of the Otter 3?", "36 months"),
        ("Who leads the design of the Otter 4?", "Amara Osei"),
    ] {
        let answer = house.rag(["ask", question, "--json"]).ok().json("rag.answer/1");
        assert_eq!(answer["status"], "extractive");
        let text = plain(answer["answer"].as_str().unwrap());
        assert!(text.contains(phrase), "{question}: {text}");
        for sentence in answer["sentences"].as_array().unwrap() {
            assert_eq!(sentence["state"], "supported", "{sentence:#}");
            assert!(!sentence["citations"].as_array().unwrap().is_empty());
        }
    }
}

#[test]
fn every_quote_stands_in_the_stored_text() {
    let house = House::with_index();
    let answer = house.rag(["ask", "What does error E4 mean?", "--json"]).ok().json("rag.answer/1");
    let mut checked = 0;
    for citation in answer["sentences"].as_array().unwrap().iter().flat_map(|s| s["citations"].as_array().unwrap()) {
        let source = answer["sources"].as_array().unwrap().iter().find(|source| source["n"] == citation["n"]).unwrap();
        let shown = house.rag(["show", source["source"].as_str().unwrap(), "--json"]).ok().json("rag.show/1");
        let (start, end) = (citation["quote_start"].as_u64().unwrap(), citation["quote_end"].as_u64().unwrap());
        let chunk = shown["chunks"].as_array().unwrap().iter().find(|chunk| {
            chunk["byte_range"][0].as_u64().unwrap() <= start && end <= chunk["byte_range"][1].as_u64().unwrap()
        });
        let chunk = chunk.expect("the quote stands within one chunk");
        let offset = chunk["byte_range"][0].as_u64().unwrap();
        let text = chunk["text"].as_str().unwrap();
        assert_eq!(&text[(start - offset) as usize..(end - offset) as usize], citation["quote"].as_str().unwrap());
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn what_is_not_in_the_documents_is_not_answered() {
    let house = House::with_index();
    for question in ["Who won the chess championship of 1972?", "xqzvw plorf gnurbl", "How do I bake sourdough bread?"]
    {
        let answer = house.rag(["ask", question, "--json"]).exits(1).json("rag.answer/1");
        assert_eq!(answer["status"], "no_answer", "{question}: {answer:#}");
        let found = house.rag(["query", question, "--json"]).exits(1).json("rag.query/1");
        assert_eq!(found["strength"], "nothing", "{question}");
    }
}

#[test]
fn plain_bm25_without_a_model() {
    let house = House::with_samples();
    house.rag(["ingest", "sample-docs", "--no-embed"]).ok();
    let found = house.rag(["query", "shaft seal patent", "--json"]).json("rag.query/1");
    assert_eq!(found["mode"], "lexical");
    assert!(found["notes"].to_string().contains("vectors"), "{found:#}");
    let found = house.rag(["query", "how are refunds handled", "--json"]).ok().json("rag.query/1");
    assert_eq!(found["results"][0]["path"], "sample-docs/faq.html");
    let status = house.rag(["status", "--json"]).ok().json("rag.status/1");
    assert_eq!(status["vectors"], 0);
    assert_eq!(status["embedding_space"], Value::Null);
    house.rag(["query", "refunds", "--mode", "dense"]).exits(2);
}
