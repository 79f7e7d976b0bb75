//! The hundred questions over `sample-docs/` whose answers are known: that they are what they say, and how many of them the
//! documents' own sentences answer.

use std::collections::{BTreeMap, BTreeSet};

use rag::retrieve::eval::answers::{Kind, Question, questions};
use serde_json::Value;

use crate::house::{House, project};

const FILE: &str = "tests/fixtures/answers/questions.jsonl";
/// Words from here on must not be common to a paraphrased question and its answer, in no form that begins alike.
const LETTERS: usize = 5;

/// What was measured, less what chance and another machine's last bits may take.
const DIRECT: f64 = 0.93;
const PARAPHRASED: f64 = 0.72;
const UNANSWERABLE: f64 = 0.85;

fn gold_set() -> Vec<Question> {
    questions(&std::fs::read_to_string(project().join(FILE)).unwrap()).unwrap()
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() >= LETTERS).map(|word| word.chars().take(LETTERS).collect()).collect()
}

#[test]
fn the_gold_set_is_what_it_says() {
    let all = gold_set();
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    all.iter().for_each(|question| *kinds.entry(question.kind).or_default() += 1);
    assert_eq!(kinds, BTreeMap::from([(Kind::Direct, 30), (Kind::Paraphrased, 50), (Kind::Unanswerable, 20)]));
    for question in all.iter().filter(|question| question.kind == Kind::Paraphrased) {
        for gold in &question.gold {
            let (asked, answered) = (words(&question.question), words(&gold.text));
            let both: Vec<_> = asked.intersection(&answered).collect();
            assert_eq!(both, Vec::<&String>::new(), "{}: {} / {}", question.id, question.question, gold.text);
        }
    }
    // Every document has a question, and no question is about something else.
    let asked: BTreeSet<&str> = all.iter().flat_map(|question| &question.gold).map(|gold| gold.path.as_str()).collect();
    let there: BTreeSet<String> = std::fs::read_dir(project().join("sample-docs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md" && !name.starts_with('.'))
        .collect();
    assert_eq!(asked, there.iter().map(String::as_str).collect());
}

#[test]
fn the_documents_own_sentences_answer_the_gold_set() {
    let house = House::with_index();
    let file = project().join(FILE);
    let file = file.to_str().unwrap();
    let ran = house.rag(["eval", "--answers", file, "--extractive", "--json", "--quiet"]).ok();
    let result = ran.json("rag.eval-answers/1");
    assert_eq!(result["warnings"], Value::Array(vec![]), "every gold stretch stands in its document as it is indexed");
    let mean = |of: &Value, metric: &str| of["metrics"][metric]["mean"].as_f64().unwrap();
    let by_kind = |kind: &str| {
        let all = result["kinds"].as_array().unwrap();
        all.iter().find(|one| one["kind"] == kind).unwrap_or_else(|| panic!("{kind}")).clone()
    };
    // Nothing is cited that is not quoted.
    for metric in ["citation-precision", "citation-recall"] {
        assert_eq!(mean(&result, metric), 1.0, "{metric}");
    }
    let measured = [
        ("direct", "span@answer", mean(&by_kind("direct"), "span@answer"), DIRECT),
        ("paraphrased", "span@answer", mean(&by_kind("paraphrased"), "span@answer"), PARAPHRASED),
        ("unanswerable", "abstention", mean(&by_kind("unanswerable"), "abstention"), UNANSWERABLE),
    ];
    let missed: Vec<&Value> = result["questions"].as_array().unwrap().iter().filter(|q| q["span"] == false).collect();
    for (kind, metric, found, bar) in measured {
        assert!(found >= bar, "{kind}: {metric} is {found}, at least {bar} was reached before: {missed:#?}");
    }
}
