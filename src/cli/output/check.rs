//! A checked answer for people: each sentence with what has become of it, then the sources that have changed.

use rag::retrieve::{Checked, CheckedSentence, CheckedSource, File, Standing, Support};

use super::{Screen, Style, count, sanitize};

pub fn text(screen: &Screen, checked: &Checked) -> String {
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
            let place = screen.paint(Style::Place, &sanitize::line(&source.path));
            let gap = if source.path.is_empty() { "" } else { " " };
            out.push_str(&format!("  [{}] {place}{gap}{}\n", source.n, remark(source).unwrap_or_default()));
        }
    }
    let lost = checked.sentences.iter().filter(|sentence| sentence.lost).count() as u64;
    let held = checked.sentences.iter().filter(|s| !s.lost && s.state > Support::Unsupported).count();
    let all = count(checked.sentences.len() as u64, "sentence");
    let never = checked.sentences.len() - held - lost as usize;
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
    match (sentence.lost, sentence.state) {
        (true, _) => (Style::Bad, "lost"),
        (false, Support::Supported) => (Style::Good, "supported"),
        (false, Support::Weak) => (Style::Warn, "weak"),
        (false, Support::Unsupported) => (Style::Bad, "unsupported"),
    }
}

/// What has become of a source, if anything.
fn remark(source: &CheckedSource) -> Option<String> {
    let standing = match source.standing {
        Standing::Unchanged => None,
        Standing::Moved => Some("its text has changed around the quoted words"),
        Standing::Changed if source.quotes_found == Some(false) => {
            Some("its text has changed, and the quoted words are not in it")
        }
        Standing::Changed => Some("its text has changed"),
        Standing::Gone => Some("is not in the index any more"),
        Standing::Unlisted => Some("is not in the answer's list of sources"),
    };
    let file = match source.file {
        File::Changed => Some("the file has changed since it was indexed"),
        File::Missing => Some("the file is not where it was"),
        File::Unchanged | File::Unknown => None,
    };
    match (standing, file) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
    }
}
