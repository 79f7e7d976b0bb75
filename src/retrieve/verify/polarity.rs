//! Whether two clauses say a thing or its opposite: negations and what they negate, words that are opposites, `all`
//! against `some`.
//!
//! Useful for: catching an answer that flips its passage. Not for: irony, double negation, and conditions; where a clause
//! denies by a verb (`excludes`, `fails to`) nothing is decided here.

use crate::retrieve::words::{Word, WordList, normal};

/// A text's negations, seen against its words.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Polarity {
    /// Which of the words given are negated, by their index.
    pub negated: Vec<usize>,
    pub negations: usize,
    /// It denies by a verb or an exception, so that the scope of a denial is not plain.
    pub unclear: bool,
}

/// Languages in which a negation stands before what it negates. In the others only its presence counts.
pub(super) fn has_scope(lang: &str) -> bool {
    !matches!(lang, "de" | "nl" | "sv" | "da" | "no" | "nb" | "zh" | "ja" | "ko" | "tr" | "hi" | "ar")
}

/// A word that negates, in lower case.
pub(in crate::retrieve) fn is_negation(norm: &str) -> bool {
    static NEGATIONS: WordList = WordList::new(
        "not no never none nobody nothing neither nor cannot nowhere cant wont dont doesnt isnt \
        nicht kein keine keinen keinem keiner keines nie niemals niemand nichts weder ohne \
        nunca jamás ningún ninguna ninguno nadie nada tampoco sin pas jamais aucun aucune rien ne non mai nessun \
        nessuno não nem нет не ни никогда niet geen nooit inte aldrig ikke aldri ei değil لا ليس لم لن नहीं",
    );
    norm.ends_with("n't") || NEGATIONS.has(norm)
}

/// Words of denial whose scope cannot be told from their place.
static UNCLEAR: WordList = WordList::new(
    "except excluding exclude excludes excluded unless fail fails failed refuse refuses refused deny denies \
    denied lack lacks lacking prohibit prohibits prohibited forbid forbids forbidden prevent prevents prevented impossible \
    unable without instead rather hardly barely außer ausgeschlossen verboten excepto salvo prohibido sauf interdit",
);

/// English words that deny the deed which follows them.
static ENDS: WordList = WordList::new(
    "against stop stops stopped stopping cease ceases ceased quit quits avoid avoids avoided discontinue discontinues \
    discontinued",
);

/// The words of a clause that deny by themselves, so that the scope of a denial is not plain.
pub(super) fn unclear_words(words: &[Word]) -> Vec<&str> {
    let unclear = |word: &&Word| UNCLEAR.has(&word.norm);
    words.iter().filter(unclear).map(|word| word.stem.as_str()).collect()
}

/// `words` are all words of the clause, content or not, in its order; `text` is what their ranges belong to.
pub(super) fn polarity(text: &str, words: &[Word], lang: &str) -> Polarity {
    let mut found = Polarity::default();
    for (at, word) in words.iter().enumerate() {
        found.unclear |= UNCLEAR.has(&word.norm);
        if matches!(lang, "zh" | "ja") {
            found.negations += usize::from(negates_cjk(words, at));
            continue;
        }
        // `stopped supporting`, `advise against running`: the deed is denied.
        let deed = words.get(at + 1).is_some_and(|next| next.norm.ends_with("ing") && !next.stop);
        if lang == "en" && deed && ENDS.has(&word.norm) {
            found.negations += 1;
            found.negated.push(at + 1);
            continue;
        }
        if !is_negation(&word.norm) || matches!(word.norm.as_str(), "sin" | "ohne" if lang == "en") {
            continue;
        }
        // `costs nothing for children` denies that it costs, not the children.
        if matches!(word.norm.as_str(), "nothing" | "nobody" | "none" | "nichts" | "niemand" | "rien" | "nada")
            && let Some(before) = words[..at].iter().rposition(|before| !before.stop)
        {
            found.negations += 1;
            found.negated.push(before);
            continue;
        }
        let next = words.get(at + 1).map_or("", |next| next.norm.as_str());
        let after = words.get(at + 2).map_or("", |next| next.norm.as_str());
        // `not only`, `no later than`, and the word `No,` before a sentence are no negations of it.
        let comparing =
            matches!(next, "more" | "less" | "later" | "fewer" | "earlier" | "sooner" | "older" | "mehr" | "más")
                && matches!(after, "than" | "als" | "de" | "que");
        let only = matches!(next, "only" | "just" | "nur" | "solo" | "sólo" | "seulement" | "least");
        let alone = text[word.range.end..].trim_start().starts_with([',', '.', '!', ':']) && at == 0;
        let abbreviated = word.norm == "no" && next.bytes().all(|b| b.is_ascii_digit()) && !next.is_empty();
        if comparing || only || alone || abbreviated {
            continue;
        }
        found.negations += 1;
        let skip = 1 + usize::from(matches!(next, "longer" | "yet" | "mehr" | "más" | "plus"));
        let scope = words.iter().enumerate().skip(at + skip).take(5);
        if let Some((negated, _)) = scope.into_iter().find(|(_, word)| !word.stop && !is_negation(&word.norm)) {
            found.negated.push(negated);
        }
    }
    found
}

/// 不, 没, 无, 未, 非, but not as parts of words that only contain them. Words here are pairs of characters.
fn negates_cjk(words: &[Word], at: usize) -> bool {
    const HARMLESS: &str = "不同 不断 不仅 不过 不久 不但 非常 无论 未来 除非 差不 不管 不只 不少 不错 对不";
    let pair = words[at].norm.as_str();
    let first = pair.chars().next().is_some_and(|c| "不没沒无無未非".contains(c));
    let japanese = matches!(pair, "ない" | "ませ" | "ぬ");
    (first && !HARMLESS.split(' ').any(|known| known == pair)) || japanese
}

/// Stems of English words, and some of other languages, that exclude one another.
const OPPOSITES: &[(&str, &str)] = &[
    ("open", "close"),
    ("allow", "forbid"),
    ("allow", "prohibit"),
    ("permit", "prohibit"),
    ("includ", "exclud"),
    ("increas", "decreas"),
    ("increas", "reduc"),
    ("rise", "fall"),
    ("enabl", "disabl"),
    ("maximum", "minimum"),
    ("requir", "option"),
    ("mandatori", "option"),
    ("succeed", "fail"),
    ("success", "failur"),
    ("start", "stop"),
    ("start", "end"),
    ("begin", "end"),
    ("first", "last"),
    ("higher", "lower"),
    ("high", "low"),
    ("highest", "lowest"),
    ("import", "export"),
    ("accept", "reject"),
    ("internal", "extern"),
    ("public", "privat"),
    ("true", "fals"),
    ("left", "right"),
    ("north", "south"),
    ("east", "west"),
    ("earli", "late"),
    ("earlier", "later"),
    ("oldest", "newest"),
    ("morn", "even"),
    ("upload", "download"),
    ("instal", "uninstal"),
    ("lock", "unlock"),
    ("buy", "sell"),
    ("win", "lose"),
    ("gain", "loss"),
    ("profit", "loss"),
    ("hot", "cold"),
    ("inbound", "outbound"),
    ("add", "remov"),
    ("free", "pay"),
    ("faster", "slower"),
    ("larger", "smaller"),
    ("daili", "weekli"),
    ("daili", "month"),
    ("weekli", "month"),
    ("month", "year"),
    ("month", "annual"),
    ("hour", "daili"),
    ("weekday", "weekend"),
    ("before", "after"),
    ("above", "below"),
    ("most", "least"),
    ("up", "down"),
    ("on", "off"),
    ("with", "without"),
    ("more", "less"),
    ("more", "fewer"),
    ("geöffnet", "geschloss"),
    ("erlaubt", "verbot"),
    ("maximal", "mindest"),
    ("abiert", "cerr"),
    ("permit", "prohib"),
    ("vor", "nach"),
    ("antes", "despues"),
];

/// One word for the other turns the sense round.
pub(super) fn are_opposites(a: &str, b: &str) -> bool {
    OPPOSITES.iter().any(|(x, y)| (a == *x && b == *y) || (a == *y && b == *x))
}

/// Opposites among the function words count only where a number or the same word follows; the caller sees to that.
pub(super) fn is_opposable_stop(norm: &str) -> bool {
    matches!(
        norm,
        "before"
            | "after"
            | "above"
            | "below"
            | "most"
            | "least"
            | "up"
            | "down"
            | "on"
            | "off"
            | "with"
            | "without"
            | "more"
            | "less"
            | "fewer"
            | "vor"
            | "nach"
            | "antes"
    )
}

/// `unavailable` for `available`.
pub(super) fn denies(long: &str, short: &str) -> bool {
    const OTHERS: &str = "invalid inactive incomplete incorrect insecure inaccurate impossible imperfect disallowed disconnected \
        irregular irrelevant inaccessible incompatible ineligible insufficient inconsistent inadmissible disapproved \
        invisible indirect informal disadvantage illegal imprecise impractical irreversible irrevocable";
    let rest = long.strip_suffix(short).unwrap_or("");
    short.chars().count() >= 4
        && (matches!(rest, "un" | "non" | "non-")
            || (!rest.is_empty() && OTHERS.split_whitespace().any(|known| known == long)))
}

/// Words that claim a thing for every case, and words that claim it for some only.
const WIDE: &str = "all every each always everyone everybody everything must only entire whole alle jeder jede jedes immer \
    todos todas siempre cada tous toutes toujours chaque";
const NARROW: &str = "some few many most sometimes usually often several occasionally rarely may might optionally partly selected \
    einige manche manchmal oft meist viele algunos algunas veces quelques parfois souvent";

/// The first wide word of `claim` and the first narrow one of `said`, if the claim is wider than what is said.
pub(super) fn widened(claim: &[Word], said: &[Word]) -> Option<(String, String)> {
    let find = |words: &[Word], list: &str| {
        words.iter().find(|word| list.split_whitespace().any(|known| known == word.norm)).map(|word| word.norm.clone())
    };
    let has = |words: &[Word], list: &[&str]| words.iter().any(|word| list.contains(&word.norm.as_str()));
    // `Only staff may enter` is narrower than `everybody may enter`.
    if has(said, &["only"]) && !has(claim, &["only"]) {
        let all = claim.iter().find(|word| {
            ["all", "every", "everybody", "everyone", "anybody", "anyone", "any"].contains(&word.norm.as_str())
        });
        return all.map(|all| (all.norm.clone(), "only".to_owned()));
    }
    if find(said, WIDE).is_some() {
        return None;
    }
    Some((find(claim, WIDE)?, find(said, NARROW)?))
}

/// `text` denies by itself that the passages hold an answer: "The passages do not mention the price".
pub(in crate::retrieve) fn is_abstention(text: &str) -> bool {
    let text = normal(text);
    let about = [
        "passage",
        "document",
        "context",
        "the text",
        "sources",
        "information",
        "dokument",
        "abschnitt",
        "documento",
        "contexto",
        "texto",
        "文档",
        "文中",
        "资料",
    ];
    let denial = [
        "not mention",
        "n't mention",
        "not contain",
        "n't contain",
        "not provide",
        "n't provide",
        "not say",
        "n't say",
        "not specif",
        "n't specif",
        "not state",
        "n't state",
        "not include",
        "n't include",
        "not answer",
        "n't answer",
        "no information",
        "not enough information",
        "no mention",
        "not mentioned",
        "not found in",
        "cannot answer",
        "can't answer",
        "cannot find",
        "could not find",
        "nicht erwähnt",
        "nicht enthalten",
        "keine information",
        "keine angabe",
        "nicht beantwort",
        "no menciona",
        "no contiene",
        "no hay información",
        "no proporciona",
        "没有提到",
        "未提及",
        "没有提供",
        "没有说明",
    ];
    about.iter().any(|word| text.contains(word)) && denial.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieve::words::Tongue;

    fn negated(lang: &str, text: &str) -> (Vec<String>, usize) {
        let words = Tongue::of(Some(lang)).words(text);
        let found = polarity(text, &words, lang);
        (found.negated.iter().map(|at| words[*at].norm.clone()).collect(), found.negations)
    }

    #[test]
    fn what_is_negated() {
        for (lang, text, want, count) in [
            ("en", "The proxy never caches tool calls.", &["caches"][..], 1),
            ("en", "It doesn't cache them and cannot be returned", &["cache", "returned"], 2),
            ("en", "No refunds after 30 days", &["refunds"], 1),
            ("en", "No, refunds are possible", &[], 0),
            ("en", "not only fast but no later than Monday, No. 5", &[], 0),
            ("en", "It is no longer available", &["available"], 1),
            ("de", "Der Proxy speichert das nicht.", &[], 1),
            ("de", "Es gibt keine Rückgabe", &["rückgabe"], 1),
            ("es", "El proxy no guarda llamadas", &["guarda"], 1),
            ("zh", "代理不缓存工具调用", &[], 1),
            ("zh", "非常不同的未来", &[], 0),
        ] {
            let (words, negations) = negated(lang, text);
            assert_eq!(
                (words.as_slice(), negations),
                (want.iter().map(|w| w.to_string()).collect::<Vec<_>>().as_slice(), count),
                "{text}"
            );
        }
    }

    #[test]
    fn prefixes_that_deny() {
        for (long, short, want) in [
            ("unavailable", "available", true),
            ("import", "port", false),
            ("invalid", "valid", true),
            ("install", "stall", false),
            ("non-refundable", "refundable", true),
            ("available", "available", false),
        ] {
            assert_eq!(denies(long, short), want, "{long}");
        }
    }

    #[test]
    fn abstentions() {
        assert!(is_abstention("The passages do not mention the price."));
        assert!(is_abstention("There is no information about this in the documents."));
        assert!(is_abstention("文档没有提到价格。"));
        assert!(!is_abstention("The price is not included."));
        assert!(!is_abstention("The document is 3 pages long."));
    }
}
