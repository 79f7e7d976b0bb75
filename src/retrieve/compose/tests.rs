use super::*;
use crate::retrieve::{
    cite,
    offer::Offer,
    passages::{choose, tests::hit},
};

const OFFICE: &str = "The head office opened in 1987 in Leeds. It is closed on Sundays.";
const LEAVE: &str =
    "Staff are entitled to 25 days of paid leave per year. See https://acme.example/leave for the form.";
const PROXY: &str = "The proxy never caches tool calls. Completions are kept for 168 hours.";

fn passages(texts: &[&str]) -> Vec<Passage> {
    let hits: Vec<_> = texts.iter().zip(1..).map(|(text, i)| hit(i, &format!("d{i}.md"), text, text, 0)).collect();
    choose(&hits, 100_000, 30)
}

fn composed_as(answer: &str, unsupported: Unsupported, truncated: bool) -> Composed {
    let passages = passages(&[OFFICE, LEAVE, PROXY]);
    let read = cite::read(answer, &Offer::new(&passages));
    let composed = compose(&read, &passages, "What is known?", unsupported, truncated);
    for sentence in &composed.sentences {
        assert_eq!(&composed.text[sentence.range.clone()], sentence.text);
        for citation in &sentence.citations {
            let text = [OFFICE, LEAVE, PROXY][citation.n as usize - 1];
            assert_eq!(&text[citation.quote_span.range()], citation.quote);
        }
    }
    composed
}

fn check(answer: &str, want: &str) -> Composed {
    let composed = composed_as(answer, Unsupported::Mark, false);
    assert_eq!(composed.text, want, "{answer}\n{composed:#?}");
    composed
}

#[test]
fn right_citations_stay() {
    let composed = check(
        "The office opened in 1987 [1]. Staff have 25 days of paid leave. [2]",
        "The office opened in 1987 [1]. Staff have 25 days of paid leave. [2]",
    );
    assert!(composed.sentences.iter().all(|s| s.state == Support::Supported && s.reason.is_none()));
    assert_eq!(composed.sentences[1].citations[0].quote, "Staff are entitled to 25 days of paid leave per year.");
    assert!(!composed.sentences[0].citations[0].attached);
}

#[test]
fn wrong_citations_are_replaced_where_another_passage_supports() {
    let composed = check("The office opened in 1987 [3].", "The office opened in 1987 [1].");
    let citations = &composed.sentences[0].citations;
    assert_eq!((citations[0].n, citations[0].support, citations[0].attached), (3, Support::Unsupported, false));
    assert_eq!((citations[1].n, citations[1].support, citations[1].attached), (1, Support::Supported, true));
}

#[test]
fn missing_citations_are_found() {
    check(
        "The office opened in 1987. Completions are kept for 168 hours",
        "The office opened in 1987 [1]. Completions are kept for 168 hours [3]",
    );
    check(
        "- Opened in 1987 in Leeds\n- 25 days of paid leave",
        "- Opened in 1987 in Leeds [1]\n- 25 days of paid leave [2]",
    );
    check(
        "The office opened in 1987 and staff have 25 days of paid leave.",
        "The office opened in 1987 and staff have 25 days of paid leave [1][2].",
    );
}

#[test]
fn what_nothing_supports_is_marked_or_dropped() {
    let answer = "The office opened in 1978 [1]. Staff have 25 days of paid leave [2].";
    let marked = check(answer, "The office opened in 1978 [1]. [unverified] Staff have 25 days of paid leave [2].");
    assert_eq!(marked.sentences[0].reason.as_deref(), Some("`1978` is not in the passage"));
    let dropped = composed_as(answer, Unsupported::Drop, false);
    assert_eq!(dropped.text, "Staff have 25 days of paid leave [2].");
    assert_eq!((dropped.dropped, dropped.sentences.len()), (1, 1));
}

#[test]
fn a_flipped_negation_is_marked_whatever_it_cites() {
    for answer in
        ["The proxy caches tool calls [3].", "The proxy caches tool calls.", "The proxy caches tool calls [1]."]
    {
        let composed = composed_as(answer, Unsupported::Mark, false);
        assert!(composed.text.ends_with(UNVERIFIED), "{}", composed.text);
    }
}

#[test]
fn a_cut_off_sentence_is_not_judged() {
    let answer = "The office opened in 1987 [1]. Staff have 99 days of";
    let marked = composed_as(answer, Unsupported::Mark, true);
    assert_eq!(marked.text, "The office opened in 1987 [1]. Staff have 99 days of […]");
    assert_eq!(marked.sentences.len(), 1);
    assert!(marked.unfinished);
    assert_eq!(composed_as(answer, Unsupported::Drop, true).text, "The office opened in 1987 [1].");
    let whole = composed_as("The office opened in 1987 [1].", Unsupported::Mark, true);
    assert_eq!((whole.sentences.len(), whole.unfinished), (1, false));
}

#[test]
fn links_stay_only_beside_their_passage() {
    check(
        "The form for paid leave is at https://acme.example/leave [2].",
        "The form for paid leave is at https://acme.example/leave [2].",
    );
    let composed =
        check("The office opened in 1987 ![x](https://acme.example/leave) [1].", "The office opened in 1987 x [1].");
    assert_eq!(composed.links_removed, 1);
    let composed =
        composed_as("The office opened in 1987 [1] ![x](https://evil.example/?q=secret).", Unsupported::Mark, false);
    assert!(!composed.text.contains("evil"), "{}", composed.text);
}

#[test]
fn frames_and_lists_of_sources_are_not_judged() {
    check(
        "## Leave\n\nStaff have 25 days of paid leave [2].\n\n**Sources:**\n[1] d1.md\n[2] d2.md",
        "## Leave\n\nStaff have 25 days of paid leave [2].",
    );
    check("Staff have 25 days of paid leave.\n\n[2]", "Staff have 25 days of paid leave.\n\n[2]");
    check("[2] Staff have 25 days of paid leave.", "[2] Staff have 25 days of paid leave.");
}

#[test]
fn abstentions_are_told_from_answers() {
    assert!(composed_as("The passages do not mention the price.", Unsupported::Mark, false).abstains);
    let mixed =
        composed_as("The passages do not mention the price. The office opened in 1987 [1].", Unsupported::Mark, false);
    assert!(!mixed.abstains);
    assert_eq!(mixed.sentences[0].state, Support::Weak);
    assert!(!composed_as("", Unsupported::Mark, false).abstains);
}

proptest::proptest! {
    #[test]
    fn any_answer_is_composed(answer in "(The office opened in 1987|[A-Za-z0-9 .\\[\\]\\n`|#-]|25 days|\\[1\\]|\\[7\\]|https://x.example/a){0,20}", truncated: bool, drop: bool) {
        let unsupported = if drop { Unsupported::Drop } else { Unsupported::Mark };
        composed_as(&answer, unsupported, truncated);
    }
}
