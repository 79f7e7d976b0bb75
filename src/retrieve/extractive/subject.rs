//! What a question names: names and identifiers that an answer cannot do without.
//!
//! Useful for: telling a near miss from an answer, `error E6` where the documents have E1 to E4. Not for: languages that
//! write every noun with a capital, and names in lower case.

use crate::retrieve::{
    Hit,
    passages::Passage,
    verify::{is_day, is_month},
    words::{Tongue, Word},
};

/// The names of a question, each word as letters and digits in lower case.
pub(super) struct Subject {
    known: Vec<String>,
    unknown: bool,
}

impl Subject {
    pub fn of(question: &str, hits: &[Hit]) -> Self {
        let german = hits.first().is_some_and(|hit| hit.chunk.lang.as_deref() == Some("de"));
        let texts: Vec<String> = hits.iter().map(text_of).collect();
        let named = named(question, german);
        let is_known = |word: &String| texts.iter().any(|text| holds(text, word));
        let (known, unknown): (Vec<String>, Vec<String>) = named.into_iter().partition(is_known);
        Self { known, unknown: !unknown.is_empty() && !hits.is_empty() }
    }

    /// No document that was found has one of the names at all.
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// A sentence, with what it stands under, has all of the names.
    pub fn is_in(&self, passage: &Passage, shown: &str) -> bool {
        if self.known.is_empty() {
            return true;
        }
        let record = passage.record();
        let title = record.title.as_deref().unwrap_or_default();
        let text =
            squeezed(&format!("{} {title} {} {} {shown}", record.path, record.heading.join(" "), passage.context()));
        self.known.iter().all(|word| holds(&text, word))
    }
}

/// Whether a text has a name; one without digits also in its other number: `GPU` for GPUs, `Otters` for Otter.
fn holds(text: &str, name: &str) -> bool {
    if text.contains(name) {
        return true;
    }
    let bare = name.trim();
    if bare.contains(|c: char| c.is_ascii_digit()) || bare.chars().count() < 3 {
        return false;
    }
    let singular = bare.strip_suffix('s').filter(|one| one.chars().count() > 2);
    text.contains(&format!(" {bare}s ")) || singular.is_some_and(|one| text.contains(&format!(" {one} ")))
}

fn text_of(hit: &Hit) -> String {
    let chunk = &hit.chunk;
    let title = chunk.title.as_deref().unwrap_or_default();
    squeezed(&format!("{} {title} {} {} {}", chunk.path, chunk.heading.join(" "), chunk.context, chunk.text))
}

/// Words as letters and digits in lower case, a space between them; a point within a number stays.
fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let inner = letter == '.'
            && out.ends_with(|c: char| c.is_ascii_digit())
            && letters.peek().is_some_and(char::is_ascii_digit);
        if letter.is_alphanumeric() || inner {
            out.extend(letter.to_lowercase());
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out.push(' ');
    out
}

/// The names of a question, ready to be looked for: words with a capital that do not begin it, numbers after them, and words
/// of letters and digits, wherever. A question all in capitals has none of the first.
fn named(question: &str, german: bool) -> Vec<String> {
    let mut tongue = Tongue::of(Some("en"));
    let words = tongue.words(question);
    let text = |word: &Word| question[word.range.clone()].to_owned();
    let capital = |word: &Word| text(word).starts_with(char::is_uppercase);
    let rest = words.get(1..).unwrap_or_default();
    let titled = rest.iter().filter(|word| !word.stop).all(capital);
    let mut named = Vec::new();
    let mut after_name = false;
    for (at, word) in words.iter().enumerate() {
        let own = text(word);
        let digits = own.contains(|c: char| c.is_ascii_digit());
        let identifier = digits && own.contains(|c: char| c.is_ascii_uppercase()) && !own.contains(':')
            || own.matches('.').count() > 1 && digits;
        let is_name = at > 0
            && capital(word)
            && !(german || titled || word.stop)
            && own.chars().count() > 1
            && !is_month(&word.norm)
            && !is_day(&word.norm);
        let number = digits && after_name && own.bytes().all(|b| b.is_ascii_digit());
        after_name = is_name;
        if identifier || is_name || number {
            // Without a possessive ending; a name that holds signs is as it is written.
            let plain = own.strip_suffix("'s").or(own.strip_suffix("’s")).unwrap_or(&own);
            named.push(squeezed(plain));
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_question_names() {
        for (question, german, want) in [
            ("What does error E6 mean?", false, &[" e6 "][..]),
            ("What will the Otter 4 cost?", false, &[" otter ", " 4 "]),
            ("What was fixed in firmware 2.5.0?", false, &[" 2.5.0 "]),
            ("Can I pay with PayPal on Saturdays in May?", false, &[" paypal "]),
            ("How many days of leave are there in 2025?", false, &[]),
            ("What Does The Otter Cost?", false, &[]),
            ("Wer liefert Pumpen in die Schweiz?", true, &[]),
            ("Was bedeutet der Fehler E6?", true, &[" e6 "]),
            ("Is 25% of the price due?", false, &[]),
            ("What is the Otter's warranty?", false, &[" otter "]),
            ("Is the Otter’s seal spare?", false, &[" otter "]),
        ] {
            assert_eq!(named(question, german), want, "{question}");
        }
    }

    #[test]
    fn words_are_compared_whole() {
        assert!(squeezed("Firmware 2.5.0.").contains(" 2.5.0 "));
        assert!(!squeezed("E61").contains(" e6 "));
        assert!(squeezed("the Otter's CTL-24").contains(" otter "));
        assert!(holds(&squeezed("one GPU"), " gpus ") && holds(&squeezed("two Otters"), " otter "));
        assert!(!holds(&squeezed("error E6"), " e6s ") && !holds(&squeezed("the pump"), " otter "));
    }
}
