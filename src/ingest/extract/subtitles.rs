//! Subtitles (SubRip, WebVTT): what is said, each piece under the time it is said at.

use super::{
    Extract, Input,
    lined::{Lined, push_line_ends},
};
use crate::{
    index::Problem,
    ingest::document::{BlockKind, Document},
};

/// Longest tag.
const MAX_TAG_BYTES: usize = 200;

pub struct Subtitles;

impl Extract for Subtitles {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        let mut document = input.decode()?;
        let source = std::mem::take(&mut document.text);
        let mut lined = Lined::new(&source);
        while let Some(line) = lined.line() {
            read(&mut lined, line.trim());
        }
        lined.finish(&mut document);
        Ok(document)
    }
}

fn read(lined: &mut Lined<'_>, line: &str) {
    let to_blank = |lined: &Lined<'_>| lined.count(|line| !line.trim().is_empty());
    if line.is_empty() {
        lined.skip(1);
    } else if ["WEBVTT", "NOTE", "STYLE", "REGION"].iter().any(|word| line.split([' ', '\t']).next() == Some(word)) {
        lined.skip(to_blank(lined));
    } else if let Some((start, _)) = line.split_once("-->") {
        let time = start.trim().split([',', '.']).next().unwrap_or("");
        let count = to_blank(lined);
        let said = lined.lines(count).split_once('\n').map_or("", |(_, said)| said);
        lined.block(count, BlockKind::Record, &format!("[{time}]\n{}", words(said)));
    } else if lined.ahead().nth(1).is_some_and(|next| next.contains("-->")) {
        // The number or the name of a piece.
        lined.skip(1);
    } else {
        let text = words(lined.lines(1));
        lined.block(1, BlockKind::Paragraph, &text);
    }
}

/// The text without its tags; a voice tag says who speaks.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let near = &rest[..rest.floor_char_boundary(MAX_TAG_BYTES.min(rest.len()))];
        let close = if rest.starts_with('<') { '>' } else { '}' };
        let is_tag = near[1..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '\\'));
        match near.find(close).filter(|_| is_tag) {
            Some(end) => {
                if let Some((_, name)) =
                    near[1..end].split_once(' ').filter(|(tag, _)| tag.split('.').next() == Some("v"))
                {
                    out.push_str(name.trim());
                    out.push_str(": ");
                }
                push_line_ends(&mut out, &near[..end]);
                rest = &rest[end + 1..];
            }
            None => {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    let signs = [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&lrm;", ""), ("&rlm;", "")];
    signs.iter().fold(out, |text, (name, sign)| if text.contains(name) { text.replace(name, sign) } else { text })
}

#[cfg(test)]
mod tests {
    use crate::ingest::extract::{Limits, extract};

    fn check(name: &str, text: &str, want: &[(u32, &str)]) {
        let document = extract(name, text.into(), &Limits::default()).expect("it is text");
        let got: Vec<_> = document
            .blocks
            .iter()
            .map(|block| {
                let line = 1 + document.text[..block.span.start].matches('\n').count() as u32;
                (line, &document.text[block.span.range()])
            })
            .collect();
        assert_eq!(got, want, "{text}");
    }

    #[test]
    fn pieces_under_their_times() {
        check(
            "a.srt",
            "1\n00:00:01,000 --> 00:00:04,000\n<i>Hello</i>\n{\\an8}there, 1 < 2.\n\n2\n00:00:05,000 --> 00:00:06,000\nBye.\n",
            &[(2, "[00:00:01]\nHello\nthere, 1 < 2."), (7, "[00:00:05]\nBye.")],
        );
        check(
            "a.vtt",
            "WEBVTT - x\nKind: y\n\nNOTE gone\ngone\n\nintro\n00:01.000 --> 00:04.000 align:left\n<v Ann>Hi &amp; <00:02.000>bye\n",
            &[(8, "[00:01]\nAnn: Hi & bye")],
        );
    }
}
