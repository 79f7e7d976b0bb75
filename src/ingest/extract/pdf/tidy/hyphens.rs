//! Words that a line end cut in two.

use std::collections::HashSet;

/// The words of a document that stand whole on a line, and those with a hyphen inside.
pub struct Vocabulary {
    words: HashSet<u64>,
    hyphenated: HashSet<u64>,
}

impl Vocabulary {
    /// Collects the words of all lines. Linear in the text.
    pub fn of<'a>(pages: impl Iterator<Item = &'a str>) -> Self {
        let (mut words, mut hyphenated) = (HashSet::new(), HashSet::new());
        for line in pages.flat_map(str::lines) {
            for word in line.split(|c: char| !(c.is_alphanumeric() || c == '-')) {
                let word = word.trim_start_matches('-');
                if word.is_empty() || word.ends_with('-') {
                    continue;
                }
                if word.contains('-') {
                    hyphenated.insert(hash(word))
                } else {
                    words.insert(hash(word))
                };
            }
        }
        Self { words, hyphenated }
    }
}

fn hash(word: &str) -> u64 {
    let mut hash = blake3::Hasher::new();
    for letter in word.chars().flat_map(char::to_lowercase) {
        hash.update(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
    let mut first = [0; 8];
    hash.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}

/// Appends the line `next` to `text`, whose last line it follows: a word that the line end cut is made whole. After a soft
/// hyphen always; after a hyphen when the next line goes on in small letters or the document has the joined word, unless
/// it has the word with its hyphen, or both its parts as words: then the hyphen stays. `false`: no word was cut, and
/// nothing is appended.
pub fn join(text: &mut String, next: &str, vocabulary: &Vocabulary) -> bool {
    let kept = text.trim_end().len();
    let next = next.trim_start();
    match joint(&text[..kept], next, vocabulary) {
        Some(Joint::Drop(bytes)) => text.truncate(kept - bytes),
        Some(Joint::Keep) => text.truncate(kept),
        None => return false,
    }
    text.push_str(next);
    true
}

enum Joint {
    /// The hyphen goes: so many bytes.
    Drop(usize),
    Keep,
}

fn joint(before: &str, next: &str, vocabulary: &Vocabulary) -> Option<Joint> {
    let hyphen = before.chars().next_back().filter(|c| matches!(c, '-' | '\u{ad}' | '\u{2010}'))?;
    let first = next.chars().next().filter(|c| c.is_alphabetic())?;
    if hyphen == '\u{ad}' {
        return Some(Joint::Drop(hyphen.len_utf8()));
    }
    let stem = &before[..before.len() - hyphen.len_utf8()];
    let start = stem
        .rfind(|c: char| !(c.is_alphanumeric() || c == '-'))
        .map_or(0, |at| at + stem[at..].chars().next().map_or(1, char::len_utf8));
    let left = &stem[start..];
    if !left.ends_with(char::is_alphabetic) {
        return None;
    }
    let right = &next[..next.find(|c: char| !c.is_alphanumeric()).unwrap_or(next.len())];
    if vocabulary.hyphenated.contains(&hash(&format!("{left}-{right}"))) {
        return Some(Joint::Keep);
    }
    let is_word = |word: &str| vocabulary.words.contains(&hash(word));
    let joined_is_known = is_word(&format!("{left}{right}"));
    let is_part = |part: &str| part.chars().nth(2).is_some() && is_word(part);
    if !joined_is_known && is_part(left) && is_part(right) {
        return Some(Joint::Keep);
    }
    if joined_is_known || first.is_lowercase() {
        return Some(Joint::Drop(hyphen.len_utf8()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_are_joined_with_care() {
        for (page, want) in [
            ("consec-\ntetuer adip", "consectetuer adip"),
            ("soft\u{ad}\nHyphen", "softHyphen"),
            ("a well-known fact, well-\nknown indeed", "a well-known fact, well-known indeed"),
            ("high and speed: high-\nspeed trains", "high and speed: high-speed trains"),
            ("Smith-\nJones", "Smith-\nJones"),
            ("SmithJones Smith-\nJones", "SmithJones SmithJones"),
            ("1990-\n1995", "1990-\n1995"),
            ("list:\n-\nitem", "list:\n-\nitem"),
            ("end -\nx", "end -\nx"),
            ("über-\nraschend-\ngut", "überraschendgut"),
        ] {
            let vocabulary = Vocabulary::of(std::iter::once(page));
            let mut text = String::new();
            for line in page.lines() {
                if !join(&mut text, line, &vocabulary) {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(line);
                }
            }
            assert_eq!(text, want);
        }
    }
}
