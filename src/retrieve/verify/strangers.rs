//! Which content words of a sentence its passages have in no form: the `tea` that stands where they have `coffee`.
//!
//! Useful for: one word put in place of another in a sentence that is else the passage's own. Not for: deciding that a
//! sentence is false; a true paraphrase may have such a word too, so one makes a sentence weak and no more.

use super::{claim::Claim, evidence::Evidence, facts::tells_a_kind};
use crate::retrieve::words::{Word, WordList, is_cjk, same_stem, same_word};

/// Of so many content words one may be new: in a long sentence a connecting word is, as often as not.
const ONE_NEW_IN: usize = 10;
/// Two stems that begin alike are forms of one word from so many shared letters on, and from that share of the longer one.
const SHARED_LETTERS: usize = 5;
const SHARED_TENTHS: usize = 7;

/// Words that say nothing of their own about what a sentence is about, by their stems.
static LIGHT: WordList = WordList::new(
    "done document text sourc section state mention specifi indic describ list note follow answer inform \
    exampl name current simpli approxim rough total various kind thing way case accord summari refer mean call receiv \
    happen occur exist locat situat consist contain offer provid hold held entitl respect overall addit therefor find \
    found includ work come came place part know knew known polici manual handbook guid page articl websit report",
);

/// English words that stand for one another in documents and answers about them, by their stems.
const SYNONYMS: &[&str] = &[
    "staff employe employee worker personnel colleagu everybodi everyon",
    "custom client buyer purchas",
    "bill invoic",
    "buy bought purchas order",
    "leav vacat holiday",
    "ill sick sick ill unwel",
    "doctor physician medic",
    "phone telephon call",
    "email mail e-mail",
    "price cost fee charg",
    "begin began begun start commenc",
    "end finish termin expir laps",
    "big larg huge",
    "small littl",
    "fast quick rapid",
    "forbidden forbid prohibit ban",
    "must requir mandatori oblig",
    "replac new chang exchang renew",
    "fix repair mend solv resolv",
    "return send sent back",
    "limit most maximum up",
    "least minimum",
    "allow permit may can",
    "show displai display",
    "quick soon",
    "error fault fail failur problem",
    "help assist support",
    "stop halt",
    "shop store",
    "photo photograph pictur",
    "free gratis",
    "attend present",
    "absent miss",
    "caus reason becaus",
    "patent brevet",
    "boss manag lead leader",
    "suppli deliv ship shipment deliveri dispatch",
    "remov delet drop",
    "journey travel trip",
    "firm compani busi",
    "home hous",
    "carri bear bore",
];

/// Forms of English verbs that no stemmer joins.
const FORMS: &str = "pay paid|buy bought|send sent|sell sold sale|keep kept|hold held|find found|write wrote written|begin \
    began begun|break broke broken|choos chose chosen|take took taken|go went gone|grow grew grown|know knew known|lead \
    led|lose lost loss|meet met|run ran|see saw seen|speak spoke spoken|spend spent|stand stood|teach taught|tell told|think \
    thought|throw threw thrown|win won|bring brought|build built|catch caught|draw drew drawn|drive drove driven|fall fell \
    fallen|fly flew flown|freez froze frozen|rise rose risen|wear wore worn|leav left|feel felt|bear bore born borne|weigh \
    weight|deliv deliveri|arriv arrival|refus refusal|decid decis|divid divis|explain explan|permit permiss|high height|long \
    length|wide width|deep depth|strong strength|warm warmth|hot heat|cold cool|die death dead|live life|choic choos|sit \
    sat|burst burst|hang hung|hide hid hidden|lay laid|lie lay lain|shake shook shaken|steal stole stolen|swim swam swum|wake \
    woke woken";

/// Why a sentence cannot be sure of its support: words of it that no cited passage has in any form.
pub(super) fn strange(claim: &Claim, cited: &[&Evidence]) -> Option<String> {
    let content = claim.content();
    let bounded = claim.facts.iter().any(|fact| fact.bound().is_some());
    let figures = claim.facts.iter().any(|fact| fact.is_number());
    let mut new: Vec<&Word> = Vec::new();
    for word in &content {
        // Names have been looked for with their short forms.
        let is_name = claim.names.iter().any(|name| !name.first && name.at == word.range.start);
        let harmless = is_light(word)
            || is_name
            || word.norm.chars().any(|c| is_cjk(c) || c.is_numeric())
            || figures && tells_a_kind(&word.norm)
            || bounded && matches!(word.stem.as_str(), "limit" | "most" | "least" | "maximum" | "minimum");
        if !harmless && !cited.iter().any(|evidence| has_form(evidence, word)) && !new.contains(word) {
            new.push(word);
        }
    }
    if new.len() <= content.len() / ONE_NEW_IN {
        return None;
    }
    let place = if cited.len() == 1 { "the passage" } else { "the passages" };
    let word = claim.text.get(new[0].range.clone()).unwrap_or(&new[0].norm);
    Some(format!("the word `{word}` is not in {place}"))
}

/// The word carries no claim of its own.
pub(super) fn is_light(word: &Word) -> bool {
    LIGHT.has(&word.stem)
}

fn has_form(evidence: &Evidence, word: &Word) -> bool {
    if evidence.norms.contains(&word.norm) || evidence.stems.contains(&word.stem) {
        return true;
    }
    let squeezed: String = word.norm.chars().filter(|c| c.is_alphanumeric()).collect();
    if squeezed.chars().count() > SHARED_LETTERS && evidence.squeezed.contains(&squeezed) {
        return true;
    }
    let own = evidence.clauses.iter().flat_map(|clause| clause.words.iter().chain(&clause.borrowed));
    evidence.stems.iter().any(|stem| begin_alike(stem, &word.stem) || are_forms(stem, &word.stem))
        || evidence.german && own.into_iter().any(|other| same_word(other, word, true))
}

/// `decid` and `decis`, `manag` and `manageri`.
fn begin_alike(a: &str, b: &str) -> bool {
    if same_stem(a, b) {
        return true;
    }
    let shared = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    let longer = a.chars().count().max(b.chars().count());
    shared >= SHARED_LETTERS && 10 * shared >= SHARED_TENTHS * longer
}

fn are_forms(a: &str, b: &str) -> bool {
    let both = |group: &str| {
        let mut words = group.split_whitespace();
        let (mut has_a, mut has_b) = (false, false);
        words.by_ref().for_each(|word| {
            has_a |= word == a;
            has_b |= word == b;
        });
        has_a && has_b
    };
    FORMS.split('|').any(both) || SYNONYMS.iter().any(|group| both(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word() {
        for (a, b, same) in [
            ("pay", "paid", true),
            ("decid", "decis", true),
            ("staff", "employe", true),
            ("replac", "new", true),
            ("coffe", "tea", false),
            ("coffe", "coffin", false),
            ("steel", "steep", false),
            ("contract", "contact", false),
            ("manag", "manageri", true),
            ("cat", "car", false),
        ] {
            assert_eq!(begin_alike(a, b) || are_forms(a, b), same, "{a} {b}");
        }
    }
}
