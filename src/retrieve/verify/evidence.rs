//! A passage prepared for checking: its sentences and clauses, their words, facts and negations.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use super::{
    facts::{Fact, Value},
    polarity::{Polarity, is_negation, polarity},
    reading,
    sections::{places, windows},
};
use crate::retrieve::{
    passages::Passage,
    sentences::{self, Kind, Unit},
    words::{Tongue, Word, is_invisible, same_word},
};

/// A part of a sentence that says one thing.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    /// Bytes of the text it was cut from.
    pub range: Range<usize>,
    /// Index of its sentence.
    pub unit: usize,
    /// All its words, function words too.
    pub words: Vec<Word>,
    /// Words that belong to it without standing in it: a table's header, the sentence its pronoun means.
    pub borrowed: Vec<Word>,
    pub facts: Vec<Fact>,
    pub polarity: Polarity,
    /// It is a row of a table, where units stand in the header if anywhere.
    pub row: bool,
}

impl Clause {
    /// The word, or one borrowed, that is the same as `word`.
    pub fn find(&self, word: &Word, german: bool) -> bool {
        self.words.iter().chain(&self.borrowed).any(|own| !own.stop && same_word(own, word, german))
    }

    /// The clause says the fact. A number without a unit stands for one with a unit only where no other number of the
    /// clause has that unit.
    pub fn says(&self, fact: &Fact) -> bool {
        self.facts.iter().any(|own| {
            let loose = fact.is_number() && own.is_number() && !own.is_like(fact);
            own.agrees(fact) && !(loose && self.facts.iter().any(|other| other.is_like(fact)))
        })
    }

    /// The word is part of a fact: of a number, its unit, a date.
    pub fn is_measured(&self, word: &Word) -> bool {
        self.facts.iter().any(|fact| fact.range.start <= word.range.start && word.range.end <= fact.range.end)
    }

    /// The content word right after a fact: what is counted.
    pub fn counted(&self, fact: &Fact) -> Option<&Word> {
        let next = self.words.iter().find(|word| word.range.start >= fact.range.end)?;
        (next.range.start <= fact.range.end + 1 && !next.stop).then_some(next)
    }
}

pub(super) struct Evidence<'p> {
    pub passage: &'p Passage,
    pub lang: String,
    pub german: bool,
    pub units: Vec<Unit>,
    pub clauses: Vec<Clause>,
    /// Neighbouring units under one heading that may speak together.
    pub windows: Vec<Range<usize>>,
    headings: Vec<bool>,
    /// The words of each heading right above a unit, one list for each heading.
    pub nearest: Vec<Vec<Word>>,
    /// The words of title, path and table header.
    pub titled: Vec<Word>,
    /// For each unit, the facts of the headings above it.
    above: Vec<Vec<Fact>>,
    /// Facts of text, header and context.
    pub facts: Vec<Fact>,
    /// Lower-case words of text, header and context.
    pub norms: HashSet<String>,
    /// Their stems.
    pub stems: HashSet<String>,
    /// Letters and digits of the same in lower case.
    pub squeezed: String,
    /// The same for verbatim comparison: see [`plain`].
    pub plain: String,
}

impl<'p> Evidence<'p> {
    pub fn new(passage: &'p Passage) -> Self {
        let mut tongue = Tongue::of(passage.record().lang.as_deref());
        let lang = tongue.code().to_owned();
        let units = units_of(passage);
        let text = masked(passage);
        let record = passage.record();
        let places = places(passage, &units);
        let around = around(passage);
        let mut ambient: Vec<Word> = Vec::new();
        let mut nearest: Vec<Vec<Word>> = Vec::new();
        let mut above: Vec<Vec<Fact>> = Vec::new();
        let mut clauses: Vec<Clause> = Vec::new();
        let mut table: Option<Vec<Word>> = None;
        for (at, unit) in units.iter().enumerate() {
            if at == 0 || places[at].above != places[at - 1].above {
                ambient = tongue.words(&places[at].above);
                ambient.retain(|word| !word.stop);
                above.push(reading::facts(&places[at].above, &lang));
            } else {
                above.extend(above.last().cloned());
            }
            if at == 0 || places[at].nearest != places[at - 1].nearest {
                nearest.push(tongue.words(&places[at].nearest));
            }
            let mut cut = clauses_of(&text, unit.range.clone(), at, &mut tongue, &lang);
            let mut borrowed = ambient.clone();
            match (&table, unit.kind) {
                (Some(head), Kind::Row) => borrowed.extend(head.iter().cloned()),
                (None, Kind::Row) => table = Some(cut.iter().flat_map(|clause| clause.words.clone()).collect()),
                (_, Kind::Prose | Kind::Item | Kind::Heading | Kind::Code) => table = None,
            }
            if cut.first().and_then(|clause| clause.words.first()).is_some_and(|word| is_pronoun(&word.norm)) {
                let before = clauses.iter().filter(|clause| clause.unit + 1 == at);
                borrowed.extend(before.flat_map(|clause| clause.words.clone()));
            }
            for at in 0..cut.len() {
                cut[at].borrowed.clone_from(&borrowed);
                cut[at].row = unit.kind == Kind::Row;
                // `…, but not for gift cards` is about what the clause before it is about.
                let denies = cut[at].words.get(1).is_some_and(|word| is_negation(&word.norm));
                if at > 0 && denies {
                    let before = cut[at - 1].words.clone();
                    cut[at].borrowed.extend(before);
                }
            }
            clauses.append(&mut cut);
        }
        let whole = format!("{around}\n{text}");
        let named = format!("{}\n{whole}", record.path);
        let title = record.title.as_deref().unwrap_or_default();
        let titled = tongue.words(&format!("{title}\n{}\n{}", record.path, passage.context()));
        let (norms, stems) = tongue.words(&named).into_iter().map(|word| (word.norm, word.stem)).unzip();
        Self {
            passage,
            german: tongue.is_german(),
            windows: windows(&places),
            headings: places.iter().map(|place| place.heading).collect(),
            nearest,
            titled,
            above,
            units,
            clauses,
            facts: reading::facts(&whole, &lang),
            norms,
            stems,
            squeezed: squeezed(&whole),
            plain: plain(&format!("{around}\n{}", passage.text)),
            lang,
        }
    }

    /// The unit, by number, is a heading.
    pub fn is_heading(&self, unit: usize) -> bool {
        self.headings[unit]
    }

    /// These units, or the headings above them, say the fact.
    pub fn says_in(&self, window: &Range<usize>, fact: &Fact) -> bool {
        let from = self.clauses.partition_point(|clause| clause.unit < window.start);
        let to = self.clauses.partition_point(|clause| clause.unit < window.end);
        let clauses = &self.clauses[from..to];
        let above = &self.above[window.clone()];
        if clauses.iter().any(|clause| clause.says(fact)) || above.iter().flatten().any(|own| fact.agrees(own)) {
            return true;
        }
        if !matches!(fact.value, Value::Name(_) | Value::Date(_)) {
            return false;
        }
        let facts = clauses.iter().flat_map(|clause| &clause.facts).chain(above.iter().flatten());
        let units = self.units[window.clone()].iter().map(|unit| &self.passage.text[unit.range.clone()]);
        fact.in_parts(&facts.cloned().collect::<Vec<_>>(), &squeezed(&units.collect::<Vec<_>>().join(" ")))
    }
}

/// Title, headings and table header of a passage.
fn around(passage: &Passage) -> String {
    let mut lines: Vec<&str> = passage.record().title.as_deref().into_iter().collect();
    for heading in passage.chunks.iter().flat_map(|chunk| &chunk.heading) {
        if !lines.contains(&heading.as_str()) {
            lines.push(heading);
        }
    }
    lines.push(passage.context());
    lines.join("\n")
}

fn squeezed(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The passage's text with the commas of CSV made `|`, so that `20,10` is two numbers. Bytes stay where they are.
fn masked(passage: &Passage) -> Cow<'_, str> {
    if !is_delimited(passage) {
        return Cow::Borrowed(&passage.text);
    }
    let mut quoted = false;
    let mask = |letter: char| {
        quoted ^= letter == '"';
        if !quoted && matches!(letter, ',' | ';' | '\t') { '|' } else { letter }
    };
    Cow::Owned(passage.text.chars().map(mask).collect())
}

/// Each line is a row: it stands under a header that is no drawn table, or begins a file of rows with its header.
fn is_delimited(passage: &Passage) -> bool {
    let context = passage.context().trim();
    let path = passage.record().path.to_ascii_lowercase();
    match context.is_empty() {
        true => [".csv", ".tsv"].iter().any(|end| path.ends_with(end)),
        false => !context.starts_with('|'),
    }
}

/// Records of a file of records, a blank line between them: none of their lines says anything without the others.
fn records_of(passage: &Passage) -> Option<Vec<Unit>> {
    let path = passage.record().path.to_ascii_lowercase();
    if ![".jsonl", ".ndjson"].iter().any(|end| path.ends_with(end)) {
        return None;
    }
    let mut units = Vec::new();
    let mut at = 0;
    for part in passage.text.split("\n\n") {
        let start = at + (part.len() - part.trim_start().len());
        let range = start..start + part.trim().len();
        at += part.len() + 2;
        if !range.is_empty() {
            units.push(Unit { range, kind: Kind::Prose, ends_line: true });
        }
    }
    Some(units)
}

/// The units of a passage: sentences, but rows of tables and records as they are.
pub(in crate::retrieve) fn units_of(passage: &Passage) -> Vec<Unit> {
    if let Some(records) = records_of(passage) {
        return records;
    }
    if !is_delimited(passage) {
        return sentences::units(&passage.text);
    }
    let mut at = 0;
    let mut rows = Vec::new();
    for line in passage.text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        let range = start..start + line.trim().len();
        at += line.len();
        if !range.is_empty() {
            rows.push(Unit { range, kind: Kind::Row, ends_line: true });
        }
    }
    rows
}

/// Cuts a sentence at semicolons, at `but` and its like, and at commas and `and` where both sides hold a fact.
pub(super) fn clauses_of(text: &str, range: Range<usize>, unit: usize, tongue: &mut Tongue, lang: &str) -> Vec<Clause> {
    let body = &text[range.clone()];
    let mut words = tongue.words(body);
    let all_facts = reading::facts(body, lang);
    let hard = |from: usize, to: usize| all_facts.iter().any(|f| !f.soft && f.range.start >= from && f.range.end <= to);
    let inside = |at: usize| all_facts.iter().any(|f| f.range.start < at && at < f.range.end);
    let mut cuts = Vec::new();
    let together = words.iter().any(|w| {
        matches!(
            w.norm.as_str(),
            "respectively" | "bzw" | "jeweils" | "respectivamente" | "between" | "zwischen" | "entre" | "分别"
        )
    });
    // `from 9 to 17` is one thing, `free from £80` goes with what follows as anything else.
    let span = words.iter().position(|w| w.norm == "from");
    let together = together
        || span.is_some_and(|from| words[from..].iter().any(|w| matches!(w.norm.as_str(), "to" | "until" | "till")));
    let mut last = 0;
    let mut candidates: Vec<(usize, bool)> = body
        .char_indices()
        .filter(|(at, c)| {
            matches!(c, ';' | '；')
                || (matches!(c, ',' | '，') && !body[at + c.len_utf8()..].starts_with(|d: char| d.is_ascii_digit()))
        })
        .map(|(at, c)| (at, matches!(c, ';' | '；')))
        .chain(words.iter().filter_map(|word| match word.norm.as_str() {
            "but" | "however" | "whereas" | "while" | "aber" | "sondern" | "jedoch" | "pero" | "sino" | "mais"
            | "但是" => Some((word.range.start, true)),
            "and" | "und" | "y" | "et" => Some((word.range.start, false)),
            _ => None,
        }))
        .collect();
    candidates.sort_unstable();
    for (at, always) in candidates {
        if at == 0 || at <= last || inside(at) || (!always && (together || !hard(last, at) || !hard(at, body.len()))) {
            continue;
        }
        cuts.push(at);
        last = at;
    }
    cuts.push(body.len());
    let mut clauses = Vec::new();
    let mut from = 0;
    for to in cuts {
        let count = words.iter().take_while(|word| word.range.start < to).count();
        let own: Vec<Word> = words.drain(..count).collect();
        let own_facts: Vec<Fact> =
            all_facts.iter().filter(|f| f.range.start >= from && f.range.start < to).cloned().collect();
        let polarity = polarity(body, &own, lang);
        clauses.push(Clause {
            range: range.start + from..range.start + to,
            unit,
            words: own,
            borrowed: Vec::new(),
            facts: own_facts,
            polarity,
            row: false,
        });
        from = to;
    }
    clauses
}

pub(super) fn is_pronoun(norm: &str) -> bool {
    matches!(
        norm,
        "it" | "they"
            | "this"
            | "these"
            | "that"
            | "those"
            | "he"
            | "she"
            | "its"
            | "their"
            | "er"
            | "sie"
            | "es"
            | "dies"
            | "diese"
            | "dieser"
            | "ihr"
            | "él"
            | "ella"
            | "ellos"
            | "ellas"
            | "esto"
            | "este"
            | "esta"
            | "estos"
            | "il"
            | "elle"
            | "ils"
            | "elles"
            | "ce"
            | "cette"
            | "both"
    )
}

/// A text for verbatim comparison: lower case, one space for any white space, one kind of quotation mark and dash, nothing
/// invisible.
pub(in crate::retrieve) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars().filter(|&c| !is_invisible(c)) {
        match letter {
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            '“' | '”' | '„' | '«' | '»' | '＂' => out.push('"'),
            '‘' | '’' | '‚' | '`' => out.push('\''),
            '‐' | '‑' | '–' | '—' | '−' => out.push('-'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// The facts of a clause that count in a comparison of numbers.
pub(super) fn binding(fact: &&Fact) -> bool {
    !fact.soft && !matches!(fact.value, Value::Name(_))
}
