//! A sentence of an answer prepared for checking.

use super::{
    evidence::{Clause, Evidence, clauses_of, plain},
    facts::Fact,
    has_word,
    names::{Name, initials, names},
    reading::facts,
};
use crate::retrieve::words::{Tongue, Word, is_cjk, same_stem};

pub(super) struct Claim {
    pub text: String,
    pub lang: String,
    pub clauses: Vec<Clause>,
    pub facts: Vec<Fact>,
    pub names: Vec<Name>,
    /// Quotations of four words or more, ready to be looked for; each in the parts that an ellipsis leaves.
    pub quotations: Vec<Vec<String>>,
    /// Content words of the question, taken where the sentence is a bare answer: `25.`
    lent: Vec<Word>,
    question_norms: Vec<String>,
}

/// Quotations shorter than this may be mere names.
const MIN_QUOTED_WORDS: usize = 4;

impl Claim {
    pub fn new(sentence: &str, question: &str, lang: &str) -> Self {
        let mut tongue = Tongue::of(Some(lang));
        let text = sentence.trim().to_owned();
        let clauses = clauses_of(&text, 0..text.len(), 0, &mut tongue, lang);
        let facts = facts(&text, lang);
        let asked = tongue.words(question);
        let bare = !clauses.iter().flat_map(|clause| &clause.words).any(|word| counts(word, &text, &facts));
        let lent = if bare && !facts.is_empty() {
            asked.iter().filter(|word| !word.stop).cloned().collect()
        } else {
            Vec::new()
        };
        Self {
            names: names(&text, &mut tongue),
            quotations: quotations(&text),
            question_norms: asked.into_iter().map(|word| word.norm).collect(),
            lang: lang.to_owned(),
            clauses,
            facts,
            lent,
            text,
        }
    }

    /// The words whose presence is counted: content words that are no part of a number.
    pub fn content(&self) -> Vec<&Word> {
        let own = self.clauses.iter().flat_map(|clause| &clause.words);
        own.filter(|word| counts(word, &self.text, &self.facts)).chain(&self.lent).collect()
    }

    /// The counted words of one of its clauses.
    pub fn content_of<'a>(&'a self, clause: &'a Clause) -> Vec<&'a Word> {
        clause.words.iter().filter(|word| counts(word, &self.text, &self.facts)).chain(&self.lent).collect()
    }

    pub fn has_words(&self) -> bool {
        !self.content().is_empty()
    }

    pub fn is_of_question(&self, name: &str) -> bool {
        name.split(' ').all(|word| self.question_norms.contains(&crate::retrieve::words::normal(word)))
    }

    /// Names that no cited passage has.
    pub fn names_missing_from(&self, cited: &[&Evidence], all: &[Evidence]) -> Vec<String> {
        let groups = initials(&self.names);
        let mut missing = Vec::new();
        for (at, name) in self.names.iter().enumerate() {
            if cited.iter().any(|evidence| self.is_known(name, evidence)) {
                continue;
            }
            // `Human Resources` where the passage says `HR`, and the other way round.
            let group = groups.iter().rev().find(|(from, group)| (*from..from + group.chars().count()).contains(&at));
            let short = |evidence: &&Evidence| group.is_some_and(|(_, letters)| evidence.norms.contains(letters));
            let long = |evidence: &&Evidence| {
                name.word.chars().all(char::is_uppercase) && spells_out(&evidence.passage.text, &name.norm)
            };
            if cited.iter().any(|evidence| short(evidence) || long(evidence)) {
                continue;
            }
            if name.first && !self.is_surely_a_name(at, cited, all) {
                continue;
            }
            missing.push(name.word.clone());
        }
        missing
    }

    fn is_known(&self, name: &Name, evidence: &Evidence) -> bool {
        if evidence.norms.contains(&name.norm) {
            return true;
        }
        let squeezed: String = name.norm.chars().filter(|c| c.is_alphanumeric()).collect();
        evidence.stems.contains(&name.stem)
            || squeezed.chars().count() >= 5 && evidence.squeezed.contains(&squeezed)
            || evidence.stems.iter().any(|stem| same_stem(stem, &name.stem))
    }

    /// The first word of a sentence has a capital anyway. It is a name if a name follows, if another passage or the
    /// question has it as one, or if it stands where the passage's own sentence, alike in all the rest, has another.
    pub fn is_surely_a_name(&self, at: usize, cited: &[&Evidence], all: &[Evidence]) -> bool {
        let name = &self.names[at];
        let mid = |text: &str| {
            text.match_indices(&name.word).any(|(found, _)| {
                let before = text[..found].trim_end();
                text[..found].ends_with([' ', '(']) && before.ends_with(|c: char| c.is_alphanumeric() || c == ',')
            })
        };
        if self.names.get(at + 1).is_some_and(|next| next.follows)
            || self.question_norms.contains(&name.norm)
            || all.iter().any(|evidence| mid(&evidence.passage.text))
        {
            return true;
        }
        let rest: Vec<&Word> = self.content().into_iter().filter(|word| word.norm != name.norm).collect();
        let clause = self.clauses.first();
        let verb = clause.and_then(|clause| clause.words.get(1)).map_or("", |word| word.norm.as_str());
        let singular = matches!(verb, "is" | "was" | "has" | "does" | "ist" | "war" | "hat" | "es" | "fue" | "tiene")
            || verb.ends_with('s') && !verb.ends_with("ss")
            || verb.ends_with("ed");
        if rest.len() < 2 || !singular || name.norm.ends_with('s') {
            return false;
        }
        cited.iter().any(|evidence| {
            evidence.clauses.iter().any(|said| {
                let Some(subject) = said.words.first() else { return false };
                let capital = evidence.passage.text[said.range.clone()].trim_start().starts_with(char::is_uppercase);
                let other = capital
                    && !subject.stop
                    && self.clauses.iter().all(|own| !has_word(&own.words, subject, evidence.german));
                let follows = said.words.get(1).is_some_and(|word| word.norm == verb);
                let alike = rest.iter().filter(|word| said.find(word, evidence.german)).count();
                other && follows && alike * 10 >= rest.len() * 8
            })
        })
    }
}

fn counts(word: &Word, text: &str, facts: &[Fact]) -> bool {
    // `a maximum load of 630 kg` is `at most 630 kg`.
    let bounds = matches!(word.norm.as_str(), "maximum" | "minimum" | "limit") && facts.iter().any(Fact::is_number);
    if bounds {
        return false;
    }
    let within = |fact: &Fact| fact.range.start <= word.range.start && word.range.end <= fact.range.end;
    !word.stop && !facts.iter().any(within) && text[word.range.clone()].chars().any(char::is_alphabetic)
}

/// Capitals of neighbouring words of a text spell these letters.
fn spells_out(text: &str, letters: &str) -> bool {
    let wanted: Vec<char> = letters.chars().collect();
    let firsts: Vec<char> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !matches!(*word, "of" | "and" | "the" | "for" | "de" | "und"))
        .map(|word| {
            word.chars().next().filter(|c| c.is_uppercase()).map_or(' ', |c| c.to_lowercase().next().unwrap_or(' '))
        })
        .collect();
    wanted.len() >= 2 && firsts.windows(wanted.len()).any(|run| run == wanted)
}

fn quotations(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')] {
        let mut rest = text;
        while let Some(from) = rest.find(open) {
            let body = &rest[from + open.len_utf8()..];
            let Some(to) = body.find(close) else { break };
            let quoted = &body[..to];
            let long = quoted.split_whitespace().count() >= MIN_QUOTED_WORDS
                || quoted.chars().filter(|c| is_cjk(*c)).count() >= 2 * MIN_QUOTED_WORDS;
            if long {
                let parts = plain(quoted).replace("...", "…");
                let parts =
                    parts.split('…').map(|part| part.trim_matches([' ', '.', ',', ';', ':', '[', ']']).to_owned());
                found.push(parts.filter(|part| !part.is_empty()).collect());
            }
            rest = &body[to + close.len_utf8()..];
        }
    }
    found
}
