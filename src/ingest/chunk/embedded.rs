//! The text that is embedded for a chunk: where it stands, then what it says.

use crate::{index::ChunkRecord, model::wordpiece::WordPiece};

/// The title and the heading path take at most one part in so many of what the model reads.
const PREFIX_SHARE: usize = 4;

/// What is looked at of one title or heading.
const MAX_PART_BYTES: usize = 1000;

/// Levels looked at of a heading path, innermost first.
const MAX_LEVELS: usize = 12;

const SEPARATOR: &str = " > ";

/// The text whose vector stands for a chunk: `title > heading path`, the repeated context, the text, each on lines of its
/// own; at most `limit` word pieces.
///
/// A chunk in a language the encoder knows fits whole: the chunker sees to it. One in another language is cut by
/// characters, as the lexical leg needs it, and may be larger; of it the first `limit` pieces are embedded. Its vector is
/// near noise anyway, and the fusion's language gate gives it no weight.
pub fn embedding_text(chunk: &ChunkRecord, limit: usize) -> String {
    let prefix = prefix(chunk.title.as_deref().unwrap_or_default(), &chunk.heading, limit);
    cut(join(&prefix, &chunk.context, &chunk.text), limit)
}

/// The beginning of an embedded text that the model reads.
pub fn cut(mut text: String, limit: usize) -> String {
    let end = first_tokens(&text, limit).len();
    text.truncate(end);
    text
}

/// Under what a vector is found again: the first 16 bytes of blake3 over the embedded text.
pub fn embed_hash(text: &str) -> [u8; 16] {
    let mut hash = [0; 16];
    blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut hash);
    hash
}

/// The parts of an embedded text, uncut.
pub fn join(prefix: &str, context: &str, text: &str) -> String {
    let mut out = String::with_capacity(prefix.len() + context.len() + text.len() + 2);
    for part in [prefix, context] {
        if !part.is_empty() {
            out.push_str(part);
            out.push('\n');
        }
    }
    out.push_str(text);
    out
}

/// `title > heading > heading` within its share of `limit`. What is too long loses its outer headings first, then the
/// ends of title and last heading.
pub fn prefix(title: &str, heading: &[String], limit: usize) -> String {
    let share = limit / PREFIX_SHARE;
    let title = one_line(title);
    let levels = &heading[heading.len().saturating_sub(MAX_LEVELS)..];
    let mut parts: Vec<String> = levels.iter().map(|part| one_line(part)).filter(|part| !part.is_empty()).collect();
    // A document's title is often its first heading as well.
    if !title.is_empty() && parts.first().is_none_or(|first| first.to_lowercase() != title.to_lowercase()) {
        parts.insert(0, title);
    }
    while parts.len() > 2 && count(&parts.join(SEPARATOR)) > share {
        parts.remove(1);
    }
    if count(&parts.join(SEPARATOR)) > share {
        let separators = parts.len() - 1;
        if let [_, last] = &mut parts[..] {
            *last = first_tokens(last, share / 2).to_owned();
        }
        let rest = share.saturating_sub(separators + parts[1..].iter().map(|part| count(part)).sum::<usize>());
        parts[0] = first_tokens(&parts[0], rest).to_owned();
    }
    parts.join(SEPARATOR)
}

/// The beginning of a text that has at most `limit` word pieces.
fn first_tokens(text: &str, limit: usize) -> &str {
    // No piece is empty: a short text needs no count.
    if text.len() <= limit || count(text) <= limit {
        return text;
    }
    let end = match limit.checked_sub(1) {
        None => 0,
        Some(last) => WordPiece::builtin().offsets(text).get(last).map_or(text.len(), |piece| piece.end),
    };
    &text[..text.floor_char_boundary(end)]
}

fn count(text: &str) -> usize {
    WordPiece::builtin().count(text)
}

fn one_line(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_PART_BYTES)];
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headings(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|&part| part.to_owned()).collect()
    }

    #[test]
    fn a_prefix_names_the_place() {
        for (title, heading, want) in [
            ("Manual", &["Pump", "Start"][..], "Manual > Pump > Start"),
            ("Manual", &[], "Manual"),
            ("manual", &["Manual", "Pump"], "Manual > Pump"),
            ("", &["A\n b", " "], "A b"),
            ("", &[], ""),
        ] {
            assert_eq!(prefix(title, &headings(heading), 254), want);
        }
    }

    #[test]
    fn a_long_prefix_loses_its_middle_first_and_keeps_to_its_share() {
        let long = "the long and winding road ".repeat(20);
        let middle = prefix("Title", &headings(&[&long, &long, "Last"]), 254);
        assert_eq!(middle, "Title > Last");
        for (title, heading) in [
            (long.as_str(), headings(&[&long])),
            (&long, headings(&["Last"])),
            ("Title", headings(&[&long])),
            (&long, vec![]),
            ("", headings(&[&long])),
            (&"é".repeat(5000), headings(&[&"語".repeat(5000)])),
            (&"x".repeat(5000), vec!["y".repeat(99); 5000]),
        ] {
            for limit in [16, 64, 254] {
                let made = prefix(title, &heading, limit);
                assert!(count(&made) <= limit / PREFIX_SHARE, "{limit}: {made}");
                assert!(!made.is_empty());
            }
        }
    }

    #[test]
    fn the_first_tokens_of_a_text_are_its_beginning() {
        let text = "Unbelievably 語語語 — naïve pumps.";
        for limit in 0..=count(text) + 1 {
            let cut = first_tokens(text, limit);
            assert!(text.starts_with(cut));
            assert_eq!(count(cut), limit.min(count(text)), "{cut}");
        }
    }

    #[test]
    fn equal_texts_have_equal_hashes() {
        assert_eq!(embed_hash("a"), embed_hash("a"));
        assert_ne!(embed_hash("a"), embed_hash("b"));
        assert_eq!(join("p", "", "t"), "p\nt");
        assert_eq!(join("", "c", "t"), "c\nt");
    }
}
