use super::*;
use crate::{retrieve::passages::tests::hit, types::EmbeddingSpace};

const SURE: Sure = Sure { trust: 1.0, found: true };
const HANDBOOK: &str = "# Leave\n\nStaff are entitled to 25 days of paid leave per year. It grows by one day after five years. \
    Requests go to the team lead.\n\nWhat about sick leave?\n\nSick leave is not counted.";
const PRICES: &str = "| Plan | Price | Users |\n|---|---|---|\n| Basic | $10 | 3 |\n| Pro | $20 | 10 |";
const RESET: &str = "The device has one button. To reset the device:\n\n1. Hold the button for 10 seconds.\n2. Wait for the light.\n\nThen start again.";
const OTHER: &str = "The canteen serves lunch from 11:30 to 14:00. Guests pay at the desk.";

fn hits() -> Vec<Hit> {
    let texts = [HANDBOOK, PRICES, RESET, OTHER];
    texts.iter().zip(1..).map(|(text, i)| hit(i, &format!("d{i}.md"), text, text, 0)).collect()
}

fn check(question: &str, want: &[&str]) {
    let hits = hits();
    let found = extract(&hits, question, None, SURE).unwrap();
    let got: Vec<&str> = found.iter().flat_map(|e| &e.sentences).map(|s| s.text.as_str()).collect();
    assert_eq!(got.first(), want.first(), "{question}: {got:?}");
    assert_eq!(got, want, "{question}");
    let Some(extract) = found else { return };
    for sentence in &extract.sentences {
        assert_eq!(&extract.text[sentence.range.clone()], sentence.text);
        let citation = &sentence.citations[0];
        let passage = extract.passages.iter().find(|p| p.n == citation.n).unwrap();
        let document = hits.iter().find(|h| h.chunk.path == passage.record().path).unwrap();
        assert_eq!(&document.chunk.text[citation.quote_span.range()], citation.quote);
    }
    assert!(extract.passages.iter().zip(1..).all(|(p, n)| p.n == n));
}

#[test]
fn the_sentence_that_answers_comes_first() {
    check("How many days of paid leave do staff get?", &["Staff are entitled to 25 days of paid leave per year. [1]"]);
    check("When does the canteen serve lunch?", &["The canteen serves lunch from 11:30 to 14:00. [1]"]);
}

#[test]
fn a_bare_heading_is_no_answer() {
    let text = "Returns and refunds\n\nYou may send it back within 30 days. Refunds are paid to your card.";
    let mut hits = vec![hit(1, "faq.html", text, text, 0)];
    hits[0].chunk.heading = vec!["Questions".into(), "Returns and refunds".into()];
    let extract = extract(&hits, "How are refunds handled?", None, SURE).unwrap().expect("an answer");
    assert!(extract.sentences.iter().all(|s| !s.text.starts_with("Returns and refunds")), "{:?}", extract.sentences);
}

#[test]
fn a_row_is_readable_by_itself() {
    check("How much is the Pro plan?", &["Plan: Pro · Price: $20 · Users: 10 [1]"]);
}

#[test]
fn steps_come_with_their_introduction() {
    check(
        "How do I reset the device?",
        &["To reset the device:\n\n1. Hold the button for 10 seconds.\n2. Wait for the light. [1]"],
    );
}

#[test]
fn a_pronoun_brings_the_sentence_before_it() {
    check(
        "After how many years does leave grow?",
        &["Staff are entitled to 25 days of paid leave per year. It grows by one day after five years. [1]"],
    );
}

#[test]
fn nothing_is_said_where_nothing_answers() {
    for question in ["Who won the football cup?", "???", "xyzzy"] {
        assert!(extract(&hits(), question, None, SURE).unwrap().is_none(), "{question}");
    }
    assert!(extract(&[], "leave", None, SURE).unwrap().is_none());
}

/// Gives texts that speak of food one direction and all others another.
struct Food(EmbeddingSpace);

impl Food {
    fn vector(text: &str) -> [f32; 2] {
        if text.contains("lunch") || text.contains("eat") { [1.0, 0.0] } else { [0.0, 1.0] }
    }
}

impl Embedder for Food {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }
    fn embed_passages(&self, texts: &[&str]) -> crate::model::Result<Vec<f32>> {
        assert!(texts.iter().all(|text| text.chars().count() <= 30));
        Ok(texts.iter().flat_map(|text| Self::vector(text)).collect())
    }
    fn embed_query(&self, text: &str) -> crate::model::Result<Vec<f32>> {
        Ok(Self::vector(text).to_vec())
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn batch_size(&self) -> usize {
        3
    }
    fn backend(&self) -> String {
        "test".into()
    }
}

#[test]
fn an_embedder_finds_what_shares_no_word() {
    let space = EmbeddingSpace {
        model: "food".into(),
        revision: String::new(),
        sha256: String::new(),
        dim: 2,
        pooling: crate::types::Pooling::Mean,
        normalised: true,
        query_prefix: String::new(),
        passage_prefix: String::new(),
        max_tokens: 30,
        tokenizer: String::new(),
        multilingual: false,
        probe: Vec::new(),
    };
    let hits = hits();
    let found = extract(&hits, "Where can one eat?", Some(&Food(space)), SURE).unwrap().unwrap();
    assert!(found.text.starts_with("The canteen serves lunch"), "{}", found.text);
    assert!(extract(&hits, "Where can one eat?", None, SURE).unwrap().is_none());
}

/// Gives each word a direction of its own, in a space that relevance is calibrated for. Counts what it embeds.
struct Words {
    space: EmbeddingSpace,
    embedded: std::sync::atomic::AtomicUsize,
}

impl Words {
    fn new(revision: &str) -> Self {
        let space = EmbeddingSpace {
            model: "all-minilm-l6-v2".into(),
            revision: revision.into(),
            sha256: String::new(),
            dim: 512,
            pooling: crate::types::Pooling::Mean,
            normalised: false,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: 250,
            tokenizer: String::new(),
            multilingual: false,
            probe: Vec::new(),
        };
        Self { space, embedded: std::sync::atomic::AtomicUsize::new(0) }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        self.embedded.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut vector = vec![0.0; 512];
        for word in crate::retrieve::words::Tongue::of(Some("en")).words(text).into_iter().filter(|word| !word.stop) {
            let at =
                blake3::hash(word.stem.as_bytes()).as_bytes()[..2].iter().fold(0, |at, b| at * 256 + usize::from(*b));
            vector[at % 512] += 1.0;
        }
        vector
    }
}

impl Embedder for Words {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }
    fn embed_passages(&self, texts: &[&str]) -> crate::model::Result<Vec<f32>> {
        Ok(texts.iter().flat_map(|text| self.vector(text)).collect())
    }
    fn embed_query(&self, text: &str) -> crate::model::Result<Vec<f32>> {
        Ok(self.vector(text))
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn batch_size(&self) -> usize {
        1
    }
    fn backend(&self) -> String {
        "test".into()
    }
}

#[test]
fn the_right_subject_and_another_matter_is_no_answer() {
    let embedder = Words::new("a near miss");
    let question = "Who is the chief executive of Brightwater Pumps?";
    for (text, answers) in
        [("Welcome to Brightwater Pumps.", false), ("The chief executive of Brightwater Pumps is Ines Varga.", true)]
    {
        let hits = [hit(1, "a.md", text, text, 0)];
        let found = extract(&hits, question, Some(&embedder), SURE).unwrap();
        assert_eq!(found.map(|e| e.text.starts_with(text)), answers.then_some(true), "{text}");
    }
    // A row names what it tells.
    let table = "| Model | Price | Weight |\n|---|---|---|\n| Heron 200 | $349 | 11 kg |";
    let hits = [hit(1, "a.md", table, table, 0)];
    for (question, answers) in
        [("What is the weight of the Heron 200?", true), ("What is the largest flow of the Heron 200?", false)]
    {
        assert_eq!(extract(&hits, question, Some(&embedder), SURE).unwrap().is_some(), answers, "{question}");
    }
}

#[test]
fn what_was_embedded_before_is_not_embedded_again() {
    let embedder = Words::new("twice");
    let ask =
        || extract(&hits(), "How many days of paid leave do staff get?", Some(&embedder), SURE).unwrap().unwrap().text;
    let count = || embedder.embedded.load(std::sync::atomic::Ordering::Relaxed);
    let first = ask();
    let once = count();
    assert!(once > 1);
    assert_eq!((ask(), count()), (first, once));
    // Another space has vectors of its own.
    let other = Words::new("another");
    extract(&hits(), "How many days of paid leave do staff get?", Some(&other), SURE).unwrap();
    assert_eq!(other.embedded.load(std::sync::atomic::Ordering::Relaxed), once);
}

#[test]
fn a_date_in_the_heading_is_shown_where_it_is_asked_for() {
    let text = "## 2.2.0 — 2025-06-12\n\nFirst version of the firmware for the big pump.";
    let mut hits = vec![hit(1, "a.md", text, text, 0)];
    hits[0].chunk.heading = vec!["2.2.0 — 2025-06-12".into()];
    let found = extract(&hits, "When was the first version of the firmware released?", None, SURE).unwrap().unwrap();
    assert!(found.text.contains("2025-06-12"), "{}", found.text);
    let found = extract(&hits, "What is the first version of the firmware for?", None, SURE).unwrap().unwrap();
    assert!(!found.text.contains("2025-06-12"), "{}", found.text);
}

proptest::proptest! {
    #[test]
    fn quotes_are_exact(text in "([a-z]{1,6}|[.:!\\n|#-]| |é|漢字|`|\\d){1,80}", question in "[a-z é漢字]{1,20}") {
        proptest::prop_assume!(!text.trim().is_empty());
        let hits = [hit(1, "a", &text, &text, 0)];
        if let Some(found) = extract(&hits, &question, None, SURE).unwrap() {
            for sentence in &found.sentences {
                let citation = &sentence.citations[0];
                assert_eq!(&text[citation.quote_span.range()], citation.quote);
                assert_eq!(&found.text[sentence.range.clone()], sentence.text);
            }
        }
    }
}
