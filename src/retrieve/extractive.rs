//! An answer without a model: the sentences of the best chunks that answer the question, quoted.
//!
//! Useful for: every day, offline, at no cost; all it says is supported because it is quoted. Not for: putting two
//! passages together, or answering where the documents use none of the question's words and no embedder is there.

use std::{collections::HashSet, ops::Range};

mod subject;

use super::{
    Citation, Hit, Result, Sentence, Support,
    passages::Passage,
    relevance::{Calibration, Scale, WEAK},
    sentences::{Kind, Unit, bullet_len},
    tables,
    verify::{has_figure, has_sum, part, units_of},
    words::{Tongue, Word, same_word},
};
use crate::{index::ChunkRecord, model::Embedder};

/// Chunks whose sentences are looked at.
const MAX_CHUNKS: usize = 8;
const MAX_SENTENCES: usize = 4;
/// Sentences that are embedded: each costs about ten milliseconds.
const MAX_EMBEDDED: usize = 24;
/// A line that introduces a list is shown with the list up to this size.
const MAX_GROUP_BYTES: usize = 800;
/// A longer stretch without a full stop is cut to the words that matter.
const MAX_WORDS: usize = 60;
/// Weights of the parts of a sentence's score; without an embedder the rest is scaled up.
const BY_WORDS: f32 = 0.55;
const BY_RANK: f32 = 0.15;
const BY_VECTOR: f32 = 0.3;
const FIGURE_BONUS: f32 = 0.1;
/// What a word of the heading is worth beside one of the sentence itself.
const HEADING_WORD: f32 = 0.5;
/// Sentences worth less than this share of the best are not shown.
const NEAR_BEST: f32 = 0.6;
/// Maximal marginal relevance: the share of relevance.
const MMR: f32 = 0.7;
/// Share of the question's words that a sentence and its headings must have to answer it.
const LEAST_WORDS: f32 = 0.4;
/// What a fragment, and what a record, is worth beside a sentence.
const FRAGMENT: f32 = 0.7;
const RECORD: f32 = 0.8;
/// A sentence with this share of the question's words answers by itself; another is shown with its paragraph, if that is
/// no longer than so many bytes: what follows often says what the sentence only names.
const BY_ITSELF: f32 = 0.8;
const MAX_PARAGRAPH_BYTES: usize = 400;
/// A cosine from which a sentence may answer without sharing a word.
const CLOSE: f32 = 0.5;

/// Sentences that answer, and the passages they stand in: numbered in order of first use, then the others.
pub(super) struct Extract {
    pub text: String,
    pub sentences: Vec<Sentence>,
    pub passages: Vec<Passage>,
    /// Of the best sentence, where it is calibrated.
    pub relevance: Option<f32>,
}

struct Candidate {
    chunk: usize,
    range: Range<usize>,
    shown: String,
    stems: HashSet<String>,
    /// Shares of the question's words by idf: in the sentence, and with those of its heading.
    own: f32,
    overlap: f32,
    /// As `overlap`, a word of the heading worth as much as one of the sentence.
    covered: f32,
    /// What is embedded: the sentence under its heading.
    placed: String,
    /// It, or what it stands under, names what the question names.
    names: bool,
    /// It has a telling word of the question, and enough of the others.
    rare: bool,
    figure: bool,
    /// It says what something costs.
    money: bool,
    /// It is running text, of which a paragraph can be shown.
    prose: bool,
    /// It was given its paragraph.
    paragraph: bool,
    /// A line that ends without a full stop: a title, a caption, a signature.
    fragment: bool,
    /// Fields with their names, which has words of many kinds.
    record: bool,
    cosine: Option<f32>,
    /// As of a query; `None` where it is not calibrated.
    relevance: Option<f32>,
    score: f32,
}

/// What is known of the query as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sure {
    /// How far the embedder knows the language, 0..=1.
    pub trust: f32,
    /// The best chunks are relevant. Where they are not, a sentence of them may still be: a chunk has many, of which one
    /// answers.
    pub found: bool,
}

/// Picks the sentences. `None` if none is relevant, or the documents lack what the question names. Relevance is that of
/// queries, [`Scale::relevance`], of the sentence under its heading; where it is not calibrated a sentence must share a
/// telling word with the question or be close to it.
pub(super) fn extract(
    hits: &[Hit],
    question: &str,
    embedder: Option<&dyn Embedder>,
    sure: Sure,
) -> Result<Option<Extract>> {
    let calibration = embedder.map(|embedder| Calibration::of(&embedder.space().model, 0.0));
    let calibrated = calibration == Some(Calibration::Fitted);
    if !sure.found && !calibrated {
        return Ok(None);
    }
    let subject = subject::Subject::of(question, hits);
    if subject.is_unknown() {
        return Ok(None);
    }
    let passages: Vec<Passage> = distinct(hits).into_iter().map(whole).collect();
    let idf = Idf::of(hits, question);
    let units: Vec<Vec<Unit>> = passages.iter().map(units_of).collect();
    let mut candidates: Vec<Candidate> = Vec::new();
    for (chunk, passage) in passages.iter().enumerate() {
        collect((chunk, passage, &units[chunk]), question, &idf, &mut candidates);
    }
    for candidate in &mut candidates {
        candidate.names = subject.is_in(&passages[candidate.chunk], &candidate.shown);
    }
    if candidates.iter().any(|candidate| candidate.names) {
        candidates.retain(|candidate| candidate.names);
    }
    let wants_figure = asks_for_a_figure(question);
    let lexical = |c: &Candidate| c.overlap * BY_WORDS + BY_RANK / (1.0 + c.chunk as f32 * 0.5);
    candidates.sort_by(|a, b| {
        lexical(b).total_cmp(&lexical(a)).then((a.chunk, a.range.start).cmp(&(b.chunk, b.range.start)))
    });
    if let Some(embedder) = embedder {
        embed(&mut candidates, question, embedder)?;
    }
    for candidate in &mut candidates {
        let scale = if candidate.cosine.is_none() && embedder.is_none() { 1.0 / (1.0 - BY_VECTOR) } else { 1.0 };
        let bonus = if wants_figure && candidate.figure && candidate.own > 0.0 { FIGURE_BONUS } else { 0.0 };
        let whole = match (candidate.fragment, candidate.record) {
            (true, _) => FRAGMENT,
            (false, true) => RECORD,
            (false, false) => 1.0,
        };
        candidate.score = scale * lexical(candidate) + candidate.cosine.unwrap_or(0.0).max(0.0) * BY_VECTOR + bonus;
        candidate.score *= whole;
    }
    let scale = Scale { trust: sure.trust, calibration: Calibration::Fitted };
    for candidate in candidates.iter_mut().filter(|c| calibrated && c.cosine.is_some()) {
        candidate.relevance = Some(scale.relevance(candidate.cosine, candidate.covered));
    }
    candidates.retain(|c| match calibrated {
        true => c.relevance.is_some_and(|relevance| relevance >= WEAK),
        false => c.rare || c.cosine.is_some_and(|cosine| cosine >= CLOSE),
    });
    if asks_for_a_price(question) {
        candidates.retain(|c| c.money);
    }
    for candidate in candidates.iter_mut().filter(|c| c.prose && c.own < BY_ITSELF) {
        let passage = &passages[candidate.chunk];
        candidate.range = paragraph(&units[candidate.chunk], candidate.range.clone(), passage.record().text.len());
        candidate.shown = passage.text[candidate.range.clone()].to_owned();
        candidate.paragraph = true;
    }
    let chosen: Vec<Candidate> = choose(candidates);
    let relevance = chosen.iter().filter_map(|c| c.relevance).reduce(f32::max);
    Ok((!chosen.is_empty()).then(|| Extract { relevance, ..write(chosen, passages, &units) }))
}

/// A chunk as a passage; with the next one if it ends where a list or code is about to begin.
fn whole(hit: &Hit) -> Passage {
    let passage = Passage::of_hit(0, hit);
    if hit.chunk.text.trim_end().ends_with([':', '：']) { passage.continued(hit) } else { passage }
}

/// The best chunks without those that only repeat another one.
fn distinct(hits: &[Hit]) -> Vec<&Hit> {
    let mut texts: HashSet<String> = HashSet::new();
    hits.iter()
        .filter(|hit| texts.insert(hit.chunk.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()))
        .take(MAX_CHUNKS)
        .collect()
}

/// The question's content words, and how rare each is among the chunks found.
struct Idf {
    by_lang: Vec<(String, Vec<Asked>)>,
}

/// A word of the question.
struct Asked {
    word: Word,
    weight: f32,
    /// Some chunk that was found has it.
    known: bool,
}

impl Idf {
    fn of(hits: &[Hit], question: &str) -> Self {
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

    fn words(&self, lang: &str) -> &[Asked] {
        self.by_lang.iter().find(|(own, _)| own == lang).map_or(&[], |(_, words)| words)
    }
}

fn lang_of(lang: Option<&str>) -> String {
    lang.unwrap_or("en").to_owned()
}

/// All sentences of a passage that could be shown.
fn collect(
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
    let mut table: Option<&str> = Some(passage.context()).filter(|context| !context.is_empty());
    // What stands in a chunk that was added is shown with what introduces it, and not by itself.
    let own_end = record.text.len();
    for (at, unit) in units.iter().enumerate().take_while(|(_, unit)| unit.range.start < own_end) {
        let kind = if names_section(&text[unit.range.clone()], record) { Kind::Heading } else { unit.kind };
        match kind {
            Kind::Heading => {
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
            cosine: None,
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

fn is_the_question(quote: &str, question: &str) -> bool {
    let letters =
        |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    letters(quote) == letters(question)
}

/// A sentence with what it cannot be read without: the list or code after its colon, the sentence before its pronoun.
fn grown(text: &str, units: &[Unit], at: usize) -> Range<usize> {
    let unit = &units[at];
    let body = &text[unit.range.clone()];
    if body.ends_with([':', '：']) && unit.kind != Kind::Row {
        let mut end = unit.range.end;
        for next in &units[at + 1..] {
            let belongs = matches!(next.kind, Kind::Item | Kind::Code | Kind::Row)
                || end == unit.range.end && next.kind == Kind::Prose;
            if !belongs || next.range.end - unit.range.start > MAX_GROUP_BYTES {
                break;
            }
            end = next.range.end;
            if next.kind == Kind::Prose {
                break;
            }
        }
        return unit.range.start..end;
    }
    const PRONOUNS: [&str; 20] = [
        "It", "They", "This", "These", "Its", "Their", "He", "She", "Both", "Er", "Sie", "Es", "Dies", "Diese",
        "Dieser", "Ella", "Ellos", "Esto", "Estos", "Il",
    ];
    let first = body.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    if let Some(before) = at.checked_sub(1).map(|before| &units[before])
        && PRONOUNS.contains(&first)
        && (before.kind, unit.kind) == (Kind::Prose, Kind::Prose)
        && !before.ends_line
        && unit.range.end - before.range.start <= MAX_GROUP_BYTES / 2
    {
        return before.range.start..unit.range.end;
    }
    unit.range.clone()
}

/// The sentences of one paragraph or item round a range of sentences, within `end`: all of them if they are few, else those
/// that follow as far as there is room.
fn paragraph(units: &[Unit], range: Range<usize>, end: usize) -> Range<usize> {
    let inside = |unit: &Unit| range.start <= unit.range.start && unit.range.end <= range.end;
    let Some(first) = units.iter().position(inside) else { return range };
    let Some(last) = units.iter().rposition(inside) else { return range };
    let joins = |before: usize| {
        let (a, b) = (&units[before], &units[before + 1]);
        let prose = |unit: &Unit| matches!(unit.kind, Kind::Prose | Kind::Item);
        !a.ends_line && prose(a) && prose(b) && b.range.start < end
    };
    let mut to = last;
    while to + 1 < units.len() && joins(to) && units[to + 1].range.end - range.start <= MAX_PARAGRAPH_BYTES {
        to += 1;
    }
    let mut from = first;
    while from > 0 && joins(from - 1) && units[to].range.end - units[from - 1].range.start <= MAX_PARAGRAPH_BYTES {
        from -= 1;
    }
    units[from].range.start.min(range.start)..units[to].range.end.max(range.end)
}

/// Whether the answer will be a sum of money.
fn asks_for_a_price(question: &str) -> bool {
    let question = format!(" {} ", question.to_lowercase().replace(['?', ',', '¿'], " ").trim());
    // “What was the reason for the cost overrun?” asks for no sum.
    if [" cost ", " costs "].iter().any(|end| question.ends_with(end)) && question.contains(" what ") {
        return true;
    }
    if [" kostet ", " kosten "].iter().any(|word| question.contains(word)) {
        return [" was ", " wie viel ", " wieviel "].iter().any(|word| question.contains(word));
    }
    [
        " the cost of ",
        " much does ",
        " much do ",
        " much is ",
        " much are ",
        " the price of ",
        " sell for ",
        " how expensive ",
        " coûte ",
        " cuesta ",
    ]
    .iter()
    .any(|phrase| question.contains(phrase))
        && [" what ", " how much ", " how expensive ", " combien ", " cuánto "]
            .iter()
            .any(|word| question.contains(word))
}

/// A sum of money, a number under a name that is a price's, or a word for costing nothing.
fn has_money(text: &str, lang: &str) -> bool {
    let lower = text.to_lowercase();
    let words = ["price", "cost", "fee", "preis", "prix", "precio", "free", "gratis", "kostenlos", "gratuit"];
    has_sum(text, lang)
        || lower.split(|c: char| !c.is_alphabetic()).any(|word| words.contains(&word))
            && (has_figure(text, lang) || lower.contains("free") || lower.contains("gratis"))
}

/// Whether the answer will be a number, a date or a time.
fn asks_for_a_figure(question: &str) -> bool {
    let question = format!(" {} ", question.to_lowercase().replace(['?', ',', '¿'], " "));
    [
        " when ",
        " how many ",
        " how much ",
        " how long ",
        " how often ",
        " how old ",
        " how far ",
        " how big ",
        " how large ",
        " how fast ",
        " what year ",
        " which year ",
        " what date ",
        " what time ",
        " what price ",
        " cost ",
        " costs ",
        " limit ",
        " deadline ",
        " wann ",
        " wie viel ",
        " wie viele ",
        " wie lange ",
        " wie oft ",
        " wie teuer ",
        " kostet ",
        " cuándo ",
        " cuánto ",
        " cuántos ",
        " cuántas ",
        " cuánta ",
        " combien ",
        " quand ",
        "多少",
        "几",
        "什么时候",
        "多久",
        "多长",
        "何时",
    ]
    .iter()
    .any(|phrase| question.contains(phrase))
}

/// Gives the first candidates their cosine to the question.
fn embed(candidates: &mut [Candidate], question: &str, embedder: &dyn Embedder) -> Result<()> {
    let some = candidates.len().min(MAX_EMBEDDED);
    // A token has a character at least, and some tokenizers put one before the first word, so this much always fits.
    let space = embedder.space();
    let limit = space.max_tokens.saturating_sub(space.passage_prefix.chars().count() + 2).max(1);
    let texts: Vec<String> = candidates[..some].iter().map(|c| c.placed.chars().take(limit).collect()).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let query = embedder.embed_query(question)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let dim = space.dim.max(1);
    let mut rows = Vec::with_capacity(some * dim);
    for batch in texts.chunks(embedder.batch_size().max(1)) {
        rows.extend(embedder.embed_passages(batch)?);
    }
    for (candidate, row) in candidates.iter_mut().zip(rows.chunks_exact(dim)) {
        candidate.cosine = Some(cosine(&query, row));
    }
    Ok(())
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let length = (dot(a, a) * dot(b, b)).sqrt();
    if length > 0.0 { dot(a, b) / length } else { 0.0 }
}

/// Picks the best sentences, each time the one that is good and says something new.
fn choose(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let best = candidates.iter().map(|c| c.score).fold(0.0, f32::max);
    let mut left: Vec<Candidate> =
        candidates.into_iter().filter(|c| c.score >= NEAR_BEST * best && c.score > 0.0).collect();
    let mut chosen: Vec<Candidate> = Vec::new();
    while chosen.len() < MAX_SENTENCES {
        left.retain(|c| {
            chosen.iter().all(|other| {
                let apart =
                    c.chunk != other.chunk || c.range.end <= other.range.start || other.range.end <= c.range.start;
                apart && alike(c, other) < 0.9
            })
        });
        let value = |c: &Candidate| {
            let repeated = chosen.iter().map(|other| alike(c, other)).fold(0.0, f32::max);
            MMR * c.score - (1.0 - MMR) * repeated * best
        };
        let next = (0..left.len()).max_by(|a, b| {
            let (a, b) = (&left[*a], &left[*b]);
            // Of equals the shorter, then the earlier.
            let place = |c: &Candidate| (c.range.len(), c.chunk, c.range.start);
            value(a).total_cmp(&value(b)).then(place(b).cmp(&place(a)))
        });
        match next {
            Some(at) => chosen.push(left.remove(at)),
            None => break,
        }
    }
    chosen
}

/// Share of the smaller sentence's words that the other has.
fn alike(a: &Candidate, b: &Candidate) -> f32 {
    let shared = a.stems.intersection(&b.stems).count();
    shared as f32 / a.stems.len().min(b.stems.len()).max(1) as f32
}

/// Numbers the passages by first use and writes the sentences one under the other.
fn write(chosen: Vec<Candidate>, passages: Vec<Passage>, units: &[Vec<Unit>]) -> Extract {
    let mut order: Vec<usize> = Vec::new();
    for chunk in chosen.iter().map(|c| c.chunk).chain(0..passages.len()) {
        if !order.contains(&chunk) {
            order.push(chunk);
        }
    }
    let mut text = String::new();
    let mut sentences = Vec::new();
    for candidate in chosen {
        let passage = &passages[candidate.chunk];
        let n = order.iter().position(|chunk| *chunk == candidate.chunk).map_or(0, |at| at as u32 + 1);
        // Each sentence of a paragraph has its own marker: it is checked by itself.
        let inside = |unit: &&Unit| candidate.range.start <= unit.range.start && unit.range.end <= candidate.range.end;
        let of_paragraph: Vec<Range<usize>> =
            units[candidate.chunk].iter().filter(inside).map(|unit| unit.range.clone()).collect();
        let parts: Vec<(Range<usize>, String)> = if candidate.prose && candidate.paragraph && of_paragraph.len() > 1 {
            of_paragraph.into_iter().map(|part| (part.clone(), passage.text[part].to_owned())).collect()
        } else {
            vec![(candidate.range, candidate.shown)]
        };
        for (at, (range, shown)) in parts.into_iter().enumerate() {
            // What spans two chunks is quoted by its longer part: between them the document may have other bytes than we.
            let own = passage.quotable().map(|whole| range.start.max(whole.start)..range.end.min(whole.end));
            let Some(quoted) = own.filter(|part| !part.is_empty()).max_by_key(Range::len) else { continue };
            let Some(span) = passage.document_span(quoted.clone()) else { continue };
            if !text.is_empty() {
                text.push_str(if at > 0 { " " } else { "\n\n" });
            }
            let start = text.len();
            let code = shown.trim_end().ends_with("```");
            let shown = format!("{shown}{}[{n}]", if code { "\n" } else { " " });
            text.push_str(&shown);
            let quote = passage.text[quoted].to_owned();
            sentences.push(Sentence {
                text: shown,
                range: start..text.len(),
                citations: vec![Citation {
                    n,
                    support: Support::Supported,
                    score: 1.0,
                    quote,
                    quote_span: span,
                    attached: false,
                }],
                state: Support::Supported,
                reason: None,
            });
        }
    }
    let mut numbered: Vec<Passage> = Vec::new();
    for (n, chunk) in (1..).zip(order) {
        let mut passage = passages[chunk].clone();
        passage.n = n;
        numbered.push(passage);
    }
    Extract { text, sentences, passages: numbered, relevance: None }
}

#[cfg(test)]
mod tests;
