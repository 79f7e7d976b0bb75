//! An answer for people: the text, then what could not be verified, then the sources it cites.

use std::cmp::Ordering;

use rag::serve::wire::{AnswerResult, AnswerSource, Citation, Sentence, Usage};

use super::{Screen, Style, hits, places::Places, places::location, sanitize};

/// Everything but the streamed text; with the text if it was not streamed.
pub fn text(screen: &Screen, places: &Places, answer: &AnswerResult, streamed: bool) -> String {
    let mut out = String::new();
    if let Some(no) = no_answer(answer) {
        return format!("{no}\n");
    }
    if answer.status == "extractive" {
        out.push_str(&screen.paint(Style::Dim, "Extracted passages (no LLM configured)"));
        out.push_str("\n\n");
    }
    if !streamed {
        let text = match &*answer.status {
            "extractive" => unwrapped(&answer.answer),
            _ => answer.answer.trim().to_string(),
        };
        out.push_str(sanitize::text(&text).as_ref());
        out.push('\n');
    }
    let unsupported: Vec<_> = answer.sentences.iter().filter(|sentence| sentence.state == "unsupported").collect();
    if !unsupported.is_empty() {
        out.push('\n');
        out.push_str(&screen.paint(Style::Bad, "Not verified:"));
        out.push('\n');
        for sentence in unsupported {
            let reason = sentence.reason.as_deref().unwrap_or("no passage supports it");
            out.push_str(&format!("  “{}” — {}\n", sanitize::line(sentence.text.trim()), sanitize::line(reason)));
        }
    }
    let cited = sources(screen, places, answer);
    if !cited.is_empty() {
        out.push('\n');
        out.push_str(&screen.paint(Style::Bold, "Sources:"));
        out.push('\n');
        out.push_str(&cited);
    }
    out
}

/// A quoted sentence keeps the line breaks of its document; on the screen only paragraphs and list items begin a line.
fn unwrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.trim().lines().map(str::trim) {
        let begins = line.is_empty()
            || line.starts_with(['-', '*', '+', '|', '#', '`', '•'])
            || line.split_once(['.', ')']).is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if !out.is_empty() {
            out.push(if begins || out.ends_with('\n') { '\n' } else { ' ' });
        }
        out.push_str(line);
    }
    out
}

/// What an answer took: `812 tokens in, 55 out; cost 0.0012`.
pub fn spent(usage: &Usage, cost: Option<f64>) -> String {
    let about = if usage.estimated { "about " } else { "" };
    let cost = cost.map_or(String::new(), |cost| format!("; cost {}", short(cost)));
    format!("{about}{} tokens in, {} out{cost}", usage.prompt_tokens, usage.completion_tokens)
}

/// Two digits that tell something, at least: `0.0012`, `1.25`.
fn short(cost: f64) -> String {
    let places = if cost > 0.0 { (1.0 - cost.log10().floor()).clamp(2.0, 9.0) as usize } else { 2 };
    format!("{cost:.places$}")
}

/// Where a source stands and its text whole.
pub fn source(screen: &Screen, places: &Places, source: &AnswerSource) -> String {
    let place = places.show(screen, &source.source, source.lines, source.pages);
    let heading = source.heading.join(" › ");
    let heading = if heading.is_empty() { String::new() } else { format!("  {}", sanitize::line(&heading)) };
    format!("[{}] {place}{}\n\n{}\n", source.n, screen.paint(Style::Dim, &heading), sanitize::text(source.text.trim()))
}

/// The cited sources, one a line, as under an answer.
pub fn sources(screen: &Screen, places: &Places, answer: &AnswerResult) -> String {
    let mut out = String::new();
    for source in answer.sources.iter().filter(|source| source.cited) {
        let place = places.show(screen, &source.source, source.lines, source.pages);
        let quote = quote(answer, source.n).map(|quote| format!(" — “{quote}”")).unwrap_or_default();
        let state = hits::state(screen, source.state.as_deref());
        out.push_str(&format!("  [{}] {place}{}{state}\n", source.n, screen.paint(Style::Dim, &quote)));
        if let Some(line) = hits::also_in(source.copies.iter().map(|copy| copy.path.as_str())) {
            out.push_str(&screen.paint(Style::Dim, &format!("      {line}\n")));
        }
    }
    out
}

/// As Markdown: the answer and a list of sources.
pub fn markdown(answer: &AnswerResult) -> String {
    if let Some(no) = no_answer(answer) {
        return format!("{no}\n");
    }
    let mut out = format!("{}\n", sanitize::text(answer.answer.trim()));
    let unsupported = not_verified(answer);
    if !unsupported.is_empty() {
        out.push_str("\nNot verified:\n");
        for line in unsupported {
            out.push_str(&format!("\n- {line}"));
        }
        out.push('\n');
    }
    for source in answer.sources.iter().filter(|source| source.cited) {
        let place = location(&source.source, source.lines, source.pages);
        let quote = quote(answer, source.n).map(|quote| format!(" — “{quote}”")).unwrap_or_default();
        out.push_str(&format!("\n- [{}] `{}`{quote}", source.n, sanitize::line(&place)));
    }
    out.push('\n');
    out
}

fn no_answer(answer: &AnswerResult) -> Option<&'static str> {
    match &*answer.status {
        "no_answer" => Some("The documents do not answer this."),
        "refused" if answer.answer.trim().is_empty() => Some("The model gave no answer."),
        "refused" => Some("The model refused to answer."),
        "unsupported" if answer.answer.trim().is_empty() => Some("The model was cut off before it answered."),
        _ => None,
    }
}

/// Each sentence that no source supports, and why.
fn not_verified(answer: &AnswerResult) -> Vec<String> {
    let unsupported = answer.sentences.iter().filter(|sentence| sentence.state == "unsupported");
    let line = |sentence: &Sentence| {
        let reason = sentence.reason.as_deref().unwrap_or("no passage supports it");
        format!("“{}” — {}", sanitize::line(sentence.text.trim()), sanitize::line(reason))
    };
    unsupported.map(line).collect()
}

/// The best-supported quote that the answer takes from a source, on one line.
fn quote(answer: &AnswerResult, n: u32) -> Option<String> {
    let citations = answer.sentences.iter().flat_map(|sentence| &sentence.citations);
    let of = citations
        .filter(|citation| citation.n == n && strength(&citation.support) > 0 && !citation.quote.trim().is_empty());
    let order =
        |a: &Citation, b: &Citation| strength(&a.support).cmp(&strength(&b.support)).then(a.score.total_cmp(&b.score));
    // The first of equals: the answer begins with what matters most.
    let best = of.reduce(|best, next| if order(next, best) == Ordering::Greater { next } else { best })?;
    Some(sanitize::line(&best.quote.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned())
}

fn strength(support: &str) -> u8 {
    match support {
        "supported" => 2,
        "weak" => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{short, unwrapped};

    #[test]
    fn costs_show_two_digits_that_tell_something() {
        for (cost, want) in [(0.0, "0.00"), (1.25, "1.25"), (12.0, "12.00"), (0.0012345, "0.0012"), (0.05, "0.050")] {
            assert_eq!(short(cost), want);
        }
    }

    #[test]
    fn sentences_are_unwrapped_and_lists_are_not() {
        for (given, want) in [
            ("a\nb. [1]\n\nc\nd. [2]\n", "a b. [1]\n\nc d. [2]"),
            ("To do:\n\n1. x\n2. y [1]", "To do:\n\n1. x\n2. y [1]"),
            ("", ""),
        ] {
            assert_eq!(unwrapped(given), want);
        }
    }
}
