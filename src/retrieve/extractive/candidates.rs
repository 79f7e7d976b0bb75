//! The sentences of a passage that could be shown, and which of the question's words each has.
//!
//! Useful for: reading passages once, before anything is embedded. Not for: judging; see `judge` and `choice`.

use std::{collections::HashSet, ops::Range};

use super::{
    super::{
        Hit,
        passages::Passage,
        sentences::{Kind, Unit, bullet_len},
        tables,
        verify::{has_figure, part},
        words::{Tongue, Word, same_word},
    },
    kinds::{has_money, is_the_question},
    spread::grown,
};
use crate::index::ChunkRecord;

/// A longer stretch without a full stop is cut to the words that matter.
const MAX_WORDS: usize = 60;
/// What a word of the heading is worth beside one of the sentence itself.
const HEADING_WORD: f32 = 0.5;
/// Share of the question's words that a sentence and its headings must have to answer it.
const LEAST_WORDS: f32 = 0.4;

/// A sentence that could be shown, or what belongs to one.
pub(super) struct Candidate {
    pub chunk: usize,
    pub range: Range<usize>,
    pub shown: String,
    pub stems: HashSet<String>,
    /// Shares of the question's words by idf: in the sentence, and with those of its heading.
    pub own: f32,
    pub overlap: f32,
    /// As `overlap`, a word of the heading worth as much as one of the sentence.
    pub covered: f32,
    /// What is embedded: the sentence under its heading.
    pub placed: String,
    /// It, or what it stands under, names what the question names.
    pub names: bool,
    /// It has a telling word of the question, and enough of the others.
    pub rare: bool,
    pub figure: bool,
    /// It says what something costs.
    pub money: bool,
    /// It is running text, of which a paragraph can be shown.
    pub prose: bool,
    /// It was given its paragraph.
    pub paragraph: bool,
    /// A line that ends without a full stop: a title, a caption, a signature.
    pub fragment: bool,
    /// Fields with their names, which has words of many kinds.
    pub record: bool,
    /// A row of a table.
    pub row: bool,
    /// Of what is embedded.
    pub vector: Option<Vec<f32>>,
    pub cosine: Option<f32>,
    /// The heading right above it, in the passage's text.
    pub heading: Option<Range<usize>>,
    /// As of a query; `None` where it is not calibrated.
    pub relevance: Option<f32>,
    pub score: f32,
}

/// The question's content words, and how rare each is among the chunks found.
pub(super) struct Idf {
    by_lang: Vec<(String, Vec<Asked>)>,
}

/// A word of the question.
pub(super) struct Asked {
    pub word: Word,
    pub weight: f32,
    /// Some chunk that was found has it.
    pub known: bool,
}

impl Idf {
    pub fn of(hits: &[Hit], question: &str) -> Self {
        let mut by_lang: Vec<(String, Vec<Asked>)> = Vec::new();
        let langs: HashSet<String> = hits.iter().map(|hit| lang_of(hit.chunk.lang.as_deref())).collect();
        for lang in langs {
            let mut tongue = Tongue::of(Some(&lang));
            let mut words: Vec<Word> = Vec::new();
            let all = tongue.words(question);
            let content = all.iter().any(|word| !word.stop);
            for word in all.into_iter().filter(|word| !word.stop || !content) {
                if !words.iter().any(|known| known.stem == word.stem) {
                    words.push(word);
                }
            }
            let chunks: Vec<Vec<Word>> = hits
                .iter()
                .map(|hit| {
                    tongue.words(&format!("{}\n{}\n{}", hit.chunk.heading.join(" "), hit.chunk.context, hit.chunk.text))
                })
                .collect();
            let german = tongue.is_german();
            let weigh = |word: Word| {
                let df = chunks.iter().filter(|chunk| chunk.iter().any(|own| same_word(own, &word, german))).count();
                let weight = (1.0 + (chunks.len() as f32 - df as f32 + 0.5) / (df as f32 + 0.5)).ln();
                Asked { word, weight, known: df > 0 }
            };
            by_lang.push((lang, words.into_iter().map(weigh).collect()));
        }
        Self { by_lang }
    }

    pub fn words(&self, lang: &str) -> &[Asked] {
        self.by_lang.iter().find(|(own, _)| own == lang).map_or(&[], |(_, words)| words)
    }
}

pub(super) fn lang_of(lang: Option<&str>) -> String {
    lang.unwrap_or("en").to_owned()
}

/// All sentences of a passage that could be shown.
pub(super) fn collect(
    (chunk, passage, units): (usize, &Passage, &[Unit]),
    question: &str,
    idf: &Idf,
    candidates: &mut Vec<Candidate>,
) {
    let lang = lang_of(passage.record().lang.as_deref());
    let mut tongue = Tongue::of(Some(&lang));
    let german = tongue.is_german();
    let asked = idf.words(&lang);
    let total: f32 = asked.iter().map(|asked| asked.weight).sum();
    let telling = asked.iter().filter(|asked| asked.known).map(|asked| asked.weight).fold(0.0, f32::max) / 2.0;
    let text = &passage.text;
    let record = passage.record();
    let mut headings = tongue.words(&format!(
        "{}\n{}\n{}",
        record.title.as_deref().unwrap_or(""),
        record.heading.join("\n"),
        passage.context()
    ));
    let mut heading: Option<Range<usize>> = None;
    let mut table: Option<&str> = Some(passage.context()).filter(|context| !context.is_empty());
    // What stands in a chunk that was added is shown with what introduces it, and not by itself.
    let own_end = record.text.len();
    for (at, unit) in units.iter().enumerate().take_while(|(_, unit)| unit.range.start < own_end) {
        let kind = if names_section(&text[unit.range.clone()], record) { Kind::Heading } else { unit.kind };
        match kind {
            Kind::Heading => {
                heading = Some(unit.range.clone());
                headings.extend(tongue.words(&text[unit.range.clone()]));
                continue;
            }
            Kind::Row if table.is_none() => {
                table = Some(&text[unit.range.clone()]);
                continue;
            }
            Kind::Row => {}
            Kind::Prose | Kind::Item | Kind::Code => {
                table = Some(passage.context()).filter(|context| !context.is_empty())
            }
        }
        let mut range = grown(text, units, at);
        let found = tongue.words(&text[range.clone()]);
        if found.len() < 2 {
            continue;
        }
        let marks: Vec<Range<usize>> = found
            .iter()
            .filter(|word| asked.iter().any(|asked| same_word(&asked.word, word, german)))
            .map(|word| range.start + word.range.start..range.start + word.range.end)
            .collect();
        if found.len() > MAX_WORDS && range == unit.range && unit.kind != Kind::Code {
            range = part(text, range, &marks, MAX_WORDS);
        }
        let quote = &text[range.clone()];
        let words = tongue.words(quote);
        let has = |words: &[Word], word: &Word| words.iter().any(|own| same_word(own, word, german));
        let (mut own, mut overlap, mut covered, mut rare, mut count) = (0.0, 0.0, 0.0, false, 0);
        for Asked { word, weight, .. } in asked {
            if has(&words, word) {
                own += weight;
                overlap += weight;
                covered += weight;
                rare |= *weight >= telling;
                count += 1;
            } else if has(&headings, word) {
                overlap += weight * HEADING_WORD;
                covered += weight;
                count += 1;
            }
        }
        let share = |part: f32| if total > 0.0 { part / total } else { 0.0 };
        // A question that is asked in the documents is not answered by itself.
        if quote.trim_end().ends_with(['?', '？']) && unit.kind != Kind::Item && share(own) < 1.0
            || is_the_question(quote, question)
        {
            continue;
        }
        let shown = match (unit.kind, table) {
            (Kind::Row, Some(header)) => tables::readable(header, quote).unwrap_or_else(|| quote.to_owned()),
            _ => quote.to_owned(),
        };
        candidates.push(Candidate {
            chunk,
            figure: has_figure(quote, &lang),
            money: has_money(&shown, &lang),
            paragraph: false,
            prose: matches!(kind, Kind::Prose | Kind::Item) && !is_record(quote) && found.len() <= MAX_WORDS,
            fragment: kind == Kind::Prose && is_fragment(quote),
            record: kind == Kind::Prose && is_record(quote),
            row: kind == Kind::Row,
            stems: words.into_iter().filter(|word| !word.stop).map(|word| word.stem).collect(),
            range,
            placed: match record.heading.last() {
                Some(heading) => format!("{heading}: {shown}"),
                None => shown.clone(),
            },
            shown,
            own: share(own),
            overlap: share(overlap),
            covered: share(covered),
            names: true,
            rare: rare && count as f32 >= LEAST_WORDS * asked.len() as f32,
            vector: None,
            cosine: None,
            heading: heading.clone(),
            relevance: None,
            score: 0.0,
        });
    }
}

/// A line, or a few, that no sign ends: not what a person would quote if there is a sentence. A record is none.
fn is_fragment(quote: &str) -> bool {
    let end = quote.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '*', '_', '`']);
    !end.ends_with(['.', '!', '?', '…', ':', ';', '。', '！', '？', '：', '।', '؟']) && !is_record(quote)
}

/// Lines of `name: value`, two at least.
fn is_record(quote: &str) -> bool {
    let named = |line: &str| line.split_once(": ").is_some_and(|(name, _)| !name.contains(' '));
    quote.lines().count() > 1 && quote.lines().all(named)
}

/// Whether a line is the title or a heading of its own chunk: formats without marks for headings leave it bare.
fn names_section(line: &str, record: &ChunkRecord) -> bool {
    record.heading.iter().map(String::as_str).chain(record.title.as_deref()).any(|heading| {
        let heading = heading.trim();
        heading == line.trim() || heading[bullet_len(heading)..].trim() == line.trim()
    })
}
