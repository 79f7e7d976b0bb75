//! A checked answer for people: each sentence with what has become of it, then the sources that have changed.

use rag::serve::wire::{CheckResult, CheckedSentence, CheckedSource};

use super::{Screen, Style, count, sanitize};

pub fn text(screen: &Screen, checked: &CheckResult) -> String {
    let mut out = String::new();
    for sentence in &checked.sentences {
        let (style, word) = state(sentence);
        let text = sentence.text.split_whitespace().collect::<Vec<_>>().join(" ");
        out.push_str(&format!("{}  {}\n", screen.paint(style, &format!("{word:11}")), sanitize::line(&text)));
        if let Some(reason) = &sentence.reason {
            out.push_str(&format!("             {}\n", screen.paint(Style::Dim, &sanitize::line(reason))));
        }
    }
    let changed: Vec<&CheckedSource> = checked.sources.iter().filter(|source| remark(source).is_some()).collect();
    if !changed.is_empty() {
        out.push('\n');
        for source in changed {
            let place = screen.paint(Style::Place, &sanitize::line(&source.source));
            let gap = if source.source.is_empty() { "" } else { " " };
            out.push_str(&format!("  [{}] {place}{gap}{}\n", source.n, remark(source).unwrap_or_default()));
        }
    }
    let lost = checked.sentences.iter().filter(|sentence| sentence.lost).count();
    let held = checked.sentences.iter().filter(|s| !s.lost && s.state != "unsupported").count();
    let all = count(checked.sentences.len() as u64, "sentence");
    let never = checked.sentences.len().saturating_sub(held + lost);
    let mut line = format!("{all}: {held} still supported, {lost} not any more");
    if never > 0 {
        line.push_str(&format!(", {never} never were"));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&line);
    out.push('\n');
    out
}

fn state(sentence: &CheckedSentence) -> (Style, &'static str) {
    match (sentence.lost, &*sentence.state) {
        (true, _) => (Style::Bad, "lost"),
        (false, "supported") => (Style::Good, "supported"),
        (false, "weak") => (Style::Warn, "weak"),
        (false, _) => (Style::Bad, "unsupported"),
    }
}

/// What has become of a source, if anything.
fn remark(source: &CheckedSource) -> Option<String> {
    let standing = match &*source.standing {
        "moved" => Some("its text has changed around the quoted words"),
        "changed" if source.quotes_found == Some(false) => {
            Some("its text has changed, and the quoted words are not in it")
        }
        "changed" => Some("its text has changed"),
        "gone" => Some("is not in the index any more"),
        "unlisted" => Some("is not in the answer's list of sources"),
        _ => None,
    };
    let file = match &*source.file {
        "changed" => Some("the file has changed since it was indexed"),
        "missing" => Some("the file is not where it was"),
        _ => None,
    };
    match (standing, file) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
    }
}
