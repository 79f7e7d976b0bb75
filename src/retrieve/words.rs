//! Which words of a text carry meaning, and when two of them are the same word.
//!
//! Useful for: comparing an answer with a passage, a sentence with a question, a chunk with a chunk. Not for: searching
//! an index, which has an analyser of its own.

use std::{collections::HashSet, ops::Range, sync::OnceLock};

use tantivy::tokenizer::{Language, RawTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// A word of a text. Runs of Chinese and Japanese give overlapping pairs of characters in place of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// NFKC, lower case, without a possessive ending.
    pub norm: String,
    pub stem: String,
    /// A function word: holds a sentence together, says nothing of its own.
    pub stop: bool,
}

/// Words that are asked for often: laid out for that when they are first asked for.
pub(super) struct WordList {
    words: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl WordList {
    /// `words`: divided by white space, in the form they are compared in.
    pub const fn new(words: &'static str) -> Self {
        Self { words, set: OnceLock::new() }
    }

    pub fn has(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.words.split_whitespace().collect()).contains(word)
    }
}

/// Stemmer and function words of one language; English where the language is unknown or has none.
pub(super) struct Tongue {
    stem: TextAnalyzer,
    stop: Option<TextAnalyzer>,
    english: bool,
    code: String,
}

/// Function words of English that carry no fact. Negations are among them: they are judged by themselves.
static ENGLISH_STOP: WordList = WordList::new(
    "a about above according after again against all also although always am an and another any are \
    aren't around as at be became because become been before being below between both but by came can cannot can't come \
    could couldn't did didn't do does doesn't doing don't down due during each either else etc ever every few for from \
    further get gets getting give given gives go goes got had hadn't has hasn't have haven't having he he's her here hers \
    herself him himself his how however i i'm if in into is isn't it it's its itself just let like made make makes many \
    may me might more most much must mustn't my myself need needs neither never no nobody none nor not nothing now of off \
    often on once one only or other others our ours ourselves out over own per please quite rather s same say says shall \
    she should shouldn't since so some such t than that that's the their theirs them themselves then there there's \
    therefore these they they're this those through thus to too toward towards under unless until up upon us use used \
    uses using very via was wasn't we well were weren't what whatever when where whether which while who whom whose why \
    will with within without won't would wouldn't yes yet you your yours yourself yourselves passage passages",
);

/// Question words of other languages, which their lists of function words lack in part.
static QUESTION_WORDS: WordList = WordList::new(
    "wann wie wo wer wen wem was warum weshalb welche welcher welches wieviel wieviele woher wohin \
    cuándo cómo dónde quién quiénes qué cuál cuáles cuánto cuánta cuántos cuántas porqué \
    quand comment où qui quel quelle quels quelles combien pourquoi quando come dove chi quale quali quanto quanti perché \
    wanneer hoe waar wie wat waarom hoeveel когда как где кто что почему сколько какой какая какие",
);

/// Function characters of Chinese and particles of Japanese: a pair that holds one is no word.
const CJK_STOP: &str = "的了是在和与及或也都就而着被把对从到于以之其这那您你我他她它们吗呢吧はがをにでとのもへやかねよ";

impl Tongue {
    /// `lang` is an ISO 639-1 code.
    pub fn of(lang: Option<&str>) -> Self {
        let language = match lang.unwrap_or("en") {
            "ar" => Language::Arabic,
            "da" => Language::Danish,
            "de" => Language::German,
            "el" => Language::Greek,
            "es" => Language::Spanish,
            "fi" => Language::Finnish,
            "fr" => Language::French,
            "hu" => Language::Hungarian,
            "it" => Language::Italian,
            "nl" => Language::Dutch,
            "no" | "nb" | "nn" => Language::Norwegian,
            "pt" => Language::Portuguese,
            "ro" => Language::Romanian,
            "ru" => Language::Russian,
            "sv" => Language::Swedish,
            "ta" => Language::Tamil,
            "tr" => Language::Turkish,
            _ => Language::English,
        };
        let english = language == Language::English;
        let stop = if english { None } else { StopWordFilter::new(language) };
        Self {
            stem: TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(language)).build(),
            stop: stop.map(|filter| TextAnalyzer::builder(RawTokenizer::default()).filter(filter).build()),
            english,
            code: lang.unwrap_or("en").to_owned(),
        }
    }

    /// The language this was made for, as it was named.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Nouns begin with a capital, so a capital says nothing of names; and words are joined without a space.
    pub fn is_german(&self) -> bool {
        self.code == "de"
    }

    /// The words of a text in its order. O(bytes).
    pub fn words(&mut self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        let mut run: Vec<(usize, &str)> = Vec::new();
        for (at, word) in text.unicode_word_indices() {
            if word.chars().all(is_cjk) {
                for (offset, letter) in word.grapheme_indices(true) {
                    let here = at + offset;
                    if run.last().is_some_and(|(before, last)| before + last.len() != here) {
                        pairs(text, &mut run, &mut words);
                    }
                    run.push((here, letter));
                }
                continue;
            }
            pairs(text, &mut run, &mut words);
            let norm = normal(word);
            let stop = self.is_stop(&norm);
            let stem = self.stem_of(&norm);
            words.push(Word { range: at..at + word.len(), norm, stem, stop });
        }
        pairs(text, &mut run, &mut words);
        words
    }

    /// The stem of a normalised word.
    pub fn stem_of(&mut self, norm: &str) -> String {
        if norm.len() > MAX_STEMMED_BYTES || norm.bytes().any(|b| b.is_ascii_digit()) {
            return norm.to_owned();
        }
        let norm = if self.english { regular(norm) } else { norm };
        let mut stream = self.stem.token_stream(norm);
        if stream.advance() { stream.token().text.clone() } else { norm.to_owned() }
    }

    /// Whether a normalised word is a function word of this language, or of English where the text is English.
    pub fn is_stop(&mut self, norm: &str) -> bool {
        if !self.english && QUESTION_WORDS.has(norm) {
            return true;
        }
        match &mut self.stop {
            Some(stop) => {
                let mut stream = stop.token_stream(norm);
                !stream.advance()
            }
            None => self.english && ENGLISH_STOP.has(norm),
        }
    }
}

/// Longer runs of letters are no words, and stemming them is no use.
const MAX_STEMMED_BYTES: usize = 64;

/// English verbs in the form that their other forms, which no rule of a stemmer joins, go back to. Forms that are as often
/// another word (left, felt, found, saw, lay) are not among them.
const IRREGULAR: &str = "pay paid|buy bought|sell sold|send sent|keep kept|hold held|write wrote written|begin began begun|break broke \
    broken|choose chose chosen|take took taken|grow grew grown|know knew known|lead led|lose lost|meet met|run ran|speak spoke \
    spoken|spend spent|stand stood|teach taught|tell told|think thought|throw threw thrown|win won|bring brought|build \
    built|catch caught|draw drew drawn|drive drove driven|fall fell fallen|fly flew flown|freeze froze frozen|rise rose \
    risen|wear wore worn|hide hid hidden|hang hung|shake shook shaken|steal stole stolen|swim swam swum|wake woke woken|lend \
    lent|forget forgot forgotten|forbid forbade forbidden|eat ate eaten|drink drank drunk|sing sang sung|sink sank \
    sunk|swear swore sworn|tear tore torn|ride rode ridden|shoot shot|sleep slept|feed fed|fight fought|seek sought|shrink \
    shrank shrunk|weigh weight|long length";

/// The form that an irregular one goes back to.
fn regular(norm: &str) -> &str {
    static FORMS: std::sync::OnceLock<std::collections::HashMap<&'static str, &'static str>> =
        std::sync::OnceLock::new();
    let forms = FORMS.get_or_init(|| {
        let groups = IRREGULAR.split('|').map(|group| group.split_whitespace());
        groups
            .flat_map(|mut group| {
                group.next().into_iter().flat_map(move |first| group.clone().map(move |form| (form, first)))
            })
            .collect()
    });
    forms.get(norm).copied().unwrap_or(norm)
}

/// NFKC and lower case, with one kind of apostrophe and no possessive ending.
pub(super) fn normal(word: &str) -> String {
    if word.is_ascii() {
        // NFKC leaves it as it is.
        let norm = word.to_ascii_lowercase();
        return without_owner(norm);
    }
    let mut norm = String::with_capacity(word.len());
    for letter in word.nfkc().filter(|&c| !is_invisible(c)) {
        let letter = if letter == '’' { '\'' } else { letter };
        norm.extend(letter.to_lowercase());
    }
    without_owner(norm)
}

/// A normalised word without its possessive ending.
fn without_owner(mut norm: String) -> String {
    if let Some(owner) = norm.strip_suffix("'s").filter(|owner| owner.chars().count() > 2) {
        norm.truncate(owner.len());
    }
    norm
}

/// Characters that take no room: they neither divide nor make a word.
pub(super) fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{AD}' | '\u{E0000}'..='\u{E007F}')
}

/// Scripts that are written without spaces between words and that pairs of characters stand for.
pub(super) fn is_cjk(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3134F}')
}

/// Turns a run of neighbouring characters into pairs; a lone character stands for itself.
fn pairs(text: &str, run: &mut Vec<(usize, &str)>, words: &mut Vec<Word>) {
    let stop = |range: &Range<usize>| text[range.clone()].chars().any(|c| CJK_STOP.contains(c));
    let mut push = |range: Range<usize>| {
        let norm = normal(&text[range.clone()]);
        words.push(Word { stop: stop(&range), stem: norm.clone(), norm, range });
    };
    match run.as_slice() {
        [] => {}
        [(at, letter)] => push(*at..at + letter.len()),
        many => many.windows(2).for_each(|pair| push(pair[0].0..pair[1].0 + pair[1].1.len())),
    }
    run.clear();
}

/// Letters that two stems must share at their beginning to be the same word when their endings differ.
const SHARED_LETTERS: usize = 5;
/// Letters that may follow the shared ones.
const LOOSE_LETTERS: usize = 3;

/// Two stems of one word: equal, or one continues the other by a short ending that the stemmer left (`employ`, `employe`).
pub(super) fn same_stem(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let Some(rest) = long.strip_prefix(short) else { return false };
    short.chars().count() >= SHARED_LETTERS
        && rest.chars().count() <= LOOSE_LETTERS
        && long.chars().all(char::is_alphabetic)
}

/// As [`same_stem`]; in German a word may also be the first or last part of another (`Urlaub`, `Jahresurlaub`).
pub(super) fn same_word(a: &Word, b: &Word, german: bool) -> bool {
    if a.norm == b.norm || same_stem(&a.stem, &b.stem) {
        return true;
    }
    if !german {
        return false;
    }
    let (short, long) = if a.stem.len() < b.stem.len() { (&a.stem, &b.stem) } else { (&b.stem, &a.stem) };
    short.chars().count() >= SHARED_LETTERS && (long.starts_with(short.as_str()) || long.ends_with(short.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(lang: &str, text: &str) -> Vec<String> {
        Tongue::of(Some(lang)).words(text).into_iter().filter(|word| !word.stop).map(|word| word.stem).collect()
    }

    #[test]
    fn content_words_are_stemmed_and_function_words_left_out() {
        for (lang, text, want) in [
            ("en", "The proxies were caching all of Acme’s tool calls.", &["proxi", "cach", "acm", "tool", "call"][..]),
            ("de", "Die Mitarbeiter haben keine Verträge", &["mitarbeit", "vertrag"]),
            ("es", "Los empleados tienen vacaciones", &["emple", "vacacion"]),
            ("zh", "员工的年假", &["员工", "年假"]),
            ("en", "", &[]),
        ] {
            assert_eq!(content(lang, text), want, "{text}");
        }
    }

    #[test]
    fn ranges_quote_the_text() {
        let text = "Größe ﬁne 年假25天 don’t\u{200B}x";
        for word in Tongue::of(None).words(text) {
            assert!(text.get(word.range.clone()).is_some(), "{word:?}");
        }
    }

    #[test]
    fn endings_the_stemmer_leaves_do_not_divide() {
        for (a, b, same) in
            [("employ", "employe", true), ("port", "portable", false), ("cart", "carton", false), ("a", "a", true)]
        {
            assert_eq!(same_stem(a, b), same, "{a} {b}");
        }
    }
}
