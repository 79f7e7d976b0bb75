//! What kind of answer a question asks for, and whether a text has one of it.
//!
//! Useful for: prices, numbers, dates, in the languages whose question words are listed. Not for: reading a question
//! whole; one that is not recognised asks for nothing in particular.

use super::super::{
    verify::{has_figure, has_sum},
    words::Word,
};

/// Whether the answer will be a sum of money.
pub(super) fn asks_for_a_price(question: &str) -> bool {
    let question = format!(" {} ", question.to_lowercase().replace(['?', ',', '¿'], " ").trim());
    // “What was the reason for the cost overrun?” asks for no sum.
    if [" cost ", " costs "].iter().any(|end| question.ends_with(end)) && question.contains(" what ") {
        return true;
    }
    if [" kostet ", " kosten "].iter().any(|word| question.contains(word)) {
        return [" was ", " wie viel ", " wieviel "].iter().any(|word| question.contains(word));
    }
    [
        " the cost of ",
        " much does ",
        " much do ",
        " much is ",
        " much are ",
        " the price of ",
        " sell for ",
        " how expensive ",
        " coûte ",
        " cuesta ",
    ]
    .iter()
    .any(|phrase| question.contains(phrase))
        && [" what ", " how much ", " how expensive ", " combien ", " cuánto "]
            .iter()
            .any(|word| question.contains(word))
}

/// A sum of money, a number under a name that is a price's, or a word for costing nothing.
pub(super) fn has_money(text: &str, lang: &str) -> bool {
    let lower = text.to_lowercase();
    let words = ["price", "cost", "fee", "preis", "prix", "precio", "free", "gratis", "kostenlos", "gratuit"];
    has_sum(text, lang)
        || lower.split(|c: char| !c.is_alphabetic()).any(|word| words.contains(&word))
            && (has_figure(text, lang) || lower.contains("free") || lower.contains("gratis"))
}

/// Whether the answer will be a date.
pub(super) fn asks_for_a_date(question: &str) -> bool {
    let question = format!(" {} ", question.to_lowercase().replace(['?', ',', '¿'], " "));
    [" when ", " what date ", " which date ", " wann ", " quand ", " cuándo "]
        .iter()
        .any(|word| question.contains(word))
}

/// Whether the answer will be a number, a date or a time.
pub(super) fn asks_for_a_figure(question: &str) -> bool {
    let question = format!(" {} ", question.to_lowercase().replace(['?', ',', '¿'], " "));
    [
        " when ",
        " how many ",
        " how much ",
        " how long ",
        " how often ",
        " how old ",
        " how far ",
        " how big ",
        " how large ",
        " how fast ",
        " what year ",
        " which year ",
        " what date ",
        " what time ",
        " what price ",
        " cost ",
        " costs ",
        " limit ",
        " deadline ",
        " wann ",
        " wie viel ",
        " wie viele ",
        " wie lange ",
        " wie oft ",
        " wie teuer ",
        " kostet ",
        " cuándo ",
        " cuánto ",
        " cuántos ",
        " cuántas ",
        " cuánta ",
        " combien ",
        " quand ",
        "多少",
        "几",
        "什么时候",
        "多久",
        "多长",
        "何时",
    ]
    .iter()
    .any(|phrase| question.contains(phrase))
}

pub(super) fn is_the_question(quote: &str, question: &str) -> bool {
    let letters =
        |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    letters(quote) == letters(question)
}

/// Whether a word after `how` asks for a time or a share of it, which a number answers: `how quickly`, `wie lange`.
pub(super) fn asks_for_a_time(before: Option<&Word>, word: &Word) -> bool {
    const HOW: [&str; 4] = ["how", "wie", "hoe", "hur"];
    const TIMES: [&str; 15] = [
        "long",
        "often",
        "soon",
        "quickly",
        "quick",
        "fast",
        "frequently",
        "old",
        "late",
        "early",
        "lang",
        "lange",
        "oft",
        "schnell",
        "häufig",
    ];
    before.is_some_and(|before| HOW.contains(&before.norm.as_str())) && TIMES.contains(&word.norm.as_str())
}
