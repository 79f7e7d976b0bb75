//! Which stemmer a language has.
//!
//! Snowball stemmers through `frostem`. A chunk whose language is unknown is read as English, which most such texts
//! (code, tables, names) are nearest to; a language without a stemmer keeps its words.

use std::{borrow::Cow, collections::BTreeSet};

use frostem::{Algorithm, Stemmer};

use super::analyzer::term;

/// Shortens words of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::index) struct Stems(Option<Algorithm>);

impl Stems {
    /// By ISO 639-1 code; `None` or empty: unknown.
    pub(in crate::index) fn of(lang: Option<&str>) -> Self {
        Self(algorithm(lang.unwrap_or_default()))
    }

    /// The stem of a word in lower case, as a [`term`]. Never empty.
    pub(in crate::index) fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        let Some(algorithm) = self.0 else { return term(word) };
        // No rule of any language looks at a word of one byte, and digits have no endings.
        if word.len() < 2 || word.bytes().all(|b| b.is_ascii_digit()) {
            return Cow::Borrowed(word);
        }
        match Stemmer::new(algorithm).stem(word) {
            stem if stem.is_empty() => term(word),
            Cow::Borrowed(stem) => term(stem),
            Cow::Owned(stem) if stem.contains('ı') => Cow::Owned(term(&stem).into_owned()),
            Cow::Owned(stem) => Cow::Owned(stem),
        }
    }
}

/// The stemmers of several languages, each kind once.
pub(in crate::index) fn all_stems<'a>(langs: impl Iterator<Item = &'a str>) -> Vec<Stems> {
    let langs: BTreeSet<&str> = langs.collect();
    let mut stems = Vec::new();
    for lang in langs {
        let kind = Stems(algorithm(lang));
        if !stems.contains(&kind) {
            stems.push(kind);
        }
    }
    stems
}

fn algorithm(lang: &str) -> Option<Algorithm> {
    Some(match lang {
        "" | "en" => Algorithm::English,
        "ar" => Algorithm::Arabic,
        "ca" => Algorithm::Catalan,
        "cs" => Algorithm::Czech,
        "da" => Algorithm::Danish,
        "de" => Algorithm::German,
        "el" => Algorithm::Greek,
        "eo" => Algorithm::Esperanto,
        "es" => Algorithm::Spanish,
        "et" => Algorithm::Estonian,
        "eu" => Algorithm::Basque,
        "fa" => Algorithm::Persian,
        "fi" => Algorithm::Finnish,
        "fr" => Algorithm::French,
        "ga" => Algorithm::Irish,
        "hi" => Algorithm::Hindi,
        "hu" => Algorithm::Hungarian,
        "hy" => Algorithm::Armenian,
        "id" => Algorithm::Indonesian,
        "it" => Algorithm::Italian,
        "lt" => Algorithm::Lithuanian,
        "nb" | "nn" | "no" => Algorithm::Norwegian,
        "ne" => Algorithm::Nepali,
        "nl" => Algorithm::Dutch,
        "pl" => Algorithm::Polish,
        "pt" => Algorithm::Portuguese,
        "ro" => Algorithm::Romanian,
        "ru" => Algorithm::Russian,
        "sr" => Algorithm::Serbian,
        "sv" => Algorithm::Swedish,
        "ta" => Algorithm::Tamil,
        "tr" => Algorithm::Turkish,
        "yi" => Algorithm::Yiddish,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_the_endings_of_their_language() {
        let cases = [
            (Some("en"), "refunds", "refund"),
            (None, "running", "run"),
            (Some("de"), "häuser", "haus"),
            (Some("fr"), "continuellement", "continuel"),
            (Some("ru"), "книгами", "книг"),
            (Some("es"), "casas", "cas"),
            // The stemmer knows the dotless letter, terms do not.
            (Some("tr"), "kapıları", "kapi"),
            (Some("tr"), "ışık", "işik"),
            (None, "ışık", "işik"),
            (Some("zh"), "running", "running"),
            (Some("xx"), "refunds", "refunds"),
            (Some("en"), "s", "s"),
            (Some("en"), "2026", "2026"),
        ];
        for (lang, word, want) in cases {
            assert_eq!(Stems::of(lang).stem(word), want, "{lang:?} {word}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_word_of_any_language_can_be_stemmed(word in "\\PC{1,12}|[a-zäßéèıñçøåžčřěůαβγςа-яёא-ת\u{600}-\u{6ff}\u{900}-\u{97f}]{1,14}") {
            let langs = "en ar ca cs da de el eo es et eu fa fi fr ga hi hu hy id it lt no ne nl pl pt ro ru sr sv ta tr yi xx";
            for lang in langs.split(' ') {
                assert!(!Stems::of(Some(lang)).stem(&word).is_empty(), "{lang} {word}");
            }
        }
    }

    #[test]
    fn each_stemmer_is_asked_once() {
        let langs = ["en", "", "no", "nb", "zh", "ja", "de"];
        assert_eq!(all_stems(langs.into_iter()).len(), 4);
        assert!(all_stems(std::iter::empty()).is_empty());
    }
}
