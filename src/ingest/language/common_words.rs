//! A language by its commonest words.
//!
//! Only words that no other language in Latin script is full of: `the` and `and`, not `in` or `is`. Good for: prose in one
//! of a few languages. Not for: deciding that a text is in none of them.

/// A word is told by its letters alone, so it has at most so many bytes.
const MAX_BYTES: usize = 8;

/// Fewer words prove nothing.
const MIN_WORDS: usize = 10;

/// At least one word in so many must be on the list of a language: in English prose it is one in six.
const SHARE: usize = 10;

/// The words of another language must be at least so many times rarer.
const LEAD: usize = 4;

const LANGS: [(&str, &[&str]); 4] = [
    (
        "en",
        &[
            "the", "and", "to", "that", "with", "this", "which", "are", "you", "from", "have", "not", "can", "were",
            "will", "has", "its", "these", "be", "by", "it", "when", "their", "been", "your", "should", "would",
        ],
    ),
    (
        "de",
        &[
            "der", "und", "das", "ist", "nicht", "mit", "ein", "eine", "auf", "für", "dem", "sich", "auch", "wird",
            "von", "werden", "bei", "sind", "oder", "einer", "wurde", "durch", "zur", "zum",
        ],
    ),
    (
        "fr",
        &[
            "les", "des", "du", "et", "est", "une", "dans", "pour", "qui", "sur", "par", "pas", "sont", "avec",
            "cette", "aux", "été", "ces",
        ],
    ),
    (
        "es",
        &[
            "el", "los", "las", "una", "para", "por", "del", "como", "más", "este", "esta", "fue", "entre", "pero",
            "son",
        ],
    ),
];

const COUNT: usize = {
    let (mut total, mut lang) = (0, 0);
    while lang < LANGS.len() {
        total += LANGS[lang].1.len();
        lang += 1;
    }
    total
};

/// Every word as a number with the index of its language, sorted.
static WORDS: [(u64, u8); COUNT] = {
    let mut words = [(0, 0); COUNT];
    let (mut count, mut lang) = (0, 0);
    while lang < LANGS.len() {
        let mut at = 0;
        while at < LANGS[lang].1.len() {
            let word = (key(LANGS[lang].1[at].as_bytes()), lang as u8);
            let mut place = count;
            while place > 0 && words[place - 1].0 > word.0 {
                words[place] = words[place - 1];
                place -= 1;
            }
            words[place] = word;
            count += 1;
            at += 1;
        }
        lang += 1;
    }
    words
};

const fn key(word: &[u8]) -> u64 {
    assert!(word.len() <= MAX_BYTES);
    let (mut key, mut at) = (0, 0);
    while at < word.len() {
        key = key << 8 | word[at].to_ascii_lowercase() as u64;
        at += 1;
    }
    key
}

/// The language of a text, if its common words leave no doubt. O(n).
pub(super) fn detect(text: &str) -> Option<&'static str> {
    let mut hits = [0usize; LANGS.len()];
    let mut words = 0;
    let (mut ascii, mut other) = (0, 0);
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
    for word in text.as_bytes().split(|byte| !is_letter(byte)).filter(|word| !word.is_empty()) {
        words += 1;
        *if word.is_ascii() { &mut ascii } else { &mut other } += word.len();
        if word.len() <= MAX_BYTES
            && let Ok(at) = WORDS.binary_search_by_key(&key(word), |word| word.0)
        {
            hits[usize::from(WORDS[at].1)] += 1;
        }
    }
    let best = (0..LANGS.len()).max_by_key(|&at| (hits[at], LANGS.len() - at))?;
    let others = hits.iter().enumerate().filter(|&(at, _)| at != best).map(|(_, hits)| *hits).max().unwrap_or(0);
    // A text in another script may be full of quotations.
    let is_clear = ascii > other && words >= MIN_WORDS && hits[best] * SHARE >= words && hits[best] >= others * LEAD;
    is_clear.then_some(LANGS[best].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_common_in_one_language() {
        assert!(WORDS.is_sorted_by(|left, right| left.0 < right.0));
    }

    #[test]
    fn prose_is_told_by_its_words() {
        for (text, want) in [
            ("The pump must be started only when the inlet valve is open and the oil has been checked.", Some("en")),
            ("Die Pumpe darf nur gestartet werden, wenn der Schieber offen ist und das Öl geprüft wurde.", Some("de")),
            (
                "La pompe ne doit être mise en marche que si les vannes sont ouvertes et l'huile est contrôlée.",
                Some("fr"),
            ),
            (
                "La bomba se arranca por el operador cuando los filtros están limpios y el aceite fue revisado.",
                Some("es"),
            ),
            // Neighbours of these languages, and too little of them.
            ("De pomp mag alleen worden gestart wanneer de klep open is en de olie is gecontroleerd door ons.", None),
            ("Pumpen må kun startes, når ventilen er åben, og olien er blevet kontrolleret af en af os her.", None),
            ("La pompa deve essere avviata solo quando la valvola di ingresso è aperta e il filtro è pulito.", None),
            ("A bomba só deve ser ligada quando a válvula de entrada estiver aberta e o óleo for verificado.", None),
            ("La bomba només s'ha d'engegar quan la vàlvula d'entrada és oberta i l'oli s'ha comprovat bé.", None),
            ("Насос разрешается включать только при открытом впускном клапане и после проверки масла.", None),
            ("ポンプは、入口弁が開いていて油が確認された場合にのみ始動してください。", None),
            ("the and the", None),
            ("the pump and der Motor und das Ventil with the valve und die Welle and this is all", None),
            ("x = foo(bar); y = the_value; z = baz[1]; w = qux.quux; v = corge + grault - garply", None),
            ("", None),
        ] {
            assert_eq!(detect(text), want, "{text}");
        }
    }
}
